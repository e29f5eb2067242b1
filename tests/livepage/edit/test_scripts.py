r"""Differences of texts and links that carry them, in Node."""

import difflib
import random

import pytest

from tests.livepage.scripts import EDITOR, in_node


def edited(text: list[str], seed: int) -> list[str]:
    r"""A text with lines put in, taken out and changed at random."""
    chance = random.Random(seed)
    lines = list(text)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(lines))
        match chance.randrange(3):
            case 0:
                lines.insert(at, f"new {chance.random()}")
            case 1:
                lines.pop(at)
            case 2:
                lines[at] += " changed"
    return lines


TEXT = [f"line {number % 7}" for number in range(40)]
PAIRS = [(TEXT, edited(TEXT, seed)) for seed in range(25)] + [
    (TEXT, TEXT),
    (["a"], ["b"]),
    ([""], TEXT),
]


def test_a_difference_turns_one_text_into_the_other() -> None:
    script = "given.map(([old, now]) => difference.difference(old, now))"
    for (old, now), parts in zip(PAIRS, in_node("difference", script, PAIRS, EDITOR), strict=True):
        lines = list(old)
        for part in reversed(parts):
            lines[part["at"] : part["at"] + part["gone"]] = now[
                part["to"] : part["to"] + part["come"]
            ]
        assert lines == now
        # Python's own finds no more lines that stay, or fewer.
        kept = len(old) - sum(part["gone"] for part in parts)
        blocks = difflib.SequenceMatcher(None, old, now, autojunk=False).get_matching_blocks()
        assert kept >= sum(block.size for block in blocks)


def test_each_line_that_stays_knows_which_it_was() -> None:
    script = "given.map(([old, now]) => [...difference.lineMap(old, now)])"
    for (old, now), pairs in zip(PAIRS, in_node("difference", script, PAIRS, EDITOR), strict=True):
        places = dict(pairs)
        assert list(places.values()) == sorted(places.values())
        changed = [new for new, line in places.items() if now[new - 1] != old[line - 1]]
        parts = difflib.unified_diff(old, now, lineterm="", n=0)
        assert len(changed) <= sum(one.startswith("+") and one[:3] != "+++" for one in parts)


CHANGES = {"labml_nn/a.py": [[3, ["old"], ["new", "“ü” 🙂"]]], "labml_nn/b.py": []}


def test_a_link_says_what_was_put_in() -> None:
    script = "await link.unpack('#' + link.NAME + await link.pack(given))"
    assert in_node("link", script, CHANGES, EDITOR) == CHANGES
    letters = in_node("link", "await link.pack(given)", CHANGES, EDITOR)
    assert letters.replace("-", "").replace("_", "").isalnum()


@pytest.mark.parametrize(
    "fragment", ["#L5", "", "#edit=", "#edit=%%%", "#edit=AAAA", "#edit=q1YqSy0qzszPAwA"]
)
def test_what_is_no_such_link_says_nothing(fragment: str) -> None:
    assert in_node("link", "await link.unpack(given)", fragment, EDITOR) is None


def test_a_change_finds_its_place_in_a_page_that_has_grown() -> None:
    old, now = PAIRS[3]
    script = "link.changed(given.grown, link.changesOf(given.old, given.now))"
    given = {"old": "\n".join(old), "now": "\n".join(now), "grown": "\n".join(old)}
    assert in_node("link", script, given, EDITOR) == {"text": given["now"], "lost": []}
    lines = ["one", "two", "three", "four"]
    given = {
        "old": "\n".join(lines),
        "now": "\n".join(["one", "two", "3", "four"]),
        "grown": "\n".join(["zero", "", *lines]),
    }
    found = in_node("link", script, given, EDITOR)
    assert found == {"text": "zero\n\none\ntwo\n3\nfour", "lost": []}
    given["grown"] = "one\ntwo\nfour"
    assert in_node("link", script, given, EDITOR)["lost"] == [[3, ["three"], ["3"]]]

r"""Differences of texts and links that carry them, in Node."""

import difflib
import random
from typing import Any

import pytest

from tests.page_runner.scripts import EDITOR, in_node


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


def test_what_has_moved_moves_what_comes_after_it() -> None:
    own = ["x", "new", "new", "new", "a", "b", "x", "c"]
    given = {"own": "\n".join(own), "parts": [[1, ["a"], ["A"]], [3, ["x"], ["X"]]]}
    found = in_node("link", "link.changed(given.own, given.parts)", given, EDITOR)
    assert found == {"text": "\n".join([*own[:4], "A", "b", "X", "c"]), "lost": []}


def bound(*calls: tuple[list[int], list[str]]) -> list[Any]:
    r"""What a line has bound to `x`: a shape and numbers for each call, as the worker tells it."""
    found: dict[tuple[int, ...], list[Any]] = {}
    for number, (shape, first) in enumerate(calls, 1):
        tensor = found.setdefault(tuple(shape), ["x", shape, "float32", [], 0])
        tensor[3].append([number, first, " ".join(first)])
        tensor[4] += 1
    return [*found.values()]


ONE, TWO, OTHER, LONG = ([2], ["1", "2"]), ([2], ["3", "4"]), ([2], ["3", "5"]), ([3], ["6"] * 3)
# The edited run and the page's own, whether the edited one failed, and what is told of the line:
# in few words, and in full.
COMPARED = [
    ([ONE, TWO], [ONE, TWO], False, "[2] 1 2", None),
    (
        [ONE, OTHER],
        [ONE, TWO],
        False,
        "call 2: 3 4 → 3 5",
        ["x, call 2 of 2 [2]: on the page 3 4 → now 3 5"],
    ),
    ([LONG], [ONE], False, "[2] → [3]", ["x: on the page [2]: 1 2 → now [3]: 6 6 6"]),
    ([ONE], [ONE, TWO], False, "[2] 1 2", ["x, call 2 of 2: on the page [2]: 3 4 → now nothing"]),
    # The edited run ended in an error before the second call.
    ([ONE], [ONE, TWO], True, "[2] 1 2", None),
    ([ONE, LONG], [ONE], False, None, ["x, call 2 of 2: on the page nothing → now [3]: 6 6 6"]),
]


def test_a_line_says_what_was_and_what_is_in_each_call_that_differs() -> None:
    script = """given.map(({ now, own, failed }) => {
        const known = results.names([], new Map());
        const [one] = results.compared({ 9: now }, { 7: own }, new Map([[9, 7]]), failed);
        return [one.differs, results.ending(one, known, 40), results.told(one, known)];
    })"""
    given = [
        {"now": bound(*now), "own": bound(*own), "failed": failed}
        for now, own, failed, _, _ in COMPARED
    ]
    found = in_node("results", script, given, EDITOR)
    for (differs, ending, told), (*_, short, full) in zip(found, COMPARED, strict=True):
        assert differs == (full is not None)
        assert short is None or ending == short
        assert full is None or told == full


def test_a_run_is_named_by_what_differs_most() -> None:
    script = """given.map(({ now, own, failed }) => {
        const found = results.compared({ 9: now }, { 7: own }, new Map([[9, 7]]), failed);
        return results.outcome(found, 0, failed);
    })"""
    given = [
        {"now": bound(*now), "own": bound(*own), "failed": failed}
        for now, own, failed, _, _ in COMPARED
    ]
    expected = ["same", "numbers", "shapes", "shapes", "error", "shapes"]
    assert in_node("results", script, given, EDITOR) == expected
    # A line that is no longer reached.
    assert in_node("results", "results.outcome([], 1, false)", None, EDITOR) == "shapes"


def test_the_docstrings_of_a_page_are_found_among_its_notes() -> None:
    page = [
        *('r"""', "A page", '"""', "", "def f():", '    r"""', "    ## F", "", '    """'),
        *("    # Why.", "    return 1", "", "class A:", '    """One line."""', "    x = 1"),
    ]
    notes = [[1, 3], [6, 10], [14, 14]]
    script = "notes.docstrings(given.text, given.notes)"
    given = {"text": "\n".join(page), "notes": notes}
    found = in_node("notes", script, given, EDITOR)
    assert found == [[1, 3], [6, 9], [14, 14]]

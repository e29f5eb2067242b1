r"""A class that names a line of another one is shown as the change."""

from pathlib import Path

import pytest

from literate.page.changes import Changes
from literate.page.context import context
from literate.page.differences import find, label, parted
from literate.page.formulas import Formulas
from literate.page.page import Page, page
from literate.python.references import network
from literate.reading.source import parse
from tests.literate.projects import KATEX
from tests.literate.recorded import links
from tests.literate.shown import Shown, rendered

RIGHT = '''r"""
---
title: Right
summary: Right.
---
"""


class Right:
    def __init__(self, n: int) -> None:
        self.n = n

    def call(self, x: int) -> int:
        # Twice.
        y = 2 * x
        return y + self.n


class Other:
    def call(self, x: int) -> int:
        return x
'''
BASE = '''r"""
---
title: Base
summary: Base.
---
"""

from pkg.right import Right


class Wrong:
    of: type = Right
    right = ""
    wrong = ""
'''
WRONGS = '''r"""
---
title: Wrongs
summary: Wrongs.
---

[Look](#Thrice "difference")
"""

from pkg.base import Wrong
from pkg.right import Other


class Thrice(Wrong):
    r"""
    ## Three `times`

    As in [a library](https://github.com/a/b/issues/7) and [here](right.py).
    """

    # It was two.
    right = "2 * x"

    # It is <three>.
    wrong = "3 * x"


class Elsewhere(Wrong):
    r"""
    ## Elsewhere
    """

    of = Other
    right = "return x"
    wrong = "return -x\\n        # late"


class NotThere(Wrong):
    r"""
    ## Not there
    """

    right = "5 * x"
    wrong = "6 * x"


class Untold(Wrong):
    right = "2 * x"
    wrong = "4 * x"


class Plain:
    r"""
    ## No difference
    """

    right = "2 * x"
    wrong = "3 * x"
'''
SETTING = {
    "base": "pkg/base.py:Wrong",
    "of": "of",
    "before": "right",
    "after": "wrong",
    "result": "results/trials.json",
    "table": "ways",
    "marks": ["printed", "honest"],
    "reference": "Right",
    "margin": 0.1,
}
TABLE = {
    "columns": [
        {"name": "way", "title": "Way"},
        {"name": "printed", "title": "Printed", "digits": 2},
        {"name": "honest", "title": "Honest", "digits": 2},
    ],
    "rows": [
        {"way": "Right", "printed": 2.0, "honest": 2.05},
        {"way": "Thrice", "printed": 0.5, "honest": 4.0},
    ],
}
PAGES = {
    name: parse(text, name)
    for name, text in (
        ("pkg/right.py", RIGHT),
        ("pkg/base.py", BASE),
        ("pkg/wrongs.py", WRONGS),
    )
}


def changes() -> Changes:
    references = network(PAGES.values())
    return Changes(find(PAGES, references, SETTING), SETTING, {}, references)


def written(tmp_path: Path, text: str = WRONGS) -> Page:
    pages = PAGES | {"pkg/wrongs.py": parse(text, "pkg/wrongs.py")}
    references = network(pages.values())
    found = Changes(find(pages, references, SETTING), SETTING, {}, references)
    known = links(tmp_path, pages, tables={"ways": TABLE})
    with Formulas(KATEX) as formulas:
        return page(pages["pkg/wrongs.py"], context(known, formulas, changes=found))


def code(shown: Shown, name: str) -> list[tuple[str, str]]:
    r"""The lines of the change of a class: its sign, and its text."""
    section = next(
        one
        for one in shown.all.iter("section")
        if f'id="{name}"' in "".join(f'id="{other.get("id")}"' for other in one.iter())
    )
    (block,) = section.iterfind(".//div[@class='code changed']")
    kinds = {"del": "-", "ins": "+", "span": " "}
    lines = [one for one in block.iter() if one.get("class") == "line"]
    return [(kinds[one.tag], "".join(one.find("span").itertext())) for one in lines]


def test_only_classes_below_the_base_with_a_heading_whose_line_is_there_once_are_found() -> None:
    found = changes().differences
    assert list(found) == [("pkg/wrongs.py", "Thrice"), ("pkg/wrongs.py", "Elsewhere")]
    one = found["pkg/wrongs.py", "Thrice"]
    assert (one.before, one.after) == (("        y = 2 * x",), ("        y = 3 * x",))
    assert one.published == ("https://github.com/a/b/issues/7",)
    assert find(PAGES, network(PAGES.values()), {}) == {}


def test_a_change_stands_in_its_method_and_the_source_stays(tmp_path: Path) -> None:
    made = written(tmp_path)
    shown = rendered(made.markdown)
    assert made.problems == ()
    assert code(shown, "Thrice") == [
        ("-", "        y = 2 * x"),
        ("+", "        y = 3 * x"),
        (" ", "        return y + self.n"),
    ]
    assert code(shown, "Elsewhere") == [
        ("-", "        return x"),
        ("+", "        return -x"),
        ("+", "        # late"),
    ]
    assert shown.texts(".//del//mark") == ["2", "return x"] or shown.texts(".//del//mark")[0] == "2"
    # Each line of the source is there once, in order, with its anchor.
    lines = [line for line in PAGES["pkg/wrongs.py"].lines if line.kind == "code"]
    assert shown.lines == [(f"L{line.number}", line.text.rstrip("\n")) for line in lines]
    assert "It is <three>." in shown.text(".//div[@class='after']")


def test_two_numbers_stand_on_one_scale(tmp_path: Path) -> None:
    shown = rendered(written(tmp_path).markdown)
    values = [(one.text, one.get("class")) for one in shown.all.iterfind(".//section//dd")]
    assert values == [("0.50", "good"), ("4.00", "bad")] or values[:2] == [
        ("0.50", "good"),
        ("4.00", "bad"),
    ]
    scale = next(shown.all.iter("svg"))
    marks = {one.get("class"): one.get("cx") or one.get("x1") for one in scale}
    # 0.5, 2 and 4 of 4, with a little room at both ends.
    assert (marks["first"], marks["second"]) == ("13.25%", "99.00%")
    assert marks["reference"] == "50.00%"


NAMELESS = '''

class Nameless(Wrong):
    r"""
    It has no heading.
    """

    right = "2 * x"
    wrong = "4 * x"
'''


def test_all_changes_with_a_heading_in_a_gallery_the_lowest_first(tmp_path: Path) -> None:
    note = '[All](../results/trials.json#tables.ways "gallery")'
    text = WRONGS.replace('[Look](#Thrice "difference")', note)
    text += NAMELESS
    shown = rendered(written(tmp_path, text).markdown)
    tiles = shown.all.findall(".//ul[@class='tiles']/li")
    assert [tile.find(".//a").get("href") for tile in tiles] == ["#Thrice", "#Elsewhere"]
    assert ["".join(tile.find("p").itertext()) for tile in tiles] == ["Three times", "Elsewhere"]
    first = tiles[0]
    assert [("".join(first.find(f".//{tag}").itertext())) for tag in ("del", "ins")] == [
        "y = 2 * x",
        "y = 3 * x",
    ]
    assert [one.text for one in first.iterfind(".//p[@class='published']/a")] == ["a/b, issue 7"]


def test_a_difference_that_is_none_is_named(tmp_path: Path) -> None:
    (problem,) = written(tmp_path, WRONGS.replace("#Thrice", "#Plain")).problems
    assert "names no difference" in problem.sentence


@pytest.mark.parametrize(
    ("one", "other", "begin", "end"),
    [
        ("a.tril()", "a.triu(1)", 2, 1),
        ("softmax(dim=-1)", "softmax(dim=-2)", 13, 1),
        ("tril()", "tril(1)", 5, 1),
        ("x", "x", 1, 0),
        ("", "a", 0, 0),
    ],
)
def test_a_word_differs_as_a_whole(one: str, other: str, begin: int, end: int) -> None:
    assert parted(one, other) == (begin, end)


def test_the_place_of_a_publication_in_a_few_words() -> None:
    assert label("https://github.com/a/b/pull/12") == "a/b, pull request 12"
    assert label("https://github.com/a/b/blob/main/c.py") == "a/b"
    assert label("https://www.example.org/x/y.html") == "example.org"

r"""Pages that are read in an order know which step they are."""

from pathlib import Path

from literate.page.context import context
from literate.page.formulas import Formulas
from literate.page.page import Page, page
from literate.page.steps import on_page, steps
from literate.reading.source import parse
from tests.literate.projects import KATEX
from tests.literate.recorded import links
from tests.literate.shown import rendered

PAGE = 'r"""\n---\ntitle: {}\nsummary: Some.\n{}---\n\n{}\n"""\n{}'
LIST = """* [ ] **1. [One](in/a.py).** It begins.
* [ ] **2. [Two, and
  more](in/a.py#second).** The same page.
* [ ] **3. [Three](b.py)** is last. Not **4. [Four](b.py)**.
"""
PAGES = {
    name: parse(text, name)
    for name, text in (
        ("pkg/__init__.py", PAGE.format("All", "layout: path\n", LIST, "")),
        (
            "pkg/in/a.py",
            PAGE.format("A", "", "", "from pkg import b\nb.second\n\n\ndef second():\n    pass\n"),
        ),
        ("pkg/b.py", PAGE.format("B", "", "", "def second():\n    pass\n")),
        ("pkg/c.py", PAGE.format("C", "", LIST, "")),
    )
}


def written(path: str, tmp_path: Path) -> Page:
    with Formulas(KATEX) as formulas:
        known = links(tmp_path, PAGES)
        return page(PAGES[path], context(known, formulas, steps=steps(PAGES.values())))


def test_the_list_is_read_from_a_page_with_that_layout_alone() -> None:
    found = steps(PAGES.values())
    assert [(one.number, one.total, one.title, one.path, one.anchor) for one in found] == [
        (1, 3, "One", "pkg/in/a.py", ""),
        (2, 3, "Two, and more", "pkg/in/a.py", "second"),
        (3, 3, "Three", "pkg/b.py", ""),
    ]
    here, later = on_page("pkg/in/a.py", found)
    assert ([one.number for one in here], later) == ([1, 2], found[2])
    assert on_page("pkg/b.py", found) == ([found[2]], None)
    assert on_page("pkg/c.py", found) == ([], None)


def test_a_page_says_which_step_it_is_and_leads_to_the_next(tmp_path: Path) -> None:
    shown = rendered(written("pkg/in/a.py", tmp_path).markdown)
    (place,) = shown.all.iterfind(".//p[@class='step']")
    said = " ".join("".join(place.itertext()).split())
    assert said == "Steps 1 and 2 of 3 Step 1 done Step 2 done Next: Three"
    assert [one.get("href") for one in place.iter("a")] == ["../../__init__/", "../../b/"]
    boxes = [one.get("data-step") for one in place.iter("input")]
    assert boxes == ["", "#second"]
    last = rendered(written("pkg/b.py", tmp_path).markdown)
    assert "Step 3 of 3" in last.text(".//p[@class='step']")
    assert [one.get("href") for one in last.all.iterfind(".//p[@class='step']/a")] == [
        "../__init__/"
    ]


def test_nobody_is_told_to_know_a_later_step(tmp_path: Path) -> None:
    assert "You should know" not in rendered(written("pkg/in/a.py", tmp_path).markdown).text()

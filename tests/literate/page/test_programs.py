r"""The difference between two programs, and the page that shows it below each step of a path."""

import html
import re
from pathlib import Path

from literate.page.context import context
from literate.page.formulas import Formulas
from literate.page.page import Page, page
from literate.page.programs import Line, changed, difference, listing, program
from literate.page.steps import Item, items, steps
from literate.reading.notes import Note
from literate.reading.source import parse
from tests.literate.projects import KATEX, write
from tests.literate.recorded import links
from tests.literate.shown import rendered

BEFORE = "import a\n\n# One.\nx = 1\ny = x\nz = 3\nw = 4\nv = 5\nprint(x)\n"
AFTER = "import a\n\n\n# One.\nx = 2\nz = 3\nw = 4\nv = 5\nprint(x)\n"


def kinds(lines: list[Line]) -> list[tuple[str, int]]:
    return [(line.kind, line.number) for line in lines]


def test_a_difference_has_what_changes_and_two_lines_around_it() -> None:
    # The blank line that was added is no change, and numbers are those of the file with the line.
    assert kinds(difference(BEFORE, AFTER)) == [
        ("same", 1),
        ("same", 4),
        ("removed", 4),
        ("removed", 5),
        ("added", 5),
        ("same", 6),
        ("same", 7),
        ("gap", 2),
    ]
    assert changed(difference(BEFORE, AFTER)) == (1, 2)
    assert kinds(difference(BEFORE, BEFORE)) == [("gap", 8)]


def test_with_what_is_added_the_first_program_becomes_the_second() -> None:
    texts = [line for line in BEFORE.split("\n") if line.strip()]
    for line in difference(BEFORE, AFTER):
        if line.kind == "removed":
            texts.remove(BEFORE.split("\n")[line.number - 1])
        if line.kind == "added":
            texts.append(AFTER.split("\n")[line.number - 1])
    assert sorted(texts) == sorted(line for line in AFTER.split("\n") if line.strip())


def test_lines_are_shown_with_their_text_and_notes() -> None:
    shown = listing(program('"""A & B."""\nif a < b:  # note\n    c = 1\n')).split("\n")
    words = [html.unescape(re.sub(r"<[^<>]*>", "", line)) for line in shown]
    assert words == ['"""A & B."""', "if a < b:  # note", "    c = 1"]
    marks = [re.findall(r"<(del|ins)", line) for line in listing(difference("a", "b")).split("\n")]
    assert marks == [["del"], ["ins"]]


LIST = """Before.

* [ ] **1. [One](a.py).** It begins with [1.551](../results/trials.json#values.loss).

  [one.py](../docs/one.py "program")

**Between**

* [ ] **2. [Two](b.py)** says nothing.
* [ ] **3. [Three](b.py)** has [1.50](../results/trials.json#tables.ways.one%20at%20a%20time.loss),
  and [1.25](../results/trials.json#tables.ways.v1.2.loss).

  [three.py](../docs/three.py "program")

After.
"""


def test_steps_are_taken_out_of_a_note() -> None:
    found = [*items(Note("docstring", 5, tuple(LIST.split("\n"))))]
    assert [one.number if isinstance(one, Item) else "".join(one.texts) for one in found] == [
        "Before.",
        1,
        "**Between**",
        2,
        3,
        "After.",
    ]
    steps_of = [one for one in found if isinstance(one, Item)]
    assert [(one.program, one.line) for one in steps_of] == [
        ("../docs/one.py", 9),
        ("", 13),
        ("../docs/three.py", 17),
    ]
    assert [one.note.first for one in steps_of] == [7, 13, 14]


def shown(tmp_path: Path, text: str) -> Page:
    head = 'r"""\n---\ntitle: {}\nsummary: Some.\n{}---\n\n{}\n"""\n'
    pages = {
        "pkg/__init__.py": parse(head.format("All", "layout: path\n", text), "pkg/__init__.py"),
        "pkg/a.py": parse(head.format("A", "", ""), "pkg/a.py"),
        "pkg/b.py": parse(head.format("B", "", ""), "pkg/b.py"),
    }
    write(tmp_path, {"docs/one.py": "a = 1\n", "docs/three.py": "a = 1\nb = 2\n"})
    with Formulas(KATEX) as formulas:
        path = "pkg/__init__.py"
        known = links(tmp_path, pages)
        return page(pages[path], context(known, formulas, steps=steps(pages.values())))


def test_a_step_shows_its_loss_and_what_changes(tmp_path: Path) -> None:
    # The first number is of another table than the second, so nothing is drawn of that.
    found = shown(tmp_path, LIST.replace("1.551](../results/trials.json#values.loss)", "it](a.py)"))
    assert [one.sentence for one in found.problems] == []
    assert "<svg" not in found.markdown

    first = "1.50](../results/trials.json#tables.ways.one%20at%20a%20time.loss)"
    found = shown(tmp_path, LIST.replace("1.551](../results/trials.json#values.loss)", first))
    assert [one.sentence for one in found.problems] == []
    tree = rendered(found.markdown).all
    ids = [one.get("id") for one in tree.iterfind(".//div[@class='path-step']")]
    assert ids == ["step-1", None, "step-2", "step-3"]
    labels = [one.get("aria-label") for one in tree.iter("svg") if one.get("role")]
    # A step without a number keeps that of the step before; of several, the last one counts.
    assert labels == ["Loss 1.50", "Loss 1.50, before 1.50", "Loss 1.25, before 1.50"]
    places = [float(one.get("cx").rstrip("%")) for one in tree.iter("circle")]
    assert places[0] == places[1] > places[2]
    summaries = ["".join(one.itertext()) for one in tree.iter("summary")]
    assert summaries == ["The program", "What changes in the program: 1 line added, 0 removed"]
    named = [one.get("href") for one in tree.iter("a") if one.get("download") is not None]
    assert named[-2:] == ["../one.py", "../three.py"]


def test_a_program_that_is_not_there_is_a_problem_with_its_line(tmp_path: Path) -> None:
    found = shown(tmp_path, LIST.replace("three.py", "four.py"))
    (problem,) = [one for one in found.problems if "four" in one.sentence]
    # The note begins in line 8 of the file.
    assert problem.line == 7 + 13
    assert "leads to nothing" in problem.sentence

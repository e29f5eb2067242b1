r"""What a notebook says is there: nothing points at a picture or a table that only the page has."""

import ast
import json
import re
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.literate.projects import ROOT

FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.rglob("*.ipynb"))
Cell = dict[str, Any]
# In bytes, without outputs: what a reader on a telephone waits for.
MEDIAN, MOST = 60_000, 200_000
# The words that point at something, and where it should be.
POINTS = re.compile(
    r"\b(?:the|this) (?:(?P<picture>figure|picture|chart)|tables?(?= above| below| shows))\b"
    r"(?:,? ?(?P<where>above|below|at the top))?"
)
DRAWS = ("plt.show()", "draw_squares(", "look_inside(", ".train(")


def cells_of(path: Path) -> list[Cell]:
    r"""The cells, their texts joined."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [{**cell, "source": "".join(cell["source"])} for cell in cells]


def visible_comments(cell: Cell) -> list[str]:
    r"""Comments of a cell that isn't folded, without what they say in code."""
    if cell["cell_type"] != "code" or "jupyter" in cell["metadata"]:
        return []
    blocks = re.findall(r"(?m)(?:^[ \t]*# .*\n?)+", cell["source"])
    return [re.sub(r"`[^`]*`|“[^”]*”", "", block) for block in blocks]


def has_picture(cell: Cell) -> bool:
    if cell["cell_type"] == "code":
        return any(one in cell["source"] for one in DRAWS)
    return "](data:image/png" in cell["source"]


def has_table(cell: Cell) -> bool:
    return (
        cell["cell_type"] == "markdown"
        and re.search(r"(?m)^\|[ :|-]+\|$", cell["source"]) is not None
    )


def said(cell: Cell) -> str:
    r"""What a reader reads of a cell, on one line."""
    if cell["cell_type"] == "code":
        text = " ".join(visible_comments(cell))
        return " ".join(re.sub(r"\n[ \t]*#", " ", text).split())
    text = re.sub(r"\(data:[^)]*\)|```.*?```", "", cell["source"], flags=re.DOTALL)
    return " ".join(text.split())


def unseen(cells: list[Cell]) -> list[str]:
    r"""What is pointed at and isn't where the words say."""
    found = []
    for at, cell in enumerate(cells):
        parts = {"above": cells[: at + 1], "at the top": cells[:3], "below": cells[at:]}
        for match in POINTS.finditer(said(cell)):
            kind = has_picture if match["picture"] else has_table
            if not any(map(kind, parts.get(match["where"], cells))):
                found.append(match[0])
    return found


def ends_before_nothing(cells: list[Cell]) -> list[str]:
    r"""Sentences that end in a colon before a heading, a folded cell or the end."""
    found = []
    for cell, after in zip(cells, [*cells[1:], None], strict=True):
        if cell["cell_type"] == "markdown":
            following = after["source"] if after else "#"
            if cell["source"].rstrip().endswith(":") and re.match(r"#+ |#@title|#$", following):
                found.append(cell["source"].rstrip()[-60:])
            found += re.findall(r".{1,60}:\n\n(?=#)|\n\n\n\n", cell["source"])
    return found


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (["The picture above."], ["The picture above"]),
        (["In the figure below.", "![a](data:image/png;base64,aa)"], []),
        (["![a](data:image/png;base64,aa)", "In the figure below."], ["The figure below"]),
        (["The table above.\n\n| a |\n| --- |\n| b |"], []),
        (["The table above."], ["The table above"]),
    ],
)
def test_what_points_at_nothing_is_found(sources: list[str], expected: list[str]) -> None:
    cells = [{"cell_type": "markdown", "metadata": {}, "source": one.lower()} for one in sources]
    assert unseen(cells) == [one.lower() for one in expected]


def test_a_colon_before_nothing_is_found() -> None:
    texts = ["It has:\n\n## Next", "It has:", "## Next"]
    cells = [{"cell_type": "markdown", "metadata": {}, "source": one} for one in texts]
    assert len(ends_before_nothing(cells)) == 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_what_a_notebook_says_can_be_read_and_is_there(path: Path) -> None:
    cells = cells_of(path)
    comments = [one for cell in cells for one in visible_comments(cell)]
    assert [one for one in comments if re.search(r"\$[^$\n]+\$|\\[a-zA-Z]{2,}", one)] == []
    assert [one for one in comments if "](" in one] == []
    # Neither Markdown nor formulas are set in a title that folds.
    titles = [
        re.sub(r"<code>.*?</code>", "", title)
        for cell in cells
        for title in re.findall(r"<summary>(.*?)</summary>", cell["source"], re.DOTALL)
    ]
    assert [one for one in titles if re.search(r"\$\S.*\$|\\[a-zA-Z]{2,}|\]\(|`", one)] == []
    # An answer to choose isn't shown with its box: that one is ticked.
    assert [one for cell in cells for one in re.findall(r"(?m)^- \[x\] .*", cell["source"])] == []
    assert unseen(cells) == []
    assert ends_before_nothing(cells) == []
    assert not [
        one for one in cells if re.search(r"(?i)\bbeside (the|this) (line|code)", said(one))
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_an_import_has_no_cell_of_its_own_in_the_middle_of_what_it_is_for(path: Path) -> None:
    shown = [
        cell["source"]
        for cell in cells_of(path)
        if cell["cell_type"] == "code" and "jupyter" not in cell["metadata"]
    ]
    # The first one has the imports of all that follows.
    assert [one for one in shown[1:] if imports_alone(one)] == []


def imports_alone(code: str) -> bool:
    return all(isinstance(one, ast.Import | ast.ImportFrom) for one in ast.parse(code).body)


def test_a_form_with_steps_says_what_so_many_steps_reach() -> None:
    ends = {
        path.relative_to(ROOT).as_posix(): one
        for path in sorted((ROOT / "labml_nn").rglob("*.py"))
        for one in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(one, ast.FunctionDef) and one.name == "notebook"
    }
    asked = {
        name: ast.get_docstring(one) or ""
        for name, one in ends.items()
        if "steps" in [argument.arg for argument in one.args.args]
    }
    assert len(asked) >= 18
    # A number of a record, or whether the numbers of the page are those of as many steps.
    says = re.compile(r"\(\S*results/|\bon\s+this\s+page|\btable\s+below")
    assert [name for name, note in asked.items() if not says.search(note)] == []


def test_notebooks_are_small() -> None:
    sizes = [path.stat().st_size for path in NOTEBOOKS]
    assert median(sizes) <= MEDIAN
    assert max(sizes) <= MOST


def sections_with_code(cells: list[Cell]) -> list[str]:
    r"""The heading that stands above code, for each section that has some."""
    found = []
    heading = ""
    for cell in cells:
        if cell["cell_type"] == "markdown":
            heading = next(iter(re.findall(r"(?m)^##+ (.+)$", cell["source"])), heading)
        elif heading:
            found.append(heading)
            heading = ""
    return found


def test_a_section_that_a_cell_comes_after_has_a_name_of_its_own() -> None:
    for path in NOTEBOOKS:
        sections = sections_with_code(cells_of(path))
        twice = {one for one in sections if sections.count(one) > 1}
        assert twice == set(), path

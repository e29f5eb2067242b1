r"""Which rows use both columns. That the estimates fit the screen is for the tests in a browser."""

import pytest

from literate.page.columns import COLUMN, columns, formula_width
from literate.page.formulas import Formulas
from literate.page.page import _DISPLAYED
from literate.reading.rows import Note
from tests.literate.projects import KATEX

SENTENCE = "So many words that it takes a line of the note.\n"


def note(text: str) -> Note:
    return Note("docstring", 1, tuple(text.split("\n")))


@pytest.mark.parametrize(
    ("text", "code", "expected"),
    [
        ("Short.", 12, ""),
        # A long note has nothing beside it, a long piece of code neither.
        (SENTENCE * 20, 3, "note"),
        (SENTENCE * 18, 20, ""),
        (SENTENCE * 40, 15, "both"),
        ("Short.", 30, "both"),
        (None, 10, ""),
        (None, 15, "both"),
        # What the column would cut.
        ("```\n" + "x" * 40 + "\n```", 3, ""),
        ("```\n" + "x" * 60 + "\n```", 3, "note"),
        ("```\n" + "x" * 60 + "\n```", 15, "both"),
        # Lines are joined, items of a list are not; the address of a link takes no room.
        ("a\n" * 60, 1, ""),
        ("* a\n" * 20, 1, "note"),
        ("[a](" + "b" * 900 + ")", 1, ""),
        # Headings, blocks and formulas are high.
        ("## A\n\n" * 5, 1, "note"),
        ("```\n" + "x\n" * 15 + "```", 1, "note"),
        ("$$\nx\n$$\n\n" * 4, 1, "note"),
    ],
)
def test_a_row_uses_both_columns_where_one_would_be_empty(
    text: str | None, code: int, expected: str
) -> None:
    assert columns(note(text) if text else None, code, []) == expected


def displayed(formula: str) -> str:
    with Formulas(KATEX) as formulas:
        (mathml,) = _DISPLAYED.findall(formulas.render(formula, True))
    return mathml


# Widths in em that KaTeX computes from its fonts.
@pytest.mark.parametrize(
    ("formula", "width"),
    [
        (r"\theta_i = 10000^{-2i/d_k}", 6.8),
        (r"\operatorname{FFN}(x) = \max(0,\, x W_1 + b_1)\, W_2 + b_2", 16.0),
        (r"S_{ij} = \frac{q_i \cdot (k_j + a^K_{i-j})}{\sqrt{d_k}}", 8.9),
        (r"l \leftarrow e^{m - m'} l + \sum_j e^{S_j - m'} \qquad o \leftarrow e^{m - m'} o", 17.1),
    ],
)
def test_the_width_of_a_formula_is_nearly_right(formula: str, width: float) -> None:
    assert formula_width(displayed(formula)) == pytest.approx(width, rel=0.12)


def test_a_wide_formula_takes_its_note_over_both_columns() -> None:
    narrow, wide = displayed("x = 1"), displayed("x = " + " + ".join("abcdefghijklm"))
    assert formula_width(narrow) < COLUMN < formula_width(wide)
    assert columns(note("Short."), 3, [narrow]) == ""
    assert columns(note("Short."), 3, [narrow, wide]) == "note"

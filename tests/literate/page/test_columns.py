r"""Which rows use both columns. That the estimates fit the screen is for the tests in a browser."""

import pytest

from literate.page.columns import COLUMN, MOST_WORDS, formula_width, is_band
from literate.page.formulas import Formulas
from literate.page.page import _DISPLAYED
from literate.reading.rows import Note
from tests.literate.projects import KATEX


def note(text: str) -> Note:
    return Note("docstring", 1, tuple(text.split("\n")))


WORDS = "word " * (MOST_WORDS // 2)


@pytest.mark.parametrize(
    ("text", "shown", "expected"),
    [
        ("Short.", "", False),
        (WORDS, "", False),
        (WORDS + WORDS + "more", "", True),
        # The address of a link is no word.
        ("[a](" + "b" * 900 + ")", "", False),
        # A table or a picture.
        ("| a | b |\n|---|---|\n| 1 | 2 |", "", True),
        ("Look:\n\n[a](b.json#figures.c)", '<figure class="exhibit">', True),
        # What the column would cut.
        ("```\n" + "x" * 40 + "\n```", "", False),
        ("```\n" + "x" * 60 + "\n```", "", True),
    ],
)
def test_a_long_docstring_or_a_wide_one_runs_over_both_columns(
    text: str, shown: str, expected: bool
) -> None:
    assert is_band(note(text), shown, []) == expected


def test_a_comment_stands_beside_its_line_however_long_it_is() -> None:
    text = Note("comment", 1, tuple((WORDS * 3).split("\n")))
    assert not is_band(text, "", [])
    assert is_band(Note("comment", 1, ("```", "x" * 60, "```")), "", [])


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
    narrow, wide = displayed("x = 1"), displayed("x = " + " + ".join("abcdefghijklmnopq"))
    assert formula_width(narrow) < COLUMN < formula_width(wide)
    assert not is_band(note("Short."), "", [narrow])
    assert is_band(note("Short."), "", [narrow, wide])

r"""Which rows use both columns. That the estimates fit the screen is for the tests in a browser."""

import pytest

from literate.page.columns import (
    COLUMN,
    LETTERS,
    LINE,
    Beside,
    bands,
    formula_width,
    height,
    is_pictured,
    is_wide,
)
from literate.page.formulas import Formulas
from literate.page.row_views import _DISPLAYED
from literate.reading.notes import Note
from tests.literate.projects import KATEX


def note(text: str) -> Note:
    return Note("docstring", 1, tuple(text.split("\n")))


WORDS = "word " * 50


@pytest.mark.parametrize(
    ("text", "shown", "expected"),
    [
        (WORDS * 3, "", False),
        # A table or a picture.
        ("| a | b |\n|---|---|\n| 1 | 2 |", "", True),
        ("Look:\n\n[a](b.json#figures.c)", '<figure class="exhibit">', True),
        # What the column would cut.
        ("```\n" + "x" * 40 + "\n```", "", False),
        ("```\n" + "x" * 60 + "\n```", "", True),
    ],
)
def test_what_does_not_fit_the_column_of_notes_is_wide(
    text: str, shown: str, expected: bool
) -> None:
    assert is_wide(note(text), shown, []) == expected
    # A comment explains its line, with a small picture if need be.
    comment = Note("comment", 1, tuple(text.split("\n")))
    assert is_wide(comment, shown, []) == (expected and "```" in text)


def test_a_picture_with_few_words_is_told_from_one_with_many_and_from_two() -> None:
    picture = (
        '<figure class="exhibit"><span class="drawn"></span><figcaption>A B</figcaption></figure>'
    )
    assert is_pictured(f"{WORDS}\n\n{picture}")
    # Formulas are there for eyes and for ears.
    assert is_pictured(f"{WORDS}<math>{WORDS}</math>{picture}")
    assert not is_pictured(f"{WORDS * 2}\n\n{picture}")
    assert not is_pictured(WORDS) and not is_pictured(picture * 2)


def headed(words: str, code: int) -> Beside:
    return Beside(note(words), code, True, False)


def beside(words: str, code: int) -> Beside:
    return Beside(Note("comment", 1, (words,)), code, False, False)


def test_a_docstring_runs_over_both_columns_where_the_page_gets_shorter_by_it() -> None:
    # Beside much code it costs nothing, above it as many lines as it has.
    assert bands([headed(WORDS, 30)]) == [False]
    assert bands([headed(WORDS, 1)]) == [True]
    # There is code enough for the docstring, and none for all notes together.
    assert bands([headed(WORDS, 20), beside("Short.", 2)]) == [False, False]
    assert bands([headed(WORDS * 2, 1), beside(WORDS, 1)]) == [True, False]
    # What is below the next heading is no part of it.
    assert bands([headed(WORDS, 1), headed("Short.", 30)]) == [True, False]
    assert bands([headed("Short.", 1), headed("Short.", 1)]) == [False, False]


def test_a_note_is_as_high_as_its_parts() -> None:
    one, two = (height(note(text), LETTERS) for text in ("a" * 40, "a" * 60))
    assert two - one == LINE
    # The address of a link takes no room; lines are joined, items of a list are not.
    assert height(note("[a](" + "b" * 900 + ")"), LETTERS) == one
    assert height(note("a\n" * 20), LETTERS) == one
    assert height(note("* a\n* a\n* a"), LETTERS) == one + 2 * LINE
    assert height(note("$$\nx\n$$"), LETTERS) > 2 * LINE
    assert height(note("```\n" + "x\n" * 15 + "```"), LETTERS) > 15 * LINE


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
    assert not is_wide(note("Short."), "", [narrow])
    assert is_wide(note("Short."), "", [narrow, wide])

r"""The spans of a note. Nothing of the note may be lost, and nothing found in the wrong place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literate.reading.notes import Span, spans
from literate.reading.rows import Note


def cut(text: str, first: int = 1) -> list[Span]:
    return spans(Note("comment", first, tuple(text.split("\n"))))


def found(text: str) -> list[tuple[str, str]]:
    return [(span.kind, span.content) for span in cut(text) if span.kind != "text"]


def test_code_and_formulas_are_found() -> None:
    assert found("a `code` and $x_i$ and ``a ` b``.") == [
        ("code", "code"),
        ("inline", "x_i"),
        ("code", "a ` b"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "$5 and $6",
        "costs $ 5 $",
        r"\$x$",
        "$x$5",
        "an open $x",
        "an open ` tick",
        "$x\n\ny$",
        "`x\n\ny`",
        "$$ inline $$ in text",
    ],
)
def test_what_only_looks_like_code_or_a_formula_is_text(text: str) -> None:
    assert found(text) == []


def test_a_dollar_in_code_is_no_formula_and_a_tick_in_a_formula_no_code() -> None:
    assert found("`$x$` and $`y$") == [("code", "$x$"), ("inline", "`y")]


def test_a_display_formula_stands_between_two_lines_of_dollars() -> None:
    assert found("a\n\n$$\nx\n= y\n$$\n\nb") == [("display", "x\n= y")]
    assert found("$$x$$") == [("display", "x")]


def test_an_open_display_formula_is_text() -> None:
    assert found("$$\nx") == []


def test_fences_hide_everything() -> None:
    assert found("```python\n$x$ `y` [a](b)\n```\n$z$") == [
        ("fence", "```python\n$x$ `y` [a](b)\n```\n"),
        ("inline", "z"),
    ]
    assert found("~~~\n```\n$x$\n~~~\n`y`") == [("fence", "~~~\n```\n$x$\n~~~\n"), ("code", "y")]


def test_a_longer_fence_is_closed_by_one_as_long() -> None:
    assert found("````\n```\n$x$\n````") == [("fence", "````\n```\n$x$\n````")]


def test_indented_code_hides_formulas_but_not_below_a_list() -> None:
    assert found("a\n\n    $x$\n\nb") == [("fence", "    $x$\n\n")]
    assert found("* a\n\n    $x$") == [("inline", "x")]


def test_spans_know_their_lines_in_the_file() -> None:
    text = "a\n`b` and\n$c$\n\n$$\nd\n$$\n`e`"
    lines = [(span.kind, span.line) for span in cut(text, first=10) if span.kind != "text"]
    assert lines == [("code", 11), ("inline", 12), ("display", 14), ("code", 17)]


@given(st.text(alphabet="a`$~\\ \n*-1[](){}<>", max_size=60))
def test_spans_put_together_are_the_note(text: str) -> None:
    pieces = cut(text)
    assert "".join(span.text for span in pieces) == text
    line = 1
    for span in pieces:
        assert span.line == line
        line += span.text.count("\n")

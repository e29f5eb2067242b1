r"""The spans of a note. Nothing of the note may be lost, and nothing found in the wrong place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literate.reading.notes import Span, spans
from literate.reading.rows import Note


def cut(text: str, first: int = 1) -> tuple[Span, ...]:
    return spans(Note("comment", first, tuple(text.split("\n"))))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`code`, $x_i$, ``a ` b``.", [("code", "code"), ("inline", "x_i"), ("code", "a ` b")]),
        ("`$x$` and $`y$", [("code", "$x$"), ("inline", "`y")]),
        ("a\n\n$$\nx\n= y\n$$\n\nb", [("display", "x\n= y")]),
        ("$$x$$", [("display", "x")]),
        # Fences hide everything, and are closed by one that is as long.
        ("``` py\n$x$ `y`\n```\n$z$", [("fence", "``` py\n$x$ `y`\n```\n"), ("inline", "z")]),
        ("~~~\n```\n$x$\n~~~\n`y`", [("fence", "~~~\n```\n$x$\n~~~\n"), ("code", "y")]),
        ("````\n```\n$x$\n````", [("fence", "````\n```\n$x$\n````")]),
        # Indented code hides formulas, but not below a list.
        ("a\n\n    $x$\n\nb", [("fence", "    $x$\n\n")]),
        ("a\n\n    >>> $x = 1; $y", [("fence", "    >>> $x = 1; $y")]),
        ("* a\n\n    $x$", [("inline", "x")]),
        ("[^1]: a\n\n    $x$", [("inline", "x")]),
        # A quotation can hold a display.
        ("> a\n> $$\n> x\n> $$\n> b", [("display", "x")]),
        # Of a comment that is a program nothing is read.
        ("y = f[0](x)", [("fence", "y = f[0](x)")]),
        # No fences: a heading of reStructuredText, a frame, and a code span.
        *((text, []) for text in ("Heading\n~~~~~~~\n", "~~~~ A ~~~~", "a\n```b``")),
        # No formulas: variables of JSON.
        *((text, []) for text in ('"$ref" or "$defs"', '"#/$defs/a" or "#/$defs/b"')),
        # What only looks like code or a formula is text.
        *((text, []) for text in ("$5 and $6", "costs $ 5 $", r"\$x$", "$x$5", "an open $x")),
        *((text, []) for text in ("an open ` tick", "$x\n\ny$", "`x\n\ny`", "$$ x $$ in text")),
        ("$$\nx", []),
        *((text, []) for text in ("half (of it)", "note: a = b", "x", "TODO(me): f(x)")),
    ],
)
def test_the_spans_of_a_note(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(one.kind, one.content) for one in cut(text) if one.kind != "text"] == expected


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

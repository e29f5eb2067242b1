r"""Notes taken apart: compared with the lines of the file, and with Python-Markdown."""

import re
from pathlib import Path

import markdown
import pytest

from literate.reading.notes import Note
from literate.reading.page_source import page_source
from literate.reading.pieces import Piece, Section, pieces
from literate.reading.source import parse, read

ROOT = Path(__file__).resolve().parents[3]


def note(text: str) -> Note:
    return Note("docstring", 1, tuple(text.split("\n")))


def test_the_pieces_of_each_note_are_the_note() -> None:
    for path in sorted(ROOT.glob("labml_nn/transformers/**/*.py")):
        for row in page_source(read(path)).rows:
            found = pieces(row.note, True) if row.note else ()
            text = "\n".join(row.note.texts) if row.note else ""
            # No heading there has a formula.
            assert "".join(one.span.text for one in found if isinstance(one, Piece)) == text, path


TEXT = r"""
## About `a`

Of `b`:

* `c` and `d` are arguments, and `e` is none
* `F` is a class
"""


def test_what_markdown_puts_into_a_heading_and_an_argument_lead_nowhere() -> None:
    (heading,) = re.findall(r"<h2>.*</h2>", markdown.markdown(TEXT))
    found = {one.span.content: one for one in pieces(note(TEXT), True) if isinstance(one, Piece)}
    assert "<code>a</code>" in heading and not found["a"].leads
    leads = {name: found[name].leads for name in "bcdeF"}
    assert leads == {"b": True, "c": False, "d": False, "e": True, "F": True}
    # In a comment, nobody's arguments are listed.
    others = [one for one in pieces(note(TEXT), False) if isinstance(one, Piece)]
    assert {one.span.content for one in others if not one.leads} >= {"a"}
    assert [one.leads for one in others if one.span.content == "c"] == [True]


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("## The width $d_k$", ("the-width-d_k", "The width d_k")),
        ("### $x$ & more", ("x-more", "x & more")),
    ],
)
def test_a_heading_with_a_formula_has_its_anchor_of_words(
    heading: str, expected: tuple[str, str]
) -> None:
    first, section, last = pieces(note(f"Before.\n\n{heading}\n\nAfter."), True)
    assert isinstance(section, Section)
    assert (section.slug, section.label) == expected
    assert section.words.texts == (heading.lstrip("# "),) and section.words.first == 3
    assert isinstance(first, Piece) and isinstance(last, Piece)
    assert (first.span.text.strip(), last.span.text.strip()) == ("Before.", "After.")


HEADINGS = '''
class A:
    r"""
    <a id="old"></a>

    ## Title

    Text.
    """

    def b(self):
        r"""
        No heading.
        """


def example():
    r"""
    ## Example

    Above.

    ## Measured

    Below.
    """
'''


def test_a_note_is_cut_below_its_title_and_above_what_an_example_tells_after_its_code() -> None:
    notes = {one.row.documents.name: one for one in page_source(parse(HEADINGS, "a.py")).notes
             if one.row.documents}  # fmt: skip
    title = notes["A"].title
    assert title and title.words and title.words.texts == ("Title",)
    assert (title.name, title.level, title.anchor) == ("A", 2, '<a id="old"></a>')
    texts = {
        name: [
            " ".join("".join(part.texts).split()) if part else "" for part in (one.text, one.after)
        ]
        for name, one in notes.items()
    }
    assert texts == {
        "A": ["Text.", ""],
        "A.b": ["No heading.", ""],
        "example": ["Above.", "## MeasuredBelow."],
    }
    # An author who writes headings has only these.
    assert notes["A.b"].title is None
    alone = page_source(parse(HEADINGS.replace("## ", ""), "a.py")).notes
    assert [one.title.name for one in alone if one.title] == ["A", "A.b", "example"]

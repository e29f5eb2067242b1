r"""
---
title: Columns
summary: Notes stand left of their code, but for long ones, which run over both columns.
---

A note floats beside the first line of its code. When it is longer than that code, the next note
begins lower than its own line; the code is never torn apart. With the next heading both columns
begin again at one height. So the notes of a method, put together, may be higher than its code, and
leave the column of code empty. If its docstring is long, the page is shorter when that stands above
the code, in both columns: as a *band*. A note is also a band if it has a table, a picture, or a
formula or a block of text that is wider than the column of notes.

How high and how wide a note will be depends on fonts and on the window. An estimate is enough here.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from literate.reading.notes import Note

# Letters of a line of text in the column of notes, and of a line over both columns, which is two
# lines side by side.
LETTERS, BOTH = 57, 2 * 72

# Letters of a block of text that fit the column of notes, and the width of that column in em, for
# formulas, in a window of 1024 pixels.
BLOCK, COLUMN = 44, 20.0

# Heights in pixels: of a line of text or code, of a heading, and of a displayed formula.
LINE = 20.0
HEADING = 33.0
FORMULA = 48.0

# Of the gap between two paragraphs, of that below a note, and of that between two rows of code.
PARAGRAPH = 7.0
BELOW = 8.0
ROW = 6.0

# The least height that a band must save.
SAVED = 30.0

# So many words are lower than the picture beside them.
FEW_WORDS = 90


@dataclass(frozen=True)
class Beside:
    r"""
    ## A note and its code, to be laid out

    * `note` is None where code has no note
    * `code` is the number of its lines of code
    * `is_headed` is whether both columns begin anew there
    * `is_wide` is whether the note doesn't fit its column
    """

    note: Note | None
    code: int
    is_headed: bool
    is_wide: bool


def bands(rows: Sequence[Beside]) -> list[bool]:
    r"""
    ## Which notes are bands?

    A wide note is one wherever it is. A docstring is one if that makes its method shorter.
    """
    wide = [row.is_wide for row in rows]
    for at, row in enumerate(rows):
        if row.is_headed and row.note and not row.is_wide:
            after = range(at + 1, len(rows))
            end = next(
                (
                    position
                    for position in after
                    if rows[position].is_headed or rows[position].is_wide
                ),
                len(rows),
            )
            beside = _height(rows[at:end])
            below = [Beside(None, row.code, False, False), *rows[at + 1 : end]]
            band = HEADING + height(row.note, BOTH) + BELOW + _height(below)
            wide[at] = beside - band > SAVED
    return wide


def _height(rows: Sequence[Beside]) -> float:
    r"""
    The height of some rows side by side: a note begins at its line, or where the one above it ends.
    """
    notes = code = 0.0
    for row in rows:
        if row.note:
            heading = HEADING if row.is_headed else 0.0
            notes = max(notes, code) + heading + height(row.note, LETTERS) + BELOW
        code += row.code * LINE + ROW
    return max(notes, code)


def is_wide(note: Note, shown: str, formulas: Iterable[str]) -> bool:
    r"""
    ## Is a note too wide for its column?

    `shown` is the note as it stands on the page, and `formulas` are its displayed formulas, as
    MathML. A picture in a comment is made small: it explains that line.
    """
    if any(formula_width(formula) > COLUMN for formula in formulas) or _has_wide_block(note):
        return True
    if note.kind != "docstring":
        return False
    return "<figure" in shown or any(block.kind == "table" for block in note.parsed.blocks)


def is_pictured(shown: str) -> bool:
    r"""
    ## Is a note a picture with few words?

    `shown` is the note as it stands on the page. Side by side, the words would leave most of their
    column empty; so the caption of the picture joins them.
    """
    words = re.sub(r"<(figure|math).*?</\1>|<[^>]*>", "", shown, flags=re.DOTALL)
    return shown.count('<span class="drawn"') == 1 and len(words.split()) <= FEW_WORDS


def height(note: Note, letters: int) -> float:
    r"""
    ## The height of a note

    In pixels, where so many letters fit a line.
    """
    total = 0.0
    share = LETTERS / letters
    spans = note.parsed.spans
    for span in spans:
        if span.kind == "display":
            total += FORMULA * share
        elif span.kind == "fence":
            total += len(span.text.split("\n")) * LINE * share
    text = "".join(_plain(span.kind, span.text, span.content) for span in spans)
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        items = re.split(r"\n(?=\s*[*-] )", paragraph)
        lines = (len(" ".join(item.split())) / LETTERS for item in items)
        total += sum(map(math.ceil, lines)) * LINE * share + PARAGRAPH * share
    return total


def _plain(kind: str, text: str, content: str) -> str:
    r"""
    A link shows its words, a formula about half of its signs.
    """
    if kind == "text":
        return re.sub(r"\]\([^)]*\)", "", text)
    return {"code": content, "inline": content[::2]}.get(kind, "")


def _has_wide_block(note: Note) -> bool:
    blocks = [span.text for span in note.parsed.spans if span.kind == "fence"]
    lines = [line for block in blocks for line in block.split("\n")]
    return any(len(line) > BLOCK for line in lines)


def formula_width(mathml: str) -> float:
    r"""
    ## The width of a formula

    In em, from its MathML: letters and signs have about the width of half an em.
    """
    return _width(ElementTree.fromstring(mathml))


def _width(element: ElementTree.Element) -> float:
    tag = element.tag.rpartition("}")[2]
    if tag == "annotation":
        return 0.0
    inner = [_width(part) for part in element]
    if tag in ("mfrac", "munder", "mover", "munderover", "mtable"):
        return max(inner, default=0.0)
    if tag in ("msub", "msup", "msubsup"):
        first, *scripts = inner
        return first + 0.7 * max(scripts, default=0.0)
    if tag == "mspace":
        return float((element.get("width") or "0em").removesuffix("em"))
    # A sum has room for its bounds, and signs between two terms have some on both sides.
    text = element.text or ""
    if text in ("∑", "∏"):
        around = 1.3
    elif tag == "mo" and text in "=+−←→∼≤≥≈∈":
        around = 0.5
    else:
        around = 0.0
    return sum(inner) + 0.5 * len(text.strip()) + around

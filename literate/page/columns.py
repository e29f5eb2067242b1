r"""
---
title: Columns
summary: Notes stand left of their code, unless one of the two would leave the other's place empty.
---

A note of twenty lines beside one line of code leaves half of the screen empty, and so does a long
piece of code without a note. Such a row uses both columns: the note first, over the full width, and
the code below it. A formula or a block of text that is wider than the column of notes isn't cut:
its note goes over both columns, too.

How high a note will be depends on fonts and on the width of the window. An estimate is enough here.
"""

import math
import re
from collections.abc import Iterable
from typing import Literal
from xml.etree import ElementTree

from literate.reading.notes import spans
from literate.reading.rows import Note

# Letters of a line of text in the column of notes, in a window of 1400 pixels.
LETTERS = 41

# The width of that column in em of a formula.
COLUMN = 13.0

# Lines of text that may stand beside nothing.
MOST_EMPTY = 9

# Heights in lines of text: of a heading, of a displayed formula, and of a line of code.
HEADING, FORMULA, CODE = 2.5, 3.5, 0.76

_HEADING = re.compile(r"#{1,6}\s")


def columns(note: Note | None, code: int, formulas: Iterable[str]) -> Literal["", "note", "both"]:
    r"""
    ## What goes over both columns

    `code` is the number of lines of code, and `formulas` are the displayed formulas of the note, as
    MathML. The result is empty if note and code stand side by side, `note` if the note goes over
    both columns, and `both` if the code does, too.
    """
    note_height, code_height = height(note) if note else 0.0, code * CODE
    if code_height - note_height > MOST_EMPTY:
        return "both"
    is_wide = any(formula_width(one) > COLUMN for one in formulas) or (
        note and _has_wide_block(note)
    )
    if note_height - code_height > MOST_EMPTY or is_wide:
        return "both" if code_height > MOST_EMPTY else "note"
    return ""


def height(note: Note) -> float:
    r"""
    ## The height of a note in its column

    In lines of text, with half a line between two paragraphs.
    """
    total = 0.0
    for span in spans(note):
        if span.kind == "display":
            total += FORMULA
        elif span.kind == "fence":
            total += len(span.text.split("\n"))
    text = "".join(_plain(span.kind, span.text, span.content) for span in spans(note))
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        lines = re.split(r"\n(?=\s*[*-] )", paragraph)
        is_heading = bool(_HEADING.match(paragraph))
        letters = (len(" ".join(line.split())) for line in lines)
        total += HEADING if is_heading else 0.5 + sum(math.ceil(one / LETTERS) for one in letters)
    return total


def _plain(kind: str, text: str, content: str) -> str:
    r"""
    A link shows its words, a formula about half of its signs.
    """
    if kind == "text":
        return re.sub(r"\]\([^)]*\)", "", text)
    return {"code": content, "inline": content[::2]}.get(kind, "")


def _has_wide_block(note: Note) -> bool:
    blocks = [span.text for span in spans(note) if span.kind == "fence"]
    lines = [line for block in blocks for line in block.split("\n")]
    return any(len(line) > LETTERS for line in lines)


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
    inner = [_width(one) for one in element]
    if tag in ("mfrac", "munder", "mover", "munderover", "mtable"):
        return max(inner, default=0.0)
    if tag in ("msub", "msup", "msubsup"):
        first, *scripts = inner
        return first + 0.7 * max(scripts, default=0.0)
    if tag == "mspace":
        return float((element.get("width") or "0em").removesuffix("em"))
    # A sum has room for its bounds, and signs between two terms have some on both sides.
    around = (
        1.3
        if element.text in ("∑", "∏")
        else 0.5
        if tag == "mo" and (element.text or "") in "=+−←→∼≤≥≈∈"
        else 0.0
    )
    return sum(inner) + 0.5 * len((element.text or "").strip()) + around

r"""
---
title: Columns
summary: Notes stand left of their code, but for long ones, which run over both columns.
---

A note floats beside the first line of its code. When it is longer than that code, the next note
begins lower than its own line; the code is never torn apart. Some notes would push all notes below
them too far: the long docstring of a class, or one with a table or a picture. Such a note is a
*band* above its code, in both columns. So is a note with a formula or a block of text that is wider
than the column of notes.

How wide a note's parts will be depends on fonts and on the window. An estimate is enough here.
"""

import re
from collections.abc import Iterable
from xml.etree import ElementTree

from literate.reading.notes import spans
from literate.reading.plain import plain
from literate.reading.rows import Note

# A docstring of so many words may still stand beside its code.
MOST_WORDS = 70

# Letters of a block of text that fit the column of notes, and its width in em of a formula, in a
# window of 1024 pixels.
LETTERS = 44
COLUMN = 20.0

_TABLE = re.compile(r"\s*\|.*\|\s*")


def is_band(note: Note, shown: str, formulas: Iterable[str]) -> bool:
    r"""
    ## Does a note run over both columns?

    `shown` is the note as it stands on the page, and `formulas` are its displayed formulas, as
    MathML.
    """
    if any(formula_width(one) > COLUMN for one in formulas) or _has_wide_block(note):
        return True
    if note.kind != "docstring":
        return False
    has_table = "<figure" in shown or any(_TABLE.fullmatch(line) for line in note.texts)
    return has_table or len(plain(note).split()) > MOST_WORDS


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

r"""
---
title: Pieces of a note
summary: A note is cut at headings with a formula, and each name knows whether it can be a link.
---

Two things a page does with a note depend on where in it something stands, and the text alone tells
both. A heading with a formula gets its anchor and its place in the contents from us: the engine
would take both from the HTML of the formula. And the name of an argument, or a name in a heading,
is no link.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from literate.reading.notes import Block, Note, Span
from literate.reading.plain import seen

# What stands before the names that an item of a list explains, and between them.
_ITEM = re.compile(r"(?:^|\n)[ >]*[*+-] +\**$")
_LOWER = re.compile(r"[a-z_]\w*")
_AND = (", ", " and ", ", and ", " or ", " / ")


@dataclass(frozen=True)
class Piece:
    r"""
    ## A span, with where it stands

    * `leads` says whether a name there can be a link
    """

    span: Span
    leads: bool


@dataclass(frozen=True)
class Section:
    r"""
    ## A heading with a formula

    * `slug` is what its anchor is made of, and `label` what the contents say
    * `words` is its text, as a note
    """

    level: int
    slug: str
    label: str
    words: Note


def pieces(note: Note, explains: bool) -> Iterator[Piece | Section]:
    r"""
    ## Cut a note

    `explains` says whether its lists can be about arguments: an argument is no link, even where a
    method has its name.
    """
    begin = 0
    for block in note.parsed.headings:
        label = label_of(block)
        if not label or block.depth:
            continue
        yield from (Piece(span, True) for span in note.part(begin, block.first).parsed.spans)
        slug = re.sub(r"\W+", "-", label.lower()).strip("-")
        yield Section(block.level, slug, label, block.alone(note))
        begin = block.last
    yield from _last(note.part(begin) if begin else note, explains)


def _last(note: Note, explains: bool) -> Iterator[Piece]:
    headings = note.parsed.headings
    quiet = {note.line(at) for block in headings for at in range(block.first, block.last)}
    before = "\n"
    is_listed = False
    for span in note.parsed.spans:
        is_listed = _ITEM.search(before) is not None or (is_listed and before in _AND)
        is_bare = _LOWER.fullmatch(span.content) is not None
        # A role leads to what it means.
        is_meant = note.name(span.line, span.content) != span.content
        is_argument = explains and is_listed and is_bare and not is_meant
        yield Piece(span, span.line not in quiet and not is_argument)
        if span.kind == "text":
            before = span.text


def label_of(heading: Block) -> str:
    r"""
    ## The words of a heading with a formula

    Empty without a formula.
    """
    has_formula = any(each.is_formula for each in heading.words)
    return seen(heading.words) if has_formula else ""

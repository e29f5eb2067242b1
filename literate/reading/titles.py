r"""
---
title: Titles of rows
summary: Which definition has its heading in a row, and what is left of the note below it.
---

A docstring begins with the heading of what it documents. Its anchor is the name of that, which no
edit above it can move. Where its author writes none, the heading is the name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from literate.reading.notes import ANCHOR, Note
from literate.reading.pieces import label_of
from literate.reading.rows import Row, rows
from literate.reading.source import Definition, Source

# The function that ends a page.
EXAMPLE = "example"
# A method of a class within a class has no heading of its own.
MOST_DEPTH = 3
# The contents of a page fit beside it.
MOST_ENTRIES = 12


@dataclass(frozen=True)
class Title:
    r"""
    ## The heading of a definition

    * `name` is the definition
    * `words` are those of the heading, as a note; None, where it is the name
    * `label` is what the contents say, if there is a formula in it, and `is_listed` whether they
      say anything
    * `anchor` is one of the author's own that stands above it, as it is written
    """

    name: str
    level: int
    words: Note | None = None
    label: str = ""
    is_listed: bool = True
    anchor: str = ""


@dataclass(frozen=True)
class RowNote:
    r"""
    ## The note of a row, taken apart

    * `title` is its heading, and `text` what stands below that
    * `after` is what an example says under headings of its own: it is read after its code
    """

    row: Row
    title: Title | None
    text: Note | None
    after: Note | None = None


def row_note(row: Row, source: Source) -> RowNote:
    r"""
    ## Take the note of a row apart
    """
    title, text = _title(row, source)
    if text and row.documents and row.documents.name == EXAMPLE and text.parsed.headings:
        at = text.parsed.headings[0].first
        return RowNote(row, title, text.part(0, at), text.part(at))
    return RowNote(row, title, text)


def _title(row: Row, source: Source) -> tuple[Title | None, Note | None]:
    note, documents = row.note, row.documents
    if documents is None:
        begun = next((one for one in row.begins if one in source.once(named)), None)
        return _name(begun, source), note
    assert note is not None
    anchor = ""
    for block in note.parsed.blocks:
        # An anchor of the author's own above the heading stays there.
        if ANCHOR.fullmatch(block.text):
            anchor = block.text
            continue
        if block.kind != "heading":
            break
        is_listed = documents in source.once(_in_contents)
        words, label = block.alone(note), label_of(block)
        title = Title(documents.name, block.level, words, label, is_listed, anchor)
        return title, note.part(block.last)
    return _name(documents if documents in source.once(named) else None, source), note


def _name(definition: Definition | None, source: Source) -> Title | None:
    r"""
    The heading of a definition that is its name.
    """
    if definition is None:
        return None
    is_left_out = definition in source.once(_documented) - {*source.once(_in_contents)}
    return Title(definition.name, 2 + definition.depth, is_listed=not is_left_out)


def _is_headed(row: Row) -> bool:
    r"""
    Whether a docstring begins with a heading. An anchor of the author's own may stand above it.
    """
    if row.note is None or row.documents is None:
        return False
    blocks = (block for block in row.note.parsed.blocks if not ANCHOR.fullmatch(block.text))
    first = next(blocks, None)
    return first is not None and first.kind == "heading"


def named(source: Source) -> list[Definition]:
    r"""
    ## Definitions whose heading is their name

    In a file without a single heading above a docstring, those that have one, and classes and
    functions without: so what is there can be found on any page. Where an author writes headings,
    those that have a docstring without one; in a class with headings, its own or of its methods,
    they stay alone. The contents may [leave out](#_in_contents) some: at its heading a method still
    begins beside its code, however long the notes above it are.
    """
    headed = {row.documents.name for row in rows(source) if row.documents and _is_headed(row)}
    first = {definition.name: definition for definition in reversed(source.definitions)}
    listed = _documented(source)
    if not headed:
        listed = listed | {*_undocumented(source)}
    # Classes with headings.
    known = headed | {name.rpartition(".")[0] for name in headed}
    return [
        one
        for one in source.definitions
        if one in listed
        and one.depth < MOST_DEPTH
        and first[one.name] is one
        and one.name not in headed
        and known.isdisjoint(_around(one.name))
    ]


def _around(name: str) -> Iterator[str]:
    r"""
    The names of the definitions around one.
    """
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _undocumented(source: Source) -> Iterator[Definition]:
    for row in rows(source):
        for one in row.begins:
            if not one.docstring and not one.depth and not one.name.startswith("_"):
                yield one


def _documented(source: Source) -> set[Definition]:
    r"""
    What has a docstring, without helpers and examples of a class.
    """
    return {
        one
        for one in source.definitions
        if one.docstring and not re.search(r"(^|\.)_|\.example$", one.name)
    }


def _in_contents(source: Source) -> list[Definition]:
    r"""
    The contents of a page are short: no methods at all where they would make the list too long, and
    something else is in it.
    """
    documented = _documented(source)
    listed = [one for one in source.definitions if one in documented]
    at_top = [definition for definition in listed if definition.depth == 0]
    return at_top if len(listed) > MOST_ENTRIES and len(at_top) > 1 else listed

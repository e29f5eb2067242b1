r"""
---
title: Exhibits in notes
summary: A paragraph that is nothing but a link to a figure or a table is taken out of its note.
---

What a note shows of a [result](../results/records.py) is found here, and [shown](exhibit.py) later.
"""

import posixpath
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from literate.page.links import Links, UnknownTarget
from literate.reading.notes import Note
from literate.results.records import Figure, Result, Table


@dataclass(frozen=True)
class Exhibit:
    r"""
    ## A figure or a table that a note asks for

    * `caption` is the text of its link, `target` where that leads
    * `line` is the line of the file where the paragraph begins
    * `form` is the title of the link: as what it is shown
    * `found` is what the target names in a result, if it does
    """

    caption: str
    target: str
    line: int
    form: str = ""
    found: "Found | None" = None


@dataclass(frozen=True)
class Found:
    r"""
    ## What a target names

    A thing of a result, at a dotted name.
    """

    result: Result
    place: str
    thing: Any


def parts(
    note: Note, path: str, links: Links, forms: Collection[str] = ()
) -> Iterator[Note | Exhibit]:
    r"""
    ## Take the exhibits out of a note

    An exhibit is a paragraph that is nothing but a link to a figure or a table, or to a page if its
    title is one of the `forms` in which a page is shown on another. What stands before and behind
    it are notes again, which keep their lines. `path` is the file of the note.
    """
    begin = 0
    for first, last, exhibit in alone(note):
        found = None if exhibit.form in forms else _found(exhibit.target, path, links)
        if exhibit.form in forms or found:
            if first > begin:
                yield note.part(begin, first)
            yield replace(exhibit, found=found)
            begin = last
    if begin < len(note.texts) or not begin:
        yield note.part(begin) if begin else note


def alone(note: Note) -> Iterator[tuple[int, int, Exhibit]]:
    r"""
    ## The paragraphs that are nothing but a link

    Each with the first of its lines in the note, and the one behind it.
    """
    for block in note.parsed.blocks:
        target = block.link
        if target and not target.is_image and not block.depth:
            caption = block.text[target.opening + 1 : target.closing]
            line = note.line(block.first)
            yield block.first, block.last, Exhibit(caption, target.text, line, target.title)


def linked(path: str, target: str) -> tuple[str, str]:
    r"""
    ## The file and the anchor that a target names
    """
    file, _, anchor = target.partition("#")
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), file)), anchor


def _found(target: str, path: str, links: Links) -> Found | None:
    r"""
    The figure or the table that a target names.
    """
    file, anchor = linked(path, target)
    if not links.is_result(file):
        return None
    try:
        found = Found(*links.result(file, anchor, target))
    except UnknownTarget:
        # As a link it will be named.
        return None
    return found if isinstance(found.thing, Figure | Table) else None

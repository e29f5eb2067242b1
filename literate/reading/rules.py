r"""
---
title: Rules
summary: The conventions of a page that can be checked without running it.
---

A convention that nobody checks is a habit. These are checked on every build.
"""

import re
from collections.abc import Iterator

from literate.problems import Problem
from literate.reading.front_matter import split
from literate.reading.notes import spans
from literate.reading.rows import Row, rows
from literate.reading.source import Source

_HEADING = re.compile(r"(#{1,6})\s+\S")


def problems(source: Source) -> Iterator[Problem]:
    r"""
    ## What a source does against the conventions
    """
    yield from _not_raw(source)
    yield from _headings(source)


def _not_raw(source: Source) -> Iterator[Problem]:
    r"""
    In a docstring that is not raw, Python turns `\theta` into a tab and “heta”, for `help()` and
    for everybody who reads `__doc__`.
    """
    documented = [source.docstring, *(one.docstring for one in source.definitions)]
    for docstring in documented:
        if docstring is not None and "\\" in docstring.text and not docstring.raw:
            sentence = 'the docstring has a backslash and is not raw; begin it with `r"""`.'
            yield Problem(source.path, docstring.first, sentence)


def _headings(source: Source) -> Iterator[Problem]:
    r"""
    The title is the page's one heading of the first level; no level is skipped on the way down.
    """
    level = 1
    for row in rows(source):
        for line, depth in _levels(row):
            if depth == 1:
                sentence = "a heading of the first level; the page has one already, its title."
                yield Problem(source.path, line, sentence)
            elif depth > level + 1:
                sentence = f"the heading skips from level {level} to level {depth}."
                yield Problem(source.path, line, sentence)
            level = max(depth, 1)


def _levels(row: Row) -> Iterator[tuple[int, int]]:
    if row.note is None:
        return
    note = row.note
    if note.kind == "docstring" and row.documents is None:
        note = split(note, "")[1]
    for span in spans(note):
        # Only text at the start of a line can be a heading.
        if span.kind != "text":
            continue
        for offset, text in enumerate(span.text.split("\n")):
            match = _HEADING.match(text)
            starts_line = offset > 0 or span.line != row.note.first or span.text == text
            if match and starts_line:
                yield span.line + offset, len(match[1])

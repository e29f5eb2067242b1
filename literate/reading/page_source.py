r"""
---
title: The source of a page
summary: What a page takes from its source, read once and handed on.
---

The parts of a page ask for the same things: its title, what it says about itself, its rows. They
are worked out here, and then handed from part to part.
"""

from dataclasses import dataclass, replace

from literate.problems import Problem
from literate.reading.front_matter import FrontMatter, of_source, opening, title_of
from literate.reading.rows import Row, rows
from literate.reading.source import Source
from literate.reading.titles import RowNote, row_note


@dataclass(frozen=True)
class PageSource:
    r"""
    ## A source, as its page needs it

    * `matter` is its front matter, and `problems` is what is wrong with that
    * `rows` are its rows, and `opening` is the one that introduces the page, or None; its note
      begins below the front matter
    * `notes` are those of the rows, each taken apart
    """

    source: Source
    title: str
    matter: FrontMatter
    problems: tuple[Problem, ...]
    rows: tuple[Row, ...]
    opening: Row | None
    notes: tuple[RowNote, ...]


def page_source(source: Source) -> PageSource:
    r"""
    ## Read what the page of a source needs
    """
    return source.once(_read)


def _read(source: Source) -> PageSource:
    matter, below, problems = of_source(source)
    title = title_of(source)
    first = opening(source)
    start = replace(first, note=below) if first else None
    all_rows = tuple(start if start and row is first else row for row in rows(source))
    notes = tuple(row_note(row, source) for row in all_rows)
    return PageSource(source, title, matter, problems, all_rows, start, notes)

r"""
---
title: Rows of a page
summary: What a page shows of each row of its source, ready for the template.
---

A row has up to three parts: its [note](notes.py), its [code](listing.py), and for a class that
changes a line of another one the [change](changes.py). Each is made for all rows, then the rows are
[laid out](columns.py), and the template only puts them down.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from literate.page.changes import ChangeView
from literate.page.columns import Beside, bands, is_pictured, is_wide
from literate.page.context import Context
from literate.page.differences import Difference
from literate.page.listing import NO_CODE, CodeView, Listing
from literate.page.notes import Notes, NoteView
from literate.page.path_of_steps import markdown as with_steps
from literate.page.steps import PATH
from literate.page.takeaways import Copies, Taken
from literate.reading.front_matter import FRONT
from literate.reading.page_source import PageSource
from literate.reading.rows import Row
from literate.reading.titles import RowNote

# So many letters of a name fit the column of notes, with room for what uses it.
MOST_BESIDE = 16
_DISPLAYED = re.compile(r'<math [^>]*display="block".*?</math>')


@dataclass(frozen=True)
class ChangedNote:
    r"""
    ## A note inside a class that changes another one

    * `kind` is which of the two texts it speaks of, `before` or `after`, or else `also`
    * `line` is the first line that the class replaces; 0, where the note isn't about that
    """

    kind: str
    line: int
    text: str


@dataclass(frozen=True)
class RowView:
    r"""
    ## A row, as the template puts it down

    * `kinds` says how it is laid out, in names of the style sheet
    * `at` is the line that the note stands beside, for those that others have pushed down, or 0
    * `copies` are the addresses of its definition to be copied
    * `change` is what its class changes, and `changed` are the notes inside that class
    """

    kinds: str
    at: int
    note: NoteView
    code: CodeView
    copies: Copies | None = None
    change: ChangeView | None = None
    changed: tuple[ChangedNote, ...] = ()

    @property
    def is_shown(self) -> bool:
        r"""
        ### Is there anything to see?
        """
        return bool(self.note.heading or self.note.text or self.code.lines)


@dataclass(frozen=True)
class Group:
    r"""
    ## A row with those inside its class

    A class that changes a line of another one is shown as the change, and its own rows inside that.
    """

    note: RowNote
    difference: Difference | None
    inside: tuple[RowNote, ...]

    @property
    def row(self) -> Row:
        r"""
        ### The row itself
        """
        return self.note.row

    @property
    def rows(self) -> list[Row]:
        r"""
        ### All its rows
        """
        return [self.row, *(one.row for one in self.inside)]

    @property
    def name(self) -> str:
        r"""
        ### The definition whose heading stands in it

        Empty without one.
        """
        return self.note.title.name if self.note.title else ""


def rows_of(
    page: PageSource, context: Context, notes: Notes, code: Listing, taken: Taken
) -> list[RowView]:
    r"""
    ## The rows of a page

    `taken` has the addresses of the definitions that can be copied.
    """
    groups = list(groups_of(page, context.changes.differences))
    texts = [_text(group.note, page, notes) for group in groups]
    inside = [_inside(group, notes) for group in groups]
    codes = [code.shown(group.rows, group.name) for group in groups]
    links, path = context.links, page.source.path
    changes = [
        context.changes.shown(group.difference, path, links) if group.difference else None
        for group in groups
    ]
    copies = [taken.definitions.get(group.name) for group in groups]
    kinds = _kinds(page, groups, texts, changes)
    places = [_place(group.row, page) for group in groups]
    views = [*map(RowView, kinds, places, texts, codes, copies, changes, inside)]
    # What the module does when it's imported isn't shown.
    if page.matter.layout == FRONT:
        views = [replace(views[0], code=NO_CODE)]
    return [view for view in views if view.is_shown]


def groups_of(
    page: PageSource, differences: Mapping[tuple[str, str], Difference]
) -> Iterator[Group]:
    r"""
    ## The rows that are shown as one
    """
    waiting = list(page.notes)
    while waiting:
        note = waiting.pop(0)
        name = note.title.name if note.title else ""
        difference = differences.get((page.source.path, name))
        last = note.row.documents.last if note.row.documents and difference else 0
        inside = []
        while waiting and waiting[0].row.lines[0].number <= last:
            inside.append(waiting.pop(0))
        yield Group(note, difference, tuple(inside))


def _text(note: RowNote, page: PageSource, notes: Notes) -> NoteView:
    r"""
    The list of steps of a course stands in the row that introduces the page.
    """
    is_path = note.row is page.opening and page.matter.layout == PATH
    return notes.shown(note, partial(with_steps, notes=notes) if is_path else notes.markdown)


def _inside(group: Group, notes: Notes) -> tuple[ChangedNote, ...]:
    r"""
    The notes inside the class of a difference.
    """
    found = []
    for one in group.inside:
        row = one.row
        text = notes.markdown(row.note, row) if row.note else ""
        if text and group.difference:
            attributes = group.difference.attributes
            kinds = [attributes[line.number] for line in row.code if line.number in attributes]
            kind = kinds[0] if kinds else "also"
            found.append(ChangedNote(kind, group.difference.first * (kind == "before"), text))
    return tuple(found)


def _lines(row: Row) -> list[int]:
    r"""
    The numbers of its lines of code.
    """
    return [line.number for line in row.code if line.kind == "code"]


def _place(row: Row, page: PageSource) -> int:
    lines = _lines(row)
    return lines[0] if lines and row is not page.opening else 0


def _kinds(
    page: PageSource,
    groups: Sequence[Group],
    texts: Sequence[NoteView],
    changes: Sequence[ChangeView | None],
) -> list[str]:
    r"""
    How the rows are laid out: the style sheet knows these names.

    * `intro`: what a module is for is read before its first import, in two columns, unless the
      page has a `layout` of its own
    * `wide`: the note runs over both columns
    * `part` and `method` begin level with their heading, which no note above pushes down
    * `long-name` has a heading that is a name of one long word, with no room beside it
    * `exhibit-row` shows a change, and `pictured` is a picture with few words
    """
    rows = [group.row for group in groups]
    columns = [
        _beside(row, text, change, row is page.opening)
        for row, text, change in zip(rows, texts, changes, strict=True)
    ]
    kinds = []
    parts = zip(groups, texts, changes, bands(columns), strict=True)
    for group, text, change, band in parts:
        row, title = group.row, group.note.title
        is_opening = row is page.opening
        last_name = title.name.rpartition(".")[2] if title and title.words is None else ""
        names = {
            page.matter.layout or "intro": is_opening,
            "wide": band and not is_opening,
            "part": text.level in (1, 2),
            "method": text.level > 2,
            "long-name": len(last_name) > MOST_BESIDE,
            "exhibit-row": change is not None and bool(change.code),
            "pictured": band and is_pictured(text.text),
        }
        kinds.append("".join(f" {name}" for name, holds in names.items() if holds))
    return kinds


def _beside(row: Row, text: NoteView, change: ChangeView | None, is_opening: bool) -> Beside:
    r"""
    A note and its code, to be laid out.
    """
    note = text.note
    wide = note is not None and is_wide(note, text.text, _DISPLAYED.findall(text.text))
    headed = bool(text.heading) or is_opening
    if change:
        return Beside(note, change.code.count("\n"), headed, wide)
    return Beside(note, len(_lines(row)), headed, wide or is_opening)

r"""
---
title: Changes
summary: A replaced line is shown where it belongs, with what the change did to two numbers.
---

A [difference](differences.py) is shown in three ways: on its own page, in the method that it is a
line of; on any other page, if a note asks for it; and as a tile among all others.

```
[Inverted](masks.py#MaskInverted "difference")

[All mistakes](../results/mistakes.json#tables.mistakes "gallery")
```

The two numbers of a difference come from the table that the settings name, where its first column
has the name of the class. Both are marks on one scale, on which a line stands for the module
without a change.
"""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from literate.measuring.measure import Measurement
from literate.page.differences import Difference, label, parted
from literate.page.escaping import escaped, visible
from literate.page.exhibit import spelled, words
from literate.page.links import Links
from literate.page.listing import Listing, indentation
from literate.page.templates import CODE, FORMS
from literate.python.references import Network
from literate.reading.notes import Note

# Letters of a line on a tile, and how many stay before what differs.
ROOM, BEFORE = 46, 12


@dataclass(frozen=True)
class Numbers:
    r"""
    ## What a change did

    * `marks` are titles and numbers as a reader wants them, and whether each is better or worse
      than without the change, by more than the margin of the settings: `good`, `bad`, or neither
    * `places` are their places on the scale, in per cent, and `reference` is that of the first
      without the change
    """

    marks: tuple[tuple[str, str, str], ...]
    places: tuple[float, ...]
    reference: float


@dataclass(frozen=True)
class ChangeView:
    r"""
    ## A change, as the template puts it down

    The lines around it, and what it did to the numbers, both as HTML.
    """

    code: str
    verdict: str


@dataclass(frozen=True)
class Changes:
    r"""
    ## The differences of a project, to be shown

    `differences` has all of them by page and name, `setting` is the table of the settings.
    """

    differences: Mapping[tuple[str, str], Difference]
    setting: Mapping[str, Any]
    measurements: Mapping[str, Measurement]
    references: Network

    def shown(self, difference: Difference, path: str, links: Links) -> ChangeView:
        r"""
        ### A change on its own page

        Or on another one: it is seen from the page of the file `path`.
        """
        return ChangeView(self.in_context(difference, path, links), self.verdict(difference, links))

    def in_context(self, difference: Difference, path: str, links: Links) -> str:
        r"""
        ### The lines around a change

        Those of the method, as they are numbered on its own page, seen from the page of the file
        `path`.
        """
        here = replace(links, shown_on=links.uri(path))
        listing = Listing(
            difference.of, here, self.references, self.measurements.get(difference.of.path)
        )
        page = links.address(path, difference.of.path, "")
        old, new = _marked(difference.before, difference.after)
        shown = []
        for line in difference.of.lines[difference.within.line - 1 : difference.within.last]:
            at = line.number
            if at == difference.first:
                shown += [
                    CODE.removed(difference.first + i, text, page, indentation(plain))
                    for i, (text, plain) in enumerate(zip(old, difference.before, strict=True))
                ]
                shown += [
                    CODE.added(text, indentation(plain))
                    for text, plain in zip(new, difference.after, strict=True)
                ]
            if line.kind == "code" and not difference.first <= at <= difference.last:
                shown.append(listing.line(at, page=page))
        # The head of the method is no news.
        head = sum(
            line.kind == "code"
            for line in difference.of.lines[
                difference.within.line - 1 : difference.within.node.body[0].lineno - 1
            ]
        )
        return "\n".join(
            shown[head:] if difference.first >= difference.within.node.body[0].lineno else shown
        )

    def verdict(self, difference: Difference, links: Links) -> str:
        r"""
        ### What it did to the numbers

        Nothing, if none were recorded.
        """
        numbers = self.numbers(difference, links)
        return FORMS.verdict(numbers, self.reference(links)) if numbers else ""

    def figure(self, difference: Difference, caption: str, path: str, links: Links) -> str:
        r"""
        ### A change on another page
        """
        address = html.escape(
            links.address(path, difference.source.path, difference.definition.name)
        )
        shown = self.shown(difference, path, links)
        return FORMS.difference(caption, address, shown.verdict, shown.code)

    def tiles(self, path: str, links: Links) -> str:
        r"""
        ### All changes as tiles

        In the order of the first number; last those without numbers, as their pages have them. A
        class without a heading, such as one inside an example, is none of them: its tile would have
        no name.
        """
        numbered = [
            (self.numbers(difference, links), difference)
            for difference in self.differences.values()
            if difference.title
        ]
        numbered.sort(key=lambda each: each[0].places[0] if each[0] else math.inf)
        tiles = [self._tile(difference, numbers, path, links) for numbers, difference in numbered]
        return FORMS.tiles(tiles, self.key(links))

    def _tile(
        self, difference: Difference, numbers: Numbers | None, path: str, links: Links
    ) -> Any:
        title = Note("comment", 1, (difference.title,))
        old, new = (
            " ".join(part.strip() for part in text)
            for text in (difference.before, difference.after)
        )
        return {
            "title": "".join(words(span) for span in title.parsed.spans),
            "address": html.escape(
                links.address(path, difference.source.path, difference.definition.name)
            ),
            "old": _near(old, new),
            "new": _near(new, old),
            "numbers": numbers,
            "published": [(html.escape(to), escaped(label(to))) for to in difference.published[:2]],
        }

    def numbers(self, difference: Difference, links: Links) -> Numbers | None:
        r"""
        ### The two numbers of a change
        """
        rows = self._rows(links)
        row = rows.get(difference.definition.name)
        right = rows.get(self.setting.get("reference", ""))
        names = self.setting.get("marks", ())
        if not row or not right or any(row.get(name) is None for name in names):
            return None
        top = max(other[name] for other in rows.values() for name in names if other.get(name))
        margin = self.setting.get("margin", 0)
        marks = []
        for name in names:
            change = row[name] - right[name]
            if abs(change) <= margin:
                kind = ""
            else:
                kind = "good" if change < 0 else "bad"
            column = self._columns(links)[name]
            marks.append((escaped(column.title), spelled(row[name], column.digits), kind))
        places = [100 * row[name] / top for name in names]
        return Numbers(tuple(marks), tuple(places), 100 * right[names[0]] / top)

    def reference(self, links: Links) -> list[tuple[str, str]]:
        r"""
        ### The numbers without a change
        """
        columns = self._columns(links)
        right = self._rows(links)[self.setting["reference"]]
        return [
            (escaped(columns[name].title), spelled(right[name], columns[name].digits))
            for name in self.setting["marks"]
        ]

    def key(self, links: Links) -> list[tuple[str, str]]:
        r"""
        ### What the marks mean

        Nothing, where there is no table.
        """
        return self.reference(links) if self._rows(links) else []

    def _table(self, links: Links) -> Any:
        result = links.results.get(self.setting.get("result", ""))
        return result and result.tables.get(self.setting["table"])

    def _rows(self, links: Links) -> dict[str, Mapping[str, Any]]:
        table = self._table(links)
        return {row[table.columns[0].name]: row for row in table.rows} if table else {}

    def _columns(self, links: Links) -> dict[str, Any]:
        return {column.name: column for column in self._table(links).columns}


def _marked(before: Sequence[str], after: Sequence[str]) -> tuple[list[str], list[str]]:
    r"""
    The lines of both as HTML, with what differs marked.
    """
    old, new = "\n".join(before), "\n".join(after)
    begin, end = parted(old, new) if after else (0, 0)
    return (
        _pieces(old[:begin], old[begin : len(old) - end], old[len(old) - end :]).split("\n"),
        _pieces(new[:begin], new[begin : len(new) - end], new[len(new) - end :]).split("\n")
        if after
        else [],
    )


def _pieces(start: str, middle: str, end: str) -> str:
    lines = [CODE.differs(_plain(line)) if line else "" for line in middle.split("\n")]
    return _plain(start) + "\n".join(lines) + _plain(end)


def _near(text: str, other: str) -> str:
    r"""
    A line on a tile: of a long one, what is near the difference.
    """
    begin, end = parted(text, other)
    start = text[:begin]
    middle = text[begin : len(text) - end]
    rest = text[len(text) - end :]
    if len(text) > ROOM and begin > BEFORE and max(len(text), len(other)) > ROOM:
        start = "… " + start[begin - BEFORE :].lstrip()
    room = max(0, ROOM - len(start) - len(middle))
    if len(rest) > room:
        rest = rest[: max(0, room - 1)] + "…"
    return _pieces(start, middle, rest)


def _plain(text: str) -> str:
    return visible(html.escape(text, quote=False))

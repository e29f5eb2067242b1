r"""
---
title: Tables that Are Drawn
summary: The two kinds of table of reStructuredText become rows of Markdown, where it can say them.
---

In reStructuredText a table is a drawing. Below, the left one is *simple*: a line of equals signs
says where its columns are. The right one has a *grid*, and a cell there can have several lines.

```text
=====  ======     +-------+----------------+
Value  Means      | Value | Means          |
=====  ======     +=======+================+
0      nothing    | 0     | nothing at all |
1      one        +-------+----------------+
=====  ======     | 1     | one, or more   |
                  |       | than one       |
                  +-------+----------------+
```

In Markdown a row is one line, of text without paragraphs, and a cell belongs to one column. A table
that needs more can't be said: it stays as it is drawn.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from literate.reading.inline_marks import inline
from literate.reading.text_lines import TextLine

_SIMPLE = re.compile(r"\s*={2,}(?: +={2,})+\s*$")
_GRID = re.compile(r"\s*\+(?:-+\+)+\s*$")
_INNER = re.compile(r"\+(?:[-=]+\+)+$")
# A line of a cell that begins a block of its own, and what divides cells in Markdown.
_BLOCK = re.compile(r"(?:[-*+]|#\.|\d+[.)]|\.\.|>>>)(?:\s|$)|.*::$|.*\|")


class _Row(NamedTuple):
    r"""
    `cells` has the lines of each cell, and `at` is the number of the first line.
    """

    cells: list[list[str]]
    at: int


class _Table(NamedTuple):
    head: list[_Row]
    rows: list[_Row]


def end_of_table(lines: Sequence[TextLine], at: int) -> int:
    r"""
    ## The line behind a table

    That begins in a line; else the line itself. A simple one can have empty lines between its rows,
    so it ends with the line of equals signs that has nothing below it.
    """
    if _GRID.match(lines[at].text):
        return at + len(list(takewhile(lambda line: not line.is_blank, lines[at:])))
    if not _SIMPLE.match(lines[at].text):
        return at
    borders = [number for number in range(at, len(lines)) if _is_border(lines, number)]
    last = next((one for one in borders[1:] if _ends(lines, one)), None)
    if last is None:
        return at + len(list(takewhile(lambda line: not line.is_blank, lines[at:])))
    return last + 1


def _is_border(lines: Sequence[TextLine], at: int) -> bool:
    return _SIMPLE.match(lines[at].text) is not None


def _ends(lines: Sequence[TextLine], at: int) -> bool:
    return at + 1 == len(lines) or lines[at + 1].is_blank


def set_table(lines: Sequence[TextLine]) -> list[TextLine]:
    r"""
    ## A table in Markdown

    `lines` are all of a drawn table, without indentation. Empty, where Markdown can't say it. A
    table needs a head there; where its author has none, that is empty.
    """
    table = _of_grid(lines) if lines[0].text.startswith("+") else _simple(lines)
    if table is None or len(table.head) > 1 or not table.rows:
        return []
    rows = [*table.head, *table.rows]
    if any(_BLOCK.match(text) for row in rows for cell in row.cells for text in cell):
        return []
    count = len(rows[0].cells)
    head = _line(table.head[0]) if table.head else TextLine("|" + "  |" * count, rows[0].at)
    rule = TextLine("|" + " --- |" * count, head.at)
    return [head, rule, *map(_line, table.rows)]


def _line(row: _Row) -> TextLine:
    cells = (inline(" ".join(cell)) for cell in row.cells)
    return TextLine(f"| {' | '.join(cells)} |", row.at)


def _stripped(texts: Iterable[str]) -> list[str]:
    return [text.strip() for text in texts if text.strip()]


def _simple(lines: Sequence[TextLine]) -> _Table | None:
    r"""
    Columns begin where the signs do, and the last has no end. A row goes on where its first column
    is empty. What stands between columns belongs to several.
    """
    border = lines[0].text.rstrip()
    starts = [match.start() for match in re.finditer(r"=+", border)]
    gaps = [(match.start(), match.end()) for match in re.finditer(r" +", border)]
    parts: list[list[_Row]] = [[]]
    for line in lines[1:-1]:
        text = line.text.rstrip()
        if text == border:
            parts.append([])
        elif line.is_blank:
            continue
        elif any(text[start:end].strip() for start, end in gaps) or set(text) <= {"-", " "}:
            return None
        else:
            cells = [text[start:end].strip() for start, end in pairwise([*starts, None])]
            if not cells[0] and parts[-1]:
                for known, more in zip(parts[-1][-1].cells, cells, strict=True):
                    known.extend(_stripped([more]))
            else:
                parts[-1].append(_Row([_stripped([cell]) for cell in cells], line.at))
    if lines[-1].text.rstrip() != border or len(parts) > 2:
        return None
    return _Table([], parts[0]) if len(parts) == 1 else _Table(*parts)


def _of_grid(lines: Sequence[TextLine]) -> _Table | None:
    r"""
    Each line has a sign at the end of each column; else a cell belongs to several.
    """
    border = lines[0].text.rstrip()
    places = [at for at, sign in enumerate(border) if sign == "+"]
    parts: list[list[_Row]] = [[]]
    row: list[TextLine] = []
    for line in lines[1:]:
        text = line.text.rstrip()
        sign = "+" if _INNER.match(text) else "|"
        if len(text) != len(border) or any(text[place] != sign for place in places):
            return None
        if sign == "|":
            row.append(line)
            continue
        if not row:
            return None
        cells = [
            _stripped(one.text[start + 1 : end] for one in row) for start, end in pairwise(places)
        ]
        parts[-1].append(_Row(cells, row[0].at))
        row = []
        if "=" in text:
            parts.append([])
    if row or len(parts) > 2:
        return None
    return _Table([], parts[0]) if len(parts) == 1 else _Table(*parts)

r"""
---
title: Figures and tables of a notebook
summary: What a note shows of a result, in Markdown that every viewer of notebooks shows.
---

A notebook is opened where the site isn't: in Colab, in an editor, on a laptop without a network. So
it has all that its notes show. A table becomes one of Markdown. A figure becomes a cell of its own,
with its caption and its run; in the script it is a link to the result,
`results/recipes.json#figures.curves`, and [the notebook](notebook_cells.py#written) gets its
[PNG](rasters.py).
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from literate.page.exhibit import spelled
from literate.page.exhibits_in_notes import Exhibit
from literate.reading.plain import plain
from literate.reading.rows import Note
from literate.results.records import Column, Result, Table, UnknownResult, machine

# A figure with its caption and its run.
_FIGURE = re.compile(
    r"(?m)^!\[(?:[^\]\\]|\\.)*\]\(([^)\s#]+\.json#figures\.[^)\s]+)\)\n\n.+\n\n\*From\* .+$"
)

# Gives the address of a page, or none, by the path of its file.
Address = Callable[[str], str | None]


def shown(exhibit: Exhibit, result: Result, anchor: str, address: Address) -> str | None:
    r"""
    ## The Markdown of a figure or a table

    With its caption and its run; None if the name isn't there, which a check of the page reports.
    """
    try:
        place, thing = result.find(anchor)
    except UnknownResult:
        return None
    caption = " ".join(exhibit.caption.split())
    run = f"`{result.command}`, {result.made}, {machine(result)}".rstrip(", ")
    below = f"{caption}\n\n*From* {run}."
    if isinstance(thing, Table):
        return f"{_table(thing, address)}\n\n{below}"
    said = plain(Note("comment", 1, (caption,))) or thing.title
    alternative = re.sub(r"([\[\]\\])", r"\\\1", said)
    return f"![{alternative}]({result.path}#{place})\n\n{below}"


def pictures_apart(text: str) -> Iterator[tuple[str, str]]:
    r"""
    ## A note, cut where its figures are

    Each part with the figure that it is, or an empty text: who edits the words of a note should
    not meet the bytes of a picture.
    """
    begin = 0
    for match in _FIGURE.finditer(text):
        yield text[begin : match.start()].strip("\n"), ""
        yield match[0], match[1]
        begin = match.end()
    yield text[begin:].strip("\n"), ""


def _table(table: Table, address: Address) -> str:
    columns = table.columns
    heads = [f"{one.title} ({one.unit})" if one.unit else one.title for one in columns]
    sides = ["---:" if _is_number(one, table.rows) else "---" for one in columns]
    rows = [[_cell(row.get(one.name), one, address) for one in columns] for row in table.rows]
    lines = [[_safe(head) for head in heads], sides, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _is_number(column: Column, rows: Any) -> bool:
    values = [row.get(column.name) for row in rows]
    return any(isinstance(one, int | float) and not isinstance(one, bool) for one in values)


def _cell(value: Any, column: Column, address: Address) -> str:
    r"""
    A text of several lines keeps them, and the path of a page leads there.
    """

    def one(line: str) -> str:
        found = address(line)
        return f"[{_safe(line)}]({found})" if found else _safe(line)

    return "<br>".join(map(one, spelled(value, column.digits).split("\n")))


def _safe(text: str) -> str:
    r"""
    What would be a mark of Markdown or of HTML is a letter here. Formulas are set after Markdown,
    which takes a backslash before “$” away: two of them would be a formula, if each weren't in an
    element of its own.
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_{}\[\]|~])", r"\\\1", text)
    return text.replace("$", "<span>&#36;</span>").strip() or " "

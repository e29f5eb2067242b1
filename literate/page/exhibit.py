r"""
---
title: Exhibits
summary: A link to a result becomes a checked number, a figure or a table, with its run.
---

What a note shows of a [result](../results/records.py) says where it comes from: a number when one
points at it, a figure or a table in its caption, the result itself on a page of its own. If a file
that was measured has changed since, all of them say so.
"""

import html
import math
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from literate.page.escaping import escaped, told
from literate.page.exhibits_in_notes import Exhibit, Found
from literate.page.links import Links
from literate.page.templates import TEMPLATES
from literate.reading.notes import Note, Span
from literate.reading.plain import plain
from literate.results import records
from literate.results.records import Column, Result, Table

# The macros of the template, as functions.
HTML: Any = TEMPLATES.get_template("exhibit.html.jinja").module
# The height of the smallest letters of a picture, in pixels of the page.
LEAST_LETTER = 10
# In units of a picture: with these, one of the usual width fits the half of a page.
LEAST_ALONE = 8.5
# The names of what has changed since a run that one sentence has.
MOST_CHANGES = 3
# That sentence, with the blank before it.
OUTDATED = re.compile(r' ?<span class="outdated">.*?</span>', re.DOTALL)
# A little less than the half of a page, in pixels.
BROAD = 548


@dataclass(frozen=True)
class Caption:
    r"""
    ## What an exhibit is called

    As HTML, and in plain words.
    """

    html: str
    words: str


@dataclass(frozen=True)
class Spot:
    r"""
    ## Where something is shown

    On the page `uri` of the site, which is made from the file `path`.
    """

    path: str
    uri: str
    links: Links


def captioned(exhibit: Exhibit, formula: Callable[[Span], str] | None = None) -> Caption:
    r"""
    ## The words of a link as a caption

    `formula` sets the formulas in it.
    """
    note = Note("comment", exhibit.line, tuple(exhibit.caption.split("\n")))
    shown = "".join(words(span, formula) for span in note.parsed.spans)
    return Caption(shown, plain(note))


def words(span: Span, formula: Callable[[Span], str] | None = None) -> str:
    r"""
    ## The words of a caption
    """
    if span.kind == "inline" and formula is not None:
        return formula(span)
    if span.kind == "code":
        return HTML.code(escaped(span.content))
    return escaped(span.content)


def show(found: Found, caption: Caption, at: Spot) -> str:
    r"""
    ## Show a figure or a table with its run

    As HTML on one line.
    """
    thing = found.thing
    now = since(found.result, at)
    run = run_of(found.result, found.place, at)
    if isinstance(thing, Table):
        return HTML.figure(_table(thing, at), caption.html, run, now, thing.live, at)
    label = html.escape(f"{caption.words}: {thing.title}")
    picture = _larger_letters(thing.picture)
    content = HTML.picture(picture, label, least_size(picture))
    return HTML.figure(content, caption.html, run, now)


def _larger_letters(picture: str) -> str:
    r"""
    One or two letters that stand alone, at the edge of a map or in a cell, have room to be larger.
    So have a few in a picture of several maps, which is broad and has no letters in its cells.
    """
    box = re.search(r'viewBox="0 0 ([\d.]+)', picture)
    sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)px"', picture)]
    least, most = LEAST_ALONE, 2
    if box and float(box[1]) > BROAD and min(sizes, default=0.0) >= LEAST_ALONE:
        least, most = LEAST_LETTER * float(box[1]) / BROAD, 8
    small_texts = rf'font-size="([\d.]+)px"([^>]*>[^<>]{{1,{most}}}</text>)'

    def larger(match: re.Match[str]) -> str:
        return f'font-size="{max(least, float(match[1])):.4g}px"{match[2]}'

    return re.sub(small_texts, larger, picture)


def least_size(picture: str) -> tuple[int, int] | None:
    r"""
    ## How large a picture must be for its letters to be read

    Width and height in pixels, at which the smallest letters are 10 pixels high; None for a picture
    without letters. Where there is less room, it is scrolled.
    """
    sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)px"', picture)]
    box = re.search(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"', picture)
    if not sizes or not box:
        return None
    scale = LEAST_LETTER / min(sizes)
    return math.ceil(float(box[1]) * scale), math.ceil(float(box[2]) * scale)


def caption_of(thing: Any, place: str) -> Caption:
    r"""
    ## What a figure or a table is called by itself
    """
    title = getattr(thing, "title", "")
    words = title or place.partition(".")[2].replace("_", " ").capitalize()
    return Caption(escaped(words), words)


def run_of(result: Result, place: str, at: Spot) -> str:
    r"""
    ## The run that something comes from
    """
    machine = records.machine(result)
    address = at.links.between(at.uri, result.uri, quote(place))
    data = html.escape(at.links.beside(at.uri, result.path))
    command = HTML.code(escaped(result.command))
    if at.uri != result.uri:
        command = HTML.link(html.escape(address), command)
    return HTML.run(command, result.made, escaped(machine), data)


def since(result: Result, at: Spot, most: int = MOST_CHANGES) -> str:
    r"""
    ## What has changed since a run

    Nothing, or a sentence as HTML, with at most so many names.
    """
    names = at.links.changed(result)
    if not names:
        return ""
    shown = [file_link(name, at) for name in names[:most]]
    more = len(names) - most
    return HTML.outdated([*shown, f"{more} more"] if more > 0 else shown)


def said_once(markdown: str) -> str:
    r"""
    ## The same sentence no second time on a page

    Several figures and tables of one result stand on a page; what has changed since its run is said
    below the first.
    """
    said: set[str] = set()

    def first(found: re.Match[str]) -> str:
        sentence = found[0].strip()
        if sentence in said:
            return ""
        said.add(sentence)
        return found[0]

    return OUTDATED.sub(first, markdown)


def file_link(name: str, at: Spot) -> str:
    r"""
    ## A file, with a link to its page if it has one

    Or a definition of it, as `attention.py:Attention`.
    """
    path, _, definition = name.partition(":")
    shown = HTML.code(escaped(posixpath.basename(name)))
    if path not in at.links.pages:
        return shown
    address = at.links.between(at.uri, at.links.uris[path])
    if at.links.pages[path].definition_named(definition):
        address += f"#{quote(definition)}"
    return HTML.link(html.escape(address), shown, html.escape(told(name)))


def _table(table: Table, at: Spot) -> str:
    r"""
    A column of numbers ends at its right edge, and the path of a source leads to its page.
    """
    columns = table.columns
    rows = [[_cell(row.get(column.name), column, at) for column in columns] for row in table.rows]
    numbers = [any(_is_number(row.get(column.name)) for row in table.rows) for column in columns]
    return HTML.table([_head(column) for column in columns], rows, numbers)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _head(column: Column) -> str:
    title = escaped(column.title)
    return HTML.small(title, escaped(column.unit)) if column.unit else title


def _cell(value: Any, column: Column, at: Spot) -> str:
    # A text of several lines, as a model may have written, keeps them.
    lines = spelled(value, column.digits).split("\n")
    return HTML.lines([file_link(x, at) if x in at.links.pages else escaped(x) for x in lines])


def spelled(value: Any, digits: int | None = None) -> str:
    r"""
    ## A value as a reader wants it

    A number has `digits` behind the point, or else six digits in all; thousands stand apart.
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if digits is not None:
        # What is rounded to zero has no sign.
        text = f"{value:z,.{digits}f}"
    elif isinstance(value, int) or (value == int(value) and abs(value) < 1e15):
        text = f"{int(value):,}"
    elif 1e-4 <= abs(value) < 1e15:
        text = f"{value:,.{max(0, 5 - math.floor(math.log10(abs(value))))}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        text = f"{value:.3g}"
    return text.replace("-", "−")

r"""
---
title: Search
summary: What a reader can look up is every row of every page.
---

A page is long, so a search that ends at the top of a page leaves its reader searching on. This one
ends at the row: each row is an *entry* of its own, with the words of its note and the names in its
code. The reader's browser compares the words of a query with them; nothing leaves the browser.

The index comes in two files, because they are not needed at the same moment: the headings and names
find most of what is looked for, and are there first; the words of the notes follow.
"""

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import yaml
from markdown.extensions.toc import slugify, unique

from literate.page.exhibit import caption_of
from literate.page.links import folder
from literate.reading import front_matter
from literate.reading.notes import spans
from literate.reading.plain import plain
from literate.reading.rows import Note, Row, rows
from literate.reading.source import Source
from literate.results.records import Result, leaves, machine

NAMES = "assets/search-names.js"
NOTES = "assets/search-notes.js"
NO_RESULTS: Mapping[str, Result] = {}
# In every method, so nobody looks for it.
_NOISE = ("self",)
_HEADING = re.compile(r"#{1,6}[ \t]+(.*?)[ \t]*#*")


@dataclass(frozen=True)
class Entry:
    r"""
    ## What a search ends at

    A row of a page, or a section of a document.

    * `anchor` is its place on the page, empty for the top
    * `name` is the definition that it belongs to
    * `line` is the first line of its code, 0 if it has none
    * `names` are the names in its code: for each line those that no line above it has
    * `note` is the text of its note
    """

    anchor: str
    name: str = ""
    heading: str = ""
    line: int = 0
    names: str = ""
    note: str = ""


@dataclass(frozen=True)
class Entries:
    r"""
    ## The entries of a page
    """

    title: str
    entries: tuple[Entry, ...]


def of_source(source: Source) -> Entries:
    r"""
    ## The rows of a source

    The docstring of the module is an entry apart from the code under it: it leads to the top of the
    page, and its text has what the front matter says, too.
    """
    title = posixpath.splitext(posixpath.basename(source.path))[0]
    found = []
    for row in rows(source):
        note = row.note
        if note is not None and note.kind == "docstring" and row.documents is None:
            matter, note, _ = front_matter.split(note, source.path)
            title = matter.title or title
            paper = ", ".join(text for key, text in matter.paper.items() if key != "link")
            said = [matter.summary, plain(note), f"Paper: {paper}" if paper else ""]
            found.append(Entry("", note=" ".join(filter(None, said))))
            note = None
        if note is not None or row.code:
            found.append(_entry(source, row, note))
    return Entries(title, tuple(found))


def _entry(source: Source, row: Row, note: Note | None) -> Entry:
    code = [line.number for line in row.code]
    within = source.definition_at(code[0]) if code else row.within
    name = within.name if within else ""
    starts = bool(code) and within is not None and within.first == code[0]
    heading, note = _heading(note) if note and row.documents else ("", note)
    return Entry(
        anchor=name if starts else f"L{code[0]}" if code else "",
        name=name,
        heading=heading,
        line=code[0] if code else 0,
        names=_new_names(source.names.get(number, ()) for number in _upto_last(code)),
        note=plain(note) if note else "",
    )


def _upto_last(code: list[int]) -> range:
    r"""
    A docstring may stand between two lines of code: then its lines are counted, too.
    """
    return range(code[0], code[-1] + 1) if code else range(0)


def _heading(note: Note) -> tuple[str, Note]:
    r"""
    A heading at the very beginning, and what follows it.
    """
    for index, text in enumerate(note.texts):
        match = _HEADING.fullmatch(text)
        if match:
            words = plain(Note(note.kind, note.first + index, (match[1],)))
            return words, Note(note.kind, note.first + index + 1, note.texts[index + 1 :])
        if text.strip():
            break
    return "", note


def _new_names(lines: Iterator[Iterable[str]]) -> str:
    seen = set(_NOISE)
    kept = []
    for line in lines:
        new = [name for name in dict.fromkeys(line) if name not in seen]
        seen.update(new)
        kept.append(" ".join(new))
    return "\n".join(kept).rstrip("\n")


def of_document(text: str, name: str) -> Entries:
    r"""
    ## The sections of a document

    Its anchors are those that Markdown gives its headings. Without a title or a heading of the
    first level it is called by its `name`.
    """
    title, first, lines = _front_matter(text.splitlines())
    document = Note("docstring", first, tuple(lines))
    blocks = [span for span in spans(document) if span.kind in ("fence", "display")]
    inside = {
        span.line + offset for span in blocks for offset in range(len(span.text.splitlines()))
    }
    used: set[str] = set()
    found = []
    anchor = heading = ""
    begin = first
    for number, line in enumerate([*lines, None], start=first):
        match = _HEADING.fullmatch(line) if line is not None and number not in inside else None
        if match is None and line is not None:
            continue
        section = Note("docstring", begin, tuple(lines[begin - first : number - first]))
        words = plain(section, tags=True)
        if words or heading:
            found.append(Entry(anchor, heading=heading, note=words))
        if match is not None:
            heading = plain(Note("comment", number, (match[1],)), tags=True)
            anchor = unique(slugify(heading, "-"), used)
            # The title of the document leads to its top.
            if line.startswith("# ") and not found:
                title, heading, anchor = title or heading, "", ""
            begin = number + 1
    return Entries(title or name, tuple(found))


def _front_matter(lines: list[str]) -> tuple[str, int, list[str]]:
    r"""
    The title in it, and the line and the lines behind it.
    """
    if not lines or lines[0].rstrip() != "---" or "---" not in lines[1:]:
        return "", 1, lines
    closing = lines.index("---", 1)
    matter = None
    # What is wrong with it is the engine's to say.
    with suppress(yaml.YAMLError):
        matter = yaml.safe_load("\n".join(lines[1:closing]))
    title = matter.get("title", "") if isinstance(matter, dict) else ""
    return str(title), closing + 2, lines[closing + 1 :]


def of_result(result: Result) -> Entries:
    r"""
    ## What a result shows
    """
    found = [Entry("", note=f"{result.command}, {result.made}, {machine(result)}")]
    if result.values:
        names = ", ".join(name for name, _ in leaves(result.values))
        found.append(Entry("values", heading="Values", note=names))
    for place in result.exhibits:
        found.append(Entry(quote(place), heading=caption_of(result, place).words))
    return Entries(result.title, tuple(found))


def index(
    sources: Mapping[str, Source],
    uris: Mapping[str, str],
    documents: Mapping[Path, str],
    results: Mapping[str, Result] = NO_RESULTS,
) -> dict[str, str]:
    r"""
    ## The index of a site

    `uris` are the paths of the pages, by the paths of their sources; `documents` and `results` have
    paths of their own. Returned are its two files
    with their paths on the site. Each is a script that hands its data over in an event: a script
    can be read from a folder on the disk, too, where a browser refuses to read any other file.
    """
    pages = [(uris[path], source.once(of_source)) for path, source in sources.items()]
    for path, uri in sorted(documents.items(), key=lambda one: one[1]):
        pages.append((uri, of_document(path.read_text(encoding="utf-8"), path.stem)))
    pages += [(uri, of_result(result)) for uri, result in results.items()]
    names = [[page.title, _address(uri), list(map(_listed, page.entries))] for uri, page in pages]
    notes = [entry.note for _, page in pages for entry in page.entries]
    return {NAMES: _script("search-names", names), NOTES: _script("search-notes", notes)}


def _address(uri: str) -> str:
    return f"{folder(uri)}/".removeprefix("/")


def _listed(entry: Entry) -> list[str | int]:
    return [entry.anchor, entry.name, entry.heading, entry.line, entry.names]


def _script(event: str, detail: list[object]) -> str:
    data = json.dumps(detail, ensure_ascii=False, separators=(",", ":"))
    return f'dispatchEvent(new CustomEvent("{event}",{{detail:{data}}}));\n'

r"""
---
title: Search
summary: What a reader can look up is every row of every page.
---

A page is long, so a search that ends at the top of a page leaves its reader searching on. This one
ends at the row: each row is an *entry* of its own, with the words of its note and the names in its
code. The reader's browser compares the words of a query with them; nothing leaves the browser.

Readers have words of their own. What is called otherwise elsewhere stands in the file that `search`
in the [settings](../settings.py) names, and what the site doesn't have, with what is near to it:

```toml
same = [["car", "automobile"]]
near = { submarine = ["ship", "diving"] }
```
"""

import html
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from urllib.parse import quote

import markdown

from literate.page.exhibit import caption_of
from literate.page.links import folder
from literate.reading import front_matter
from literate.reading.notes import Note
from literate.reading.plain import plain, seen
from literate.reading.rows import Row, rows
from literate.reading.rst_documents import in_markdown
from literate.reading.source import Source
from literate.results.records import Result, leaves, machine

INDEX = "assets/search-index.js"
NO_RESULTS: Mapping[str, Result] = {}
NO_WORDS: Mapping[str, object] = {}
NO_RANKS: Mapping[str, int] = {}
# A title, and the values of entries.
Known = tuple[str, Sequence[Sequence[object]]]
_SECTION = re.compile(r'<h\d id="([^"]*)">(.*?)</h\d>', re.DOTALL)


@dataclass(frozen=True)
class Entry:
    r"""
    ## What a search ends at

    A row of a page, or a section of a document.

    * `anchor` is its place on the page, empty for the top
    * `name` is the definition that it belongs to
    * `heading` and `note` are the words of its note
    * `names` are the names in its code
    * `terms` are what the page explains, at the top of it; of “a long name (ALN)” both names
    * `paper` is the title of the paper that the page implements, at the top of it, too
    """

    anchor: str
    name: str = ""
    heading: str = ""
    note: str = ""
    names: str = ""
    terms: tuple[str, ...] = ()
    paper: str = ""


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
    matter, note, _ = front_matter.of_source(source)
    paper = ", ".join(text.removeprefix("https://") for text in matter.paper.values())
    terms = " ".join(f"{term}: {sentence}" for term, sentence in matter.terms.items())
    said = [matter.summary, plain(note), f"Paper: {paper}" if paper else "", terms]
    explained = tuple(name for term in matter.terms for name in _names_of(term))
    title = matter.paper.get("title", "")
    top = Entry("", note=" ".join(filter(None, said)), terms=explained, paper=title)
    # What isn't shown isn't found.
    shown = [] if matter.layout == front_matter.FRONT else rows(source)
    entries = [_entry(source, row) for row in shown]
    return Entries(
        front_matter.title_of(source),
        (top, *(entry for entry in entries if entry.anchor or entry.note)),
    )


def _names_of(term: str) -> list[str]:
    r"""
    A term, and what it is called for short, as in “rotary positions (RoPE)”. Where one sentence
    explains several, each of them.
    """
    return [name.strip() for name in re.split(r"[(),]", term) if name.strip()]


def _entry(source: Source, row: Row) -> Entry:
    lines = [line.number for line in row.code]
    within = source.definition_at(lines[0]) if lines else row.within
    name = within.name if within else ""
    anchor = f"L{lines[0]}" if lines else ""
    if within and lines and within.first == lines[0]:
        anchor = name
    note = row.note if row is not front_matter.opening(source) else None
    heading, note = _heading(note) if note else ("", None)
    names = {name for number in lines for name in source.names.get(number, ())}
    return Entry(anchor, name, heading, plain(note) if note else "", " ".join(sorted(names)))


def _heading(note: Note) -> tuple[str, Note]:
    r"""
    A heading at the very beginning, and what follows it.
    """
    title = note.parsed.title
    if title is None:
        return "", note
    rest = note.part(title.last)
    return seen(title.words), rest


def known(page: Entries) -> Known:
    r"""
    ## What the index has of a page

    Its title and its entries, as JSON writes them.
    """
    return page.title, tuple(map(_values, page.entries))


def _values(entry: Entry) -> tuple[object, ...]:
    r"""
    Hardly any entry has terms or a paper; they are left out where there are none.
    """
    *rest, terms, paper = astuple(entry)
    return (*rest, terms, paper) if terms or paper else tuple(rest)


def of_document(text: str, name: str) -> Entries:
    r"""
    ## The sections of a document

    Markdown itself says where they begin and which anchors they have. Without a title or a heading
    the document is called by its `name`.
    """
    reader = markdown.Markdown(extensions=["fenced_code", "meta", "tables", "toc"])
    # The text before the first heading, then of each section the anchor, the heading and the text.
    before, *rest = _SECTION.split(reader.convert(text))
    sections = list(zip(rest[::3], map(_words, rest[1::3]), map(_words, rest[2::3]), strict=True))
    stated = getattr(reader, "Meta", {}).get("title", [""])[0].strip("\"'")
    title = stated or (sections[0][1] if sections else name)
    entries = [Entry(anchor, heading=heading, note=note) for anchor, heading, note in sections]
    return Entries(title, (Entry("", note=_words(before)), *entries))


def _words(shown: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^<>]*>", "", shown)).split())


def of_result(result: Result) -> Entries:
    r"""
    ## What a result shows
    """
    entries = [Entry("", note=f"{result.command}, {result.made}, {machine(result)}")]
    if result.values:
        names = ", ".join(name for name, _ in leaves(result.values))
        entries.append(Entry("values", heading="Values", note=names))
    for place in result.exhibits:
        entries.append(Entry(quote(place), heading=caption_of(result.find(place)[1], place).words))
    return Entries(result.title, tuple(entries))


def words(text: str) -> Mapping[str, object]:
    r"""
    ## The words of readers
    """
    return tomllib.loads(text)


def index(
    of_sources: Mapping[str, Known],
    documents: Mapping[Path, str],
    results: Mapping[str, Result] = NO_RESULTS,
    aside: Mapping[str, int] = NO_RANKS,
    of_readers: Mapping[str, object] = NO_WORDS,
) -> dict[str, str]:
    r"""
    ## The index of a site

    `of_sources` is what is [known](#known) of the pages of sources, by the paths of the pages;
    `documents` and `results` have paths of their own. `aside` says by the paths of pages which of
    them comes behind others that fit as well, 1 or, behind these, 2. Returned is its file, with its
    path on the site: a script that hands its data over in an event. A script can be read from a
    folder on the disk, too, where a browser refuses to read any other file.
    """
    pages = list(of_sources.items())
    for path, uri in sorted(documents.items(), key=lambda item: item[1]):
        text = in_markdown(path.name, path.read_text(encoding="utf-8"))
        pages.append((uri, known(of_document(text, path.stem))))
    pages += [(uri, known(of_result(result))) for uri, result in results.items()]
    listed = [
        [title, f"{folder(uri)}/".removeprefix("/"), aside.get(uri, 0), entries]
        for uri, (title, entries) in pages
    ]
    whole = {"pages": listed, "same": [], "near": {}, **of_readers}
    data = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
    return {INDEX: f'dispatchEvent(new CustomEvent("search-index",{{detail:{data}}}));\n'}

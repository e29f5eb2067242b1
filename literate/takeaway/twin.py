r"""
---
title: Twins
summary: Beside each page stands its Markdown, for programs that read, and one file leads to all.
---

A program that answers questions about a page reads Markdown better than HTML with formulas in it.
So each page has a *twin*, a file of Markdown in its folder: its notes, its code, the shapes that
were measured, and links to the numbers that were recorded. Twins link to twins, and the file
“llms.txt” links to all of them. “llms-full.txt” has all of them in one file.
"""

import json
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from literate.measuring.measure import Measurement
from literate.page.exhibit import caption_of
from literate.page.links import Links, folder, relative
from literate.page.lists import Listed, lists
from literate.page.page import Page
from literate.page.result_pages import SUMMARY, TITLE, place_of_overview
from literate.reading.front_matter import of_source, opening, title_of
from literate.reading.notes import Note
from literate.reading.plain import plain
from literate.reading.rows import Row, rows
from literate.reading.source import Source
from literate.results import records
from literate.results.made_of import by_names
from literate.results.records import Result
from literate.takeaway.addresses import with_addresses

SNIPPETS, GUIDE, ROBOTS = "snippets/index.json", "llms.txt", "robots.txt"
WHOLE = "llms-full.txt"


def place(uri: str) -> str:
    r"""
    ## Where the twin of a page goes
    """
    return posixpath.join(folder(uri), "index.md")


@dataclass(frozen=True)
class Beside:
    r"""
    ## The addresses of twins, seen from one of them

    They take the place of [addresses on the web](addresses.py#Addresses).
    """

    uri: str
    links: Links

    def of_module(self, source: Source, anchor: str = "") -> str | None:
        r"""
        ### That of a page
        """
        return self._to(self.links.uris[source.path], anchor)

    def of_file(self, path: str, anchor: str = "") -> str | None:
        r"""
        ### That of a document or a result

        None for any other file: it is not on the site.
        """
        if path in self.links.results:
            return self._to(self.links.results[path].uri, anchor)
        uri = self.links.documents.get(path)
        return self._to(uri, anchor) if uri else None

    def _to(self, uri: str, anchor: str) -> str:
        address = relative(folder(self.uri), place(uri))
        return f"{address}#{anchor}" if anchor else address


def of_page(source: Source, links: Links, measurement: Measurement | None) -> str:
    r"""
    ## The twin of a page
    """
    matter, below, _ = of_source(source)
    at = Beside(links.uris[source.path], links)
    # A summary that is the first sentence of the text stands there already.
    summary = "" if plain(below).startswith(matter.summary) else matter.summary
    parts = [f"# {title_of(source)}", summary, f"Source: `{source.path}`"]
    if matter.paper:
        paper = matter.paper
        named = f"[{paper['title']}]({paper['link']})"
        parts.append(f"Paper: {named}, {paper['authors']}, {paper['year']}")
    for row in rows(source):
        note = below if row is opening(source) else row.note
        if note is not None:
            parts.append(with_addresses(note, source.path, links.pages, at))
        code = "".join(line.text for line in row.code).rstrip()
        if code:
            # More backticks than the code has itself.
            longest = max(map(len, re.findall("`+", code)), default=0)
            fence = "`" * max(3, longest + 1)
            parts.append(f"{fence}python\n{code}\n{fence}")
        if measurement is not None:
            parts.append("\n".join(_shapes(row, measurement)))
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def _shapes(row: Row, measurement: Measurement) -> Iterator[str]:
    for line in row.code:
        for tensor in measurement.lines.get(line.number, ()):
            shape = f"[{', '.join(tensor.axes)}]"
            yield f"* Measured in line {line.number}: `{tensor.name}` is `{shape}`, {tensor.dtype}"


def of_document(path: str, text: str, links: Links) -> str:
    r"""
    ## The twin of a document that is written by hand
    """
    lines = text.split("\n")
    note = Note("comment", 1, tuple(lines))
    return with_addresses(note, path, links.pages, Beside(links.documents[path], links)) + "\n"


def of_result(result: Result, links: Links) -> str:
    r"""
    ## The twin of a result

    All values and tables, number by number as they are in the file; the figures by their titles.
    """
    named = by_names(result.sources)
    facts = {
        "Command": f"`{result.command}`",
        "Day": result.made,
        "Machine": records.machine(result),
        "Measured": "; ".join(
            " ".join([f"`{source}`", *named.get(source, ())]) for source in result.sources
        ),
        "File": f"[{result.path}]({relative(folder(result.uri), result.path)})",
    }
    parts = [f"# {result.title}", "\n".join(f"* {name}: {said}" for name, said in facts.items())]
    values = [f"* {name}: {value}" for name, value in records.leaves(result.values)]
    parts += ["## Values", "\n".join(values)] if values else []
    for name, table in result.tables.items():
        parts.append(f"## {caption_of(result, f'tables.{name}').words}")
        heads = [
            f"{column.title} ({column.unit})" if column.unit else column.title
            for column in table.columns
        ]
        lines = [heads, ["---"] * len(heads)]
        lines += [[str(row.get(column.name, "")) for column in table.columns] for row in table.rows]
        parts.append("\n".join(f"| {' | '.join(cells)} |" for cells in lines))
    figures = [
        f"* Figure: {caption_of(result, f'figures.{name}').words}" for name in result.figures
    ]
    parts += ["## Figures", "\n".join(figures)] if figures else []
    return "\n\n".join(parts) + "\n"


def of_lists(links: Links) -> dict[str, str]:
    r"""
    ## The twins of the pages that list others

    Of terms, of papers, and of results, by where these pages are.
    """

    def between(uri: str, to: str) -> str:
        return relative(folder(uri), place(to))

    twins = {listed.uri: _listed(listed) for listed in lists(links, between)}
    uri = place_of_overview(links)
    entries = [
        f"* [{result.title}]({between(uri, result.uri)}): `{result.command}`, {result.made}, "
        f"{records.machine(result)}"
        for result in links.results.values()
    ]
    parts = [f"# {TITLE}", SUMMARY, "\n".join(entries)]
    return {**twins, uri: "\n\n".join(parts) + "\n"}


def _listed(listed: Listed) -> str:
    parts = [f"# {listed.title}", listed.summary]
    for part in listed.parts:
        parts += [f"## {part['name']}", "\n".join(f"* {entry}" for entry in part["entries"])]
    return "\n\n".join(parts) + "\n"


def for_programs(pages: Sequence[Page], links: Links, url: str, name: str) -> dict[str, str]:
    r"""
    ## What a site has for programs

    The twins, the file that leads to all of them, the one that has all of them, the list of all
    snippets, and “robots.txt”, which lets every program in. `url` is the address of the site, if
    that is known, and `name` what it is called.
    """
    known = [page for page in pages if page.twin]
    site_map = f"Sitemap: {posixpath.join(url, 'sitemap.xml')}\n" if url else ""
    return {
        **{place(page.uri): page.twin for page in known},
        GUIDE: guide(known, links, name),
        WHOLE: whole(known),
        SNIPPETS: json.dumps(_snippets(pages), ensure_ascii=False, indent=1) + "\n",
        ROBOTS: f"User-agent: *\nAllow: /\n{site_map}",
    }


def whole(pages: Sequence[Page]) -> str:
    r"""
    ## All twins in one file

    Each after a line with its place, from which its links lead on.
    """
    return "\n".join(f"<!-- {place(page.uri)} -->\n\n{page.twin}" for page in pages)


def guide(pages: Sequence[Page], links: Links, name: str) -> str:
    r"""
    ## The file that leads to all others

    In the form of [llms.txt](https://llmstxt.org/): what the site is, then its pages, folder by
    folder, each with a sentence.
    """
    home = next((page for page in pages if page.uri == "index.md"), pages[0])
    groups: dict[str, list[str]] = {}
    for page in pages:
        group = posixpath.dirname(page.uri) or "Site"
        said = f": {page.summary}" if page.summary else ""
        groups.setdefault(group, []).append(f"- [{page.title}]({place(page.uri)}){said}")
    what = "Each page is an annotated module: notes and code."
    if links.results:
        what = (
            "Each page is an annotated module: notes, code, measured shapes. A number in a note "
            "links to the run that recorded it; the pages below “results” have all values of these "
            "runs."
        )
    parts = [f"# {name}", *([f"> {home.summary}"] if home.summary else []), what]
    for name, entries in groups.items():
        parts += [f"## {name}", "\n".join(entries)]
    about = "every definition that can be copied, with the address of a file that runs by itself"
    parts += ["## For programs", f"- [Snippets]({SNIPPETS}): {about}"]
    return "\n\n".join(parts) + "\n"


def _snippets(pages: Sequence[Page]) -> list[dict[str, str]]:
    snippets = []
    for page in pages:
        inside = f"snippets/{page.uri.removesuffix('.md')}"
        for uri in page.files:
            if not uri.startswith(inside) or uri.endswith(".bare.py") or not uri.endswith(".py"):
                continue
            name = posixpath.basename(uri).removesuffix(".py") if uri != f"{inside}.py" else ""
            bare = uri.removesuffix(".py") + ".bare.py"
            told = {"name": name, "title": page.title, "page": place(page.uri)}
            snippets.append({**told, "file": uri, "without_notes": bare})
    return snippets

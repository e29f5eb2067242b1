r"""
---
title: Links
summary: Notes link to source files; the site links to pages; both work.
---

A note writes `[attention](mha.py#MultiHeadAttention)`, which a reader of the repository can follow.
On the site the same link leads to the page that is made from that file. A link that leads nowhere
is an error, for files, definitions and lines alike.
"""

import difflib
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from markdown.extensions.toc import slugify

from literate.reading.notes import anchors
from literate.reading.plain import seen
from literate.reading.rows import rows
from literate.reading.source import Source
from literate.results.made_of import Code
from literate.results.records import Result, UnknownResult

# What a link to a text that is written by hand ends with.
DOCUMENTS = (".md", ".rst", ".html")


class UnknownTarget(Exception):
    r"""
    ## A link to nothing

    Its text is the sentence for the author.
    """


@dataclass(frozen=True)
class Links:
    r"""
    ## What can be linked to

    * `pages` are the sources, by the path of their file from the root
    * `uris` are the paths of the pages made from them, `transformers/mha.md`
    * `root` is the folder that both paths and links are resolved in
    * `docs` is the folder of the hand-written pages and pictures, from the root
    * `documents` are the paths of the hand-written pages, by the path of their file from the root
    * `resolves_html` says whether the engine resolves links in HTML too, as Zensical does, and
      MkDocs, which resolves those in Markdown only, does not
    * `results` are the [results](../results/records.py) by the path of their file from the root,
      and `recorded` is the folder that these files are in
    * `code` is what the results are [made of](../results/made_of.py)
    * `shown_on` is the page that notes of another page are shown on, where they are: addresses are
      seen from there
    """

    pages: Mapping[str, Source]
    uris: Mapping[str, str]
    root: Path
    docs: str
    documents: Mapping[str, str] = field(default_factory=dict)
    resolves_html: bool = False
    results: Mapping[str, Result] = field(default_factory=dict)
    recorded: str = "results"
    code: Code | None = None
    shown_on: str = ""

    def resolve(self, path: str, target: str) -> str:
        r"""
        ### The target of a link, seen from the page

        `path` is the file that the note stands in. Raises
        [UnknownTarget](#UnknownTarget) with the sentence for the author.
        """
        if re.match(r"(?:https?|mailto):", target):
            return target
        if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", target) or target.startswith("//"):
            raise UnknownTarget(f"the link to `{target}` is none to follow; use `https:`.")
        file, _, anchor = target.partition("#")
        linked = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
        if file.startswith("/"):
            linked = self._of_site(file)
        if linked.endswith(".html"):
            linked = self._made_from(linked)
        if linked in self.pages:
            self._check_anchor(linked, anchor, target)
            uri = self.uris[linked]
        elif linked in self.documents:
            uri = self.documents[linked]
        elif self.is_result(linked):
            result, place, _ = self.result(linked, anchor, target)
            uri, anchor = result.uri, quote(place)
        else:
            uri = self._in_docs(file) or self._document(path, linked, target)
        if not file and not self.shown_on:
            return f"#{anchor}"
        document = relative(posixpath.dirname(self.uri(path)), uri)
        return f"{document}#{anchor}" if anchor else document

    def uri(self, path: str) -> str:
        r"""
        ### The page that shows a file

        It is made from it, unless the notes of the file are shown elsewhere.
        """
        if self.shown_on:
            return self.shown_on
        return self.uris[path] if path in self.uris else self.documents[path]

    def changed(self, result: Result) -> list[str]:
        r"""
        ### What has changed since a result was measured
        """
        return (self.code or Code(self.root)).changed(result, self.pages)

    def is_result(self, linked: str) -> bool:
        r"""
        ### Is the file one of results?

        It is by its place and its name; it may not be there.
        """
        return posixpath.dirname(linked) == self.recorded and linked.endswith(".json")

    def result(self, linked: str, anchor: str, target: str) -> tuple[Result, str, Any]:
        r"""
        ### The result that a link leads to

        Then the part of its page that shows what is meant, and the thing itself, which without an
        anchor is the result. Raises [UnknownTarget](#UnknownTarget).
        """
        start = f"the link to `{target}` leads to nothing:"
        if linked not in self.results:
            near = difflib.get_close_matches(linked, self.results, n=1, cutoff=0.85)
            there = ", ".join(f"`{path}`" for path in self.results) or "none yet"
            hint = f"did you mean `{near[0]}`?" if near else f"those that are here: {there}."
            sentence = f"{start} no results `{linked}`; the program that measures writes it; {hint}"
            raise UnknownTarget(sentence)
        result = self.results[linked]
        try:
            return result, *(result.find(unquote(anchor)) if anchor else ("", result))
        except UnknownResult as error:
            raise UnknownTarget(f"{start} `{linked}` has {error}") from None

    def address(self, path: str, linked: str, anchor: str) -> str:
        r"""
        ### The address of a page, seen from another page

        For HTML. If the engine leaves that as it is, pages have the addresses of folders: that of
        `transformers/mha.md` is `transformers/mha/`.
        """
        if path == linked and anchor and not self.shown_on:
            return f"#{anchor}"
        return self.between(self.uri(path), self.uris[linked], anchor)

    def between(self, here: str, there: str, anchor: str = "") -> str:
        r"""
        ### The same for two pages that are known by their paths on the site
        """
        address = self.beside(here, there if self.resolves_html else folder(there))
        if not self.resolves_html:
            address += "/"
        return f"{address}#{anchor}" if anchor else address

    def beside(self, uri: str, other: str) -> str:
        r"""
        ### The address of a file of the site, seen from a page

        `uri` is the page. For HTML, too.
        """
        return relative(posixpath.dirname(uri) if self.resolves_html else folder(uri), other)

    def in_data(self, uri: str, other: str) -> str:
        r"""
        ### The same, for the data of an element

        No engine resolves that.
        """
        return relative(folder(uri), other)

    def _of_site(self, file: str) -> str:
        r"""
        The file of a page that is named by its address on the site, as `/guide/start/`.
        """
        address = file.strip("/").removesuffix(".md").removesuffix("index").rstrip("/")
        places = self.uris.items() | self.documents.items()
        return next((path for path, uri in sorted(places) if folder(uri) == address), file)

    def _made_from(self, linked: str) -> str:
        r"""
        The module that a page is made from, for a link to the page as it may be published.
        """
        stem = linked.removesuffix(".html")
        package = posixpath.join(posixpath.dirname(linked), "__init__")
        module = package if posixpath.basename(stem) == "index" else stem
        return f"{module}.py" if f"{module}.py" in self.pages else linked

    def _in_docs(self, file: str) -> str:
        r"""
        What is named from the folder of the hand-written pages, as Sphinx has it. A point and a
        star stand for the kind of a picture that there is.
        """
        inside = posixpath.normpath(file.lstrip("/"))
        folder = self.root / self.docs
        if inside.endswith(".*"):
            kinds = (
                inside.removesuffix("*") + kind for kind in ("svg", "png", "gif", "jpg", "jpeg")
            )
            inside = next((one for one in kinds if (folder / one).is_file()), inside)
        return "" if inside.startswith("..") or not (folder / inside).is_file() else inside

    def _document(self, path: str, linked: str, target: str) -> str:
        inside = posixpath.relpath(linked, self.docs)
        if not inside.startswith("..") and (self.root / linked).is_file():
            return inside
        if (self.root / linked).exists():
            raise UnknownTarget(f"the link to `{target}` leads to a file that is not on the site.")
        # On the site a page may stand there, which is made of a file elsewhere.
        place = posixpath.relpath(linked, posixpath.dirname(path) or ".")
        on_site = posixpath.normpath(posixpath.join(posixpath.dirname(self.uri(path)), place))
        made_of = [file for file, uri in self.uris.items() if uri == on_site]
        kind = posixpath.splitext(linked)[1]
        among = self.pages if kind in ("", ".py", ".html") else ()
        near = made_of or difflib.get_close_matches(linked, among, n=1)
        meant = relative(posixpath.dirname(path), near[0]) if near else ""
        hint = f"; did you mean `{meant}`?" if near else "."
        raise UnknownTarget(f"the link to `{target}` leads to nothing: no file `{linked}`{hint}")

    def _check_anchor(self, linked: str, anchor: str, target: str) -> None:
        source = self.pages[linked]
        names = [*(definition.name for definition in source.definitions), *source.once(anchors)]
        names += source.once(headings)
        if not anchor or anchor in names:
            return
        if re.fullmatch(r"L[1-9][0-9]*", anchor):
            number = int(anchor[1:])
            if number <= len(source.lines) and source.lines[number - 1].kind == "code":
                return
            sentence = f"the link to `{target}` leads to nothing: line {number} is no line of code."
            raise UnknownTarget(sentence)
        near = difflib.get_close_matches(anchor, names, n=1)
        hint = f"; did you mean `{near[0]}`?" if near else "."
        raise UnknownTarget(f"the link to `{target}` leads to nothing: no `{anchor}` there{hint}")


def headings(source: Source) -> tuple[str, ...]:
    r"""
    ## The anchors of the headings in the notes

    The engine makes them of the words, and numbers those that are there already. A heading at the
    beginning of a docstring has the name of what it documents.
    """
    anchors_so_far: list[str] = []
    for row in rows(source):
        if row.note is None:
            continue
        note = row.note.parsed
        named = row.documents is not None and note.title is not None
        for heading in note.headings[1 if named else 0 :]:
            name = slugify(seen(heading.words), "-")
            again = sum(name == re.sub(r"_\d+$", "", other) for other in anchors_so_far)
            anchors_so_far.append(f"{name}_{again}" if again else name)
    return tuple(anchors_so_far)


def folder(uri: str) -> str:
    r"""
    ## The folder that a page becomes

    `transformers/mha.md` becomes `transformers/mha`, `transformers/index.md` `transformers`.
    """
    above, file = posixpath.split(uri.removesuffix(".md"))
    return above if file == "index" else posixpath.join(above, file)


def relative(here: str, there: str) -> str:
    r"""
    ## The way from a folder to something
    """
    return posixpath.relpath(there or ".", here or ".")

r"""
---
title: What a page hands out
summary: The files beside a page, and what a reader can take away from it.
---

A page comes with its snippets, its notebook and its citation, with what is
[told about it](tooltips.py) when a reader points at something, and with its
[recorded run](recorded.py).
"""

import html
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from literate.page.links import Links, folder
from page_runner.edit.files import Offer

# The name of the citation beside a page.
CITATION = "cite.bib"


@dataclass(frozen=True)
class File:
    r"""
    ## A text that goes with a page

    `uri` is where it goes on the site.
    """

    uri: str
    text: str


@dataclass(frozen=True)
class Takeaways:
    r"""
    ## What a reader can take away

    * `notebook` is that of the page, and `colab` the address that opens it there, if the
      repository's is known
    * `snippets` are the definitions that can be copied with all that they need, by name; the empty
      name is the whole module
    * `bare` are the same without their notes
    * `source` is the address of the file in the repository, if that is known
    * `weight_bytes` are those of the weights with which the reader's browser can run the page, and
      `flow` is the [drawing](../../page_runner/dataflow.py) of its data flow
    * `compare` is the folder of the page on which this one can be compared with others
    * `cite` is the [entry of BibTeX](../takeaway/citation.py) for the page, if there is one
    * `edit` is what the [editor](../../page_runner/edit/files.py) of the page needs, if it has one
    * `install` is what pip is told, if the page is of a package that is
      [installed by itself](../takeaway/alone.py)
    """

    notebook: File | None
    colab: str | None
    snippets: Mapping[str, File]
    bare: Mapping[str, File]
    source: str | None = None
    weight_bytes: int = 0
    flow: str = ""
    compare: str = ""
    cite: str = ""
    edit: Offer | None = None
    install: str = ""

    def files(self, here: str) -> Iterator[File]:
        r"""
        ### Its files

        `here` is the folder of the page on the site.
        """
        yield from self.snippets.values()
        yield from self.bare.values()
        if self.cite:
            yield File(posixpath.join(here, CITATION), self.cite)
        if self.notebook:
            yield self.notebook
        if self.edit and self.edit.exercises:
            yield File(posixpath.join(here, "exercises.json"), self.edit.exercises)


NOTHING = Takeaways(None, None, {}, {})


@dataclass(frozen=True)
class Copies:
    r"""
    ## The addresses of a definition to be copied

    With its notes, and without.
    """

    noted: str
    bare: str


@dataclass(frozen=True)
class Taken:
    r"""
    ## The addresses of what can be taken away

    Seen from the page. What there isn't is empty. `definitions` are those that can be copied, by
    name, `module` is the whole page, and `twin` the page as Markdown.
    """

    definitions: Mapping[str, Copies]
    module: Copies | None
    notebook: str
    colab: str
    twin: str
    cite: str
    compare: str
    source: str
    install: str

    @property
    def is_any(self) -> bool:
        r"""
        ### Is there anything beside the Markdown, which every page has?
        """
        return bool(self.notebook or self.module or self.source or self.install)


def taken_from(uri: str, takeaways: Takeaways, links: Links) -> Taken:
    r"""
    ## The addresses of what goes with a page

    `uri` is the page.
    """
    here = folder(uri)
    copies = {
        name: Copies(links.beside(uri, noted.uri), links.beside(uri, takeaways.bare[name].uri))
        for name, noted in takeaways.snippets.items()
    }
    # Zensical would take the address for that of a page, were it not for the mark.
    twin = links.beside(uri, posixpath.join(here, "index.md")) + "?" * links.resolves_html
    compare = links.beside(uri, takeaways.compare) if takeaways.compare else ""
    return Taken(
        definitions=copies,
        module=copies.pop("", None),
        notebook=links.beside(uri, takeaways.notebook.uri) if takeaways.notebook else "",
        colab=html.escape(takeaways.colab or ""),
        twin=twin,
        cite=links.beside(uri, posixpath.join(here, CITATION)) if takeaways.cite else "",
        compare=f"{compare}/?b={here}" if compare else "",
        source=html.escape(takeaways.source or ""),
        install=html.escape(takeaways.install),
    )

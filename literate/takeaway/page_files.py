r"""
---
title: What goes with a page
summary: The snippets, the notebook and the citation that a reader can take from a page.
---

A page offers the file of each of its definitions, of itself, its notebook and how to cite it. They
are made when the page is.
"""

import os
import posixpath
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from literate.page.links import folder
from literate.page.takeaways import File, Takeaways
from literate.problems import LiterateError, Problem
from literate.python.seen import Seen
from literate.python.statements import by_module
from literate.reading.front_matter import title_of
from literate.reading.source import Source
from literate.results.records import Result
from literate.settings import Settings
from literate.takeaway.addresses import of_site
from literate.takeaway.alone import copied, installed, to_pip
from literate.takeaway.citation import of_page, project
from literate.takeaway.licence import of_project
from literate.takeaway.notebook import build, file_name
from literate.takeaway.notebook_cells import has_notebook
from literate.takeaway.rasters import Rasters
from literate.takeaway.repository import address, notebooks_branch
from literate.takeaway.snippet import snippets


class PageFiles:
    r"""
    ## What goes with the pages of a site

    `uris` are their paths, by the paths of their sources, and `url` is the address of the site, if
    that is known. The figures of notebooks are those of the `results`.
    """

    def __init__(
        self,
        settings: Settings,
        sources: Iterable[Source],
        uris: Mapping[str, str],
        url: str,
        results: Mapping[str, Result],
    ) -> None:
        self.uris = uris
        self.url = url
        self.by_module: Mapping[str, Source] = by_module(sources)
        self.settings = settings
        self.installed = installed(settings, address(settings.root))
        self.copied: Mapping[str, Source] = copied(self.by_module.values(), self.installed)
        self.licence = of_project(settings.root)
        self.addresses = of_site(settings, uris, url, address(settings.root), notebooks_branch())
        self.rasters = Rasters(results, settings.root / settings.notebooks)

    def watched(self, seen: Seen) -> None:
        r"""
        ### From now on it is seen which sources are taken from
        """
        self.by_module = seen.over(self.by_module)
        self.copied = seen.over(self.copied)

    @property
    def made_for(self) -> tuple[object, ...]:
        r"""
        ### What it takes from the project beside the sources
        """
        cited = project(self.settings.root)
        addresses = replace(self.addresses, page=None)
        return self.url, self.installed, self.licence, addresses, cited, packages_here()

    def of(self, source: Source) -> tuple[Takeaways, list[Problem]]:
        r"""
        ### What goes with a page

        The notebook links to the site that it is taken from. The one in the repository doesn't: it
        is the same on every machine.
        """
        uri = self.uris[source.path]
        address = posixpath.join(self.url, folder(uri), "") if self.url else ""
        cite = of_page(title_of(source), address, project(self.settings.root))
        takeaways, problems = self.copies(source)
        return replace(takeaways, cite=cite), problems

    def copies(self, source: Source) -> tuple[Takeaways, list[Problem]]:
        r"""
        ### The snippets and the notebook
        """
        snippets: dict[str, File] = {}
        bare: dict[str, File] = {}
        for name, noted, without in self.snippets(source):
            snippets[name], bare[name] = noted, without
        address = self.addresses.of_file(source.path)
        install = to_pip(source.path.partition("/")[0], self.installed)
        if not has_notebook(source, self.settings):
            return Takeaways(None, None, snippets, bare, address, install=install), []
        module = source.module
        name = file_name(source, module)
        try:
            text = build(
                self.by_module,
                module,
                self.addresses,
                self.settings,
                self.rasters.results,
                self.rasters.of,
            )
        except LiterateError as error:
            return Takeaways(None, None, snippets, bare, address), list(error.problems)
        notebook = File(f"notebooks/{name}", text)
        return Takeaways(notebook, self.addresses.of_colab(name), snippets, bare, address), []

    def snippets(self, source: Source) -> Iterator[tuple[str, File, File]]:
        r"""
        ### The snippets of a page

        With notes and without: its definitions, and all of it. Not everything
        can be copied: what reads the file it stands in can't. It has no snippet, nor has what is
        installed as a package.
        """
        if source.path.partition("/")[0] in self.installed:
            return
        module = source.module
        inside = self.uris[source.path].removesuffix(".md")
        names = [
            definition.name
            for definition in source.definitions
            if definition.depth == 0
            and definition.docstring is not None
            and not definition.name.startswith("_")
        ]
        for name in [*names, ""] if names else []:
            with suppress(LiterateError):
                noted, bare = snippets(
                    self.copied, module, name or None, self.licence, self.installed
                )
                place = f"snippets/{inside}/{name}" if name else f"snippets/{inside}"
                yield name, File(f"{place}.py", noted), File(f"{place}.bare.py", bare)


def packages_here() -> list[str]:
    r"""
    ## The packages that are installed

    By the folders that say so, with their versions. What each of them has to import takes half a
    second to read, and only a page that is written needs it.
    """
    folders = [path for path in sys.path if os.path.isdir(path)]
    names = [name for path in folders for name in os.listdir(path)]
    return sorted(name for name in names if name.endswith((".dist-info", ".egg-info")))

r"""
---
title: Kept pages
summary: While a site is served, pages that nothing has changed are not written again.
---

An author saves one file, and the engine builds the whole site again. What the build before has
worked out is kept in memory until then: the parsed sources, what was measured, and each page with
all that it was made from. While that is the same, so is the page.

Three things are left for the next full build, because they change many pages at every saved line:
what other pages measure through the code that was saved, what their snippets and notebooks take
from it, and that numbers on them were measured with the code as it was. The graphs of models that
contain this code are exported while the author reads on, and come with another build.
"""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from literate.measuring.measure import Bench, Measurement
from literate.page.links import Links
from literate.page.named_links import NamedLinks
from literate.page.page import Page
from literate.page.pages_on_disk import PagesOnDisk, digest
from literate.problems import Problem
from literate.python import names_in_notes
from literate.python.meanings import Meanings
from literate.python.names_in_notes import Names
from literate.python.references import Network
from literate.reading import count, lessons, rules
from literate.reading.front_matter import title_of
from literate.reading.source import Source
from literate.settings import Settings
from page_runner.background import BackgroundExports

_LINKED = re.compile(r"\]\(([^)#\s]+)")
# A part of another page that stands on this one.
_SHOWN = re.compile(r'\]\(([^)#\s]+)[^)\s]*\s+"(?:at work|difference)"\)')


@dataclass
class KeptPages:
    r"""
    ## What one build leaves for the next

    * `bench` is what measures, with a process that has PyTorch loaded; None if nothing is kept
    * `sources` are those of the last build, by their paths, and so are `measured`,
      and `unmeasured` says why others are not
    * `pages` are pages, each with what it was made from, and the name of its graph
    * `graphs` are the files of all graphs, by their places on the site
    * `judged` are sources with their problems, which are those of all with these `names`, whose
      hash is `of_names`
    * `documented` are the names of [other projects](inventories.py), which are asked for once
    * `background` exports the graphs that no build waits for
    * `on_disk` has the pages of the last build of another process, where a build may take them
    """

    bench: Bench | None
    sources: Mapping[str, Source] = field(default_factory=dict)
    measured: Mapping[str, Measurement] = field(default_factory=dict)
    unmeasured: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)
    pages: dict[str, tuple[object, str | None, Page]] = field(default_factory=dict)
    names: Names | None = None
    of_names: str = ""
    judged: dict[str, tuple[Source, list[Problem]]] = field(default_factory=dict)
    graphs: dict[str, bytes] = field(default_factory=dict)
    documented: Mapping[str, str] | None = None
    background: BackgroundExports | None = None
    on_disk: PagesOnDisk | None = None

    def close(self) -> None:
        r"""
        ### End the process that measures
        """
        if self.bench is not None:
            self.bench.child.stop()

    def page(self, path: str, origin: object, graph: str | None) -> Page | None:
        r"""
        ### A page that was made from the same

        `graph` is None while a new one is exported; until then the page keeps its old one.
        """
        before, its_graph, written = self.pages.get(path, (None, None, None))
        return written if origin == before and graph in (None, its_graph) else None

    def problems(self, source: Source, names: Names, settings: Settings) -> list[Problem]:
        r"""
        ### What a source does against the conventions
        """
        if names is not self.names:
            self.judged = self.judged if names == self.names else {}
            self.names = names
            self.of_names = digest(*names.listed)
        known, problems = self.judged.get(source.path, (None, []))
        if known is not source:
            problems = self._problems(source, names, settings)
            self.judged[source.path] = source, problems
        return problems

    def _problems(self, source: Source, names: Names, settings: Settings) -> list[Problem]:
        on_disk = self.on_disk
        key = ""
        if on_disk:
            paths = names_in_notes.paths(source.text, names.root)
            key = digest(self.of_names, source.path, source.text, sorted(paths))
        known = on_disk.problems(source.path, key) if on_disk else None
        if known is not None:
            return known
        problems = [
            *names_in_notes.problems(source, names, settings.strict),
            *rules.problems(source, settings.words),
            *count.problems(source, settings.limits),
            *lessons.problems(source, lessons.of_project(settings)),
        ]
        if on_disk:
            on_disk.keep_problems(source.path, key, problems)
        return problems


def nothing(settings: Settings) -> KeptPages:
    r"""
    ## Before the first build
    """
    return KeptPages(Bench(settings.root, settings.root / settings.store))


def inputs_of(
    source: Source, links: Links, measured: Measurement | None, network: Network
) -> object:
    r"""
    ## What a page is made from

    Its text and its measurement, the definitions that its code names and those that its notes link
    to, or name between backticks, the lines that use its own, and the results that it mentions.
    Equal objects give equal pages.
    """
    names = ["", *(definition.name for definition in source.definitions)]
    here = posixpath.dirname(source.path)
    linked = {posixpath.normpath(posixpath.join(here, to)) for to in _LINKED.findall(source.text)}
    return (
        source.text,
        measured,
        network.references[source.path],
        NamedLinks(links, Meanings(network.modules), {}).leads(source),
        [network.used.get((source.path, name)) for name in names],
        [
            (path, [definition.name for definition in links.pages[path].definitions])
            for path in sorted(linked)
            if path in links.pages
        ],
        # What it calls other pages, and what it shows of them.
        [
            (path, title_of(links.pages[path]))
            for path in sorted({reference.path for reference in network.references[source.path]})
        ],
        [
            (path, links.pages[path].text)
            for path in sorted(
                posixpath.normpath(posixpath.join(here, to)) for to in _SHOWN.findall(source.text)
            )
            if path in links.pages
        ],
        [(path, result) for path, result in links.results.items() if path in linked],
        # The programs of a path.
        [
            (path, (links.root / path).read_text(encoding="utf-8"))
            for path in sorted(linked)
            if path.startswith(f"{links.docs}/")
            if path.endswith(".py") and (links.root / path).is_file()
        ],
    )

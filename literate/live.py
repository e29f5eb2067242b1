r"""
---
title: Live pages
summary: While an author writes, the pages follow the sources, the saved one first.
---

A site that is built once can forget how. While a site is *served*, everything that is still right
is kept between two saved files: the parsed sources, what follows from each, the formulas, and the
child process that measures.

What has to be right at once is the page that was saved. Any other page may depend on it: it may
link to its lines, use its classes, be measured through them. So all others are written again
behind it, one by one, and those that come out as before are left alone. They are measured by a
[process of their own](behind.py), so that the next file that is saved finds nobody busy.
"""

import html
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from literate import katex, site
from literate.axes import example_of
from literate.behind import Behind, Left
from literate.child import NotStarted
from literate.formulas import Formulas
from literate.measure import Bench, Measurement
from literate.page import Page
from literate.problems import LiterateError, Problem
from literate.settings import Settings
from literate.site import Site
from literate.source import Source, read


class Live:
    r"""
    ## The pages of a site that is being written

    * `site` are the sources, each as it was when it could last be parsed
    * `pages` are the pages, each as it was when it last had no problem, by the path of its source
    * `documents` are those that were written by hand, in the same way
    * `results` are those of the results, by their paths on the site
    * `waiting` are the paths of the sources whose pages may have become different, in order
    """

    def __init__(self, settings: Settings, report: Callable[[str], None]) -> None:
        self.settings = settings
        self.report = report
        self.site = Site(settings, {}, {}, {})
        self.pages: dict[str, Page] = {}
        self.documents: dict[str, Page] = {}
        self.results: dict[str, Page] = {}
        self.waiting: list[str] = []
        self._measured: dict[str, Measurement] = {}
        self._problems: dict[str, tuple[Problem, ...]] = {}
        # The sources that can't be parsed now.
        self._unread: set[str] = set()
        # The sources that were saved last: somebody waits for their pages.
        self._saved: frozenset[str] = frozenset()
        self._bench = Bench(settings.root, settings.root / settings.store)
        self._behind = Behind(settings.root.resolve())
        self._formulas = Formulas(katex.folder(settings))
        self._start: threading.Thread | None = None

    @property
    def problems(self) -> list[Problem]:
        r"""
        ### What is wrong now, on all pages
        """
        return sorted(one for found in self._problems.values() for one in found)

    def warm_up(self) -> None:
        r"""
        ### Start the child that measures, without waiting for it

        It takes seconds to import PyTorch. When an author has written a line, they have passed.
        """
        if any(source.once(example_of) for source in self.site.sources.values()):
            self._start = threading.Thread(target=self._start_child, daemon=True)
            self._start.start()

    def _start_child(self) -> None:
        try:
            self._bench.child.start()
        except NotStarted:
            # The page that needs it will be told.
            return

    def close(self) -> None:
        r"""
        ### End the processes
        """
        self._wait_for_child()
        self._bench.child.stop()
        self._behind.stop()
        self._formulas.__exit__(None, None, None)

    def build(self) -> list[Page]:
        r"""
        ### Write all pages

        Raises a [LiterateError](problems.py#LiterateError) with the problems of all of them, if
        there are any; then everything stays as it was.
        """
        loaded = site.load(self.settings, self.site.sources)
        self._bench.store.look_again()
        self._wait_for_child()
        sources = list(loaded.sources.values())
        measured = site.measurements(loaded, sources, self.report, self._bench)
        written = list(site.pages(loaded, sources, measured, self._formulas))
        by_hand = list(site.documents(loaded))
        measured_pages = site.of_results(loaded)
        problems = [problem for one in [*written, *by_hand] for problem in one.problems]
        if problems:
            raise LiterateError(problems)
        self.site, self._measured = loaded, measured
        self.pages = dict(zip(loaded.sources, written, strict=True))
        self.documents = dict(zip(loaded.documents, by_hand, strict=True))
        self.results = {page.uri: page for page in measured_pages}
        self._problems, self._unread, self.waiting = {}, set(), []
        return written

    def read(self, paths: Collection[str]) -> None:
        r"""
        ### Read the sources that were saved

        Their pages come first among those that wait. One that can't be parsed waits for its author.
        """
        sources = dict(self.site.sources)
        first = []
        for path in paths:
            try:
                sources[path] = read(self.settings.root / path, path, sources[path])
                first.append(path)
                self._unread.discard(path)
            except LiterateError as error:
                self._problems[path] = error.problems
                self._unread.add(path)
        self.site = replace(self.site, sources=sources)
        self._bench.store.look_again()
        # If none could be read, nothing else has changed.
        others = [path for path in (sources if first else self.waiting) if path not in paths]
        self.waiting = [*first, *(path for path in others if path not in self._unread)]
        self._saved = frozenset(first)

    def write(self, is_urgent: Callable[[], bool] = lambda: False) -> Iterator[Page | None]:
        r"""
        ### Write the pages that wait

        One at a time, so that there is time for something else in between. Gives each page that
        has become different, and None when there is none: the page is as it was, or has a problem,
        or is being measured behind those that were saved while `is_urgent` says that there is
        something better to do.
        """
        self._behind.is_urgent = is_urgent
        paths = {uri: path for path, uri in self.site.uris.items()}
        while self.waiting:
            for page in site.pages(self.site, self._next(), self._measured, self._formulas):
                yield self._keep(page, paths[page.uri], self.pages)
            # There is no page where a measurement failed, or was left.
            yield None

    def write_document(self, path: str) -> Page | None:
        r"""
        ### Write a page that is written by hand

        None if it has a problem, or is as it was.
        """
        (page,) = site.documents(self.site, [path])
        return self._keep(page, path, self.documents)

    def write_results(self) -> Iterator[Page]:
        r"""
        ### Write the pages of results that have become different

        A file that was measured may no longer be as it was, or be so again.
        """
        for page in site.of_results(self.site):
            if page != self.results[page.uri]:
                self.results[page.uri] = page
                yield page

    def _keep(self, page: Page, path: str, pages: dict[str, Page]) -> Page | None:
        r"""
        A page that has just been written takes the place of that in `pages`, if it has become
        different; one that has a problem leaves the last good one there.
        """
        self._problems.pop(path, None)
        if page.problems:
            self._problems[path] = page.problems
        elif page != pages[path]:
            pages[path] = page
            return page
        return None

    def _next(self) -> Iterator[Source]:
        r"""
        The sources that wait, measured; until one is left, or one that was saved has a problem,
        which its author wants to see at once.
        """
        self._wait_for_child()
        while self.waiting:
            path = self.waiting.pop(0)
            source = self.site.sources[path]
            is_saved = path in self._saved
            bench = self._bench if is_saved else self._bench.beside(self._behind)
            try:
                found = site.measurements(self.site, [source], self.report, bench)
            except Left:
                self.waiting.insert(0, path)
                return
            except LiterateError as error:
                self._problems[path] = error.problems
                if is_saved:
                    return
                continue
            self._measured.pop(path, None)
            self._measured |= found
            yield source

    def _wait_for_child(self) -> None:
        if self._start is not None:
            self._start.join()
            self._start = None


# The served page alone has this; what is published has no inline style.
_NOTICE = """
<style>
  .literate-notice { position: fixed; inset: auto 0 0 0; z-index: 99; max-height: 40vh;
    overflow: auto; padding: 0.8rem 1.2rem; background: #7f0000; color: #fff;
    font: 0.75rem/1.5 monospace; white-space: pre-wrap; }
  .literate-notice.waits { background: #24344d; }
</style>
<section class="literate-notice%s" role="status">%s</section>
"""


def notice(problems: Collection[str], waits: bool) -> str:
    r"""
    ## What a served page says about itself

    As HTML: the problems, while the page shows what was right before; or that the page `waits` to
    be written again. Empty if it has nothing to say.
    """
    if problems:
        lines = "\n".join(html.escape(one) for one in problems)
        return _NOTICE % ("", f"{lines}\n\nUntil this is mended, the last good pages stay.")
    if waits:
        return _NOTICE % (" waits", "Something else was saved; this page is being checked again.")
    return ""


def state(places: Iterable[str]) -> dict[str, tuple[int, int]]:
    r"""
    ## The state of files

    For each file in these places, when it was changed and how long it is. Hidden files, and those
    that Python or an editor keeps for itself, are none.
    """
    found: dict[str, tuple[int, int]] = {}
    waiting = []
    for place in places:
        if os.path.isdir(place):
            waiting.append(place)
        elif os.path.isfile(place):
            told = os.stat(place)
            found[place] = told.st_mtime_ns, told.st_size
    while waiting:
        # What has just been taken away, or is a link to nothing, is not there.
        with suppress(FileNotFoundError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if _is_private(entry.name):
                    continue
                if entry.is_dir():
                    waiting.append(entry.path)
                    continue
                with suppress(FileNotFoundError):
                    told = entry.stat()
                    found[entry.path] = told.st_mtime_ns, told.st_size
    return found


def _is_private(name: str) -> bool:
    return name.startswith(".") or name.endswith("~") or name == "__pycache__"


def write_file(path: Path, content: str | bytes) -> None:
    r"""
    ## Write a file of the site

    Beside its place and then moved there, because a browser may be reading it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.part")
    if isinstance(content, str):
        content = content.encode(errors="xmlcharrefreplace")
    beside.write_bytes(content)
    beside.replace(path)

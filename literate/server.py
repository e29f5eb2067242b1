r"""
---
title: Server
summary: While a site is served, the page that was saved is built alone.
---

MkDocs builds the whole site for each file that is saved. Here its server is told to build one page,
and then to look after the others.
"""

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

from jinja2 import Environment
from mkdocs.commands.build import get_context
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.livereload import LiveReloadServer
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page as Document

from literate import site
from literate.live import Live, notice, state, write_file
from literate.page import Page
from literate.problems import LiterateError

log = logging.getLogger(f"mkdocs.plugins.{__name__}")

# How often the server looks for a saved file, and how long a file must stay as it is to be read.
POLL_SECONDS = 0.1
SETTLE_SECONDS = 0.02


@dataclass(frozen=True)
class Kit:
    r"""
    ## What it takes to build one page
    """

    config: MkDocsConfig
    files: Files
    env: Environment
    nav: Navigation

    def document(self, uri: str) -> Document | None:
        r"""
        ### The document that is read from a path

        None if it is no document.
        """
        file = self.files.get_file_from_path(uri)
        return file.page if file is not None else None

    def documents(self) -> list[Document]:
        r"""
        ### All documents
        """
        return [file.page for file in self.files.documentation_pages() if file.page is not None]

    def read(self, document: Document) -> None:
        r"""
        ### Turn the Markdown of a document into HTML
        """
        config, files, plugins = self.config, self.files, self.config.plugins
        document = plugins.on_pre_page(document, config=config, files=files)
        document.read_source(config)
        document.markdown = plugins.on_page_markdown(
            document.markdown or "", page=document, config=config, files=files
        )
        document.render(config, files)
        document.content = plugins.on_page_content(
            document.content or "", page=document, config=config, files=files
        )

    def write(self, document: Document) -> None:
        r"""
        ### Put the theme around it, and write it to the site
        """
        config, plugins = self.config, self.config.plugins
        document.active = True
        context = get_context(self.nav, self.files, config, document)
        context = plugins.on_page_context(context, page=document, config=config, nav=self.nav)
        template = self.env.get_template(str(document.meta.get("template", "main.html")))
        output = template.render(context)
        document.active = False
        output = plugins.on_post_page(output, page=document, config=config)
        write_file(Path(document.file.abs_dest_path), output)


class Plugin(Protocol):
    r"""
    ## What the server shares with the plug-in

    * `live` are the pages
    * `kit` builds one
    * `is_built` tells that the live pages are ready for the build of MkDocs that comes next
    * `error` is what MkDocs said last of an error
    """

    live: Live | None
    kit: Kit
    is_built: bool
    error: str


class Server(LiveReloadServer):
    r"""
    ## The server

    For each file that is saved, MkDocs would build the whole site. This server builds the page that
    was saved, tells the browsers, and then looks after the other pages until the next file is
    saved. What can't be done so, as when a page is new, is left to MkDocs' own `builder`.
    """

    def __init__(
        self,
        plugin: Plugin,
        live: Live,
        server: LiveReloadServer,
        config: MkDocsConfig,
        builder: Callable[[], None],
    ) -> None:
        host, port = config.dev_addr
        super().__init__(builder, host, port, server.root, server.mount_path)
        self.error_handler = server.error_handler
        self.plugin = plugin
        # What is wrong, and the addresses of the pages that wait.
        self.said: list[str] = []
        self.waiting: frozenset[str] = frozenset()
        # Whether browsers would see something new.
        self.is_new = False
        self.needs_builder = False
        self.texts = {}
        self.titles = self._titles()
        root = live.settings.root
        self.packages = [str(root / package) for package in live.settings.sources]
        documents = [root / path for path in live.settings.documents]
        places = [*self.packages, config.docs_dir, *documents, site.ASSETS, root / "pyproject.toml"]
        places.append(root / live.settings.results)
        for place in [*places, *filter(None, [config.config_file_path])]:
            self.watch(str(place))
        self.seen = self._state()

    def watch(self, path: str, func: None = None, *, recursive: bool = True) -> None:
        r"""
        ### Watch a file or a folder
        """
        self._watched_paths[os.path.abspath(path)] = 1

    def unwatch(self, path: str) -> None:
        r"""
        ### Watch it no longer
        """
        self._watched_paths.pop(os.path.abspath(path), None)

    def serve_request(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        r"""
        ### Answer a request

        A page that may not be what the sources say now says so.
        """
        path = unquote(environ["PATH_INFO"]).removeprefix(self.mount_path)
        waits = path.removesuffix("index.html") in self.waiting
        added = notice(self.said, waits).encode()
        started: list[tuple[str, list[tuple[str, str]]]] = []
        answer = super().serve_request(environ, lambda *told: started.append(told))
        ((status, headers),) = started
        if not added or ("Content-Type", "text/html") not in headers:
            start_response(status, headers)
            return answer
        before, end, after = b"".join(answer).rpartition(b"</body>")
        body = before + added + end + after
        kept = [(name, value) for name, value in headers if name != "Content-Length"]
        start_response(status, [*kept, ("Content-Length", str(len(body)))])
        # It is shown again when it no longer waits.
        self.is_new |= waits
        return [body]

    def _build_loop(self) -> None:
        work: Iterator[None] = iter(())
        while not self._shutdown:
            now = self._state()
            if now != self.seen:
                work = self._work(self._changed(now))
            elif next(work, self) is self:
                time.sleep(POLL_SECONDS)

    def _state(self) -> dict[str, tuple[int, int]]:
        r"""
        Of the packages, only the modules count.
        """
        found = state(self._watched_paths)
        inside = tuple(f"{package}{os.sep}" for package in self.packages)
        assets = f"{site.ASSETS}{os.sep}"
        return {
            path: told
            for path, told in found.items()
            if path.endswith(".py") or not path.startswith(inside) or path.startswith(assets)
        }

    def _is_saved(self) -> bool:
        return self._state() != self.seen

    def _changed(self, now: dict[str, tuple[int, int]]) -> set[str]:
        r"""
        The files that changed, when they have come to rest: an editor may still be writing.
        """
        before = self.seen
        while now != self.seen:
            self.seen = now
            time.sleep(SETTLE_SECONDS)
            now = self._state()
        return {path for path in {*before, *now} if before.get(path) != now.get(path)}

    def _work(self, changed: set[str]) -> Iterator[None]:
        r"""
        All that has to be done because files changed, in steps. Between two of them, the loop sees
        whether another file was saved; then the rest of these is part of what that one needs.
        """
        started = time.perf_counter()
        live = self.plugin.live
        assert live is not None
        names = {path: os.path.relpath(path, live.settings.root) for path in changed}
        sources = [name for name in names.values() if name in live.site.sources]
        documents = [name for name in names.values() if name in live.site.documents]
        others = set(names.values()) - {*sources, *documents}
        log.info(f"Saved: {', '.join(sorted(names.values()))}")
        try:
            whole = self.needs_builder or others
            if whole or not all(os.path.isfile(path) for path in changed):
                self._build_all(live)
                log.info(f"The site was built in {time.perf_counter() - started:.2f} s")
                return
            for name in documents:
                if (written := live.write_document(name)) is not None:
                    self._write(written)
            live.read(sources)
            is_told = False
            for page in chain([None], live.write(self._is_saved)):
                if page is not None:
                    self._write(page)
                self._look(live)
                if not is_told and not set(sources) & set(live.waiting):
                    is_told = True
                    self._write_files(site.generated(live.pages.values()))
                    self._tell()
                    log.info(f"Shown in {time.perf_counter() - started:.2f} s")
                yield
            yield from self._finish(live)
        except (Exception, SystemExit) as error:
            self._fail(error)

    def _write(self, page: Page) -> None:
        kit = self.plugin.kit
        document = kit.document(page.uri)
        assert document is not None
        for uri, content in page.files.items():
            write_file(Path(self.root, uri), content)
        # A snippet changes with each page that it takes from; the page that shows it does not.
        if document.file.content_string != page.markdown:
            document.file.content_string = page.markdown
            kit.read(document)
            kit.write(document)
            self.is_new = True

    def _write_files(self, texts: Mapping[str, str]) -> None:
        r"""
        Files that belong to the site as a whole, if they have become others.
        """
        for uri, text in texts.items():
            if self.texts.get(uri) != text:
                self.texts[uri] = text
                write_file(Path(self.root, uri), text)
                self.is_new = True

    def _look(self, live: Live) -> None:
        r"""
        What is wrong now, and what waits?
        """
        kit = self.plugin.kit
        documents = (kit.document(live.site.uris[path]) for path in live.waiting)
        self.waiting = frozenset(one.url for one in documents if one is not None)
        self._say([str(problem) for problem in live.problems])

    def _say(self, lines: list[str]) -> None:
        for line in lines:
            if line not in self.said:
                log.error(line)
        if self.said and not lines:
            log.info("No problems any more.")
        self.is_new |= lines != self.said
        self.said = lines

    def _fail(self, error: BaseException) -> None:
        r"""
        What can't be built is said, and the pages stay as they are.
        """
        problems = error.problems if isinstance(error, LiterateError) else ()
        self.needs_builder = True
        self._say([str(one) for one in problems] or [self.plugin.error or str(error)])
        self._tell()

    def _build_all(self, live: Live) -> None:
        # MkDocs empties the site before it asks for the pages, so they have to be right by then.
        self.needs_builder = True
        self.plugin.error = ""
        live.build()
        self.plugin.is_built = True
        with self._epoch_cond:
            # Until the browsers are told, their requests wait.
            self._wanted_epoch = self._visible_epoch + 1
        self.is_new = True
        try:
            self.builder()
        finally:
            self.plugin.is_built = False
        self.needs_builder = False
        self.texts = {}
        self.titles = self._titles()
        self.waiting = frozenset()
        self._say([])
        self._tell()

    def _finish(self, live: Live) -> Iterator[None]:
        r"""
        The title of a page stands on other pages, too; documents link to pages, and all of them can
        be searched.
        """
        self._write_files(live.site.search_index)
        yield
        # They say what has changed since it was measured.
        by_hand = map(live.write_document, live.site.documents if live.results else ())
        for page in chain(filter(None, by_hand), live.write_results()):
            self._write(page)
            yield
        kit = self.plugin.kit
        titles = self._titles()
        if titles != self.titles:
            for document in kit.documents():
                kit.write(document)
                self.is_new = True
                yield
            self.titles = titles
        for document in kit.documents():
            level = kit.config.validation.links.anchors
            document.validate_anchor_links(files=kit.files, log_level=level)
        self._tell()

    def _titles(self) -> list[str | None]:
        return [document.title for document in self.plugin.kit.documents()]

    def _tell(self) -> None:
        r"""
        Have the browsers ask again.
        """
        if self.is_new:
            self.is_new = False
            with self._epoch_cond:
                epoch = max(self._visible_epoch + 1, round(time.monotonic() * 1000))
                self._visible_epoch = self._wanted_epoch = epoch
                self._epoch_cond.notify_all()

r"""
---
title: Plug-in
summary: The one module that knows MkDocs.
---

MkDocs is handed the pages as if they had been written by hand, so its navigation and its check of
links treat them like any other. While it serves a site, it is also told how to build a single page.
"""

import gc
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import unescape
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from jinja2 import Environment
from mkdocs.commands.build import get_context
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import BasePlugin
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page as Document

from literate import repository, site
from literate.lighten import lighten
from literate.live import Live, notice, state, write_text
from literate.page import Page
from literate.problems import LiterateError
from literate.ready import ReadyHtml
from literate.settings import Settings, load
from literate.site import Site

# MkDocs counts what is logged below its own name, and `--strict` fails on it.
log = logging.getLogger(f"mkdocs.plugins.{__name__}")

# How often the server looks for a saved file, and how long a file must stay as it is to be read.
POLL_SECONDS = 0.1
SETTLE_SECONDS = 0.02

# What only looks like a tag is escaped, so this is one.
_ID = re.compile(r'<[^>]*\sid="([^"]*)"')


class LiteratePlugin(BasePlugin):
    r"""
    ## The plug-in

    It has no options of its own: the [settings](settings.py#Settings) are those of the command
    line.
    """

    def __init__(self) -> None:
        super().__init__()
        self.live: Live | None = None
        self.serves = False
        # Whether the live pages are ready for the build of MkDocs that comes next.
        self.is_built = False
        self.error = ""

    def on_startup(self, *, command: str, dirty: bool) -> None:
        r"""
        ### Serve or build?

        That there is such a method tells MkDocs to keep the plug-in between two builds.
        """
        self.serves = command == "serve"

    def on_shutdown(self) -> None:
        r"""
        ### End the processes of what was served
        """
        if self.live is not None:
            self.live.close()
            self.live = None

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        r"""
        ### Find the settings
        """
        try:
            self.settings: Settings = load(_folder(config))
        except LiterateError as error:
            raise PluginError(str(error)) from None
        if not config.use_directory_urls:
            raise PluginError("literate needs `use_directory_urls: true`, which is the default.")
        # Below the folder of overrides that the project itself may have.
        config.theme.dirs.insert(1 if config.theme.custom_dir else 0, str(site.THEME))
        # Not “repo_url”: for an address at GitHub, Material would ask GitHub from every page.
        address = repository.address(self.settings.root)
        config.edit_uri = f"{address}/edit/{repository.BRANCH}/" if address else ""
        config.markdown_extensions.append(ReadyHtml())
        return config

    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        r"""
        ### Add the pages and what they need

        A problem on any page stops the build, strict or not: a page that is wrong is not published.
        """
        try:
            loaded, written = self._pages(config.site_url or "")
        except LiterateError as error:
            raise PluginError(f"\n{error}") from None
        sources = {uri: path for path, uri in {**loaded.uris, **loaded.documents}.items()}
        for page in written:
            # A document of the folder docs/: its links have been resolved since.
            if by_hand := files.get_file_from_path(page.uri):
                files.remove(by_hand)
            file = File.generated(config, page.uri, content=page.markdown)
            file.edit_uri = sources[page.uri] if config.edit_uri else None
            files.append(file)
            for uri, text in page.files.items():
                files.append(File.generated(config, uri, content=text))
        for uri, text in (site.generated(written) | loaded.search_index).items():
            files.append(File.generated(config, uri, content=text))
        copied = [*site.assets(self.settings)]
        if config.site_url:
            copied += site.cards(self.settings, written, config.site_name)
        for uri, path in copied:
            files.append(File.generated(config, uri, abs_src_path=str(path)))
        return files

    def on_post_build(self, *, config: MkDocsConfig) -> None:
        r"""
        ### Leave no site map that is none, and lighten what was built

        Without the address of the site the map would name no page. The packed one holds a date.
        While a page is written, nobody waits for its bytes.
        """
        folder = Path(config.site_dir)
        (folder / "sitemap.xml.gz").unlink(missing_ok=True)
        if not config.site_url:
            (folder / "sitemap.xml").unlink(missing_ok=True)
        if not self.serves:
            lighten(folder)

    def _pages(self, url: str) -> tuple[Site, list[Page]]:
        if not self.serves:
            loaded = replace(site.load(self.settings), url=url)
            return loaded, site.correct_pages(loaded, log.info)
        if self.live is None or self.live.settings != self.settings:
            self.on_shutdown()
            self.live = Live(self.settings, log.info)
        if not self.is_built:
            self.live.build()
        return self.live.site, [*self.live.pages.values(), *self.live.documents.values()]

    def on_page_content(
        self, html: str, *, page: Document, config: MkDocsConfig, files: Files
    ) -> str:
        r"""
        ### Tell MkDocs of the anchors in the code

        It looks for them in the Markdown, where the code was [put aside](ready.py).
        """
        anchors = page.present_anchor_ids or set()
        page.present_anchor_ids = anchors | {unescape(name) for name in _ID.findall(html)}
        return html

    def on_nav(self, nav: Navigation, *, config: MkDocsConfig, files: Files) -> Navigation:
        r"""
        ### Keep the navigation
        """
        self.nav = nav
        return nav

    def on_env(self, env: Environment, *, config: MkDocsConfig, files: Files) -> Environment:
        r"""
        ### Keep what it takes to build one page
        """
        self.kit = Kit(config, files, env, self.nav)
        return env

    def on_build_error(self, *, error: Exception) -> None:
        r"""
        ### Keep what MkDocs says of an error

        It raises another one, which says less.
        """
        self.error = str(error).strip()

    def on_serve(
        self, server: LiveReloadServer, *, config: MkDocsConfig, builder: Callable[[], None]
    ) -> LiveReloadServer:
        r"""
        ### Serve with a server that builds single pages
        """
        assert self.live is not None
        self.live.warm_up()
        # The syntax trees of all sources live as long as the server. To look through them for
        # garbage, again and again, would take a good part of the second that a page has.
        gc.collect()
        gc.freeze()
        server.server_close()
        return Server(self, self.live, server, config, builder)


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
        write_text(Path(document.file.abs_dest_path), output)


class Server(LiveReloadServer):
    r"""
    ## The server

    For each file that is saved, MkDocs would build the whole site. This server builds the page that
    was saved, tells the browsers, and then looks after the other pages until the next file is
    saved. What can't be done so, as when a page is new, is left to MkDocs' own `builder`.
    """

    def __init__(
        self,
        plugin: LiteratePlugin,
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
            for page in chain([None], live.write()):
                if page is not None:
                    self._write(page)
                self._look(live)
                if not is_told and not set(sources) & set(live.waiting):
                    is_told = True
                    self._write_texts(site.generated(live.pages.values()))
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
        for uri, text in page.files.items():
            write_text(Path(self.root, uri), text)
        # A snippet changes with each page that it takes from; the page that shows it does not.
        if document.file.content_string != page.markdown:
            document.file.content_string = page.markdown
            kit.read(document)
            kit.write(document)
            self.is_new = True

    def _write_texts(self, texts: Mapping[str, str]) -> None:
        r"""
        Files that belong to the site as a whole, if they have become others.
        """
        for uri, text in texts.items():
            if self.texts.get(uri) != text:
                self.texts[uri] = text
                write_text(Path(self.root, uri), text)
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
        self._write_texts(live.site.search_index)
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


def _folder(config: MkDocsConfig) -> Path:
    return Path(config.config_file_path or ".").resolve().parent

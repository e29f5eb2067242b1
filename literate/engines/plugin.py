r"""
---
title: Plug-in
summary: MkDocs is handed the pages.
---

MkDocs is handed the pages as if they had been written by hand, so its navigation and its check of
links treat them like any other. This module and that of the [kept HTML](kept_html.py) alone know
MkDocs.
"""

import gc
import logging
import os
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import BasePlugin
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page as Document
from mkdocs.structure.toc import TableOfContents

from literate import site
from literate.engines import kept_html
from literate.engines.kept_html import KeptHtml
from literate.engines.kept_site import KeptSite, SiteBefore
from literate.engines.navigation import missing_features
from literate.engines.raw_html import ReadyHtml
from literate.page import kept_pages
from literate.page.kept_pages import KeptPages
from literate.page.lists import HOME
from literate.page.page import Page
from literate.page.pages_on_disk import PagesOnDisk
from literate.problems import LiterateError
from literate.reading.python_files import python_files
from literate.settings import Settings, load
from literate.site import Site
from page_runner.background import BackgroundExports

# MkDocs counts what is logged below its own name, and `--strict` fails on it.
log = logging.getLogger(f"mkdocs.plugins.{__name__}")

# A line break of the theme, with the indentation around it.
_BREAK = re.compile(r"\s*\n\s*")
# What only looks like a tag is escaped, so this is one.
_ID = re.compile(r'<[^>]*\sid="([^"]*)"')


class LiteratePlugin(BasePlugin):
    r"""
    ## The plug-in

    It has no options of its own: the [settings](../settings.py#Settings) are those of the command
    line.
    """

    def __init__(self) -> None:
        super().__init__()
        # While a site is served: what the last build left, and the HTML of each page, with the
        # Markdown and the pages that it was made from.
        self.kept_pages: KeptPages | None = None
        self.html: dict[str, tuple[object, str, TableOfContents]] = {}
        self.kept_site = KeptSite()
        # While one is built: what another build has left.
        self.on_disk: PagesOnDisk | None = None
        self.kept_html: KeptHtml | None = None

    def on_startup(self, *, command: str, dirty: bool) -> None:
        r"""
        ### Serve or build?

        That there is such a method tells MkDocs to keep the plug-in between two builds.

        A build ends soon. To look for garbage among the syntax trees of all sources, again and
        again, would be a twentieth of its work.
        """
        self.serves = command == "serve"
        if command == "build":
            gc.disable()

    def on_shutdown(self) -> None:
        r"""
        ### End the process that measures
        """
        if self.kept_pages is not None:
            self.kept_pages.close()

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        r"""
        ### Find the settings, and add what pages need
        """
        try:
            self.settings: Settings = load(_folder(config))
        except LiterateError as error:
            raise PluginError(str(error)) from None
        if not config.use_directory_urls:
            raise PluginError("literate needs `use_directory_urls: true`, which is the default.")
        docs = Path(os.path.relpath(config.docs_dir, self.settings.root)).as_posix()
        if docs != os.path.normpath(self.settings.docs):
            raise PluginError(
                f"the pages written by hand lie in “{docs}” by mkdocs.yml and in "
                f"“{self.settings.docs}” by tool.literate; "
                f'write `docs = "{docs}"` under [tool.literate] in pyproject.toml.'
            )
        # Below the folder of overrides that the project itself may have.
        config.theme.dirs.insert(1 if config.theme.custom_dir else 0, str(site.THEME))
        config.markdown_extensions.append(ReadyHtml())
        for name, options in site.EXTENSIONS.items():
            if name not in config.markdown_extensions:
                config.markdown_extensions.append(name)
            config.mdx_configs[name] = {**options, **config.mdx_configs.get(name, {})}
        for known, needed in (
            (config.extra_css, site.SHEETS),
            (config.extra_javascript, site.SCRIPTS),
        ):
            known[:] = [*needed, *(file for file in known if str(file) not in needed)]
        return config

    def on_pre_build(self, *, config: MkDocsConfig) -> None:
        r"""
        ### Keep what the last build has written
        """
        if self.serves:
            self.kept_site.take_away(Path(config.site_dir))
            return
        store = self.settings.root / self.settings.store
        self.kept_site = SiteBefore(store / "site")
        self.kept_site.take_away(Path(config.site_dir))
        self.on_disk = PagesOnDisk(store / "pages")
        self.kept_html = None
        events = config.plugins.events
        is_next_to_the_engine = events["page_markdown"][-1:] == [self.on_page_markdown] and events[
            "page_content"
        ][:1] == [self.on_page_content]
        if is_next_to_the_engine and kept_html.is_pure(config):
            self.kept_html = KeptHtml(self.on_disk, config)

    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        r"""
        ### Add the pages and what they need

        A problem on any page stops the build, whether MkDocs is strict or not, unless the settings
        of literate say `strict = false`; then it is a warning, which `--strict` counts.
        """
        self.kept_site.put_back(Path(config.site_dir))
        try:
            loaded, written = self._pages(config.site_url or "", config.site_name)
        except LiterateError as error:
            raise PluginError(f"\n{error}") from None
        self.for_programs = site.for_programs(loaded, written)
        self.of_code = {*loaded.uris.values()}
        # The pages of results need no place in the navigation: what they are about leads to them.
        in_nav = {*loaded.uris.values(), *loaded.documents.values(), HOME}
        for page in written:
            # A document of the folder docs/: its links have been resolved since.
            if by_hand := files.get_file_from_path(page.uri):
                files.remove(by_hand)
            file = File.generated(config, page.uri, content=page.markdown)
            if page.uri not in in_nav:
                file.inclusion = InclusionLevel.NOT_IN_NAV
            # The page itself has a link to its source.
            file.edit_uri = None
            files.append(file)
            for uri, content in page.files.items():
                self._add(files, KeptFile.of(self.kept_site, config, uri, content=content))
        features = config.theme.get("features")
        if isinstance(features, list):
            features += missing_features(features, len(written))
        for_all = site.generated(self.settings, self.kept_pages)
        for uri, text in (for_all | loaded.search_index(written) | loaded.inventory).items():
            self._add(files, KeptFile.of(self.kept_site, config, uri, content=text))
        for uri, path in site.assets(self.settings):
            self._add(files, KeptFile.of(self.kept_site, config, uri, abs_src_path=str(path)))
        if config.exclude_docs is None:
            # MkDocs leaves out a folder of this name, for those of its themes; this is a package.
            for file in files:
                undecided = file.inclusion == InclusionLevel.UNDEFINED
                if undecided and file.generated_by and file.src_uri.startswith("templates/"):
                    file.inclusion = InclusionLevel.INCLUDED
        self.paths = {file.dest_uri for file in files} | self.for_programs.keys()
        return files

    @staticmethod
    def _add(files: Files, file: File) -> None:
        r"""
        Of what another tool has left in the folder of documents, the file of the same name goes.
        """
        if there := files.get_file_from_path(file.src_uri):
            files.remove(there)
        files.append(file)

    def on_post_build(self, *, config: MkDocsConfig) -> None:
        r"""
        ### Add what programs read, and leave no site map that is none

        Without the address of the site the map would name no page. The packed one holds a date.
        """
        folder = Path(config.site_dir)
        if self.on_disk is not None:
            self.on_disk.drop_others()
        self.kept_site.put(folder, self.for_programs)
        self.kept_site.drop_all_but(folder, self.paths)
        self.kept_site.drop()
        (folder / "sitemap.xml.gz").unlink(missing_ok=True)
        if not config.site_url:
            (folder / "sitemap.xml").unlink(missing_ok=True)
        if self.kept_pages is not None and self.kept_pages.background is not None:
            self.kept_pages.background.start()

    def on_build_error(self, *, error: Exception) -> None:
        r"""
        ### Leave the site as it was
        """
        self.kept_site.undo()

    def _pages(self, url: str, name: str) -> tuple[Site, list[Page]]:
        if not self.serves:
            loaded = replace(site.load(self.settings), url=url, name=name)
            kept = KeptPages(None, on_disk=self.on_disk)
            return loaded, site.correct_pages(loaded, log.info, kept, log.warning)
        if self.kept_pages is None:
            self.kept_pages = kept_pages.nothing(self.settings)
        loaded = replace(site.load(self.settings, self.kept_pages.sources), name=name)
        return loaded, site.correct_pages(loaded, log.info, self.kept_pages, log.warning)

    def on_nav(self, nav: Navigation, *, config: MkDocsConfig, files: Files) -> Navigation:
        r"""
        ### Note which pages there are

        A page can link to each of them. Where the project lists none, folders are called as they
        are.
        """
        self.uris = [file.src_uri for file in files.documentation_pages()]
        if config.nav is None:
            for page in nav.pages:
                if page.file.src_uri in self.of_code:
                    _name_folders(page)
        return nav

    def on_page_markdown(
        self, markdown: str, *, page: Document, config: MkDocsConfig, files: Files
    ) -> str:
        r"""
        ### Leave out what is HTML already

        While the site is served, a page that is as it was isn't converted again.
        """
        self.origin = markdown, self.uris
        if self.kept_html is not None:
            return "" if self.kept_html.begins(markdown, page, files) else markdown
        known = self.html.get(page.file.src_uri)
        return "" if self.serves and known and known[0] == self.origin else markdown

    def on_page_content(
        self, html: str, *, page: Document, config: MkDocsConfig, files: Files
    ) -> str:
        r"""
        ### Put it back, and tell MkDocs of the anchors in the code

        It looks for them in the Markdown, where the code was [put aside](raw_html.py).
        """
        uri = page.file.src_uri
        if self.kept_html is not None:
            html = self.kept_html.ends(html, page, files)
        known = self.html.get(uri)
        if self.serves and known and known[0] == self.origin:
            _, html, page.toc = known
        elif self.serves:
            self.html[uri] = self.origin, html, page.toc
        anchors = page.present_anchor_ids or set()
        page.present_anchor_ids = anchors | {unescape(name) for name in _ID.findall(html)}
        return html

    def on_post_page(self, output: str, *, page: Document, config: MkDocsConfig) -> str:
        r"""
        ### Leave out the indentation of the theme

        It is a fifth of a page of a large package. Within the article it can be code.
        """
        before, opening, rest = output.partition("<article")
        article, closing, after = rest.rpartition("</article>")
        if not closing:
            return output
        return _BREAK.sub("\n", before) + opening + article + closing + _BREAK.sub("\n", after)

    def on_serve(
        self, server: LiveReloadServer, *, config: MkDocsConfig, builder: Callable[[], None]
    ) -> LiveReloadServer:
        r"""
        ### Say which files make the site

        The syntax trees of all sources live as long as the server. To look through them for
        garbage, again and again, would take a good part of each build.
        """
        gc.collect()
        gc.freeze()
        root = self.settings.root
        if self.kept_pages is not None and self.settings.page_models:
            # The first build has waited for the exports; the next ones go on without them.
            self.kept_pages.background = BackgroundExports(
                site.exports(self.settings) / "background", log.warning
            )
            server.watch(str(self.kept_pages.background.stamp))
        packages = [package for package in self.settings.sources if package != "."]
        for path in (*packages, *self.settings.documents, self.settings.results):
            if (root / path).exists():
                server.watch(str(root / path))
        if "." in self.settings.sources:
            # Not all that lies there: a build writes into some of it.
            found = python_files(self.settings)
            for folder in sorted({(root / name).parent for name in found}):
                server.watch(str(folder), recursive=False)
        return server


class KeptFile(File):
    r"""
    ## A file that is written only if it has changed
    """

    kept_site: KeptSite

    @classmethod
    def of(cls, kept_site: KeptSite, config: MkDocsConfig, uri: str, **origin: Any) -> File:
        r"""
        ### A file with a `content`, or with the `abs_src_path` of one
        """
        file = cls.generated(config, uri, **origin)
        assert isinstance(file, cls)
        file.kept_site = kept_site
        return file

    def copy_file(self, dirty: bool = False) -> None:
        r"""
        ### Write it
        """
        origin: object = self._content
        if self.abs_src_path is not None:
            about = os.stat(self.abs_src_path)
            origin = self.abs_src_path, about.st_mtime_ns, about.st_size
        folder = Path(self.dest_dir)
        if not self.kept_site.has(folder, self.dest_uri, origin):
            super().copy_file(dirty)
            self.kept_site.origins[self.dest_uri] = origin


def _name_folders(page: Document) -> None:
    r"""
    MkDocs begins the names of folders with capitals. Those of packages stay as imports have them.
    """
    folders = page.file.src_uri.split("/")[:-1]
    for name, section in zip(reversed(folders), page.ancestors, strict=False):
        section.title = name


def _folder(config: MkDocsConfig) -> Path:
    return Path(config.config_file_path or ".").resolve().parent

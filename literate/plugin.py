r"""
---
title: Plug-in
summary: The one module that knows MkDocs.
---

MkDocs is handed the pages as if they had been written by hand, so its navigation and its check of
links treat them like any other.
"""

import logging
from pathlib import Path
from typing import Literal

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import BasePlugin
from mkdocs.structure.files import File, Files

from literate import repository, site
from literate.lighten import lighten
from literate.problems import LiterateError
from literate.settings import Settings, load

# MkDocs counts what is logged below its own name, and `--strict` fails on it.
log = logging.getLogger(f"mkdocs.plugins.{__name__}")


class LiteratePlugin(BasePlugin):
    r"""
    ## The plug-in

    It has no options of its own: the [settings](settings.py#Settings) are those of the command
    line.
    """

    def on_startup(self, *, command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:
        r"""
        ### Note what MkDocs is asked to do
        """
        self.serves = command == "serve"

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
        return config

    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        r"""
        ### Add the pages and what they need

        A problem on any page stops the build, strict or not: a page that is wrong is not published.
        """
        try:
            loaded = site.load(self.settings)
            written = site.correct_pages(loaded, log.info)
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

    def on_serve(
        self, server: LiveReloadServer, *, config: MkDocsConfig, builder: object
    ) -> LiveReloadServer:
        r"""
        ### Watch the sources
        """
        for path in [*self.settings.sources, *self.settings.documents]:
            server.watch(str(self.settings.root / path))
        return server


def _folder(config: MkDocsConfig) -> Path:
    return Path(config.config_file_path or ".").resolve().parent

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

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import BasePlugin
from mkdocs.structure.files import File, Files

from literate import repository, site
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
        # Not `repo_url`: for an address at GitHub, Material would ask GitHub from every page.
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
        sources = {uri: path for path, uri in loaded.uris.items()}
        for page in written:
            file = File.generated(config, page.uri, content=page.markdown)
            file.edit_uri = sources[page.uri] if config.edit_uri else None
            files.append(file)
            for uri, text in page.files.items():
                files.append(File.generated(config, uri, content=text))
        for uri, text in loaded.search_index.items():
            files.append(File.generated(config, uri, content=text))
        for uri, path in site.assets(self.settings):
            files.append(File.generated(config, uri, abs_src_path=str(path)))
        return files

    def on_serve(
        self, server: LiveReloadServer, *, config: MkDocsConfig, builder: object
    ) -> LiveReloadServer:
        r"""
        ### Watch the sources
        """
        for package in self.settings.sources:
            server.watch(str(self.settings.root / package))
        return server


def _folder(config: MkDocsConfig) -> Path:
    return Path(config.config_file_path or ".").resolve().parent

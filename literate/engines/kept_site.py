r"""
---
title: Kept site
summary: While a site is served, files that are as they were stay where they are.
---

Before each build, MkDocs empties the folder of the site, and then writes thousands of files:
snippets, notebooks, weights. A handful of them have changed, and an author waits for that as long
as for all else. So the folder is taken away before it is emptied, and put back after it.
"""

from collections.abc import Mapping
from pathlib import Path

from literate.site import put


class KeptSite:
    r"""
    ## What the last build has left

    * `paths` are those of all files of the site
    * `origins` says what the files that are ours were made from, by their paths
    """

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.origins: dict[str, object] = {}
        # Another folder of that name is somebody else's.
        self.is_away = False

    def take_away(self, folder: Path) -> None:
        r"""
        ### Before the folder is emptied
        """
        if self.paths and not _aside(folder).exists():
            folder.rename(_aside(folder))
            folder.mkdir()
            self.is_away = True

    def put_back(self, folder: Path) -> None:
        r"""
        ### After that
        """
        if self.is_away:
            folder.rmdir()
            _aside(folder).rename(folder)
            self.is_away = False

    def has(self, folder: Path, path: str, origin: object) -> bool:
        r"""
        ### Is a file there, made from the same?
        """
        return self.origins.get(path) == origin and (folder / path).is_file()

    def put(self, folder: Path, texts: Mapping[str, str]) -> None:
        r"""
        ### Write the texts that are new
        """
        new = {path: text for path, text in texts.items() if not self.has(folder, path, text)}
        put(folder, new)
        self.origins |= new

    def drop_all_but(self, folder: Path, paths: set[str]) -> None:
        r"""
        ### Remove what is no longer part of the site
        """
        for path in self.paths - paths:
            (folder / path).unlink(missing_ok=True)
            self.origins.pop(path, None)
        self.paths = paths


def _aside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}_before")

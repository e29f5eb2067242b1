r"""
---
title: Kept site
summary: Files that are as they were are not written again.
---

Before each build, MkDocs empties the folder of the site, and then writes thousands of files:
snippets, notebooks, weights. A handful of them have changed, and an author waits for that as long
as for all else. So while a site is served, the folder is taken away before it is emptied, and put
back after it. A single build knows nothing of the one before it. It begins with an empty folder,
and [takes from the old one](#SiteBefore) what would be written just so.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from literate.site import put


class KeptSite:
    r"""
    ## The site that is served

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

    def drop(self) -> None:
        r"""
        ### Leave nothing beside the site
        """

    def undo(self) -> None:
        r"""
        ### After a build that was stopped
        """


class SiteBefore(KeptSite):
    r"""
    ## The site of another process

    To make a file takes a file system far longer than to read one and give it another place.

    * `aside` is the folder in which the old site lies while the new one is built
    """

    def __init__(self, aside: Path) -> None:
        super().__init__()
        self.aside = aside
        self.folder: Path | None = None
        # The folders that are there again.
        self.made: set[Path] = set()

    def take_away(self, folder: Path) -> None:
        r"""
        ### Before the folder is emptied

        The folder itself stays, since a server may run in it, and so does what is hidden in it, as
        MkDocs leaves that alone. On another disk nothing can be kept.
        """
        self.drop()
        self.made.clear()
        self.folder = folder
        if folder.is_dir():
            self.aside.mkdir(parents=True, exist_ok=True)
            for path in folder.iterdir():
                if not path.name.startswith("."):
                    try:
                        path.rename(self.aside / path.name)
                    except OSError:
                        return

    def has(self, folder: Path, path: str, origin: object) -> bool:
        r"""
        ### Was this text there? Then it is again
        """
        old = self.aside / path
        content = origin.encode() if isinstance(origin, str) else origin
        try:
            if old.is_symlink() or old.read_bytes() != content:
                return False
            new = folder / path
            if new.parent not in self.made:
                new.parent.mkdir(parents=True, exist_ok=True)
                self.made.add(new.parent)
            old.replace(new)
        except OSError:
            return False
        return True

    def drop(self) -> None:
        r"""
        ### Remove what is left of it
        """
        shutil.rmtree(self.aside, ignore_errors=True)

    def undo(self) -> None:
        r"""
        ### Put back what was there

        What the build has written already stays, where the old site had nothing.
        """
        if self.folder is not None and self.aside.is_dir():
            shutil.copytree(self.aside, self.folder, symlinks=True, dirs_exist_ok=True)
        self.drop()


def _aside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}_before")

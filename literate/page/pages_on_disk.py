r"""
---
title: Pages on disk
summary: A build takes from the last one what was made from the same.
---

Of a thousand pages one has changed, and a build would make all of them again. So each page is kept
in the store of the project: what the tool has written of its source, what it has to say against it,
and the HTML that the engine has made of that. A page that is kept is what a build without it would
make, byte for byte, or it is not taken. Therefore three things must be as they were:

* the *key*, a hash of all that is known before a page is written: its text, its measurement, who
  refers to it, the settings, the tool with its libraries, and which pages and definitions there are
* the texts of the other sources that were looked into while the page was written; nobody has to
  say which, as the sources themselves are [watched](../python/seen.py)
* the file itself, which begins with a hash of the rest: half a file, and one that somebody has
  edited, counts as none

A file is JSON, so that to read it runs nothing.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from literate.page.page import Page
from literate.problems import Problem


def digest(*parts: object) -> str:
    r"""
    ## A hash of several things

    Of their representations, each with its length, so that no two lists give the same bytes.
    """
    made = hashlib.sha256()
    for part in parts:
        text = (part if isinstance(part, str) else repr(part)).encode("utf-8", "surrogatepass")
        made.update(b"%d\n" % len(text))
        made.update(text)
    return made.hexdigest()


class PagesOnDisk:
    r"""
    ## A folder of pages

    * `folder` is where they lie; it is made when there is something to keep
    * `of_all` is the hash of what all pages depend on, and `texts` has a hash of each source
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.of_all = ""
        self.texts: Mapping[str, str] = {}
        self.used: set[str] = set()

    def begin(self, of_all: str, texts: Mapping[str, str]) -> None:
        r"""
        ### What the sources of this build are
        """
        self.of_all = of_all
        self.texts = texts

    def page(self, path: str, own: str) -> Page | None:
        r"""
        ### The page of a source, if it is there

        `own` is the hash of what this page alone depends on.
        """
        kept = self._read(path, digest(self.of_all, own))
        try:
            if any(self.texts.get(other) != text for other, text in kept["seen"].items()):
                return None
            fields = kept["page"]
            problems = tuple(Problem(**problem) for problem in fields.pop("problems"))
            return Page(**fields, problems=problems)
        except (KeyError, TypeError, AttributeError):
            return None

    def keep(self, path: str, own: str, seen: Iterable[str], page: Page) -> None:
        r"""
        ### Keep the page of a source

        Unless it has files that are no text. `seen` are the paths of the sources that were looked
        into.
        """
        if all(isinstance(content, str) for content in page.files.values()):
            texts = {other: self.texts[other] for other in sorted(seen)}
            self._write(path, digest(self.of_all, own), {"seen": texts, "page": asdict(page)})

    def problems(self, path: str, own: str) -> list[Problem] | None:
        r"""
        ### What a source does against the conventions, if that is there
        """
        kept = self._read(f"{path} as judged", digest(self.of_all, own))
        try:
            return [Problem(**problem) for problem in kept["problems"]]
        except (KeyError, TypeError):
            return None

    def keep_problems(self, path: str, own: str, problems: Iterable[Problem]) -> None:
        r"""
        ### Keep that
        """
        key = digest(self.of_all, own)
        self._write(f"{path} as judged", key, {"problems": [*map(asdict, problems)]})

    def html(self, uri: str, made_from: str) -> dict[str, Any] | None:
        r"""
        ### What the engine has made of a page

        `made_from` is the hash of what it made it from.
        """
        return self._read(f"{uri} as HTML", made_from).get("made")

    def keep_html(self, uri: str, made_from: str, made: Mapping[str, Any]) -> None:
        r"""
        ### Keep that
        """
        self._write(f"{uri} as HTML", made_from, {"made": made})

    def drop_others(self) -> None:
        r"""
        ### Remove what this build hasn't asked for

        Pages whose sources are gone.
        """
        if self.folder.is_dir():
            for path in self.folder.iterdir():
                if path.name not in self.used:
                    path.unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        file = self.folder / f"{digest(name)[:32]}.json"
        self.used.add(file.name)
        return file

    def _read(self, name: str, key: str) -> dict[str, Any]:
        try:
            check, _, text = self._file(name).read_text(encoding="utf-8").partition("\n")
            kept = json.loads(text) if check == digest(text) else {}
        except (OSError, ValueError, RecursionError):
            return {}
        return kept if isinstance(kept, dict) and kept.get("key") == key else {}

    def _write(self, name: str, key: str, content: Mapping[str, Any]) -> None:
        r"""
        Beside its place, and then moved there. Where nothing can be kept, nothing is.
        """
        file = self._file(name)
        beside = file.with_suffix(".part")
        try:
            text = json.dumps({"key": key, **content})
            self.folder.mkdir(parents=True, exist_ok=True)
            beside.write_text(f"{digest(text)}\n{text}", encoding="utf-8")
            beside.replace(file)
        except (OSError, TypeError, ValueError):
            return

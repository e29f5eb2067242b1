r"""
---
title: Addresses
summary: Where the links of a note lead when the note has left its file.
---

In a file, `[attention](mha.py#MultiHeadAttention)` leads to the file beside it. A notebook lies
somewhere else, so its links need full addresses: of the page, if the site's is known, else of the
file in the repository. Where neither is known, a link becomes its text: a dead link is worse than
none. A paragraph that is a link to a [figure or a table](../page/exhibit.py) becomes what it
[shows](carried.py).
"""

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol
from urllib.parse import unquote

from literate.page.exhibits_in_notes import Exhibit, alone
from literate.page.links import folder
from literate.python.statements import module_at
from literate.reading.markdown import Target
from literate.reading.notes import Note
from literate.reading.source import Source
from literate.results.records import Result
from literate.settings import Settings
from literate.takeaway.carried import shown
from literate.takeaway.repository import BRANCH

_EXHIBIT = re.compile(r"\.json#(?:figures|tables)\.")
NO_RESULTS: Mapping[str, Result] = {}


class AddressBook(Protocol):
    r"""
    ## What knows where things are

    None is the address of what can't be reached.
    """

    def of_module(self, source: Source, anchor: str = "") -> str | None:
        r"""
        ### The address of a module
        """

    def of_file(self, path: str, anchor: str = "") -> str | None:
        r"""
        ### The address of a file of the repository
        """


@dataclass(frozen=True)
class Addresses:
    r"""
    ## What is known of the web

    * `page` gives the address of the page of a module, by its path
    * `repository` is the address of the repository, without a slash at its end
    * `notebooks` is the folder in the repository that notebooks are in
    * `site` is the address of the site, with a slash at its end
    * `results` is the folder in the repository that results are in
    * `branch` is the one whose notebooks are opened
    """

    page: Callable[[str], str] | None = None
    repository: str | None = None
    notebooks: str = "notebooks"
    site: str | None = None
    results: str = "results"
    branch: str = BRANCH

    @property
    def told(self) -> dict[str, str]:
        r"""
        ### What a notebook says of them in its metadata

        A check builds the notebook again with the same, so it passes on any machine.
        """
        branch = self.branch if self.branch != BRANCH else None
        known = {"repository": self.repository, "site": self.site, "branch": branch}
        return {name: address for name, address in known.items() if address}

    def of_module(self, source: Source, anchor: str = "") -> str | None:
        r"""
        ### The address of a module

        Of its page, or of its file; None if neither is known. The file has no anchors but lines.
        """
        if self.page is not None:
            address = self.page(source.path)
            return f"{address}#{anchor}" if anchor else address
        lines = [definition.line for definition in source.definitions if definition.name == anchor]
        return self.of_file(source.path, f"L{lines[0]}" if lines else anchor)

    def of_file(self, path: str, anchor: str = "") -> str | None:
        r"""
        ### The address of a file of the repository
        """
        above, name = posixpath.split(path)
        # A result has a page, with a place for each value and each table, and none for a cell.
        if self.site and above == self.results and name.endswith(".json"):
            kind, *names = anchor.split(".")
            place = f"{kind}.{names[0]}" if kind == "tables" and names else anchor
            return f"{self.site}{path.removesuffix('.json')}/#{place}".removesuffix("#")
        if self.repository is None:
            return None
        # `HEAD` is the default branch, however it is called.
        address = f"{self.repository}/blob/HEAD/{path}"
        return f"{address}#{anchor}" if anchor else address

    def of_colab(self, notebook: str) -> str | None:
        r"""
        ### The address that opens a notebook in Colab

        None if the repository is not on GitHub, where Colab looks for it.
        """
        place = self._on_github(notebook)
        return place and f"https://colab.research.google.com/github/{place}"

    def of_others(self, notebook: str) -> dict[str, str]:
        r"""
        ### The addresses that open it elsewhere

        By the names of those who run it, who look on GitHub, too.
        """
        place = self._on_github(notebook)
        if place is None:
            return {}
        kaggle = f"https://kaggle.com/kernels/welcome?src=https://github.com/{place}"
        return {"Kaggle": kaggle, "molab": f"https://molab.marimo.io/github/{place}"}

    def _on_github(self, notebook: str) -> str | None:
        github = "https://github.com/"
        if self.repository is None or not self.repository.startswith(github):
            return None
        place = f"blob/{self.branch}/{self.notebooks}/{notebook}"
        return f"{self.repository.removeprefix(github)}/{place}"


def of_site(
    settings: Settings,
    uris: Mapping[str, str],
    url: str,
    repository: str | None,
    branch: str = BRANCH,
) -> Addresses:
    r"""
    ## The addresses of a project

    `uris` are the paths of its pages by those of its sources, `url` is that of its site, and
    `branch` the one that has its notebooks.
    """
    site = posixpath.join(url, "") if url else None
    return Addresses(
        page=(lambda path: posixpath.join(site, folder(uris[path]), "")) if site else None,
        repository=repository,
        notebooks=settings.notebooks,
        site=site,
        results=settings.results,
        branch=branch,
    )


def with_addresses(
    note: Note,
    path: str,
    sources: Mapping[str, Source],
    addresses: AddressBook,
    results: Mapping[str, Result] = NO_RESULTS,
) -> str:
    r"""
    ## The Markdown of a note, for anywhere

    `path` is the file that the note stands in, `sources` are all modules by their names or by their
    paths, and the figures and tables are those of the `results`.
    """

    def of_page(name: str) -> str | None:
        source = _source_of(name, sources)
        return addresses.of_module(source) if source else None

    def exhibited(exhibit: Exhibit) -> str:
        file, _, anchor = exhibit.target.partition("#")
        file = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
        if file not in results:
            return ""
        return shown(exhibit, results[file], unquote(anchor), of_page) or ""

    text = "\n".join(note.texts)
    ends = list(accumulate((len(line) + 1 for line in note.texts), initial=0))
    changed = [
        (ends[first], ends[last] - 1, exhibited(exhibit))
        for first, last, exhibit in alone(note)
        if _EXHIBIT.search(exhibit.target)
    ]
    exhibits = [(first, last) for first, last, _ in changed]
    for target in note.parsed.targets:
        if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//", target.text):
            continue
        file, _, anchor = target.text.partition("#")
        linked = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
        if source := _source_of(linked, sources):
            address = addresses.of_module(source, anchor)
        else:
            address = addresses.of_file(linked, anchor)
        # It is there already, as what it shows.
        if any(first <= target.start < last for first, last in exhibits):
            continue
        if address is None:
            changed += _without_link(text, target)
        else:
            changed.append((target.start, target.end, address))
    # From the end, so that the places before stay right.
    for start, end, instead in sorted(changed, reverse=True):
        text = text[:start] + instead + text[end:]
    return text.strip("\n")


def _source_of(path: str, sources: Mapping[str, Source]) -> Source | None:
    r"""
    The source of a path. No other one is looked into.
    """
    if not path.endswith(".py"):
        return None
    name = path if path in sources else module_at(path, sources)
    return sources[name] if name else None


def _without_link(text: str, target: Target) -> list[tuple[int, int, str]]:
    r"""
    Takes away the brackets around the text of a link and all that follows them. The line that
    defines a reference, `[name]: target`, goes as a whole.
    """
    if target.after is None:
        line_end = text.find("\n", target.end)
        first = text.rfind("\n", 0, target.start) + 1
        return [(first, len(text) if line_end < 0 else line_end, "")]
    mark = target.opening - target.is_image
    return [(target.closing, target.after, ""), (mark, target.opening + 1, "")]

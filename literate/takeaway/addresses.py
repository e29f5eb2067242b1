r"""
---
title: Addresses
summary: Where the links of a note lead when the note has left its file.
---

In a file, `[attention](mha.py#MultiHeadAttention)` leads to the file beside it. A notebook lies
somewhere else, so its links need full addresses: of the page, if the site's is known, else of the
file in the repository. Where neither is known, a link becomes its text: a dead link is worse than
none. And a paragraph that is a link to a [figure or a table](../page/exhibit.py) goes, for its text
is nothing without it.
"""

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

from literate.page.exhibit import alone
from literate.python.statements import module_name
from literate.reading.markdown import Target
from literate.reading.notes import Note
from literate.reading.source import Source
from literate.takeaway.repository import BRANCH

_EXHIBIT = re.compile(r"\.json#(?:figures|tables)\.")


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

    * `page` gives the address of the page of a module
    * `repository` is the address of the repository, without a slash at its end
    * `notebooks` is the folder in the repository that notebooks are in
    """

    page: Callable[[str], str] | None = None
    repository: str | None = None
    notebooks: str = "notebooks"

    def of_module(self, source: Source, anchor: str = "") -> str | None:
        r"""
        ### The address of a module

        Of its page, or of its file; None if neither is known. The file has no anchors but lines.
        """
        if self.page is not None:
            address = self.page(module_name(source.path))
            return f"{address}#{anchor}" if anchor else address
        lines = [definition.line for definition in source.definitions if definition.name == anchor]
        return self.of_file(source.path, f"L{lines[0]}" if lines else anchor)

    def of_file(self, path: str, anchor: str = "") -> str | None:
        r"""
        ### The address of a file of the repository
        """
        if self.repository is None:
            return None
        address = f"{self.repository}/blob/{BRANCH}/{path}"
        return f"{address}#{anchor}" if anchor else address

    def of_colab(self, notebook: str) -> str | None:
        r"""
        ### The address that opens a notebook in Colab

        None if the repository is not on GitHub, where Colab looks for it.
        """
        github = "https://github.com/"
        if self.repository is None or not self.repository.startswith(github):
            return None
        name = self.repository.removeprefix(github)
        path = f"{self.notebooks}/{notebook}"
        return f"https://colab.research.google.com/github/{name}/blob/{BRANCH}/{path}"


def with_addresses(
    note: Note, path: str, sources: Mapping[str, Source], addresses: AddressBook
) -> str:
    r"""
    ## The Markdown of a note, for anywhere

    `path` is the file that the note stands in, `sources` are all modules by their names.
    """
    by_path = {source.path: source for source in sources.values()}
    text = "\n".join(note.texts)
    changed: list[tuple[int, int, str]] = []
    ends = list(accumulate((len(line) + 1 for line in note.texts), initial=0))
    exhibits = [
        (ends[first], ends[last] - 1)
        for first, last, exhibit in alone(note)
        if _EXHIBIT.search(exhibit.target)
    ]
    for target in note.parsed.targets:
        if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//", target.text):
            continue
        file, _, anchor = target.text.partition("#")
        linked = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
        if linked in by_path:
            address = addresses.of_module(by_path[linked], anchor)
        else:
            address = addresses.of_file(linked, anchor)
        within = [(first, last) for first, last in exhibits if first <= target.start < last]
        if address is None and within:
            changed.append((*within[0], ""))
        elif address is None:
            changed += _without_link(text, target)
        else:
            changed.append((target.start, target.end, address))
    # From the end, so that the places before stay right.
    for start, end, instead in sorted(changed, reverse=True):
        text = text[:start] + instead + text[end:]
    return text.strip("\n")


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

r"""
---
title: Links of names
summary: A name between backticks leads to what it means.
---

What a name in a note [means](../python/meanings.py) is a question of its file; here it gets an
address. That of a definition is on its page. What others have written is documented elsewhere:
Python and PyTorch by the rules of their sites, other projects where the settings name their
[inventories](inventories.py). A name that has no address stays as it is, and so does one that the
note is about.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from literate.page.escaping import literal
from literate.page.links import Links
from literate.python import pytorch, standard_library
from literate.python.meanings import Meanings, Target
from literate.reading.rows import Row, rows
from literate.reading.source import Source


@dataclass(frozen=True)
class NamedLinks:
    r"""
    ## Where names lead

    `documented` has the addresses of other projects' names.
    """

    links: Links
    meanings: Meanings
    documented: Mapping[str, str]

    def leads(self, source: Source) -> list[str]:
        r"""
        ### The addresses of all names in its notes
        """
        return [
            self.address(row.note.name(span.line, span.content), source, row)
            for row in rows(source)
            if row.note
            for span in row.note.parsed.spans
            if span.kind == "code"
        ]

    def address(self, code: str, source: Source, row: Row) -> str:
        r"""
        ### The address of what inline code names

        With a point in front, any name that ends so. For HTML among Markdown. Empty, if there is
        none.
        """
        meant = self._meant(code, source, row)
        if meant is None:
            return ""
        if isinstance(meant, tuple):
            within = row.documents or row.within
            path, name = meant
            is_itself = path == source.path and name == (within.name if within else "")
            address = "" if is_itself else self.links.address(source.path, path, name)
        else:
            address = self.documented.get(meant) or _by_rule(meant) or ""
        # Within a tag `_` marks no emphasis.
        return literal(address).replace("&#95;", "_")

    def words(self, code: str, source: Source, row: Row) -> str:
        r"""
        ### What is shown of a name

        A point in front of the end of a name of the package is a mark of Sphinx, and isn't shown.
        """
        is_ours = code.startswith(".") and isinstance(self._meant(code, source, row), tuple)
        return code.removeprefix(".") if is_ours else code

    def _meant(self, code: str, source: Source, row: Row) -> Target | str | None:
        name = code.removeprefix(".")
        meant = self.meanings.of(name, source, row.documents or row.within)
        if code != name and not isinstance(meant, tuple):
            meant = self.meanings.ending_with(name.removesuffix("()")) or meant
        return meant


class NamesOfPage:
    r"""
    ## Where the names in the notes of one page lead

    A note that says a name again makes no link of it again.
    """

    def __init__(self, named_links: NamedLinks, source: Source) -> None:
        self._links, self._source = named_links, source
        self._led: set[tuple[int, str]] = set()

    def address(self, code: str, row: Row) -> str:
        r"""
        ### Where a name leads that a note says for the first time

        Empty, if it leads nowhere.
        """
        place = row.lines[0].number, code
        if place in self._led:
            return ""
        address = self._links.address(code, self._source, row)
        if address:
            self._led.add(place)
        return address

    def words(self, code: str, row: Row) -> str:
        r"""
        ### What is shown of a name
        """
        return self._links.words(code, self._source, row)


def _by_rule(name: str) -> str | None:
    of_torch = name.partition(".")[0] == "torch"
    return pytorch.address(name) if of_torch else standard_library.address(name)

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

import builtins
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from literate.page.escaping import literal
from literate.page.links import Links
from literate.python import pytorch, standard_library
from literate.python.meanings import Meanings, Target
from literate.python.statements import take_apart
from literate.reading.inline_marks import IN_WORDS, OF_PYTHON
from literate.reading.rows import Row, rows
from literate.reading.source import Source
from literate.reading.types_in_notes import types_of


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
        noted = [(row, row.note) for row in rows(source) if row.note]
        in_code = [
            self.address(note.name(span.line, span.content), source, row)
            for row, note in noted
            for span in note.parsed.spans
            if span.kind == "code"
        ]
        types = (
            self.address_of_type(name, source, row)
            for row, note in noted
            for name in types_of(note)
        )
        return [*in_code, *types]

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

    def address_of_type(self, name: str, source: Source, row: Row) -> str:
        r"""
        ### The address of what a type names

        Words are no types, even where a function or a module is called like them.
        """
        is_word = name.islower() and "." not in name
        if is_word and not self._is_class(self._meant(name, source, row)):
            return ""
        return self.address(name, source, row)

    def words(self, code: str, source: Source, row: Row) -> str:
        r"""
        ### What is shown of a name

        A point in front of the end of a name of the package, or of a name of the file, is a mark of
        Sphinx, and isn't shown.
        """
        name = code.removeprefix(".")
        if name == code:
            return code
        module = source.once(take_apart)
        is_of_file = name in module.imports or name in module.defined
        is_ours = is_of_file or isinstance(self._meant(code, source, row), tuple)
        return name if is_ours else code

    def _is_class(self, meant: Target | str | None) -> bool:
        r"""
        Of what others have written, only the names of modules are known to be none.
        """
        if isinstance(meant, tuple):
            path, name = meant
            known = self.links.pages[path].definitions
            return any((one.name, one.kind) == (name, "class") for one in known)
        is_built_in = isinstance(getattr(builtins, meant or "", None), type)
        return is_built_in or "." in (meant or "")

    def _meant(self, code: str, source: Source, row: Row) -> Target | str | None:
        code = code.removeprefix(IN_WORDS)
        # A file of its own may be called like a module of Python.
        if code.startswith(OF_PYTHON):
            name = code.removeprefix(OF_PYTHON)
            return self._meant(name, source, row) or name.removesuffix("()")
        name = code.removeprefix(".")
        meant = self.meanings.of(name, source, row.documents or row.within)
        if code != name and not isinstance(meant, tuple):
            meant = self.meanings.ending_with(name.removesuffix("()")) or meant
        return meant


class NamesOfPage:
    r"""
    ## Where the names in the notes of one page lead

    A note that says a name again makes no link of it again, but for a list of arguments: its items
    are read one by one.
    """

    def __init__(self, named_links: NamedLinks, source: Source) -> None:
        self._links, self._source = named_links, source
        self._led: set[tuple[int, int, str]] = set()

    def address(self, code: str, row: Row, item: int = 0) -> str:
        r"""
        ### Where a name leads that a note says for the first time

        Or an `item` of it. Empty, if it leads nowhere.
        """
        return self._once(code, row, item, self._links.address)

    def address_of_type(self, name: str, row: Row, item: int = 0) -> str:
        r"""
        ### Where a name in a type leads, if the note or the item says it for the first time
        """
        return self._once(name, row, item, self._links.address_of_type)

    def words(self, code: str, row: Row) -> str:
        r"""
        ### What is shown of a name
        """
        return self._links.words(code, self._source, row)

    def _once(
        self, name: str, row: Row, item: int, address_of: Callable[[str, Source, Row], str]
    ) -> str:
        place = row.lines[0].number, item, name
        address = "" if place in self._led else address_of(name, self._source, row)
        if address:
            self._led.add(place)
        return address


def _by_rule(name: str) -> str | None:
    of_torch = name.partition(".")[0] == "torch"
    return pytorch.address(name) if of_torch else standard_library.address(name)

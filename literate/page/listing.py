r"""
---
title: Listing
summary: The code of a row as HTML, with numbers, links and measured shapes.
---

Each line is an element with the number of the line as its id. What the tool adds to a line, its
number and the [shape](shapes.py) that is new on it, are attributes that the style sheet shows: so
the text of the element is exactly the line, and copied code is nothing but code.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from literate.measuring.measure import Measurement
from literate.page import highlight
from literate.page.links import Links
from literate.page.shapes import PageShapes
from literate.page.templates import CODE
from literate.python import pytorch
from literate.python.references import Network
from literate.reading.rows import Row
from literate.reading.source import Source

# So many characters of code fit the screen of a phone.
NARROW = 40

# A page must not grow with the site.
MOST_USES = 12


@dataclass(frozen=True)
class Uses:
    r"""
    ## Where a definition is used

    * `places` are labels and addresses, as HTML
    * `more` is the number of places that are left out
    """

    places: tuple[tuple[str, str], ...]
    more: int


@dataclass(frozen=True)
class CodeView:
    r"""
    ## The code of a row, as the template puts it down

    * `lines` are its lines as HTML
    * `legend` has the letters of the shapes with their names, below the first code that has a shape
    * `uses` is where the definition is used that the row begins with
    """

    lines: str
    legend: Mapping[str, str]
    uses: Uses | None


NO_CODE = CodeView("", {}, None)


class Listing:
    r"""
    ## The code of a page
    """

    def __init__(
        self, source: Source, links: Links, network: Network, measurement: Measurement | None
    ) -> None:
        self.source = source
        self.links = links
        self.network = network
        self.shapes = PageShapes(source, measurement) if measurement else None
        self._needs_legend = bool(self.shapes and self.shapes.legend)

    def shown(self, rows: Sequence[Row], anchored: str) -> CodeView:
        r"""
        ### The code of a row

        With that of rows which are shown inside it. The definition named `anchored` has its anchor
        in the note; the empty name is none.
        """
        lines = [self.of(rows[0], anchored), *map(self.of, rows[1:])]
        uses = self.uses(anchored) if anchored else None
        return CodeView("\n".join(lines), self.legend(rows[0]), uses)

    def of(self, row: Row, anchored: str = "", page: str = "") -> str:
        r"""
        ### The code of a row

        The definition named `anchored` has its anchor in the note. Of several with one name, as a
        property and its setter, the first one has it. If the code is shown on another page, the
        numbers of its lines lead to its own, which is at the address `page`.
        """
        first = {
            definition.name: definition.line for definition in reversed(self.source.definitions)
        }
        names = {line: html.escape(name) for name, line in first.items() if name != anchored}
        shown = []
        for line in row.code:
            if line.kind == "blank":
                shown.append(CODE.line())
                continue
            name = "" if page else names.get(line.number, "")
            shown.append(self.line(line.number, name, page))
        return "\n".join(shown)

    def line(self, number: int, name: str = "", page: str = "") -> str:
        r"""
        ### One line of code
        """
        shape = self.shapes.lines.get(number) if self.shapes else None
        indent = indentation(self.source.lines[number - 1].text, shape.short if shape else "")
        code = self._lines[number - 1]
        return CODE.line(number, name, self._shape(number), code, indent, page)

    def legend(self, row: Row) -> dict[str, str]:
        r"""
        ### The letters of the shapes, with their names

        They stand below the first code that has a shape, so for all other rows there are none.
        """
        shapes = self.shapes
        if not shapes or not self._needs_legend:
            return {}
        if not any(line.number in shapes.lines for line in row.code):
            return {}
        self._needs_legend = False
        return {letter: html.escape(name) for letter, name in shapes.legend.items()}

    def uses(self, name: str) -> Uses:
        r"""
        ### Where a definition is used

        Once for each definition that uses it, at the first line that does.
        """
        path = self.source.path
        addresses: dict[str, str] = {}
        for user, reference in self.network.used.get((path, name), ()):
            within = self.links.pages[user].definition_at(reference.line)
            module = self.network.short_names[self.links.pages[user].module]
            parts = [module if user != path else "", within.name if within else ""]
            label = ".".join(part for part in parts if part) or "the module"
            address = self.links.address(path, user, f"L{reference.line}")
            addresses.setdefault(html.escape(label), html.escape(address))
        places = tuple(addresses.items())
        return Uses(places[:MOST_USES], max(0, len(places) - MOST_USES))

    @cached_property
    def _lines(self) -> list[str]:
        return highlight.lines(self.source, self._addresses())

    def _addresses(self) -> dict[tuple[int, int], str]:
        r"""
        Where the names in the code lead to, by line and column.
        """
        source = self.source
        documented = {
            (line, source.characters(line, column)): address
            for line, column, address in source.once(pytorch.addresses)
        }
        return documented | {
            (reference.line, reference.column): self.links.address(
                source.path, reference.path, reference.target
            )
            for reference in self.network.references[source.path]
        }

    def _shape(self, number: int) -> str:
        shape = self.shapes.lines.get(number) if self.shapes else None
        if shape is None:
            return ""
        full = html.escape(shape.full).replace("\n", "&#10;")
        return CODE.shape(html.escape(shape.short), full)


def indentation(text: str, shape: str = "") -> int:
    r"""
    ## How far a line that may need two lines of a narrow column is indented

    The `shape` stands on the same line. A line that fits, with its shape, needs none: 0.
    """
    return len(text) - len(text.lstrip()) if len(text.rstrip()) + len(shape) > NARROW else 0

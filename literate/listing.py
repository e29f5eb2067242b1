r"""
---
title: Listing
summary: The code of a row as HTML, with numbers, links and measured shapes.
---

Each line is an element with the number of the line as its id. What the tool adds to a line, its
number and the shapes that were measured on it, are attributes that the style sheet shows: so the
text of the element is exactly the line, whoever copies it.
"""

import html
import posixpath
from dataclasses import dataclass
from functools import cached_property

from literate import highlight, pytorch
from literate.links import Links
from literate.measure import Measurement, Tensor
from literate.references import Network
from literate.rows import Row
from literate.source import Source

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
        self.measurement = measurement

    def of(self, row: Row, anchored: str) -> str:
        r"""
        ### The code of a row

        The definition named `anchored` has its anchor in the note.
        """
        names = {one.line: one.name for one in self.source.definitions if one.name != anchored}
        shown = []
        for line in row.code:
            number = line.number
            if line.kind == "blank":
                shown.append('<span class="line"></span>')
                continue
            shape = self._shape(number)
            attribute = f' data-shape="{html.escape(shape)}"' if shape else ""
            anchor = f'<a id="{html.escape(names[number])}"></a>' if number in names else ""
            link = f'<a href="#L{number}" data-line="{number}" aria-label="Line {number}"></a>'
            shown.append(
                f'<span class="line" id="L{number}"{attribute}>{anchor}{link}'
                f"<span>{self._lines[number - 1]}</span></span>"
            )
        return "\n".join(shown)

    def uses(self, name: str) -> Uses:
        r"""
        ### Where a definition is used

        Once for each definition that uses it, at the first line that does.
        """
        path = self.source.path
        found: dict[str, str] = {}
        for user, one in self.network.used.get((path, name), ()):
            within = self.links.pages[user].definition_at(one.line)
            stem = posixpath.splitext(posixpath.basename(user))[0]
            parts = [stem if user != path else "", within.name if within else ""]
            label = ".".join(part for part in parts if part) or "the module"
            address = self.links.address(path, user, f"L{one.line}")
            found.setdefault(html.escape(label), html.escape(address))
        places = tuple(found.items())
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
            (one.line, one.column): self.links.address(source.path, one.path, one.target)
            for one in self.network.references[source.path]
        }

    def _shape(self, number: int) -> str:
        r"""
        One tensor needs no name, the line names it; several do. A result has an arrow.
        """
        tensors = self.measurement.lines.get(number, ()) if self.measurement else ()
        by_name: dict[str, list[str]] = {}
        for tensor in tensors:
            shapes = by_name.setdefault(tensor.name, [])
            if _axes(tensor) not in shapes:
                shapes.append(_axes(tensor))
        parts = []
        for name, shapes in by_name.items():
            is_result = name.startswith(("return", "yield"))
            label = f"→{name.removeprefix('return').removeprefix('yield')}" if is_result else name
            alone = len(by_name) == 1 and not is_result
            parts.append(" or ".join(shapes) if alone else f"{label} {' or '.join(shapes)}")
        return ", ".join(parts)


def _axes(tensor: Tensor) -> str:
    return f"[{', '.join(tensor.axes)}]"

r"""
---
title: Recorded Results
summary: What a program measured, with the run that it came from.
---

A number that a run produced is never typed into a note alone. The program that measures writes it
to a file below `results/`, with its own command, the day, the machine, and what it measured. A note
links to it by its dotted name:

```
The loss is [1.53](../results/trial.json#values.loss) nats.

[Loss while training](../results/trial.json#figures.loss)
```

The first is a number that is compared with the file whenever the page is written. The second, a
paragraph of its own, becomes the figure. Both are ordinary links for a reader of the repository.
"""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from literate.results.pictures import digest, of_chart

# A sentence that lists more names than this lists none of them.
MOST_NAMES = 8


class UnknownResult(Exception):
    r"""
    ## A name that the file does not have

    Its text says what there is.
    """


@dataclass(frozen=True)
class Column:
    r"""
    ## A column of a table

    `digits` are those behind the point; None shows six digits of a number in all.
    """

    name: str
    title: str
    unit: str = ""
    digits: int | None = None


@dataclass(frozen=True)
class Table:
    r"""
    ## A table

    Each row has a value, or none, for each column. If the reader's browser can do again what a
    model did, `live` names the graph, and says how many bytes are fetched for it.
    """

    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Any], ...]
    live: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    r"""
    ## A figure

    * `chart` are the lines of a chart and its axes, empty for any other picture
    * `drawn` is the SVG of such a picture, which the program has drawn that made the result
    * `name` makes the ids of a chart its own, and `store` is where charts are kept
    """

    title: str
    name: str
    chart: Mapping[str, Any] = field(default_factory=dict)
    drawn: str = ""
    store: Path | None = field(default=None, compare=False)

    @property
    def picture(self) -> str:
        r"""
        ### Its SVG

        A [chart](pictures.py#of_chart) is drawn when it is asked for.
        """
        return of_chart(self.chart, self.name, self.store) if self.chart else self.drawn

    @property
    def digest(self) -> str:
        r"""
        ### What tells it from any other figure

        By its numbers, however they are drawn; by its shapes, if there are no numbers.
        """
        return digest(json.dumps(self.chart, sort_keys=True) if self.chart else self.drawn)


def page_of(path: str) -> str:
    r"""
    ## The page of a result
    """
    return f"{posixpath.splitext(path)[0]}.md"


@dataclass(frozen=True)
class Result:
    r"""
    ## What one run found

    * `path` is the file, from the root of the project
    * `command` is what was run, and `made` the day
    * `machine` says what it ran on
    * `of` is the module that measures, and `sources` what it [came by](made_of.py) then
    * `verified` tells of [changes](made_of.py) since then that were shown to change nothing
    * `text` is all of the file
    """

    path: str
    title: str
    command: str
    made: str
    machine: Mapping[str, str | int | float | None]
    of: str
    sources: Mapping[str, str]
    values: Mapping[str, Any]
    tables: Mapping[str, Table]
    figures: Mapping[str, Figure]
    text: str = field(repr=False)
    verified: Sequence[Mapping[str, Any]] = ()

    @property
    def uri(self) -> str:
        r"""
        ### Where its page goes on the site
        """
        return page_of(self.path)

    @property
    def exhibits(self) -> list[str]:
        r"""
        ### The dotted names of its tables and figures
        """
        return [f"tables.{name}" for name in self.tables] + [
            f"figures.{name}" for name in self.figures
        ]

    def find(self, dotted: str) -> tuple[str, Any]:
        r"""
        ### What a dotted name means

        Returns the part of the [page of the result](../page/result_pages.py#page_of) that shows it,
        and the thing itself: a number, a text, a [table](#Table), a [figure](#Figure). Raises
        [UnknownResult](#UnknownResult).
        """
        kind, _, rest = dotted.partition(".")
        if kind == "values":
            return f"values.{rest}", self._value(self.values, "values", rest)
        if kind == "figures":
            return f"figures.{rest}", self._one_of(self.figures, "figures", rest)
        if kind != "tables":
            raise UnknownResult(f"no `{dotted}`; it has {self._parts()}.")
        for name, table in self.tables.items():
            if rest == name:
                return f"tables.{name}", table
            if rest.startswith(f"{name}."):
                return f"tables.{name}", self._cell(table, name, rest.removeprefix(f"{name}."))
        return "", self._one_of(self.tables, "tables", rest)

    def _parts(self) -> str:
        parts = [name for name, _ in leaves(self.values, "values.")]
        return listed([*parts, *self.exhibits])

    def _one_of(self, items: Mapping[str, Any], kind: str, name: str) -> Any:
        if name in items:
            return items[name]
        raise UnknownResult(f"no `{kind}.{name}`; its {kind} are {listed(items)}.")

    def _value(self, values: Mapping[str, Any], within: str, rest: str) -> Any:
        for name, value in values.items():
            if rest == name and not isinstance(value, Mapping):
                return value
            if rest.startswith(f"{name}.") and isinstance(value, Mapping):
                return self._value(value, f"{within}.{name}", rest.removeprefix(f"{name}."))
        known = listed([name for name, _ in leaves(values)])
        raise UnknownResult(f"no `{within}.{rest}`; its values there are {known}.")

    def _cell(self, table: Table, name: str, rest: str) -> Any:
        first = table.columns[0].name
        rows = [row for row in table.rows if rest.startswith(f"{row.get(first)}.")]
        if not rows:
            known = listed([str(row.get(first)) for row in table.rows])
            raise UnknownResult(f"no row for `{rest}` in `tables.{name}`; its rows are {known}.")
        for row in rows:
            column = rest.removeprefix(f"{row.get(first)}.")
            if row.get(column) is not None:
                return row[column]
        columns = listed([column.name for column in table.columns])
        raise UnknownResult(f"no `{rest}` in `tables.{name}`; its columns are {columns}.")


def leaves(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    r"""
    ## Values by their dotted names

    `before` stands before each name.
    """
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def listed(names: Sequence[str] | Mapping[str, Any]) -> str:
    r"""
    ## Names for a sentence
    """
    if not names:
        return "none"
    shown = [f"`{name}`" for name in list(names)[:MOST_NAMES]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def machine(result: Result) -> str:
    r"""
    ## The machine, in a few words
    """
    told = result.machine
    cores = told.get("cores")
    words = [
        " ".join(re.sub(r"\((?:R|TM)\)", " ", str(told.get("processor") or "")).split()),
        f"{cores} core{'' if cores == 1 else 's'}" if cores else None,
        told.get("accelerator"),
        f"PyTorch {told['torch']}" if told.get("torch") else None,
    ]
    return ", ".join(str(word) for word in words if word)

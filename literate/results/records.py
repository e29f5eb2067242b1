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
import math
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from literate.problems import LiterateError, Problem

SCHEMA = 1
# A sentence that lists more names than this lists none of them.
MOST_NAMES = 8
# “1.53”, “12,345”, “+3”, “1.2e-5”, with any of the minus signs.
_NUMBER = re.compile(
    r"(?<![\w-])[-+−]?(?:\d{1,3}(?:[,\u202f\u2009]\d{3})+|\d+)(?:\.\d+)?(?:e[-+−]?\d+)?"
)


class UnknownResult(Exception):
    r"""
    ## A name that the file does not have

    Its text says what there is.
    """


class _Wrong(Exception):
    r"""
    What makes a file none of results.
    """


@dataclass(frozen=True)
class Column:
    r"""
    ## A column of a table

    `digits` are those behind the point, or None to show what there are.
    """

    name: str
    title: str
    unit: str = ""
    digits: int | None = None


@dataclass(frozen=True)
class Table:
    r"""
    ## A table

    Each row has a value, or none, for each column.
    """

    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Figure:
    r"""
    ## A figure

    An SVG, which the program has drawn that made the result. The numbers that it was drawn from
    stand beside it in the file.
    """

    title: str
    picture: str


@dataclass(frozen=True)
class Result:
    r"""
    ## What one run found

    * `path` is the file, from the root of the project
    * `command` is what was run, and `made` the day
    * `machine` says what it ran on, and `sources` the [fingerprint](fingerprints.py) of each file
      that was measured
    * `text` is all of the file
    """

    path: str
    title: str
    command: str
    made: str
    machine: Mapping[str, str | int | float | None]
    sources: Mapping[str, str]
    values: Mapping[str, Any]
    tables: Mapping[str, Table]
    figures: Mapping[str, Figure]
    text: str = field(repr=False)

    @property
    def uri(self) -> str:
        r"""
        ### Where its page goes on the site
        """
        return f"{posixpath.splitext(self.path)[0]}.md"

    @property
    def exhibits(self) -> list[str]:
        r"""
        ### The dotted names of its tables and figures
        """
        tables = [f"tables.{name}" for name in self.tables]
        return tables + [f"figures.{name}" for name in self.figures]

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
        return _listed([*parts, *self.exhibits])

    def _one_of(self, found: Mapping[str, Any], kind: str, name: str) -> Any:
        if name in found:
            return found[name]
        raise UnknownResult(f"no `{kind}.{name}`; its {kind} are {_listed(found)}.")

    def _value(self, values: Mapping[str, Any], within: str, rest: str) -> Any:
        for name, value in values.items():
            if rest == name and not isinstance(value, Mapping):
                return value
            if rest.startswith(f"{name}.") and isinstance(value, Mapping):
                return self._value(value, f"{within}.{name}", rest.removeprefix(f"{name}."))
        known = _listed([name for name, _ in leaves(values)])
        raise UnknownResult(f"no `{within}.{rest}`; its values there are {known}.")

    def _cell(self, table: Table, name: str, rest: str) -> Any:
        first = table.columns[0].name
        rows = [row for row in table.rows if rest.startswith(f"{row.get(first)}.")]
        if not rows:
            known = _listed([str(row.get(first)) for row in table.rows])
            raise UnknownResult(f"no row for `{rest}` in `tables.{name}`; its rows are {known}.")
        for row in rows:
            column = rest.removeprefix(f"{row.get(first)}.")
            if row.get(column) is not None:
                return row[column]
        columns = _listed([one.name for one in table.columns])
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


def _listed(names: Sequence[str] | Mapping[str, Any]) -> str:
    shown = [f"`{name}`" for name in list(names)[:MOST_NAMES]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "") if names else "none"


def read(root: Path, folder: str) -> dict[str, Result]:
    r"""
    ## Read the results of a project

    By the paths of their files, from the root. Raises a
    [LiterateError](../problems.py#LiterateError) with the problems of all files that are none of
    results.
    """
    found: dict[str, Result] = {}
    problems: list[Problem] = []
    for file in sorted((root / folder).glob("*.json")):
        path = file.relative_to(root).as_posix()
        try:
            found[path] = parse(file.read_bytes(), path)
        except LiterateError as error:
            problems += error.problems
    if problems:
        raise LiterateError(problems)
    return found


def parse(data: bytes, path: str) -> Result:
    r"""
    ## Read a file of results

    Raises a [LiterateError](../problems.py#LiterateError) if it is none.
    """
    line = 1
    try:
        text = data.decode()
        content = json.loads(text, parse_constant=_refuse)
        return _result(content, path, text)
    except json.JSONDecodeError as error:
        line, sentence = error.lineno, f"is not JSON: {error.msg}."
    except UnicodeDecodeError as error:
        line, sentence = data.count(b"\n", 0, error.start) + 1, "is not UTF-8."
    except RecursionError:
        sentence = "is nested too deeply."
    except _Wrong as error:
        sentence = str(error)
    raise LiterateError([Problem(path, line, sentence)])


def _refuse(constant: str) -> None:
    raise _Wrong(f"holds {constant}, which is no number of JSON.")


def _result(content: Any, path: str, text: str) -> Result:
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise _Wrong(f"is no file of results: it has no `schema` that is {SCHEMA}.")
    sources = _get(content, "sources", dict, "")
    for name, known in sources.items():
        outside = name.startswith("/") or ".." in name.split("/")
        if outside or not isinstance(known, str):
            raise _Wrong(f"`sources` maps paths of the project to fingerprints; `{name}` is none.")
    made = _get(content, "made", str, "")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", made):
        raise _Wrong(f"`made` is a day such as 2026-11-21, not `{made}`.")
    values = _get(content, "values", dict, "", {})
    _check_values(values, "values")
    tables = _get(content, "tables", dict, "", {})
    figures = _get(content, "figures", dict, "", {})
    command = _get(content, "command", str, "")
    return Result(
        path=path,
        title=_get(content, "title", str, ""),
        command=command,
        made=made,
        machine=_get(content, "machine", dict, ""),
        sources=sources,
        values=values,
        tables={name: _table(one, f"tables.{name}") for name, one in tables.items()},
        figures={name: _figure(one, f"figures.{name}", command) for name, one in figures.items()},
        text=text,
    )


_MISSING: Any = object()
_KINDS = {str: "a text", dict: "an object", list: "a list", int: "a whole number"}


def _get(content: Any, name: str, kind: type, place: str, missing: Any = _MISSING) -> Any:
    r"""
    A field of an object; `place` is the dotted name of the object.
    """
    if not isinstance(content, dict):
        raise _Wrong(f"`{place}` is not an object.")
    value = content.get(name, missing)
    if value is missing and missing is not _MISSING:
        return missing
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _Wrong(f"`{f'{place}.{name}'.lstrip('.')}` is not {_KINDS[kind]}.")
    return value


def _check_values(values: Mapping[str, Any], place: str) -> None:
    for name, value in values.items():
        if isinstance(value, Mapping):
            _check_values(value, f"{place}.{name}")
        elif not _is_cell(value):
            raise _Wrong(f"`{place}.{name}` is neither a number nor a text.")


def _is_cell(value: Any) -> bool:
    return value is None or isinstance(value, str | bool) or _is_number(value)


def _is_number(value: Any) -> bool:
    # A file may hold 1e999.
    is_one = isinstance(value, int | float) and not isinstance(value, bool)
    return is_one and abs(value) < 1e300 and math.isfinite(value)


def _table(content: Any, place: str) -> Table:
    columns = []
    for index, one in enumerate(_get(content, "columns", list, place)):
        at = f"{place}.columns[{index}]"
        name = _get(one, "name", str, at)
        digits = _get(one, "digits", int, at, None)
        if digits is not None and not 0 <= digits <= 12:
            raise _Wrong(f"`{at}.digits` is not from 0 to 12.")
        title, unit = _get(one, "title", str, at, name), _get(one, "unit", str, at, "")
        columns.append(Column(name, title, unit, digits))
    if not columns:
        raise _Wrong(f"`{place}` has no column.")
    names = [one.name for one in columns]
    rows = _get(content, "rows", list, place)
    for index, row in enumerate(rows):
        at = f"{place}.rows[{index}]"
        if not isinstance(row, dict):
            raise _Wrong(f"`{at}` is not an object.")
        for name, value in row.items():
            if name not in names:
                raise _Wrong(f"`{at}` has `{name}`, which is no column; they are {_listed(names)}.")
            if not _is_cell(value):
                raise _Wrong(f"`{at}.{name}` is neither a number nor a text.")
    return Table(tuple(columns), tuple(rows))


# What an SVG needs that only shows something: no script, no handler, nothing from elsewhere.
_NOT_IN_PICTURES = re.compile(
    r"<(script|foreignObject|style)|\son\w+=|href=[\"'](?!#)|url\((?!#)", re.I
)


def _figure(content: Any, place: str, command: str) -> Figure:
    if isinstance(content, dict) and "lines" in content and "picture" not in content:
        raise _Wrong(f"`{place}` has lines but no picture: `{command}` records it with one.")
    title, svg = _get(content, "title", str, place, ""), _get(content, "picture", str, place)
    found = _NOT_IN_PICTURES.search(svg)
    if not svg.startswith("<svg ") or found:
        why = f"has `{found.group().strip()}`" if found else "is no <svg>"
        raise _Wrong(f"`{place}.picture` {why}: a picture holds shapes and text alone.")
    return Figure(title, svg)


def wrong(text: str, value: object, path: str) -> str | None:
    r"""
    ## What is wrong with a number in a note

    `text` is how the note has it, `value` what the file at `path` says. The result is None if the
    one is the other, rounded to the digits that it shows. Words may stand around the number, as in
    “58 s”; a text without a number says nothing that could be wrong.
    """
    says = f"the note says {' '.join(text.split())}, {path} has"
    if isinstance(value, str):
        return None if " ".join(text.split()) == value else f"{says} “{value}”."
    found = _NUMBER.findall(text)
    if not found:
        return None
    if len(found) > 1:
        return f"{says} one number there; link each number to its own."
    if not isinstance(value, int | float) or isinstance(value, bool):
        return f"{says} {json.dumps(value)}."
    said = Decimal(re.sub("[,\u202f\u2009]", "", found[0]).replace("−", "-"))
    # Half a unit of the last digit that the note shows; either way where it is just between two.
    places = said.as_tuple().exponent
    assert isinstance(places, int)
    if abs(said - Decimal(repr(value))) <= Decimal((0, (5,), places - 1)):
        return None
    return f"{says} {json.dumps(value)}."


def is_number(text: str) -> bool:
    r"""
    ## Does the text of a link say a number?
    """
    return _NUMBER.search(text) is not None


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
    return ", ".join(str(one) for one in words if one)

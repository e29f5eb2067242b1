r"""
---
title: Files of results
summary: A file of results is read, and whatever it should not hold is named.
---

Programs write these files, and people edit them. A page must not show a number that is none, nor a
picture that does anything but show shapes.
"""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from literate.problems import LiterateError, Problem
from literate.results.records import Column, Figure, Result, Table, listed

SCHEMA = 1


class _Wrong(Exception):
    r"""
    What makes a file none of results.
    """


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
    return Result(
        path=path,
        title=_get(content, "title", str, ""),
        command=_get(content, "command", str, ""),
        made=made,
        machine=_get(content, "machine", dict, ""),
        sources=sources,
        values=values,
        tables={name: _table(one, f"tables.{name}") for name, one in tables.items()},
        figures={name: _figure(one, f"figures.{name}") for name, one in figures.items()},
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
                raise _Wrong(f"`{at}` has `{name}`, which is no column; they are {listed(names)}.")
            if not _is_cell(value):
                raise _Wrong(f"`{at}.{name}` is neither a number nor a text.")
    return Table(tuple(columns), tuple(rows))


# What an SVG needs that only shows something: no script, no handler, nothing from elsewhere.
_NOT_IN_PICTURES = re.compile(
    r"<(script|foreignObject|style)|\son\w+=|href=[\"'](?!#)|url\((?!#)", re.I
)


def _figure(content: Any, place: str) -> Figure:
    title, svg = _get(content, "title", str, place, ""), _get(content, "picture", str, place)
    found = _NOT_IN_PICTURES.search(svg)
    if not svg.startswith("<svg ") or found:
        why = f"has `{found.group().strip()}`" if found else "is no <svg>"
        raise _Wrong(f"`{place}.picture` {why}: a picture holds shapes and text alone.")
    return Figure(title, svg)

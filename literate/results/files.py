r"""
---
title: Files of results
summary: A file of results is read, and whatever it should not hold is named.
---

Programs write these files, and people edit them. A page must not show a number that is none, nor a
picture that does anything but show shapes.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from literate.problems import LiterateError, Problem, mismatches
from literate.results.records import Column, Figure, Result, Table, listed

SCHEMA = Path(__file__).with_name("schema.json")

# What an SVG needs that only shows something: no script, no handler, nothing from elsewhere.
_NOT_IN_PICTURES = re.compile(
    r"<(script|foreignObject|style)|\son\w+=|href=[\"'](?!#)|url\((?!#)", re.I
)


def read(root: Path, folder: str) -> dict[str, Result]:
    r"""
    ## Read the results of a project

    By the paths of their files, from the root. Raises a
    [LiterateError](../problems.py#LiterateError) with the problems of all files that are none of
    results.
    """
    results: dict[str, Result] = {}
    problems: list[Problem] = []
    for file in sorted((root / folder).glob("*.json")):
        path = file.relative_to(root).as_posix()
        try:
            results[path] = parse(file.read_bytes(), path)
        except LiterateError as error:
            problems += error.problems
    if problems:
        raise LiterateError(problems)
    return results


def parse(data: bytes, path: str) -> Result:
    r"""
    ## Read a file of results

    Raises a [LiterateError](../problems.py#LiterateError) if it is none.
    """
    line, wrong = 1, []
    try:
        text = data.decode()
        # A constant of Python's, such as NaN, is no number of JSON: a list is none in any place.
        content = json.loads(text, parse_constant=lambda constant: [constant])
        wrong = [sentence for _, sentence in mismatches(content, SCHEMA)] or [*_unfit(content)]
    except json.JSONDecodeError as error:
        line, wrong = error.lineno, [f"is not JSON: {error.msg}."]
    except UnicodeDecodeError as error:
        line, wrong = data.count(b"\n", 0, error.start) + 1, ["is not UTF-8."]
    except RecursionError:
        wrong = ["is nested too deeply."]
    if wrong:
        raise LiterateError(Problem(path, line, sentence) for sentence in wrong)
    known = {key: content[key] for key in ("command", "made", "machine", "sources")}
    return Result(
        **known,
        path=path,
        title=content.get("title", ""),
        values=content.get("values", {}),
        tables={name: _table(table) for name, table in content.get("tables", {}).items()},
        figures={
            name: Figure(figure.get("title", ""), figure["picture"])
            for name, figure in content.get("figures", {}).items()
        },
        text=text,
    )


def _unfit(content: Any) -> Iterator[str]:
    r"""
    What the schema can't say.
    """
    for name, table in content.get("tables", {}).items():
        columns = [column["name"] for column in table["columns"]]
        for index, row in enumerate(table["rows"]):
            for other in row.keys() - set(columns):
                place = f"`tables.{name}.rows[{index}]`"
                yield f"{place} has `{other}`, which is no column; they are {listed(columns)}."
    for name, figure in content.get("figures", {}).items():
        if match := _NOT_IN_PICTURES.search(figure["picture"]):
            place = f"`figures.{name}.picture` has `{match.group().strip()}`"
            yield f"{place}: a picture holds shapes and text alone."


def _table(content: Any) -> Table:
    columns = (
        Column(
            column["name"],
            column.get("title", column["name"]),
            column.get("unit", ""),
            column.get("digits"),
        )
        for column in content["columns"]
    )
    return Table(tuple(columns), tuple(content["rows"]), content.get("live", {}))

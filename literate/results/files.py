r"""
---
title: Files of results
summary: A file of results is read, and whatever it should not hold is named.
---

Programs write these files, and people edit them. A page must not show a number that is none, nor a
picture that does anything but show shapes.

A chart is there as numbers, and is [drawn](charts.py) when a page shows it. A picture that no
numbers stand for is a file of its own, which the file of the result names, with its digest:

```json
"figures": {
  "loss": {"title": "Loss", "x": {"title": "Step"}, "y": {"title": "Loss", "unit": "nats"},
           "lines": [{"name": "classic", "points": [[1, 4.2], [100, 2.6]]}]},
  "mask": {"title": "Who sees whom", "picture": "pictures/trial-mask.svg",
           "digest": "0123456789abcdef"}
}
```
"""

import importlib.util
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from literate.problems import LiterateError, Problem, mismatches
from literate.reading.on_demand import OnDemand
from literate.results.pictures import digest
from literate.results.records import Column, Figure, Result, Table, listed

SCHEMA = Path(__file__).with_name("schema.json")

# What a chart is drawn from.
CHART = ("lines", "x", "y")

# What an SVG needs that only shows something: no script, no handler, nothing from elsewhere.
_NOT_IN_PICTURES = re.compile(
    r"<(script|foreignObject|style)|\son\w+=|href=[\"'](?!#)|url\((?!#)", re.I
)


# Gives the text of a picture by its path, which is relative to that of the result.
Pictures = Callable[[str], str]


def read(root: Path, folder: str, store: Path | None = None) -> dict[str, Result]:
    r"""
    ## Read the results of a project

    By the paths of their files, from the root; `store` keeps the charts that are drawn. Raises a
    [LiterateError](../problems.py#LiterateError) with the problems of all files that are none of
    results.
    """
    results: dict[str, Result] = {}
    problems: list[Problem] = []
    asked = on_demand(root, folder, store)
    for path in asked:
        try:
            results[path] = asked[path]
        except LiterateError as error:
            problems += error.problems
    if problems:
        raise LiterateError(problems)
    return results


def on_demand(root: Path, folder: str, store: Path | None = None) -> Mapping[str, Result]:
    r"""
    ## Read a result when it is asked for
    """

    def text_of(name: str) -> str:
        return (root / folder / name).read_text(encoding="utf-8")

    paths = (file.relative_to(root).as_posix() for file in sorted((root / folder).glob("*.json")))
    return OnDemand(paths, lambda path: parse((root / path).read_bytes(), path, text_of, store))


def parse(data: bytes, path: str, text_of: Pictures, store: Path | None = None) -> Result:
    r"""
    ## Read a file of results

    `text_of` gives the texts of its pictures, and raises an `OSError` for one that isn't there.
    Raises a [LiterateError](../problems.py#LiterateError) if it is none.
    """
    line, wrong = 1, []
    pictures: dict[str, str] = {}
    try:
        text = data.decode()
        # A constant of Python's, such as NaN, is no number of JSON: a list is none in any place.
        content = json.loads(text, parse_constant=lambda constant: [constant])
        wrong = [sentence for _, sentence in mismatches(content, SCHEMA)]
        if not wrong:
            pictures = _pictures(content, text_of)
            wrong = [*_unfit(content, pictures)]
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
        of=content.get("of", ""),
        title=content.get("title", ""),
        values=content.get("values", {}),
        tables={name: _table(table) for name, table in content.get("tables", {}).items()},
        figures={
            name: Figure(
                title=figure.get("title", ""),
                name=f"{Path(path).stem}-{name}",
                chart={key: figure[key] for key in CHART if key in figure},
                drawn=pictures.get(name, ""),
                store=store,
            )
            for name, figure in content.get("figures", {}).items()
        },
        text=text,
        verified=content.get("verified", ()),
    )


def _unfit(content: Any, pictures: Mapping[str, str]) -> Iterator[str]:
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
        place = f"`figures.{name}`"
        if "lines" in figure:
            if importlib.util.find_spec("matplotlib") is None:
                install = '`pip install "annotated-transformers[imaging]"`'
                yield f"{place} is a chart, which Matplotlib draws: {install}."
        elif name not in pictures:
            yield f"{place} names {figure['picture']}, which can't be read; write the result again."
        else:
            yield from _unfit_picture(f"{place}: {figure['picture']}", figure, pictures[name])


def _unfit_picture(place: str, figure: Mapping[str, str], picture: str) -> Iterator[str]:
    if not picture.startswith("<svg "):
        yield f"{place} is no <svg>."
    if match := _NOT_IN_PICTURES.search(picture):
        yield f"{place} has `{match.group().strip()}`; a picture holds shapes and text alone."
    elif figure["digest"] != digest(picture):
        now = digest(picture)
        yield f"{place} isn't what the run drew, its digest is {now}; write the result again."


def _pictures(content: Any, text_of: Pictures) -> dict[str, str]:
    r"""
    The texts of the pictures that can be read, by the names of their figures.
    """
    found = {}
    for name, figure in content.get("figures", {}).items():
        if "picture" in figure:
            with suppress(OSError, UnicodeDecodeError):
                found[name] = text_of(figure["picture"])
    return found


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

r"""
---
title: Licence
summary: What is copied keeps the licence of its package, and the copyright lines of its file.
---

A project says its licence in one of the places that packaging tools know. Nothing is run to find
it, and where no place says anything, nothing is claimed. A file can say more in the comments at its
beginning; they go with what is copied from it.
"""

import ast
import configparser
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from literate.python.statements import first_line
from literate.reading.rows import rows
from literate.reading.source import Source

_CLASSIFIER = "License :: "
_SAYS = re.compile(r"copyright|©|\(c\)|SPDX-|licen[cs]ed? ", re.IGNORECASE)


@cache
def of_project(root: Path) -> str:
    r"""
    ## The licence of a project

    As its `pyproject.toml`, `setup.cfg` or `setup.py` says it, in this order; else the first line
    of its licence file. Empty if there is none of them.
    """
    ways = (_pyproject, _setup_cfg, _setup_py, _licence_file)
    return next((licence for licence in (way(root) for way in ways) if licence), "")


def of_file(source: Source) -> list[str]:
    r"""
    ## The comments of a file about its rights

    Those at its beginning that speak of a copyright or a licence, line by line as they stand there.
    """
    kept: list[str] = []
    for lines in _comments(source):
        if _SAYS.search("\n".join(lines)):
            kept += lines
    return kept


def _comments(source: Source) -> Iterator[list[str]]:
    r"""
    The comments above the first statement, which the docstring of the module is none of.
    """
    first = next((statement for statement in source.tree.body if not _is_text(statement)), None)
    end = first_line(first) if first else len(source.lines) + 1
    for row in rows(source):
        lines = [line for line in row.lines if line.kind == "comment" and line.number < end]
        if lines:
            yield [line.text.rstrip() for line in lines]


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _pyproject(root: Path) -> str:
    try:
        project = tomllib.loads((root / "pyproject.toml").read_text("utf-8")).get("project", {})
    except (OSError, ValueError):
        return ""
    said = project.get("license", "")
    if isinstance(said, Mapping):
        said = said.get("text", "") or _first_line(root / str(said.get("file", "")))
    return _one_line(str(said)) or _classified(project.get("classifiers", ()))


def _setup_cfg(root: Path) -> str:
    reader = configparser.ConfigParser(interpolation=None)
    try:
        reader.read(root / "setup.cfg", encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return ""
    said = reader.get("metadata", "license", fallback="")
    lines = reader.get("metadata", "classifiers", fallback="").splitlines()
    return _one_line(said) or _classified(lines)


def _setup_py(root: Path) -> str:
    try:
        tree = ast.parse((root / "setup.py").read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ""
    given = [keyword for node in ast.walk(tree) for keyword in getattr(node, "keywords", ())]
    values = {}
    for keyword in given:
        try:
            values[keyword.arg] = ast.literal_eval(keyword.value)
        except ValueError:
            continue
    classifiers = values.get("classifiers", ())
    said = values.get("license", "")
    listed = classifiers if isinstance(classifiers, list | tuple) else ()
    return (_one_line(said) if isinstance(said, str) else "") or _classified(listed)


def _licence_file(root: Path) -> str:
    names = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "COPYING")
    return next((said for said in (_first_line(root / name) for name in names) if said), "")


def _first_line(file: Path) -> str:
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    return next((line.strip(" #") for line in lines if line.strip(" #")), "")


def _one_line(text: str) -> str:
    r"""
    Some put the whole text of the licence there: its first line is its name.
    """
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _classified(classifiers: Any) -> str:
    named = [
        str(classifier).strip()
        for classifier in classifiers
        if str(classifier).strip().startswith(_CLASSIFIER)
    ]
    return ", ".join(classifier.split(" :: ")[-1] for classifier in named)

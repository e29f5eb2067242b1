r"""
---
title: Fingerprints
summary: Whether a file is still what a run was made of.
---

A [result](records.py) names the files that were measured, each with its fingerprint. That of a
Python file is made of its code alone: a page may speak of what was measured on it, and is still the
page that was measured.
"""

import ast
import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from literate.problems import LiterateError
from literate.reading.source import Source, parse
from literate.results.records import Result


def fingerprint(file: Path) -> str:
    r"""
    ## What a run depends on in a file

    The beginning of a hash. Until a file is changed, it is read once.
    """
    told = file.stat()
    return _of_file(file, told.st_mtime_ns, told.st_size)


@lru_cache(maxsize=1024)
def _of_file(file: Path, changed: int, size: int) -> str:
    data = file.read_bytes()
    if file.suffix == ".py":
        try:
            return of_source(parse(data.decode(), file.as_posix()))
        except (LiterateError, UnicodeDecodeError):
            pass  # All of it, then: it is no page.
    return hashlib.sha256(data).hexdigest()[:16]


def of_source(source: Source) -> str:
    r"""
    ## The same for a file that was read before

    The hash of the tree of its statements. A formatter may break a line, add a comma or a pair of
    brackets: the tree stays as it is.
    """
    noted = {line.number for line in source.lines if line.kind == "docstring"}
    return hashlib.sha256(repr(_plain(source.tree, noted)).encode()).hexdigest()[:16]


def _plain(node: Any, noted: set[int]) -> Any:
    r"""
    A tree as nested tuples, without docstrings.

    A field that is empty is left out: newer Pythons have more of them.
    """
    if isinstance(node, list):
        return [_plain(child, noted) for child in node if not _is_note(child, noted)]
    if not isinstance(node, ast.AST):
        return node
    fields = [(name, _plain(value, noted)) for name, value in ast.iter_fields(node)]
    kept = [(name, value) for name, value in fields if value is not None and value != []]
    return (type(node).__name__, *kept)


def _is_note(node: Any, noted: set[int]) -> bool:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text and node.lineno in noted


def changed(result: Result, sources: Mapping[str, Source], root: Path) -> list[str]:
    r"""
    ## What is no longer as it was measured

    The files that have changed since the run, or are gone. `sources` are those that were read.
    """
    return [path for path, known in result.sources.items() if _print(path, sources, root) != known]


def _print(path: str, sources: Mapping[str, Source], root: Path) -> str:
    if path in sources:
        return sources[path].once(of_source)
    file = root / path
    return fingerprint(file) if file.is_file() else ""

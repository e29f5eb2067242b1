r"""
---
title: Fingerprints
summary: Whether a file is still what it was.
---

What is kept of a file's code, such as the graph of a model, must not outlive it. The fingerprint of
a Python file is made of its code alone: its notes may speak of what was made of it. For what a
measurement depends on there is a finer answer: the [definitions](made_of.py) that it comes by.
"""

import ast
import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from literate.problems import LiterateError
from literate.reading.source import Source, parse


def fingerprint(file: Path) -> str:
    r"""
    ## What tells that a file has changed

    The beginning of a hash. That of a file of results is made of what was found: it may say more
    about its run, and be drawn in another way. Until a file is changed, it is read once.
    """
    told = file.stat()
    return _of_file(file, told.st_mtime_ns, told.st_size)


@lru_cache(maxsize=1024)
def _of_file(file: Path, changed: int, size: int) -> str:
    data = file.read_bytes()
    if file.suffix == ".json" and b'"schema"' in data:
        data = _numbers(data)
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


def _numbers(data: bytes) -> bytes:
    r"""
    What a file of results has found: not by which code, and not how it is drawn.
    """
    content = json.loads(data)
    figures = {
        name: {key: one for key, one in figure.items() if key != "picture"}
        for name, figure in content.get("figures", {}).items()
    }
    found = [content.get("values", {}), content.get("tables", {}), figures]
    return json.dumps(found, sort_keys=True).encode()

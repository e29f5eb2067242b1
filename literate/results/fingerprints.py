r"""
---
title: Fingerprints
summary: Whether a file is still what a run was made of.
---

A [result](records.py) names the files that were measured, each with its fingerprint. That of a
Python file is made of its code alone: a page may speak of what was measured on it, and is still the
page that was measured.
"""

import hashlib
import tokenize
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from literate.problems import LiterateError
from literate.reading.source import Source, parse
from literate.results.records import Result

# What makes statements and blocks of tokens.
_BLOCKS = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def fingerprint(file: Path) -> str:
    r"""
    ## What a run depends on in a file

    The beginning of a hash.
    """
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
    """
    code = {line.number for line in source.lines if line.kind == "code"}
    lines = iter([line.text if line.kind == "code" else "\n" for line in source.lines])

    # Where a long line is broken is no matter of the code, and neither are its comments.
    kept = []
    for token in tokenize.generate_tokens(lambda: next(lines, "")):
        if token.type in _BLOCKS:
            kept.append(tokenize.tok_name[token.type])
        elif token.start[0] in code and token.type not in (tokenize.COMMENT, tokenize.NL):
            kept.append(token.string)
    return hashlib.sha256("\n".join(kept).encode()).hexdigest()[:16]


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
    if not file.is_file():
        return ""
    told = file.stat()
    return _fingerprint(file, told.st_mtime_ns, told.st_size)


@lru_cache(maxsize=1024)
def _fingerprint(file: Path, changed: int, size: int) -> str:
    r"""
    The same file gives the same fingerprint until it is changed.
    """
    return fingerprint(file)

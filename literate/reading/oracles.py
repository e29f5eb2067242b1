r"""
---
title: Oracles
summary: A lesson is compared with code that nobody here wrote, or says why it can't be.
---

A test that was written from the page has the page's mistakes. So the test of a
[lesson](lessons.py) has a table “ORACLES” of what the page is compared with: PyTorch's own
modules, another library, loops over single numbers.

Where no such comparison is possible, the file `oracles` of the [settings](../settings.py) says why.
The first entry that fits a page counts, whose path is seen from its package:

```toml
[[without]]
pages = ["*experiment.py"]
reason = "An experiment: its numbers are those of recorded runs."
```
"""

import posixpath
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

from literate.problems import LiterateError, Problem, line_of
from literate.reading.lessons import Lessons
from literate.reading.source import Source

_TABLE = re.compile(r"(?m)^ORACLES\b[^=\n]* = ")


def test_of(path: str) -> str:
    r"""
    ## The test of a page

    `tests/a/test_b.py` is that of `a/b.py`, and `tests/a/test_init.py` that of `a/__init__.py`.
    """
    folder, file = posixpath.split(path)
    return posixpath.join("tests", folder, f"test_{file.removesuffix('.py').strip('_')}.py")


def has_table(path: str, root: Path) -> bool:
    r"""
    ## Whether the test of a page has oracles
    """
    test = root / test_of(path)
    return test.is_file() and bool(_TABLE.search(test.read_text(encoding="utf-8")))


def is_compared(path: str, lessons: Lessons) -> bool:
    r"""
    ## Whether a page has something to compare

    A lesson has; the page of a section has not.
    """
    return lessons.has(path) and not posixpath.basename(path).startswith("_")


def reasons(root: Path, lessons: Lessons) -> Sequence[Mapping[str, Any]]:
    r"""
    ## The reasons why some have none
    """
    if not lessons.oracles:
        return []
    file = root / lessons.oracles
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8"))["without"]
        return [{"pages": [*entry["pages"]], "reason": entry["reason"]} for entry in entries]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        sentence = f"isn't a list of pages without oracles: {error}."
        raise LiterateError([Problem(lessons.oracles, 1, sentence)]) from None


def reason(path: str, entries: Iterable[Mapping[str, Any]]) -> str | None:
    r"""
    ## Why a page has none

    None if nobody says why.
    """
    fitting = (entry["reason"] for entry in entries if _fits(path, entry["pages"]))
    return next(fitting, None)


def _fits(path: str, patterns: Iterable[str]) -> bool:
    inside = path.partition("/")[2]
    return any(fnmatch(inside, pattern) for pattern in patterns)


def problems(source: Source, root: Path, lessons: Lessons) -> Iterator[Problem]:
    r"""
    ## A lesson that nothing is compared with, and nobody says why

    And what its tests [quote](#gone).
    """
    yield from gone(source, root, lessons)
    path = source.path
    if not lessons.oracles or not is_compared(path, lessons) or has_table(path, root):
        return
    if reason(path, reasons(root, lessons)) is None:
        sentence = (
            f"`{test_of(path)}` has no table `ORACLES` of what this page is compared with, and "
            f"`{lessons.oracles}` gives no reason."
        )
        yield Problem(path, 1, sentence)


def gone(source: Source, root: Path, lessons: Lessons) -> Iterator[Problem]:
    r"""
    ## A quoted line that the page no longer has

    Tests are tried on copies of a page with one line changed. The file `equivalents` lists changes
    that no test can notice, each with its reason and with the line, `original`, by which it is
    found. When that line has changed, nobody knows whether the reason still holds.
    """
    if not lessons.equivalents:
        return
    text = (root / lessons.equivalents).read_text(encoding="utf-8")
    lines = {line.text.strip() for line in source.lines}
    for entry in _quotes(text, lessons.equivalents).get(source.path, ()):
        original = entry["original"]
        if original not in lines:
            sentence = (
                f"quotes `{original}`, which is no line of {source.path}; change it as the page "
                "was changed, if its reason holds, or take it out."
            )
            yield Problem(lessons.equivalents, line_of(original, text), sentence)


@cache
def _quotes(text: str, name: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    r"""
    The same text is read once for all pages.
    """
    quotes: dict[str, list[Mapping[str, Any]]] = {}
    try:
        for entry in tomllib.loads(text)["mutant"]:
            quotes.setdefault(entry["page"], []).append(entry)
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise LiterateError([Problem(name, 1, f"isn't a list of mutants: {error}.")]) from None
    return quotes


def left_over(paths: Iterable[str], root: Path, lessons: Lessons) -> Iterator[Problem]:
    r"""
    ## A reason that no lesson needs
    """
    entries = reasons(root, lessons)
    compared = [path for path in paths if is_compared(path, lessons)]
    needed = {reason(path, entries) for path in compared if not has_table(path, root)}
    for entry in entries:
        for pattern in entry["pages"]:
            if entry["reason"] in needed and any(_fits(path, [pattern]) for path in compared):
                continue
            text = (root / lessons.oracles).read_text(encoding="utf-8")
            sentence = f"gives a reason for `{pattern}`, which no lesson needs."
            yield Problem(lessons.oracles, line_of(f'"{pattern}"', text), sentence)

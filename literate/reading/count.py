r"""
---
title: Count
summary: How long a page is, and how much of it is explained.
---

A page should be short, and each step of it explained. This page counts both, for authors to see.
Nothing fails when a page is too long: a number that must be met is soon met by tricks.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from statistics import median

from literate.reading.front_matter import split
from literate.reading.notes import Note
from literate.reading.rows import rows
from literate.reading.source import Source

# A limit for each pattern of paths. Where several fit, the later ones replace the earlier ones.
Limits = Mapping[str, Mapping[str, float]]
COLUMNS = ("code", "comments", "ratio", "words", "lines")
_WORD = re.compile(r"\S*\w\S*")


def count(source: Source) -> dict[str, float]:
    r"""
    ## Count a page

    A number for each column; no ratio where there is no code.
    """
    kinds = Counter(line.kind for line in source.lines)
    code, comments = kinds["code"], kinds["comment"]
    ratio = {"ratio": comments / code} if code else {}
    words = sum(_words(row.note, source) for row in rows(source) if row.note)
    return {"code": code, "comments": comments, **ratio, "words": words, "lines": len(source.lines)}


def words_before(source: Source) -> int:
    r"""
    ## Words before the first definition

    How much is to be read before the first class or function; 0 if there is none.
    """
    if not source.definitions:
        return 0
    first = min(definition.first for definition in source.definitions)
    return sum(
        _words(row.note, source) for row in rows(source) if row.note and row.note.first < first
    )


def _words(note: Note, source: Source) -> int:
    if source.docstring and note.first == source.docstring.first:
        _, note, _ = split(note, source.path)
    # A letter stands for what is in backticks or dollars, which can be a part of a longer word.
    instead = {"code": "x", "inline": "x", "fence": " ", "display": " "}
    text = "".join(instead.get(span.kind, span.text) for span in note.parsed.spans)
    return len(_WORD.findall(text))


def limits_of(path: str, limits: Limits) -> dict[str, float]:
    r"""
    ## The limits of a page
    """
    merged: dict[str, float] = {}
    for pattern, values in limits.items():
        merged |= values if fnmatch(path, pattern) else {}
    return merged


def table(sources: Iterable[Source], limits: Limits) -> Iterator[str]:
    r"""
    ## The lines of the table

    ```
    code      lines with code. Imports, decorators and each line of a string that is no docstring
              count, also what is in example(). A line of code with a comment at its end is code.
    comments  lines with nothing but a comment.
    ratio     comment lines for each line of code.
    words     of the docstrings and of these comments. A name in backticks or a formula in a
              sentence is one word; front matter, displayed formulas and blocks of code are none.
    lines     all lines of the file.
    ```

    An asterisk marks a number that passes a limit of `tool.literate.limits`: the ratio is below it,
    or another number above it. Below several pages stand their sum and their median.
    """
    counted = {source.path: count(source) for source in sources}
    width = max(map(len, [*counted, "median"]))
    yield f"{'':{width}}" + "".join(f"{column:>10} " for column in COLUMNS)
    for path, counts in counted.items():
        yield f"{path:{width}}{_numbers(counts, limits_of(path, limits))}"
    if len(counted) > 1:
        columns = {
            name: [counts[name] for counts in counted.values() if name in counts]
            for name in COLUMNS
        }
        sums = {name: sum(numbers) for name, numbers in columns.items() if name != "ratio"}
        middle = {name: median(numbers) for name, numbers in columns.items() if numbers}
        yield f"{'sum':{width}}{_numbers(sums, {})}"
        yield f"{'median':{width}}{_numbers(middle, {})}"


def _numbers(counts: Mapping[str, float], limits: Mapping[str, float]) -> str:
    text = ""
    for name in COLUMNS:
        number = counts.get(name)
        shown = _shown(name, number)
        mark = "*" if _passes(name, number, limits.get(name)) else " "
        text += f"{shown:>10}{mark}"
    return text.rstrip()


def _shown(name: str, number: float | None) -> str:
    if number is None:
        return ""
    return f"{number:.2f}" if name == "ratio" else f"{number:,.0f}"


def _passes(name: str, number: float | None, limit: float | None) -> bool:
    if number is None or limit is None:
        return False
    return number < limit if name == "ratio" else number > limit

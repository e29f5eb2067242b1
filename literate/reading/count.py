r"""
---
title: Count
summary: How long a page is, and how much of it is explained.
---

A page should be short, and each step of it explained. This page counts both, for authors to see.
Too much of something is a problem where the settings give a limit. Too little is none: a number of
comments that must be reached is soon reached by comments that say nothing.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from statistics import median

from literate.problems import Problem
from literate.reading.front_matter import of_source, split
from literate.reading.notes import Note
from literate.reading.rows import rows
from literate.reading.source import Source

# A limit for each pattern of paths. Where several fit, the later ones replace the earlier ones.
Limits = Mapping[str, Mapping[str, float]]
COLUMNS = ("code", "comments", "ratio", "words", "introduction", "lines")
# What can have a limit, in the words of a sentence.
LIMITED = {
    "code": "lines of code",
    "words": "words",
    "introduction": "words before its first class or function",
    "summary": "characters in its summary",
}
_WORD = re.compile(r"\S*\w\S*")


def count(source: Source) -> dict[str, float]:
    r"""
    ## Count a page

    A number for each column, and the characters of its summary; no ratio where there is no code.
    """
    kinds = Counter(line.kind for line in source.lines)
    code, comments = kinds["code"], kinds["comment"]
    ratio = {"ratio": comments / code} if code else {}
    words = sum(_words(row.note, source) for row in rows(source) if row.note)
    return {
        "code": code,
        "comments": comments,
        **ratio,
        "words": words,
        "introduction": _words_before(source),
        "lines": len(source.lines),
        "summary": len(of_source(source)[0].summary),
    }


def problems(source: Source, limits: Limits) -> Iterator[Problem]:
    r"""
    ## What a page has too much of
    """
    most = limits_of(source.path, limits)
    counts = count(source) if most else {}
    for name, limit in most.items():
        if counts[name] > limit:
            sentence = f"the page has {counts[name]:,} {LIMITED[name]}, and at most {limit:,} here."
            yield Problem(source.path, 1, sentence)


def _words_before(source: Source) -> int:
    r"""
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
    introduction  those of them that stand before the first class or function.
    lines     all lines of the file.
    ```

    An asterisk marks a number above a limit of `tool.literate.limits`. Below several pages stand
    their sum and their median.
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
        mark = "*" if (number or 0) > limits.get(name, math.inf) else " "
        text += f"{shown:>10}{mark}"
    return text.rstrip()


def _shown(name: str, number: float | None) -> str:
    if number is None:
        return ""
    return f"{number:.2f}" if name == "ratio" else f"{number:,.0f}"

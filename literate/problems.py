r"""
---
title: Problems
summary: What is wrong, where it stands, and one sentence about it.
---

Everything that this tool has to say about a source has the same form, so that a person, an editor
and a build log can all read it: `file:line: sentence`.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jsonschema import Draft202012Validator


@dataclass(frozen=True, order=True)
class Problem:
    r"""
    ## One problem

    * `path` is the file as the author knows it, relative to the root of the project
    * `line` is the line of the file, counted from one
    * `sentence` says what is wrong and, where that is not obvious, what to do
    """

    path: str
    line: int
    sentence: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.sentence}"


class LiterateError(Exception):
    r"""
    ## Why a command stops

    It carries problems in the order of their places, and prints one of them per line.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def line_of(what: str, text: str) -> int:
    r"""
    ## The line in which something stands

    The first one; 1, if it stands nowhere.
    """
    return text.count("\n", 0, max(text.find(what), 0)) + 1


def mismatches(
    content: object, schema: Path, root: str = ""
) -> list[tuple[tuple[str | int, ...], str]]:
    r"""
    ## Where content departs from its schema

    A [JSON Schema](https://json-schema.org/) says what may be in a file, and a `description` in it
    what is wrong with anything else. For each departure its path in the content and a sentence,
    in which the names of places begin with `root`, such as
    "`limits.a.code`: 'x' is not of type 'number'."
    """
    sentences = []
    for error in _validator(schema).iter_errors(content):
        place = f"`{error.json_path.replace('$', root, 1).lstrip('.')}`"
        sentence = f"{place} {error.schema.get('description')}."
        if "description" not in error.schema:
            sentence = f"{place}: {error.message}.".removeprefix("``: ")
        sentences.append((tuple(error.absolute_path), sentence))
    return sorted(sentences, key=str)


@cache
def _validator(schema: Path) -> Draft202012Validator:
    return Draft202012Validator(json.loads(schema.read_text(encoding="utf-8")))

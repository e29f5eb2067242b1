r"""
---
title: Problems
summary: What is wrong, where it stands, and one sentence about it.
---

Everything that this tool has to say about a source has the same form, so that a person, an editor
and a build log can all read it: `file:line: sentence`.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from itertools import groupby
from pathlib import Path

from jsonschema import Draft202012Validator

# The kind of a problem that may be none.
GUESS = "guess"
# So many problems of a kind are told one by one.
FEW = 3


@dataclass(frozen=True, order=True)
class Problem:
    r"""
    ## One problem

    * `path` is the file as the author knows it, relative to the root of the project
    * `line` is the line of the file, counted from one
    * `sentence` says what is wrong and, where that is not obvious, what to do
    * `kind` is what many problems of the same sort say [together](#told), such as “modules have no
      title”, or that it is a guess
    """

    path: str
    line: int
    sentence: str
    kind: str = field(default="", compare=False)

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


class Findings(LiterateError):
    r"""
    ## What a check has found, where nothing has to stop
    """

    def __str__(self) -> str:
        return "\n".join(told(self.problems))


def told(problems: Iterable[Problem], most: int | None = None) -> list[str]:
    r"""
    ## Problems, as one wants to read them

    Mistakes come first, a line each, then guesses. What several pages lack in the same way comes
    last, in one line for all of them. Of the first two, no more than `most` are told.
    """
    by_kind = sorted(sorted(set(problems)), key=lambda problem: problem.kind)
    groups = {kind: list(group) for kind, group in groupby(by_kind, lambda one: one.kind)}
    alone = [*groups.pop("", []), *groups.pop(GUESS, [])]
    large = {
        kind: group
        for kind, group in groups.items()
        if len(group) > FEW and len({one.path for one in group}) > 1
    }
    alone += [one for kind, group in groups.items() if kind not in large for one in group]
    lines = [str(problem) for problem in alone[:most]]
    if len(alone) > len(lines):
        more = len(alone) - len(lines)
        lines.append(f"{more} problems more; `python -m literate check` lists them.")
    for kind, group in sorted(large.items(), key=lambda one: -len(one[1])):
        first, second, *_ = group
        lines.append(
            f"{len(group)} {kind}, as {first.path}:{first.line} and {second.path}:{second.line}; "
            f"`python -m literate check {first.path}` says more of one file."
        )
    return lines


@contextmanager
def needs(extra: str, path: str, what: str) -> Iterator[None]:
    r"""
    ## What not everybody has installed

    To build pages takes few packages; what else there is has
    [extras](../docs/own_package.md#the-extras) of its own. The one that `what` needs is named where
    a package of it is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        install = f'pip install "annotated-transformers[{extra}]"'
        sentence = f"{what} can't be made without {error.name}; type `{install}`."
        raise LiterateError([Problem(path, 1, sentence)]) from None


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
    "`limits.a.code`: 'x' is no number." What nobody knows has a sentence of its own.
    """
    sentences = []
    for error in _validator(schema).iter_errors(content):
        place = f"`{error.json_path.replace('$', root, 1).lstrip('.')}`"
        if error.validator == "additionalProperties" and error.validator_value is False:
            known = sorted(error.schema["properties"])
            there = ", ".join(f"`{name}`" for name in known)
            for name in sorted(error.instance.keys() - {*known}):
                near = get_close_matches(name, known, 1)
                hint = f"there are {there}."
                if near:
                    hint = f"is `{near[0]}` meant, or another of {there}?"
                sentence = f"{place} has no `{name}`; {hint}"
                sentences.append(((*error.absolute_path, name), sentence))
            continue
        sentence = f"{place} {error.schema.get('description')}."
        if "description" not in error.schema:
            kind = _KINDS.get(str(error.validator_value)) if error.validator == "type" else None
            said = f"{error.instance!r} is no {kind}" if kind else error.message
            sentence = f"{place}: {said}.".removeprefix("``: ")
        sentences.append((tuple(error.absolute_path), sentence))
    return sorted(sentences, key=str)


# What JSON Schema calls otherwise than authors do.
_KINDS = {
    "object": "table",
    "array": "list",
    "string": "text",
    "number": "number",
    "integer": "whole number",
    "boolean": "boolean",
    "null": "null",
}


@cache
def _validator(schema: Path) -> Draft202012Validator:
    return Draft202012Validator(json.loads(schema.read_text(encoding="utf-8")))

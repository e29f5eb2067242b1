r"""
---
title: Problems
summary: What is wrong, where it stands, and one sentence about it.
---

Everything that this tool has to say about a source has the same form, so that a person, an editor
and a build log can all read it: `file:line: sentence`.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Problem:
    r"""
    ## One problem

    * `path` is the file as the author knows it, relative to where the command runs
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

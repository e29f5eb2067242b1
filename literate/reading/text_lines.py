r"""
---
title: Lines of a Docstring
summary: Each knows its number, and blocks of them get more indentation or less.
---

What a docstring says becomes Markdown in several steps, and each takes lines and gives lines. So a
line carries the number that it has in the docstring, however far it is moved.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

# A remark without a word: nobody sees it, and it ends a list.
APART = "<!-- -->"
# What Markdown would read as marks.
_MARKS = re.compile(r"[\\`*_]")


class TextLine(NamedTuple):
    r"""
    ## A line of a docstring

    `at` is the number of its line there, counted from 0.
    """

    text: str
    at: int

    @property
    def indent(self) -> int:
        r"""
        ### The blanks that it begins with
        """
        return len(self.text) - len(self.text.lstrip())

    @property
    def is_blank(self) -> bool:
        r"""
        ### Is there nothing in it?
        """
        return not self.text.strip()


class Item(NamedTuple):
    r"""
    ## An item of a list

    `head` is Markdown, and `said` what is said of it; the head may be empty. `at` is the number of
    its line.
    """

    head: str
    at: int
    said: list[TextLine]


def body(lines: Sequence[TextLine], at: int, indent: int) -> tuple[list[TextLine], int]:
    r"""
    ## What is indented below a line

    Without its indentation and without the empty lines around it, and the line behind it. `at` is
    where it begins, and `indent` is that of the line above.
    """
    end = at
    for number in range(at, len(lines)):
        if lines[number].is_blank:
            continue
        if lines[number].indent <= indent:
            break
        end = number + 1
    begin = next((i for i in range(at, end) if not lines[i].is_blank), end)
    return dedented(lines[begin:end]), max(end, at)


def dedented(lines: Sequence[TextLine]) -> list[TextLine]:
    r"""
    ## Lines without the indentation that all of them have
    """
    least = min((line.indent for line in lines if not line.is_blank), default=0)
    return [TextLine(line.text[least:], line.at) for line in lines]


def indented(lines: Iterable[TextLine], blanks: str) -> list[TextLine]:
    r"""
    ## Lines with more indentation
    """
    return [TextLine(blanks + line.text if line.text.strip() else "", line.at) for line in lines]


def between_lists(above: list[TextLine], below: Sequence[TextLine]) -> None:
    r"""
    ## Two lists, one below the other

    Markdown would read them as one, if nothing stands between them.
    """
    if above and below:
        apart(above, [TextLine(APART, below[0].at)])
        above.append(TextLine(APART, below[0].at))
        apart(above, below)


def apart(above: list[TextLine], below: Sequence[TextLine]) -> None:
    r"""
    ## An empty line between two blocks

    Where there is none yet; Markdown needs it.
    """
    if above and below and not above[-1].is_blank and not below[0].is_blank:
        above.append(TextLine("", below[0].at))


def escaped(text: str) -> str:
    r"""
    ## A text without marks of Markdown
    """
    return _MARKS.sub(r"\\\g<0>", text)

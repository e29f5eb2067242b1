r"""
---
title: Notes
summary: The Markdown of a note, cut into text, code and formulas.
---

A link inside a code span is no link, a dollar sign inside a fence is no formula. Everything that
looks into a note (links, formulas, claims about shapes) therefore sees it through the *spans* of
this page. Spans are lossless too: their texts, put together, are the note.
"""

import ast
import html
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from literate.reading.rows import Note
from literate.reading.source import Source


@dataclass(frozen=True)
class Span:
    r"""
    ## A piece of a note

    * `text` is the piece as it stands in the note, `content` is what is inside its marks
    * `line` is the line of the file where it begins
    """

    kind: Literal["text", "code", "fence", "inline", "display"]
    text: str
    content: str
    line: int


# A heading: the marks of its level, and its words.
HEADING = re.compile(r"^(#{1,6})[ \t]+(\S.*?)[ \t]*#*$", re.MULTILINE)
# An anchor of the author's own, the one piece of HTML that a note can hold.
ANCHOR = re.compile(r'<a id="([A-Za-z][\w.-]*)"></a>')

# What Markdown would read as its own marks.
MARKS = str.maketrans({mark: f"&#{ord(mark)};" for mark in "\\`*_[]~^:@|"})
# What stands behind the marks of a fence holds none of them itself.
_FENCE = re.compile(r"\s*(?:[-*+] +|\d+\. +)?(`{3,}(?!.*`)|~{3,}(?!.*~))")
_LIST = re.compile(r"\s*(?:[-*+]|\d+\.) |\[\^[^\]\n]+\]:")
_QUOTED = re.compile(r"\s*(?:>\s?)+")

# Code spans and inline formulas, by the rules of Pandoc: a formula has no space behind its opening
# dollar and none before its closing one, and no digit follows it. So “$5 and $6” is text, and so is
# the name of a variable in JSON. Neither goes on behind an empty line, and none begins with what is
# behind a backslash.
_INLINE = re.compile(
    r"""
    \\[\s\S] | \$\$
    | (?P<ticks>`++) (?P<code>(?:(?!\n\n)[^`]|(?!(?P=ticks)(?!`))`++)++) (?P=ticks)
    | `++
    | (?<!\#/)\$(?![ \n$])(?!\w+") (?P<inline>(?:\\[\s\S]|(?!\n\n)[^\\$])++) (?<![ \n])\$(?!\d)
    """,
    re.VERBOSE,
)


# Checks, links, columns and search all look into each note, so it is taken apart once.
@lru_cache(maxsize=1 << 15)
def spans(note: Note) -> tuple[Span, ...]:
    r"""
    ## The spans of a note

    Blocks first, line by line: fenced code, indented code, display formulas between two marks
    `$$`, which begin and end lines. The lines between the blocks are then searched for code and
    formulas. A comment that is nothing but code, put out of use, is one block.
    """
    parts: list[Span] = []
    texts = note.texts
    if note.kind == "comment" and _is_code("\n".join(texts)):
        text = "\n".join(texts)
        return (Span("fence", text, text, note.first),)
    lines = [*(f"{text}\n" for text in texts[:-1]), *texts[-1:]]
    start = index = 0
    in_list = False
    while index < len(texts):
        line = texts[index]
        end = _block_end(texts, index, in_list)
        if _LIST.match(line):
            in_list = True
        elif line.strip() and not line.startswith(" "):
            in_list = False
        if end is None:
            index += 1
            continue
        parts += _inline("".join(lines[start:index]), note.first + start)
        text = "".join(lines[index:end])
        quoted = _QUOTED.match(line)
        bare = re.sub(rf"(?m){_QUOTED.pattern}", "", text) if quoted else text
        is_display = bare.strip().startswith("$$")
        content = bare.strip()[2:-2].strip("\n") if is_display else text
        kind: Literal["display", "fence"] = "display" if is_display else "fence"
        parts.append(Span(kind, text, content, note.first + index))
        start = index = end
    parts += _inline("".join(lines[start:]), note.first + start)
    return tuple(parts)


def _block_end(texts: Sequence[str], index: int, in_list: bool) -> int | None:
    r"""
    The line after the block that begins at `index`, or None where no block begins.
    """
    line = texts[index]
    # Four spaces after an empty line are code, whatever follows them, except below a list, where
    # they continue an item.
    after_blank = index == 0 or not texts[index - 1].strip()
    is_indented = line.startswith("    ") and after_blank and not in_list
    quoted = _QUOTED.match(line)
    if quoted and not is_indented:
        # A formula can stand in a quotation; each of its lines bears the mark, too.
        inside = [_QUOTED.sub("", line) for line in texts[index:] if _QUOTED.match(line)]
        end = _formula_end(inside, 0)
        whole = end is not None and all(map(_QUOTED.match, texts[index : index + end]))
        return index + end if end is not None and whole else None
    fence = _FENCE.match(line)
    if fence and not _underlines(texts, index):
        mark = fence[1]
        for end in range(index + 1, len(texts)):
            closing = texts[end].strip()
            if closing.startswith(mark) and not closing.strip(mark[0]):
                return end + 1
        return len(texts)
    if line.strip().startswith("$$"):
        end = _formula_end(texts, index)
        if end is not None or line.strip() == "$$":
            return end
    if is_indented:
        end = index
        while end < len(texts) and (texts[end].startswith("    ") or not texts[end].strip()):
            end += 1
        return end
    return None


def _formula_end(texts: Sequence[str], index: int) -> int | None:
    r"""
    The line after the display formula that begins at `index`, or None where none does.
    """
    first = texts[index].strip()
    if first == "$$":
        marks = (at for at in range(index + 1, len(texts)) if texts[at].strip() == "$$")
        return next((at + 1 for at in marks), None)
    if first.startswith("$$"):
        # The marks stand on the first and the last line of the formula itself.
        for end in range(index, len(texts)):
            if not texts[end].strip():
                return None
            if texts[end].rstrip().endswith("$$") and (end > index or len(first) > 4):
                return end + 1
    return None


def _underlines(texts: Sequence[str], index: int) -> bool:
    r"""
    A line of tildes right below a text of at most its length marks a heading in reStructuredText.
    """
    line = texts[index].strip()
    above = texts[index - 1].strip() if index else ""
    return bool(above) and not line.strip("~") and len(above) <= len(line) + 1


def _is_code(text: str) -> bool:
    r"""
    Whether a comment is statements that do something, and not words that happen to be Python.
    """
    if not re.search(r"[=(]", text):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            statements = ast.parse(textwrap.dedent(text)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(map(_does_something, statements)) and bool(statements)


def _does_something(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Call)
    return not isinstance(statement, ast.AnnAssign)


def _inline(text: str, line: int) -> Iterator[Span]:
    start = 0
    for match in _INLINE.finditer(text):
        kind: Literal["code", "inline"] = "inline" if match["code"] is None else "code"
        if match[kind] is None:
            continue
        if start < match.start():
            before = text[start : match.start()]
            yield Span("text", before, before, line + text.count("\n", 0, start))
        at = line + text.count("\n", 0, match.start())
        yield Span(kind, match[0], match[kind].strip(), at)
        start = match.end()
    if start < len(text):
        yield Span("text", text[start:], text[start:], line + text.count("\n", 0, start))


def anchors(source: Source) -> frozenset[str]:
    r"""
    ## The anchors that the notes of a page set
    """
    names = {definition.name for definition in source.definitions}
    noted = (line.text for line in source.lines if line.kind in ("docstring", "comment"))
    return frozenset(name for text in noted for name in ANCHOR.findall(text)) - names


def literal(text: str) -> str:
    r"""
    ## A text as Markdown that shows it as it is
    """
    return html.escape(text).translate(MARKS)

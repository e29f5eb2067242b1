r"""
---
title: Notes
summary: The Markdown of a note, cut into text, code and formulas.
---

A link inside a code span is no link, a dollar sign inside a fence is no formula. Everything that
looks into a note (links, formulas, claims about shapes) therefore sees it through the *spans* of
this page. Spans are lossless too: their texts, put together, are the note.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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


# An anchor of the author's own, the one piece of HTML that a note can hold.
ANCHOR = re.compile(r'<a id="([A-Za-z][\w.-]*)"></a>')

# What Markdown would read as its own marks.
MARKS = str.maketrans({mark: f"&#{ord(mark)};" for mark in "\\`*_[]~^:@|"})
_FENCE = re.compile(r"\s*(?:[-*+] +|\d+\. +)?(`{3,}|~{3,})")
_LIST = re.compile(r"\s*(?:[-*+]|\d+\.) ")

# Code spans and inline formulas, by the rules of Pandoc: a formula has no space behind its opening
# dollar and none before its closing one, and no digit follows it. So “$5 and $6” is text. Neither
# goes on behind an empty line, and none begins with what is behind a backslash.
_INLINE = re.compile(
    r"""
    \\[\s\S] | \$\$
    | (?P<ticks>`++) (?P<code>(?:(?!\n\n)[^`]|(?!(?P=ticks)(?!`))`++)++) (?P=ticks)
    | `++
    | \$(?![ \n$]) (?P<inline>(?:\\[\s\S]|(?!\n\n)[^\\$])++) (?<![ \n])\$(?!\d)
    """,
    re.VERBOSE,
)


def spans(note: Note) -> list[Span]:
    r"""
    ## The spans of a note

    Blocks first, line by line: fenced code, indented code, display formulas between two marks
    `$$`, which begin and end lines. The lines between the blocks are then searched for code and
    formulas.
    """
    found: list[Span] = []
    texts = note.texts
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
        found += _inline("".join(lines[start:index]), note.first + start)
        text = "".join(lines[index:end])
        is_display = line.strip().startswith("$$")
        content = text.strip()[2:-2].strip("\n") if is_display else text
        kind: Literal["display", "fence"] = "display" if is_display else "fence"
        found.append(Span(kind, text, content, note.first + index))
        start = index = end
    found += _inline("".join(lines[start:]), note.first + start)
    return found


def _block_end(texts: Sequence[str], index: int, in_list: bool) -> int | None:
    r"""
    The line after the block that begins at `index`, or None where no block begins.
    """
    line = texts[index]
    stripped = line.strip()
    fence = _FENCE.match(line)
    if fence:
        mark = fence[1]
        for end in range(index + 1, len(texts)):
            closing = texts[end].strip()
            if closing.startswith(mark) and not closing.strip(mark[0]):
                return end + 1
        return len(texts)
    if stripped == "$$":
        for end in range(index + 1, len(texts)):
            if texts[end].strip() == "$$":
                return end + 1
        return None
    if stripped.startswith("$$"):
        # Or the marks stand on the first and the last line of the formula itself.
        for end in range(index, len(texts)):
            if not texts[end].strip():
                return None
            if texts[end].rstrip().endswith("$$") and (end > index or len(stripped) > 4):
                return end + 1
    # Four spaces after an empty line are code, except below a list, where they continue an item.
    after_blank = index == 0 or not texts[index - 1].strip()
    if line.startswith("    ") and after_blank and not in_list:
        end = index
        while end < len(texts) and (texts[end].startswith("    ") or not texts[end].strip()):
            end += 1
        return end
    return None


def _inline(text: str, line: int) -> Iterator[Span]:
    start = 0
    for found in _INLINE.finditer(text):
        kind: Literal["code", "inline"] = "inline" if found["code"] is None else "code"
        if found[kind] is None:
            continue
        if start < found.start():
            before = text[start : found.start()]
            yield Span("text", before, before, line + text.count("\n", 0, start))
        at = line + text.count("\n", 0, found.start())
        yield Span(kind, found[0], found[kind].strip(), at)
        start = found.end()
    if start < len(text):
        yield Span("text", text[start:], text[start:], line + text.count("\n", 0, start))


def anchors(source: Source) -> frozenset[str]:
    r"""
    ## The anchors that the notes of a page set
    """
    names = {one.name for one in source.definitions}
    noted = (line.text for line in source.lines if line.kind in ("docstring", "comment"))
    return frozenset(name for text in noted for name in ANCHOR.findall(text)) - names


def literal(text: str) -> str:
    r"""
    ## A text as Markdown that shows it as it is
    """
    return html.escape(text).translate(MARKS)

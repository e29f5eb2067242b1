r"""
---
title: Lists inside Lists
summary: Where a list begins, and how far one inside another is indented, as the engine needs it.
---

Most people write a list right below a sentence, and indent one inside another by two blanks, as far
as the text above it. So GitHub and every newer Markdown take it. That of the engine asks for an
empty line, and for four blanks. Without the line the items flow together with the sentence; with
fewer blanks all items are one list, and what belongs to an item of a deeper list falls out of it.
So empty lines are put in, and the lines of a list move to the right, before anything else looks
into the note. A list that the engine understands stays as it is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from literate.reading.restructured import FENCE, end_of_fence
from literate.reading.text_lines import TextLine

_ITEM = re.compile(r"\s*(?P<mark>[-*+]|\d{1,9}[.)])(?:\s|$)")
# An item that is no part of a sum.
_WORDY = re.compile(r"\s*[-*]\s+[^\W\d]+ [^\W\d]+ [^\W\d]+")
_NUMBER = re.compile(r"(\s*\d{1,9})([.)])(?=\s)")
# What can't be the next line of a paragraph.
_BLOCK = re.compile(r"\s*(?:`{3}|~{3}|\$\$|\||>)")
_QUOTATION = re.compile(r" {0,3}> ?")
# A box, to which all belongs that is indented below it.
_BOX = re.compile(r"\s*(?:!{3}|\?{3}\+?) *\w")
_RULE = re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*$")
# The blanks of one level for the engine, and those that an author needs to mean one.
_LEVEL = 4
_MEANT = 2


@dataclass
class _Item:
    r"""
    An item begins in the column `at`, and moves by `shift`. `inner` is how far its further
    paragraphs move, once there is one.
    """

    at: int
    shift: int
    inner: int | None = None


def nested(given: Sequence[TextLine]) -> list[TextLine]:
    r"""
    ## Lists as the engine reads them
    """
    lines = _in_quotations(given)
    made: list[TextLine] = []
    # The items that a line stands in, the outermost first.
    items: list[_Item] = []
    at = 0
    while at < len(lines):
        end = max(end_of_fence(lines, at), at + 1)
        begins = _begins_in_paragraph(lines, at, items)
        goes_on = bool(made) and not made[-1].is_blank and not _BOX.match(made[-1].text)
        if goes_on and not begins and _ends_a_sentence(lines[at], items):
            lines[at] = TextLine(_NUMBER.sub(r"\1\\\2", lines[at].text), lines[at].at)
        if begins:
            made.append(TextLine("", lines[at].at))
        if begins and not items:
            # Its items stand at the margin, however far the author has indented them.
            items.append(_Item(lines[at].indent, -lines[at].indent))
        shift = _shift(lines, at, items, not made or made[-1].is_blank)
        moved = [_moved(line, shift) for line in lines[at:end]]
        if _is_item(moved[0]) and _block_indent(made) > moved[0].indent:
            # The engine takes all lines up to an empty one for what the first of them begins.
            made.append(TextLine("", lines[at].at))
        made += moved
        at = end
    return made


def _in_quotations(given: Sequence[TextLine]) -> list[TextLine]:
    r"""
    Lists in quotations, which are notes of their own.
    """
    made: list[TextLine] = []
    at = 0
    while at < len(given):
        end = max(end_of_fence(given, at), at + 1)
        mark = _QUOTATION.match(given[at].text)
        while mark and end < len(given) and not given[end].is_blank:
            end += 1
        lines = [*given[at:end]]
        if mark:
            inside = [TextLine(_QUOTATION.sub("", line.text), line.at) for line in lines]
            as_needed = nested(inside)
            if as_needed != inside:
                lines = [TextLine(f"> {line.text}".rstrip(), line.at) for line in as_needed]
        made += lines
        at = end
    return made


def _ends_a_sentence(line: TextLine, items: Sequence[_Item]) -> bool:
    r"""
    Whether a number in an item of a list is what a sentence ends with, as in “from 0 to⏎2048. It
    is”: no list begins with it in the middle of a paragraph, and it goes on with none.
    """
    match = _NUMBER.match(line.text)
    goes_on = any(line.indent == item.at for item in items)
    return bool(items) and match is not None and match[1].strip() != "1" and not goes_on


def _moved(line: TextLine, shift: int) -> TextLine:
    if line.is_blank or not shift:
        return line
    dropped = min(line.indent, max(0, -shift))
    return TextLine(" " * shift + line.text[dropped:], line.at)


def _block_indent(lines: Sequence[TextLine]) -> int:
    r"""
    The indentation of the line below the last empty one.
    """
    indent = 0
    for line in reversed(lines):
        if line.is_blank:
            break
        indent = line.indent
    return indent


def _is_item(line: TextLine) -> bool:
    return bool(_ITEM.match(line.text)) and not _RULE.match(line.text)


def _begins_in_paragraph(lines: Sequence[TextLine], at: int, items: Sequence[_Item]) -> bool:
    r"""
    Whether an item would be the next line of a paragraph. It is one of a list above, whose `items`
    are open, or stands deeper in one of them, or a colon announces it, or it is indented below a
    single line and has words, or there are two at least: a line that begins with a dash can be a
    part of a sentence, or of a sum.
    """
    first = at
    while first and not lines[first - 1].is_blank:
        first -= 1
    first += bool(_BOX.match(lines[first].text))
    above = lines[first:at]
    if not above or not _is_item(lines[at]) or any(map(_is_item, above)):
        return False
    tex = "".join(line.text for line in above)
    if _BLOCK.match(above[0].text) or tex.count("$$") % 2 or r"\begin{" in tex:
        return False
    indent = lines[at].indent
    if any(indent == item.at for item in items) and above[0].indent >= indent + _MEANT:
        return True
    if items and indent >= above[-1].indent + _MEANT:
        return True
    is_below = len(above) == 1 and indent >= above[0].indent + _MEANT
    is_announced = above[-1].text.rstrip().endswith(":") or (
        is_below and _WORDY.match(lines[at].text)
    )
    may_begin = bool(items) or above[-1].indent < _LEVEL
    return may_begin and (bool(is_announced) or _is_followed(lines, at))


def _is_followed(lines: Sequence[TextLine], at: int) -> bool:
    r"""
    Whether a second item of the same list follows, before an empty line.
    """
    indent = lines[at].indent
    mark = _ITEM.match(lines[at].text)
    for line in lines[at + 1 :]:
        if line.is_blank or line.indent < indent:
            return False
        if line.indent == indent:
            match = _ITEM.match(line.text)
            return bool(mark and match and _kind(mark["mark"]) == _kind(match["mark"]) != "+")
    return False


def _kind(mark: str) -> str:
    return mark[-1]


def _shift(lines: Sequence[TextLine], at: int, items: list[_Item], is_first: bool) -> int:
    r"""
    How far a line moves. It ends the `items` that it doesn't belong to, and may begin one.
    `is_first` says that no line of a paragraph stands above it.
    """
    line = lines[at]
    if line.is_blank:
        return 0
    is_item = _is_item(line)
    if not is_item and not is_first and not _BLOCK.match(line.text):
        # A paragraph goes on.
        if not items or line.indent < items[-1].at + _MEANT:
            return 0
        return items[-1].shift if items[-1].inner is None else items[-1].inner
    ended = None
    while items and line.indent < items[-1].at + _MEANT:
        ended = items.pop()
    if is_item and ended and line.indent > ended.at - _MEANT:
        items.append(_Item(line.indent, ended.shift))
        return ended.shift
    above = min(0, items[-1].shift) if items else 0
    shift = max(above, _LEVEL * len(items) - line.indent)
    if (is_item or _BOX.match(line.text)) and (items or line.indent < _LEVEL):
        items.append(_Item(line.indent, shift if items else 0))
        return items[-1].shift
    if not items:
        return 0
    if FENCE.match(line.text):
        # Four blanks more would be code with marks in it.
        return _LEVEL * len(items) - line.indent
    if items[-1].inner is None:
        items[-1].inner = shift
    return items[-1].inner

r"""
---
title: Footnotes, substitutions and addresses
summary: What stands for something else in a docstring is replaced by it.
---

In reStructuredText, a footnote may leave its number open, `[#]_`, a word between bars, `|name|`,
stands for a text that is given once, in a line `.. |name| replace:: the text`, and words that lead
somewhere, `` `the words`_ ``, have their address in a line `.. _the words: https://…`. All of that
is settled first, for the whole docstring: what looks at a part of it can't know the rest.
"""

import re
from collections.abc import Sequence

from literate.reading.restructured import targets
from literate.reading.text_lines import TextLine, body

_NUMBERED = re.compile(r"(?P<before>\s*\.\. +)\[#(?P<name>[\w.-]*)\](?=\s)")
_MENTIONED = re.compile(r"\[#(?P<name>[\w.-]*)\]_(?!\w)")
_GIVEN = re.compile(r"\s*\.\. +\[(?P<number>\d+)\](?=\s)")
_REPLACES = re.compile(r"\s*\.\. +\|(?P<name>[^|]+)\| +replace:: *(?P<text>.*)$")
_BARS = re.compile(r"(?<![\w|\\])\|(?P<name>[^\s|](?:[^|\n]*[^\s|])?)\|_{0,2}(?![\w|])")
# Words that lead somewhere, by their own name or by another one, or one word without marks around.
_LED = re.compile(
    r"(?<![`:\w])`(?P<words>(?:[^`<\n]|\n(?!\s*\n))+?)(?P<to>\s*<(?P<name>[^`<>\n]+)_>)?`(?P<marks>__?)"
    r"(?![\w`])|(?<![\w`:./<])(?P<bare>[A-Za-z][\w.-]*?)_(?![\w`>])"
)
# An address without a name.
_NAMELESS = re.compile(r"^\s*(?:\.\. +)?__:? +(?=\S+\s*$)")


def substituted(lines: Sequence[TextLine]) -> list[TextLine]:
    r"""
    ## Lines with what is meant in place of what stands for it
    """
    return _led(_replaced(_numbered(lines)))


def _numbered(lines: Sequence[TextLine]) -> Sequence[TextLine]:
    r"""
    Footnotes in their order get the numbers that no other has. One without a name is that of the
    first mark that no other belongs to.
    """
    matches = [_NUMBERED.match(line.text) for line in lines]
    names = [match["name"] for match in matches if match]
    if not names:
        return lines
    taken = {int(match["number"]) for line in lines if (match := _GIVEN.match(line.text))}
    free = (number for number in range(1, len(lines) + 2) if number not in taken)
    numbers = [*zip(names, map(str, free), strict=False)]
    by_name = {name: number for name, number in numbers if name}
    nameless = iter([number for name, number in numbers if not name])
    notes = iter(numbers)

    def mentioned(match: re.Match[str]) -> str:
        name = match["name"]
        return f"[{by_name.get(name, name) if name else next(nameless, '#')}]_"

    made: list[TextLine] = []
    for line, match in zip(lines, matches, strict=True):
        text = line.text
        if match:
            text = f"{match['before']}[{next(notes)[1]}]{text[match.end() :]}"
        made.append(TextLine(_MENTIONED.sub(mentioned, text), line.at))
    return made


def _replaced(lines: Sequence[TextLine]) -> list[TextLine]:
    r"""
    A text that is given stands where it is asked for, and no more in its own line; one that nobody
    asks for stays.
    """
    texts = (_REPLACES.sub(r"\g<text>", line.text) for line in lines)
    asked = {match["name"] for text in texts for match in _BARS.finditer(text)}
    given: dict[str, str] = {}
    left: list[TextLine] = []
    at = 0
    while at < len(lines):
        match = _REPLACES.match(lines[at].text)
        if match and match["name"] in asked:
            more, at = body(lines, at + 1, lines[at].indent)
            given[match["name"]] = " ".join([match["text"], *(line.text.strip() for line in more)])
            continue
        left.append(lines[at])
        at += 1

    def text_of(match: re.Match[str]) -> str:
        return given.get(match["name"], match[0]).strip()

    return [TextLine(_BARS.sub(text_of, line.text), line.at) for line in left] if given else left


def _led(lines: Sequence[TextLine]) -> list[TextLine]:
    r"""
    Words that lead to an address have it beside them. Those with two underscores have the next one
    that has no name.
    """
    known = [*targets(lines)]
    named = {name: address for name, address in known if name and address}
    nameless = iter([address for name, address in known if not name])
    if not any(address for _, address in known):
        return [*lines]

    def led(match: re.Match[str]) -> str:
        words = match["words"] or match["bare"]
        key = " ".join((match["name"] or words).split()).lower()
        # Of addresses without a name, each is for the words in its place.
        without = next(nameless, "") if match["marks"] == "__" and not match["to"] else ""
        address = without or named.get(key, "")
        if not address:
            return match[0]
        gap = re.match(r"\s*", match["to"] or " ")
        assert gap is not None
        return f"`{words}{gap[0] or ' '}<{address}>`_"

    text = "\n".join(line.text for line in lines)
    made = _LED.sub(led, text).split("\n")
    # An address that no words ask for is shown.
    left = len([*nameless])
    free = [at for at, shown in enumerate(made) if _NAMELESS.match(shown)]
    for at in free[len(free) - left :]:
        made[at] = _NAMELESS.sub("", made[at])
    return [TextLine(shown, line.at) for line, shown in zip(lines, made, strict=True)]

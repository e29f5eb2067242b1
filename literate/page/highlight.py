r"""
---
title: Highlighting
summary: Code becomes HTML, line by line.
---

Pygments reads the whole file at once, because only so it knows that a line is inside a string that
began above. Its tokens are then cut at the line ends.
"""

import html
from collections.abc import Iterable, Mapping
from itertools import groupby

from pygments.lexers import get_lexer_by_name
from pygments.lexers.python import PythonLexer
from pygments.lexers.special import TextLexer
from pygments.token import STANDARD_TYPES, _TokenType
from pygments.util import ClassNotFound

from literate.page.escaping import visible
from literate.page.templates import CODE
from literate.reading.notes import MARKS
from literate.reading.source import Source

PLAIN = ("n", "o", "p", "w", "")
# A browser would end a line behind the hyphen.
_ARROW = '<span class="arrow">-&gt;</span>'
# What Markdown would read as its own marks, and the line ends.
_SPELLED = MARKS | {ord("\n"): "&#10;"}


def lines(source: Source, links: Mapping[tuple[int, int], str]) -> list[str]:
    r"""
    ## The lines of a file as HTML

    One entry per line, without its line ending. The text of the HTML is exactly the text of the
    line. `links` gives, for line and column, the address that the name which begins there leads to.
    """
    return _cut(source.once(_tokens), links)


def whole(text: str) -> list[str]:
    r"""
    ## The lines of a program as HTML

    With its notes, which a page shows beside the code and a program doesn't.
    """
    return _cut(PythonLexer(stripnl=False, ensurenl=False).get_tokens(text), {})


def _cut(
    tokens: Iterable[tuple[_TokenType, str]], links: Mapping[tuple[int, int], str]
) -> list[str]:
    r"""
    A piece of HTML for each line.
    """
    marked: list[list[tuple[str, str, str]]] = [[]]
    column = 0
    for kind, value in tokens:
        name = STANDARD_TYPES.get(kind, "")
        # Plain names, signs and white space need no colour, so they need no element either.
        name = "" if name in PLAIN else name
        for index, piece in enumerate(value.split("\n")):
            if index:
                marked.append([])
                column = 0
            if piece:
                marked[-1].append((name, links.get((len(marked), column), ""), piece))
                column += len(piece)
    return [_elements(pieces) for pieces in marked]


def _tokens(source: Source) -> list[tuple[_TokenType, str]]:
    # Notes are not shown as code. A docstring is many tokens, and without it the rest is the same.
    texts = (line.text.rstrip("\r\n") if line.kind == "code" else "" for line in source.lines)
    text = "".join(f"{line}\n" for line in texts)
    return list(PythonLexer(stripnl=False, ensurenl=False).get_tokens(text))


def _elements(pieces: list[tuple[str, str, str]]) -> str:
    r"""
    Neighbours of one colour share an element.
    """
    elements = []
    for (name, link), run in groupby(pieces, key=lambda piece: piece[:2]):
        text = visible(html.escape("".join(piece for _, _, piece in run), quote=False))
        # Markdown would make spaces of a tab.
        text = text.replace("\t", "&#9;").replace("-&gt;", _ARROW)
        elements.append((name, html.escape(link), text))
    return CODE.elements(elements)


def block(code: str, language: str) -> str:
    r"""
    ## A block of code in a note as HTML

    All on one line. A language that Pygments doesn't know has no colours.
    """
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False, ensurenl=False)
    # An answer of a session ends with its line.
    end = "\n" if language == "pycon" else ""
    pieces = [
        ("" if STANDARD_TYPES.get(kind, "") in PLAIN else STANDARD_TYPES[kind], "", value)
        for kind, value in lexer.get_tokens(code + end)
    ]
    if end:
        kind, link, value = pieces[-1]
        pieces[-1] = kind, link, value.removesuffix(end)
    return _elements(pieces).translate(_SPELLED).replace("==", "=&#61;")

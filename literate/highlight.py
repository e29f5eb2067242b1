r"""
---
title: Highlighting
summary: Code becomes HTML, line by line.
---

Pygments reads the whole file at once, because only so it knows that a line is inside a string that
began above. Its tokens are then cut at the line ends.
"""

import html
from collections.abc import Mapping
from itertools import groupby

from pygments.lexers.python import PythonLexer
from pygments.token import STANDARD_TYPES, _TokenType

from literate.source import Source


def lines(source: Source, links: Mapping[tuple[int, int], str]) -> list[str]:
    r"""
    ## The lines of a file as HTML

    One entry per line, without its line ending. The text of the HTML is exactly the text of the
    line. `links` gives, for line and column, the address that the name which begins there leads to.
    """
    marked: list[list[tuple[str, str, str]]] = [[]]
    column = 0
    for kind, value in source.once(_tokens):
        name = STANDARD_TYPES.get(kind, "")
        # Plain names, signs and white space need no colour, so they need no element either.
        name = "" if name in ("n", "o", "p", "w") else name
        for index, piece in enumerate(value.split("\n")):
            if index:
                marked.append([])
                column = 0
            if piece:
                marked[-1].append((name, links.get((len(marked), column), ""), piece))
                column += len(piece)
    return [_elements(pieces) for pieces in marked]


def _tokens(source: Source) -> list[tuple[_TokenType, str]]:
    text = "".join(line.text.rstrip("\r\n") + "\n" for line in source.lines)
    return list(PythonLexer(stripnl=False, ensurenl=False).get_tokens(text))


def _elements(pieces: list[tuple[str, str, str]]) -> str:
    r"""
    Neighbours of one colour share an element.
    """
    elements = []
    for (name, link), run in groupby(pieces, key=lambda piece: piece[:2]):
        text = html.escape("".join(piece for _, _, piece in run), quote=False)
        text = f'<a href="{html.escape(link)}">{text}</a>' if link else text
        elements.append(f'<span class="{name}">{text}</span>' if name else text)
    return "".join(elements)

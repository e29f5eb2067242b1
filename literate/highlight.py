r"""
---
title: Highlighting
summary: Code becomes HTML, line by line.
---

Pygments reads the whole file at once, because only so it knows that a line is inside a string that
began above. Its tokens are then cut at the line ends.
"""

import html
from itertools import groupby

from pygments.lexers.python import PythonLexer
from pygments.token import STANDARD_TYPES

from literate.source import Source


def lines(source: Source) -> list[str]:
    r"""
    ## The lines of a file as HTML

    One entry per line, without its line ending. The text of the HTML is exactly the text of the
    line.
    """
    text = "".join(line.text.rstrip("\r\n") + "\n" for line in source.lines)
    lexer = PythonLexer(stripnl=False, ensurenl=False)
    marked: list[list[tuple[str, str]]] = [[]]
    for kind, value in lexer.get_tokens(text):
        name = STANDARD_TYPES.get(kind, "")
        # Plain names, signs and white space need no colour, so they need no element either.
        name = "" if name in ("n", "o", "p", "w") else name
        for index, piece in enumerate(value.split("\n")):
            if index:
                marked.append([])
            if piece:
                marked[-1].append((name, piece))
    return [_elements(pieces) for pieces in marked]


def _elements(pieces: list[tuple[str, str]]) -> str:
    r"""
    Neighbours of one colour share an element.
    """
    elements = []
    for name, run in groupby(pieces, key=lambda piece: piece[0]):
        text = html.escape("".join(piece for _, piece in run), quote=False)
        elements.append(f'<span class="{name}">{text}</span>' if name else text)
    return "".join(elements)

r"""
---
title: Escaping
summary: A text becomes HTML among Markdown that shows it as it is.
---

What authors wrote passes through two readers before a person sees it: Markdown, which takes a star
for emphasis, and the browser, which takes `<` for a tag. Neither may find a mark where the author
meant a character. And a person must see every character that is there.
"""

import html
import re
import unicodedata

from literate.page.templates import CODE
from literate.reading.notes import MARKS

# What is not seen, but changes what is seen: controls, and marks that turn the direction of text.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
# Python-Markdown has uses of its own for these two, and drops them elsewhere.
_DROPPED = {"\x02": "&#2;", "\x03": "&#3;"}


def literal(text: str) -> str:
    r"""
    ## A text as Markdown that shows it as it is
    """
    return html.escape(text).translate(MARKS)


def escaped(text: str) -> str:
    r"""
    ## A text as HTML that shows it as it is, on one line

    Not every engine leaves HTML in a note alone.
    """
    return visible(literal(re.sub(r"\s+", " ", text)))


def visible(text: str) -> str:
    r"""
    ## Show what can't be seen

    A character that turns the direction of text can make code look like other code. It keeps its
    place, so that a copy is exact, in an element that ends its effect and shows its number.
    """
    return _UNSEEN.sub(_shown, text)


def told(text: str) -> str:
    r"""
    ## The same where no element can be

    In an attribute or a drawing, the number stands in place of the character, and all is on one
    line.
    """
    return " ".join(_UNSEEN.sub(lambda match: f"U+{ord(match[0]):04X}", text).split())


def _shown(match: re.Match[str]) -> str:
    character = match[0]
    name = html.escape(unicodedata.name(character, "control character"))
    number = f"U+{ord(character):04X}"
    inside = _DROPPED.get(character, character)
    return CODE.unseen(name, number, inside)

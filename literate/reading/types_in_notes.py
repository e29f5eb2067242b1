r"""
---
title: Types in notes
summary: Where a list of arguments, results or errors names types.
---

In a list that was [read from a docstring](docstrings.py) the type of an argument stands in italics,
between brackets behind its name, and that of a result, or an error, before what is said of it. Only
what looks like a name may be one: “None or a list of Hand” has two, and what stands in quotes is a
value.
"""

import re
from collections.abc import Iterator

from literate.reading.notes import Note

_ITALICS = r"\*(?:\\.|[^*\\\n])+\*"
# Behind a name, or where an item begins, maybe with the name of a result.
_TYPES = re.compile(
    rf"(?:\A \(|(?m:^ *\* )(?:{_ITALICS} \()?)(?P<types>{_ITALICS}(?:, {_ITALICS})*)(?=[:)]|(?m:$))"
)
# The end of a full name is all that is shown behind a tilde, and a point in front is one of such an
# end. `_` has a backslash before it.
_WORD = re.compile(
    r"(?:\"[^\"]*\"|'[^']*')"
    r"|(?<![\w.~\\])~?(?P<name>\.?[^\W\d](?:\w|\\_)*(?:\.[^\W\d](?:\w|\\_)*)*)"
)


def types_in(text: str) -> Iterator[tuple[int, int, str]]:
    r"""
    ## The names in the types of a piece of text

    It is one between pieces of code. Each name has the place where it begins and ends.
    """
    for match in _TYPES.finditer(text):
        for word in _WORD.finditer(text, *match.span("types")):
            if word["name"]:
                yield word.start(), word.end(), word["name"].replace("\\", "")


def types_of(note: Note) -> Iterator[str]:
    r"""
    ## The names in the types of a note
    """
    if note.numbers:
        texts = (span.text for span in note.parsed.spans if span.kind == "text")
        yield from (name for text in texts for _, _, name in types_in(text))

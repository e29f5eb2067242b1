r"""
---
title: Reasons
summary: The sentences of a page that give a reason, to be checked by a reader.
---

A program can compare a number with its result and a shape with a run. A *reason* it can only find:
“the loss goes up because the contexts are new” may be wrong although both halves are right. So the
sentences are listed, each with its line, for somebody to read and to try:

```
python -m literate reasons labml_nn/transformers/mha.py
```

Each of them should be one of four: shown by a run that is linked or by a function that a test
calls, arithmetic on the page, said by a source that is named, or called a guess. A sentence with a
link has a mark, because it may say where its reason is shown. Nothing fails.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from literate.reading.front_matter import split
from literate.reading.notes import Note
from literate.reading.rows import rows
from literate.reading.source import Source

# Words that give a reason. “So that” tells a purpose, and “so long” compares.
_GIVES = re.compile(
    r"\b(?:because|since|therefore|hence|(?:that|this|which) is why|the (?:cause|reason)s?)\b"
    r"|(?:^|[,;:(] |\band )so\b(?! (?:that|far|long|many|much|few)\b)",
    re.IGNORECASE,
)
# A blank behind the end of a sentence. No small letter or digit: it may be an abbreviation's.
_ENDS = re.compile(r"(?<=[.?!:])[)”*_]*\s+(?=[^a-z\d\s])")
_LINK = re.compile(r"\]\(")


class Reason(NamedTuple):
    r"""
    ## A sentence that gives a reason

    With the line of the file where it begins, and whether it holds a link.
    """

    line: int
    sentence: str
    has_link: bool


def reasons(source: Source) -> Iterator[Reason]:
    r"""
    ## The reasons of a page

    Those of its paragraphs, in lists and answers too, in the order of the page.
    """
    for note in _notes(source):
        for block in note.parsed.blocks:
            if block.kind == "paragraph":
                yield from _in_text(block.text, note.line(block.first))


def _notes(source: Source) -> Iterator[Note]:
    # Front matter is no sentence.
    for row in rows(source):
        if row.note and row.documents is None and row.note.kind == "docstring":
            yield split(row.note, source.path)[1]
        elif row.note:
            yield row.note


def _in_text(text: str, first: int) -> Iterator[Reason]:
    # Where each sentence begins: at the start of the text, and behind each end of another.
    starts = [0, *(end.end() for end in _ENDS.finditer(text))]
    for start, behind in zip(starts, [*starts[1:], len(text)], strict=True):
        sentence = " ".join(text[start:behind].split())
        if _GIVES.search(sentence):
            line = first + text[:start].count("\n")
            yield Reason(line, sentence, bool(_LINK.search(sentence)))


def listing(sources: Iterable[Source]) -> Iterator[str]:
    r"""
    ## All of them as lines

    A place as compilers name it, where an editor can go; “+” marks a sentence with a link.
    """
    for source in sources:
        for one in reasons(source):
            yield f"{source.path}:{one.line}: {'+' if one.has_link else ' '} {one.sentence}"

r"""
---
title: Steps
summary: Pages that are read in an order know which step they are, and which one is next.
---

A page whose front matter says `layout: path` has a list of steps, of which each names its page and
can be ticked off:

```
* [ ] **1. [A text and a loss](../training/data.py).** Before you can improve a model …
* [ ] **2. [Letters and pairs](../training/counting.py).** Guessing knows nothing …
```

Each of these pages says which step it is, and leads to the next. Two steps may be parts of one
page. What else a step can have, its [program](programs.py) and its loss, is drawn
[beside it](path.py).
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from literate.reading.front_matter import of_source
from literate.reading.notes import literal
from literate.reading.rows import Note
from literate.reading.source import Source

PATH = "path"
_ITEM = re.compile(r"\* \[ \] \*\*(\d+)\.")
_PROGRAM = re.compile(r"""\s+\[[^\]]*\]\(([^()\s]+) "program"\)\s*""")
_STEP = re.compile(r"^\s*\* \[ \] \*\*(\d+)\. \[([^\]]*)\]\(([^)#]*)(?:#([^)]*))?\)", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    r"""
    ## A step

    * `number` is its place, of `total`
    * `title`, `path` and `anchor` are those of the link to it
    * `course` is the path of the page with the list
    * `program` is the target of the link to its [program](programs.py), seen from there
    """

    number: int
    total: int
    title: str
    path: str
    anchor: str
    course: str
    program: str = ""


def steps(sources: Iterable[Source]) -> tuple[Step, ...]:
    r"""
    ## The steps of all lists
    """
    all_steps: list[Step] = []
    for source in sources:
        matter, note, _ = of_source(source)
        if matter.layout != PATH:
            continue
        matches = _STEP.findall("\n".join(note.texts))
        programs = {one.number: one.program for one in items(note) if isinstance(one, Item)}
        here = posixpath.dirname(source.path)
        for number, title, file, anchor in matches:
            path = posixpath.normpath(posixpath.join(here, file)) if file else source.path
            title = literal(" ".join(title.split()))
            program = programs.get(int(number), "")
            all_steps.append(
                Step(int(number), len(matches), title, path, anchor, source.path, program)
            )
    return tuple(all_steps)


def on_page(path: str, every: tuple[Step, ...]) -> tuple[list[Step], Step | None]:
    r"""
    ## The steps that a page is

    With the step after the last of them, if there is one.
    """
    here = [step for step in every if step.path == path]
    later = [
        step
        for step in every
        if here and step.course == here[0].course and step.number > here[-1].number
    ]
    return here, later[0] if later else None


@dataclass(frozen=True)
class Item:
    r"""
    ## A step in the list

    * `number` is its place
    * `note` is what the list says of it
    * `program` is the target of the link to its [program](programs.py), if it has one, and `line`
      is the line of that link
    """

    number: int
    note: Note
    program: str = ""
    line: int = 0


def items(note: Note) -> Iterator[Note | Item]:
    r"""
    ## Take the steps out of a note

    What stands before, between and behind them are notes again. A step ends where something stands
    at the left edge after a blank line.
    """
    begin, texts = 0, note.texts
    while begin < len(texts):
        found = _ITEM.match(texts[begin])
        end = begin + 1
        while end < len(texts) and not _ITEM.match(texts[end]):
            is_edge = not texts[end - 1].strip() and not texts[end][:1].isspace()
            if found and texts[end].strip() and is_edge:
                break
            end += 1
        part = texts[begin:end]
        if not found:
            yield Note(note.kind, note.first + begin, part)
        else:
            named = {
                at: match[1] for at, text in enumerate(part) if (match := _PROGRAM.fullmatch(text))
            }
            rest = tuple("" if at in named else text for at, text in enumerate(part))
            at, program = next(iter(named.items()), (0, ""))
            line = note.first + begin
            yield Item(int(found[1]), Note(note.kind, line, rest), program, line + at)
        begin = end

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
[beside it](path_of_steps.py).
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from literate.page.escaping import literal
from literate.reading.front_matter import of_source
from literate.reading.notes import Block, Note
from literate.reading.source import Source

PATH = "path"
_LAYOUT = "layout:"
# How an item of the list begins that is a step, with its number.
_NUMBER = re.compile(r"\[ \] \*\*(\d+)\.")


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
        # Most pages aren't lists, and to know it takes no parser.
        if _LAYOUT not in source.text:
            continue
        matter, note, _ = of_source(source)
        if matter.layout != PATH:
            continue
        listed = [item for item in items(note) if isinstance(item, Item) and item.target]
        here = posixpath.dirname(source.path)
        for item in listed:
            file, _, anchor = item.target.partition("#")
            path = posixpath.normpath(posixpath.join(here, file)) if file else source.path
            title = literal(" ".join(item.title.split()))
            all_steps.append(
                Step(item.number, len(listed), title, path, anchor, source.path, item.program)
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
    * `title` are the words of the first link there, and `target` where it leads
    * `program` is the target of the link to its [program](programs.py), if it has one, and `line`
      is the line of that link
    """

    number: int
    note: Note
    title: str = ""
    target: str = ""
    program: str = ""
    line: int = 0


def items(note: Note) -> Iterator[Note | Item]:
    r"""
    ## Take the steps out of a note

    What stands before, between and behind them are notes again.
    """
    begin = 0
    for block in note.parsed.blocks:
        number = _NUMBER.match(block.text) if block.kind == "list_item" else None
        if number is None or block.depth != 1:
            continue
        if any(note.texts[begin : block.first]):
            yield note.part(begin, block.first)
        yield _item(int(number[1]), note, block)
        begin = block.last
    if any(note.texts[begin:]):
        yield note.part(begin)


def _item(number: int, note: Note, item: Block) -> Item:
    whole = note.part(item.first, item.last)
    inside = whole.parsed
    texts, program, line = list(whole.texts), "", whole.first
    for block in inside.blocks:
        if block.link and block.link.title == "program":
            texts[block.first : block.last] = [""] * (block.last - block.first)
            program = block.link.text
            line = whole.line(block.first)
    title, target = "", ""
    if inside.targets:
        link = inside.targets[0]
        title, target = "\n".join(whole.texts)[link.opening + 1 : link.closing], link.text
    rest = replace(whole, texts=tuple(texts))
    return Item(number, rest, title, target, program, line)

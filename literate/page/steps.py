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
page.
"""

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass

from literate.reading.front_matter import of_source
from literate.reading.notes import literal
from literate.reading.source import Source

_STEP = re.compile(r"^\s*\* \[ \] \*\*(\d+)\. \[([^\]]*)\]\(([^)#]*)(?:#([^)]*))?\)", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    r"""
    ## A step

    * `number` is its place, of `total`
    * `title`, `path` and `anchor` are those of the link to it
    * `course` is the path of the page with the list
    """

    number: int
    total: int
    title: str
    path: str
    anchor: str
    course: str


def steps(sources: Iterable[Source]) -> tuple[Step, ...]:
    r"""
    ## The steps of all lists
    """
    all_steps: list[Step] = []
    for source in sources:
        matter, note, _ = of_source(source)
        if matter.layout != "path":
            continue
        matches = _STEP.findall("\n".join(note.texts))
        here = posixpath.dirname(source.path)
        for number, title, file, anchor in matches:
            path = posixpath.normpath(posixpath.join(here, file)) if file else source.path
            title = literal(" ".join(title.split()))
            all_steps.append(Step(int(number), len(matches), title, path, anchor, source.path))
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

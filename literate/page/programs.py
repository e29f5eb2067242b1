r"""
---
title: Programs
summary: The program of each step of a path, shown as what it changes in the one before.
---

A step of a [path](steps.py) can name its program in a paragraph of its own, with the title
*program*:

```
* [ ] **5. [The mean of the past](one_attention.py).** A table sees the last letter only.

  [step_05.py](../../docs/course/step_05.py "program")
```

The program before it is that of the step before. On the page stand the lines that change, with a
few around them. The first program is shown whole. Blank lines are no change.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from literate.page.highlight import whole
from literate.page.templates import CODE

# So many lines stay above and below a change.
AROUND = 2


@dataclass(frozen=True)
class Line:
    r"""
    ## A line of a difference

    * `kind` is `same`, `removed`, `added`, or `gap` for lines that are left out
    * `number` is that in the program that has the line, and of a gap the number of its lines
    * `shown` is the line as HTML
    """

    kind: str
    number: int
    shown: str = ""


def difference(before: str, after: str) -> list[Line]:
    r"""
    ## What changes from one program to the next

    The lines of both in order, what was removed before what takes its place.
    """
    old, new = _written(before), _written(after)
    blocks = SequenceMatcher(
        None, [text for _, text, _ in old], [text for _, text, _ in new], False
    )
    lines: list[Line] = []
    for kind, *places in blocks.get_opcodes():
        old_from, old_to, new_from, new_to = places
        if kind == "equal":
            lines += [Line("same", number, shown) for number, _, shown in new[new_from:new_to]]
            continue
        lines += [Line("removed", number, shown) for number, _, shown in old[old_from:old_to]]
        lines += [Line("added", number, shown) for number, _, shown in new[new_from:new_to]]
    return [*_near(lines)]


def _written(text: str) -> list[tuple[int, str, str]]:
    r"""
    The lines that are not blank: their numbers, their texts, and both as HTML.
    """
    lines = text.split("\n")
    shown = whole(text)
    return [
        (number, line, html)
        for number, (line, html) in enumerate(zip(lines, shown, strict=False), 1)
        if line.strip()
    ]


def _near(lines: Sequence[Line]) -> Iterator[Line]:
    r"""
    What changes, and the lines around it. A gap stands for the others.
    """
    places = [at for at, line in enumerate(lines) if line.kind != "same"]
    near = {at + step for at in places for step in range(-AROUND, AROUND + 1)}
    left_out = 0
    for at, line in enumerate(lines):
        if at in near:
            if left_out:
                yield Line("gap", left_out)
            left_out = 0
            yield line
        else:
            left_out += 1
    if left_out:
        yield Line("gap", left_out)


def changed(lines: Sequence[Line]) -> tuple[int, int]:
    r"""
    ## How many lines are added and removed
    """
    kinds = [line.kind for line in lines]
    return kinds.count("added"), kinds.count("removed")


def listing(lines: Sequence[Line]) -> str:
    r"""
    ## A difference as HTML
    """
    return "\n".join(CODE.of_program(line) for line in lines)


def program(text: str) -> list[Line]:
    r"""
    ## A whole program
    """
    return [Line("same", number, shown) for number, _, shown in _written(text)]

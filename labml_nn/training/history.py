r"""
---
title: A Record Without Gaps
summary: One line for each point of the curves, none lost and none twice, however often a run dies.
---

What a run measured stands in its folder in “history.jsonl”, one line of JSON for each step that
was recorded, written when it is known.

A run that was killed may have written lines *after* its last checkpoint, and the last one may
be cut off. It goes on from the checkpoint and makes those steps again; so their old lines
go first. What is left is the record of a run that was never touched.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from labml_nn.training.files import replacing, writing

# Steps, each with its named numbers.
History = list[tuple[int, dict[str, float]]]

NAME = "history.jsonl"


def read_history(run: Path) -> History:
    r"""
    ## Read it

    Also that of a run that is under way. Half a line at the end is none.
    """
    path = run / NAME
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    history = []
    for line in lines:
        values = json.loads(line)
        history.append((values.pop("step"), values))
    return history


def rewind(run: Path, step: int) -> History:
    r"""
    ## Go back to a step

    Returns what was recorded up to `step`, and leaves no more than that on the disk.
    """
    history = [(number, values) for number, values in read_history(run) if number <= step]
    with replacing(run / NAME) as temporary:
        temporary.write_text("".join(map(line_of, history)), encoding="utf-8")
    return history


def line_of(point: tuple[int, dict[str, float]]) -> str:
    r"""
    ### A point as a line
    """
    step, values = point
    return json.dumps({"step": step, **values}) + "\n"


@contextmanager
def appending(run: Path) -> Iterator[Callable[[int, dict[str, float]], None]]:
    r"""
    ## Write on

    Gives a function that takes a step and named numbers. When it returns, they are on the
    disk: a checkpoint that comes next will not know more than the record does.
    """
    path = run / NAME
    with writing(path):
        file = path.open("a", encoding="utf-8")

    def append(step: int, values: dict[str, float]) -> None:
        with writing(path):
            file.write(line_of((step, values)))
            file.flush()
            os.fsync(file.fileno())

    try:
        yield append
    finally:
        file.close()

r"""
---
title: Trace
summary: A recorded run as a file beside the page, and the step it begins with as a table.
---

The [record](recording.py) of a run lies beside its page, in `trace.json`, which is fetched when a
reader asks for it. Without JavaScript the page itself shows one step, folded up: the one with which
the idea of the page begins. It tells which line, what it bound, and a corner of the numbers.
"""

import html
import json
import math
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

# The corner of a tensor that the page itself shows.
ROWS, COLUMNS = 7, 8

# Along these axes one place is like the other. Where another can be rows, they have sliders.
ALIKE = {"batch_size", "heads"}

# A run of one step has nowhere to go.
FEWEST_STEPS = 2


def with_axes(
    record: Mapping[str, Any], lines: Mapping[int, Mapping[Any, Any]]
) -> Mapping[str, Any]:
    r"""
    ## Name the axes of the record

    `lines` are the tensors of each line that have names, with their `name`, `sizes` and `axes`. An
    axis that has none there, such as that of a list that is longer in one run, is its length.
    """
    axes_of = {
        (line, one.name, one.sizes[0]): list(one.axes)
        for line, found in lines.items()
        for one in found.values()
    }

    def named(line: int, name: str, index: int) -> list[Any]:
        shape = tuple(record["tensors"][index][0])
        return [name, axes_of.get((line, name, shape), list(map(str, shape))), index]

    steps = [
        [line, [named(line, *part) for part in parts], passed]
        for line, parts, passed in record["steps"]
    ]
    return {**record, "steps": steps}


def written(record: Mapping[str, Any]) -> str:
    r"""
    ## The record as a file

    The same record gives the same bytes.
    """
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def telling(record: str) -> str:
    r"""
    ## The same as a script

    It tells the page of the record, with an event. A page that was opened as a file can load
    nothing else.
    """
    return f'dispatchEvent(new CustomEvent("trace", {{ detail: {record.strip()} }}));\n'


def first_step(record: Mapping[str, Any], text: str) -> dict[str, Any] | None:
    r"""
    ## The step that the run begins with, for the template

    `text` is that of the source; what is returned is escaped. Where a line has bound several, it is
    the one that the panel shows: weights, or else the last. None if there is no run to show.
    """
    if len(record.get("steps", ())) < FEWEST_STEPS:
        return None
    line, parts, _ = record["steps"][record["start"]]
    tensors = record["tensors"]
    weights = [part for part in parts if tensors[part[2]][3] is not None]
    name, axes, index = (weights[:1] or parts)[-1]
    shape, slice_, _, axis, low, mean, high, numbers = tensors[index]
    rows, columns = rows_and_columns(axes, slice_ or shape, axis)
    named = ", ".join(
        str(size) if axis == str(size) else f"{axis} {size}"
        for axis, size in zip(axes, shape, strict=True)
    )
    return {
        "number": record["start"] + 1,
        "line": line,
        "code": html.escape(text.split("\n")[line - 1].strip()),
        "steps": len(record["steps"]),
        "tensor": html.escape(f"{name.replace('return', '→')} [{named}]"),
        "rows": html.escape(axes[rows]) if rows is not None else "",
        "columns": html.escape(axes[columns]) if columns is not None else "",
        "others": ", ".join(
            f"{html.escape(axes[other])} 0"
            for other, size in enumerate(shape)
            if size > 1 and other not in (rows, columns)
        ),
        "cells": _corner(numbers.split(), slice_ or shape, rows, columns),
        "numbers": [_short(str(one)) for one in (low, mean, high)] if low is not None else [],
    }


def rows_and_columns(
    axes: Sequence[str], shape: Sequence[int], axis: int | None
) -> tuple[int | None, int | None]:
    r"""
    ## Which axes are rows and columns

    Two axes of one kind, `seq_len_q` and `seq_len_k`, belong together; otherwise columns are the
    last axis, and rows the first that isn't `ALIKE`. Weights are read along the `axis` on which
    they sum to one. The panel does the same.
    """
    long = [at for at, size in enumerate(shape) if size > 1]
    if len(long) < 2:
        return None, (long[0] if long else None)
    stems = [re.sub(r"_[a-z]$", "", one) for one in axes]
    pairs = [(one, two) for one, two in combinations(long, 2) if stems[one] == stems[two]]
    if axis is None or shape[axis] < 2:
        unlike = [at for at in long[:-1] if axes[at] not in ALIKE]
        return pairs[0] if pairs else ((unlike or long)[0], long[-1])
    # The other axis of a pair is its sum without this one.
    partners = [one + two - axis for one, two in pairs if axis in (one, two)]
    others = [at for at in long if at != axis]
    return (partners or others)[0], axis


def _corner(
    numbers: Sequence[str], shape: Sequence[int], rows: int | None, columns: int | None
) -> list[list[str]]:
    r"""
    The first rows and columns, the other axes being at their first place.
    """
    if not numbers:
        return []
    strides = [math.prod(shape[at + 1 :]) for at in range(len(shape))]

    def places(axis: int | None, most: int) -> list[int]:
        return [0] if axis is None else [at * strides[axis] for at in range(min(shape[axis], most))]

    return [
        [_short(numbers[down + across]) for across in places(columns, COLUMNS)]
        for down in places(rows, ROWS)
    ]


def _short(number: str) -> str:
    return re.sub(r"^(-?)\.", r"\g<1>0.", number).replace("-", "−").replace("inf", "∞")

r"""
---
title: Judging
summary: What a reader's line gives beside the lesson's, and which known mistake it is.
---

A reader has written a line, or mended a bug. The example of the lesson runs with the reader's code
and with the lesson's, and all results are compared, those of the function with the line included.
If they differ, each mistake that is likely is made in turn: the one that gives what the reader's
code gives is named.

Dropout is off while both run. Which elements it drops depends on how a tensor lies in memory: of
two right lines that leave their results in different orders of axes, each would lose other
elements. What was to be dropped is compared instead, without regard to the order.

The function stands in notebooks as well, which have a copy of its text. So it brings all that it
needs along.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any

# What makes a run ready: the code of a function, and the example that calls it.
Run = Callable[[], tuple[CodeType, Callable[[], Any]]]


# A copy knows none of the names of this module: so they are quoted.
def judge_runs(
    lesson: "Run",
    yours: "Run",
    wrong: "Mapping[str, Run]",
    bound: "Sequence[str]",
    bug: bool = False,
) -> str:
    r"""
    ## Say how your results differ from the lesson's

    * `lesson` and `yours` are the two runs, and those of `wrong` are mistakes by their names
    * `bound` are names that the line binds, which are compared as well
    * with a `bug` the first mistake is the one that was there from the beginning, and not named

    An error of `yours` is raised.
    """
    import sys
    from contextlib import suppress

    import torch
    from torch.nn import functional

    def parts(name: str, value: "Any") -> "Iterator[tuple[str, Any]]":
        if isinstance(value, tuple | list | dict):
            for key, part in value.items() if isinstance(value, dict) else enumerate(value):
                yield from parts(f"{name}[{key!r}]", part)
        elif isinstance(value, (torch.Tensor, int, float, str)):
            is_text = isinstance(value, str)
            yield name, value if is_text else torch.as_tensor(value).detach().clone()

    def run(made: "Run") -> tuple[list, list]:
        results: list = []
        way: list = []
        code, example = made()
        dropped: list = []

        def keep(
            input: "Any", p: float = 0.5, training: bool = True, inplace: bool = False
        ) -> "Any":
            chance = float(p) if training else 0.0
            numbers = input.detach().flatten().sort().values
            dropped.extend(parts("what dropout is given", (chance, numbers)))
            return input

        def look(frame: "Any", event: str, value: "Any") -> None:
            if event == "return" and frame.f_code is code:
                results.extend(parts("what it returns", value))
                for name in bound:
                    way.extend(parts(f"`{name}`", frame.f_locals.get(name)))

        before = sys.getprofile()
        dropout = functional.dropout
        functional.dropout = keep
        sys.setprofile(look)
        try:
            with torch.random.fork_rng():
                torch.manual_seed(1)
                results.extend(parts("what the example returns", example()))
        finally:
            sys.setprofile(before)
            functional.dropout = dropout
        return results + dropped, way

    def difference(found: list, expected: list) -> str:
        if [name for name, _ in found] != [name for name, _ in expected]:
            return "something is missing in the results, or there is too much"
        for (name, one), (_, other) in zip(found, expected, strict=True):
            if isinstance(one, str) or isinstance(other, str):
                if one != other:
                    return f"{name} is {one!r}, and the lesson's {other!r}"
            elif one.shape != other.shape:
                shape, right = list(one.shape), list(other.shape)
                return f"{name} has the shape {shape}, and the lesson's {right}"
            elif one.dtype != other.dtype:
                return f"{name} is {one.dtype}, and the lesson's {other.dtype}"
            elif not torch.allclose(one.double(), other.double(), 1e-4, 1e-5, equal_nan=True):
                return f"{name} has the right shape, but other numbers than the lesson's"
        return ""

    results, way = run(lesson)
    found, found_way = run(yours)
    said, on_the_way = difference(found, results), difference(found_way, way)
    if not said and not on_the_way:
        return "Right: the same numbers as the lesson's, wherever one can look."
    for number, (name, mistake) in enumerate(wrong.items()):
        # A mistake may stop the example, or its source may be out of reach.
        with suppress(Exception):
            known, known_way = run(mistake)
            if not difference(found, known) and not difference(found_way, known_way):
                if bug and number == 0:
                    return "Not yet. The bug is still there."
                return f"Not yet. This is a known mistake: {name}."
    if said:
        return f"Not yet: {said}."
    return f"The example gives the right results, so it can't tell. But {on_the_way}."

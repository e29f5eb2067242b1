r"""
---
title: Seen
summary: The shapes and first values of what each line binds, in a run in the browser.
---

A line that runs a hundred times is told once for each of its shapes, with the first values of its
first calls. To tell two runs apart, first values are not enough: a mask that hides one more key may
change the last row only. So each tensor has a mark, two sums over its numbers, of a large tensor
over the first million; equal tensors have equal marks.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from page_runner.values import tensors_in

# So many numbers of a tensor are shown.
FIRST = 6

# Of a larger tensor only so many numbers make its mark.
MOST_NUMBERS = 1 << 20

# A name that gets ever new shapes on a line, in a loop, is told so often.
MOST_TENSORS = 64

# Of the calls in which a line has bound one shape, so many are kept to be compared.
MOST_CALLS = 16

# Name, shape and type of a tensor.
Key = tuple[str, tuple[int, ...], str]


class Seen:
    r"""
    ## What a run has bound

    It is called as the [recorder](../instrument.py#instrument) that instrumented code calls.
    """

    def __init__(self) -> None:
        self.lines: dict[int, dict[Key, list[Any]]] = {}
        # How often there was each shape, and each name of a line.
        self.times: dict[tuple[int, Key], int] = {}
        self.numbers: dict[tuple[int, str], int] = {}

    def __call__(self, line: int, owner: str | None, name: str, value: Any) -> Any:
        r"""
        ### A line has bound a value
        """
        with torch.no_grad():
            for part, tensor in tensors_in(name, value):
                self._see(line, part, tensor)
        return value

    def enter(self, function: str) -> None:
        r"""
        ### A function begins

        Calls are not told apart here: each line is told as a whole.
        """

    def passes(self, name: str, things: Iterable[Any]) -> Iterable[Any]:
        r"""
        ### A loop goes through things
        """
        return things

    def axis(self, name: str, value: Any) -> None:
        r"""
        ### Lengths of axes

        The page knows their names from its recorded run.
        """

    def _see(self, line: int, name: str, tensor: Tensor) -> None:
        try:
            shape = tuple(int(size) for size in tensor.shape)
        except (RuntimeError, TypeError, ValueError):
            return
        dtype = str(tensor.dtype).removeprefix("torch.")
        known = self.lines.setdefault(line, {})
        number = self.numbers[line, name] = self.numbers.get((line, name), 0) + 1
        key = name, shape, dtype
        if key not in known:
            if sum(other == name for other, *_ in known) == MOST_TENSORS:
                return
            known[key] = []
            self.times[line, key] = 0
        self.times[line, key] += 1
        if len(known[key]) < MOST_CALLS:
            known[key].append([number, *first_and_mark(tensor)])

    def told(self) -> dict[int, list[list[Any]]]:
        r"""
        ### As it is told

        By the line, a list of tensors: name, shape, dtype, the calls that were kept, and how often
        there was one. A call has its number among all of this name, first values and a mark.
        """
        return {
            line: [[*key, calls, self.times[line, key]] for key, calls in known.items()]
            for line, known in sorted(self.lines.items())
        }


def first_and_mark(tensor: Tensor) -> tuple[list[str], str]:
    r"""
    ## The first values of a tensor, and its mark

    Some tensors have no numbers to read: then there are no values, and the mark is empty.
    """
    try:
        flat = tensor.detach().reshape(-1)
        first = [written(one) for one in flat[:FIRST].tolist()]
        if tensor.is_complex():
            flat = torch.view_as_real(flat).reshape(-1)
        numbers = flat[:MOST_NUMBERS].to(torch.float64)
        # Two places that have changed their numbers change this sum, too.
        places = torch.arange(1, len(numbers) + 1, dtype=torch.float64)
        total, by_place = numbers.sum().item(), (numbers * places).sum().item()
        return first, f"{total:.9g} {by_place:.9g}"
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError, AttributeError):
        return [], ""


def written(number: float | complex) -> str:
    r"""
    ## A number with four digits
    """
    if isinstance(number, bool | int):
        return str(number)
    if isinstance(number, complex):
        return f"{number:.3g}"
    return f"{number:.4g}"

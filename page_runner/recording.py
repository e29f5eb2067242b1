r"""
---
title: Recording
summary: What each line of a run bound, in the order of execution, with the numbers.
---

A page that has run once can be stepped through: line by line, and beside each line the tensor that
it bound. So the run is written down while it happens. Three things keep the record small enough to
be fetched by a phone:

* A line that runs again and again, in a loop or in many calls, is recorded in its first rounds
* Equal tensors are kept once. What is returned in one line and bound in the next is one tensor
* Of a large tensor a slice is kept, and numbers have three digits. If that is still too much, all
  slices of the page get smaller, the largest first
"""

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from page_runner.calls import NOWHERE, Calls, Moment

# A line is recorded so often; and this is the end of the record, in steps and in bytes.
MOST_ROUNDS = 6
MOST_STEPS = 100
MOST_BYTES = 40_000

# A slice has at most so many rows, columns, and numbers in all.
ROWS, COLUMNS = 32, 64
MOST_NUMBERS = ROWS * COLUMNS

# Below this part of the largest number, the mean of 32-bit numbers is rounding noise.
NOISE = 1e-6

# How far the sum of weights may be from one; of types with fewer digits, farther.
NEAR = 1e-3


# What belongs to a function or a class and is bound by a line; arguments were bound by the call.
_BINDS = re.compile(r"(?:return|yield)\b|self\.")


@dataclass
class Kept:
    r"""
    ## A tensor that was kept

    * `axis` is the one along which weights sum to one; None if these are no weights
    * `low`, `mean` and `high` sum up its numbers, with four digits; None if not all are finite
    * `part` is a slice of it as it was, None if it has no numbers to read
    """

    shape: tuple[int, ...]
    dtype: str
    axis: int | None = None
    low: float | None = None
    mean: float | None = None
    high: float | None = None
    part: Tensor | None = None

    def told(self, most: int) -> list[Any]:
        r"""
        ### As it is written

        With at most so many numbers, of three digits; whole numbers have all of theirs. Zeros
        before the point would be a fifth of the text.
        """
        lengths, text = self.shape, ""
        if self.part is not None:
            lengths = cut(self.shape, most)
            numbers = self.part[tuple(map(slice, lengths))].flatten().tolist()
            form = "{:.3g}" if "float" in self.dtype else "{:.0f}"
            text = re.sub(r"(?<!\d)0\.", ".", " ".join(map(form.format, numbers)))
        slice_ = None if lengths == self.shape else lengths
        return [self.shape, slice_, self.dtype, self.axis, self.low, self.mean, self.high, text]


@dataclass
class Step:
    r"""
    ## A line that has bound something

    * `round` tells how often the line has run, from 1
    * `parts` are the names that it has bound, each with its tensor
    """

    line: int
    round: int
    moment: Moment
    parts: dict[str, int] = field(default_factory=dict)


class Recording:
    r"""
    ## The record of a run

    * `tensors` are all that were kept, each once; a tensor is known by its place in this list
    * `steps` are lines with the names that they bound, each with its tensor, in the order of
      execution; and when that was
    * `calls` knows which function runs, and which pass of a loop
    * `left_out` is the number of steps that were not kept
    """

    def __init__(self) -> None:
        self.tensors: list[Kept] = []
        self.steps: list[Step] = []
        self.calls = Calls()
        self.left_out = 0
        self._known: dict[Any, int] = {}
        self._rounds: Counter[int] = Counter()
        # The functions that were given a tensor.
        self._given: set[str] = set()
        # The line and the names of the step that goes on, and the tensor that it has ended with.
        self._line: int | None = None
        self._names: set[str] = set()
        self._last: Tensor | None = None

    def add(
        self,
        line: int,
        owner: str | None,
        name: str,
        tensor: Tensor,
        needed: bool,
        moment: Moment = NOWHERE,
    ) -> int | None:
        r"""
        ### A line has bound a tensor

        `owner` is the function or class that an argument, a result or an attribute belongs to. The
        result is the place among the `tensors`; None if the tensor isn't kept, because it is
        neither in a step nor `needed`.
        """
        is_step = False
        if owner is not None and not _BINDS.match(name):
            self._given.add(owner)
        else:
            is_step = self._begins(line, name, tensor, moment)
        if not is_step and not needed:
            return None
        index = self._keep(tensor)
        if is_step:
            self.steps[-1].parts[name] = index
        return index

    def _begins(self, line: int, name: str, tensor: Tensor, moment: Moment) -> bool:
        r"""
        Is this worth a step? Several names of one line are one step. A name that is bound again
        begins a new one. A result that was bound the moment before tells nothing new, and neither
        does a parameter that a constructor has made.
        """
        same, self._last = tensor is self._last, tensor
        if same and name.startswith("return"):
            return False
        if isinstance(tensor, torch.nn.Parameter) and name.startswith("self."):
            return False
        if line != self._line or name in self._names:
            self._line, self._names = line, set()
            self._rounds[line] += 1
            if self._rounds[line] > MOST_ROUNDS:
                self.left_out += 1
            else:
                self.steps.append(Step(line, self._rounds[line], moment))
        self._names.add(name)
        return self._rounds[line] <= MOST_ROUNDS

    def _keep(self, tensor: Tensor) -> int:
        r"""
        As it is now.
        """
        kept = read(tensor)
        numbers = None if kept.part is None else kept.part.numpy().tobytes()
        key = (kept.shape, kept.dtype, kept.low, kept.mean, kept.high, numbers)
        if key not in self._known:
            self._known[key] = len(self.tensors)
            self.tensors.append(kept)
        return self._known[key]

    def told(self, needed: set[int]) -> dict[str, Any]:
        r"""
        ### The record, as it is written

        Where there are too many steps, later rounds go first. Of tensors that are neither in a step
        nor `needed` nothing is written.
        """
        steps, rounds = self.steps, MOST_ROUNDS
        while len(steps) > MOST_STEPS and rounds > 1:
            rounds -= 1
            steps = [step for step in steps if step.round <= rounds]
        steps = steps[:MOST_STEPS]
        used = needed | {index for step in steps for index in step.parts.values()}
        return {
            "steps": [
                (step.line, list(step.parts.items()), self.calls.told(step.moment))
                for step in steps
            ],
            "start": self._start(steps),
            "left_out": self.left_out + len(self.steps) - len(steps),
            "limit": limit([self.tensors[index] for index in used]),
            "tensors": self._written(used),
        }

    def _start(self, steps: list[Step]) -> int:
        r"""
        Where the idea of the page begins: in the first function that was given a tensor. What comes
        before are random numbers of the example, and parameters.
        """
        inside = [
            at
            for at, step in enumerate(steps)
            if step.moment.function in self._given and step.moment.function != "example"
        ]
        return inside[0] if inside else 0

    def _written(self, used: set[int]) -> list[list[Any]]:
        most = MOST_NUMBERS
        while True:
            tensors = [one.told(most) if at in used else [] for at, one in enumerate(self.tensors)]
            if sum(len(one[-1]) for one in tensors if one) <= MOST_BYTES:
                return tensors
            most //= 2


def read(tensor: Tensor) -> Kept:
    r"""
    ## Read a tensor

    Some have no numbers to read, such as those inside of `torch.vmap`, and complex ones have no
    order. Of these the shape and the type are all that is kept.
    """
    kept = Kept(tuple(map(int, tensor.shape)), str(tensor.dtype).removeprefix("torch."))
    if tensor.is_complex() or not math.prod(kept.shape):
        return kept
    try:
        numbers = tensor.detach().to("cpu", torch.float64)
        found = [float(one) for one in (numbers.min(), numbers.mean(), numbers.max())]
        kept.part = numbers[tuple(map(slice, cut(kept.shape, MOST_NUMBERS)))].clone()
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
        return kept
    if all(map(math.isfinite, found)):
        low, mean, high = found
        mean = 0.0 if abs(mean) < NOISE * max(-low, high) else mean
        kept.low, kept.mean, kept.high = (float(f"{one:.4g}") for one in (low, mean, high))
        near = max(NEAR, 4 * torch.finfo(tensor.dtype).eps) if tensor.is_floating_point() else 0
        if near and low >= 0 and high < 1 + near:
            kept.axis = weights_axis(numbers, near)
    return kept


def weights_axis(numbers: Tensor, near: float) -> int | None:
    r"""
    ## The axis along which weights sum to one

    Where several axes do, as in a table of equal weights, it is the last. Nothing but zeros and
    ones are no weights: one-hot vectors sum to one, too.
    """
    if bool((numbers == numbers.round()).all()):
        return None
    for axis in reversed(range(numbers.dim())):
        if numbers.shape[axis] > 1 and bool(((numbers.sum(axis) - 1).abs() < near).all()):
            return axis
    return None


def limit(tensors: list[Kept]) -> float:
    r"""
    ## Where the colours end

    At 1, 2 or 5 times a power of ten that half of the tensors stay below. Whole numbers count
    something else, and are left aside.
    """
    floats = [(one.low, one.high) for one in tensors if "float" in one.dtype]
    largest = sorted(
        max(-low, high) for low, high in floats if low is not None and high is not None
    )
    middle = largest[len(largest) // 2] if largest else 0
    if not middle:
        return 1.0
    power = 10.0 ** math.floor(math.log10(middle))
    return next(float(f"{n * power:.1g}") for n in (1, 2, 5, 10) if middle <= n * power)


def cut(shape: tuple[int, ...], most: int) -> tuple[int, ...]:
    r"""
    ## The lengths of a slice

    The two longest axes are rows and columns. Where the numbers are too many, first the other axes
    are cut to their first place, then the longer of the two is halved.
    """
    lengths = list(shape)
    longest = sorted(range(len(shape)), key=lambda axis: (-shape[axis], axis))[:2]
    for axis, limit in zip(sorted(longest)[::-1], (COLUMNS, ROWS), strict=False):
        lengths[axis] = min(lengths[axis], limit)
    if math.prod(lengths) > most:
        lengths = [length if axis in longest else 1 for axis, length in enumerate(lengths)]
    while math.prod(lengths) > most:
        axis = max(sorted(longest), key=lengths.__getitem__)
        lengths[axis] = -(-lengths[axis] // 2)
    return tuple(lengths)

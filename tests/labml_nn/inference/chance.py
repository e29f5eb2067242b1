r"""Chance taken out of a function: every way through it, with its probability."""

from collections import defaultdict
from collections.abc import Callable
from unittest.mock import patch

import torch
from torch import Tensor


class Way:
    r"""One way through: it decides as told at first, and then for what is possible."""

    def __init__(self, told: list[int]) -> None:
        self.told, self.taken, self.others = told, [], []
        self.probability = 1.0

    def choose(self, probabilities: list[float]) -> int:
        r"""An index; the other possible ones are ways of their own, if nobody has told which."""
        assert abs(sum(probabilities) - 1) < 1e-12
        assert min(probabilities) >= 0
        first, *later = [i for i, one in enumerate(probabilities) if one > 0]
        if len(self.taken) < len(self.told):
            first, later = self.told[len(self.taken)], []
        self.others += [[*self.taken, i] for i in later]
        self.taken.append(first)
        self.probability *= probabilities[first]
        return first

    def bernoulli(self, p: Tensor, *, generator: object = None) -> Tensor:
        r"""In place of `torch.bernoulli`, for a single number."""
        return torch.tensor(float(self.choose([1 - p.item(), p.item()])))

    def multinomial(self, p: Tensor, n: int, *, generator: object = None) -> Tensor:
        r"""In place of `torch.multinomial`, for a single draw."""
        assert n == 1
        return torch.tensor([self.choose(p.tolist())])


def exactly(run: Callable[[], Tensor]) -> dict[tuple[int, ...], float]:
    r"""The distribution of the tokens that a function returns."""
    found: dict[tuple[int, ...], float] = defaultdict(float)
    waiting: list[list[int]] = [[]]
    while waiting:
        way = Way(waiting.pop())
        with (
            patch.object(torch, "bernoulli", way.bernoulli),
            patch.object(torch, "multinomial", way.multinomial),
        ):
            result = run()
        found[tuple(result.tolist())] += way.probability
        waiting += way.others
    return found

r"""What optimizers do with the same gradients, for the tests of each."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from tests.oracles.compare import largest

Shapes = Sequence[tuple[int, ...]]


def draw(shapes: Shapes, seed: int, dtype: torch.dtype = torch.float64) -> list[nn.Parameter]:
    r"""Parameters, or gradients for them."""
    generator = torch.Generator().manual_seed(seed)
    return [nn.Parameter(torch.randn(shape, generator=generator).to(dtype)) for shape in shapes]


def step(optimizer: torch.optim.Optimizer, gradients: Sequence[Tensor]) -> None:
    r"""With these gradients, of the parameters of all groups in their order."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient.detach().clone()
    optimizer.step()


Make = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


def apart(shapes: Shapes, one: Make, other: Make, steps: int) -> float:
    r"""How far two optimizers get from each other at most, with a rate that falls."""
    mine, theirs = draw(shapes, 1), draw(shapes, 1)
    optimizers, furthest = (one(mine), other(theirs)), 0.0
    rate = optimizers[0].param_groups[0]["lr"]
    for n in range(steps):
        for optimizer in optimizers:
            optimizer.param_groups[0]["lr"] = rate / (n + 1)
            step(optimizer, draw(shapes, 100 + n))
        furthest = max(furthest, largest(mine, theirs))
    return furthest


def goes_on_with_its_state(make: Make, shapes: Shapes) -> None:
    r"""After each step, the state of one goes into a new optimizer."""
    straight, stopped = draw(shapes, 1), draw(shapes, 1)
    first, second = make(straight), make(stopped)
    for n in range(6):
        step(first, draw(shapes, 100 + n))
        step(second, draw(shapes, 100 + n))
        state = second.state_dict()
        second = make(stopped)
        second.load_state_dict(state)
    assert largest(stopped, straight) == 0

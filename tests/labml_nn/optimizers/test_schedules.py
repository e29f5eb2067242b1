from collections.abc import Callable
from functools import partial

import pytest
import torch

from labml_nn.optimizers.schedules import cosine, inverse_square_root, linear
from labml_nn.training.loop import learning_rate
from tests.labml_nn.transformers.seam import equals


def from_pytorch(schedule: Callable[..., float], final: float) -> float:
    r"""How far the rates are from those of two schedulers, one after the other."""
    schedulers = torch.optim.lr_scheduler
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    up = schedulers.LinearLR(optimizer, 1 / 6, 1.0, 5)
    down = {
        cosine: lambda: schedulers.CosineAnnealingLR(optimizer, 24, eta_min=final),
        linear: lambda: schedulers.LinearLR(optimizer, 1.0, final, 24),
    }[schedule]()
    theirs = schedulers.SequentialLR(optimizer, [up, down], [6])
    expected = []
    for _ in range(30):
        expected.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        theirs.step()
    # 5.7 steps of rise are 6.
    found = [schedule(step, 30, warmup=0.19, final=final) for step in range(30)]
    return max(abs(one - other) for one, other in zip(found, expected, strict=True))


def test_the_cosine_is_that_of_the_loop() -> None:
    expected = [learning_rate(step, 2000) for step in range(2000)]
    assert [cosine(step, 2000) for step in range(2000)] == pytest.approx(expected)


def from_paper() -> float:
    r"""How far the inverse square root is from the formula of the paper."""
    furthest = 0.0

    # Section 5.3, whose steps count from 1, over its value at the top.
    def paper(step: int) -> float:
        return 512**-0.5 * min(step**-0.5, step * 4000**-1.5)

    for t in (0, 1, 99, 3998, 3999, 4000, 12345):
        found = inverse_square_root(t, 80_000, warmup=0.05)
        furthest = max(furthest, abs(found - paper(t + 1) / paper(4000)))
    return furthest


ORACLES = {
    "torch's CosineAnnealingLR": lambda: max(map(partial(from_pytorch, cosine), (0.0, 0.2))),
    "torch's LinearLR": lambda: max(map(partial(from_pytorch, linear), (0.0, 0.2))),
    "the formula of the paper": from_paper,
}
test_they_are_what_others_compute = equals(ORACLES, 1e-12)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (cosine, [0.01, 0.51, 1.00, 0.88, 0.55, 0.22, 0.10]),
        (linear, [0.01, 0.51, 1.00, 0.76, 0.50, 0.24, 0.00]),
        (inverse_square_root, [0.01, 0.51, 1.00, 0.43, 0.31, 0.25, 0.22]),
    ],
)
def test_the_table_of_the_page(schedule: Callable[..., float], expected: list[float]) -> None:
    steps = (0, 50, 99, 550, 1050, 1550, 1999)
    assert [schedule(step, 2000) for step in steps] == pytest.approx(expected, abs=0.00501)
    # Without a rise the first step is the highest.
    assert schedule(0, 10, warmup=0.0) == 1.0

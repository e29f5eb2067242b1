from collections.abc import Callable

import pytest
import torch

from labml_nn.optimizers.schedules import cosine, linear, noam, rise, up_and_down


def rates(make: Callable[[torch.optim.Optimizer], object], steps: int) -> list[float]:
    r"""What a scheduler of PyTorch makes of a rate of 1."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = make(optimizer)
    found = []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


@pytest.mark.parametrize("final", [0.0, 0.1])
def test_the_cosine_is_that_of_pytorch(final: float) -> None:
    expected = rates(lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 30, eta_min=final), 31)
    assert [cosine(t / 30, final) for t in range(31)] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("final", [0.0, 0.1])
def test_the_way_down_is_that_of_pytorch(final: float) -> None:
    expected = rates(lambda o: torch.optim.lr_scheduler.LinearLR(o, 1.0, final, 30), 31)
    assert [linear(t / 30, final) for t in range(31)] == pytest.approx(expected, abs=1e-12)


def test_the_way_up_is_that_of_pytorch() -> None:
    expected = rates(lambda o: torch.optim.lr_scheduler.LinearLR(o, 1 / 7, 1.0, 6), 12)
    assert [rise(t, 7) for t in range(12)] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("way", ["cosine", "linear"])
def test_up_and_down_are_the_two_of_pytorch_one_after_the_other(way: str) -> None:
    def make(optimizer: torch.optim.Optimizer) -> object:
        schedulers = torch.optim.lr_scheduler
        up = schedulers.LinearLR(optimizer, 1 / 7, 1.0, 6)
        down = {
            "cosine": lambda: schedulers.CosineAnnealingLR(optimizer, 23, eta_min=0.2),
            "linear": lambda: schedulers.LinearLR(optimizer, 1.0, 0.2, 23),
        }[way]()
        return schedulers.SequentialLR(optimizer, [up, down], [7])

    expected = rates(make, 30)
    found = [up_and_down(t, 30, 7, 0.2, way) for t in range(30)]
    assert found == pytest.approx(expected, abs=1e-12)


def test_noam_is_the_formula_of_the_paper() -> None:
    # Section 5.3, whose steps count from 1, over its value at the top.
    def paper(step: int) -> float:
        return 512**-0.5 * min(step**-0.5, step * 4000**-1.5)

    for t in (0, 1, 99, 3998, 3999, 4000, 12345):
        assert noam(t, 4000) == pytest.approx(paper(t + 1) / paper(4000), rel=1e-12)


def test_without_a_rise_the_first_step_is_the_highest() -> None:
    assert up_and_down(0, 10, 0) == 1.0
    assert rise(0, 0) == 1.0

from itertools import pairwise, product

import pytest
import torch

from labml_nn.optimizers.adamw import AdamW, first_step
from tests.labml_nn.optimizers.steps import apart, draw, goes_on_with_its_state
from tests.labml_nn.transformers.seam import equals

SHAPES = [(3, 5), (7,), (2, 3, 5)]


def from_pytorch(betas: tuple[float, float], eps: float, weight_decay: float) -> float:
    r"""How far the steps are from PyTorch's."""
    settings = (0.01, betas, eps, weight_decay)
    both = (lambda p, make=make: make(p, *settings) for make in (AdamW, torch.optim.AdamW))
    return apart(SHAPES, *both, 20)


CASES = list(product([(0.9, 0.999), (0.0, 0.5), (0.95, 0.99)], [1e-8, 0.1], [0.0, 0.3]))
ORACLES = {"torch.optim.AdamW": lambda: max(from_pytorch(*case) for case in CASES)}
test_steps_are_those_of_pytorch = equals(ORACLES, 1e-12)


def test_what_is_usual_is_what_pytorch_takes() -> None:
    ours, theirs = (make(draw(SHAPES, 1)).defaults for make in (AdamW, torch.optim.AdamW))
    assert ours == {name: theirs[name] for name in ours}


def test_groups_have_settings_of_their_own_and_what_has_no_gradient_stays() -> None:
    first, second, third = parameters = draw(SHAPES, 1)
    start = [p.detach().clone() for p in parameters]
    groups = [{"params": [first, second], "lr": 0.5}, {"params": [third], "lr": 0.25}]
    optimizer = AdamW(groups, weight_decay=0.0)
    first.grad, third.grad = (torch.ones_like(p) for p in (first, third))
    optimizer.step()
    torch.testing.assert_close(first.detach(), start[0] - 0.5)
    assert second.equal(start[1])
    torch.testing.assert_close(third.detach(), start[2] - 0.25)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_the_first_step_is_the_rate_whatever_the_scale(scale: float) -> None:
    torch.testing.assert_close(first_step(scale), torch.tensor([-0.1, 0.1, -0.1, 0.1]))


def test_state_goes_into_a_new_optimizer_and_on() -> None:
    goes_on_with_its_state(AdamW, SHAPES)


@pytest.mark.parametrize("settings", [{"lr": -0.1}, {"betas": (0.9, 1.0)}, {"betas": (-0.1, 0.9)}])
def test_settings_without_sense_are_refused(settings: dict) -> None:
    with pytest.raises(ValueError, match="expected lr >= 0 and 0 <= betas < 1"):
        AdamW(draw(SHAPES, 1), **settings)


def test_after_many_small_gradients_the_twelfth_large_one_makes_the_longest_step() -> None:
    weight = torch.nn.Parameter(torch.zeros((), dtype=torch.float64))
    optimizer, places = AdamW([weight], lr=1.0, weight_decay=0.0), [0.0]
    for step in range(8020):
        weight.grad = torch.tensor(1e-3 if step < 8000 else 1e3, dtype=torch.float64)
        optimizer.step()
        places.append(weight.item())
    steps = [before - after for before, after in pairwise(places)][8000:]
    assert steps[11] == max(steps) == pytest.approx(6.57, abs=0.01)

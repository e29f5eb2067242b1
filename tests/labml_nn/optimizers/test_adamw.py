import pytest
import torch
from torch import Tensor, nn

from labml_nn.optimizers.adamw import AdamW, first_step

SHAPES = [(3, 5), (7,), (2, 3, 5)]


def parameters() -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(1)
    return [nn.Parameter(torch.randn(shape, generator=generator).double()) for shape in SHAPES]


def gradients(step: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(100 + step)
    return [torch.randn(shape, generator=generator).double() ** 3 for shape in SHAPES]


@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.0, 0.5), (0.95, 0.99)])
@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
@pytest.mark.parametrize("eps", [1e-8, 0.1])
def test_steps_are_those_of_pytorch(
    betas: tuple[float, float], weight_decay: float, eps: float
) -> None:
    settings = {"betas": betas, "weight_decay": weight_decay, "eps": eps}
    ours, theirs = parameters(), parameters()
    optimizers = [AdamW(ours, 0.01, **settings), torch.optim.AdamW(theirs, 0.01, **settings)]
    for step in range(20):
        for made, group in zip(optimizers, (ours, theirs), strict=True):
            made.param_groups[0]["lr"] = 0.01 / (step + 1)
            for parameter, gradient in zip(group, gradients(step), strict=True):
                parameter.grad = gradient
            made.step()
        for found, expected in zip(ours, theirs, strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-14)


def test_groups_have_settings_of_their_own_and_what_has_no_gradient_stays() -> None:
    first, second, third = parameters()
    start = [p.detach().clone() for p in (first, second, third)]
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
    straight, stopped = parameters(), parameters()
    first, second = AdamW(straight), AdamW(stopped)
    for step in range(6):
        for group in (straight, stopped):
            for parameter, gradient in zip(group, gradients(step), strict=True):
                parameter.grad = gradient
        first.step()
        second.step()
        state = second.state_dict()
        second = AdamW(stopped)
        second.load_state_dict(state)
    for found, expected in zip(stopped, straight, strict=True):
        assert found.equal(expected)


@pytest.mark.parametrize("settings", [{"lr": -0.1}, {"betas": (0.9, 1.0)}, {"betas": (-0.1, 0.9)}])
def test_settings_without_sense_are_refused(settings: dict) -> None:
    with pytest.raises(ValueError, match="expected lr >= 0 and 0 <= betas < 1"):
        AdamW(parameters(), **settings)

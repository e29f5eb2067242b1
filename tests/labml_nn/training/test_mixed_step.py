from contextlib import nullcontext

import pytest
import torch
from torch import Tensor, nn

from labml_nn.training import mixed_step as page
from labml_nn.training.engine.mixed_precision import MixedPrecision
from labml_nn.training.loop import adamw, train
from labml_nn.training.mixed_step import MixedStep

CPU = torch.device("cpu")


def make() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Embedding(11, 7), nn.Linear(7, 11))


def batch_at(step: int) -> tuple[Tensor, Tensor]:
    text = torch.arange(6)[:, None] + torch.arange(3) + step
    return text[:-1] % 11, text[1:] % 11


def trained(model: nn.Module, optimizers: list, **how: object) -> list[float]:
    losses: list[float] = []
    keep = {"after_step": lambda step, loss: losses.append(loss.item())}
    train(model, batch_at, optimizers, 20, **keep, **how)
    return losses


def with_scaler(dtype: torch.dtype, factor: float = 2.0**10) -> MixedStep:
    r"""A step whose loss is multiplied, as on a GPU without bfloat16, and computed in `dtype`."""
    mixed = MixedStep([adamw(model := make())], CPU, dtype)
    mixed.scaler = torch.amp.GradScaler("cpu", init_scale=factor)
    mixed.model = model
    return mixed


def test_in_32_bits_it_is_the_loop_bit_for_bit_with_and_without_the_factor() -> None:
    model = make()
    expected = trained(model, [adamw(model)])
    model = make()
    mixed = MixedStep([adamw(model)], CPU, torch.float32)
    assert trained(model, [mixed], gradients=mixed.gradients, clip=mixed.clip) == expected
    # A power of two changes no digit.
    mixed = with_scaler(torch.float32)
    assert trained(mixed.model, [mixed], gradients=mixed.gradients, clip=mixed.clip) == expected


def test_in_bfloat16_losses_are_near_and_weights_stay_in_32_bits() -> None:
    model = make()
    expected = torch.tensor(trained(model, [adamw(model)]))
    model = make()
    mixed = MixedStep([adamw(model)], CPU, torch.bfloat16)
    losses = torch.tensor(trained(model, [mixed], gradients=mixed.gradients, clip=mixed.clip))
    assert not torch.equal(losses, expected)
    torch.testing.assert_close(losses, expected, rtol=0, atol=0.02)
    assert {one.dtype for one in model.parameters()} == {torch.float32}
    assert losses.dtype is torch.float32


def test_an_infinite_gradient_is_left_out_and_the_factor_is_halved() -> None:
    mixed = with_scaler(torch.float32)
    before = [one.clone() for one in mixed.model.parameters()]
    mixed.gradients(mixed.model, *batch_at(0))
    mixed.model[1].weight.grad[0, 0] = torch.inf
    mixed.clip(mixed.model)
    mixed.step()
    assert all(map(torch.equal, mixed.model.parameters(), before))
    assert mixed.scaler.get_scale() == 2.0**9


@pytest.mark.parametrize("bad", [torch.inf, torch.nan])
def test_a_bad_gradient_of_one_optimizer_stops_the_step_of_all(bad: float) -> None:
    model = make()
    # The decay moves weights without a gradient, too.
    optimizers = [torch.optim.SGD(part.parameters(), 0.1, weight_decay=0.1) for part in model]
    mixed = MixedStep(optimizers, CPU, torch.half)
    mixed.scaler = torch.amp.GradScaler("cpu")
    mixed.context = nullcontext
    before = [one.clone() for one in model.parameters()]
    mixed.gradients(model, *batch_at(0))
    model[0].weight.grad[0, 0] = bad
    mixed.clip(model)
    mixed.step()
    assert all(map(torch.equal, model.parameters(), before))


def test_so_it_is_in_the_engine() -> None:
    model = make()
    optimizers = [torch.optim.SGD(part.parameters(), 0.1) for part in model]
    mixed = MixedPrecision(optimizers, CPU, torch.float16)
    mixed.scaler = torch.amp.GradScaler("cpu")
    # Its scale is there from the first loss on.
    mixed.scaler.scale(torch.zeros(()))
    before = [one.clone() for one in model.parameters()]
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    model[0].weight.grad[0, 0] = torch.nan
    mixed.clip(model)
    mixed.step()
    assert all(map(torch.equal, model.parameters(), before))


def test_the_loop_sets_the_rates_of_all_optimizers_and_all_of_them_are_kept() -> None:
    model = make()
    optimizers = [torch.optim.SGD(part.parameters(), 0.1, momentum=0.9) for part in model]
    mixed = MixedStep(optimizers, CPU, torch.float32)
    trained(model, [mixed], gradients=mixed.gradients, clip=mixed.clip)
    state = mixed.state_dict()
    new = MixedStep(
        [torch.optim.SGD(part.parameters(), 0.1, momentum=0.9) for part in make()],
        CPU,
        torch.float32,
    )
    new.load_state_dict(state)
    assert [group["lr"] for group in new.param_groups] == [
        group["lr"] for one in optimizers for group in one.param_groups
    ]
    found, kept = (one.state_dict()["optimizers"][1]["state"] for one in (mixed, new))
    assert torch.equal(found[0]["momentum_buffer"], kept[0]["momentum_buffer"])
    # With a factor, that is kept, too.
    scaled = with_scaler(torch.float32)
    scaled.load_state_dict(with_scaler(torch.float32, 8.0).state_dict())
    assert scaled.scaler.get_scale() == 8.0


@pytest.mark.parametrize(
    ("device", "auto", "asked", "found"),
    [
        ("cpu", torch.bfloat16, True, torch.float32),
        ("cuda", torch.bfloat16, False, torch.bfloat16),
        ("cuda", torch.float16, False, torch.float32),
        ("cuda", torch.float16, True, torch.float16),
    ],
)
def test_float16_is_for_those_who_ask_and_a_cpu_stays_in_32_bits(
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    auto: torch.dtype,
    asked: bool,
    found: torch.dtype,
) -> None:
    monkeypatch.setattr(page, "choose_precision", lambda name, device: auto)
    assert page.training_type(torch.device(device), asked) is found

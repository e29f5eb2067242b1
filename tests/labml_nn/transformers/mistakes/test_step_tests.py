from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes.language_model import check_training_step
from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.right_model import RightModel, RightTraining
from labml_nn.transformers.mistakes.step_mistakes import STEP_EXHIBITS, RightParts
from labml_nn.transformers.mistakes.step_tests import quiet, same_step
from labml_nn.transformers.mistakes.whole import Whole, cross_entropy

N_VOCAB = 11
# In no two places is a token followed by another one.
TEXT = (torch.arange(7) + torch.tensor([[0], [3], [6], [9]])) % N_VOCAB


def model(dropout_prob: float = 0.0) -> RightModel:
    torch.manual_seed(1)
    return RightModel(N_VOCAB, 12, 1, 6, lambda: RightAttention(2, 12, dropout_prob))


def by(kind: type[RightTraining]) -> Callable[[nn.Module], Callable[[Tensor, Tensor], Any]]:
    return lambda model: kind(model, 160).step


def said(make_step: Callable[..., Any], **options: Any) -> str:
    given = options.pop("model", None) or model()
    return same_step(Whole(given, TEXT[:, :-1], TEXT[:, 1:], make_step=make_step, **options))


SAID = {
    "PartsAddedUp": "times that of the mean loss",
    "ClearedBetweenParts": "only the last of 2 parts counts",
    "ClipAfterStep": "clipped after the optimizer",
    "WeightsLeftOut": "no optimizer knows them",
}


@pytest.mark.parametrize("exhibit", STEP_EXHIBITS)
def test_a_wrong_step_has_its_name(exhibit: type) -> None:
    assert SAID[exhibit.__name__] in said(by(exhibit.make()))


@pytest.mark.parametrize("kind", [RightTraining, RightParts])
def test_right_steps_pass(kind: type[RightTraining]) -> None:
    assert said(by(kind)) == ""


def test_dropout_is_turned_off_and_a_wrong_loss_is_not_the_steps_fault() -> None:
    assert said(by(RightTraining), model=model(0.5)) == ""
    layers = quiet(nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)))
    assert layers[1].p == 0.0
    bits = lambda z, y: cross_entropy(z, y) / 0.6931  # noqa: E731

    def in_bits(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        def step(inputs: Tensor, targets: Tensor) -> None:
            optimizer.zero_grad()
            (bits(model(inputs), targets) + model(inputs).square().mean()).backward()
            optimizer.step()

        return step

    assert "isn't that of the mean loss" in said(in_bits)
    both = lambda z, y: bits(z, y) + z.square().mean()  # noqa: E731
    assert said(in_bits, loss=both) == ""


def test_calls_that_wait_are_counted_and_no_optimizer_is_no_finding() -> None:
    def waits(divided: bool) -> Callable[[nn.Module], Callable[[Tensor, Tensor], Any]]:
        def make(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            calls = []

            def step(inputs: Tensor, targets: Tensor) -> None:
                (cross_entropy(model(inputs), targets) / (3 if divided else 1)).backward()
                calls.append(None)
                if len(calls) % 3 == 0:
                    optimizer.step()
                    optimizer.zero_grad()

            return step

        return make

    assert said(waits(divided=True)) == ""
    assert "3 times" in said(waits(divided=False))
    assert said(lambda model: lambda inputs, targets: None) == ""


def test_a_gradient_that_is_always_too_small_is_found() -> None:
    def halves(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        def step(inputs: Tensor, targets: Tensor) -> None:
            optimizer.zero_grad()
            (cross_entropy(model(inputs), targets) / 2).backward()
            optimizer.step()

        return step

    assert "0.5 times that of the mean loss: divided once too often" in said(halves)


def test_one_call_checks_a_training_step() -> None:
    options = {"make_step": by(RightParts), "n_steps": 160}
    check_training_step(model(), TEXT[:, :-1], TEXT[:, 1:], **options)
    # One step shows it: that it doesn't learn in one is another finding.
    wrong = {"make_step": by(STEP_EXHIBITS[0].make()), "n_steps": 1}
    with pytest.raises(AssertionError, match="same_step: the gradient is .* times"):
        check_training_step(model(), TEXT[:, :-1], TEXT[:, 1:], **wrong)

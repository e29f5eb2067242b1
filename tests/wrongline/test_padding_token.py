r"""Targets that are padded with a token of their own, which the loss leaves out."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wrongline.language_model import find_in_training_step

N_VOCAB = 11
Loss = Callable[[Tensor, Tensor], Tensor]


def padded(before: bool = False, token: int = 0) -> tuple[Tensor, Tensor]:
    r"""Three texts of 7, 5 and 4 tokens, which differ from the first on."""
    text = 1 + torch.randperm(N_VOCAB - 1).repeat(3)[: 3 * 8].view(3, 8)
    for row, length in enumerate((8, 6, 5)):
        text[row] = torch.cat([text[row, :length], torch.full((8 - length,), token)])
        if before:
            text[row] = text[row].roll(8 - length)
    return text[:, :-1], text[:, 1:]


def ignoring(token: int, **options: Any) -> Loss:
    return lambda z, y: F.cross_entropy(z.flatten(0, 1), y.flatten(), ignore_index=token, **options)


def step_with(loss: Loss) -> Callable[[nn.Module], Callable[[Tensor, Tensor], None]]:
    def make(model: nn.Module) -> Callable[[Tensor, Tensor], None]:
        optimizer = torch.optim.AdamW(model.parameters(), 3e-3)

        def step(inputs: Tensor, targets: Tensor) -> None:
            optimizer.zero_grad()
            loss(model(inputs), targets).backward()
            optimizer.step()

        return step

    return make


def model() -> nn.Module:
    return nn.Sequential(
        nn.Embedding(N_VOCAB, 24), nn.Linear(24, 48), nn.GELU(), nn.Linear(48, N_VOCAB)
    )


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("said", ["loss", "step", "both"])
def test_padding_at_an_end_of_the_rows_may_be_left_out(before: bool, said: str) -> None:
    loss = ignoring(0)
    options: dict[str, Any] = {}
    if said != "step":
        options["loss"] = loss
    if said != "loss":
        options["make_step"] = step_with(loss)
    # A loss alone says nothing of the step, which is the usual one.
    skip = ["same_step", "learns"] if said == "loss" else []
    found = find_in_training_step(model(), *padded(before), skip=skip, n_steps=400, **options)
    assert found == {}, found.table
    assert "unusual: targets_follow_inputs: token 0 is padding" in found.table


def test_a_token_of_the_text_may_not() -> None:
    inputs, targets = padded()
    token = int(targets[0, 2])
    found = find_in_training_step(model(), inputs, targets, loss=ignoring(token))
    assert f"token {token} is left out of it" in found["honest"]
    found = find_in_training_step(
        model(), inputs, targets, make_step=step_with(ignoring(token)), only=["same_step"]
    )
    assert found["same_step"].startswith(f"the loss is wrong: token {token} is left out")


def test_what_is_wrong_beside_padding_is_told() -> None:
    loss = ignoring(0, reduction="sum")
    found = find_in_training_step(model(), *padded(), loss=loss, make_step=step_with(loss))
    assert "it is the sum over all tokens, not the mean" in found["honest"]
    half = ignoring(0)
    found = find_in_training_step(
        model(), *padded(), loss=half, make_step=step_with(lambda z, y: 0.5 * half(z, y))
    )
    assert "divided once too often" in found["same_step"]
    # Padding that counts is another training, and no mistake.
    assert find_in_training_step(model(), *padded(), n_steps=400) == {}


@pytest.mark.parametrize("mark", [-1, -100, -7])
def test_any_mark_below_zero_is_left_out(mark: int) -> None:
    inputs, targets = padded()
    targets = targets.masked_fill(targets == 0, mark)
    loss = ignoring(mark)
    found = find_in_training_step(
        model(), inputs, targets, loss=loss, make_step=step_with(loss), n_steps=400
    )
    assert found == {}, found.table
    # With the usual loss and the plain step, nothing needs to be said of it.
    assert find_in_training_step(model(), inputs, targets, n_steps=400) == {}

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes import model_tests as page
from labml_nn.transformers.mistakes.training_tests import (
    WHOLE_TESTS,
    find_in_whole,
    forgets,
    honest,
    learns,
    targets_follow_inputs,
)
from labml_nn.transformers.mistakes.whole import Whole, adam_step, cross_entropy

BATCH_SIZE, SEQ_LEN, N_VOCAB = 3, 5, 11
# In no window does a token come twice.
TEXT = torch.tensor([[1, 5, 2, 9, 10, 3], [4, 6, 7, 8, 0, 5], [2, 3, 1, 10, 8, 7]])


class Table(nn.Embedding):
    r"""A right model: what follows what; `change` makes it wrong."""

    def __init__(self, change: Callable[[Tensor], Tensor] = lambda logits: logits) -> None:
        super().__init__(N_VOCAB, N_VOCAB)
        self.change = change

    def forward(self, tokens: Tensor) -> Tensor:
        return self.change(super().forward(tokens))


def whole(model: nn.Module | None = None, **options: Any) -> Whole:
    torch.manual_seed(1)
    given = {"n_steps": 5, "make_step": fast_step, **options}
    return Whole(model or Table(), TEXT[:, :-1], TEXT[:, 1:], **given)


def fast_step(model: nn.Module, keeps: bool = False) -> Callable[[Tensor, Tensor], Any]:
    r"""Of training by heart; wrong, if it keeps its gradients."""
    optimizer = torch.optim.SGD(model.parameters(), 100.0)

    def step(inputs: Tensor, targets: Tensor) -> None:
        if not keeps:
            optimizer.zero_grad()
        cross_entropy(model(inputs), targets).backward()
        optimizer.step()

    return step


def test_an_ambiguous_batch_is_not_learned_and_all_else_of_a_table_is_right() -> None:
    # After 1 comes 5 and 10, after 2 comes 9 and 3, after 3 and 5 and 10 and 8 other tokens.
    assert set(find_in_whole(whole())) == {"learns"}


def test_what_can_be_learned_by_heart_is() -> None:
    one = whole()
    one = replace(one, inputs=one.inputs[:1], targets=one.targets[:1])
    assert find_in_whole(one) == {}
    assert "after 0 steps" in learns(replace(one, n_steps=0))
    assert learns(replace(one, n_steps=120, make_step=adam_step), bar=2.5) == ""
    assert learns(replace(one, n_steps=60, make_step=adam_step), bar=2.5) != ""


def test_targets_are_compared_with_the_inputs() -> None:
    right = whole()
    assert targets_follow_inputs(right) == ""
    same = replace(right, targets=right.inputs)
    assert "learns to copy" in targets_follow_inputs(same)
    twice = replace(right, targets=torch.cat([TEXT[:, 2:], TEXT[:, :1]], dim=1))
    assert "shifted twice" in targets_follow_inputs(twice)
    other = replace(right, targets=right.targets.flip(0))
    assert "must be the next one" in targets_follow_inputs(other)


def test_the_honest_loss_is_that_of_a_loop() -> None:
    one = whole()
    logits = one.rough()(one.inputs).log_softmax(dim=-1)
    terms = [
        -logits[b, t, TEXT[b, t + 1]].item() for b in range(BATCH_SIZE) for t in range(SEQ_LEN)
    ]
    assert honest(one) == ""
    said = honest(replace(one, loss=lambda logits, targets: logits.sum() * 0))
    assert f"from prefixes alone it is {sum(terms) / len(terms):.4f}" in said


LOSSES = {
    "a softmax before it": lambda z, targets: cross_entropy(z.softmax(dim=-1), targets),
    "shifted once more": lambda z, targets: cross_entropy(z[:, :-1], targets[:, 1:]),
    "a little more": lambda z, targets: cross_entropy(z, targets) * 1.01,
    "infinite": lambda z, targets: cross_entropy(z, targets) / 0,
}


@pytest.mark.parametrize("loss", LOSSES)
def test_another_loss_is_not_the_honest_one(loss: str) -> None:
    assert set(find_in_whole(whole(loss=LOSSES[loss]))) == {"honest", "learns"}


LEAKS = {
    "the next token": lambda z: z + z.roll(-1, dims=1),
    "the mean of all": lambda z: z - z.mean(dim=1, keepdim=True),
    "the length": lambda z: z * z.shape[1],
}


@pytest.mark.parametrize("leak", LEAKS)
def test_the_future_shows_in_the_loss_and_at_a_position(leak: str) -> None:
    found = find_in_whole(whole(Table(LEAKS[leak])))
    assert {"honest", "model_prefix"} <= set(found)
    assert "each_sequence_alone" not in found
    said = page.model_prefix(whole(Table(LEAKS[leak])))
    assert "of sequence 0 at position 0" in said
    assert ("depend on the length" in said) == (leak == "the length")


def test_only_the_first_sequence_may_be_right_and_it_is_found() -> None:
    place = torch.arange(BATCH_SIZE).view(-1, 1, 1)
    said = page.each_sequence_alone(whole(Table(lambda z: z * (1 + place[: len(z)]))))
    assert said.startswith("sequence 0 of 3 gets other logits when it has another place")
    assert page.each_sequence_alone(whole(Table(lambda z: z + z.sum(0)))).startswith("sequence 0")


def test_chance_in_evaluation_is_found() -> None:
    assert page.model_twice(whole(Table(lambda z: nn.functional.dropout(z, 0.5)))) != ""
    assert page.model_twice(whole(nn.Sequential(Table(), nn.Dropout(0.5)))) == ""


def test_a_step_that_keeps_gradients_is_found() -> None:
    assert forgets(whole()) == ""
    assert "`zero_grad` is missing" in forgets(whole(make_step=partial(fast_step, keeps=True)))
    assert forgets(whole(nn.Sequential(Table(), nn.Dropout(0.5)))) == ""


def test_an_error_is_a_failure_of_each_test_that_calls_the_model() -> None:
    found = find_in_whole(whole(Table(lambda logits: {}["no such layer"])))
    assert set(found) == {test.__name__ for test in WHOLE_TESTS} - {"targets_follow_inputs"}
    assert found["honest"] == "KeyError: 'no such layer'"


def test_a_model_with_the_sequence_first_is_called_by_predict() -> None:
    class First(Table):
        def forward(self, tokens: Tensor) -> Tensor:
            assert len(tokens) <= SEQ_LEN
            return super().forward(tokens.t()).transpose(0, 1)

    one = whole(
        First(),
        predict=lambda model, tokens: model(tokens.t()).transpose(0, 1),
        make_step=lambda model: lambda inputs, targets: None,
    )
    assert set(find_in_whole(one)) == {"learns"}


def test_the_model_that_was_given_is_left_alone() -> None:
    model = Table()
    before = model.weight.detach().clone()
    find_in_whole(whole(model))
    assert model.weight.equal(before)
    assert model.weight.grad is None
    assert model.training

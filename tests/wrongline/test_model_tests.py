import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from wrongline import model_tests as page
from wrongline import training_tests as training
from wrongline.steps import MOST
from wrongline.training_tests import (
    WHOLE_TESTS,
    find_in_whole,
    forgets,
    honest,
    learns,
    targets_follow_inputs,
)
from wrongline.verdicts import Unusual
from wrongline.whole import Whole, adam_step, cross_entropy

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


def test_another_token_is_the_next_larger_one_and_the_smallest_after_the_largest() -> None:
    other = page.other_tokens(torch.tensor([[2, 5, 3], [6, 2, 6]]))
    assert other.tolist() == [[3, 6, 4], [2, 3, 2]]


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


def test_what_is_left_of_a_loss_is_compared_with_the_bar() -> None:
    # All classes but the right one are equally likely.
    def knows(model: nn.Module, tokens: Tensor, loss: float = 0.45) -> Tensor:
        margin = math.log((N_VOCAB - 1) / (math.exp(loss) - 1))
        return model(margin * nn.functional.one_hot(TEXT[:, 1:], N_VOCAB))

    calls = []
    options = {"n_steps": 3, "make_step": lambda model: lambda *batch: calls.append(batch)}
    # (Nobody knows after how many calls an optimizer moves that PyTorch doesn't know.)
    said = learns(whole(nn.Identity(), predict=knows, **options))
    assert said.startswith("after 3 steps on one batch its loss is 0.45, not below 0.3")
    assert len(calls) == MOST + 2
    # What is dropped in training counts no more.
    right = partial(knows, loss=0.01)
    assert learns(whole(nn.Dropout(0.5), predict=right, **options)) == ""
    # As much as the bar isn't below it.
    even = whole(predict=lambda model, tokens: torch.zeros(*tokens.shape, N_VOCAB), **options)
    loss = cross_entropy(even.predict(even.model, even.inputs), even.targets).item()
    assert learns(even, bar=loss) != ""


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
    with one.rough() as model:
        logits = model(one.inputs).log_softmax(dim=-1)
    terms = [
        -logits[b, t, TEXT[b, t + 1]].item() for b in range(BATCH_SIZE) for t in range(SEQ_LEN)
    ]
    assert honest(one) == ""
    said = honest(replace(one, loss=lambda z, y: 1.5 * cross_entropy(z, y)))
    mean = sum(terms) / len(terms)
    numbers = f"the loss of the batch is {1.5 * mean:.4f}, from prefixes alone it is {mean:.4f}: "
    assert said == f"{numbers}it is 1.5 times the mean"


def test_smoothed_labels_are_meant_and_a_leak_with_them_is_not() -> None:
    def smoothed(logits: Tensor, targets: Tensor) -> Tensor:
        return nn.functional.cross_entropy(logits.mT, targets, label_smoothing=0.1)

    assert isinstance(honest(whole(loss=smoothed)), Unusual)
    leaking = honest(whole(Table(lambda z: z + z.roll(-1, 1)), loss=smoothed))
    numbers, _, reason = leaking.partition(": ")
    assert numbers.startswith("the loss of the batch is ")
    assert reason == "the logits change with what comes after a token (see model_prefix)"


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
    # Kernels of a GPU may add up in a different order each time.
    assert page.model_twice(whole(Table(lambda z: z * (1 + 1e-7 * torch.randn(z.shape))))) == ""


def test_a_step_that_keeps_gradients_is_found() -> None:
    assert forgets(whole()) == ""
    assert "`zero_grad` is missing" in forgets(whole(make_step=partial(fast_step, keeps=True)))
    assert forgets(whole(make_step=adam_step)) == ""
    assert forgets(whole(nn.Sequential(Table(), nn.Dropout(0.5)))) == ""


def test_a_step_gets_inputs_and_targets() -> None:
    batches = []
    forgets(whole(make_step=lambda model: lambda *batch: batches.append(batch)))
    for inputs, targets in batches:
        assert inputs.equal(TEXT[:, :-1])
        assert targets.equal(TEXT[:, 1:])


def test_a_step_that_adds_up_in_another_order_each_time_is_forgiven(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    r"""As kernels of a GPU do: the weights after two equal steps differ in their last digits."""

    def judged(found: float) -> str:
        after = iter([1.0, found, 1.0 + 1e-3])
        monkeypatch.setattr(training, "weights_after", lambda whole, _: torch.tensor([next(after)]))
        return forgets(whole())

    assert judged(1.0) == judged(1.0095) == judged(0.9905) == ""
    assert "`zero_grad` is missing" in judged(1.0105)


def test_gradients_that_are_kept_are_found_though_dropout_is_on() -> None:
    def make(model: nn.Module) -> Callable[[Tensor, Tensor], None]:
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)

        def step(inputs: Tensor, targets: Tensor) -> None:
            cross_entropy(model(inputs), targets).backward()
            optimizer.step()

        return step

    model = nn.Sequential(Table(), nn.Dropout(0.5))
    assert "`zero_grad` is missing" in forgets(whole(model, make_step=make))


def test_a_mistake_in_a_weight_that_is_still_zero_is_found() -> None:
    class Leaks(Table):
        def __init__(self) -> None:
            super().__init__()
            self.gate = nn.Parameter(torch.zeros(N_VOCAB))

        def forward(self, tokens: Tensor) -> Tensor:
            logits = super().forward(tokens)
            return logits + self.gate * logits.roll(-1, 1)

    assert "sees the future" in page.model_prefix(whole(Leaks()))


def test_weights_that_may_not_be_random_stay_as_they_are() -> None:
    class Logarithms(Table):
        def __init__(self) -> None:
            super().__init__()
            nn.init.uniform_(self.weight, 0.1, 1)
            self.dropout = nn.Dropout(0.5)

        def forward(self, tokens: Tensor) -> Tensor:
            return self.dropout(super().forward(tokens).log())

    model = Logarithms()
    before = model.weight.detach().clone()
    with whole(model).rough() as rough:
        assert rough.weight.equal(before)
    assert [test(whole(model)) for test in page.MODEL_TESTS] == [""] * 5


def test_an_error_is_a_failure_of_each_test_that_calls_the_model() -> None:
    found = find_in_whole(whole(Table(lambda logits: {}["no such layer"])))
    # It is told once, with its line, and nothing else is said of what wasn't tried.
    assert set(found) == {"honest"}
    assert found["honest"].startswith("KeyError: 'no such layer' (test_model_tests.py, line ")
    kinds = {one.test: one.kind for one in found.verdicts}
    assert set(kinds) == {test.__name__ for test in WHOLE_TESTS}
    assert set(kinds.values()) == {"right", "error", "not tried"}


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
    assert set(find_in_whole(one)) == {"learns", "every_weight_moves"}


def test_the_model_that_was_given_is_left_alone() -> None:
    model = Table()
    before = model.weight.detach().clone()
    find_in_whole(whole(model))
    assert model.weight.equal(before)
    assert model.weight.grad is None
    assert model.training

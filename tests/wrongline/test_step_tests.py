import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import optimizer as pytorchs

from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.right_model import RightModel, RightTraining
from labml_nn.transformers.mistakes.step_mistakes import STEP_EXHIBITS, RightParts
from wrongline.gradient_sizes import same_step
from wrongline.language_model import check_training_step
from wrongline.step_tests import plain, ratio, together
from wrongline.verdicts import NotTried, Unusual
from wrongline.whole import Whole, cross_entropy, quiet

N_VOCAB = 11
# In no two places is a token followed by another one.
TEXT = (torch.arange(7) + torch.tensor([[0], [3], [6], [9]])) % N_VOCAB


def model(dropout_prob: float = 0.0, n_vocab: int = N_VOCAB) -> RightModel:
    torch.manual_seed(1)
    return RightModel(n_vocab, 12, 1, 6, lambda: RightAttention(2, 12, dropout_prob))


def by(kind: type[RightTraining]) -> Callable[[nn.Module], Callable[[Tensor, Tensor], Any]]:
    return lambda model: kind(model, 160).step


def said(make_step: Callable[..., Any], **options: Any) -> str:
    given = options.pop("model", None) or model()
    return same_step(Whole(given, TEXT[:, :-1], TEXT[:, 1:], make_step=make_step, **options))


def steps(
    loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy,
    before: Callable[[nn.Module], Any] = lambda model: None,
    after: Callable[[nn.Module], Any] = lambda model: None,
    weights: Callable[[nn.Module], Iterable[nn.Parameter]] = lambda model: model.parameters(),
) -> Callable[[nn.Module], Callable[[Tensor, Tensor], Any]]:
    r"""Plain steps, with something done before the optimizer works, or after it."""

    def make(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
        optimizer = torch.optim.SGD(weights(model), 0.1)

        def step(inputs: Tensor, targets: Tensor) -> None:
            optimizer.zero_grad()
            loss(model(inputs), targets).backward()
            before(model)
            optimizer.step()
            after(model)

        return step

    return make


SAID = {
    "PartsAddedUp": "times that of the mean loss",
    "ClearedBetweenParts": "only the last of 2 parts counts",
    "ClipAfterStep": "clipped after the optimizer",
    "WeightsLeftOut": "no optimizer knows them",
}


@pytest.mark.parametrize("exhibit", STEP_EXHIBITS)
def test_a_wrong_step_has_its_name(exhibit: type) -> None:
    assert SAID[exhibit.__name__] in said(by(exhibit.make()))


# Both clip their gradients, which is no mistake, and is told.
CLIPPED = "gradients are clipped"


@pytest.mark.parametrize("kind", [RightTraining, RightParts])
def test_right_steps_pass(kind: type[RightTraining]) -> None:
    assert isinstance(told := said(by(kind)), Unusual)
    assert told.startswith(CLIPPED)


class Drop(nn.Dropout):
    r"""Beside its probability, it has a number that is none."""

    scale: float = 2.0


class Layer(nn.Module):
    r"""One number of four says how much is dropped."""

    def __init__(self) -> None:
        super().__init__()
        self.p, self.scale, self.dropout, self.n_dropped = 0.7, 0.5, 0.1, 3


def test_dropout_is_turned_off_and_nothing_else() -> None:
    assert said(by(RightTraining), model=model(0.5)).startswith(CLIPPED)
    layer, flat, drop = Layer(), nn.Dropout1d(0.5), Drop(0.5)
    drop.scale = 2.0
    together = quiet(nn.Sequential(layer, flat, drop).eval())
    assert [layer.p, layer.scale, layer.dropout, layer.n_dropped] == [0.7, 0.5, 0.0, 3]
    assert [flat.p, drop.p, drop.scale] == [0.0, 0.0, 2.0]
    assert all(module.training for module in together.modules())


def test_a_wrong_loss_is_not_the_steps_fault() -> None:
    odd = lambda z, y: cross_entropy(z, y) / 0.6931 + z.square().mean()  # noqa: E731
    assert isinstance(told := said(steps(odd)), Unusual)
    assert re.fullmatch(r"the gradient is turned by \d+ degrees from that of the mean loss", told)
    assert said(steps(odd), loss=odd) == ""


class Normalised(nn.Sequential):
    r"""What a batch normalisation computes in training isn't what it computes in evaluation."""

    def __init__(self) -> None:
        super().__init__(nn.Embedding(N_VOCAB, 7), nn.BatchNorm1d(6), nn.Linear(7, N_VOCAB))


def test_a_step_is_made_in_training() -> None:
    for make in (steps(), lambda model: steps()(model.train())):
        assert said(make, model=Normalised()) == said(make, model=Normalised().eval()) == ""


class Idle(nn.Module):
    r"""Has a weight that nobody uses, and one that changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = model()
        self.unused, self.nothing = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))

    def forward(self, tokens: Tensor) -> Tensor:
        return self.inner(tokens) + 0 * self.nothing.sum()


def test_a_weight_has_to_move_if_that_matters() -> None:
    foreign = nn.Parameter(torch.ones(5))
    foreign.grad = torch.ones(5)
    assert said(steps(weights=lambda model: [foreign, *model.parameters()]), model=Idle()) == ""
    assert said(steps(weights=lambda model: model.inner.parameters()), model=Idle()) == ""
    # Tokens that aren't in the text have a gradient of zero, and the others have not.
    fewer = lambda model: [w for name, w in model.named_parameters() if name != "tokens.weight"]  # noqa: E731
    assert "tokens.weight get a gradient, and no" in said(
        steps(weights=fewer), model=model(n_vocab=13)
    )


def test_the_last_of_several_parts_is_found_whatever_the_model_gives() -> None:
    class Second(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model()

        def forward(self, tokens: Tensor) -> tuple[float, Tensor]:
            return 0.0, self.inner(tokens)

    def make(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        def step(inputs: Tensor, targets: Tensor) -> None:
            for x, y in zip(inputs.split(1), targets.split(1), strict=True):
                optimizer.zero_grad()
                cross_entropy(model(x)[1], y).backward()
            optimizer.step()

        return step

    options = {"model": Second(), "predict": lambda model, tokens: model(tokens)[1]}
    assert said(make, **options).startswith("only the last of 4 parts counts")


def test_gradients_may_be_cleared_after_the_optimizer_and_not_before() -> None:
    zeros = lambda model: model.zero_grad(set_to_none=False)  # noqa: E731
    for clear in (zeros, nn.Module.zero_grad):
        assert "they are cleared before it uses them" in said(steps(before=clear))
        assert said(steps(after=clear)) == ""


@pytest.mark.parametrize("scale", [None, torch.tensor(65536.0)])
def test_a_fused_optimizer_removes_the_scale_itself(scale: Tensor | None) -> None:
    r"""As GradScaler asks it to: by an attribute, for the time of the step."""

    def make(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
        optimizer = torch.optim.AdamW(model.parameters(), fused=True)

        def step(inputs: Tensor, targets: Tensor) -> None:
            optimizer.zero_grad()
            (cross_entropy(model(inputs), targets) * (1.0 if scale is None else scale)).backward()
            optimizer.grad_scale, optimizer.found_inf = scale, torch.zeros(())
            optimizer.step()
            del optimizer.grad_scale, optimizer.found_inf

        return step

    assert said(make) == ""


def test_an_optimizer_may_change_gradients_a_little() -> None:
    def shrink(model: nn.Module) -> None:
        for weight in model.parameters():
            weight.grad *= 0.995

    assert said(steps(after=shrink)) == ""


def test_clipping_that_always_clips_is_clipping() -> None:
    clip = lambda model: nn.utils.clip_grad_norm_(model.parameters(), 1e-3)  # noqa: E731
    assert said(steps(before=clip)).startswith(CLIPPED)
    by_value = lambda model: nn.utils.clip_grad_value_(model.parameters(), 1e-2)  # noqa: E731
    assert isinstance(told := said(steps(before=by_value)), Unusual)
    assert told == "gradients are clipped by value, at 0.01"


def to_length(length: float) -> Callable[[nn.Module], Any]:
    def scale(model: nn.Module) -> None:
        found = together(
            {n: w.grad for n, w in model.named_parameters()}, dict(model.named_parameters())
        )
        for weight in model.parameters():
            weight.grad *= length / (found.norm() + 1e-6)

    return scale


@pytest.mark.parametrize("length", [1.0, 100.0])
def test_gradients_of_one_length_are_not_added_up(length: float) -> None:
    assert isinstance(told := said(steps(before=to_length(length))), Unusual)
    assert told == f"gradients are scaled to the length {length:.3g}, whatever theirs is"


def test_clipping_does_not_hide_that_parts_are_added_up() -> None:
    clip = lambda model: nn.utils.clip_grad_norm_(model.parameters(), 1e-3)  # noqa: E731
    added = steps(lambda z, y: 12 * cross_entropy(z, y), before=clip)
    assert said(added) == "the gradient is 12 times that of the mean loss: parts are added up"


@pytest.mark.parametrize("named", [False, True])
def test_an_optimizer_that_computes_gradients_itself_can_not_be_watched(named: bool) -> None:
    def make(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        def step(inputs: Tensor, targets: Tensor) -> None:
            def closure() -> Tensor:
                optimizer.zero_grad()
                loss = cross_entropy(model(inputs), targets)
                loss.backward()
                return loss

            optimizer.step(closure=closure) if named else optimizer.step(closure)

        return step

    assert isinstance(said(make), NotTried)


def test_gradients_become_one_long_vector_in_double_precision() -> None:
    parts = {"a": torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "b": torch.tensor([5.0])}
    found = together(parts, ["b", "a"])
    assert found.dtype == torch.float64
    assert found.tolist() == [5.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_a_vector_may_be_off_by_a_thousandth_of_its_length(size: float) -> None:
    x, y = size * torch.eye(2, dtype=torch.float64)
    assert ratio(3 * x + 0.0027 * y, x) == pytest.approx(3)
    assert ratio(3 * x + 0.0033 * y, x) is None
    assert ratio(0 * x, x) is None


class Louder(nn.Embedding):
    r"""A table with the gradient of a model whose logits are so many times as large."""

    factor = 1.0

    def forward(self, tokens: Tensor) -> Tensor:
        logits = super().forward(tokens)
        return logits + (self.factor - 1) * (logits - logits.detach())


# The gradient of a table never has a norm of 2.
@pytest.mark.parametrize(("norm", "times"), [(None, 64), (19.5, 2), (20.5, 1)])
def test_weights_are_doubled_until_the_gradient_is_large(norm: float | None, times: int) -> None:
    made = []

    def make(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
        made.append(model.weight.detach().clone())
        return lambda inputs, targets: None

    table = Louder(N_VOCAB, N_VOCAB)
    whole = Whole(table, TEXT[:, :-1], TEXT[:, 1:], make_step=make)
    with whole.rough() as rough:
        weight = rough.weight.detach().clone()
        if norm is not None:
            table.factor = norm / plain(whole, rough)["weight"].norm().item()
            factor = table.factor
    # (What was changed in the block is as before.)
    table.factor = 1.0 if norm is None else factor
    assert isinstance(same_step(whole), NotTried)
    assert made[0].equal(times * weight)


def test_calls_that_wait_are_counted_and_no_optimizer_is_no_finding() -> None:
    def waits(n: int, divided: bool) -> Callable[[nn.Module], Callable[[Tensor, Tensor], Any]]:
        def make(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            calls = []

            def step(inputs: Tensor, targets: Tensor) -> None:
                (cross_entropy(model(inputs), targets) / (n if divided else 1)).backward()
                calls.append(None)
                if len(calls) % n == 0:
                    optimizer.step()
                    optimizer.zero_grad()

            return step

        return make

    assert said(waits(8, divided=True)) == ""
    assert "8 times" in said(waits(8, divided=False))
    assert "16 times" in said(waits(16, divided=False))
    assert isinstance(said(lambda model: lambda inputs, targets: None), NotTried)
    # Other optimizers are not watched any more.
    assert not pytorchs._global_optimizer_pre_hooks


def test_a_gradient_that_is_always_too_small_is_found() -> None:
    halves = steps(lambda z, y: cross_entropy(z, y) / 2)
    assert "0.5 times that of the mean loss: divided once too often" in said(halves)


def test_one_call_checks_a_training_step() -> None:
    options = {"make_step": by(RightParts), "n_steps": 160}
    check_training_step(model(), TEXT[:, :-1], TEXT[:, 1:], **options)
    # One step shows it: that it doesn't learn in one is another finding.
    wrong = {"make_step": by(STEP_EXHIBITS[0].make()), "n_steps": 1}
    with pytest.raises(AssertionError, match="same_step: the gradient is .* times"):
        check_training_step(model(), TEXT[:, :-1], TEXT[:, 1:], **wrong)

r"""How whole models are called, what of their results is the scores, and how a cache is read."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from wrongline.pasted_models import (
    Counts,
    ModelWay,
    badness,
    best_way,
    is_model,
    model_ways,
    reader,
    scores_in,
    texts,
)
from wrongline.ways_to_call import Way

SCORES, LOSS, CACHE = torch.zeros(5, 7, 19), torch.zeros(()), torch.zeros(5, 3, 7, 8)


def test_a_table_anywhere_makes_a_model() -> None:
    assert is_model(nn.Sequential(nn.Identity(), nn.Sequential(nn.Embedding(3, 2)))) is True
    assert is_model(nn.Sequential(nn.Linear(3, 2))) is False


def test_texts_are_five_of_seven_tokens_or_vectors_and_the_same_each_time() -> None:
    tokens, vectors = texts(), texts(24)
    assert (tokens.shape, vectors.shape) == ((5, 7), (5, 7, 24))
    assert tokens.equal(texts())
    assert vectors.equal(texts(24))
    assert tokens.min() >= 0
    assert tokens.max() < 19
    assert len(tokens.unique()) > 7


@pytest.mark.parametrize(
    "result",
    [
        SCORES,
        (LOSS, SCORES),
        [None, CACHE, SCORES, torch.ones(5, 7, 19)],
        {"logits": SCORES, "hidden": torch.ones(5, 7, 24)},
        {"loss": LOSS, "scores": SCORES},
        SimpleNamespace(logits=SCORES),
        SimpleNamespace(logits=(SCORES, LOSS)),
    ],
    ids=["tensor", "loss first", "cache first", "logits", "scores", "field", "pair in a field"],
)
def test_the_scores_are_the_first_tensor_with_three_axes(result: Any) -> None:
    assert scores_in(result) is SCORES


@pytest.mark.parametrize("result", [LOSS, (LOSS, CACHE), {"loss": LOSS}, None, SimpleNamespace()])
def test_a_result_without_scores_says_so(result: Any) -> None:
    with pytest.raises(ValueError, match="three axes|one number"):
        scores_in(result)


class Model(nn.Module):
    r"""Scores are tokens and features; remembers what it was given."""

    def forward(self, *inputs: Tensor, **others: Tensor) -> tuple[Tensor, Tensor]:
        assert all(one.is_contiguous() for one in inputs)
        self.inputs, self.others = inputs, others
        return LOSS, inputs[0][..., None] + torch.arange(3.0)


@pytest.mark.parametrize("layout", ["batch first", "sequence first"])
def test_a_model_is_called_in_its_way_and_gives_scores_with_the_batch_first(layout: str) -> None:
    tokens, model = texts(), Model()
    given = tokens.t() if layout == "sequence first" else tokens
    wanted = tokens[..., None] + torch.arange(3.0)
    assert ModelWay(layout, 2)(model, tokens).equal(wanted)
    assert [one.equal(given) for one in model.inputs] == [True] * 2
    assert model.others == {}
    assert ModelWay(layout, mask="true shows", name="m")(model, tokens).equal(wanted)
    assert model.others["m"].equal(torch.ones(7, 7, dtype=torch.bool).tril())


def plain(tokens: Any, other: Any = None) -> None: ...
def with_targets(tokens: Any, targets: Any = None, more: Any = None) -> None: ...
def late_targets(tokens: Any, mask: Any = None, labels: Any = None) -> None: ...
def short_targets(x: Any, y: Any = None) -> None: ...
def needs_targets(x: Any, y: Any) -> None: ...


@pytest.mark.parametrize(
    ("forward", "inputs"),
    [
        (plain, [1]),
        (with_targets, [1, 2]),
        (short_targets, [1, 2]),
        (needs_targets, [2]),
    ],
)
def test_targets_are_given_if_they_come_next(forward: Callable, inputs: list[int]) -> None:
    layouts = ("batch first", "sequence first")
    expected = [ModelWay(layout, n) for n in inputs for layout in layouts]
    assert list(model_ways(forward, {})) == expected
    assert {way.inputs for way in model_ways(forward, {"inputs": 3})} == {3}


def test_targets_that_come_later_are_not_given() -> None:
    assert {way.inputs for way in model_ways(late_targets, {})} == {1}


class Sums(nn.Module):
    r"""Adds up what it reads, along the axis of the positions, and keeps the sum."""

    def __init__(self, axis: int = 1) -> None:
        super().__init__()
        self.axis = axis

    def forward(
        self, x: Tensor, use_cache: bool = False, state: Tensor | None = None, past: int = 0
    ) -> tuple[Tensor, Tensor | None, None]:
        assert past == 0
        assert not self.training
        sums = x.cumsum(self.axis)
        sums = sums if state is None else sums + state
        last = sums[:, -1:] if self.axis else sums[-1:]
        return sums, last if use_cache else None, None


@pytest.mark.parametrize(("layout", "axis"), [("batch first", 1), ("sequence first", 0)])
def test_parts_are_read_with_the_cache_of_the_call_before(layout: str, axis: int) -> None:
    x = torch.arange(5 * 7 * 3.0).view(5, 7, 3)
    name, read = reader(Sums(axis), Way(layout), x)
    assert name == "state"
    assert read is not None
    parts = list(x.split([1, 4, 2], dim=1))
    assert read(Sums(axis).eval(), parts).equal(x.cumsum(1))


class Open(nn.Module):
    r"""Takes whatever it is given, and two inputs."""

    def forward(self, x: Tensor, y: Tensor, cache: Any = None, **others: Any) -> tuple[Tensor, ...]:
        assert y is x
        return x, x


def test_every_input_is_given_and_a_name_that_is_no_argument_is_no_cache() -> None:
    x = texts(3)
    assert reader(Open(), Way(inputs=2), x)[0] == "cache"
    assert reader(Open(), Way(inputs=2), x, "none") == ("", None)


class Hidden(Sums):
    r"""The input's own name looks like that of a cache."""

    def forward(
        self, hidden_states: Tensor, scale: float = 1.0, layer_past: Tensor | None = None
    ) -> Any:
        return super().forward(hidden_states, use_cache=True, state=layer_past)


def test_an_input_is_no_cache_whatever_its_name() -> None:
    name, read = reader(Hidden(), Way(), x := texts(3))
    assert name == "layer_past"
    assert read(Hidden().eval(), [*x.split([2, 5], dim=1)]).allclose(x.cumsum(1), atol=1e-5)


def test_a_cache_is_said_or_none_and_one_that_can_not_be_read_is_none() -> None:
    x = texts(3)
    assert reader(Sums(), Way(), x, "past") == ("", None)  # it is not read like this
    assert reader(Sums(), Way(), x, "none") == ("", None)
    assert reader(Sums(), Way(), x, "use_cache") == ("", None)
    assert reader(Sums(), Way(mask="added", name="m"), x) == ("", None)
    assert reader(nn.Identity(), Way(), x) == ("", None)


def test_an_attention_has_three_quick_tests_and_a_model_its_own() -> None:
    def leaks(_: nn.Module, x: Tensor) -> Tensor:
        return x + x.mean(1, keepdim=True)

    def mixes(_: nn.Module, x: Tensor) -> Tensor:
        return x + x.mean(1, keepdim=True) + x.mean(0) + torch.rand(())

    x = texts(4)
    # Whether it depends on the length, only a test of models asks.
    ways = (lambda _, x: x * x.shape[1]), leaks, mixes
    assert [badness(nn.Identity(), way, x) for way in ways] == [0, 2, 8]
    assert badness(Model(), ModelWay(), texts()) == 0

    # One that fails leaves the module in training, where dropout is on. The next begins anew.
    class Drops(nn.Dropout):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) + x.mean(1, keepdim=True)

    assert badness(Drops(0.5), lambda module, x: module(x), x) == 2

    class Last(nn.Embedding):
        def forward(self, tokens: Tensor) -> Tensor:
            return super().forward(tokens.flip(1))

    assert badness(Last(19, 3), ModelWay(), texts()) == 2


def test_what_has_no_gradient_is_still_called_with_the_right_mask() -> None:
    class NoGradient(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, *gradients: Tensor) -> Any:
            raise RuntimeError("there is none")

    class Added(nn.Module):
        def forward(self, x: Tensor, mask: Tensor) -> Tensor:
            weights = (torch.zeros(mask.shape) + mask).softmax(-1)
            return NoGradient.apply(weights @ x)

    way, _ = best_way(Added(), {})
    assert way is not None and way.mask == "added"


def test_the_best_way_is_that_with_the_mask_that_it_wants_or_the_first_error() -> None:
    class Masked(nn.Linear):
        def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
            if mask is None:
                return x
            assert x.shape == (5, 7, 12)
            return super().forward(x) + (mask.triu(1) @ x).cumsum(1)

    # Only a mask that is true where it may look has nothing above the diagonal.
    said = {"shape": "T, T"}
    way, refused = best_way(Masked(12, 12), said, 12)
    assert way == Way(mask="none", name="mask")
    assert refused is not None and refused.sentence.startswith("RuntimeError")
    way, refused = best_way(Masked(12, 12), {"mask": "true shows"}, 12)
    assert way is None
    assert best_way(nn.Linear(24, 24), {})[0] == Way()


def test_the_model_of_the_example_adds_up_rows() -> None:
    torch.manual_seed(1)
    model, (tokens, targets) = Counts(5, 5), torch.randint(5, (2, 3, 7))
    loss, scores, last = model(tokens, targets)
    rows = model.weight[tokens]
    wanted = torch.stack([rows[:, : n + 1].sum(1) for n in range(7)], dim=1)
    torch.testing.assert_close(scores, wanted)
    assert last.equal(scores[:, -1])
    torch.testing.assert_close(loss, -wanted.log_softmax(-1).gather(-1, targets[..., None]).mean())
    torch.testing.assert_close(model(tokens, targets, last)[1], wanted + last[:, None])


class InAField(nn.Embedding):
    r"""Its cache is in a field of the result; `kept` of it is what it gives."""

    kept = 1.0

    def forward(self, tokens: Tensor, past: Tensor | None = None) -> SimpleNamespace:
        sums = super().forward(tokens).cumsum(1) + (0 if past is None else past)
        return SimpleNamespace(logits=sums, past=self.kept * sums[:, -1:])


def test_a_cache_is_read_in_all_ways_that_the_command_knows() -> None:
    tokens, model = texts(), InAField(19, 19)
    with torch.no_grad():
        for kept in (1.0, 0.5):
            model.kept = kept
            name, read = reader(model, ModelWay(), tokens)
            assert name == "past" and read is not None
            said = read(model, [*tokens.split([2, 5], dim=1)])
            assert torch.allclose(said, model(tokens).logits, atol=1e-5) == (kept == 1)
    assert reader(model, ModelWay(), tokens, "none") == ("", None)

r"""Each property, of functions that have it or just don't."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from wrongline.properties import (
    every_matrix_is_used,
    is_zero,
    nothing_from_the_future,
    padding_hides,
    same_twice,
    sequences_apart,
    stays_finite,
)

BATCH_SIZE, SEQ_LEN, D_MODEL = 3, 7, 5
X = torch.randn(BATCH_SIZE, SEQ_LEN, D_MODEL, generator=torch.Generator().manual_seed(1))
NOTHING = nn.Identity()


def only(row: slice | int, position: slice | int, feature: slice | int = slice(None)) -> Tensor:
    r"""Ones at a place, and zeros elsewhere."""
    place = torch.zeros(X.shape)
    place[row, position, feature] = 1.0
    return place


def at(place: Tensor, number: float) -> Callable[[Tensor], Tensor]:
    r"""Gives its input, with another number at some places."""
    return lambda x: x.masked_fill(place[: len(x), : x.shape[1]] == 1, number)


def steep(place: Tensor) -> Callable[[Tensor], Tensor]:
    r"""Gives its input, with roots of zero added at some places: their gradients are no numbers."""
    return lambda x: x + (x * (1 - place[: len(x), : x.shape[1]])).square().sqrt()


def test_chance_is_found_and_what_is_no_number_is_no_chance() -> None:
    assert same_twice(NOTHING, lambda x: 2 * x, X) == ""
    assert "dropout is on" in same_twice(NOTHING, lambda x: x + torch.rand(1), X)
    assert same_twice(NOTHING, at(only(1, 2, 3), math.nan), X) == ""
    assert same_twice(NOTHING, lambda x: x * math.nan, X) == ""


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_a_part_of_a_gradient_is_zero_up_to_a_ten_thousandth_of_the_whole(size: float) -> None:
    whole = size * torch.tensor([[0.0, -1.0], [0.0, -0.1]])
    assert is_zero(-0.9e-4 * size * torch.ones(3), whole) is True
    assert is_zero(torch.tensor([0.0, -1.1e-4 * size]), whole) is False
    assert is_zero(torch.tensor([0.0, math.nan]), whole) is False


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("position", [0, SEQ_LEN - 2])
def test_the_future_is_looked_for_at_each_position_in_both_modes(
    position: int, training: bool
) -> None:
    module = nn.Identity()

    def leaks(x: Tensor) -> Tensor:
        here = module.training == training
        return x.cumsum(1) + here * only(slice(None), position) * x.roll(-1, 1)

    mode = "in training, " if training else ""
    said = nothing_from_the_future(module, leaks, X)
    assert said.startswith(f"{mode}the output at position {position} depends on later inputs")
    assert nothing_from_the_future(module, lambda x: x.cumsum(1), X) == ""


def test_a_leak_in_both_modes_isnt_told_as_one_in_training() -> None:
    # The sum of these outputs is zero, whatever goes in.
    leaks = lambda x: torch.cat([x.roll(-1, 1), -x.roll(-1, 1)], dim=-1)  # noqa: E731
    assert nothing_from_the_future(NOTHING, leaks, X).startswith("the output at position 0 ")


def test_outputs_that_depend_on_no_input_leak_nothing() -> None:
    weight = nn.Parameter(torch.ones(D_MODEL))
    run = lambda x: weight.expand(x.shape)  # noqa: E731
    assert nothing_from_the_future(NOTHING, run, X) == ""
    assert sequences_apart(NOTHING, run, X) == ""


@pytest.mark.parametrize("row", [0, BATCH_SIZE - 1])
def test_each_sequence_is_kept_apart(row: int) -> None:
    # Each position needs the one before it, so the sequence isn't the first axis.
    past = lambda x: torch.cat([x[:, :1], x[:, 1:] + x[:, :-1]], dim=1)  # noqa: E731
    mixed = lambda x: past(x) + only(row, slice(None))[: len(x)] * x.roll(-1, 0)  # noqa: E731
    assert sequences_apart(NOTHING, past, X) == ""
    assert sequences_apart(NOTHING, mixed, X) == (
        f"sequence {row} depends on others: the batch is mixed up"
    )
    alone = lambda x: x * (2 if len(x) == 1 and x.equal(X[row : row + 1]) else 1)  # noqa: E731
    assert sequences_apart(NOTHING, alone, X) == (
        f"sequence {row} of 3 gets another output when it is alone"
    )


def test_a_text_that_is_read_along_the_batch_is_told_so() -> None:
    said = sequences_apart(NOTHING, lambda x: x.cumsum(0), X)
    assert "the attention wants the sequence first" in said


class Matrices(nn.Module):
    r"""One of three matrices is used; one is multiplied by zero."""

    def __init__(self) -> None:
        super().__init__()
        self.used = nn.Linear(D_MODEL, D_MODEL)
        self.unused = nn.Parameter(torch.ones(D_MODEL, D_MODEL))
        self.nothing = nn.Parameter(torch.ones(D_MODEL, D_MODEL))
        self.vector = nn.Parameter(torch.ones(D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        x = self.used(x) + 0 * x @ self.nothing
        # The sum over the features is zero, whatever goes in.
        return torch.cat([x, -x], dim=-1)


def test_matrices_that_are_not_used_are_named() -> None:
    module = Matrices()
    # What another test left there says nothing.
    module.unused.grad = torch.ones(D_MODEL, D_MODEL)
    said = every_matrix_is_used(module, module, X)
    assert said == "no gradient comes to unused, nothing: never used, or what it makes is detached"
    # As in a published attention that keeps its mask as a parameter.
    linear = nn.Linear(D_MODEL, D_MODEL)
    linear.mask = nn.Parameter(torch.ones(3, 3, dtype=torch.bool), requires_grad=False)
    assert every_matrix_is_used(linear, linear, X) == ""
    # A feature that is zero uses some numbers of a matrix only.
    linear = nn.Linear(D_MODEL, D_MODEL)
    assert every_matrix_is_used(linear, linear, X * (torch.arange(D_MODEL) > 0)) == ""


def test_numbers_stay_finite_as_they_are_and_large_and_alone() -> None:
    by_hand = lambda x: x.exp() / x.exp().sum(dim=-1, keepdim=True)  # noqa: E731
    short = lambda x: x / (x.shape[1] - 1)  # noqa: E731
    largest = X.abs().max()
    for run, size, n in (
        (lambda x: x + math.inf, largest, SEQ_LEN),
        (by_hand, 100 * largest, SEQ_LEN),
        (lambda x: short(by_hand(x)), 100 * largest, SEQ_LEN),
        (short, X[:, 0].abs().max(), 1),
    ):
        said = stays_finite(NOTHING, run, X)
        assert said.startswith(f"with inputs up to {size:.0f} and {n} positions there are NaN")
    assert stays_finite(NOTHING, lambda x: x.softmax(-1), X) == ""


@pytest.mark.parametrize("spoil", [lambda place: at(place, math.inf), steep])
def test_one_number_that_is_none_is_found_in_outputs_and_in_gradients(
    spoil: Callable[[Tensor], Callable[[Tensor], Tensor]],
) -> None:
    run = spoil(only(1, 2, 3))
    assert "there are NaN or infinite numbers" in stays_finite(NOTHING, run, X)
    assert "gives NaN" in padding_hides(lambda x, mask: run(x), X)


def test_of_one_sequence_two_keys_are_hidden_and_of_another_all() -> None:
    given: list[tuple[Tensor, Tensor]] = []

    def masked(x: Tensor, mask: Tensor) -> Tensor:
        given.append((x.detach().clone(), mask.clone()))
        return torch.einsum("bij,bjd->bid", mask.to(x), x)

    before = X.clone()
    assert padding_hides(masked, X) == ""
    assert X.equal(before)
    (x, mask), (other, again) = given
    shown = [
        [
            [j <= i and b != 1 and (b, j) not in ((0, 0), (0, 1)) for j in range(SEQ_LEN)]
            for i in range(SEQ_LEN)
        ]
        for b in range(BATCH_SIZE)
    ]
    assert mask.tolist() == again.tolist() == shown
    assert mask.dtype == torch.bool
    assert x.equal(X)
    # What is hidden changes, and nothing else.
    assert (other != x).equal(only(0, slice(0, 2)) == 1)


def test_a_mask_that_hides_nothing_is_found() -> None:
    said = padding_hides(lambda x, mask: x.cumsum(1), X)
    assert said.startswith("hidden inputs change the outputs of others")


def test_without_any_matrix_none_is_unused_and_the_input_stays_as_it_is() -> None:
    assert every_matrix_is_used(NOTHING, lambda x: 2 * x, X) == ""
    assert not X.requires_grad

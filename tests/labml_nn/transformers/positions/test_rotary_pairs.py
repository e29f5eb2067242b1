r"""The order of features against Hugging Face's two kinds of models, and the page's claims."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from transformers.models.gpt_neox.modeling_gpt_neox import apply_rotary_pos_emb as neox
from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb as gptj

from labml_nn.transformers.positions import rotary_pairs
from labml_nn.transformers.positions.rotary_pairs import (
    halves_to_neighbours,
    neighbours_to_halves,
    order_of_halves,
    scores_both_ways,
    turn_neighbours,
)
from labml_nn.transformers.rotary import RotaryPositions, pair_speeds
from tests.labml_nn.transformers.positions.at_the_seam import apart, with_gradients

SEQ_LEN, BATCH_SIZE, HEADS, D_K, D_MODEL = 7, 2, 3, 10, 13

Convert = Callable[[Tensor, int, int], Tensor]


def projection() -> tuple[Tensor, Tensor, Tensor]:
    r"""Tokens, and the weights of queries and of keys."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(SEQ_LEN, BATCH_SIZE, D_MODEL, generator=generator).double()
    query, key = torch.randn(2, HEADS * D_K, D_MODEL, generator=generator).double()
    return x, query.requires_grad_(), key.requires_grad_()


def of_halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    r"""GPT-NeoX, which wants the heads before the positions and all angles twice."""
    cos, sin = (t.repeat(1, 1, 2) for t in (cos, sin))
    return neox(x.transpose(1, 2), x.transpose(1, 2), cos, sin)[0].transpose(1, 2)


def of_neighbours(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    r"""GPT-J, which leaves the features after the pairs to the caller."""
    width = 2 * cos.shape[-1]
    return torch.cat([gptj(x[..., :width], sin, cos), x[..., width:]], dim=-1)


def scores(turn: Callable[..., Tensor], query: Tensor, key: Tensor, width: int) -> Tensor:
    r"""The scores of those projections, when they are turned by another's function."""
    x, *_ = projection()
    angles = torch.arange(SEQ_LEN)[:, None] * pair_speeds(width)
    q, k = (
        turn(
            (x @ w.T).unflatten(-1, (HEADS, D_K)).transpose(0, 1),
            angles.cos()[None],
            angles.sin()[None],
        )
        for w in (query, key)
    )
    return torch.einsum("bihd,bjhd->ijbh", q, k)


def converted(convert: Convert, before: Callable, after: Callable, width: int) -> float:
    r"""The scores of one model, and of the other with the weights converted."""
    _, query, key = projection()
    expected = scores(before, query, key, width)
    found = scores(after, convert(query, HEADS, width), convert(key, HEADS, width), width)
    return apart(with_gradients(found, query, key), with_gradients(expected, query, key))


def complex_numbers() -> float:
    r"""Neighbours as complex numbers, beside GPT-J."""
    x = projection()[0][..., :12].detach().unflatten(-1, (2, 6)).requires_grad_()
    angles = torch.arange(SEQ_LEN)[:, None] * pair_speeds(6)
    expected = gptj(x.transpose(0, 1), angles.sin()[None], angles.cos()[None]).transpose(0, 1)
    found = turn_neighbours(x, pair_speeds(6))
    return apart(with_gradients(found, x), with_gradients(expected, x))


ORACLES: dict[str, Callable[[], float]] = {
    "Hugging Face GPT-J, converted to GPT-NeoX": lambda: converted(
        neighbours_to_halves, of_neighbours, of_halves, D_K
    ),
    "Hugging Face GPT-NeoX, converted to GPT-J": lambda: converted(
        halves_to_neighbours, of_halves, of_neighbours, D_K
    ),
    "Hugging Face GPT-J, converted to GPT-NeoX, partial width": lambda: converted(
        neighbours_to_halves, of_neighbours, of_halves, 6
    ),
    "Hugging Face GPT-NeoX, converted to GPT-J, partial width": lambda: converted(
        halves_to_neighbours, of_halves, of_neighbours, 6
    ),
    "Hugging Face GPT-J, beside complex numbers": complex_numbers,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


def test_the_first_of_each_pair_come_first() -> None:
    assert order_of_halves(6).tolist() == [0, 2, 4, 1, 3, 5]
    assert order_of_halves(7, 4).tolist() == [0, 2, 1, 3, 4, 5, 6]
    assert order_of_halves(7, 2).tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_letters_are_ordered_as_the_page_says() -> None:
    assert ["aabbcc"[feature] for feature in order_of_halves(6)] == list("abcabc")


@pytest.mark.parametrize("width", [2, 4, 10, None])
def test_there_and_back_again(width: int | None) -> None:
    _, query, _ = projection()
    there = neighbours_to_halves(query, HEADS, width)
    assert halves_to_neighbours(there, HEADS, width).equal(query)
    assert neighbours_to_halves(halves_to_neighbours(query, HEADS, width), HEADS, width).equal(
        query
    )
    assert there.equal(query) == (width == 2)


def test_biases_are_converted_too() -> None:
    bias = torch.arange(12)
    assert neighbours_to_halves(bias, 2).tolist() == [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]
    assert halves_to_neighbours(bias, 2).tolist() == [0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11]


def test_weights_may_be_anywhere() -> None:
    weight = torch.empty(12, 5, device="meta")
    assert neighbours_to_halves(weight, 2).device.type == "meta"
    assert halves_to_neighbours(weight, 2).device.type == "meta"


@pytest.mark.parametrize("width", [3, 0, -2, 12])
def test_a_width_that_has_no_pairs_is_refused(width: int) -> None:
    with pytest.raises(ValueError, match=f"even, and from 2 to d_k=10, got {width}"):
        order_of_halves(10, width)


def test_an_odd_head_without_a_width_is_refused() -> None:
    with pytest.raises(ValueError, match="even, and from 2 to d_k=7, got 7"):
        order_of_halves(7)


@pytest.mark.parametrize("heads", [1, 3])
def test_scores_are_equal_if_weights_are_converted(heads: int) -> None:
    neighbours, halves, mistaken = scores_both_ways(heads=heads)
    torch.testing.assert_close(halves, neighbours)
    assert neighbours.shape == (7, 7, heads)

    # On the diagonal nothing is turned, and the mistake can't be seen.
    wrong = (mistaken - neighbours).abs()
    assert wrong.diagonal().max() < 1e-5
    assert wrong.max() > 0.1 * neighbours.abs().max()


def test_scores_are_of_queries_with_keys_in_three_heads() -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(7, 30, generator=generator)
    weights = torch.randn(2, 30, 30, generator=generator) / 30
    q, k = (turn_neighbours((x @ w.T).view(7, 1, 3, 10), pair_speeds(10)) for w in weights)
    expected = torch.einsum("ibhd,jbhd->ijh", q, k)
    torch.testing.assert_close(scores_both_ways()[0], expected)


def test_angles_are_of_double_precision_whatever_the_speeds_are() -> None:
    x, speeds = projection()[0][..., None, :D_K], pair_speeds(D_K).float()
    assert turn_neighbours(x, speeds).equal(turn_neighbours(x, speeds.double()))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_complex_numbers_do_what_the_table_does(dtype: torch.dtype) -> None:
    x = torch.randn(SEQ_LEN, BATCH_SIZE, HEADS, D_K).to(dtype)
    found = turn_neighbours(x, pair_speeds(D_K))
    assert found.dtype is dtype
    expected = RotaryPositions(D_K, SEQ_LEN, interleaved=True)(x.double())
    assert (found.double() - expected).abs().max() < 8 * torch.finfo(dtype).eps


def test_the_example_comes_back() -> None:
    halves, again, turned, neighbours, converted, mistaken = rotary_pairs.example(5, 2, 3, 7)
    assert halves.shape == again.shape == (42, 42)
    assert turned.shape == (5, 2, 3, 14)
    assert neighbours.shape == converted.shape == mistaken.shape == (5, 5, 3)

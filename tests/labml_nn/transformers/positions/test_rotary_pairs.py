from collections.abc import Callable

import torch
from torch import Tensor
from transformers.models.gpt_neox.modeling_gpt_neox import apply_rotary_pos_emb as neox
from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb as gptj

from labml_nn.transformers.positions import rotary_pairs as page
from labml_nn.transformers.rotary import inverse_frequencies
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import difference

SEQ_LEN, BATCH_SIZE, HEADS, D_K, D_MODEL = 7, 2, 3, 10, 13

Convert = Callable[[Tensor, int], Tensor]


def projections() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(SEQ_LEN, BATCH_SIZE, D_MODEL, generator=generator).double()
    query, key = torch.randn(2, HEADS * D_K, D_MODEL, generator=generator).double()
    return x, query.requires_grad_(), key.requires_grad_()


def of_halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    r"""GPT-NeoX, which wants the heads before the positions and all angles twice."""
    cos, sin = (t.repeat(1, 1, 2) for t in (cos, sin))
    return neox(x.transpose(1, 2), x.transpose(1, 2), cos, sin)[0].transpose(1, 2)


def of_neighbours(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return gptj(x, sin, cos)


def scores(rotate: Callable[..., Tensor], query: Tensor, key: Tensor) -> Tensor:
    x, *_ = projections()
    angles = torch.arange(SEQ_LEN)[:, None] * inverse_frequencies(D_K)
    cos, sin = angles.cos()[None], angles.sin()[None]
    q, k = (
        rotate((x @ w.T).unflatten(-1, (HEADS, D_K)).transpose(0, 1), cos, sin)
        for w in (query, key)
    )
    return torch.einsum("bihd,bjhd->ijbh", q, k)


def converted(convert: Convert, before: Callable, after: Callable) -> float:
    _, query, key = projections()
    expected = scores(before, query, key)
    found = scores(after, convert(query, HEADS), convert(key, HEADS))
    return difference(found, expected, [query, key], [query, key])


def complex_numbers() -> float:
    r"""Neighbours as complex numbers, beside GPT-J."""
    x = projections()[0][..., :12].detach().unflatten(-1, (2, 6)).requires_grad_()
    angles = torch.arange(SEQ_LEN)[:, None] * inverse_frequencies(6)
    expected = gptj(x.transpose(0, 1), angles.sin()[None], angles.cos()[None]).transpose(0, 1)
    found = page.rotate_neighbours(x, inverse_frequencies(6))
    return difference(found, expected, [x], [x])


ORACLES = {
    "Hugging Face GPT-J, converted to GPT-NeoX": lambda: converted(
        page.neighbours_to_halves, of_neighbours, of_halves
    ),
    "Hugging Face GPT-NeoX, converted to GPT-J": lambda: converted(
        page.halves_to_neighbours, of_halves, of_neighbours
    ),
    "Hugging Face GPT-J, beside complex numbers": complex_numbers,
}
test_it_equals_what_others_compute = equals(ORACLES)


def test_biases_are_converted_head_by_head_and_back_again() -> None:
    bias = torch.arange(12)
    halves = page.neighbours_to_halves(bias, 2)
    assert halves.tolist() == [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]
    assert page.halves_to_neighbours(halves, 2).equal(bias)


def test_the_result_has_the_type_of_the_input() -> None:
    x = torch.randn(SEQ_LEN, BATCH_SIZE, HEADS, D_K)
    assert page.rotate_neighbours(x, inverse_frequencies(D_K)).dtype is torch.float32

from functools import partial

import pytest
import torch
from torch import Tensor

from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.variants import linear_attention as page
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import BATCH_SIZE, D_K, D_MODEL, HEADS, at_the_seam, equals
from tests.oracles.compare import difference, largest

D_V = 13

attention = partial(page.LinearAttention, HEADS, D_MODEL)


def numbers(seq_len: int) -> tuple[Tensor, Tensor, Tensor]:
    r"""A query and a key after the feature map, and a value of another width, with gradients."""
    generator = torch.Generator().manual_seed(1)
    sizes = [(seq_len, BATCH_SIZE, HEADS, width) for width in (5, 5, D_V)]
    q, k, v = (torch.randn(s, generator=generator, dtype=torch.float64) for s in sizes)
    return (
        page.feature_map(q).requires_grad_(),
        page.feature_map(k).requires_grad_(),
        v.requires_grad_(),
    )


def at_once(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    weights = page.attention_weights(query, key, causal_mask(len(key)))
    return torch.einsum("ijbh,jbhv->ibhv", weights, value)


def score(q: Tensor, k: Tensor, i: int, j: int, h: int) -> Tensor:
    r"""The logarithm of the weight of one pair."""
    q, k = (torch.where(x > 0, x + 1, x.clamp(max=0).exp()) for x in (q, k))
    return (q @ k).log()


ORACLES = {
    "a loop over scalars": lambda: seam.from_loops(
        seam.randomised(attention()), seam.some_mask(), score
    ),
}
test_it_equals_what_others_compute = equals(ORACLES)


# In float16 the gradient of a quotient by the smallest sum is infinite.
IDLE = partial(seam.check_idle, types=(torch.float64, torch.bfloat16))
test_at_the_seam = at_the_seam(attention, {}, but=(seam.check_idle,), and_also=(IDLE,))


@pytest.mark.parametrize("chunk_len", [1, 3, 4, 64])
def test_the_three_forms_and_their_gradients_are_equal(chunk_len: int) -> None:
    made = numbers(7)
    state = page.empty_state(made[1], made[2])
    chunks, carried = page.in_chunks(*made, state, chunk_len)
    assert difference(chunks, at_once(*made), made, made) < 1e-10
    steps, last = page.step_by_step(*made, state)
    assert difference(steps, at_once(*made), made, made) < 1e-10
    assert largest(carried, last) < 1e-10


def test_a_text_in_pieces_gives_what_the_whole_gives() -> None:
    module, x, found, state = seam.randomised(attention()), seam.text(), [], None
    for piece in x.split([2, 1, 4]):
        output, state = module.extend(piece, state)
        found.append(output)
    assert largest([torch.cat(found)], [seam.attend(module, x, causal_mask(len(x)))]) < 1e-10
    assert [one.shape for one in state] == [(BATCH_SIZE, HEADS, D_K, D_K), (BATCH_SIZE, HEADS, D_K)]


def test_the_weights_sum_to_one_and_are_kept() -> None:
    module = seam.randomised(attention())
    module(**seam.inputs(), mask=seam.some_mask())
    assert largest([module.attn.sum(dim=1)], [torch.ones_like(module.attn[:, 0])]) < 1e-10
    assert module.attn.min() >= 0


def test_weights_are_flatter_than_those_of_a_softmax() -> None:
    query, key = torch.randn(2, 10, 1000, 1, 32, generator=torch.Generator().manual_seed(1))
    linear = page.attention_weights(page.feature_map(query), page.feature_map(key), None)
    softmax = torch.einsum("ibhd,jbhd->ijbh", query / 32**0.5, key).softmax(dim=1)
    largest_weights = [one.amax(dim=1).mean().item() for one in (linear, softmax)]
    assert largest_weights == pytest.approx([0.12, 0.32], abs=0.01)


def test_the_feature_map_is_positive_until_rounding_makes_it_zero() -> None:
    assert (page.feature_map(torch.linspace(-15, 15, 31)) > 0).all()
    last, first = page.feature_map(torch.tensor([-17.32, -17.34])).tolist()
    assert last > first == 0.0

r"""Transformer-XL's scores against loops, against Hugging Face, and against the page's claims."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from transformers import XLNetConfig
from transformers.models.xlnet.modeling_xlnet import XLNetRelativeAttention

from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.positions import transformer_xl
from labml_nn.transformers.positions.transformer_xl import TransformerXLAttention
from tests.labml_nn.transformers.positions.at_the_seam import (
    BATCH_SIZE,
    CHECKS,
    D_K,
    D_MODEL,
    HEADS,
    SEQ_LEN_K,
    SEQ_LEN_Q,
    Make,
    any_mask,
    apart,
    from_loops,
    inputs,
    made,
    shapes_beyond_attention,
    with_gradients,
)


def attention() -> TransformerXLAttention:
    r"""One without dropout."""
    return TransformerXLAttention(HEADS, D_MODEL, 0.0)


def waves(distance: int) -> list[float]:
    r"""The sines of a distance, and then the cosines."""
    angles = [distance * 10_000 ** (-2 * i / D_MODEL) for i in range(D_MODEL // 2)]
    return [math.sin(angle) for angle in angles] + [math.cos(angle) for angle in angles]


def score(module: TransformerXLAttention, q: Tensor, k: Tensor, i: int, j: int, h: int) -> Tensor:
    r"""The four parts of the page's formula for one pair."""
    rows = module.distance.linear.weight[h * D_K : (h + 1) * D_K]
    r = (rows * torch.tensor(waves(i - j), dtype=torch.float64)).sum(dim=1)
    parts = q * k, q * r, module.content_bias[h] * k, module.distance_bias[h] * r
    return sum(part.sum() for part in parts) / math.sqrt(D_K)


def xlnet() -> float:
    r"""It came after Transformer-XL and has the same scores, in both directions."""
    module, given = made(attention), inputs()
    config = XLNetConfig(d_model=D_MODEL, n_head=HEADS, d_inner=1, dropout=0.0)
    other = XLNetRelativeAttention(config).double()
    other.r_w_bias.data, other.r_r_bias.data = (
        part.data.clone() for part in (module.content_bias, module.distance_bias)
    )
    q, k, v = (
        part.linear(x).unflatten(-1, (HEADS, D_K))
        for part, x in zip((module.query, module.key, module.value), given.values(), strict=True)
    )

    # From the longest distance on, and one more that is not used.
    r = torch.tensor(
        [waves(distance) for distance in range(SEQ_LEN_K, -SEQ_LEN_Q, -1)], dtype=torch.float64
    )
    r = module.distance.linear(r).unflatten(-1, (HEADS, D_K)).unsqueeze(1)
    r = r.expand(-1, BATCH_SIZE, -1, -1)
    hidden = ~any_mask().unsqueeze(-1)
    mean = other.rel_attn_core(q, k, v, r, attn_mask=hidden.double())
    expected = module.output(mean.flatten(start_dim=2))
    theirs = [other.r_w_bias, other.r_r_bias]
    shared = [
        *given.values(),
        *(p for name, p in module.named_parameters() if "_bias" not in name),
    ]
    found = module(**given, mask=any_mask())
    return apart(
        with_gradients(found, *shared, module.content_bias, module.distance_bias),
        with_gradients(expected, *shared, *theirs),
    )


ORACLES: dict[str, Callable[[], float]] = {
    "a loop over scalars": lambda: from_loops(attention, None, score),
    "a loop over scalars, with a mask": lambda: from_loops(attention, any_mask(), score),
    "Hugging Face XLNet": xlnet,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@pytest.mark.parametrize("check", CHECKS)
def test_at_the_seam(check: Callable[[Make], None]) -> None:
    check(attention)


def test_without_distances_and_biases_it_is_plain_attention() -> None:
    module, given = made(attention), inputs()
    plain = MultiHeadAttention(HEADS, D_MODEL, 0.0).double()
    plain.load_state_dict(module.state_dict(), strict=False)
    for part in (module.distance.linear.weight, module.content_bias, module.distance_bias):
        part.data.zero_()
    torch.testing.assert_close(module(**given), plain(**given))


def test_the_projection_of_distances_and_two_small_biases_are_added() -> None:
    torch.manual_seed(1)
    module = TransformerXLAttention(HEADS, D_MODEL)
    assert shapes_beyond_attention(module) == {
        "content_bias": (3, 22),
        "distance_bias": (3, 22),
        "distance.linear.weight": (66, 66),
    }
    both = torch.stack([module.content_bias, module.distance_bias])
    assert 0.01 < both.std() < 0.03


def test_in_a_transformer_nothing_is_added_to_tokens() -> None:
    parts = transformer_xl.in_transformer(d_model=12, heads=2, dropout_prob=0.3, seq_len=5)
    one, other = parts["self_attn"](), parts["self_attn"]()
    assert one is not other
    assert (one.heads, one.dropout.p) == (2, 0.3)
    x = torch.randn(3)
    assert parts["positions"]()(x) is x


def test_the_example_has_queries_of_the_text_only() -> None:
    assert transformer_xl.example(7, 2, 3, 5, 2).shape == (7, 3, 20)

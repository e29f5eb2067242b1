r"""Relative positions against loops, against Hugging Face, and against what their page claims."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from transformers import Wav2Vec2BertConfig
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention

from labml_nn.transformers.positions import shaw_relative
from labml_nn.transformers.positions.shaw_relative import ShawAttention, distances
from tests.labml_nn.transformers.positions.at_the_seam import (
    CHECKS,
    D_K,
    D_MODEL,
    HEADS,
    Make,
    any_mask,
    apart,
    from_loops,
    inputs,
    made,
    shapes_beyond_attention,
    with_gradients,
)

MAX_DISTANCE = 3


def attention() -> ShawAttention:
    r"""One without dropout, in which some distances share a vector."""
    return ShawAttention(HEADS, D_MODEL, 0.0, max_distance=MAX_DISTANCE)


def score(module: ShawAttention, q: Tensor, k: Tensor, i: int, j: int, h: int) -> Tensor:
    r"""The formula of the page for one pair."""
    row = max(-MAX_DISTANCE, min(MAX_DISTANCE, i - j)) + MAX_DISTANCE
    return (q * (k + module.distance_keys[row])).sum() / math.sqrt(D_K)


def wav2vec2_bert() -> float:
    r"""It counts distances from the query to the key."""
    module = made(attention)
    config = Wav2Vec2BertConfig(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        attention_dropout=0.0,
        position_embeddings_type="relative_key",
        left_max_position_embeddings=MAX_DISTANCE,
        right_max_position_embeddings=MAX_DISTANCE,
        attn_implementation="eager",
    )
    other = Wav2Vec2BertSelfAttention(config).double()
    mine = [module.query.linear, module.key.linear, module.value.linear, module.output]
    theirs = [other.linear_q, other.linear_k, other.linear_v, other.linear_out]
    for one, another in zip(mine, theirs, strict=True):
        another.load_state_dict(one.state_dict())
    other.distance_embedding.weight.data = module.distance_keys.data.flip(0)

    x, y = (inputs()["key"] for _ in range(2))
    expected, _ = other(y.transpose(0, 1))
    found = module(query=x, key=x, value=x)
    return apart(
        with_gradients(found, x, *(p for m in mine for p in m.parameters())),
        with_gradients(expected.transpose(0, 1), y, *(p for m in theirs for p in m.parameters())),
    )


ORACLES: dict[str, Callable[[], float]] = {
    "a loop over scalars": lambda: from_loops(attention, None, score),
    "a loop over scalars, with a mask": lambda: from_loops(attention, any_mask(), score),
    "Hugging Face Wav2Vec2-BERT": wav2vec2_bert,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@pytest.mark.parametrize("check", CHECKS)
def test_at_the_seam(check: Callable[[Make], None]) -> None:
    check(attention)


def test_queries_are_the_last_positions_of_the_keys() -> None:
    assert distances(2, 3).tolist() == [[1, 0, -1], [2, 1, 0]]
    assert distances(3, 5)[0].tolist() == [2, 1, 0, -1, -2]


def test_with_a_greatest_distance_of_zero_order_is_lost() -> None:
    module, given = ShawAttention(HEADS, D_MODEL, 0.0, max_distance=0).double(), inputs()
    backwards = {"query": given["query"], "key": given["key"].flip(0)}
    found = module(**backwards, value=given["value"].flip(0))
    torch.testing.assert_close(found, module(**given))


def test_one_vector_for_each_distance_is_added_and_starts_with_a_length_of_one() -> None:
    assert shapes_beyond_attention(attention()) == {"distance_keys": (7, D_K)}
    torch.manual_seed(1)
    lengths = ShawAttention(1, 997).distance_keys.norm(dim=1)
    assert lengths.shape == (33,)
    assert (lengths - 1).abs().max() < 0.1


def test_in_a_transformer_nothing_is_added_to_tokens() -> None:
    parts = shaw_relative.in_transformer(d_model=6, heads=2, dropout_prob=0.3, seq_len=5)
    one, other = parts["self_attn"](), parts["self_attn"]()
    assert one is not other
    assert (one.heads, one.dropout.p) == (2, 0.3)
    x = torch.randn(3)
    assert parts["positions"]()(x) is x


def test_the_end_of_the_example_is_the_end_of_the_whole() -> None:
    torch.manual_seed(1)
    whole, end = shaw_relative.example(7, 2, 3, 5, 2, 3)
    assert whole.shape == (7, 3, 10)
    assert end.shape == (2, 3, 10)

r"""Relative positions against loops, against Hugging Face, and against what their page claims."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from transformers import Wav2Vec2BertConfig
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention

from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.positions import shaw_relative
from labml_nn.transformers.positions.shaw_relative import ShawAttention, distances, moved_scores
from tests.labml_nn.transformers.positions.at_the_seam import (
    BATCH_SIZE,
    CHECKS,
    D_K,
    D_MODEL,
    HEADS,
    SEQ_LEN_K,
    SEQ_LEN_Q,
    any_mask,
    apart,
    by_loops,
    check_both_ways,
    check_types,
    inputs,
    made,
    with_gradients,
)

MAX_DISTANCE = 3


def attention(max_distance: int = MAX_DISTANCE) -> ShawAttention:
    r"""One without dropout, in which all heads share some vectors."""
    return ShawAttention(HEADS, D_MODEL, 0.0, max_distance=max_distance)


def loops(seq_len_q: int, mask: Tensor | None) -> float:
    r"""The formula, one number after the other."""
    module, given = made(attention), inputs(seq_len_q)

    def row(distance: int) -> int:
        return max(-MAX_DISTANCE, min(MAX_DISTANCE, distance)) + MAX_DISTANCE

    def score(q: Tensor, k: Tensor, i: int, j: int, h: int) -> Tensor:
        return (q * (k + module.distance_keys[row(i - j)])).sum() / math.sqrt(D_K)

    def carried(v: Tensor, distance: int) -> Tensor:
        return v + module.distance_values[row(distance)]

    variables = [*given.values(), *module.parameters()]
    expected = by_loops(module, **given, mask=mask, score=score, carried=carried)
    return apart(
        with_gradients(module(**given, mask=mask), *variables),
        with_gradients(expected, *variables),
    )


def wav2vec2_bert() -> float:
    r"""It has distances for keys only, and counts them from the query to the key."""
    module = made(attention)
    module.distance_values.data.zero_()
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
    mine = with_gradients(found, x, *(p for m in mine for p in m.parameters()))
    theirs = with_gradients(
        expected.transpose(0, 1), y, *(p for m in theirs for p in m.parameters())
    )
    return apart(mine, theirs)


ORACLES: dict[str, Callable[[], float]] = {
    "a loop over scalars": lambda: loops(SEQ_LEN_K, None),
    "a loop over scalars, with a mask": lambda: loops(SEQ_LEN_Q, any_mask()),
    "Hugging Face Wav2Vec2-BERT": wav2vec2_bert,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


# There is no fast way that could be the same as the readable one.
@pytest.mark.parametrize("check", [one for one in CHECKS if one is not check_both_ways])
def test_at_the_seam(check: Callable[[Callable[[], ShawAttention]], None]) -> None:
    check(attention)


def test_fewer_bits_stay_as_many_and_near() -> None:
    bounds = {torch.float32: 1e-5, torch.bfloat16: 0.1, torch.float16: 0.02}
    check_types(attention, bounds)


def test_it_takes_the_readable_way() -> None:
    assert not attention().fused


def test_queries_are_the_last_positions_of_the_keys() -> None:
    assert distances(2, 3).tolist() == [[1, 0, -1], [2, 1, 0]]
    assert distances(3, 2).tolist() == [[-1, -2], [0, -1], [1, 0]]
    assert distances(1, 1, "meta").device.type == "meta"


def test_beyond_the_greatest_all_distances_are_one() -> None:
    rows = attention(2).rows(4, 4)
    assert rows.tolist() == [[2, 1, 0, 0], [3, 2, 1, 0], [4, 3, 2, 1], [4, 4, 3, 2]]


@pytest.mark.parametrize("shift", [1, 5, 200])
def test_scores_see_distance_alone(shift: int) -> None:
    assert moved_scores(0).shape == (7, 7)
    torch.testing.assert_close(moved_scores(shift), moved_scores(0))


def test_scores_that_are_moved_are_those_of_the_formula() -> None:
    generator = torch.Generator().manual_seed(1)
    for_keys, _ = (torch.empty(7, 4).normal_(generator=generator) for _ in range(2))
    query, key = torch.randn(2, 7, 4, generator=generator)
    rows = torch.tensor([[max(-3, min(3, i - j)) + 3 for j in range(7)] for i in range(7)])
    expected = torch.einsum("id,ijd->ij", query, key + for_keys[rows])
    torch.testing.assert_close(moved_scores(5), expected)


def test_without_a_greatest_distance_there_is_only_one_vector() -> None:
    x = inputs()["key"]
    module = made(lambda: attention(0))
    shuffled = x[[3, 6, 0, 2, 5, 1, 4]]
    one, other = (module(query=x, key=keys, value=keys) for keys in (x, shuffled))
    assert apart([one], [other]) < 1e-12


def test_the_next_batch_may_have_any_length_and_any_mask() -> None:
    module, x = made(attention), inputs(SEQ_LEN_K)["query"]
    fresh = module(query=x[:2], key=x[:2], value=x[:2])
    module(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN_K))
    assert torch.equal(module(query=x[:2], key=x[:2], value=x[:2]), fresh)


def test_the_parameters_are_these() -> None:
    shapes = {name: tuple(p.shape) for name, p in attention().named_parameters()}
    assert shapes.pop("distance_keys") == (2 * MAX_DISTANCE + 1, D_K)
    assert shapes.pop("distance_values") == (2 * MAX_DISTANCE + 1, D_K)
    square = {"weight": (D_MODEL, D_MODEL), "bias": (D_MODEL,)}
    names = ["query.linear", "key.linear", "value.linear", "output"]
    assert shapes == {f"{name}.{part}": square[part] for name in names for part in square}
    assert attention().state_dict().keys() == dict(attention().named_parameters()).keys()


def test_without_biases_the_vectors_stay() -> None:
    names = {name for name, _ in ShawAttention(HEADS, D_MODEL, bias=False).named_parameters()}
    assert names == {
        "distance_keys",
        "distance_values",
        "query.linear.weight",
        "key.linear.weight",
        "value.linear.weight",
        "output.weight",
    }


def test_vectors_start_as_long_as_one() -> None:
    torch.manual_seed(1)
    module = ShawAttention(2, 202, max_distance=500)
    for vectors in (module.distance_keys, module.distance_values):
        assert vectors.square().sum(dim=1).mean().item() == pytest.approx(1, abs=0.02)
    assert not torch.equal(module.distance_keys, module.distance_values)


def test_weights_are_dropped_out() -> None:
    module = ShawAttention(HEADS, D_MODEL, 0.5)
    given = inputs(dtype=torch.float32)
    assert not torch.equal(module(**given), module(**given))
    module.eval()
    assert torch.equal(module(**given), module(**given))


def test_arguments_are_those_of_attention_and_one_more() -> None:
    module = ShawAttention(HEADS, D_MODEL)
    assert (module.dropout.p, module.max_distance) == (0.1, 16)
    assert module.output.bias is not None


def test_a_negative_distance_is_refused() -> None:
    with pytest.raises(ValueError, match="max_distance must be at least 0, got -1"):
        attention(-1)


def test_in_a_transformer_nothing_is_added_to_tokens() -> None:
    parts = shaw_relative.in_transformer(d_model=D_MODEL, heads=HEADS, dropout_prob=0.25, d_ff=1)
    one, other = parts["self_attn"](), parts["self_attn"]()
    assert one.dropout.p == 0.25
    assert not torch.equal(one.distance_keys, other.distance_keys)
    x = torch.randn(2, BATCH_SIZE, D_MODEL)
    assert parts["positions"]()(x) is x


def test_the_example_gives_the_end_of_the_whole() -> None:
    whole, end, scores = shaw_relative.example(5, 2, 3, 2, 7, 1)
    assert whole.shape == (5, 3, 14)
    assert end.shape == (2, 3, 14)
    assert scores.shape == (5, 5)

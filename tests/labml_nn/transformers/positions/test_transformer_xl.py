r"""Transformer-XL's scores against loops, against Hugging Face, and against the page's claims."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from transformers import XLNetConfig
from transformers.models.xlnet.modeling_xlnet import XLNetRelativeAttention

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.positions import transformer_xl
from labml_nn.transformers.positions.transformer_xl import (
    TransformerXLAttention,
    encode_distances,
    moved_distance_scores,
    shift_rows,
)
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
    check_types,
    inputs,
    made,
    with_gradients,
)


def attention() -> TransformerXLAttention:
    r"""One without dropout."""
    return TransformerXLAttention(HEADS, D_MODEL, 0.0)


def waves(distance: int) -> list[float]:
    r"""The sines of a distance, and then the cosines."""
    turns = [distance * 10_000 ** (-2 * i / D_MODEL) for i in range(D_MODEL // 2)]
    return [math.sin(turn) for turn in turns] + [math.cos(turn) for turn in turns]


def loops(seq_len_q: int, mask: Tensor | None) -> float:
    r"""The four parts of a score, one number after the other."""
    module, given = made(attention), inputs(seq_len_q)
    weight = module.distance.linear.weight
    projected = {
        distance: (weight * torch.tensor(waves(distance), dtype=torch.float64)).sum(dim=1)
        for distance in range(-SEQ_LEN_K, SEQ_LEN_K)
    }

    def score(q: Tensor, k: Tensor, i: int, j: int, h: int) -> Tensor:
        r = projected[i - j][h * D_K : (h + 1) * D_K]
        parts = q * k, q * r, module.content_bias[h] * k, module.distance_bias[h] * r
        return sum(part.sum() for part in parts) / math.sqrt(D_K)

    variables = [*given.values(), *module.parameters()]
    expected = by_loops(module, **given, mask=mask, score=score)
    return apart(
        with_gradients(module(**given, mask=mask), *variables),
        with_gradients(expected, *variables),
    )


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
    "a loop over scalars": lambda: loops(SEQ_LEN_K, None),
    "a loop over scalars, with a mask": lambda: loops(SEQ_LEN_Q, any_mask()),
    "Hugging Face XLNet": xlnet,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@pytest.mark.parametrize("check", CHECKS)
def test_at_the_seam(check: Callable[[Callable[[], TransformerXLAttention]], None]) -> None:
    check(attention)


def test_fewer_bits_stay_as_many_and_near() -> None:
    bounds = {torch.float32: 1e-5, torch.bfloat16: 0.2, torch.float16: 0.03}
    check_types(attention, bounds)


def test_it_takes_the_fast_way() -> None:
    assert attention().fused


@pytest.mark.parametrize(("seq_len_q", "seq_len_k"), [(1, 1), (1, 5), (3, 4), (7, 7), (5, 2)])
def test_each_query_and_key_get_the_score_of_their_distance(seq_len_q: int, seq_len_k: int) -> None:
    far = torch.arange(seq_len_k - 1, -seq_len_q - 1, -1)
    shifted = shift_rows(far.expand(2, seq_len_q, -1), seq_len_k)
    later = seq_len_k - seq_len_q
    expected = [[i + later - j for j in range(seq_len_k)] for i in range(seq_len_q)]
    assert shifted.tolist() == [expected, expected]


def test_nothing_is_copied_for_the_shift() -> None:
    x = torch.randn(3, 7)
    assert shift_rows(x, 4).untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


@pytest.mark.parametrize("d_model", [1, 2, 7, 14])
def test_sines_are_those_of_the_distance(d_model: int) -> None:
    like = torch.empty(1, dtype=torch.float64)
    found = encode_distances(d_model, 3, 5, like)
    n_pairs = (d_model + 1) // 2
    for row, distance in zip(found.tolist(), [4, 3, 2, 1, 0, -1, -2, -3], strict=True):
        turns = [distance * 10_000 ** (-2 * i / d_model) for i in range(n_pairs)]
        sines, cosines = map(math.sin, turns), map(math.cos, turns[: d_model // 2])
        assert row == pytest.approx([*sines, *cosines])


def test_sines_have_the_device_and_the_type_of_the_weights() -> None:
    found = encode_distances(4, 2, 2, torch.empty(1, dtype=torch.bfloat16, device="meta"))
    assert (found.dtype, found.device.type) == (torch.bfloat16, "meta")


def test_late_distances_are_exact() -> None:
    found = encode_distances(6, 1, 100_001, torch.empty(1))[0]
    assert found[1].item() == pytest.approx(math.sin(100_000 * 10_000 ** (-1 / 3)), abs=1e-6)


@pytest.mark.parametrize("shift", [1, 5, 200])
def test_scores_see_distance_alone(shift: int) -> None:
    assert moved_distance_scores(0).shape == (7, 7)
    torch.testing.assert_close(moved_distance_scores(shift), moved_distance_scores(0))


def test_scores_that_are_moved_are_those_of_queries_with_distances() -> None:
    generator = torch.Generator().manual_seed(1)
    module = TransformerXLAttention(1, 4)
    for parameter in module.parameters():
        nn.init.normal_(parameter, generator=generator)
    query, _ = torch.randn(2, 7, 4, generator=generator)
    instead = (module.distance_bias - module.content_bias)[0] / 2
    r = encode_distances(4, 7, 7, query) @ module.distance.linear.weight.T
    rows = [[(query[i] + instead) @ r[6 - i + j] for j in range(7)] for i in range(7)]
    expected = torch.stack([torch.stack(row) for row in rows])
    torch.testing.assert_close(moved_distance_scores(5), expected)


def test_there_is_no_greatest_length() -> None:
    r"""A table of 8,192 distances would end here, or be wrong."""
    module = TransformerXLAttention(1, 2, 0.0)
    x = torch.randn(4_100, 1, 2)
    far = module(query=x[-1:], key=x, value=x)
    assert far.isfinite().all()
    assert sum(p.numel() for p in module.parameters()) == 32


def test_the_parameters_are_these() -> None:
    plain = MultiHeadAttention(HEADS, D_MODEL)
    shapes = {name: tuple(p.shape) for name, p in attention().state_dict().items()}
    assert shapes.pop("content_bias") == (HEADS, D_K)
    assert shapes.pop("distance_bias") == (HEADS, D_K)
    assert shapes.pop("distance.linear.weight") == (D_MODEL, D_MODEL)
    assert shapes == {name: tuple(p.shape) for name, p in plain.state_dict().items()}


def test_both_biases_start_small() -> None:
    torch.manual_seed(1)
    module = TransformerXLAttention(2, 2002)
    for bias in (module.content_bias, module.distance_bias):
        assert bias.std().item() == pytest.approx(0.02, rel=0.1)
        assert bias.mean().item() == pytest.approx(0, abs=0.002)
    assert not torch.equal(module.content_bias, module.distance_bias)


def test_arguments_are_those_of_attention() -> None:
    module = TransformerXLAttention(HEADS, D_MODEL, 0.25, bias=False)
    assert module.dropout.p == 0.25
    assert module.output.bias is None
    usual = TransformerXLAttention(HEADS, D_MODEL)
    assert usual.dropout.p == 0.1
    assert usual.output.bias is not None
    assert usual.distance.linear.bias is None


def test_the_next_batch_may_have_any_length() -> None:
    module, x = made(attention), inputs(SEQ_LEN_K)["query"]
    fresh = module(query=x[:2], key=x[:2], value=x[:2])
    module(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN_K))
    assert torch.equal(module(query=x[:2], key=x[:2], value=x[:2]), fresh)


def test_in_a_transformer_nothing_is_added_to_tokens() -> None:
    parts = transformer_xl.in_transformer(d_model=D_MODEL, heads=HEADS, dropout_prob=0.25, d_ff=1)
    one, other = parts["self_attn"](), parts["self_attn"]()
    assert one.dropout.p == 0.25
    assert not torch.equal(one.content_bias, other.content_bias)
    x = torch.randn(2, BATCH_SIZE, D_MODEL)
    assert parts["positions"]()(x) is x


def test_the_example_sees_all_of_the_memory() -> None:
    output, rows, scores = transformer_xl.example(5, 2, 3, 2, 7)
    assert output.shape == (5, 3, 14)
    assert rows.tolist() == [[4 - i + j for j in range(7)] for i in range(5)]
    assert scores.shape == (5, 5)

r"""Capped scores, against Gemma 2 and loops over numbers."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from onnx.helper import get_attribute_value
from torch import nn
from transformers.models.gemma2.configuration_gemma2 import Gemma2Config
from transformers.models.gemma2.modeling_gemma2 import Gemma2Attention

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.variants import soft_cap as page
from labml_nn.transformers.variants.soft_cap import (
    SoftCapAttention,
    in_transformer,
    least_weight,
    slope,
    soft_cap,
)
from tests.labml_nn.transformers.variants.seam import (
    BATCH_SIZE,
    D_K,
    D_MODEL,
    HEADS,
    SEAM,
    SEQ_LEN_K,
    SEQ_LEN_Q,
    added_mask,
    all_in_double,
    assert_near,
    copied,
    gradients,
    inputs,
    largest_difference,
    not_turned,
    onnx_cases,
    per_batch,
    randomised,
    sequence,
)

CAP = 0.7


def attention(cap: float = CAP, **options: float) -> SoftCapAttention:
    r"""In evaluation, with a cap that most scores are beyond."""
    return SoftCapAttention(HEADS, D_MODEL, cap=cap, **options).eval()


def gemma2() -> float:
    r"""Gemma 2's attention, weight for weight, without its rotation."""
    config = Gemma2Config(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        head_dim=D_K,
        query_pre_attn_scalar=D_K,
        attention_bias=True,
        attn_logit_softcapping=CAP,
        attn_implementation="eager",
    )
    ours = randomised(attention().double())
    theirs = Gemma2Attention(config, layer_idx=1).double().eval()
    pairs = [
        (ours.query.linear, theirs.q_proj),
        (ours.key.linear, theirs.k_proj),
        (ours.value.linear, theirs.v_proj),
        (ours.output, theirs.o_proj),
    ]
    copied(pairs)
    given, mask = sequence(), causal_mask(SEQ_LEN_K)
    x = given["query"]
    with all_in_double():
        expected, _ = theirs(x.transpose(0, 1), not_turned(SEQ_LEN_K, D_K), added_mask(mask))
    expected = expected.transpose(0, 1)
    found = ours(**given, mask=mask)
    mine = [x, *(p for one, _ in pairs for p in one.parameters())]
    others = [x, *(p for _, other in pairs for p in other.parameters())]
    return largest_difference(
        [found, *gradients(found, mine)], [expected, *gradients(expected, others)]
    )


def loops() -> float:
    r"""Each score from Python's own numbers, and those of hidden keys left out."""
    module, given, mask = randomised(attention().double()), inputs(), per_batch()
    module.output = nn.Identity()
    q = module.query(given["query"]).tolist()
    k = module.key(given["key"]).tolist()
    v = module.value(given["value"]).tolist()
    found, worst = module(**given, mask=mask).tolist(), 0.0
    for i in range(SEQ_LEN_Q):
        for b in range(BATCH_SIZE):
            seen = [j for j in range(SEQ_LEN_K) if mask[i, j, b]]
            for h in range(HEADS):
                weights = {}
                for j in seen:
                    product = sum(x * y for x, y in zip(q[i][b][h], k[j][b][h], strict=True))
                    weights[j] = math.exp(CAP * math.tanh(product / math.sqrt(D_K) / CAP))
                for d in range(D_K):
                    mean = sum(weights[j] * v[j][b][h][d] for j in seen) / sum(weights.values())
                    worst = max(worst, abs(mean - found[i][b][h * D_K + d]))
    return worst


ORACLES: dict[str, Callable[[], float]] = {
    "Hugging Face Gemma 2": gemma2,
    "a loop over scalars": loops,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@pytest.mark.parametrize("check", SEAM)
def test_it_takes_the_place_of_other_attention(check: str) -> None:
    SEAM[check](attention)


# The cases of the operator that have a cap, and can be called at the seam with projections that
# change nothing.
EXPRESSED = [
    "test_attention_4d_softcap",
    "test_attention_3d_softcap",
    "test_attention_4d_softcap_neginf_mask",
    "test_attention_4d_softcap_neginf_mask_poison",
]
# The others, and why.
NOT_EXPRESSED = {
    "test_attention_4d_gqa_softcap": "fewer heads of keys than of queries",
    "test_attention_3d_gqa_softcap": "fewer heads of keys than of queries",
    "test_attention_4d_diff_heads_sizes_softcap": "values of another width than keys",
    "test_attention_3d_diff_heads_sizes_softcap": "values of another width than keys",
    "test_attention_4d_with_qk_matmul_softcap": "a mask of numbers that are added",
    "test_attention_3d_with_past_and_present_qk_matmul_softcap": "a mask of numbers, and a cache",
    "test_attention_local_window_gqa_rank4_mask": "fewer heads of keys, and a mask for each head",
}


def cap_of(case: Any) -> float | None:
    r"""The cap of a case of the operator, if it has one."""
    attributes = case.model.graph.node[0].attribute
    return {one.name: get_attribute_value(one) for one in attributes}.get("softcap")


def onnx_difference(case: Any) -> float:
    r"""Between the result of a case and that of the page."""
    given, (expected, *_) = case.data_sets[0]
    tensors = [torch.tensor(one) for one in given]
    heads = 3 if tensors[0].dim() == 3 else tensors[0].shape[1]
    module = SoftCapAttention(heads, 8 * heads, 0.0, bias=False, cap=cap_of(case))
    for part in (module.query.linear, module.key.linear, module.value.linear, module.output):
        nn.init.eye_(part.weight)

    # With the batch first there, and in four axes with the heads before the sequence.
    with_heads = [one.dim() == 4 for one in tensors[:3]]
    query, key, value = (
        one.permute(2, 0, 1, 3).flatten(start_dim=2) if four else one.transpose(0, 1)
        for one, four in zip(tensors[:3], with_heads, strict=True)
    )
    mask = (tensors[3] == 0).unsqueeze(-1) if len(tensors) == 4 else None
    found = module(query=query, key=key, value=value, mask=mask)
    wanted = torch.tensor(expected)
    wanted = (
        wanted.permute(2, 0, 1, 3).flatten(start_dim=2) if with_heads[0] else wanted.transpose(0, 1)
    )
    return largest_difference([found], [wanted])


def test_every_case_of_onnx_with_a_cap_is_expressed_or_listed() -> None:
    cases = onnx_cases("Attention", "attention")
    capped = {name for name, case in cases.items() if cap_of(case) is not None}
    assert capped == {*EXPRESSED, *NOT_EXPRESSED}


@pytest.mark.parametrize("name", EXPRESSED)
def test_the_cases_of_onnx_come_out_the_same(name: str) -> None:
    assert onnx_difference(onnx_cases("Attention", "attention")[name]) < 1e-6


def test_the_readable_way_is_taken_by_itself() -> None:
    assert not attention().fused


def test_no_score_is_beyond_the_cap_and_the_order_stays() -> None:
    scores = torch.linspace(-20, 20, 41, dtype=torch.float64)
    capped = soft_cap(scores, 3.0)
    assert capped.abs().max() < 3.0
    assert (capped.diff() > 0).all()
    assert_near(capped, -capped.flip(0))


def test_a_small_score_stays_nearly_what_it_was() -> None:
    scores = torch.linspace(-1, 1, 11, dtype=torch.float64)
    assert (soft_cap(scores, 50.0) - scores).abs().max() < 1 / (3 * 50**2)
    given, plain = inputs(), MultiHeadAttention(HEADS, D_MODEL).double().eval()
    module = attention(cap=1e7).double()
    module.load_state_dict(plain.state_dict())
    assert_near(module(**given, mask=per_batch()), plain(**given, mask=per_batch()))


@pytest.mark.parametrize("score", [0.0, -1.3, 2.0, 4.0])
def test_the_slope_is_the_gradient(score: float) -> None:
    x = torch.tensor(score, dtype=torch.float64, requires_grad=True)
    soft_cap(x, 2.0).backward()
    assert x.grad.item() == pytest.approx(slope(score, 2.0))


def test_the_slopes_of_the_note_are_these() -> None:
    assert [round(slope(x, 50.0), 2) for x in (0, 50, 100)] == [1.0, 0.42, 0.07]


def test_no_visible_key_has_less_weight_than_the_least() -> None:
    module, given = randomised(attention(cap=2.0).double()), inputs()
    module.query.linear.weight.data *= 1e4
    module.keep_attn = True
    module(**given)
    least = least_weight(2.0, SEQ_LEN_K)
    assert module.attn.min().item() >= least * (1 - 1e-12)
    scores = torch.full((SEQ_LEN_K,), 2.0, dtype=torch.float64)
    scores[0] = -2.0
    assert scores.softmax(dim=0)[0].item() == pytest.approx(least)


def test_a_mask_before_the_cap_would_let_hidden_keys_in() -> None:
    scores = torch.tensor([1.0, 2.0, -math.inf])
    assert soft_cap(scores, 2.0).softmax(dim=0)[2] > 0.01


@pytest.mark.parametrize("cap", [0.0, -50.0, math.nan])
def test_a_cap_that_is_not_positive_is_refused(cap: float) -> None:
    with pytest.raises(ValueError, match=f"must be positive, got {cap}"):
        attention(cap=cap)


def test_the_parameters_are_those_of_attention() -> None:
    plain = MultiHeadAttention(HEADS, D_MODEL).state_dict()
    shapes = {name: p.shape for name, p in plain.items()}
    assert {name: p.shape for name, p in attention().state_dict().items()} == shapes
    assert not [name for name in attention(bias=False).state_dict() if name.endswith("bias")]


def test_the_cap_of_gemma_is_the_default() -> None:
    assert SoftCapAttention(HEADS, D_MODEL).cap == Gemma2Config().attn_logit_softcapping


def test_the_part_for_the_transformer_has_a_low_cap() -> None:
    parts = in_transformer(d_model=D_MODEL, heads=HEADS, seq_len=7, dropout_prob=0.3)
    assert list(parts) == ["self_attn"]
    made = parts["self_attn"]()
    assert type(made) is SoftCapAttention
    assert (made.cap, made.d_k, made.dropout.p) == (5.0, D_K, 0.3)


def test_the_example_caps_scores_at_two() -> None:
    torch.manual_seed(8)
    crossed, causal, capped = page.example(7, 11, 13, 3, 5, 2)
    assert crossed.shape == (7, 3, 10)
    assert causal.shape == (13, 3, 10)
    assert_near(capped, 2 * torch.tensor([0.05, 0.5, 10.0]).tanh(), 1e-6)

r"""Gated attention, against Qwen3-Next's, and with loops over numbers for the gate."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn
from transformers.models.qwen3_next.configuration_qwen3_next import Qwen3NextConfig
from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextAttention

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.variants import gated_attention
from labml_nn.transformers.variants.gated_attention import (
    GatedAttention,
    in_transformer,
    without_gate,
)
from tests.labml_nn.transformers.variants.seam import (
    BATCH_SIZE,
    D_K,
    D_MODEL,
    HEADS,
    MASKS,
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
    per_batch,
    randomised,
    sequence,
)


def attention(**options: float) -> GatedAttention:
    r"""In evaluation."""
    return GatedAttention(HEADS, D_MODEL, **options).eval()


def qwen3_next() -> float:
    r"""Qwen3-Next's attention, weight for weight, without its rotation and its normalisation."""
    config = Qwen3NextConfig(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        head_dim=D_K,
        attention_bias=True,
        attn_implementation="eager",
    )
    ours = randomised(attention().double())
    theirs = Qwen3NextAttention(config, layer_idx=0).double().eval()
    theirs.q_norm, theirs.k_norm = nn.Identity(), nn.Identity()
    copied(
        [
            (ours.key.linear, theirs.k_proj),
            (ours.value.linear, theirs.v_proj),
            (ours.gated_output, theirs.o_proj),
        ]
    )
    # Theirs has a head's query features, then its gate's, then those of the next head.
    both = nn.Linear(D_MODEL, 2 * D_MODEL).double()
    weights = (ours.query.linear.weight, ours.gate.weight)
    biases = (ours.query.linear.bias, ours.gate.bias)
    with torch.no_grad():
        both.weight.copy_(
            torch.stack([w.unflatten(0, (HEADS, D_K)) for w in weights], dim=1).flatten(0, 2)
        )
        both.bias.copy_(
            torch.stack([w.unflatten(0, (HEADS, D_K)) for w in biases], dim=1).flatten()
        )
    theirs.q_proj = both

    given, mask = sequence(), causal_mask(SEQ_LEN_K)
    x = given["query"]
    with all_in_double():
        expected, _ = theirs(x.transpose(0, 1), not_turned(SEQ_LEN_K, D_K), added_mask(mask))
    expected = expected.transpose(0, 1)
    found = ours(**given, mask=mask)
    mine = gradients(
        found, [x, *weights, *ours.value.parameters(), *ours.gated_output.parameters()]
    )
    others = gradients(
        expected,
        [x, theirs.q_proj.weight, *theirs.v_proj.parameters(), *theirs.o_proj.parameters()],
    )
    query_gate = others.pop(1).unflatten(0, (HEADS, 2, D_K))
    others[1:1] = [query_gate[:, 0].flatten(0, 1), query_gate[:, 1].flatten(0, 1)]
    return largest_difference([found, *mine], [expected, *others])


def loops() -> float:
    r"""PyTorch's attention for the heads, and each gate from Python's own numbers."""
    ours, given, mask = randomised(attention().double()), inputs(), per_batch()
    plain = nn.MultiheadAttention(D_MODEL, HEADS).double()
    parts = [ours.query.linear, ours.key.linear, ours.value.linear]
    with torch.no_grad():
        plain.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        plain.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
        plain.out_proj.weight.copy_(torch.eye(D_MODEL))
        plain.out_proj.bias.zero_()
    hidden = ~mask.permute(2, 0, 1).repeat_interleave(HEADS, dim=0)
    heads = plain(*given.values(), attn_mask=hidden)[0].tolist()
    ours.gated_output = nn.Identity()
    found, worst = ours(**given, mask=mask).tolist(), 0.0
    weight, bias, x = ours.gate.weight.tolist(), ours.gate.bias.tolist(), given["query"].tolist()
    for i in range(SEQ_LEN_Q):
        for b in range(BATCH_SIZE):
            for c in range(D_MODEL):
                gate = sum(w * f for w, f in zip(weight[c], x[i][b], strict=True)) + bias[c]
                expected = heads[i][b][c] / (1 + math.exp(-gate))
                worst = max(worst, abs(expected - found[i][b][c]))
    return worst


ORACLES: dict[str, Callable[[], float]] = {
    "Hugging Face Qwen3-Next": qwen3_next,
    "torch.nn.MultiheadAttention and a loop over scalars": loops,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@pytest.mark.parametrize("check", SEAM)
def test_it_takes_the_place_of_other_attention(check: str) -> None:
    SEAM[check](attention)


@pytest.mark.parametrize("mask", MASKS)
def test_both_ways_agree(mask: str) -> None:
    module, given = randomised(attention().double()), inputs()
    variables = [*given.values(), *module.parameters()]
    assert module.fused
    fused = module(**given, mask=MASKS[mask])
    module.fused = False
    readable = module(**given, mask=MASKS[mask])
    assert_near(fused, readable)
    found, expected = gradients(fused, variables), gradients(readable, variables)
    assert largest_difference(found, expected) < 1e-10


@pytest.mark.parametrize("bias", [True, False])
def test_with_gates_wide_open_it_is_plain_attention(bias: bool) -> None:
    module, given = randomised(attention(bias=bias).double()), inputs()
    before = module(**given)
    plain = without_gate(module)
    assert torch.equal(module(**given), before)
    assert type(plain) is MultiHeadAttention
    assert not torch.equal(plain.eval()(**given), module(**given))
    module.gate = nn.Linear(D_MODEL, D_MODEL).double()
    nn.init.zeros_(module.gate.weight)
    nn.init.constant_(module.gate.bias, 100.0)
    assert_near(module(**given), plain(**given))


def test_the_plain_one_keeps_precision_and_dropout() -> None:
    plain = without_gate(attention(dropout_prob=0.3).bfloat16())
    assert plain.output.weight.dtype is torch.bfloat16
    assert plain.dropout.p == 0.3
    assert (plain.d_model, plain.d_k) == (D_MODEL, D_K)


def test_with_gates_shut_nothing_is_brought_home() -> None:
    module = attention().double()
    nn.init.zeros_(module.gate.weight)
    nn.init.constant_(module.gate.bias, -1e3)
    output = module(**inputs())
    assert torch.equal(output, module.gated_output.bias.expand_as(output))


def test_the_gate_is_the_query_tokens_and_of_each_feature_alone() -> None:
    module, given = attention().double(), inputs()
    nn.init.zeros_(module.gate.weight)
    nn.init.zeros_(module.gate.bias)
    module.gated_output = nn.Identity()
    half = module(**given)
    module.gate.weight.data[3, 5] = 1.0
    changed = module(**given)
    gate = given["query"][..., 5].sigmoid()
    assert_near(changed[..., 3], 2 * half[..., 3] * gate)
    assert torch.equal(changed[..., 4:], half[..., 4:])


def test_values_and_output_are_no_longer_one_matrix() -> None:
    r"""To double the values doubles the result; to shift the query's token is no linear change."""
    module, given = attention(bias=False).double(), inputs(1, 1)
    once = module(**given)
    doubled = module(**{**given, "value": 2 * given["value"]})
    assert_near(doubled, 2 * once)
    other = module(**{**given, "query": 2 * given["query"]})
    opposite = module(**{**given, "query": -given["query"]})
    assert largest_difference([other], [once]) > 1e-3
    plain = without_gate(module).eval()
    assert_near(once + opposite, plain(**given))


def test_the_parameters_are_those_of_attention_and_a_gate() -> None:
    square, row = (D_MODEL, D_MODEL), (D_MODEL,)
    names = ["query.linear", "key.linear", "value.linear", "gate", "gated_output"]
    expected = {f"{name}.weight": square for name in names} | {
        f"{name}.bias": row for name in names
    }
    assert {name: tuple(p.shape) for name, p in attention().state_dict().items()} == expected
    assert not [name for name in attention(bias=False).state_dict() if name.endswith("bias")]


def test_the_part_for_the_transformer_has_a_quarter_more_weights() -> None:
    parts = in_transformer(d_model=D_MODEL, heads=HEADS, seq_len=7, dropout_prob=0.3)
    assert list(parts) == ["self_attn"]
    made = parts["self_attn"]()
    assert type(made) is GatedAttention
    assert (made.d_k, made.dropout.p) == (D_K, 0.3)
    plain = MultiHeadAttention(HEADS, D_MODEL)
    count = [sum(p.numel() for p in one.parameters()) for one in (made, plain)]
    assert count[0] * 4 == count[1] * 5


def test_the_example_takes_the_gates_off() -> None:
    torch.manual_seed(8)
    crossed, causal, ungated = gated_attention.example(7, 11, 13, 3, 5, 2)
    assert crossed.shape == (7, 3, 10)
    assert causal.shape == ungated.shape == (13, 3, 10)
    assert not torch.equal(causal, ungated)

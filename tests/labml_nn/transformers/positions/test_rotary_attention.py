r"""Attention with rotary positions against Hugging Face, loops, and what its page claims."""

import cmath
import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.positions import rotary_attention
from labml_nn.transformers.positions.rotary_attention import RotaryAttention, moved_output
from labml_nn.transformers.rotary import RotaryPositions, pair_speeds
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

MAX_LEN = 29


def attention(interleaved: bool = False, width: int = D_K) -> RotaryAttention:
    r"""One without dropout."""
    turn = RotaryPositions(D_K, MAX_LEN, speeds=pair_speeds(width), interleaved=interleaved)
    return RotaryAttention(HEADS, D_MODEL, 0.0, turn=turn)


def loops(
    seq_len_q: int, mask: Tensor | None, interleaved: bool = False, width: int = D_K
) -> float:
    r"""Pairs of queries and keys are complex numbers, one score after the other."""
    module, given = made(lambda: attention(interleaved, width)), inputs(seq_len_q)
    one, two = slice(0, width // 2), slice(width // 2, width)
    one, two = (slice(0, width, 2), slice(1, width, 2)) if interleaved else (one, two)

    def score(q: Tensor, k: Tensor, i: int, j: int, h: int) -> Tensor:
        turns = [
            cmath.exp(1j * (i - j) * 10_000 ** (-2 * pair / width)) for pair in range(width // 2)
        ]
        product = torch.complex(q[one], q[two]) * torch.complex(k[one], k[two]).conj()
        turned = (product * torch.tensor(turns, dtype=torch.complex128)).real.sum()
        return (turned + (q[width:] * k[width:]).sum()) / math.sqrt(D_K)

    variables = [*given.values(), *module.parameters()]
    expected = by_loops(module, **given, mask=mask, score=score)
    return apart(
        with_gradients(module(**given, mask=mask), *variables),
        with_gradients(expected, *variables),
    )


def llama() -> float:
    r"""Weight for weight, with angles in double precision, and no softmax in single precision."""
    module = made(attention)
    config = LlamaConfig(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        attention_bias=True,
        attn_implementation="sdpa",
    )
    other = LlamaAttention(config, layer_idx=0).double()
    mine = [module.query.linear, module.key.linear, module.value.linear, module.output]
    theirs = [other.q_proj, other.k_proj, other.v_proj, other.o_proj]
    for layer, copy in zip(mine, theirs, strict=True):
        copy.load_state_dict(layer.state_dict())

    x, y = (inputs()["key"] for _ in range(2))
    turns = torch.arange(SEQ_LEN_K)[:, None] / 10_000 ** (torch.arange(0, D_K, 2).double() / D_K)
    turns = turns.repeat(1, 2)[None]
    allowed = causal_mask(SEQ_LEN_K).permute(2, 0, 1)[None]
    expected, _ = other(y.transpose(0, 1), (turns.cos(), turns.sin()), allowed)
    found = module(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN_K))
    return apart(
        with_gradients(found, x, *(p for layer in mine for p in layer.parameters())),
        with_gradients(
            expected.transpose(0, 1), y, *(p for layer in theirs for p in layer.parameters())
        ),
    )


ORACLES: dict[str, Callable[[], float]] = {
    "Hugging Face Llama": llama,
    "a loop over complex numbers": lambda: loops(SEQ_LEN_K, None),
    "a loop over complex numbers, with a mask": lambda: loops(SEQ_LEN_Q, any_mask()),
    "a loop over complex numbers, neighbours": lambda: loops(SEQ_LEN_Q, any_mask(), True),
    "a loop over complex numbers, partial width": lambda: loops(SEQ_LEN_Q, any_mask(), width=6),
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@pytest.mark.parametrize("check", CHECKS)
def test_at_the_seam(check: Callable[[Callable[[], RotaryAttention]], None]) -> None:
    check(attention)


def test_fewer_bits_stay_as_many_and_near() -> None:
    bounds = {torch.float32: 1e-5, torch.bfloat16: 0.1, torch.float16: 0.02}
    check_types(attention, bounds)


def test_it_takes_the_fast_way() -> None:
    assert attention().fused


def test_values_are_not_turned() -> None:
    module, x = made(attention), inputs()["key"]
    alone = torch.eye(SEQ_LEN_K, dtype=torch.bool).unsqueeze(-1)
    found = module(query=x, key=x, value=x, mask=alone)
    assert apart([found], [module.output(module.value.linear(x))]) < 1e-12


def test_with_more_queries_than_keys_the_keys_begin_later() -> None:
    assert loops(11, None) < 1e-10


@pytest.mark.parametrize("shift", [1, 5, 200])
def test_the_output_sees_distance_alone(shift: int) -> None:
    assert moved_output(0).shape == (7, 1, 6)
    torch.testing.assert_close(moved_output(shift), moved_output(0), rtol=1e-4, atol=1e-4)


def test_what_is_moved_is_a_text_under_a_causal_mask() -> None:
    generator = torch.Generator().manual_seed(1)
    module = RotaryAttention(1, 6, 0.0, turn=RotaryPositions(6, 7))
    for parameter in module.parameters():
        nn.init.normal_(parameter, generator=generator)
    x = torch.randn(7, 1, 6, generator=generator)
    expected = module(query=x, key=x, value=x, mask=causal_mask(7))
    torch.testing.assert_close(moved_output(3), expected, rtol=1e-4, atol=1e-4)


def test_a_text_that_is_too_long_is_refused() -> None:
    module, x = attention(), torch.randn(MAX_LEN + 1, BATCH_SIZE, D_MODEL)
    with pytest.raises(ValueError, match="there are 29 positions, got one up to 30"):
        module(query=x[-1:], key=x, value=x)


def test_a_table_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="heads have d_k=11, the table is for d_k=22"):
        RotaryAttention(6, D_MODEL, turn=RotaryPositions(D_K, MAX_LEN))


def test_nothing_is_learned_but_attention() -> None:
    plain = MultiHeadAttention(HEADS, D_MODEL)
    shapes = {name: p.shape for name, p in attention().state_dict().items()}
    assert shapes == {name: p.shape for name, p in plain.state_dict().items()}


def test_arguments_are_those_of_attention() -> None:
    turn = RotaryPositions(D_K, MAX_LEN)
    module = RotaryAttention(HEADS, D_MODEL, 0.25, bias=False, turn=turn)
    assert module.dropout.p == 0.25
    assert module.output.bias is None
    usual = RotaryAttention(HEADS, D_MODEL, turn=turn)
    assert usual.dropout.p == 0.1
    assert usual.output.bias is not None


def test_in_a_transformer_all_layers_share_a_table() -> None:
    parts = rotary_attention.in_transformer(
        d_model=D_MODEL, heads=HEADS, seq_len=MAX_LEN, dropout_prob=0.25, d_ff=1
    )
    one, other = parts["self_attn"](), parts["self_attn"]()
    assert one.turn is other.turn
    assert one.turn.max_len == MAX_LEN
    assert one.dropout.p == 0.25
    assert not torch.equal(one.query.linear.weight, other.query.linear.weight)
    x = torch.randn(2, BATCH_SIZE, D_MODEL)
    assert parts["positions"]()(x) is x


def test_a_shared_table_follows_the_model() -> None:
    turn = RotaryPositions(D_K, MAX_LEN)
    layers = torch.nn.ModuleList(RotaryAttention(HEADS, D_MODEL, turn=turn) for _ in range(2))
    layers.to(torch.bfloat16)
    assert all(layer.turn is turn for layer in layers)
    assert turn.cos.dtype is torch.bfloat16


def test_the_example_gives_the_end_of_the_whole() -> None:
    whole, end, output = rotary_attention.example(5, 2, 3, 2, 7)
    assert whole.shape == (5, 3, 28)
    assert end.shape == (2, 3, 28)
    assert output.shape == (5, 1, 28)

r"""Attention with rotary positions against Hugging Face, loops, and what its page claims."""

import cmath
import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention

from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.positions import rotary_attention
from labml_nn.transformers.positions.rotary_attention import RotaryAttention
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies
from tests.labml_nn.transformers.positions.at_the_seam import (
    CHECKS,
    D_K,
    D_MODEL,
    HEADS,
    SEQ_LEN_K,
    Make,
    any_mask,
    apart,
    from_loops,
    inputs,
    made,
    shapes_beyond_attention,
    with_gradients,
)


def attention() -> RotaryAttention:
    r"""One without dropout."""
    rotary = RotaryPositions(inverse_frequencies(D_K), 29)
    return RotaryAttention(HEADS, D_MODEL, 0.0, rotary=rotary)


def score(module: RotaryAttention, q: Tensor, k: Tensor, i: int, j: int, h: int) -> Tensor:
    r"""Pairs of features are complex numbers."""
    half = D_K // 2
    angles = [(i - j) * 10_000 ** (-2 * pair / D_K) for pair in range(half)]
    rotation = torch.tensor([cmath.exp(1j * angle) for angle in angles], dtype=torch.complex128)
    product = torch.complex(q[:half], q[half:]) * torch.complex(k[:half], k[half:]).conj()
    return (product * rotation).real.sum() / math.sqrt(D_K)


def llama() -> float:
    r"""Weight for weight, with angles in double precision."""
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
    "a loop over complex numbers": lambda: from_loops(attention, None, score),
    "a loop over complex numbers, with a mask": lambda: from_loops(attention, any_mask(), score),
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals_what_others_compute(oracle: str) -> None:
    r"""The table has single precision."""
    assert ORACLES[oracle]() < 1e-5


@pytest.mark.parametrize("check", CHECKS)
def test_at_the_seam(check: Callable[[Make], None]) -> None:
    check(attention)


def test_no_parameter_is_added() -> None:
    assert shapes_beyond_attention(attention()) == {}


def test_in_a_transformer_all_layers_share_a_table_and_nothing_is_added_to_tokens() -> None:
    parts = rotary_attention.in_transformer(d_model=12, heads=2, seq_len=5, dropout_prob=0.3)
    one, other = parts["self_attn"](), parts["self_attn"]()
    assert one is not other
    assert one.rotary is other.rotary
    assert (one.heads, one.dropout.p, one.rotary.max_len) == (2, 0.3, 5)
    x = torch.randn(3)
    assert parts["positions"]()(x) is x


def test_the_example_has_a_whole_and_an_end() -> None:
    whole, end = rotary_attention.example(7, 2, 3, 5, 2)
    assert whole.shape == (7, 3, 20)
    assert end.shape == (2, 3, 20)

r"""Attention with rotary positions against Hugging Face, loops, and what its page claims."""

import cmath
import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention

from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.positions import rotary_attention
from labml_nn.transformers.positions.rotary_attention import RotaryAttention
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.positions.at_the_seam import POSITIONS
from tests.labml_nn.transformers.seam import D_K, D_MODEL, HEADS, SEQ_LEN_K, at_the_seam, equals
from tests.oracles.compare import difference

ROTARY = RotaryPositions(inverse_frequencies(D_K), 29)
# Its table has single precision; here it is as exact as what it is compared with.
ANGLES = torch.arange(29, dtype=torch.float64)[:, None] * inverse_frequencies(D_K)
ROTARY.cos, ROTARY.sin = ANGLES.cos(), ANGLES.sin()
attention = partial(RotaryAttention, HEADS, D_MODEL, rotary=ROTARY)


def score(q: Tensor, k: Tensor, i: int, j: int, h: int) -> Tensor:
    r"""Pairs of features are complex numbers."""
    half = D_K // 2
    angles = [(i - j) * 10_000 ** (-2 * pair / D_K) for pair in range(half)]
    rotation = torch.tensor([cmath.exp(1j * angle) for angle in angles], dtype=torch.complex128)
    product = torch.complex(q[:half], q[half:]) * torch.complex(k[:half], k[half:]).conj()
    return (product * rotation).real.sum() / math.sqrt(D_K)


def llama() -> float:
    r"""Weight for weight, with angles in double precision."""
    module, x = seam.randomised(attention()), seam.text()
    config = LlamaConfig(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        attention_bias=True,
        attn_implementation="sdpa",
    )
    other = LlamaAttention(config, layer_idx=0).double()
    seam.copied(module, other, seam.PARTS)
    turns = torch.arange(SEQ_LEN_K)[:, None] / 10_000 ** (torch.arange(0, D_K, 2).double() / D_K)
    turns = turns.repeat(1, 2)[None]
    allowed = causal_mask(SEQ_LEN_K).permute(2, 0, 1)[None]
    expected, _ = other(x.transpose(0, 1), (turns.cos(), turns.sin()), allowed)
    mine = [p for name in seam.PARTS for p in module.get_submodule(name).parameters()]
    theirs = [p for name in seam.PARTS.values() for p in other.get_submodule(name).parameters()]
    found = seam.attend(module, x, causal_mask(SEQ_LEN_K))
    return difference(found, expected.transpose(0, 1), [x, *mine], [x, *theirs])


ORACLES: dict[str, Callable[[], float]] = {
    "Hugging Face Llama": llama,
    "a loop over complex numbers": lambda: seam.from_loops(
        seam.randomised(attention()), None, score
    ),
    "a loop over complex numbers, with a mask": lambda: seam.from_loops(
        seam.randomised(attention()), seam.some_mask(), score
    ),
}
test_it_equals_what_others_compute = equals(ORACLES)
test_at_the_seam = at_the_seam(attention, {}, and_also=POSITIONS)


def test_in_a_transformer_all_layers_share_a_table_and_nothing_is_added_to_tokens() -> None:
    made = seam.made_for_the_transformer(rotary_attention.in_transformer, positions=True)
    assert made.rotary.max_len == SEQ_LEN_K
    parts = rotary_attention.in_transformer(d_model=12, heads=2, seq_len=5, dropout_prob=0.3)
    assert parts["self_attn"]().rotary is parts["self_attn"]().rotary


def test_the_example_has_a_whole_and_an_end() -> None:
    whole, end = rotary_attention.example(7, 2, 3, 5, 2)
    assert whole.shape == (7, 3, 20)
    assert end.shape == (2, 3, 20)

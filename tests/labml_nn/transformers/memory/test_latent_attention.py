r"""Latent attention against DeepSeek's."""

import math
from collections.abc import Callable
from unittest.mock import patch

import pytest
import torch
from torch import Tensor, nn
from transformers import DeepseekV3Config
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention

from labml_nn.transformers.memory import latent_attention
from labml_nn.transformers.memory.latent_attention import LatentAttention
from labml_nn.transformers.mha import causal_mask
from tests.labml_nn.transformers.memory.at_the_seam import (
    D_K,
    D_MODEL,
    HEADS,
    SEQ_LEN,
    attend,
    check_at_the_seam,
    randomise,
    shapes,
    text,
)
from tests.oracles.compare import difference

SIZES = {"d_latent": 13, "d_rotary": 4, "max_len": 11}


def attention() -> LatentAttention:
    return randomise(LatentAttention(HEADS, D_MODEL, 0.0, **SIZES))


def softmax_in_double(x: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    r"""Theirs has 32 bits; here it keeps the bits that come in."""
    return x.softmax(dim=dim)


def key_and_value(module: LatentAttention) -> Tensor:
    r"""In ours all keys come first, in theirs a head's key and value stand together."""
    split = [one.linear.weight.unflatten(0, (HEADS, D_K)) for one in (module.key, module.value)]
    return torch.cat(split, dim=1).flatten(end_dim=1)


def from_deepseek() -> float:
    r"""With the same weights and the same angles."""
    module, x = attention(), text()
    config = DeepseekV3Config(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        q_lora_rank=None,
        kv_lora_rank=SIZES["d_latent"],
        qk_rope_head_dim=SIZES["d_rotary"],
        qk_nope_head_dim=D_K,
        v_head_dim=D_K,
        rope_interleave=False,
        attn_implementation="eager",
    )
    other = DeepseekV3Attention(config, 0).double().eval()
    # DeepSeek's own normalisation rounds to 32 bits on the way; PyTorch's doesn't.
    other.kv_a_layernorm = nn.RMSNorm(SIZES["d_latent"], eps=1e-6).double()
    weights = {
        "q_proj.weight": module.query.linear.weight,
        "kv_a_proj_with_mqa.weight": module.compress.weight,
        "kv_a_layernorm.weight": module.norm.weight,
        "kv_b_proj.weight": key_and_value(module),
        "o_proj.weight": module.output.weight,
    }
    other.load_state_dict({name: weight.detach() for name, weight in weights.items()})
    # A cosine and a sine for each feature: pairs are half the width apart.
    cos, sin = (
        torch.cat([t, t], dim=-1)[None, :SEQ_LEN] for t in (module.rotate.cos, module.rotate.sin)
    )
    hidden = ~causal_mask(SEQ_LEN)[..., 0]
    bias = torch.zeros(hidden.shape).double().masked_fill(hidden, -math.inf)[None, None]
    with patch("torch.nn.functional.softmax", softmax_in_double):
        output, _ = other(x.transpose(0, 1), (cos, sin), bias)
    theirs = dict(other.named_parameters())
    return difference(
        attend(module, x, causal_mask(SEQ_LEN)),
        output.transpose(0, 1),
        [x, weights["q_proj.weight"], module.compress.weight, module.norm.weight],
        [x, *(theirs[name] for name in list(weights)[:3])],
    )


ORACLES: dict[str, Callable[[], float]] = {"Hugging Face DeepSeek-V3": from_deepseek}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


def test_at_the_seam() -> None:
    check_at_the_seam(lambda: LatentAttention(HEADS, D_MODEL, 0.0, **SIZES))


def test_scores_depend_on_the_distance_alone() -> None:
    r"""Two tokens at a distance of 2 have the same score wherever they stand."""
    module = attention()
    x = text().detach()[:1].expand(SEQ_LEN, -1, -1)
    scores = []
    module.get_weights = lambda given, mask: scores.append(given) or given
    attend(module, x)
    for distance in range(-2, 3):
        diagonal = scores[0].diagonal(distance)
        assert (diagonal - diagonal[..., :1]).abs().max() < 1e-5
    assert (scores[0][0, 0] - scores[0][0, 1]).abs().max() > 1e-3


def test_what_is_cached_is_smaller_by_what_the_page_says() -> None:
    made = LatentAttention(1, 128, d_latent=512, d_rotary=64, max_len=3)
    latent, shared = made.get_latents(torch.randn(1, 1, 128))
    assert latent.numel() + shared.numel() == 576 == 2.25 * 2 * 128


def test_the_parameters_are_these() -> None:
    assert shapes(attention()) == {
        "query.linear.weight": (HEADS * (D_K + 4), D_MODEL),
        "key.linear.weight": (D_MODEL, 13),
        "value.linear.weight": (D_MODEL, 13),
        "compress.weight": (13 + 4, D_MODEL),
        "norm.weight": (13,),
        "output.weight": (D_MODEL, D_MODEL),
    }


def test_weights_are_kept_and_dropped() -> None:
    made = latent_attention.in_transformer(d_model=60, heads=6, seq_len=7, dropout_prob=1.0)
    module = made["self_attn"]()
    assert not attend(module, text(torch.float32)).any()
    assert module.attn.shape == (SEQ_LEN, SEQ_LEN, 3, HEADS)
    assert (module.attn.sum(dim=1) - 1).abs().max() < 1e-5
    assert made["positions"] is nn.Identity
    assert module.d_latent == 15

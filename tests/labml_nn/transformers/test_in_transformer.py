from importlib import import_module
from operator import attrgetter
from typing import Any

import pytest
import torch
from torch import nn

from labml_nn.training.engine.presets import PARTS
from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.variants.differential_attention import first_lambda

SIZES = {"d_model": 60, "heads": 6, "d_ff": 48, "seq_len": 7, "dropout_prob": 0.5}
ATTENTION = {"query.heads": 6, "dropout.p": 0.5}
NETWORK = {"dropout.p": 0.5}
NO_DROPOUT = {"dropout.p": 0.0}

# What is known of the part of each page. SwiGLU has three matrices, a plain network has two.
KNOWN: dict[str, dict[str, Any]] = {
    "one_head": ATTENTION | {"query.heads": 1},
    "relu": NETWORK | {"layer1.out_features": 48, "activation.__class__": nn.ReLU},
    "learned_positions": {"encodings.shape": (7, 1, 60)},
    "rms_norm": {"gain.shape": (60,)},
    "swiglu": NETWORK | {"gate.out_features": 32},
    "flash": ATTENTION | NO_DROPOUT | {"size": 4},
    "flex": ATTENTION | NO_DROPOUT | {"score_mod.__qualname__": "alibi.<locals>.score_mod"},
    "multi_query": ATTENTION | {"key_heads": 1},
    "sliding_window": ATTENTION | {"window": 1},
    "attention_sinks": ATTENTION | {"window": 1, "n_sinks": 1},
    "latent": ATTENTION | {"d_latent": 15, "rotate.max_len": 7},
    "soft_cap": ATTENTION | {"cap": 5.0},
    "differential": ATTENTION | {"query.heads": 3, "lambda_init": first_lambda(1)},
    "rotary": ATTENTION | {"rotary.max_len": 7},
}
PLACES = {
    "relu": ["feed_forward"],
    "learned_positions": ["positions"],
    "rms_norm": ["norm_self_attn", "norm_ff", "norm"],
    "swiglu": ["feed_forward"],
}
# Their scores know positions, so nothing is added to the tokens.
KEYED = ["flex", "latent", "shaw", "transformer_xl", "alibi", "rotary"]
PLACES |= dict.fromkeys(KEYED, ["self_attn", "positions"])


def parts_of(name: str, **changes: int) -> dict[str, Any]:
    return import_module(f"labml_nn.transformers.{PARTS[name]}").in_transformer(**SIZES | changes)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_that_of_its_page_with_the_sizes_of_the_model(name: str) -> None:
    parts, known = parts_of(name), KNOWN.get(name, ATTENTION)
    assert list(parts) == PLACES.get(name, ["self_attn"])
    if "self_attn" in parts:
        assert parts.pop("positions", nn.Identity) is nn.Identity
    for make in parts.values():
        made = make()
        assert made is not make()
        assert type(made).__module__ == f"labml_nn.transformers.{PARTS[name]}"
        assert {path: attrgetter(path)(made) for path in known} == known


def test_a_quarter_of_a_text_is_a_window_and_layers_are_deeper_and_share_a_table() -> None:
    windows = [parts_of("sliding_window", seq_len=n)["self_attn"]().window for n in (64, 3)]
    assert windows == [16, 1]
    make = parts_of("differential")["self_attn"]
    assert [make().lambda_init for _ in range(2)] == [first_lambda(1), first_lambda(2)]
    make = parts_of("rotary")["self_attn"]
    assert make().rotary is make().rotary


# The delta rule takes the causal mask and no other, and says so.
@pytest.mark.parametrize("name", sorted({*PARTS} - {*PLACES, "delta_rule"}) + KEYED)
def test_each_sequence_of_a_batch_has_a_mask_of_its_own(name: str) -> None:
    parts = parts_of(name, dropout_prob=0.0)
    torch.manual_seed(1)
    attention = parts["self_attn"]().double().eval()
    x = torch.randn(7, 2, 60, dtype=torch.float64)

    # The second sequence is two positions shorter.
    mask = causal_mask(7).repeat(1, 1, 2)
    mask[:, 5:, 1] = False
    both = attention(query=x, key=x, value=x, mask=mask)
    for at in (0, 1):
        one = x[:, at : at + 1]
        alone = attention(query=one, key=one, value=one, mask=mask[:, :, at : at + 1])
        assert (both[:, at : at + 1] - alone).abs().max() < 1e-12

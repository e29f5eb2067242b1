r"""
---
title: Llama 3
summary: Grouped queries, rotary positions and SwiGLU together, filled with published weights.
know: ../transformers/rotary.py, ../transformers/memory/grouped_query.py
paper:
  title: The Llama 3 Herd of Models
  authors: Dubey et al.
  year: 2024
  link: https://arxiv.org/abs/2407.21783
---

Llama 3 has no part that this site doesn't have:
[grouped queries](../transformers/memory/grouped_query.py), [rotary
positions](../transformers/rotary.py), [RMSNorm](../transformers/rms_norm.py) and
[SwiGLU](../transformers/swiglu.py), in the order of [this
layer](../transformers/models.py#TransformerLayer), without biases. What can go wrong is *which* of
two conventions its weights were trained with. Take neighbours as pairs where Llama has halves, and
all shapes are right. The loss of a small Llama goes from RIGHT to WRONG.

[A small Llama with one wrong detail each: means of three seeds](TABLE)

**In:** tokens, `[seq_len, batch_size]`. **Out:** logits, `[seq_len, batch_size, n_vocab]`. For the
loader: a folder with `config.json` and weights in, a model out.

Three conventions decide:

* **Pairs.** Rotary positions rotate pairs of features. Meta's own code takes neighbours, the files
  at Hugging Face are [converted](../transformers/positions/rotary_pairs.py) to halves, and so are
  the pages here. The loader reads the latter.
* **Groups.** Heads of queries that share a head of keys are neighbours: 0 0 0 1 1 1.
* **Frequencies.** The base is 500,000 where the first rotary positions had 10,000. From Llama 3.1
  on, slow pairs are slower still, so that texts can be longer than most of those of training.

$$
\theta_i' = \theta_i \left( k_i + \frac{1 - k_i}{f} \right)
\qquad
k_i = \min\left( \max\left( \frac{n_i - a}{b - a},\, 0 \right),\, 1 \right)
\qquad
n_i = \frac{L \theta_i}{2 \pi}
$$

$\theta_i$ is the angle of pair $i$ from one position to the next, and $n_i$ the number of turns
that it makes in $L$ positions. For Llama 3.1, $L$ is 8,192, and $f$ is 8. A pair with more than
$b = 4$ turns is kept, $k_i = 1$. One with less than $a = 1$ turns becomes slower by the factor $f$.
Between the two, $k_i$ is a straight line. That is like
[YaRN](../transformers/positions/rotary_scaling.py), with the line drawn over turns.

**What did not help here:** small mistakes don't show in the loss. EPS. Only the comparison with
another implementation finds that: ours gives the logits of the library “transformers” to ten
digits, for random weights. We had no network to try the published ones, which are also given out
only to those who accept a licence.

Left out are Llama's tokenizer, a cache, and other scalings than this one, which are refused. A text
costs memory for all its scores; [fused attention](../transformers/fused_attention.py) doesn't.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from labml_nn.pretrained.checkpoint import read_folder
from labml_nn.pretrained.names import as_it_is, fill, in_layers, read_config
from labml_nn.transformers.memory.grouped_query import GroupedQueryAttention
from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.models import Encoder, TransformerLayer
from labml_nn.transformers.rms_norm import RMSNorm
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies
from labml_nn.transformers.swiglu import SwiGLU

# What `config.json` says.
Config = Mapping[str, Any]


def scaled_frequencies(frequencies: Tensor, scaling: Config) -> Tensor:
    r"""
    ## Frequencies of Llama 3.1

    `scaling` has the names of `config.json` for $a$, $b$, $L$ and $f$. The result is `[n_pairs]`.
    """
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]

    # How often each pair goes around in a text as long as those that it was first trained on.
    turns = scaling["original_max_position_embeddings"] * frequencies / (2 * math.pi)

    # The share of its own frequency that it keeps: all of it above $b$ turns, nothing below $a$.
    kept = ((turns - low) / (high - low)).clamp(0, 1)

    # Without it, a pair with less than one turn would get to angles that training never showed.
    return frequencies * (kept + (1 - kept) / scaling["factor"])


def rotary_of(config: Config) -> RotaryPositions:
    r"""
    ## Rotary positions
    """
    # Old files have the base beside the scaling, new ones have both in one place.
    scaling = config.get("rope_parameters") or config.get("rope_scaling") or {}
    rope = {"rope_theta": config.get("rope_theta"), "rope_type": "default"} | scaling

    # The width of a head is said, or follows.
    d_k = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    frequencies = inverse_frequencies(d_k, rope.pop("rope_theta"))

    # Any other scaling would load as well, and write worse the longer the text is.
    kind = rope.pop("rope_type")
    if kind == "llama3":
        frequencies = scaled_frequencies(frequencies, rope)
    elif kind != "default" or rope:
        raise ValueError(f"rotary positions of the kind {kind!r} with {rope} are not here")
    return RotaryPositions(frequencies, config["max_position_embeddings"])


class LlamaAttention(GroupedQueryAttention):
    r"""
    ## Attention

    Groups are inherited, and rotations come [before the
    scores](../transformers/positions/rotary_attention.py).
    """

    def __init__(self, config: Config, rotary: RotaryPositions) -> None:
        # No dropout and no biases.
        heads, d_model = config["num_attention_heads"], config["hidden_size"]
        super().__init__(heads, d_model, 0.0, False, config["num_key_value_heads"])
        self.rotary = rotary

    def get_scores(self, query: Tensor, key: Tensor) -> Tensor:
        # The heads of keys have been repeated for their groups. Before or after is the same for
        # rotations, because all heads are rotated by the same angles.
        return super().get_scores(self.rotary(query), self.rotary(key))


class Llama(nn.Module):
    r"""
    ## The model
    """

    def __init__(self, config: Config, attention: type[LlamaAttention] = LlamaAttention) -> None:
        super().__init__()
        # The large ones have 128,256 tokens.
        n_vocab, d_model, eps = (config[k] for k in ("vocab_size", "hidden_size", "rms_norm_eps"))
        self.tokens = nn.Embedding(n_vocab, d_model)

        # Our stack and our layers have layer normalisation, and RMSNorm takes its place.
        self.encoder = Encoder((), d_model)
        self.encoder.norm = RMSNorm(d_model, eps)

        # One table of angles for all layers. Each layer is made by calls of its own.
        rotary = rotary_of(config)
        for _ in range(config["num_hidden_layers"]):
            layer = TransformerLayer(
                d_model=d_model, self_attn=attention(config, rotary), dropout_prob=0.0,
                feed_forward=SwiGLU(d_model, config["intermediate_size"]),
            )
            layer.norm_self_attn = RMSNorm(d_model, eps)
            layer.norm_ff = RMSNorm(d_model, eps)
            self.encoder.layers.append(layer)

        # The small models use the embedding for the logits, too, the large ones don't.
        self.head = nn.Linear(d_model, n_vocab, bias=False)
        if config["tie_word_embeddings"]:
            self.head.weight = self.tokens.weight

    def forward(self, tokens: Tensor) -> Tensor:
        # Nothing is added for positions, so the first layer gets the embedding alone.
        mask = causal_mask(len(tokens)).to(tokens.device)
        return self.head(self.encoder(self.tokens(tokens), mask))


# Nothing is transposed: their layers are `nn.Linear`, too, without biases.
LAYER = {
    "norm_self_attn.gain": "input_layernorm",
    "self_attn.query.linear.weight": "self_attn.q_proj",
    "self_attn.key.linear.weight": "self_attn.k_proj",
    "self_attn.value.linear.weight": "self_attn.v_proj",
    "self_attn.output.weight": "self_attn.o_proj",
    "norm_ff.gain": "post_attention_layernorm",
    "feed_forward.gate.weight": "mlp.gate_proj",
    "feed_forward.value.weight": "mlp.up_proj",
    "feed_forward.output.weight": "mlp.down_proj",
}


def load_llama3(
    folder: Path, dtype: torch.dtype = torch.float32, model_type: str = "llama",
    attention: type[LlamaAttention] = LlamaAttention, layer: Mapping[str, str] = LAYER,
) -> Llama:
    r"""
    ## Load

    The last three arguments are for [models that are nearly the same](qwen3.py).
    """
    # With another value of one of these, it is another model.
    config = read_config(folder, model_type=model_type, hidden_act="silu", use_sliding_window=False)
    model, tied = Llama(config, attention).to(dtype), config["tie_word_embeddings"]

    # Everything is called “weight” there. A tied head is filled from the embedding, once more.
    rules = {mine: (f"{name}.weight", as_it_is) for mine, name in layer.items()}
    table = in_layers(len(model.encoder.layers), "encoder.layers.{}.", "model.layers.{}.", rules)
    table["tokens.weight"] = embedding = ("model.embed_tokens.weight", as_it_is)
    table["head.weight"] = embedding if tied else ("lm_head.weight", as_it_is)
    table["encoder.norm.gain"] = ("model.norm.weight", as_it_is)

    # Some files of tied models have the embedding a second time.
    copies = {"lm_head.weight": embedding[0]} if tied else {}
    fill(model, read_folder(folder), table, copies)
    return model.eval()


def example(
    seq_len: int = 7, batch_size: int = 3, key_heads: int = 5, n_pairs: int = 2, n_vocab: int = 13,
    d_ff: int = 11,
) -> Tensor:
    r"""
    ## Example

    A random model with two heads of queries for each head of keys, and an old file's settings.

    ### Exercises

    ??? question "How many turns does the first pair make in 8,192 positions?"
        Its angle is 1 radian, so $8192 / 2 \pi = 1{,}304$. It is kept.

    ??? question "Which pairs of 64, with the base 500,000, are slower by the full factor of 8?"
        Those with less than one turn: $8192 \cdot 500000^{-i/64} < 2 \pi$, so $i > 34.98$: pairs
        35 to 63, 29 of 64.

    ??? question "A file has pairs of neighbours. How do you load it?"
        With another function in the table than `as_it_is` for queries and keys:
        [`neighbours_to_halves`](../transformers/positions/rotary_pairs.py#neighbours_to_halves).

    ??? question "Exchange “gate_proj” and “up_proj” in the table. Who notices?"
        No shape. The comparison with Llama does: only one of the two goes through Swish.
    """
    config = {
        "vocab_size": n_vocab, "hidden_size": 4 * key_heads * n_pairs, "num_hidden_layers": 2,
        "num_attention_heads": 2 * key_heads, "num_key_value_heads": key_heads,
        "intermediate_size": d_ff, "rms_norm_eps": 1e-5, "rope_theta": 500_000.0,
        "max_position_embeddings": seq_len, "tie_word_embeddings": True,
        "rope_scaling": {
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
    }  # fmt: skip
    return Llama(config)(torch.randint(n_vocab, (seq_len, batch_size)))

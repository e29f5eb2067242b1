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

Llama 3 has no part that this site doesn't have: [grouped
queries](../transformers/memory/grouped_query.py), [rotary positions](../transformers/rotary.py),
[RMSNorm](../transformers/rms_norm.py) and [SwiGLU](../transformers/swiglu.py). What can go wrong is
*which* of two conventions its weights were trained with. With neighbours as pairs where it had
halves, all shapes are right, and the loss of a small Llama goes from
[1.939](../../results/pretrained.json#tables.llama.all%20right.loss) to
[3.349](../../results/pretrained.json#tables.llama.neighbours%20as%20pairs%2C%20not%20halves.loss).

[A small Llama that is loaded with one wrong detail: means of three
seeds](../../results/pretrained.json#tables.llama)

**In:** tokens, `[seq_len, batch_size]`. **Out:** logits, `[seq_len, batch_size, n_vocab]`. The
loader takes a folder. These conventions decide:

* **Pairs.** Meta's own files have neighbours. Those at Hugging Face were
  [converted](../transformers/positions/rotary_pairs.py) to halves, which our pages have, too.
* **Groups.** Heads of queries that share a head of keys are neighbours: 0 0 0 1 1 1.
* **Frequencies.** The base is 500,000. From Llama 3.1 on, slow pairs are slower still:
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

# What `config.json` says: sizes and settings by their names, as the
# library “transformers” has them.
Config = Mapping[str, Any]


def scaled_frequencies(frequencies: Tensor, scaling: Config) -> Tensor:
    r"""
    ## Scaled frequencies

    `scaling` has the names of `config.json` for $a$, $b$, $L$ and $f$. The result is `[n_pairs]`.

    $$
    \theta_i' = \theta_i \left( k_i + \frac{1 - k_i}{f} \right) \qquad
    k_i = \min\left( \max\left( \frac{n_i - a}{b - a},\, 0 \right),\, 1 \right) \qquad
    n_i = \frac{L \theta_i}{2 \pi}
    $$

    $\theta_i$ is the angle of pair $i$ from one position to the next, and $n_i$ the number of turns
    that it makes in $L = 8192$ positions. With more than $b = 4$ turns it is kept, $k_i = 1$. With
    less than $a = 1$ it is slower by $f = 8$. Between the two, $k_i$ is a straight line over the
    turns.
    """
    low = scaling["low_freq_factor"]
    high = scaling["high_freq_factor"]

    # How often each pair goes around in a text as long as those of the first training. A pair that
    # went around once has shown the model every angle.
    turns = scaling["original_max_position_embeddings"] * frequencies / (2 * math.pi)

    # The share of its own frequency that it keeps: all of it above $b$ turns, nothing below $a$,
    # and half of it in the middle.
    kept = ((turns - low) / (high - low)).clamp(0, 1)

    # The rest is divided. In a text that is $f$ times as long, such a pair gets to the angles that
    # it had in training, and no further.
    return frequencies * (kept + (1 - kept) / scaling["factor"])


def rotary_of(config: Config) -> RotaryPositions:
    r"""
    ## Rotary positions
    """
    # Old files have the base beside the scaling, new ones have both in one place. Without either,
    # nothing is scaled.
    scaling = config.get("rope_parameters") or config.get("rope_scaling") or {}
    rope = {"rope_theta": config.get("rope_theta"), "rope_type": "default"} | scaling

    # The width of a head is given, or follows from the others. As many pairs as half of it.
    d_k = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    frequencies = inverse_frequencies(d_k, rope.pop("rope_theta"))

    # Another scaling, or a rotation of some features only, has no weights. The model would load
    # and write worse the longer the text is, so it is refused.
    kind = rope.pop("rope_type")
    if kind == "llama3":
        frequencies = scaled_frequencies(frequencies, rope)
    elif kind != "default" or rope:
        raise ValueError(f"rotary positions of the kind {kind!r} with {rope} are not here")
    return RotaryPositions(frequencies, config["max_position_embeddings"])


class LlamaAttention(GroupedQueryAttention):
    r"""
    ## Attention
    """

    def __init__(self, config: Config, rotary: RotaryPositions) -> None:
        r"""
        * `config` are the settings of the model
        * `rotary` are its [rotary positions](../transformers/rotary.py#RotaryPositions)
        """
        # No dropout and no biases. Queries have more heads than keys and values.
        heads = config["num_attention_heads"]
        d_model = config["hidden_size"]
        super().__init__(heads, d_model, 0.0, False, config["num_key_value_heads"])

        # The same module for queries and keys, or scores wouldn't depend on distances. It is the
        # same for all layers.
        self.rotary = rotary

    def get_scores(self, query: Tensor, key: Tensor) -> Tensor:
        # As in [rotary attention](../transformers/positions/rotary_attention.py). Keys have been
        # repeated for their groups; before that, the rotations would give the same, because all
        # heads are rotated by the same angles.
        return super().get_scores(self.rotary(query), self.rotary(key))


class Llama(nn.Module):
    r"""
    ## The model
    """

    def __init__(self, config: Config, attention: type[LlamaAttention] = LlamaAttention) -> None:
        r"""
        * `config` are the settings, as `config.json` has them
        * `attention` makes the attention of a layer
        """
        super().__init__()
        # A vector for each token, as it is: no factor, and nothing is added for its position.

        # The three sizes that the outer parts need. Layers read the rest.
        n_vocab = config["vocab_size"]
        d_model = config["hidden_size"]
        eps = config["rms_norm_eps"]
        self.tokens = nn.Embedding(n_vocab, d_model)

        # Our stack and our layers come with layer normalisation. RMSNorm takes its place in all
        # of them; it has gains and no biases.
        self.encoder = Encoder((), d_model)
        self.encoder.norm = RMSNorm(d_model, eps)

        # One table of angles for all layers, since nothing in it is learned. Each layer is made by
        # calls of its own, so that no two share weights.
        rotary = rotary_of(config)
        for _ in range(config["num_hidden_layers"]):
            layer = TransformerLayer(
                d_model=d_model,
                # The settings say how many heads share one head of keys.
                self_attn=attention(config, rotary),
                dropout_prob=0.0,
                feed_forward=SwiGLU(d_model, config["intermediate_size"]),
            )

            # The two normalisations of a layer, each with gains of its own, and with the small
            # number that the settings say.
            layer.norm_self_attn = RMSNorm(d_model, eps)
            layer.norm_ff = RMSNorm(d_model, eps)
            self.encoder.layers.append(layer)

        # The small models use the embedding for the logits, too, as GPT-2 does. The large ones have
        # a matrix of their own.
        self.head = nn.Linear(d_model, n_vocab, bias=False)
        if config["tie_word_embeddings"]:
            self.head.weight = self.tokens.weight

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        From `[seq_len, batch_size]` to logits, `[seq_len, batch_size, n_vocab]`.
        """
        # Positions come in with the scores of each layer, as distances.
        mask = causal_mask(len(tokens)).to(tokens.device)
        return self.head(self.encoder(self.tokens(tokens), mask))


# Nothing is transposed, because their layers are `nn.Linear`, too. “up” is the projection that is
# multiplied by the gate.
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
    folder: Path,
    dtype: torch.dtype = torch.float32,
    model_type: str = "llama",
    attention: type[LlamaAttention] = LlamaAttention,
    layer: Mapping[str, str] = LAYER,
) -> Llama:
    r"""
    ## Load a Llama, or [a model that is nearly one](qwen3.py)
    """
    # Settings that have no weights. Biases would be left over, so they need no line.
    config = read_config(folder, model_type=model_type, hidden_act="silu", use_sliding_window=False)
    model = Llama(config, attention).to(dtype)
    tied = config["tie_word_embeddings"]

    # The names of ours, each with the name in the file. Everything is called “weight” there, gains
    # too. A tied head is filled from the embedding once more, which changes nothing.
    rules = {mine: (f"{name}.weight", as_it_is) for mine, name in layer.items()}
    table = in_layers(len(model.encoder.layers), "encoder.layers.{}.", "model.layers.{}.", rules)
    embedding = ("model.embed_tokens.weight", as_it_is)
    table["tokens.weight"] = embedding
    table["head.weight"] = embedding if tied else ("lm_head.weight", as_it_is)
    table["encoder.norm.gain"] = ("model.norm.weight", as_it_is)

    # Some files of tied models have the embedding a second time. Then it must be the same: the
    # model has one matrix for both.
    copies = {"lm_head.weight": embedding[0]} if tied else {}

    # Every name of ours must be filled, and every name of the file must be used.
    fill(model, read_folder(folder), table, copies)
    return model.eval()


def example(
    seq_len: int = 7,
    batch_size: int = 3,
    key_heads: int = 5,
    n_pairs: int = 2,
    n_vocab: int = 13,
    d_ff: int = 11,
) -> Tensor:
    r"""
    ## Example

    ### What did not help here

    These are entries of [a list](../../docs/what_did_not_help.md) of such things.

    The loss. With another $\epsilon$ it stays
    [1.939](../../results/pretrained.json#tables.llama.%CE%B5%20of%201e-12%2C%20not%201e-5.loss),
    and with another base it is
    [1.956](../../results/pretrained.json#tables.llama.base%2010%2C000%2C%20not%20500%2C000.loss). A
    comparison finds both: from random files our logits differ from those of the library
    “transformers” by less than $10^{-10}$. We had no network to try the published weights. Left out
    are Llama's tokenizer, a cache, and other scalings, which are refused.

    ### Exercises

    ??? question "Which of 64 pairs, numbered from 0, are slower by the full factor of 8?"
        Those with less than one turn: $8192 \cdot 500000^{-i/64} < 2 \pi$, so 35 to 63.

    ??? question "A file has pairs of neighbours. How do you load it?"
        With [this function](../transformers/positions/rotary_pairs.py#neighbours_to_halves) in the
        table of queries and keys.

    ??? question "Exchange “gate_proj” and “up_proj” in the table. Who notices?"
        No shape. The comparison does: only one of the two goes through Swish.
    """
    # Twice as many heads of queries as of keys, with $2 \cdot 2$ features each.
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

    # The longest text that there are positions for, and random tokens.
    return Llama(config)(torch.randint(n_vocab, (seq_len, batch_size)))

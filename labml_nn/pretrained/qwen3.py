r"""
---
title: Qwen3
summary: Llama's layers, with normalised queries and keys and heads of a width of their own.
know: ../transformers/variants/query_key_norm.py
paper:
  title: Qwen3 Technical Report
  authors: Yang et al.
  year: 2025
  link: https://arxiv.org/abs/2505.09388
---

A Qwen3 is a [Llama](llama3.py) with two changes in its attention. With two more names in the table,
the loader of that page reads its files.

* **Queries and keys are normalised** head by head, as on [this
  page](../transformers/variants/query_key_norm.py), *before* they are rotated. The queries (3, 4)
  and (30, 40) both become (0.85, 1.13), which is then multiplied by the gains.
* **Heads have a width of their own**, `head_dim`. In Llama it is $d_{model}$ divided by the number
  of heads. The smallest Qwen3 has $d_{model} = 1024$ and 16 heads of 128 features: the projections
  lead from 1,024 to 16 · 128 = 2,048 features, and the output leads back.

Before the rotation or after it? A rotation changes no length, so both divide by the same number.
But the gains (2, 1) make (2, 0) of (1, 0). Turned by 90 degrees this is (0, 2). Turned first,
(1, 0) becomes (0, 1), and the gains leave it so. In a small Qwen3 the wrong order takes the loss
from [1.881](../../results/pretrained.json#tables.qwen.all%20right.loss) to
[1.909](../../results/pretrained.json#tables.qwen.normalised%20after%20the%20rotation.loss), less
than seeds differ.

**In** and **out** are those of Llama.
"""

from pathlib import Path

import torch
from torch import Tensor, nn

from labml_nn.pretrained.llama3 import LAYER, Llama, LlamaAttention, load_llama3
from labml_nn.pretrained.names import Config
from labml_nn.transformers.memory.grouped_query import PrepareSharedHeads
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies
from labml_nn.transformers.variants.query_key_norm import NormalisedProjection


class NormalisedSharedHeads(PrepareSharedHeads):
    r"""
    ## Keys that are shared and normalised
    """

    def __init__(self, d_model: int, key_heads: int, group: int, d_k: int, eps: float) -> None:
        r"""
        * `d_model` is the number of features of the input
        * `key_heads` is the number of heads of keys, of `d_k` features each
        * `group` is the number of heads of queries that share a head of keys
        * `eps` keeps a key of zeros from being divided by zero
        """
        super().__init__(d_model, key_heads, group, d_k, bias=False)

        # One gain for each feature of a head, the same for all heads. The gains of queries are
        # others: these are for keys.
        self.norm = nn.RMSNorm(d_k, eps)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        From `[seq_len, batch_size, ...]` to a tensor with an axis for the heads, `[seq_len,
        batch_size, ...]`.
        """
        # Each head on its own. Heads of a group are equal, so this could be done before they are
        # repeated, too.
        return self.norm(super().forward(x))


class Qwen3Attention(LlamaAttention):
    r"""
    ## Attention
    """

    def __init__(self, config: Config, rotary: RotaryPositions) -> None:
        r"""
        The arguments are those of [Llama's attention](llama3.py#LlamaAttention.__init__).
        """
        super().__init__(config, rotary)
        d_model = config["hidden_size"]
        eps = config["rms_norm_eps"]

        # Scores are divided by the root of this width, not of Llama's.
        self.d_k = config["head_dim"]

        # All four projections have the width of all heads on one side, and take the place of those
        # that were inherited. Rotations come with the scores, so after the normalisation. Values
        # are neither normalised nor rotated.
        self.query = NormalisedProjection(d_model, self.heads, self.d_k, False, eps)
        self.key = NormalisedSharedHeads(d_model, self.key_heads, self.group, self.d_k, eps)
        self.value = PrepareSharedHeads(d_model, self.key_heads, self.group, self.d_k, False)

        # Back from the width of all heads to that of the model.
        self.output = nn.Linear(self.heads * self.d_k, d_model, bias=False)


# What a layer has more than Llama's. A Llama without them would leave these names over.
NORMS = {
    "self_attn.query.norm.weight": "self_attn.q_norm",
    "self_attn.key.norm.weight": "self_attn.k_norm",
}


def load_qwen3(folder: Path, dtype: torch.dtype = torch.float32) -> Llama:
    r"""
    ## Load
    """
    # The rest is Llama's: the same settings are refused, and the same names come before the number
    # of the layer.
    return load_llama3(folder, dtype, "qwen3", Qwen3Attention, LAYER | NORMS)


def example(
    seq_len: int = 7, batch_size: int = 11, key_heads: int = 5, n_pairs: int = 2, width: int = 3
) -> Tensor:
    r"""
    ## Example

    Attention whose heads together are wider than the model.

    ### Measured here

    [A small Qwen3 that is loaded with one wrong detail: means of three
    seeds](../../results/pretrained.json#tables.qwen)

    Read the names and leave the normalisation out, and the loss is
    [2.241](../../results/pretrained.json#tables.qwen.queries%20and%20keys%20not%20normalised.loss).
    The wrong order is found neither by the loss nor by a shape: the gains have one number for each
    feature of a head before the rotation and after it. A comparison finds it. From random files our
    logits differ from those of the library “transformers” by less than $10^{-10}$, if both compute
    with 64 bits. (Usually both have their rotations in 32 bits.) We had no network to try the
    published weights.

    Left out are the tokenizer, and the models with [experts](../experts/mixture.py), whose names
    differ.

    ### Exercises

    ??? question "How many weights has the attention of a layer in the smallest Qwen3?"
        It has 16 heads of queries and 8 of keys. Queries and output $1024 \cdot 2048$ each, keys
        and values $1024 \cdot 1024$ each, together 6,291,456, and $2 \cdot 128$ gains.

    ??? question "Load a Qwen3 with the attention of Llama. What does `fill` say?"
        The names of the norms are left over. Without them, the first projection would have the
        wrong shape, as its heads are wider.

    ??? question "Normalise after the rotation. What is the same, and what isn't?"
        A rotation changes no length, so what is divided by is the same. The gains aren't: feature
        3's gain would be for the rotated feature 3, a mixture of two.
    """
    # In Llama, a head of this model would have `width` features. Here it has $2 \cdot 2$.
    d_model = 2 * key_heads * width
    config = {
        "num_attention_heads": 2 * key_heads, "hidden_size": d_model, "rms_norm_eps": 1e-6,
        "num_key_value_heads": key_heads, "head_dim": 2 * n_pairs,
    }  # fmt: skip

    # Qwen3's base is a million, twice that of Llama 3: its slowest pairs are slower, unless
    # Llama's are scaled.
    rotary = RotaryPositions(inverse_frequencies(2 * n_pairs, 1_000_000.0), seq_len)
    attention = Qwen3Attention(config, rotary)

    # Queries, keys and values from one text.
    x = torch.randn(seq_len, batch_size, d_model)
    return attention(query=x, key=x, value=x)

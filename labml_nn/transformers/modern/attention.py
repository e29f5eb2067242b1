r"""
---
title: Attention in a Modern Transformer
summary: Rotary positions, normalised queries and keys, and the values of the first layer mixed in.
paper:
  title: Value Residual Learning
  authors: Zhou et al.
  year: 2024
  link: https://arxiv.org/abs/2410.17897
---

[Attention](../mha.py) of 2017 has no idea of positions, scores that grow as its weights grow, and
values that come from the stream of their own layer alone. Here are three changes.

* Queries and keys are **rotated** by their [positions](../rotary.py): scores depend on the
  distance.
* Before that, they are **normalised** to one length by [RMSNorm](../rms_norm.py). A query $(3, 4)$
  and a key $(4, 3)$ have the dot product 24. With weights that are ten times as large, it is 2,400.
  Normalised, they are (0.85, 1.13) and (1.13, 0.85), whatever the weights are. The dot product is
  1.92, and says how well the directions match ([Henry et al.
  2020](https://arxiv.org/abs/2010.04245)).
* The **values of the first layer** are mixed into those of all others. If the first layer's value
  is 2 and this layer's is 0, the mixture starts at half of each, which is 1. The share is learned.

[The largest score of 32 random tokens, divided by √d_k, as the weights for queries and keys
grow](../../../results/model_drawings.json#figures.scores)

**In:** the residual stream (a vector for each token, to which every layer adds), `[seq_len,
batch_size, d_model]`, and, after the first layer, the first layer's values. **Out:** what is added
to the stream, and the values that this layer used.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.mha import PrepareForMultiHeadAttention
from labml_nn.transformers.rms_norm import rms_norm
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies


class RotaryProjection(PrepareForMultiHeadAttention):
    r"""
    ## Queries and keys
    """

    def __init__(self, d_model: int, heads: int, rotate: nn.Module) -> None:
        r"""
        * `d_model` is the number of features
        * `heads` is the number of heads
        * `rotate` are the [rotary positions](../rotary.py#RotaryPositions)
        """
        # No bias, as in Llama. It would add the same vector to all queries, whatever their tokens
        # are.
        super().__init__(d_model, heads, d_model // heads, bias=False)
        self.rotate = rotate

    def forward(self, x: Tensor) -> Tensor:
        r"""
        From `[seq_len, batch_size, d_model]` to `[seq_len, batch_size, heads, d_k]`.
        """
        # Project and split into heads.
        x = super().forward(x)

        # Each head is normalised on its own. A rotation keeps lengths: normalise before or after
        # it, the result is the same.
        return self.rotate(rms_norm(x))


class ModernAttention(nn.Module):
    r"""
    ## Attention with the values of the first layer
    """

    def __init__(self, heads: int, d_model: int, rotate: nn.Module, first: bool) -> None:
        r"""
        * `heads` is the number of heads
        * `d_model` is the number of features
        * `rotate` are the [rotary positions](../rotary.py#RotaryPositions), one for all layers
        * `first` says whether this is the first layer
        """
        super().__init__()
        d_k = d_model // heads

        # Queries and keys decide where to look, so they get the positions. Values stay as they are.
        self.query = RotaryProjection(d_model, heads, rotate)
        self.key = RotaryProjection(d_model, heads, rotate)
        self.value = PrepareForMultiHeadAttention(d_model, heads, d_k, bias=False)
        self.output = nn.Linear(d_model, d_model, bias=False)

        # After a sigmoid, this is the share of the layer's own values: one half at the start.
        self.mix = None if first else nn.Parameter(torch.zeros(()))

        # Normalised queries and keys have the length $\sqrt{d_k}$, and their dot product is at most
        # $d_k$. With the usual scale, $1 / \sqrt{d_k}$, no score is above $\sqrt{d_k}$. For 32
        # features in a head, that is 5.7. Half as much again allows the softmax to be sharper.
        self.scale = 1.5 / math.sqrt(d_k)

    def forward(self, x: Tensor, first_value: Tensor | None) -> tuple[Tensor, Tensor]:
        r"""
        ### Attend

        `x` is `[seq_len, batch_size, d_model]`, `first_value` is
        `[seq_len, batch_size, heads, d_k]`, and nothing in the first layer.
        """
        # All three from the same tokens: this is self-attention.
        query = self.query(x)
        key = self.key(x)
        value = self.value(x)

        # In higher layers, a token's vector has gathered much from others. The first layer's values
        # come from the token and the [two before it](model.py#Smear), and the mixture keeps those.
        if self.mix is not None and first_value is not None:
            share = self.mix.sigmoid().to(value.dtype)
            value = torch.lerp(first_value, value, share)

        # The kernel wants `[batch_size, heads, seq_len, d_k]`. It hides the future by itself.
        q = query.permute(1, 2, 0, 3)
        k = key.permute(1, 2, 0, 3)
        v = value.permute(1, 2, 0, 3)

        # `[batch_size, heads, seq_len, d_k]` again, with no scores in memory.
        x = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.scale)

        # The heads' results side by side, `[seq_len, batch_size, d_model]`, and mixed.
        x = x.permute(2, 0, 1, 3).flatten(start_dim=2)
        return self.output(x), value


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, n_pairs: int = 2
) -> tuple[Tensor, Tensor]:
    r"""
    ## Try it

    Two layers, of which the second one gets the values of the first.

    ### What each is worth

    [The ablation](ablation.py) leaves out one part at a time, in the small model. With added sines
    in the place of rotary positions, the loss is higher by
    [0.036](../../../results/ablation.json#tables.changes.added%20sines%2C%20no%20rotary%20positions.worth)
    nats. The other parts make no difference beyond the noise: the normalisation is worth
    [0.005](../../../results/ablation.json#tables.changes.queries%20and%20keys%20not%20normalised.worth),
    the values of the first layer
    [−0.001](../../../results/ablation.json#tables.changes.no%20values%20of%20the%20first%20layer.worth),
    and the factor of 1.5
    [0.006](../../../results/ablation.json#tables.changes.scores%20not%20multiplied%20by%201.5.worth).

    The mask is always the causal one, and the [fused kernel](../fused_attention.py) computes the
    rest.

    ### Exercises

    ??? question "Why can the scores be half as large again here as in the classic attention?"
        - [ ] The rotation makes queries and keys shorter.
            - A rotation keeps lengths.
        - [x] Queries and keys are normalised, so scores stay bounded however the weights grow.
            - Yes: the factor lets the softmax be sharper. In the ablation it is no gain.
        - [ ] There are no biases that would add to the scores.
            - A bias moves all queries by the same vector. It doesn't bound a score.

    ??? question "With 128 features in each head, what is the highest possible score?"
        $1.5 \cdot \sqrt{128} \approx 17.0$, with the scale of this page.

    ??? question "Normalise the values too. What is lost?"
        Their length. A short value adds little to the answer, even with a large weight. Normalised,
        no value is short.

    ??? question "All queries are multiplied by 10 before they are normalised. What changes?"
        Nothing. The size of the weights that make queries and keys has no effect on the scores.
    """
    d_k = 2 * n_pairs
    d_model = heads * d_k
    # Both layers share one table of rotations.
    rotate = RotaryPositions(inverse_frequencies(d_k), seq_len)
    first = ModernAttention(heads, d_model, rotate, first=True)
    second = ModernAttention(heads, d_model, rotate, first=False)

    # Each result is added to the residual stream.
    x = torch.randn(seq_len, batch_size, d_model)
    added, first_value = first(x, None)
    return second(x + added, first_value)

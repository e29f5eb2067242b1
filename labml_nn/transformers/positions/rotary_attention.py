r"""
---
title: Attention with Rotary Positions
summary: Multi-head attention whose queries and keys are rotated before they are compared.
paper:
  title: "RoFormer: Enhanced Transformer with Rotary Position Embedding"
  authors: Su et al.
  year: 2021
  link: https://arxiv.org/abs/2104.09864
---

Take a query $(1, 0)$ at position 3 and the same key at position 1, and rotate each by 0.5 for each
position: by 1.5 and by 0.5. They become $(0.07, 1.00)$ and $(0.88, 0.48)$, and their dot product is
0.54, the cosine of the difference, 1. At positions 103 and 101 the vectors are others, and the
product is 0.54 again: it depends on the *distance*.

This page puts [rotary positions](../rotary.py) into [attention](../mha.py): one method, three
lines. Trained for 500 steps on windows of 64 characters, a small model reaches
[1.989](../../../results/extrapolation.json#tables.losses.rotary.at64) with them, and
[2.187](../../../results/extrapolation.json#tables.losses.sines.at64) with sines that are added to
tokens ([the measurement](extrapolation.py), mean of three seeds).

**In** and **out** are those of attention. With $R_i$ for the rotation at position $i$, a score is

$$
S_{ij} = \frac{(R_i \, q_i) \cdot (R_j \, k_j)}{\sqrt{d_k}}
= \frac{q_i \cdot (R_{j-i} \, k_j)}{\sqrt{d_k}}
$$

where $q_i$ and $k_j$ are a query and a key of width $d_k$. Softmax, mask and values stay as they
are. Values are not rotated, so *what* is taken over doesn't depend on the place; only *where* a
query looks does.

The page leaves out the [cache](../kv_cache.py) of keys. A model that has one usually stores its
keys rotated, as [latent attention](../memory/absorbed_attention.py) does: a token keeps its
position, so its key is rotated once.
"""

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies


class RotaryAttention(MultiHeadAttention):
    r"""
    ## Attention with rotary positions
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        bias: bool = True,
        *,
        rotary: RotaryPositions,
    ) -> None:
        r"""
        * `rotary` rotates heads of width `d_model / heads`. All layers can share it: a position has
          the same angles in each

        The other arguments are those of [attention](../mha.py#MultiHeadAttention).
        """
        # Projections, mask and average stay those of plain attention: trained weights of the one
        # can be loaded into the other, and will then mean something else.
        super().__init__(heads, d_model, dropout_prob, bias)

        # Its buffers aren't saved, so the weights are those of plain attention.
        self.rotary = rotary

    def get_scores(self, query: Tensor, key: Tensor) -> Tensor:
        r"""
        ### Scores

        From queries and keys that are rotated.

        [A query and an equal key: their dot product by
        distance](../../../results/family_drawings.json#figures.turned)
        """
        # If there are fewer queries than keys, the queries are the *last* positions: a model that
        # writes has one new query and the keys of the whole text. Rotated as position 0, that query
        # would have the whole text in its future.
        first = len(key) - len(query)

        # Queries come divided by $\sqrt{d_k}$. To divide and then rotate is the same as to rotate
        # and then divide.
        query = self.rotary(query, offset=first)

        # The keys begin at position 0, in the same table. After both rotations, what is left in
        # the product is the difference of the angles: the distance.
        return super().get_scores(query, self.rotary(key))


def in_transformer(
    *, d_model: int, heads: int, seq_len: int, dropout_prob: float, **_: float
) -> dict:
    r"""
    ## In a transformer

    In the place of attention.
    """
    # One table for all layers. Scores know the distances now, so nothing is added to the tokens.
    rotary = RotaryPositions(inverse_frequencies(d_model // heads), seq_len)
    return {
        "self_attn": lambda: RotaryAttention(heads, d_model, dropout_prob, rotary=rotary),
        "positions": nn.Identity,
    }


def example(
    seq_len: int = 7, n_new: int = 2, batch_size: int = 3, heads: int = 5, n_pairs: int = 11
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A text under a causal mask, and its end alone, with the keys of all of it. Without dropout, the
    last rows of both are equal.

    ### Exercises

    ??? question "Rotate the values as well. Do the scores change? Does the output?"
        The scores don't, the output does. It would also depend on the position itself, and not only
        on distances.

    ??? question "How many parameters does this attention have more than the plain one?"
        None. The table of cosines and sines isn't learned and isn't saved.

    ??? question "Rotate the tokens before the projections instead. What is lost?"
        The scores no longer depend on the distance alone. $W_q$ and $W_k$ stand between the two
        rotations, so these don't combine to one.
    """
    # Pairs of features are rotated, so the width of a head is even.
    d_k = 2 * n_pairs
    d_model = heads * d_k
    rotary = RotaryPositions(inverse_frequencies(d_k), seq_len)
    attention = RotaryAttention(heads, d_model, 0.0, rotary=rotary)

    # Every query sees the keys up to its own.
    x = torch.randn(seq_len, batch_size, d_model)
    mask = causal_mask(seq_len)
    whole = attention(query=x, key=x, value=x, mask=mask)

    # The last queries alone, with the last rows of the mask. Rotated as positions 5 and 6, they
    # give the last rows of the result above.
    end = attention(query=x[-n_new:], key=x, value=x, mask=mask[-n_new:])
    return whole, end

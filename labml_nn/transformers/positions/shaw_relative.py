r"""
---
title: Relative Positions
summary: A learned vector for each distance, added to the keys.
paper:
  title: Self-Attention with Relative Position Representations
  authors: Shaw, Uszkoreit and Vaswani
  year: 2018
  link: https://arxiv.org/abs/1803.02155
terms:
  relative positions: Scores depend on the distance between query and key.
---

What matters about two tokens is rarely where they stand, and often how far apart they are: an
adjective stands one before its noun, at position 3 and at position 300. So each *distance* gets a
learned vector that is added to the key.

Take the query $(1, 2)$ of a noun, and two words before it that have the same key, $(1, 0)$. Its
products with them are 1 and 1, and the query can't tell the words apart. With the vector $(0, 1)$
for distance 1 and $(0, -1)$ for distance 2, they are $1 + 2 = 3$ and $1 - 2 = -1$: the nearer word
wins, and it does so anywhere in the text.

$$
S_{ij} = \frac{q_i \cdot (k_j + a_{i-j})}{\sqrt{d_k}}
$$

Here $q_i$ is the query at position $i$, $k_j$ the key at position $j$, $a_{i-j}$ the vector of
their distance, and $d_k$ the width of a head (equation 4 of the paper). Beyond a greatest distance,
all distances in one direction share a vector, so a text can have any length.

A small model that was trained on 64 positions reads 512 with a loss of
[2.785](../../../results/extrapolation.json#tables.losses.sines.at512) if [sines are
added](../positional_encoding.py) to its tokens, and of
[1.986](../../../results/extrapolation.json#tables.losses.Shaw.at512) with relative positions.

**In** and **out** are those of [attention](../mha.py).
"""

import math

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


def distances(seq_len_q: int, seq_len_k: int) -> Tensor:
    r"""
    ## Distances

    How far each key is before each query, `[seq_len_q, seq_len_k]`. Negative distances lie in the
    future. If there are fewer queries than keys, the queries are the *last* positions: a model that
    writes with a [cache](../kv_cache.py) has one new query, and the keys of the whole text.
    """
    # The positions of the keys, and those of the queries among them.
    j = torch.arange(seq_len_k)
    i = torch.arange(seq_len_k - seq_len_q, seq_len_k)

    # A column minus a row: every query with every key.
    return i[:, None] - j


class ShawAttention(MultiHeadAttention):
    r"""
    ## Attention with relative positions
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        bias: bool = True,
        max_distance: int = 16,
    ) -> None:
        r"""
        * `max_distance` is the distance beyond which the vectors are the same

        The other arguments are those of [attention](../mha.py#MultiHeadAttention).
        """
        super().__init__(heads, d_model, dropout_prob, bias)

        # The paper supposes that beyond some distance the exact one doesn't matter. And a longer
        # text has no distance whose vector was never trained.
        self.max_distance = max_distance

        # From `-max_distance` to `max_distance` (section 3.2), the same for all heads (3.3). Each
        # vector has a length of about one: `[n_distances, d_k]`.
        start = torch.randn(2 * max_distance + 1, self.d_k) / math.sqrt(self.d_k)
        self.distance_keys = nn.Parameter(start)

    def get_scores(self, query: Tensor, key: Tensor) -> Tensor:
        r"""
        ### Scores

        `[seq_len_q, seq_len_k, batch_size, heads]`.

        [The distance whose vector each query (down) and key (across) get, with a greatest distance
        of 3](../../../results/family_drawings.json#figures.vectors)
        """
        # Longer distances are cut to the greatest one. They depend on the two lengths alone, so one
        # table serves all sequences and heads.
        far = distances(len(query), len(key)).clamp(-self.max_distance, self.max_distance)

        # The vector of each pair of positions, `[seq_len_q, seq_len_k, d_k]`. Row 0 has that of the
        # most negative distance.
        vectors = self.distance_keys[far + self.max_distance]

        # $q_i \cdot (k_j + a) = q_i \cdot k_j + q_i \cdot a$. As two products, no sum of key and
        # vector has to be kept for each pair of positions and each sequence.
        return super().get_scores(query, key) + torch.einsum("ibhd,ijd->ijbh", query, vectors)


def in_transformer(*, d_model: int, heads: int, dropout_prob: float, **_: float) -> dict:
    r"""
    ## In a transformer

    In the place of attention.
    """
    # Scores know the distances now, so nothing is added to the tokens: added positions would tell
    # each query where it stands, which is what should not matter.
    return {
        "self_attn": lambda: ShawAttention(heads, d_model, dropout_prob),
        "positions": nn.Identity,
    }


def example(
    seq_len_k: int = 7,
    seq_len_q: int = 2,
    batch_size: int = 3,
    heads: int = 5,
    d_k: int = 11,
    max_distance: int = 13,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A text under a causal mask, and its end alone, with the keys of all of it. Without dropout, the
    last rows of both are equal.

    ### Measured here

    At the 64 positions of training the losses are
    [2.187](../../../results/extrapolation.json#tables.losses.sines.at64) with sines and
    [1.975](../../../results/extrapolation.json#tables.losses.Shaw.at64) with relative positions
    ([the measurement](extrapolation.py)).

    ### Where it departs from the paper

    The page leaves out a second vector for each distance, which the paper adds to the value: its
    section 4.3 finds no loss without it on one task, translation, and leaves open whether others
    need it. Here the distance is positive towards the past. The paper doesn't say how the vectors
    start.

    ### Exercises

    ??? question "Three queries, the last of five positions: the first one sees which distances?"
        It stands at position 2: distances 2, 1, 0, −1, −2.

    ??? question "Heads of 32 features, a greatest distance of 16: how many parameters more?"
        $(2 \cdot 16 + 1) \cdot 32 = 1056$ in each layer, however many heads there are.

    ??? question "All layers have a greatest distance of 0. What can a model still tell?"
        Nothing about order but what the causal mask gives away: each pair gets the same vector.

    ??? question "Cut distances to 0 and above. What changes under a causal mask?"
        Nothing: a distance below 0 belongs to a hidden key. Without the mask, all of the future
        looks as if it were at distance 0.
    """
    # No distance in seven positions is beyond the greatest one, 13.
    d_model = heads * d_k
    attention = ShawAttention(heads, d_model, 0.0, max_distance=max_distance)

    # As many distances into the future as into the past, and zero.
    n_distances = 2 * max_distance + 1
    assert len(attention.distance_keys) == n_distances

    # Each query sees the keys up to its own.
    x = torch.randn(seq_len_k, batch_size, d_model)
    mask = causal_mask(seq_len_k)
    whole = attention(query=x, key=x, value=x, mask=mask)

    # The last queries alone, with the last rows of the mask. Their distances are the same as
    # before, so the last rows of both results are equal.
    end = attention(query=x[-seq_len_q:], key=x, value=x, mask=mask[-seq_len_q:])
    return whole, end

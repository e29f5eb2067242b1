r"""
---
title: Relative Positions
summary: A learned key and a learned value for each distance between two positions.
paper:
  title: Self-Attention with Relative Position Representations
  authors: Shaw, Uszkoreit and Vaswani
  year: 2018
  link: https://arxiv.org/abs/1803.02155
---

What matters about two tokens is rarely where they stand, and often how far apart. So the scores
of [attention](../mha.py) are told the distance. For each distance there is a learned vector
$a^K$ that is added to the key, and another one, $a^V$, that is added to the value (equations 3 and
4 of the paper):

$$
S_{ij} = \frac{q_i \cdot (k_j + a^K_{i-j})}{\sqrt{d_k}}
\qquad
x_i = \sum_j \operatorname{softmax}_j(S_{ij}) \, (v_j + a^V_{i-j})
$$

Beyond a greatest distance all distances are one and the same: the exact place of something far
away hardly matters, and a model can see texts of any length. Both vectors are the same for all
heads (section 3.2).

The page departs from the paper in the sign of the distance only: it is positive towards the past.
The paper leaves open how the vectors start. Nothing is left out.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


def distances(seq_len_q: int, seq_len_k: int, device: torch.device | str | None = None) -> Tensor:
    r"""
    ## Distances

    How far a key is before a query, `[seq_len_q, seq_len_k]`. Negative distances are in the
    future. The queries are the last positions of the keys' sequence: when a text is written with
    a [cache](../kv_cache.py), there are keys of all its tokens, and queries of the new ones.
    """
    i = torch.arange(seq_len_k - seq_len_q, seq_len_k, device=device)
    j = torch.arange(seq_len_k, device=device)
    return i[:, None] - j


class ShawAttention(MultiHeadAttention):
    r"""
    ## Attention with relative positions

    PyTorch's kernel can't add anything to values, so this takes the readable way.
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
        * `max_distance` is the distance beyond which they are all the same

        The others are those of [attention](../mha.py#MultiHeadAttention).
        """
        super().__init__(heads, d_model, dropout_prob, bias)
        if max_distance < 0:
            raise ValueError(f"max_distance must be at least 0, got {max_distance}")
        self.max_distance = max_distance

        # From `-max_distance` to `max_distance`. At first they say as much as the keys do, all
        # together as loud as one: `[n_distances, d_k]`
        start = torch.randn(2, 2 * max_distance + 1, self.d_k) / self.d_k**0.5
        self.distance_keys = nn.Parameter(start[0])
        self.distance_values = nn.Parameter(start[1])

    def rows(self, seq_len_q: int, seq_len_k: int) -> Tensor:
        r"""
        ### Which vector

        The row in both tables for each query and key, `[seq_len_q, seq_len_k]`. It depends on the
        distance only, and is computed for the lengths at hand.
        """
        far = distances(seq_len_q, seq_len_k, self.distance_keys.device)
        return far.clamp(-self.max_distance, self.max_distance) + self.max_distance

    def get_scores(self, query: Tensor, key: Tensor) -> Tensor:
        r"""
        ### Scores

        A vector for each query *and* key would take $d_k$ times the memory of the scores. But there
        are only so many distances: the query is multiplied with each of their vectors, and each
        key picks the product that belongs to it (section 3.3).
        """
        # `[seq_len_q, n_distances, batch_size, heads]`
        products = torch.einsum("ibhd,rd->irbh", query, self.distance_keys)
        rows = self.rows(len(query), len(key))[:, :, None, None]
        picked = products.gather(1, rows.expand(-1, -1, *products.shape[2:]))
        return super().get_scores(query, key) + picked

    def get_mean(self, attn: Tensor, value: Tensor) -> Tensor:
        r"""
        ### Mean

        The other way around: first the weights of each distance are added up, then its vector is
        multiplied with the sum.
        """
        rows = self.rows(len(attn), len(value))[:, :, None, None].expand_as(attn)
        n_distances = len(self.distance_values)
        sums = attn.new_zeros(len(attn), n_distances, *attn.shape[2:]).scatter_add(1, rows, attn)
        return super().get_mean(attn, value) + torch.einsum(
            "irbh,rd->ibhd", sums, self.distance_values
        )


def moved_scores(shift: int, seq_len_k: int = 7) -> Tensor:
    r"""
    ## Scores see distance alone

    The scores of some queries and keys that stand `shift` positions further right in a longer text.
    They are `[seq_len_k, seq_len_k]`, and always the same.
    """
    generator = torch.Generator().manual_seed(1)
    attention = ShawAttention(1, 4, max_distance=3)
    for parameter in (attention.distance_keys, attention.distance_values):
        nn.init.normal_(parameter, generator=generator)
    text = torch.randn(2, seq_len_k, 1, 1, 4, generator=generator)
    query, key = torch.cat([torch.zeros(2, shift, 1, 1, 4), text], dim=1)
    return attention.get_scores(query, key)[shift:, shift:, 0, 0]


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In the place of attention. Nothing is added to tokens any more.
    """
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
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A text under a causal mask, and its end alone, with the keys of all of it.
    """
    d_model = heads * d_k
    n_distances = 2 * max_distance + 1
    attention = ShawAttention(heads, d_model, max_distance=max_distance)
    assert len(attention.distance_keys) == n_distances
    x = torch.randn(seq_len_k, batch_size, d_model)
    mask = causal_mask(seq_len_k)
    whole = attention(query=x, key=x, value=x, mask=mask)
    end = attention(query=x[-seq_len_q:], key=x, value=x, mask=mask[-seq_len_q:])
    return whole, end, moved_scores(2, seq_len_k)

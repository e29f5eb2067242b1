r"""
---
title: Rotary Positions
summary: Queries and keys turned by angles that grow with the position, so that scores see distance.
paper:
  title: "RoFormer: Enhanced Transformer with Rotary Position Embedding"
  authors: Su et al.
  year: 2021
  link: https://arxiv.org/abs/2104.09864
---

[Added encodings](positional_encoding.py) tell where a token stands, and attention has to work
out distances from that. Here nothing is added to tokens. Instead queries and keys are *turned*:
their features are taken in pairs, each pair is a point of the plane, and at position $m$ it is
turned by the angle $m \theta_i$, with another speed for each pair:

$$
\theta_i = 10000^{-2i/d_k}
$$

If both are complex numbers $q$ and $k$, what a pair contributes to the score is the real part of a
product in which only the *difference* of the two angles is left:

$$
\operatorname{Re}\left( q e^{\mathrm{i} m \theta} \; \overline{k e^{\mathrm{i} n \theta}} \right) =
\operatorname{Re}\left( q \bar{k} \; e^{\mathrm{i} (m - n) \theta} \right)
$$

So scores depend on the distance and not on the place, turning changes no lengths, and there is
nothing to learn (section 3.2.2 of the paper).

It departs from the paper in which features are a pair. There the pairs are side by side, features
$2i$ and $2i + 1$. Here, as in most models of today, they are $i$ and $i + d_k/2$, so that the
turning works on two halves. A model that learns doesn't care; weights of the one kind can't be
used with the other. The page leaves out ways to stretch the angles for longer texts.
"""

import torch
from torch import Tensor, nn


def angles(d_k: int, max_len: int, base: float = 10_000.0) -> Tensor:
    r"""
    ## Angles

    For each position and pair, `[max_len, n_pairs]`. They are computed in double precision, in
    which the angle of a late position is still exact.
    """
    if d_k % 2:
        raise ValueError(f"d_k must be even to consist of pairs, got {d_k}")
    speeds = base ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
    return torch.arange(max_len, dtype=torch.float64)[:, None] * speeds


class RotaryPositions(nn.Module):
    r"""
    ## Turn queries or keys
    """

    def __init__(self, d_k: int, max_len: int, base: float = 10_000.0) -> None:
        r"""
        * `d_k` is the number of features of a head, an even one
        * `max_len` is the number of positions
        * `base` says how slow the slowest pair is
        """
        super().__init__()
        turns = angles(d_k, max_len, base)
        # Neither is learned, so neither is saved: `[max_len, n_pairs]`.
        self.register_buffer("cos", turns.cos().float(), persistent=False)
        self.register_buffer("sin", turns.sin().float(), persistent=False)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        r"""
        ### Turn

        `x` and the result are `[seq_len, batch_size, heads, d_k]`. The first of the positions is
        `offset`: who generates a text token by token gives one at a time. Positions beyond the last
        are a `ValueError`.
        """
        end = offset + len(x)
        if end > len(self.cos):
            raise ValueError(f"there are {len(self.cos)} positions, got one up to {end}")
        cos = self.cos[offset:end, None, None].to(x.dtype)
        sin = self.sin[offset:end, None, None].to(x.dtype)

        # Real and imaginary parts, and the product with $\cos + \mathrm{i} \sin$.
        real, imaginary = x.chunk(2, dim=-1)
        return torch.cat([real * cos - imaginary * sin, imaginary * cos + real * sin], dim=-1)


def scores_at(offset: int, seq_len: int, d_k: int = 8) -> Tensor:
    r"""
    ## Scores see distance alone

    The scores of a few queries and keys, the same wherever in the text they stand:
    `[seq_len, seq_len]`.
    """
    generator = torch.Generator().manual_seed(1)
    query, key = torch.randn(2, seq_len, 1, 1, d_k, generator=generator)
    turn = RotaryPositions(d_k, offset + seq_len)
    query, key = turn(query, offset), turn(key, offset)
    return torch.einsum("ibhd,jbhd->ij", query, key)


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, n_pairs: int = 2, max_len: int = 11
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    The whole of a sequence, and its end alone.
    """
    d_k = 2 * n_pairs
    turn = RotaryPositions(d_k, max_len)
    query = torch.randn(seq_len, batch_size, heads, d_k)
    scores_at(3, seq_len)
    return turn(query), turn(query[-2:], offset=seq_len - 2)

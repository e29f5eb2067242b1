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
$2i$ and $2i + 1$. Here, as in most models of today, they are $i$ and $i + d_k/2$, unless asked for
otherwise. A model that learns doesn't care; weights of the one kind have to be
[converted](positions/rotary_pairs.py) before they can be used with the other. The page leaves out
how to [stretch the angles](positions/rotary_scaling.py) for longer texts, and
[an attention](positions/rotary_attention.py) that has rotary positions.
"""

import torch
from torch import Tensor, nn


def pair_speeds(d_k: int, base: float = 10_000.0) -> Tensor:
    r"""
    ## Speeds

    The angle $\theta_i$ that each pair is turned by from one position to the next, `[n_pairs]`. The
    first pair goes all the way around every $2\pi$ positions, the last one hardly ever. An odd
    number of features is a `ValueError`.
    """
    if d_k % 2:
        raise ValueError(
            f"d_k must be even to consist of pairs, got {d_k}: "
            f"pair_speeds({d_k - 1}) are those for all features but the last"
        )
    return base ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)


def turn_pairs(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False) -> Tensor:
    r"""
    ## Turn pairs of features

    `x` and the result are `[..., d_k]`. Each of the `n_pairs` numbers in the last axis of `cos` and
    `sin` is for one pair of the first features; features beyond those pairs stay as they are.
    """
    turned, rest = x.tensor_split([2 * cos.shape[-1]], dim=-1)

    # Real and imaginary parts: neighbours if `interleaved`, or else the two halves.
    if interleaved:
        real, imaginary = turned[..., 0::2], turned[..., 1::2]
    else:
        real, imaginary = turned.chunk(2, dim=-1)

    # The product with $\cos + \mathrm{i} \sin$.
    parts = [real * cos - imaginary * sin, imaginary * cos + real * sin]
    if interleaved:
        parts = [torch.stack(parts, dim=-1).flatten(start_dim=-2)]
    return torch.cat([*parts, rest], dim=-1)


class RotaryPositions(nn.Module):
    r"""
    ## Turn queries or keys

    One table serves queries and keys, and all the layers of a model, because it depends on nothing
    but the position.
    """

    def __init__(
        self,
        d_k: int,
        max_len: int,
        base: float = 10_000.0,
        *,
        speeds: Tensor | None = None,
        scale: float = 1.0,
        interleaved: bool = False,
    ) -> None:
        r"""
        * `d_k` is the number of features of a head, an even one unless there are `speeds`
        * `max_len` is the number of positions
        * `base` says how slow the slowest pair is
        * `speeds` are those of the pairs, `[n_pairs]`, if they are others. With fewer than `d_k`
          could have, only the first features are turned: a *partial* width
        * `scale` is a factor of the features that are turned
        * `interleaved` says that neighbours are a pair
        """
        super().__init__()
        self.speeds = (pair_speeds(d_k, base) if speeds is None else speeds).tolist()
        if not 0 < 2 * len(self.speeds) <= d_k:
            raise ValueError(
                f"{d_k} features can't hold {len(self.speeds)} pairs, expected 1 to {d_k // 2}"
            )
        self.d_k, self.max_len = d_k, max_len
        self.scale, self.interleaved = scale, interleaved

        # Neither is learned, so neither is saved: `[max_len, n_pairs]`. As buffers they follow the
        # model to another device or precision.
        cos, sin = self.table(torch.arange(max_len))
        self.register_buffer("cos", cos.float(), persistent=False)
        self.register_buffer("sin", sin.float(), persistent=False)

    def table(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        r"""
        ### Cosines and sines

        For each of the `positions` and each pair. They are computed in double precision, in which
        the angle of a late position is still exact.
        """
        speeds = torch.tensor(self.speeds, dtype=torch.float64, device=positions.device)
        turns = positions.double()[:, None] * speeds
        return turns.cos() * self.scale, turns.sin() * self.scale

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        r"""
        ### Turn

        `x` and the result are `[seq_len, batch_size, heads, d_k]`. The first of the positions is
        `offset`: who generates a text token by token gives one at a time. Positions beyond the last
        are a `ValueError`, and so is another number of features.
        """
        end = offset + len(x)
        if offset < 0 or end > self.max_len:
            raise ValueError(
                f"there are {self.max_len} positions, got one up to {end}, from {offset} on"
            )
        if x.shape[-1] != self.d_k:
            raise ValueError(f"expected d_k={self.d_k} features, got {x.shape[-1]}")

        # In the table's 32 bits, 64 bits would be filled up with errors.
        cos, sin = self.cos[offset:end], self.sin[offset:end]
        if x.dtype == torch.float64:
            cos, sin = self.table(torch.arange(offset, end, device=x.device))

        # Sixteen bits stay sixteen bits.
        cos, sin = (t[:, None, None].to(x.dtype) for t in (cos, sin))
        return turn_pairs(x, cos, sin, self.interleaved)


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
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    The whole of a sequence, its end alone, and a head with one more feature, which is left alone.
    """
    d_k = 2 * n_pairs
    turn = RotaryPositions(d_k, max_len)
    query = torch.randn(seq_len, batch_size, heads, d_k)
    scores_at(3, seq_len)
    wider = torch.randn(seq_len, batch_size, heads, d_k + 1)
    turn_first = RotaryPositions(d_k + 1, max_len, speeds=pair_speeds(d_k), interleaved=True)
    turn.table(torch.arange(max_len))
    return turn(query), turn(query[-2:], offset=seq_len - 2), turn_first(wider)

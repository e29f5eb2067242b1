r"""
---
title: Positional Encodings
summary: Sines and cosines, or learned vectors, that say where a token stands.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

[Attention](mha.py) looks at features only. Shuffle the positions of a sequence, and its
results are the same, shuffled: without a mask, *dog bites man* is *man bites dog*. So
the model is told where each token stands, by adding a vector that depends on the
position to the token's own, `[seq_len, batch_size, d_model]`.

Section 3.5 of the paper gives two kinds, and found next to no difference between
them. **Fixed**
ones are made of sines and cosines:

$$
PE_{p,\,2i} = \sin\left(p \cdot 10000^{-2i/d_{model}}\right) \qquad
PE_{p,\,2i+1} = \cos\left(p \cdot 10000^{-2i/d_{model}}\right)
$$

**Learned** ones are parameters like any other.

The page leaves out [what came later](positions/__init__.py): encodings of the distance
between two positions, and rotations of queries and keys. It departs from the paper in
widths only: an odd one, which the paper doesn't have, ends in a sine without its cosine.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn


def frequencies(d_model: int) -> Tensor:
    r"""
    ## Frequencies

    There is one for each pair of a sine and a cosine, `[n_pairs]`. They fall from 1 to
    nearly $1/10000$, so wavelengths go from $2\pi$ positions to $10000 \cdot 2\pi$: the
    fast waves tell neighbours apart, and the slow ones the parts of a text.
    """
    # In double precision: at position 5000 the error of a single-precision angle is
    # already as large as the fourth decimal of its sine.
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    return torch.exp(-math.log(10_000) * exponents)


def sinusoidal_positions(d_model: int, max_len: int) -> Tensor:
    r"""
    ## Fixed encodings

    The vectors of the positions from 0 to `max_len - 1`, as `[max_len, d_model]`.
    """
    # `[max_len, n_pairs]`
    positions = torch.arange(max_len, dtype=torch.float64)
    angles = positions[:, None] * frequencies(d_model)

    # Sines at the even places, cosines at the odd ones, of which an odd width has one
    # less.
    encodings = torch.empty(max_len, d_model)
    encodings[:, 0::2] = angles.sin()
    encodings[:, 1::2] = angles.cos()[:, : d_model // 2]
    return encodings


def shift_positions(encodings: Tensor, offset: int) -> Tensor:
    r"""
    ## Why sines and cosines

    The paper's guess is that they let a model learn to attend by distance: the encoding
    of position $p + k$ is a linear function of that of position $p$, the same for all
    $p$. Each pair of frequency $\omega$ is turned by the angle $\omega k$.

    $$
    \begin{aligned}
    \sin \omega (p + k) &=
    \sin \omega p \, \cos \omega k + \cos \omega p \, \sin \omega k \\
    \cos \omega (p + k) &=
    \cos \omega p \, \cos \omega k - \sin \omega p \, \sin \omega k
    \end{aligned}
    $$

    This function turns the rows of `encodings`, `[max_len, d_model]`, by `offset`
    positions. An odd width is a `ValueError`: its last sine has no cosine to turn with.
    """
    d_model = encodings.shape[1]
    if d_model % 2:
        raise ValueError(f"d_model must be even to consist of pairs, got {d_model}")
    sine, cosine = encodings[:, 0::2], encodings[:, 1::2]
    turn = (offset * frequencies(d_model)).to(encodings.dtype)

    # Stacked on a new last axis, each sine stands before its cosine again.
    shifted_sine = sine * turn.cos() + cosine * turn.sin()
    shifted_cosine = cosine * turn.cos() - sine * turn.sin()
    return torch.stack([shifted_sine, shifted_cosine], dim=-1).flatten(start_dim=1)


class PositionalEncoding(nn.Module):
    r"""
    ## Add fixed encodings

    As in the paper, features of the sum can be dropped out (section 5.4).
    """

    def __init__(self, d_model: int, dropout_prob: float, max_len: int = 5000) -> None:
        r"""
        * `d_model` is the number of features
        * `dropout_prob` is the probability that a feature of the sum is dropped
        * `max_len` is the number of positions that there are encodings for
        """
        super().__init__()
        self.dropout = nn.Dropout(dropout_prob)

        # A buffer goes where the model goes, to a device or another precision. It is
        # not saved with the weights, since it can be computed: `[max_len, 1, d_model]`.
        encodings = sinusoidal_positions(d_model, max_len).unsqueeze(1)
        self.register_buffer("encodings", encodings, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        ### Add

        `x` and the result are `[seq_len, batch_size, d_model]`. A sequence longer than
        `max_len` is a `ValueError`.
        """
        return self.dropout(x + first_positions(self.encodings, x.shape[0]))


class LearnedPositionalEncoding(nn.Module):
    r"""
    ## Add learned encodings

    One vector for each position. One that never came up in training means nothing,
    where a sine just goes on.
    """

    def __init__(self, d_model: int, max_len: int) -> None:
        r"""
        * `d_model` is the number of features
        * `max_len` is the number of positions that there are encodings for
        """
        super().__init__()

        # They start with variance 1, as [embedded tokens](models.py#TokenEmbedding) do.
        # From nearly zero, it takes them long to be heard beside those.
        self.encodings = nn.Parameter(torch.randn(max_len, 1, d_model))

    def forward(self, x: Tensor) -> Tensor:
        r"""
        ### Add

        `x` and the result are `[seq_len, batch_size, d_model]`. A sequence longer than
        `max_len` is a `ValueError`.
        """
        return x + first_positions(self.encodings, x.shape[0])


def first_positions(encodings: Tensor, seq_len: int) -> Tensor:
    r"""
    ## Take the first positions

    From `[max_len, 1, d_model]` to `[seq_len, 1, d_model]`.
    """
    max_len = encodings.shape[0]
    if seq_len > max_len:
        raise ValueError(
            f"a sequence of {seq_len} positions is longer than the positional "
            f"encoding, which has max_len={max_len}"
        )
    return encodings[:seq_len]


def in_transformer(
    *, d_model: int, seq_len: int, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    Learned encodings, in the place where the [transformer that
    writes](basic/autoregressive_experiment.py) has fixed ones.
    """
    return {"positions": lambda: LearnedPositionalEncoding(d_model, seq_len)}


def example(
    seq_len: int = 7, n_spare: int = 11, batch_size: int = 3, n_pairs: int = 5
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Both kinds, for a sequence shorter than what they are made for.
    """
    d_model = 2 * n_pairs
    max_len = seq_len + n_spare
    x = torch.randn(seq_len, batch_size, d_model)
    fixed = PositionalEncoding(d_model, 0.1, max_len)
    learned = LearnedPositionalEncoding(d_model, max_len)
    shifted = shift_positions(sinusoidal_positions(d_model, max_len), offset=4)
    return fixed(x), learned(x), shifted

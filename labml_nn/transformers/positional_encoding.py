r"""
---
title: Positional Encodings
summary: Sines and cosines, or learned vectors, that tell the model where a token stands.
know: mha.py
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
terms:
  positional encoding: A vector for each position, added to that of the token.
---

[Attention](mha.py) compares features and knows nothing of order. Without a mask, shuffle the
positions of a sequence and its results are the same, shuffled: *dog bites man* is *man bites dog*.
A causal mask gives some order back: “dog” sees one word, “bites” two. After 1,000 steps, the small
transformer's loss is [2.124](../../results/without.json#tables.without.No%20positions.loss) with
the mask alone and [1.846](../../results/without.json#tables.without.The%20whole%20model.loss) with
positions, too.

The remedy is to add a vector to each word that depends on its position alone. With four features:

| word | position | | | | |
| --- | --- | ---: | ---: | ---: | ---: |
| dog | 0 | 0 | 1 | 0 | 1 |
| bites | 1 | 0.84 | 0.54 | 0.01 | 1.00 |
| man | 2 | 0.91 | −0.42 | 0.02 | 1.00 |

The first pair is the sine and the cosine of the position, the second that of a hundredth of it.
They are the hands of a clock. The fast one tells neighbours apart and comes round in 6.3 positions.
The slow one comes round in 628, and tells early from late. For position $p$ and pair $i$, counted
from 0:

$$
PE_{p,\,2i} = \sin\left(p\, \omega_i\right) \quad
PE_{p,\,2i+1} = \cos\left(p\, \omega_i\right) \quad
\omega_i = 10000^{-2i/d_{model}}
$$

With 128 features, the slowest hand comes round in 54,410 positions. The constant 10000 is the
paper's, which gives no reason for it.

**In:** the vectors of tokens, `[seq_len, batch_size, d_model]`. **Out:** the same, with a vector
added for each position.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn


def frequencies(d_model: int) -> Tensor:
    r"""
    ## Frequencies

    $\omega_i$ for each pair of a sine and a cosine, `[n_pairs]`. The first is 1. With many features
    the last is nearly $1/10000$.
    """
    # For four features: 1 and 0.01. In double precision: of 128 features, single precision gets
    # some sines near position 5000 wrong in their fourth decimal.
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    return torch.exp(-math.log(10_000) * exponents)


def sinusoidal_positions(d_model: int, max_len: int) -> Tensor:
    r"""
    ## Fixed encodings

    The vectors of the positions from 0 to `max_len - 1`, as `[max_len, d_model]`.

    [The fixed encodings of 24 positions, with 16
    features](../../results/drawings.json#figures.sines)
    """
    # The angle of each position and pair, `[max_len, n_pairs]`, is the position times the
    # frequency.
    positions = torch.arange(max_len, dtype=torch.float64)
    angles = positions[:, None] * frequencies(d_model)

    # On a new last axis, each sine stands before its cosine; flattened, they alternate.
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1)
    return waves.flatten(start_dim=1).float()


def shift_positions(encodings: Tensor, offset: int) -> Tensor:
    r"""
    ## Why sines and cosines

    The paper hopes that they let a model attend by distance: the encoding of position $p + k$ is a
    linear function of that of position $p$, the same for all $p$. It rotates each pair by the angle
    $\omega k$.

    $$
    \begin{aligned}
    \sin \omega (p + k) &=
    \sin \omega p \cos \omega k + \cos \omega p \sin \omega k \\
    \cos \omega (p + k) &=
    \cos \omega p \cos \omega k - \sin \omega p \sin \omega k
    \end{aligned}
    $$

    This function makes of the encoding of each position $p$ that of position $p$ + `offset`.
    `encodings` and the result are `[max_len, d_model]`.
    """
    # Sines and cosines take turns, each in every second feature.
    sine = encodings[:, 0::2]
    cosine = encodings[:, 1::2]
    angle = (offset * frequencies(encodings.shape[1])).to(encodings.dtype)

    # One rotation for all positions: nothing here depends on $p$.
    shifted_sine = sine * angle.cos() + cosine * angle.sin()
    shifted_cosine = cosine * angle.cos() - sine * angle.sin()

    # Alternating again, as they came.
    return torch.stack([shifted_sine, shifted_cosine], dim=-1).flatten(start_dim=1)


class PositionalEncoding(nn.Module):
    r"""
    ## Add fixed encodings
    """

    def __init__(self, d_model: int, dropout_prob: float, max_len: int = 5000) -> None:
        r"""
        * `d_model` is the number of features, an even one
        * `dropout_prob` is the probability that a feature of the sum is dropped
        * `max_len` is the number of positions
        """
        super().__init__()
        # Sines and cosines come in pairs, so an odd width would get one feature too many.
        if d_model % 2:
            raise ValueError(f"d_model must be even, for pairs of sine and cosine, got {d_model}")

        # The paper drops features of the sum (section 5.4).
        self.dropout = nn.Dropout(dropout_prob)

        # Moves to the GPU with the model, isn't saved with the weights: `[max_len, 1, d_model]`.
        encodings = sinusoidal_positions(d_model, max_len).unsqueeze(1)
        self.register_buffer("encodings", encodings, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        `x` and the result are `[seq_len, batch_size, d_model]`.
        """
        # The encodings of the first positions. For a sequence longer than `max_len` there aren't
        # enough of them, and the sum fails. (With a single one, that would be added to all.)
        return self.dropout(x + self.encodings[: len(x)])


class LearnedPositionalEncoding(nn.Module):
    r"""
    ## Add learned encodings

    One vector for each position, a parameter like any other. If a position never came up in
    training, its vector is still random.
    """

    def __init__(self, d_model: int, max_len: int) -> None:
        r"""
        * `d_model` is the number of features
        * `max_len` is the number of positions
        """
        super().__init__()
        # Variance 1, like [embedded tokens](models.py#TokenEmbedding), so that neither drowns the
        # other at the start.
        self.encodings = nn.Parameter(torch.randn(max_len, 1, d_model))

    def forward(self, x: Tensor) -> Tensor:
        r"""
        `x` and the result are `[seq_len, batch_size, d_model]`.
        """
        # The same vectors for each sequence of the batch.
        return x + self.encodings[: len(x)]


def in_transformer(*, d_model: int, seq_len: int, **_: float) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    Learned encodings, in the place where the [transformer that
    writes](basic/autoregressive_experiment.py) has fixed ones.
    """
    return {"positions": lambda: LearnedPositionalEncoding(d_model, seq_len)}


def example(
    seq_len: int = 7, max_len: int = 11, batch_size: int = 3, n_pairs: int = 5
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Both kinds, and the encodings of positions 4 to 14 from those of positions 0 to 10.

    ### Distance

    The dot product of two fixed encodings depends on the distance of their positions alone, since
    $\sin a \sin b + \cos a \cos b = \cos (a - b)$:

    [The encoding of position 50 and those around it](../../results/drawings.json#figures.distance)

    ### Kinds of encodings

    The paper gives two kinds (section 3.5), fixed and learned ones, and found next to no difference
    between the two (table 3, row E).

    Does the sum not spoil the token's own features? The encodings of 64 positions, with 128
    features each, lie almost wholly in 25 directions. The other 103 are left to the tokens. It is
    the slow pairs that need so few: 47 of the 64 turn less than once in 64 positions, and all of
    these together take up about five directions. (That the model makes use of it is an
    interpretation: no recorded run shows it.)

    The page leaves out [what came later](positions/__init__.py): encodings of the distance between
    two positions, and rotations of queries and keys. Encodings that are added along the axis of the
    batch are [a mistake](mistakes/model_mistakes.py#PositionsOfTheBatch) that trains.

    ### Exercises

    ??? question "Why can a language model learn something about order without any encodings?"
        - [x] The causal mask shows one key to the first position, two to the second, and so on.
            - Yes. So positions differ. Our small model gets less out of that, 2.124 in place of
              1.846. Larger ones come close to those with encodings ([Haviv et al.
              2022](https://arxiv.org/abs/2203.16634)).
        - [ ] Attention reads the keys from left to right.
            - It sees a set of keys. Without the mask, shuffle keys and values together, and the
              results are the same.
        - [ ] The embedding of a token tells where it stands.
            - An embedding is looked up by the token alone: equal tokens have equal vectors.

    ??? question "What is the encoding of position 0?"
        0, 1, 0, 1, …: all sines are zero there, and all cosines one.

    ??? question "At which position is the first pair back where it was at position 0?"
        At none, because $\pi$ is irrational: no positive multiple of $2 \pi$ is a whole number.
        Position 44 is close, since $44 \approx 7 \cdot 2\pi$.

    ??? question "Make `positions` a row of zeros in `sinusoidal_positions`. How do you notice?"
        Not by a shape. Every position gets the vector 0, 1, 0, 1, …, which tells nothing. Shuffle a
        sequence that is attended to without a mask: the results are the same again, shuffled.
    """
    # Both kinds are added to the same tokens.
    d_model = 2 * n_pairs
    x = torch.randn(seq_len, batch_size, d_model)

    # One is computed, the other is a parameter.
    fixed = PositionalEncoding(d_model, 0.1, max_len)
    learned = LearnedPositionalEncoding(d_model, max_len)

    # Row $p$ becomes the encoding of position $p + 4$, from the rows alone.
    shifted = shift_positions(sinusoidal_positions(d_model, max_len), offset=4)
    return fixed(x), learned(x), shifted

r"""
---
title: Rotary Positions
summary: Rotate queries and keys by their positions, so that each score depends on the distance.
know: mha.py, positional_encoding.py
paper:
  title: "RoFormer: Enhanced Transformer with Rotary Position Embedding"
  authors: Su et al.
  year: 2021
  link: https://arxiv.org/abs/2104.09864
terms:
  rotary positions (RoPE): Rotate queries and keys by angles that grow with the position.
---

[Attention](mha.py) knows nothing of order, and [added encodings](positional_encoding.py) tell it
where each token stands. But a model often needs the *distance*: an adjective is one token before
its noun, here and 1,000 tokens later. From two places, attention has to work out their distance by
itself. Rotary positions put it into every score, with nothing to learn.

Take a head with two features. A query is then an arrow in the plane, and so is a key. Their dot
product depends on their lengths and on the angle between them. Rotate the arrow at position 0 by 0
radians, at position 1 by 1 radian, at position 2 by 2, and so on. Let query and key both be
$(1, 0)$:

| | rotated by | is |
| --- | ---: | --- |
| key at position 3 | 3 | −0.990, 0.141 |
| query at position 5 | 5 | 0.284, −0.959 |

The score is $-0.990 \cdot 0.284 - 0.141 \cdot 0.959 = -0.416$, the cosine of 2. The lengths are
what they were, and the angle between the two has changed by $5 - 3 = 2$. A key at 1,003 and a query
at 1,005 are 2 radians apart as well, and have the same score.

[Left and right: a query two positions after a key, each $(1, 0)$ before it was
rotated](../../results/drawings.json#figures.arrows)

A head with more features rotates them in [pairs](rotary.py#apply_rotary), each by an angle of its
own. Values are not rotated: where a query looks depends on positions, what it finds there doesn't.

**In:** the queries or the keys of all heads, `[seq_len, batch_size, heads, d_k]`. **Out:** the
same, each rotated according to its position.
"""

import torch
from torch import Tensor, nn


def inverse_frequencies(d_k: int, base: float = 10_000.0) -> Tensor:
    r"""
    ## Frequencies

    The angle from one position to the next, for each pair $i$ of the $d_k / 2$ pairs, `[n_pairs]`:

    $$
    \theta_i = 10000^{-2i/d_k}
    $$

    One angle for all pairs would not do. At 1 radian for each position, a distance of 44 looks
    almost like 0, because $44 \approx 7 \cdot 2 \pi$. At 0.0001, neighbours look the same. So the
    first pair goes around once in 6 positions and tells neighbours apart, and the last one tells
    near from far: with 64 features it goes around once in $2 \pi \cdot 10000^{62/64} = 47{,}117$
    positions. The base of 10,000 is that of the sines and cosines of the first transformer; models
    for long texts take a larger one.
    """
    if d_k % 2:
        raise ValueError(f"d_k must be even to be split into pairs, got {d_k}")

    # In double precision. In single precision, the angle of position 100,000 would be wrong in the
    # third decimal.
    return base ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)


def apply_rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    r"""
    ## Rotate pairs of features

    Rotated by the angle $\phi$, an arrow $(a, b)$ becomes

    $$
    (a \cos \phi - b \sin \phi, \; a \sin \phi + b \cos \phi)
    $$

    So $(1, 0)$ becomes $(\cos 3, \sin 3)$ at position 3, the key above. Each arrow has one feature
    of the first half and one of the second: of the features `1 2 3 4`, 1 and 3 are a pair, and so
    are 2 and 4. Neighbours would do [as well](rotary.py#example). `x` and the result are
    `[seq_len, batch_size, heads, d_k]`.
    """
    # The two halves. Pair $i$ is $(a_i, b_i)$: `[seq_len, batch_size, heads, n_pairs]` each.
    a, b = x.chunk(2, dim=-1)

    # The first features of all rotated pairs, then the second ones.
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class RotaryPositions(nn.Module):
    r"""
    ## Rotary positions

    Use the same module for queries and for keys. With other frequencies for the keys, a score would
    change when the whole text is shifted. All layers of a model can share one module: they need the
    same angles.
    """

    def __init__(self, frequencies: Tensor, max_len: int) -> None:
        r"""
        * `frequencies` are the angles from one position to the next, as of
          [this function](rotary.py#inverse_frequencies)
        * `max_len` is the number of positions
        """
        super().__init__()
        self.max_len = max_len

        # The angle of each position and pair: `[max_len, n_pairs]`.
        angles = torch.arange(max_len, dtype=torch.float64)[:, None] * frequencies

        # Computed once, not in every step. Buffers move to the GPU with the model; these are not
        # saved with its weights, because they can be computed again.
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        r"""
        ### Rotate

        `x` and the result are `[seq_len, batch_size, heads, d_k]`. The first position of `x` is
        `offset`: a model that writes token by token has one new query, far from position 0.
        """
        # If the table ended too early, it might have one row left, and PyTorch would use that for
        # all positions.
        end = offset + len(x)
        if not 0 <= offset <= end <= self.max_len:
            raise ValueError(f"positions {offset} to {end} are not within max_len={self.max_len}")

        # The same angles for the whole batch and all heads. In the type of `x`, because a product
        # of 16 and 32 bits would have 32, and PyTorch refuses to average values of 16 bits with it.
        cos = self.cos[offset:end, None, None].to(x.dtype)
        sin = self.sin[offset:end, None, None].to(x.dtype)
        return apply_rotary(x, cos, sin)


def scores_from(offset: int, seq_len: int, d_k: int = 8) -> Tensor:
    r"""
    ## Scores depend on the distance

    The same queries and keys, with the first of them at position `offset`. The scores,
    `[seq_len, seq_len]`, are the same for every offset, up to rounding.
    """
    # One head, one sequence.
    generator = torch.Generator().manual_seed(1)
    query, key = torch.randn(2, seq_len, 1, 1, d_k, generator=generator)

    # One module for both.
    rotate = RotaryPositions(inverse_frequencies(d_k), offset + seq_len)
    return torch.einsum("ibhd,jbhd->ij", rotate(query, offset), rotate(key, offset))


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, n_pairs: int = 2, max_len: int = 11
) -> tuple[Tensor, ...]:
    r"""
    ## Try it

    A whole sequence, its last two positions alone, and scores that start at position 0 or 3.

    ### With complex numbers

    With the two features as one complex number, rotating by an angle $\phi$ is multiplying by
    $e^{\mathrm{i} \phi}$, and a dot product is $\operatorname{Re}(q \bar{k})$. For a query at
    position $m$ and a key at position $n$, rotated by the angle $\theta$ for each position,

    $$
    \operatorname{Re}\left( q e^{\mathrm{i} m \theta} \; \overline{k e^{\mathrm{i} n \theta}}
    \right) = \operatorname{Re}\left( q \bar{k} \; e^{\mathrm{i} (m - n) \theta} \right)
    $$

    The positions are left in it as $m - n$ alone. The product of $a + \mathrm{i} b$ and
    $\cos \phi + \mathrm{i} \sin \phi$ is what [the code](rotary.py#apply_rotary) writes out.

    ### Which features are a pair

    In the paper, a pair is two neighbouring features. Here, as in many models of today, it is
    feature $i$ of the first half with feature $i$ of the second half. A model that learns from the
    start doesn't care; trained weights have to be [converted](positions/rotary_pairs.py). This page
    leaves out [longer texts than those of training](positions/rotary_scaling.py) and [the attention
    that uses it](positions/rotary_attention.py).

    ### Measured here

    In the [modern model](modern/ablation.py), added sines in the place of rotary positions raise
    the loss by
    [0.036](../../results/ablation.json#tables.changes.added%20sines%2C%20no%20rotary%20positions.worth)
    nats, four times the noise.

    ### Is yours right?

    A table for one kind of pairs and a rotation of the other run, train and are [a
    mistake](mistakes/position_mistakes.py#PairsMixed). To test yours, [shift the whole
    text](../../wrongline/cache_tests.py#shift_changes_nothing): no score may change.

    ### Exercises

    ??? question "Why does each pair of features have an angle of its own?"
        - [ ] With one angle for all pairs, scores would depend on the positions themselves.
            - They would depend on the distance alone, just as they do now.
        - [x] A fast rotation tells neighbours apart and soon comes round; a slow one reaches far.
            - Yes. Together they tell all distances apart.
        - [ ] Only different angles keep the lengths of queries and keys.
            - Every rotation keeps them.

    ??? question "At one radian for each position, what does $(1, 0)$ become at position 6?"
        $(\cos 6, \sin 6) = (0.96, -0.28)$: it has gone around nearly once.

    ??? question "Add 1,000 to all positions. Which scores change?"
        None, up to rounding: see `scores_from`.

    ??? question "Rotate the values too. Do scores and outputs still depend on the distance only?"
        Scores do, since values take no part in them. Outputs don't: the same values at
        other positions are then other vectors.

    ??? question "Take `x[..., 0::2]` and `x[..., 1::2]` in place of the two halves. What breaks?"
        Nothing in training: scores still depend on the distance only. But a model that was trained
        with halves now has other pairs. The loss of [a small
        Llama](positions/rotary_pairs.py) goes from
        [1.939](../../results/pretrained.json#tables.llama.all%20right.loss) to
        [3.349](../../results/pretrained.json#tables.llama.neighbours%20as%20pairs,%20not%20halves.loss).
    """
    # Two features for each pair, and random queries for a few positions.
    d_k = 2 * n_pairs
    rotate = RotaryPositions(inverse_frequencies(d_k), max_len)
    query = torch.randn(seq_len, batch_size, heads, d_k)

    # The last two positions on their own, as if they had just been written.
    whole = rotate(query)
    end = rotate(query[-2:], offset=seq_len - 2)
    return whole, end, scores_from(0, seq_len), scores_from(3, seq_len)

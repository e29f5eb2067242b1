r"""
---
title: "Mistakes: Positions"
summary: Rotary positions with pairs of features that don't fit, which train and aren't relative.
---

[Rotary positions](../rotary.py) turn pairs of features, each pair at its own speed. Two pairings
are in use: a feature and its neighbour, or a feature and the one half a head further on. With four
features and two speeds, fast and slow, neighbours have the table `fast fast slow slow` and turn
features 0 and 1 together. Halves have `fast slow fast slow` and turn 0 and 2 together. Both tables
have the same shape. Take the first table and the second rotation, and in each pair one feature goes
fast and the other one slowly.

[Printed and honest loss, means of three seeds; the line is the right
model](../../../results/rooms.json#figures.positions)

The worst of three right models prints
[2.214](../../../results/rooms.json#tables.rooms.RightRotary.highest), the best with mixed pairs
[2.216](../../../results/rooms.json#tables.rooms.PairsMixed.lowest): the loss is a little worse, and
nobody would look for a mistake.

To find this mistake, [shift the whole
text](../../../wrongline/cache_tests.py#shift_changes_nothing): a score of rotary positions depends
on the distance alone, so nothing may change. Mistakes with offsets are with [the
caches](caches.py).
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.transformers.mistakes.one_line import Mistake
from labml_nn.transformers.mistakes.right_attention import RightAttention


class RightRotary(RightAttention):
    r"""
    ## The right attention with rotary positions
    """

    def turn(self, z: Tensor, offset: int = 0) -> Tensor:
        r"""
        ### Turn pairs of features

        Queries or keys, whose first position is `offset`.
        """
        # One speed for each pair: for 16 features, from one turn in six positions to one in 20,000.
        half = self.d_k // 2
        speeds = 10_000.0 ** (-torch.arange(half) / half)

        # Position times speed, `[seq_len, d_k]`: both features of a pair have the same angle.
        angles = (torch.arange(z.shape[2]) + offset).unsqueeze(1) * speeds
        angles = angles.repeat(1, 2)

        # The pairs here are halves: the first feature goes with the first of the second half.
        first, second = z.chunk(2, dim=-1)
        return z * angles.cos() + torch.cat([-second, first], dim=-1) * angles.sin()

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        r"""
        ### Attend

        The shapes are those of the [right attention](right_attention.py#RightAttention.forward).
        """
        # Heads before positions, as in the right attention.
        shape = (*x.shape[:2], self.heads, self.d_k)
        query = self.query(x).view(shape).transpose(1, 2)
        key = self.key(x).view(shape).transpose(1, 2)
        value = self.value(x).view(shape).transpose(1, 2)

        # Values have no positions: only scores should depend on distances.
        query = self.turn(query, offset)
        key = self.turn(key, offset)

        # The kernel scales, hides the future, and takes the mean.
        z = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output(z.transpose(1, 2).flatten(2))


class PairsMixed(Mistake):
    r"""
    ## The table of neighbours, the rotation of halves

    The two come from two files, each right by itself. What is turned then isn't a pair: one of its
    features goes at one speed, the other at another one, so lengths change and scores depend on
    where in the text they are. A [course on
    GPT](https://github.com/raiyanyahya/how-to-train-your-gpt/issues/6) had it, and so did the
    [transformers library](https://github.com/huggingface/transformers/issues/47328) and
    [candle](https://github.com/huggingface/candle/issues/3948).

    Trained from nothing, the model makes do with it: see the losses above. With weights that were
    trained with the right pairs, it does not: the loss of a small model of ours went from 2.25 to
    2.61.
    """

    of = RightRotary
    # Halves: the table is repeated as a whole.
    right = "angles = angles.repeat(1, 2)"

    # Neighbours: each angle is repeated. The shape is the same.
    wrong = "angles = angles.repeat_interleave(2, dim=1)"


POSITION_EXHIBITS = (PairsMixed,)


def example(
    batch_size: int = 3, heads: int = 5, d_k: int = 2, seq_len: int = 7
) -> dict[str, Tensor]:
    r"""
    ## Example

    How much an output changes when all positions are larger by 100.

    ### Measured here

    A small model was trained for [400](../../../results/rooms.json#values.n_steps) steps from
    [3](../../../results/rooms.json#values.seeds) seeds.

    ### Find the bug

    ??? question "`cos = table.cos(); x * cos + rotate_half(x) * cos`. What is wrong?"
        The second factor must be the sine. With two cosines it is no rotation, and a shift shows
        it.

    ??? question "The table is cut by `table[:x.shape[1]]`, and there is a cache. What then?"
        Each new token is at position 0. Read a text with the cache and without: they differ.

    ??? question "Why does a head of width 2 hide `PairsMixed`?"
        It has one pair only: the table of neighbours and that of halves are the same.
    """
    # Heads twice as wide as `d_k` says, so that they have at least two pairs: with a single one,
    # nothing could be mixed.
    width = 2 * d_k * heads
    x = torch.randn(batch_size, seq_len, width)
    found = {}

    # Both have the same shape.
    # The right one gives zeros, up to rounding.
    for kind in (RightRotary, PairsMixed.make()):
        # At positions 100 to 106, and at 0 to 6.
        attention = kind(heads, width)
        found[kind.__name__] = (attention(x, 100) - attention(x)).abs().amax(dim=(0, 2))
    return found

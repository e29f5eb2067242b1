r"""
---
title: "Mistakes: Caches and Shared Keys"
summary: Three wrong lines that no training runs, and one that trains as well as the right one.
---

A cache is used when a model writes, and not when it is trained. So with a mistake in it all
losses are right, and the model writes nonsense: from the second token on, or after a long prompt,
or in the middle of a chat. Take a prompt of five tokens, at positions 0 to 4. The new tokens are at
5, 6 and 7. An offset that grows by the prompt each time puts them at 5, 10 and 15. A shortcut for
single tokens puts all three at 0. Other exhibits with a cache are on the page about [numbers and
decoding](decoding.py).

[How far each position is off with a cache, after a prompt of five
tokens](../../../results/rooms.json#figures.caches)

The fourth mistake, [keys in turns](caches.py#KeysInTurns), can be trained. It prints
[2.298](../../../results/rooms.json#tables.rooms.KeysInTurns.printed), and the right one
[2.292](../../../results/rooms.json#tables.rooms.RightGrouped.printed): no difference, since seeds
differ by more.

[Printed and honest loss; the line is the right model](../../../results/rooms.json#figures.grouped)

To find the first three, [read one text in three ways](../../../wrongline/cache_tests.py): what a
model says with the cache must be what it says without. Which of the three ways fail, and from which
position on, tells the mistake. The fourth shows when the output is
[compared](../../../wrongline/suspects.py) with that of the right attention.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.mistakes.one_line import Mistake
from labml_nn.transformers.mistakes.position_mistakes import RightRotary
from labml_nn.transformers.mistakes.right_attention import RightAttention


class RightCache(RightRotary):
    r"""
    ## The right way to read with a cache
    """

    def read(self, parts: list[Tensor]) -> Tensor:
        r"""
        ### Parts of a text, one after the other

        The result is that of the whole text.
        """
        # One entry for each part that was read, and how many positions that is.
        keys: list[Tensor] = []
        values: list[Tensor] = []
        outputs: list[Tensor] = []
        offset = 0
        for part in parts:
            # Heads before positions, as in the right attention.
            shape = (*part.shape[:2], self.heads, self.d_k)

            # Only the new positions go through the three layers: keys and values of the others are
            # in the cache, and their queries aren't needed any more.
            query = self.query(part).view(shape).transpose(1, 2)
            key = self.key(part).view(shape).transpose(1, 2)
            value = self.value(part).view(shape).transpose(1, 2)

            # The first of them comes after all that was read.
            query, key = self.turn(query, offset), self.turn(key, offset)

            # What is new goes into the cache first, because a position also sees itself.
            keys.append(key)
            values.append(value)
            key, value = torch.cat(keys, dim=2), torch.cat(values, dim=2)

            # The new positions are the last ones, so these are the last rows of the causal mask.
            seen = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool)
            mask = seen.tril(offset)

            # All keys so far, of which the mask leaves the right ones.
            z = F.scaled_dot_product_attention(query, key, value, mask)
            outputs.append(self.output(z.transpose(1, 2).flatten(2)))

            # As many positions more as there were in this part.
            offset += part.shape[1]
        return torch.cat(outputs, dim=1)


class PrefillUnmasked(Mistake):
    r"""
    ## A prompt without a mask

    “With a cache there is one new token, and it may see everything.” But the first call has the
    whole prompt. Its positions see each other's future, and what they computed is in the cache of
    the next layer. (The figure above has one layer, so the new tokens are right there.)
    [TinyLLM](https://github.com/Mikyx-1/TinyLLM/issues/18) had it.

    Training doesn't show it: without a cache this line never runs.
    """

    of = RightCache
    # Right for one new token, wrong for several.
    right = "mask = seen.tril(offset)"

    # Nothing is hidden.
    wrong = "mask = seen"


class OffsetJumps(Mistake):
    r"""
    ## An offset that jumps with the prompt

    The offset grows by the length of the prompt in each call, not by the length of the part. If all
    parts have one token, there is no difference. In
    [tiny-llm](https://github.com/skyzh/tiny-llm/issues/46), a course on serving models, the offset
    jumped once: after a prompt of six tokens it went from 6 to 12, then to 13.

    It can't be trained here: training reads each text as a whole.
    """

    of = RightCache
    # How many positions were read.
    right = "offset += part.shape[1]"

    # The first part is the prompt. Each new token lands a prompt further on. (The mask lets it see
    # everything, as a larger offset hides less.)
    wrong = "offset += parts[0].shape[1]"


class NoPositionForOne(Mistake):
    r"""
    ## No position for a single token

    A shortcut for “nothing to turn” takes a part of one token for a text of one token, whose
    position would be 0. GPT-2 in [mlx-lm](https://github.com/ml-explore/mlx-lm/issues/93), whose
    positions are learned vectors, added none to a part of one token.

    It can't be trained here either: training has no parts of one token.
    """

    of = RightCache
    # A single token has an offset, too.
    right = "query, key = self.turn(query, offset), self.turn(key, offset)"

    # A part of one token isn't turned at all.
    wrong = "query, key = (z if len(z[0, 0]) == 1 else self.turn(z, offset) for z in (query, key))"


class RightGrouped(RightAttention):
    r"""
    ## Heads that share keys

    As in [grouped-query attention](../memory/grouped_query.py), with two heads for one key.
    """

    def __init__(self, heads: int, d_model: int, dropout_prob: float = 0.0) -> None:
        r"""
        * `heads`, `d_model` and `dropout_prob` are those of the right attention
        """
        super().__init__(heads, d_model, dropout_prob)
        # Half as many heads of keys and values.
        self.key = nn.Linear(d_model, d_model // 2)
        self.value = nn.Linear(d_model, d_model // 2)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        ### Attend

        The shapes are those of the [right attention](right_attention.py#RightAttention.forward).
        """
        # There are fewer heads of keys: their number is what is left, -1.
        shape = (*x.shape[:2], -1, self.d_k)
        query = self.query(x).view(shape).transpose(1, 2)
        key = self.key(x).view(shape).transpose(1, 2)
        value = self.value(x).view(shape).transpose(1, 2)

        # Heads 0 and 1 get the first key, heads 2 and 3 the second.
        key, value = (z.repeat_interleave(2, dim=1) for z in (key, value))

        # The kernel scales, hides the future, and takes the mean.
        z = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output(z.transpose(1, 2).flatten(2))


class KeysInTurns(Mistake):
    r"""
    ## `repeat` for `repeat_interleave`

    Keys 0, 1, 0, 1 in place of 0, 0, 1, 1. Trained so, a model is as good as any, since nobody says
    which heads belong together. With the weights of another model, two of these four heads get a
    key that isn't their own; of eight heads it would be six. The [ONNX
    operator](https://github.com/onnx/onnx/pull/7274) for attention was defined so, and
    [hypercloning](https://github.com/apple/ml-hypercloning/issues/1) cloned heads so.
    """

    of = RightGrouped
    # Each key twice, side by side.
    right = "repeat_interleave(2, dim=1)"

    # All keys, and then all keys again.
    wrong = "repeat(1, 2, 1, 1)"


CACHE_EXHIBITS = (PrefillUnmasked, OffsetJumps, NoPositionForOne, KeysInTurns)


def example(
    batch_size: int = 3, heads: int = 5, d_k: int = 2, seq_len: int = 7
) -> dict[str, Tensor]:
    r"""
    ## Example

    How far reading with a cache is from the whole: a prompt of three tokens, then one by one.

    ### Measured here

    The losses are means of [3](../../../results/rooms.json#values.seeds) seeds.

    ### Find the bug

    ??? question "`mask = None if past is not None else causal`. When is it wrong?"
        When several tokens come at once and there is a past: in a chat that goes on, and in
        speculative decoding.

    ??? question "With a cache the first new token is right, and no later one. Where do you look?"
        At what the call for one token leaves for the next: the offset, and what was put into the
        cache.

    ??? question "New keys and values are put *before* those of the cache. How do you notice?"
        Read several new tokens at once: their mask then hides the wrong keys. With a single token
        you don't notice. It sees all keys, each turned by its own position already, and a weighted
        mean doesn't depend on their order.
    """
    # The parts of the text, in the order in which they are read.
    # (Turning needs heads of an even width.)
    width = 2 * heads * d_k
    x = torch.randn(batch_size, seq_len, width)
    parts = [x[:, :3], *x[:, 3:].split(1, dim=1)]
    found = {}

    # The whole is always the right one: only `read` is wrong.
    for kind in (RightCache, *(one.make() for one in CACHE_EXHIBITS[:3])):
        attention = kind(heads, width)
        # For each position, the largest difference of all sequences and features.
        far = attention.read(parts) - RightRotary.forward(attention, x)
        found[kind.__name__] = far.abs().amax(dim=(0, 2))

    # Half as many heads of keys need an even number of heads.
    return found | {"grouped": RightGrouped(2 * heads, width)(x)}

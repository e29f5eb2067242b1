r"""
---
title: A Cache in Few Bits
summary: Keys and values of the text so far, in four or two bits for each number.
know: groups.py, ../transformers/kv_cache.py
paper:
  title: "KIVI: A Tuning-Free Asymmetric 2bit Quantization for KV Cache"
  authors: Liu et al.
  year: 2024
  link: https://arxiv.org/abs/2402.02750
terms:
  quantised cache: Keeps the keys and values of a text in few bits.
---

A model that writes keeps a [key and a value](../transformers/kv_cache.py) of each token in each
layer. For long texts they can take more memory than the weights, and all of them are read for each
new token. Can they be [rounded](groups.py), too? It depends on which numbers share a scale. Here
are the keys of four tokens, with three *channels*, as features are called here:

| token | channel 1 | channel 2 | channel 3 |
| --- | ---: | ---: | ---: |
| first | 5.00 | 0.1 | −0.2 |
| second | 5.35 | −0.2 | 0.3 |
| third | 5.15 | 0.2 | 0.1 |
| fourth | 5.60 | 0.3 | −0.1 |

Two bits have four values. If the numbers of the first *token* share them, they reach from −0.2 to
5.0 in steps of 1.73, and 0.1 becomes −0.2. If the numbers of the first *channel* share them, they
reach from 5.0 to 5.6 in steps of 0.2, and no number is off by more than 0.05. The paper found such
keys in large models: a few channels are high for all tokens.

In two bits by token, our small transformer has a loss of
[1.791](../../results/quantisation.json#tables.cache.2.tokens), and with keys by channel
[1.759](../../results/quantisation.json#tables.cache.2.paper), with as many scales.

**In:** keys or values of the new tokens. **Out:** those of all tokens that were read so far,
`[n_read, batch_size, heads, d_k]`, nearly.
"""

import torch
from torch import Tensor

from labml_nn.quantisation.groups import pack, unpack
from labml_nn.transformers.kv_cache import CachedAttention, CachedProjection, CachedTransformer

# Whole numbers, lowest numbers, and steps.
Rounded = tuple[Tensor, Tensor, Tensor]


def quantise_range(x: Tensor, n_bits: int, dim: int) -> Rounded:
    r"""
    ## Quantise

    All numbers along the axis `dim` share a scale. Whole numbers in the shape of `x`; the lowest
    numbers and the steps have the length 1 along `dim`.
    """
    # From the lowest to the highest number in $2^b - 1$ steps.
    low = x.amin(dim, keepdim=True)
    high = x.amax(dim, keepdim=True)
    step = (high - low) / (2**n_bits - 1)

    # If all numbers are the same, any step but zero will do.
    step = step.where(step > 0, 1.0)

    # Both take 16 bits. The whole numbers are counted from these, so that little is lost. (In eight
    # bits it can be a step or two around zero, and more for a channel far from zero: near 5,
    # neighbouring `bfloat16` numbers are 1/32 apart.)
    low = low.bfloat16()
    step = step.bfloat16()

    # `low` may have been rounded up, and is above some numbers then. These would become negative.
    whole = ((x - low) / step).round().clamp(0, 2**n_bits - 1)
    return whole.to(torch.uint8), low, step


def restore_range(whole: Tensor, low: Tensor, step: Tensor) -> Tensor:
    r"""
    ## Restore
    """
    # In 32 bits, for attention to compute with.
    return low + whole.float() * step


class QuantisedProjection(CachedProjection):
    r"""
    ## The cache

    A [projection that remembers](../transformers/kv_cache.py#CachedProjection), in 2, 4 or 8 bits.

    A channel has to wait until there are several tokens. So the last keys stay in 32 bits, and
    whenever there are 32 of them, they are rounded together. (A key has 32 features. With fewer
    than 32 tokens in a group there would be more scales than with one for each key.)
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        d_k: int,
        bias: bool,
        n_bits: int,
        dim: int,
        group_len: int,
    ) -> None:
        r"""
        * `d_model`, `heads`, `d_k` and `bias` are those of the projection
        * `n_bits` is 2, 4 or 8
        * `dim` is 0 for channels and -1 for tokens
        * `group_len` is the number of tokens that are rounded together
        """
        # Channels need a group of tokens. Tokens don't, but get one too, so that both are alike.
        self.n_bits = n_bits
        self.dim = dim
        self.group_len = group_len

        # Now the linear layer, and an empty cache.
        super().__init__(d_model, heads, d_k, bias)

    @property
    def cache(self) -> Tensor | None:
        r"""
        ### What attention sees

        The parent class reads `cache`, appends the new keys and sets it again.
        """
        # Nothing was read yet.
        if self.recent is None:
            return None

        # The restored groups, and the last keys as they are.
        restored = [
            restore_range(unpack(packed, self.n_bits), low, step)
            for packed, low, step in self.groups
        ]

        # `[n_read, batch_size, heads, d_k]`: one tensor, as a cache without groups has it.
        return torch.cat([*restored, self.recent])

    @cache.setter
    def cache(self, x: Tensor | None) -> None:
        # Before a text begins there is nothing.
        if x is None:
            self.groups: list[Rounded] = []
            self.recent: Tensor | None = None
            return

        # A complete group is never rounded a second time. A cache that [goes
        # back](../inference/rewind.py) keeps those that are still complete. Of the group that it
        # goes back into, rounded keys are left, and they are rounded once more when it is full
        # again.
        self.groups = self.groups[: len(x) // self.group_len]
        self.recent = x[len(self.groups) * self.group_len :]

        # The first call may bring a long text, and complete several groups.
        while len(self.recent) >= self.group_len:
            whole, low, step = quantise_range(self.recent[: self.group_len], self.n_bits, self.dim)

            # In the bytes that they need. Features of a key are neighbours, and share bytes.
            self.groups.append((pack(whole, self.n_bits), low, step))
            self.recent = self.recent[self.group_len :]

        # A copy, because a slice would keep all of `x` in memory.
        self.recent = self.recent.clone()


class QuantisedAttention(CachedAttention):
    r"""
    ## Attention with a cache in few bits
    """

    def __init__(self, heads: int, d_model: int, n_bits: int, group_len: int) -> None:
        r"""
        * `heads` and `d_model` are those of multi-head attention
        * `n_bits` and `group_len` are those of the cache
        """
        # What is the same for any cache: the mask, the queries, and the projection of the output.
        # There is no dropout when a model writes.
        super().__init__(heads, d_model, dropout_prob=0.0)

        # Keys by channel, values by token. The parameters have the same names and shapes as before,
        # so trained weights fit.
        sizes = (d_model, heads, self.d_k, True, n_bits)
        self.key = QuantisedProjection(*sizes, dim=0, group_len=group_len)
        self.value = QuantisedProjection(*sizes, dim=-1, group_len=group_len)


class QuantisedTransformer(CachedTransformer):
    r"""
    ## The model

    The [model with a cache](../transformers/kv_cache.py#CachedTransformer), and the same call.
    `sizes` are its arguments.
    """

    def __init__(self, *sizes: int, n_bits: int = 4, group_len: int = 32) -> None:
        r"""
        * `sizes` are the arguments of the model
        * `n_bits` and `group_len` are those of the cache
        """
        # With a cache in 32 bits, at first.
        super().__init__(*sizes)

        # Another attention in each layer. The first three sizes are those of vocabulary, features
        # and heads.
        _, d_model, heads, *_ = sizes
        for layer in self.encoder.layers:
            layer.self_attn = QuantisedAttention(heads, d_model, n_bits, group_len)


def example(
    group_len: int = 7,
    n_read: int = 17,
    n_new: int = 5,
    batch_size: int = 3,
    heads: int = 2,
    n_pairs: int = 11,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A text that is read in two pieces. Of the first, two groups are rounded.

    ### Measured here

    The loss is [1.679](../../results/quantisation.json#values.float) with a cache in 32 bits. All
    are means of three seeds. All keys and values are rounded, the newest ones as well, in groups of
    32 tokens, so the scale of a channel also depends on tokens that come later in its group.

    [The loss with a cache in few bits (two bits are three with their
    scales)](../../results/quantisation.json#figures.cache)

    ### Why channels?

    Look at the keys of one head. Some channels are above zero for most tokens, and others below.
    They make stripes, which the values of this head hardly have:

    [Keys and values of 32 letters, in the second
    layer](../../results/quantisation.json#figures.stripes)

    In our model the mean of a channel is up to
    [0.90](../../results/quantisation.json#values.offset) standard deviations away from zero. The
    stripes make the difference, but one mean for each channel isn't enough: subtract it before you
    round, add it again afterwards, and keys that share a scale by token still lose more than by
    channel. Take two means, one for the positions from 0 to 31 and one for those from 32 to 63,
    both over all texts, and they lose hardly more. So most of a stripe comes from the *positions*
    of its 32 letters. (In the last layer the values have stripes as well. Ours lose little by
    them.)

    In large models a few channels of the keys are many times as large as all others, the paper
    found. If they share a scale with the others, the others are lost. A high channel on its own is
    easy, because its numbers are much alike: count from the lowest of them, and not from zero.

    ### What did not help here

    There is [a list](../../docs/what_did_not_help.md) of more such things.

    To treat values differently. In the paper values share a scale by *token*, so that the errors of
    one token don't depend on others. In two bits, our loss is
    [1.759](../../results/quantisation.json#tables.cache.2.paper) with keys by channel and values by
    token, and [1.752](../../results/quantisation.json#tables.cache.2.channels) with both by
    channel.

    Left out: attention that computes with the whole numbers. Here each layer restores all its keys
    and values for each new token, so memory is saved, and time is lost.

    ### Rounding a range

    With $b$ bits, a group of numbers $x$ becomes

    $$
    l = \min x \qquad s = \frac{\max x - \min x}{2^b - 1}
    $$

    $$
    q = \operatorname{round}\left(\frac{x - l}{s}\right) \qquad x \approx l + s\, q
    $$

    For the first channel above, 5.0, 5.35, 5.15, 5.6, $l = 5$, $s = 0.2$, and $q$ is 0, 2, 1, 3.
    Counted from zero, with a sign, all four would be 5.6.

    ### Exercises

    ??? question "Keys of 32 features, groups of 32 tokens, two bits. How many bits is a number?"
        3: two, and 32 more for the lowest number and the step of 32 numbers.

    ??? question "A channel has 5, 5, 5, 5. What is stored?"
        Four zeros, and 5 as the lowest number. The difference is 0, so the step is set to 1.

    ??? question "100 keys have come, one by one. How many are in 32 bits?"
        Four. Three groups of 32 are rounded.

    ??? question "Take zeros for `low` in `quantise_range`. Which numbers are lost?"
        The negative ones: `clamp` makes them 0. And a high channel wastes its steps on numbers that
        it never has.
    """
    # Ten letters, two layers, and room for the whole text. Two features of four bits share a byte.
    n_vocab = 10
    d_k = 2 * n_pairs
    n_keys = n_read + n_new
    sizes = (n_vocab, heads * d_k, heads, 2, heads * d_k, n_keys)

    # The same weights twice; only what is kept of the text differs.
    exact = CachedTransformer(*sizes)
    model = QuantisedTransformer(*sizes, group_len=group_len)
    model.load_state_dict(exact.state_dict())

    # The text, and its first part.
    tokens = torch.randint(n_vocab, (n_keys, batch_size))

    # The second call sees rounded keys. Its logits are nearly those of the exact cache.
    for one in (exact, model):
        one(tokens[:n_read])
    return exact(tokens), model(tokens)

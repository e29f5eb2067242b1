r"""
---
title: "Mistakes: Numbers and Decoding"
summary: Four wrong lines that training doesn't show, and four surprises of PyTorch's own.
---

Training is right, its loss is right, and the model is wrong all the same: in a sequence of padding,
where numbers have 16 bits, or where a model writes with a cache. A hidden key gets the score
−10,000, and a real one has −15,000: the softmax gives the hidden key all of the weight. Five keys
are in a cache, and `is_causal` shows a new query the first of them alone. The last part of this
page shows what PyTorch itself does; a test asserts each of these.

[How far decoding is from the whole, position by
position](../../../results/mistakes.json#figures.decoding)
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.mistakes.one_line import Mistake
from labml_nn.transformers.mistakes.right_attention import RightAttention


class EmptyRows(Mistake):
    r"""
    ## Rows with nothing in them

    The line that everybody writes. For a query that may look nowhere, in a sequence of padding, the
    softmax is 0/0. One such row in a batch is enough, even if the loss leaves that sequence out: in
    the backward pass its gradient of zero is multiplied by NaN, and zero times NaN is NaN. It goes
    into the shared projections, and after the next step all outputs are NaN. PyTorch's own
    attention does [the same](https://github.com/pytorch/pytorch/issues/41508); the end of this page
    shows when.

    Without padding nothing happens, so [the test](../../../wrongline/properties.py#padding_hides)
    needs an attention that takes a mask.
    """

    # A row with nothing in it is left visible, so that no softmax is 0/0.
    right = "hidden = has_key & ~allowed"

    # All scores are minus infinity: $e^{-\infty} / \sum e^{-\infty}$ is not a number.
    wrong = "hidden = ~allowed"


class StrictMask(Mistake):
    r"""
    ## A strict mask

    “Before” is taken to mean *before*, and a position doesn't see itself. The first one then sees
    nothing at all. Our attention lets it take nothing, so training goes on. It costs nothing: the
    printed loss is [2.087](../../../results/mistakes.json#tables.mistakes.StrictMask.printed), and
    the right one
    [2.117](../../../results/mistakes.json#tables.mistakes.RightAttention.printed). (Our guess is
    the residual, which hands each position its own vector anyway.) With the line above, the loss is
    NaN from the first step on. A well-known [post about
    transformers](https://github.com/pbloem/former/issues/10) had it, and its code hadn't.
    """

    # The diagonal is kept: each position sees itself.
    right = ".tril()"

    # The first row is empty now, and all others are one key short.
    wrong = ".tril(-1)"


class RightDecoding(RightAttention):
    r"""
    ## The right way to decode

    New queries look at the keys and values of all positions so far, which are in a cache.
    """

    def decode(self, x: Tensor, n_new: int = 2) -> Tensor:
        r"""
        ### A few positions at a time

        The result must be that of the whole, `[batch_size, seq_len, d_model]`.
        """
        # One entry for each part that was read.
        keys: list[Tensor] = []
        values: list[Tensor] = []
        outputs: list[Tensor] = []
        for part in x.split(n_new, dim=1):
            # Heads before positions, as in the attention.
            shape = (*part.shape[:2], self.heads, self.d_k)

            # Only the new positions go through the three layers: keys and values of the others are
            # in the cache, and their queries aren't needed any more.
            query = self.query(part).view(shape).transpose(1, 2)
            key = self.key(part).view(shape).transpose(1, 2)
            value = self.value(part).view(shape).transpose(1, 2)

            # What is new goes into the cache first, because a position also sees itself.
            keys.append(key)
            values.append(value)
            key, value = torch.cat(keys, dim=2), torch.cat(values, dim=2)

            # The new positions are the *last* ones: a piece of the lower right corner.
            seen = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool)
            mask = seen.tril(key.shape[2] - query.shape[2])

            # The kernel scales the scores itself.
            z = F.scaled_dot_product_attention(query, key, value, mask)
            outputs.append(self.output(z.transpose(1, 2).flatten(2)))

        # All parts side by side, in their order.
        return torch.cat(outputs, dim=1)


class CausalFromTheTop(Mistake):
    r"""
    ## `is_causal` with a cache

    PyTorch lays this mask into the *upper left* corner. One new query, with five keys in the cache,
    sees the first of them only. Before there is a cache the mask is square, and both corners are
    the same. So training is right, and so is the first call of decoding. [Many fall for
    it](https://github.com/pytorch/pytorch/issues/144858), and so did the reference of
    [ExecuTorch](https://github.com/pytorch/executorch/pull/21749).
    """

    of = RightDecoding
    # With a mask that says which keys each new query may see.
    right = "F.scaled_dot_product_attention(query, key, value, mask)"

    # Right for as many queries as keys, wrong for fewer.
    wrong = "F.scaled_dot_product_attention(query, key, value, is_causal=True)"


class NewestForgotten(Mistake):
    r"""
    ## A cache that is one short

    The newest keys are in the cache for the next positions, but not for their own. A cache that was
    off by one made x-transformers [write
    gibberish](https://github.com/lucidrains/x-transformers/issues/219) on Tiny Shakespeare, and
    only with the cache on.
    """

    of = RightDecoding
    # The newest keys and values are in it, too.
    right = "key, value = torch.cat(keys, dim=2), torch.cat(values, dim=2)"

    # Without the last entry, except in the first call, which has no other.
    wrong = "key, value = (torch.cat(z[:-1] or z, dim=2) for z in (keys, values))"


DECODING_EXHIBITS = (EmptyRows, StrictMask, CausalFromTheTop, NewestForgotten)


def beaten_mask(real: float = -15_000.0, masked: float = -10_000.0) -> Tensor:
    r"""
    ## A finite mask can be beaten

    Weights of two keys: one with a `real` score, and one that is hidden by a `masked` score. It is
    the hidden one that gets all of the weight. A GPT-2 in training [found that
    out](https://github.com/karpathy/minGPT/issues/75): its loss went to nearly zero. It had learned
    to push real scores below the constant, and so to look at the token that it should predict.
    """
    # A softmax sees differences: 5,000 in favour of the hidden key.
    return torch.tensor([real, masked]).softmax(dim=0)


def minus_a_billion(dtype: torch.dtype) -> Tensor:
    r"""
    ## A billion is too much for half precision

    The greatest `float16` is 65,504. Converted, `-1e9` is minus infinity, so that a row of nothing
    else is NaN after all; and `masked_fill` with it is an error.
    """
    # Beyond the range of a type, rounding gives infinity.
    return torch.tensor(-1e9).to(dtype)


def seen_by_one_query(n_keys: int) -> Tensor:
    r"""
    ## The upper left corner, seen

    The weights of a single query under `is_causal`, `[n_keys]`: values that are the rows of an
    identity hand them out.
    """
    # All keys are equal, so each that is seen gets the same weight.
    query = torch.ones(1, n_keys)
    key = torch.ones(n_keys, n_keys)
    return F.scaled_dot_product_attention(query, key, torch.eye(n_keys), is_causal=True)[0]


def padding_in_torch(x: Tensor, need_weights: bool) -> Tensor:
    r"""
    ## Whether it is NaN depends on what else you ask for

    PyTorch's attention on `x`, `[batch_size, seq_len, d_model]`, with all of it padding. With
    `need_weights`, which is true unless one says otherwise, the result is NaN, without it it isn't.
    """
    attention = nn.MultiheadAttention(x.shape[-1], 1, batch_first=True)

    # True means hidden here: nothing is left to look at.
    padding = torch.ones(x.shape[:2], dtype=torch.bool)
    return attention(x, x, x, padding, need_weights=need_weights)[0]


def example(
    batch_size: int = 3, heads: int = 5, d_k: int = 2, seq_len: int = 7, n_keys: int = 11
) -> dict[str, Tensor]:
    r"""
    ## Example

    How far decoding is from the whole, then PyTorch's surprises.

    ### Find the bug

    ??? question "-10,000 is written in place of each hidden score. When is it wrong?"
        When real scores fall below -10,000: then the hidden keys win.

    ??? question "And if -10,000 is *added* to each hidden score?"
        Then it falls with the others: if all scores are -15,000, the hidden one becomes -25,000,
        and loses. It wins if its own score was more than 10,000 above those of the visible keys.

    ??? question "A model goes on well from its first prompt, but not from a second one. Why?"
        Before there is a cache, and for one new token, the mask may be right by luck. Many new
        tokens with a cache need the lower right corner.

    ??? question "The loss is NaN after the first batch with padding. Which line do you look at?"
        At the softmax of a query that may look at nothing.
    """
    # Seven positions, decoded two at a time: the last part has one.
    d_model = heads * d_k
    x = torch.randn(batch_size, seq_len, d_model)
    found = {}

    # The whole is always the right one: only `decode` is wrong.
    for kind in (RightDecoding, CausalFromTheTop.make(), NewestForgotten.make()):
        attention = kind(heads, d_model)
        found[kind.__name__] = (attention.decode(x) - RightAttention.forward(attention, x)).abs()

    # What PyTorch makes of masks at the edge.
    found["finite mask"] = beaten_mask()
    found["half"] = minus_a_billion(torch.float16)
    found["seen"] = seen_by_one_query(n_keys)
    found["with weights"] = padding_in_torch(x, need_weights=True)
    found["without"] = padding_in_torch(x, need_weights=False)
    return found

r"""
---
title: "Mistakes: Numbers and Decoding"
summary: What is not a number, what only looks like minus infinity, and a corner of the mask.
---

Some mistakes wait. They train well and evaluate well, and come out where a sequence is all padding,
where the numbers have 16 bits, or where a model writes with a cache. The last ones of this
page are no classes: they show what PyTorch itself does, and each is asserted by a test.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.mistakes.right_attention import RightAttention


class EmptyRows(RightAttention):
    r"""
    ## Rows with nothing in them

    The line that everybody writes. For a query that may look nowhere, in a sequence of padding,
    the softmax is 0/0. One such row in a batch is enough: its gradient goes into the shared
    projections, and the next step makes everything NaN. PyTorch's own attention has [had
    this](https://github.com/pytorch/pytorch/issues/41508) since 2020.

    Without padding nothing happens, so [the test](single_tests.py#padding) needs an attention
    that takes a mask.
    """

    def weigh(self, scores: Tensor, allowed: Tensor) -> Tensor:
        # **Right:** hide only where the row `has_key`, and multiply by it
        return scores.masked_fill(~allowed, -math.inf).softmax(dim=-1)


class StrictMask(EmptyRows):
    r"""
    ## A strict mask

    “Before” is taken to mean *before*, and a position doesn't see itself. The first one then sees
    nothing at all, and with the line above, the loss is NaN from the first step on.

    Printed loss:
    [NaN](../../../results/mistakes.json#tables.mistakes.StrictMask.printed); honest loss:
    [NaN](../../../results/mistakes.json#tables.mistakes.StrictMask.honest).
    """

    def allowed(self, seq_len: int) -> Tensor:
        # **Right:** `.tril()`
        return super().allowed(seq_len).tril(-1)


class RightDecoding(RightAttention):
    r"""
    ## The right way to decode

    Position by position: new queries against the keys and values of all positions so far.
    """

    def remember(self, old: Tensor | None, new: Tensor) -> Tensor:
        r"""
        ### The cache

        In the end it holds all positions, `[batch_size, heads, seq_len, d_k]`.
        """
        return new if old is None else torch.cat([old, new], dim=2)

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        r"""
        ### Attend to what is in the cache

        The new positions are the *last* ones, so the mask is a piece of the lower right corner.
        """
        n_new, n_keys = query.shape[2], key.shape[2]
        allowed = torch.ones(n_new, n_keys, dtype=torch.bool).tril(n_keys - n_new)
        return F.scaled_dot_product_attention(query, key, value, allowed)

    def decode(self, x: Tensor, n_new: int = 2) -> Tensor:
        r"""
        ### A few positions at a time

        The result must be that of the whole, `[batch_size, seq_len, d_model]`.
        """
        keys = values = None
        parts = []
        for part in x.split(n_new, dim=1):
            query, key, value = map(self.split, self.project(part))
            keys, values = self.remember(keys, key), self.remember(values, value)
            parts.append(self.output(self.merge(self.attend(query, keys, values))))
        return torch.cat(parts, dim=1)


class CausalFromTheTop(RightDecoding):
    r"""
    ## `is_causal` with a cache

    PyTorch lays this mask into the *upper left* corner. One new query, with five keys in the cache,
    sees the first of them only. Before there is a cache the mask is square, and both corners are
    the same: so training is right, and so is the first call of decoding.
    """

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        # **Right:** a mask with `.tril(n_keys - n_new)`, or PyTorch's “causal_lower_right”
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)


class NewestForgotten(RightDecoding):
    r"""
    ## A cache that is one short

    What is new is attended to by the next positions, but not by itself: the order of two lines. A
    cache that was off by one made x-transformers [write
    gibberish](https://github.com/lucidrains/x-transformers/issues/219) on Tiny Shakespeare,
    and only with the cache on.
    """

    def remember(self, old: Tensor | None, new: Tensor) -> Tensor:
        # **Right:** `torch.cat([old, new], dim=2)`
        return new if old is None else torch.cat([old, new], dim=2)[:, :, :-1]


def beaten_mask(real: float = -15_000.0, masked: float = -10_000.0) -> Tensor:
    r"""
    ## A finite mask can be beaten

    Weights of two keys: one with a `real` score, and one that is hidden by a `masked` score. It is
    the hidden one that gets all of the weight. A GPT-2 in training [found that
    out](https://github.com/karpathy/minGPT/issues/75): its loss went to zero, because it had
    learned to push all real scores below the constant.
    """
    return torch.tensor([real, masked]).softmax(dim=0)


def minus_a_billion(dtype: torch.dtype) -> Tensor:
    r"""
    ## A billion is too much for half precision

    The greatest `float16` is 65,504. Converted, `-1e9` is minus infinity, so that a row of nothing
    else is NaN after all; and `masked_fill` with it is an error.
    """
    return torch.tensor(-1e9).to(dtype)


def seen_by_one_query(n_keys: int) -> Tensor:
    r"""
    ## The upper left corner, seen

    The weights of a single query under `is_causal`, `[n_keys]`: values that are the rows of an
    identity hand them out.
    """
    query, key = torch.ones(1, n_keys), torch.ones(n_keys, n_keys)
    return F.scaled_dot_product_attention(query, key, torch.eye(n_keys), is_causal=True)[0]


def padding_in_torch(x: Tensor, need_weights: bool) -> Tensor:
    r"""
    ## Whether it is NaN depends on what else you ask for

    PyTorch's attention on `x`, `[batch_size, seq_len, d_model]`, with all of it padding. With
    `need_weights`, which is true unless one says otherwise, the result is NaN, without it it isn't.
    """
    attention = nn.MultiheadAttention(x.shape[-1], 1, batch_first=True)
    padding = torch.ones(x.shape[:2], dtype=torch.bool)
    return attention(x, x, x, padding, need_weights=need_weights)[0]


def example(
    batch_size: int = 3, heads: int = 5, d_k: int = 2, seq_len: int = 7, n_keys: int = 11
) -> dict[str, Tensor]:
    r"""
    ## Example

    How far decoding is from the whole, and the traps.
    """
    d_model = heads * d_k
    x = torch.randn(batch_size, seq_len, d_model)
    made = [kind(d_model, heads) for kind in (RightDecoding, CausalFromTheTop, NewestForgotten)]
    found = {type(one).__name__: (one.decode(x) - one(x)).abs().max() for one in made}
    found["finite mask"] = beaten_mask()
    found["half"] = minus_a_billion(torch.float16)
    found["seen"] = seen_by_one_query(n_keys)
    found["strict"] = StrictMask(d_model, heads)(x)
    found["with weights"] = padding_in_torch(x, need_weights=True)
    found["without"] = padding_in_torch(x, need_weights=False)
    return found

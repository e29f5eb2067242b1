r"""
---
title: Key and Value Cache
summary: Memory for the keys and values of a text, so that each new token is computed once.
paper:
  title: "Fast Transformer Decoding: One Write-Head is All You Need"
  authors: Noam Shazeer
  year: 2019
  link: https://arxiv.org/abs/1911.02150
---

A model that writes is asked for one token after another, and under a
[causal mask](mha.py#causal_mask) nothing that comes later changes what was computed for an
earlier position. All that later positions want of it are its key and its value in each layer. Kept
in memory, they make a new token cost one position instead of the whole text (section 2.3 of the
paper, “incremental” attention).

Keys and values stand here with the batch first, `[batch_size, key_heads, n_keys, d_k]`, as
PyTorch's attention takes them. The memory is all there from the start. Growing it with
each token would copy the whole of it each time.

Texts of different lengths fit into one batch if they *end* together: the shorter ones have
[padding before them](kv_cache.py#texts_mask). The page leaves out the splitting of the memory into
pages. [A decoder](basic/decoder.py) puts it to use.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.transformers.fast_attention import KERNEL_HAS_GROUPS


class KeyValueCache:
    r"""
    ## Memory for keys and values

    The keys and values of all layers. `filled` positions of `max_len` are in use, the same in each
    layer and each sequence.
    """

    def __init__(
        self,
        n_layers: int,
        batch_size: int,
        key_heads: int,
        max_len: int,
        d_k: int,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        r"""
        * `n_layers` is the number of layers that attend
        * `batch_size` is the number of sequences
        * `key_heads` is the number of heads that have keys and values
        * `max_len` is the number of positions that there is memory for
        * `d_k` is the number of features of a key, and of a value
        * `dtype` and `device` are those of the model
        """
        sizes = (n_layers, batch_size, key_heads, max_len, d_k)
        if min(sizes) < 1:
            raise ValueError(
                "n_layers, batch_size, key_heads, max_len and d_k must be at least 1, "
                f"got {', '.join(map(str, sizes))}"
            )
        self.batch_size, self.max_len = batch_size, max_len
        self.filled = 0

        # What else a model needs of the last token, `None` while there is none.
        self.last: Tensor | None = None

        # Keys and values side by side, so that one copy stores both.
        # `[n_layers, 2, batch_size, key_heads, max_len, d_k]`
        self.memory = torch.empty(
            n_layers, 2, batch_size, key_heads, max_len, d_k, dtype=dtype, device=device
        )

    def extend(self, n_new: int) -> list[tuple[Tensor, Tensor, Tensor]]:
        r"""
        ### Make room

        For each layer the place where the new positions go, `[2, batch_size, key_heads, n_new,
        d_k]`, and the keys and values of all positions up to them, `[batch_size, key_heads,
        n_keys, d_k]` each. All are views: what is written to the first can be read from the others.

        They are made for all layers at once, because at this size a view costs as much as the
        arithmetic. Too many positions are a `ValueError`.
        """
        n_keys = self.filled + n_new
        if n_new < 1 or n_keys > self.max_len:
            raise ValueError(
                f"the cache has room for {self.max_len} positions, of which {self.filled} are "
                f"filled: {n_new} more can't be added"
            )
        places = self.memory.narrow(4, self.filled, n_new).unbind()
        everything = self.memory.flatten(end_dim=1).narrow(3, 0, n_keys).unbind()
        self.filled = n_keys
        return list(zip(places, everything[0::2], everything[1::2], strict=True))

    def clear(self) -> None:
        r"""
        ### Forget everything

        What is in the memory stays there, and is never read.
        """
        self.filled, self.last = 0, None


class CachedModel:
    r"""
    ## A model and its cache

    For a model that takes a cache beside the new tokens, and has its own way of using it.
    """

    def __init__(self, model: Callable[..., Tensor], cache: KeyValueCache) -> None:
        r"""
        * `model` is called with tokens and `cache`
        * `cache` is empty, and fits the model
        """
        self.model, self.cache = model, cache

    def __call__(self, tokens: Tensor) -> Tensor:
        r"""
        ### Read new tokens

        Those after the ones that it has read already. Another number of texts than the cache was
        made for is a `ValueError`.
        """
        check_batch(tokens, self.cache)
        return self.model(tokens, cache=self.cache)


def check_batch(tokens: Tensor, cache: KeyValueCache) -> None:
    r"""
    ## Check the number of texts

    One text would be copied into the places of all the others, and nothing would fail.
    """
    if tokens.shape[1] != cache.batch_size:
        raise ValueError(
            f"got tokens of {tokens.shape[1]} texts, the cache is for {cache.batch_size}"
        )


def last_rows_mask(n_new: int, n_keys: int, device: torch.device | str | None = None) -> Tensor:
    r"""
    ## The mask of new positions

    The new positions are the *last* ones of the text. So theirs are the last rows of the causal
    mask, `[n_new, n_keys]`, and its diagonal ends in the corner at the bottom right:

        1 1 1 0
        1 1 1 1

    The “is_causal” of PyTorch's attention begins it at the top left. The first of two new
    positions would see nothing but the first key, and nobody would be told.
    """
    ones = torch.ones(n_new, n_keys, dtype=torch.bool, device=device)
    return ones.tril(n_keys - n_new)


def texts_mask(n_new: int, n_keys: int, starts: Tensor) -> Tensor:
    r"""
    ## Texts of different lengths

    New tokens go to the same place in all texts, so padding stands at the left. `starts` are the
    positions of the first tokens, `[batch_size]`, and the mask is `[batch_size, n_new, n_keys]`:
    [the last rows](kv_cache.py#last_rows_mask), without the padding. Padding sees itself, so that
    no query sees nothing.

    A model that counts positions has to count them from the start of each text.
    """
    positions = torch.arange(n_keys, device=starts.device)
    queries = positions[n_keys - n_new :, None]
    in_text = (positions >= starts[:, None, None]) | (positions == queries)
    return in_text & (positions <= queries)


def attend(query: Tensor, keys: Tensor, values: Tensor, starts: Tensor | None = None) -> Tensor:
    r"""
    ## Attend to the memory

    `query` and the result are `[batch_size, heads, n_new, d_k]`, the new positions only. `keys`
    and `values` are `[batch_size, key_heads, n_keys, d_k]`, those of all positions so far, the new
    ones included. Queries are divided by $\sqrt{d_k}$ here. With padding at the left, the texts
    begin at the positions `starts`.

    There may be fewer heads of keys than of queries
    ([Ainslie et al. 2023](https://arxiv.org/abs/2305.13245)): then each is for a *group* of
    neighbouring queries, and the memory is smaller by that factor.
    """
    # A single new position may see all, so it needs no mask.
    n_new, n_keys = query.shape[2], keys.shape[2]
    mask = last_rows_mask(n_new, n_keys, query.device) if n_new > 1 else None
    if starts is not None:
        mask = texts_mask(n_new, n_keys, starts).unsqueeze(1)

    groups = {}
    if query.shape[1] != keys.shape[1]:
        if KERNEL_HAS_GROUPS:
            groups = {"enable_gqa": True}
        else:
            n_queries = query.shape[1] // keys.shape[1]
            keys, values = (t.repeat_interleave(n_queries, dim=1) for t in (keys, values))
    return F.scaled_dot_product_attention(query, keys, values, mask, **groups)


def example(
    n_layers: int = 2,
    batch_size: int = 3,
    key_heads: int = 5,
    d_k: int = 7,
    n_new: int = 11,
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Some positions at once, then a single one. Two queries share a key.
    """
    heads = 2 * key_heads
    n_keys = n_new + 1
    max_len = n_keys + 1
    cache = KeyValueCache(n_layers, batch_size, key_heads, max_len, d_k)

    query = torch.randn(batch_size, heads, n_new, d_k)
    for place, keys, values in cache.extend(n_new):
        place.copy_(torch.randn(place.shape))
        several = attend(query, keys, values)

    for place, keys, values in cache.extend(1):
        place.copy_(torch.randn(place.shape))
        single = attend(query[:, :, :1], keys, values)
    starts = torch.arange(batch_size)
    padded = attend(query[:, :, :1], keys, values, starts)
    return several, single, padded, last_rows_mask(n_new, n_keys), texts_mask(n_new, n_keys, starts)

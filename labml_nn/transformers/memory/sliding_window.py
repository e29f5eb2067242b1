r"""
---
title: Sliding Window and Attention Sinks
summary: Each position sees so many others and no more, and a text without end fits into memory.
paper:
  title: Efficient Streaming Language Models with Attention Sinks
  authors: Xiao et al.
  year: 2023
  link: https://arxiv.org/abs/2309.17453
---

Here a position sees itself and the `window - 1` positions before it, and nothing further back.
The [cache](../kv_cache.py) of a model that writes needs no more than the window then, however
long the text becomes. What is older isn't lost: the position before me has seen what I can't, so
information moves on by a window in each layer
([Mistral](https://arxiv.org/abs/2310.06825) has a window of 4,096).

A model that was trained *without* a window doesn't survive one, and the paper found out why. The
weights of a softmax sum to one, so a head that looks for nothing in particular has to put its
weight somewhere. Heads learn to put it on the first tokens, which all others can see: *attention
sinks*. When those leave the window, the weight falls on tokens that mean something. The remedy:
the first few tokens stay visible forever. Another is [a sink that is no token](learned_sink.py).

It departs from the paper where positions are turned into queries and keys. The paper counts them
anew in the cache, so that no distance is longer than those seen in training. Attention has no
positions of its own here, so there is nothing to count. A mask costs as much time as it would
without a window; [another page](flex.py) skips what is outside of it.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.memory.grouped_query import GroupedQueryAttention


def window_mask(queries: Tensor, keys: Tensor, window: int, n_sinks: int) -> Tensor:
    r"""
    ## The mask

    Of positions, `[seq_len_q]` and `[seq_len_k]`, to what may be seen, `[seq_len_q, seq_len_k]`.
    A key must not be later, and either near or one of the first.
    """
    # Positions are compared and not subtracted: a distance would take eight times the memory of
    # what is true or false.
    last = queries[:, None]
    return (keys <= last) & ((keys > last - window) | (keys < n_sinks))


class SlidingWindowAttention(GroupedQueryAttention):
    r"""
    ## Attention with a window

    It hides the future by itself. A mask that it is given can only hide more.
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        bias: bool = True,
        key_heads: int = 1,
        *,
        window: int,
        n_sinks: int = 0,
    ) -> None:
        r"""
        * `heads`, `d_model`, `dropout_prob`, `bias` and `key_heads` are as for
          [grouped heads](grouped_query.py#GroupedQueryAttention)
        * `window` is the number of positions that a query sees, itself included
        * `n_sinks` is the number of positions at the beginning that all later ones see
        """
        super().__init__(heads, d_model, dropout_prob, bias, key_heads)
        if window < 1 or n_sinks < 0:
            raise ValueError(
                "window must be at least 1 and n_sinks at least 0, "
                f"got window={window} and n_sinks={n_sinks}"
            )
        self.window, self.n_sinks = window, n_sinks

    def prepare_mask(self, mask: Tensor, query_shape: torch.Size, key_shape: torch.Size) -> Tensor:
        r"""
        ### Add the window to the mask

        If there are fewer queries than keys, they are the last positions. The result is
        `[seq_len_q, seq_len_k, batch_size, 1]`.
        """
        mask = super().prepare_mask(mask, query_shape, key_shape)
        keys = torch.arange(key_shape[0], device=mask.device)
        queries = torch.arange(query_shape[0], device=mask.device) + key_shape[0] - query_shape[0]
        return mask & window_mask(queries, keys, self.window, self.n_sinks)[..., None, None]

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        ### Attend

        As [elsewhere](../mha.py#MultiHeadAttention.forward), to
        `[seq_len_q, batch_size, d_model]`.
        """
        if mask is None:
            mask = torch.ones(1, len(key), 1, dtype=torch.bool, device=key.device)
        return super().forward(query=query, key=key, value=value, mask=mask)

    @torch.no_grad()
    def decode(self, x: Tensor, room: "RollingCache") -> Tensor:
        r"""
        ### Attend with a cache of fixed size

        `x` are new positions, and so is the result: `[n_new, batch_size, d_model]`. In double
        precision it is that of the whole text at once, but for rounding.
        """
        query, key, value = self.project(x, x, x)
        stored = torch.stack([key, value]).permute(0, 2, 3, 1, 4)
        keys, values, allowed = room.extend(stored)
        key, value = keys.permute(2, 0, 1, 3), values.permute(2, 0, 1, 3)
        mask = None if allowed is None else allowed[..., None, None]
        return self.output(self.weighted_mean(query, key, value, mask).flatten(start_dim=2))


class RollingCache:
    r"""
    ## A cache that rolls

    For one layer. The first slots are for the sinks. The others are a ring: each new position
    takes the slot of the one that just left the window.
    """

    def __init__(
        self,
        batch_size: int,
        key_heads: int,
        window: int,
        n_sinks: int,
        d_k: int,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        r"""
        * `batch_size` is the number of sequences
        * `key_heads` is the number of heads that have keys and values
        * `window` and `n_sinks` are those of the attention
        * `d_k` is the number of features of a key, and of a value
        * `dtype` and `device` are those of the model
        """
        self.window, self.n_sinks = window, n_sinks
        self.filled = 0
        n_slots = n_sinks + window
        self.memory = torch.empty(
            2, batch_size, key_heads, n_slots, d_k, dtype=dtype, device=device
        )

    def held(self) -> Tensor:
        r"""
        ### Which position is in each slot?

        For the slots that are in use. In the ring it is the last position that leaves the same
        remainder as the slot when divided by the window.
        """
        n_used = min(self.filled, self.memory.shape[3])
        slots = torch.arange(n_used, device=self.memory.device)
        age = (self.filled - 1 - slots) % self.window
        return torch.where(slots < self.n_sinks, slots, self.filled - 1 - age)

    def store(self, new: Tensor) -> None:
        r"""
        ### Write new positions

        Of many, only the sinks and the last window are written, so that no slot is written twice.
        """
        start, end = self.filled, self.filled + new.shape[3]
        in_ring = min(end, max(start, self.n_sinks, end - self.window))
        sinks = torch.arange(start, max(start, min(self.n_sinks, end)), device=new.device)
        ring = torch.arange(in_ring, end, device=new.device)
        slots = torch.cat([sinks, self.n_sinks + (ring - self.n_sinks) % self.window])
        chosen = torch.cat([sinks, ring]) - start
        self.memory.index_copy_(3, slots, new.index_select(3, chosen))
        self.filled = end

    def extend(self, new: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        r"""
        ### Take new positions

        From keys and values, `[2, batch_size, key_heads, n_new, d_k]`, to all that the new
        positions may need, and which may see which. The order of the slots doesn't matter:
        attention doesn't know any.
        """
        # A single one sees all that is held once it is there itself: no mask, and no copy.
        if new.shape[3] == 1:
            self.store(new)
            keys, values = self.memory[:, :, :, : min(self.filled, self.memory.shape[3])]
            return keys, values, None

        # The first of several needs keys that the last of them overwrites. So they are taken
        # along before.
        before = self.held()
        keys, values = torch.cat([self.memory[:, :, :, : len(before)], new], dim=3)
        after = torch.arange(self.filled, self.filled + new.shape[3], device=new.device)
        allowed = window_mask(after, torch.cat([before, after]), self.window, self.n_sinks)
        self.store(new)
        return keys, values, allowed


def reach(n_layers: int, window: int) -> int:
    r"""
    ## How far back a stack of layers sees

    Each layer reaches as far beyond the one below it as its window does. Itself a position sees
    anyway, so that one doesn't count.
    """
    return n_layers * (window - 1)


def in_transformer(
    *, d_model: int, heads: int, seq_len: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    A quarter of the context is the window, and the first token stays.
    """
    window = max(1, seq_len // 4)
    return {
        "self_attn": lambda: SlidingWindowAttention(
            heads, d_model, dropout_prob, key_heads=heads, window=window, n_sinks=1
        )
    }


def example(
    n_before: int = 7,
    n_new: int = 2,
    batch_size: int = 3,
    key_heads: int = 5,
    d_k: int = 11,
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A text at once; and in three pieces, with a cache that is too small for it.
    """
    heads, window, n_sinks = 2 * key_heads, 3, 1
    d_model = heads * d_k
    attention = SlidingWindowAttention(
        heads, d_model, 0.0, key_heads=key_heads, window=window, n_sinks=n_sinks
    )
    seq_len_q = seq_len_k = n_before + n_new + 1
    x = torch.randn(seq_len_q, batch_size, d_model)
    mask = torch.ones(1, seq_len_k, batch_size, dtype=torch.bool)
    whole = attention(query=x, key=x, value=x, mask=mask)

    cache = RollingCache(batch_size, key_heads, window, n_sinks, d_k)
    pieces = x.split([n_before, n_new, 1])
    return whole, torch.cat([attention.decode(piece, cache) for piece in pieces])

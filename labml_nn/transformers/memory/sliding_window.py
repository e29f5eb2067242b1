r"""
---
title: Sliding Window and Attention Sinks
summary: Each position sees the last few and the very first, so a text without end fits into memory.
paper:
  title: Efficient Streaming Language Models with Attention Sinks
  authors: Xiao et al.
  year: 2023
  link: https://arxiv.org/abs/2309.17453
terms:
  attention sink: A token, mostly the first, that heads give weight to when they found nothing else.
  sliding window: Each query sees only a fixed number of the latest keys.
---

The [cache](../kv_cache.py) of a model that writes grows with its text, and so does the time for
each token. With a *sliding window* neither does: a position sees itself and the `window - 1`
positions before it, and nothing further back. Older keys and values can go.

Older tokens still reach us, through the layers. With a window of 16, position 100 in layer 2
attends to position 85, and in layer 1 position 85 had attended to 70. Each layer adds 15 positions,
so 4 layers reach 60 positions back.

A large model that was trained *without* a window breaks down under one, and the paper found out
why. A head that finds nothing has to put its weight somewhere, because the weights of a softmax sum
to one. Heads learn to put it on the first tokens, which all later positions can see: *attention
sinks*. As soon as the window leaves the first tokens behind, this weight falls on tokens that mean
something. So let the first few tokens stay visible.

[Who sees whom with a window of 3 and one sink, and which positions the four slots of a cache then
hold](../../../results/memory_drawings.json#figures.rolling)

**In** and **out** are those of [multi-head attention](../mha.py). In [our small
model](sliding_window.py#example) no sinks form: it loses little with a window, and gains nothing
from a sink. The page leaves out that the paper counts positions anew inside the cache: the
attention here knows no positions.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, PrepareForMultiHeadAttention


def window_mask(seq_len: int, window: int, n_sinks: int = 0) -> Tensor:
    r"""
    ## Window mask

    True where position $i$ may look at position $j$: `[seq_len, seq_len, 1]`, the same for the
    whole batch.
    """
    # Queries down, keys across.
    i = torch.arange(seq_len)[:, None]
    j = torch.arange(seq_len)

    # The causal mask: no position sees a later one.
    visible = j <= i

    # And of the past only what is near, or one of the first.
    visible = visible & ((i - j < window) | (j < n_sinks))

    # The axis of the batch comes last.
    return visible.unsqueeze(-1)


class SlidingWindowAttention(MultiHeadAttention):
    r"""
    ## Attention with a window

    Self-attention that hides the future by itself. A mask that you give can only hide more. This
    saves nothing in training, where all scores are computed. [FlexAttention](flex.py) skips most.
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        bias: bool = True,
        *,
        window: int,
        n_sinks: int = 0,
    ) -> None:
        r"""
        * `window` is the number of positions that a query sees, itself included
        * `n_sinks` is the number of first positions that all later ones see

        The other arguments are those of multi-head attention.
        """
        super().__init__(heads, d_model, dropout_prob, bias)

        # A window of none would hide even the position itself.
        if window < 1 or n_sinks < 0:
            raise ValueError(f"need window >= 1 and n_sinks >= 0, got {window=}, {n_sinks=}")

        # Both are numbers of positions.
        self.window = window
        self.n_sinks = n_sinks

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        The shapes are those of [multi-head attention](../mha.py#MultiHeadAttention.forward).
        """
        # Queries and keys are the same positions, so the mask is square.
        visible = window_mask(len(query), self.window, self.n_sinks).to(query.device)

        # What both masks allow. A causal mask is in the window already; one for padding isn't. It
        # has three axes: with as many sequences as positions, a mask of two would pass in silence.
        if mask is not None:
            visible = visible & mask
        return super().forward(query=query, key=key, value=value, mask=visible)


class RollingProjection(PrepareForMultiHeadAttention):
    r"""
    ## Rolling cache

    A projection that remembers, as in [the cache that grows](../kv_cache.py#CachedProjection), but
    with a fixed number of slots. The first slots are for the sinks. The others are a ring: each new
    position takes the slot of the one that just left the window: the right half of the picture.
    """

    def __init__(self, *shape: int, window: int, n_sinks: int = 0) -> None:
        r"""
        * `shape` are the arguments of the projection
        * `window` and `n_sinks` are those of the attention
        """
        super().__init__(*shape)
        self.window = window
        self.n_sinks = n_sinks

        # How many positions have been read: none.
        self.position = 0

        # The number of sequences isn't known yet, so the slots are made at the first call.
        self.slots: Tensor | None = None

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        r"""
        From one new position, `[1, batch_size, d_model]`, to the keys of all slots.
        """
        # The key of a single new position: `[1, batch_size, heads, d_k]`.
        x = super().forward(x)

        # The only memory, however long the text gets: one slot for each sink, and one for each
        # position of the window.
        if self.slots is None:
            self.slots = x.new_zeros(self.n_sinks + self.window, *x.shape[1:])

        # A sink keeps its slot forever: position 0 is in slot 0.
        slot = self.position

        # Other positions go around the ring behind the sinks. With a window of 3, position $p$
        # takes the slot of position $p - 3$.
        if slot >= self.n_sinks:
            slot = self.n_sinks + (slot - self.n_sinks) % self.window

        # One new position at a time. Of several, the last could overwrite what the first still has
        # to see, so more than one is an error here.
        self.slots[slot] = x.squeeze(0)
        self.position += 1

        # At the beginning of a text the last slots are empty. The order of the slots isn't that of
        # the text, which doesn't matter: attention knows no order.
        return self.slots[: self.position]


class RollingAttention(MultiHeadAttention):
    r"""
    ## Attention with a rolling cache

    For a model that writes: called with one position after the other, it gives what [attention with
    a window](sliding_window.py#SlidingWindowAttention) of the same weights gives for a whole text.
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.0, bias: bool = True, **sizes: int
    ) -> None:
        r"""
        * `sizes` are `window` and `n_sinks`

        The other arguments are those of multi-head attention.
        """
        super().__init__(heads, d_model, dropout_prob, bias)

        # Queries need no memory: each is used once.
        self.key = RollingProjection(d_model, heads, self.d_k, bias, **sizes)
        self.value = RollingProjection(d_model, heads, self.d_k, bias, **sizes)


def in_transformer(
    *, d_model: int, heads: int, seq_len: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    The first token stays.
    """
    # A quarter of the context, and at least the position itself.
    sizes = {"window": max(1, seq_len // 4), "n_sinks": 1}
    return {"self_attn": lambda: SlidingWindowAttention(heads, d_model, dropout_prob, **sizes)}


@torch.no_grad()
def example(
    seq_len: int = 13, batch_size: int = 3, heads: int = 5, d_k: int = 11, window: int = 2
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A text at once, and token by token with a cache that is too small for it.

    ### In our small model

    Our small model doesn't break. Trained for 500 steps without a window (two layers, 64
    characters, mean of three seeds), it has a loss of
    [2.213](../../../results/families.json#tables.losses.multi-head%20attention.loss); with a window
    of 16 put on afterwards it is [2.234](../../../results/families.json#values.windows.none), and
    with one sink besides [2.233](../../../results/families.json#values.windows.one). No sink has
    formed: later positions give the first character a weight of
    [0.010](../../../results/families.json#tables.losses.multi-head%20attention.first), less than an
    equal share. Trained *with* the window, the loss is
    [2.199](../../../results/families.json#tables.losses.window%20of%2016,%20one%20sink.loss).

    A [learned sink](learned_sink.py) needs no first tokens. [Mistral
    7B](https://arxiv.org/abs/2310.06825) has 32 layers and a window of 4,096.

    ### Exercises

    ??? question "A window of 3, one sink: which positions are in the slots after ten tokens?"
        `0 7 8 9`. Position 7 is number 6 of the ring, and 6 leaves no remainder.

    ??? question "How far back do 3 layers with windows of 5 see?"
        4 positions in each layer, 12 in all.

    ??? question "Why doesn't the rolling attention need a mask?"
        It gets one query at a time, and the cache holds what this query may see: the future isn't
        there yet, and what has left the window is overwritten.

    ??? question "Leave the causal mask out. What test notices?"
        The comparisons with a loop and with Mistral. Change the last token, and earlier outputs
        move: distances into the future are negative, so every window holds them.
    """
    # The same parameters, with and without a cache: a model is trained in the one form and writes
    # in the other.
    d_model = heads * d_k
    attention = SlidingWindowAttention(heads, d_model, 0.0, window=window, n_sinks=1)
    rolling = RollingAttention(heads, d_model, window=window, n_sinks=1)
    rolling.load_state_dict(attention.state_dict())

    # All positions, each with its own row of the mask.
    x = torch.randn(seq_len, batch_size, d_model)
    whole = attention(query=x, key=x, value=x)

    # One position at a time. The slots are all that is kept in between.
    pieces = [rolling(query=one, key=one, value=one) for one in x.split(1)]
    return whole, torch.cat(pieces)

r"""
---
title: Attention, Batch First
summary: Heads as an axis before the positions, a module for the scaled dot product, line by line.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

This is [multi-head attention](../mha.py) as most courses write it. Here the **batch** is the first
axis: what comes in and what goes out is `[batch_size, seq_len, embed_dim]`. It is self-attention,
so there is one input, from which queries, keys and values are made.

All that is special about heads happens in two places: before the scores one axis is cut into two,
and after the mean the two become one again. Between them stands a module that has never heard of
heads. The page explains each of these lines, because they look interchangeable and are not.

It departs from the paper in that the projections have biases and the weights have dropout, as is
usual now. The weights that are returned are those before dropout. Who needs them can't have a
[fast kernel](../fast_attention.py), which never holds them all.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.ways.seam import SelfAttentionAtTheSeam


class ScaledDotProductAttention(nn.Module):
    r"""
    ## Scaled dot-product attention

    $$
    \operatorname{Attention}(Q, K, V) =
    \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V
    $$

    The formula is about matrices: a row for each position. Whatever axes are before these two, the
    module does the same for each place on them.
    """

    def __init__(self, dropout: float = 0.1) -> None:
        r"""
        * `dropout` is the probability that a weight is dropped
        """
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        r"""
        ### Attend

        `query`, `key` and `value` are `[batch_size, num_heads, seq_len, d_k]`, and so is the mean.
        The weights that come with it are `[batch_size, num_heads, seq_len, seq_len]`, and the
        boolean `mask`, true where a query may attend, can be stretched to their shape. A query that
        may attend to nothing has weights of zero.
        """
        # Rows of queries meet columns of keys. The root is that of the width of *one head*. To
        # divide the query is to divide the scores, but 16-bit numbers don't overflow.
        d_k = query.shape[-1]
        scores = torch.matmul(query / math.sqrt(d_k), key.transpose(-2, -1))

        # A hidden key must get a weight of exactly zero. In a row of nothing else the softmax would
        # be 0/0, in the gradient too, so such an *idle* row gets scores of zero for the moment.
        if mask is not None:
            idle = ~mask.any(dim=-1, keepdim=True)
            scores = scores.masked_fill(~mask, -math.inf).masked_fill(idle, 0.0)

        # Each row is for one query and runs along the keys, so that is the axis that sums to one.
        weights = scores.softmax(dim=-1)
        if mask is not None:
            weights = weights.masked_fill(idle, 0.0)
        return torch.matmul(self.dropout(weights), value), weights


class MultiHeadAttention(nn.Module):
    r"""
    ## Multi-head attention

    $$
    \operatorname{MultiHead}(x) = \operatorname{Concat}(\text{head}_1, \dots, \text{head}_h)\, W_o
    \quad \text{with} \quad
    \text{head}_i = \operatorname{Attention}(x W_q^i,\; x W_k^i,\; x W_v^i)
    $$

    The matrices $W_q^1, W_q^2, \dots$ of all heads stand side by side in one layer `W_q`, and
    likewise for keys and values.
    """

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.1) -> None:
        r"""
        * `embed_dim` is the number of features that come in and go out
        * `num_heads` is the number of heads, which must divide `embed_dim`
        * `dropout` is the probability that a weight is dropped
        """
        super().__init__()
        if num_heads < 1 or embed_dim < 1 or embed_dim % num_heads:
            raise ValueError(
                "embed_dim must be a positive multiple of num_heads, "
                f"got embed_dim={embed_dim} and num_heads={num_heads}"
            )
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.d_k = embed_dim // num_heads

        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim)
        self.W_v = nn.Linear(embed_dim, embed_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.attention = ScaledDotProductAttention(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        r"""
        ### Attend

        `x` and the output are `[batch_size, seq_len, embed_dim]`. The weights that come with it
        are `[batch_size, num_heads, seq_len, seq_len]`. `mask` is as
        [check_mask](batch_first.py#check_mask) wants it, true where a query may attend to a key.
        Other shapes are a `ValueError`.
        """
        if x.dim() != 3 or x.shape[2] != self.embed_dim:
            raise ValueError(
                f"x has shape {list(x.shape)}, expected [batch_size, seq_len, {self.embed_dim}]"
            )
        batch_size, seq_len, _ = x.shape
        if mask is not None:
            check_mask(mask, batch_size, self.num_heads, seq_len)

        # Each layer makes the vectors of all heads in one product, side by side in the last axis.
        query, key, value = self.W_q(x), self.W_k(x), self.W_v(x)

        # `view` cuts that axis: the first features are of the first head, the next of the second.
        # No number moves, only the way of counting changes. `[batch_size, seq_len, num_heads, d_k]`
        in_heads = (batch_size, seq_len, self.num_heads, self.d_k)
        query, key, value = query.view(in_heads), key.view(in_heads), value.view(in_heads)

        # `matmul` takes matrices from the last *two* axes, and those have to be positions and
        # features. So heads change places with positions: `[batch_size, num_heads, seq_len, d_k]`.
        query, key, value = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)

        # Heads are now one more axis of independent matrices, as the batch is. So one call serves
        # all of them.
        heads, weights = self.attention(query, key, value, mask)

        # Back again, so that the features of all heads of one position are neighbours. But they are
        # not in memory, where the mean lies head after head; and a `view` moves nothing.
        heads = heads.transpose(1, 2)

        # `contiguous` writes them out in the new order, the one copy that is needed. Leaving both
        # out gives the right shape, too: of positions of one head, taken for heads of one position.
        joined = heads.contiguous().view(batch_size, seq_len, self.embed_dim)
        return self.W_o(joined), weights


def check_mask(mask: Tensor, batch_size: int, num_heads: int, seq_len: int) -> None:
    r"""
    ## Check the mask

    One for all is `[seq_len, seq_len]`. With four axes, the first three of which may have length
    one, each sequence and head can have its own; to hide padding it is `[batch_size, 1, 1,
    seq_len]`. PyTorch would stretch some others too, to mean what nobody meant.
    """
    expected = [batch_size, num_heads, seq_len, seq_len]
    if mask.dim() == 4:
        fits = all(size in (1, expected[axis]) for axis, size in enumerate(mask.shape))
        fits = fits and mask.shape[3] == seq_len
    else:
        fits = list(mask.shape) == expected[2:]
    if mask.dtype != torch.bool or not fits:
        raise ValueError(
            f"mask is {mask.dtype} {list(mask.shape)}, expected torch.bool, true where a query may "
            f"attend, {expected[2:]} or {expected}, of which the first three may be 1"
        )


def products_one_by_one(query: Tensor, key: Tensor) -> Tensor:
    r"""
    ## Why one product serves all heads

    What `matmul` does with `[batch_size, num_heads, seq_len, d_k]`, said by two loops: each pair of
    matrices is multiplied for itself, in a call of its own.
    """
    batch_size, num_heads, seq_len, _ = query.shape
    products = query.new_empty(batch_size, num_heads, seq_len, seq_len)
    for b in range(batch_size):
        for head in range(num_heads):
            products[b, head] = query[b, head] @ key[b, head].T
    return products


def can_be_joined(x: Tensor) -> bool:
    r"""
    ## Why the copy

    `view` can make one axis of the last two where the next row begins right behind the one before.
    A *stride* is the number of steps in memory from one entry of an axis to the next. For
    heads that come from a product and were then transposed it doesn't fit.
    """
    return 1 in x.shape[-2:] or x.stride(-2) == x.shape[-1] * x.stride(-1)


class BatchFirstAtTheSeam(SelfAttentionAtTheSeam):
    r"""
    ## At the seam

    Masks have the batch last there, and first here, with an axis for the heads behind it. The
    weights are let go.
    """

    def attend(self, x: Tensor, mask: Tensor | None) -> Tensor:
        r"""
        ### Turn the mask
        """
        if mask is not None:
            mask = mask.permute(2, 0, 1).unsqueeze(1)
        output, _ = self.attention(x, mask)
        return output


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    It is the function that is there already. Only the random numbers that it starts with are
    others.
    """
    return {
        "self_attn": lambda: BatchFirstAtTheSeam(MultiHeadAttention(d_model, heads, dropout_prob))
    }


def example(
    batch_size: int = 3, seq_len: int = 7, num_heads: int = 5, d_k: int = 2
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Under a causal mask; then with padding, in which the first sequence is nothing else; then at the
    seam.
    """
    embed_dim = num_heads * d_k
    attention = MultiHeadAttention(embed_dim, num_heads)
    x = torch.randn(batch_size, seq_len, embed_dim)
    causal = torch.ones(seq_len, seq_len, dtype=torch.bool).tril()
    output, weights = attention(x, causal)

    in_sequence = torch.arange(seq_len) < torch.arange(batch_size)[:, None]
    padded, _ = attention(x, in_sequence[:, None, None])

    sequences = x.transpose(0, 1)
    at_seam = BatchFirstAtTheSeam(attention)
    same = at_seam(query=sequences, key=sequences, value=sequences, mask=causal[..., None])

    query, key = torch.randn(2, batch_size, num_heads, seq_len, d_k)
    return output, weights, padded, same, products_one_by_one(query, key)

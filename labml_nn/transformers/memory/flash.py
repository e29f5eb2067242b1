r"""
---
title: Flash Attention
summary: Exact attention a tile at a time, forward and backward, without ever holding all scores.
paper:
  title: "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning"
  authors: Tri Dao
  year: 2023
  link: https://arxiv.org/abs/2307.08691
---

A text of $n$ positions has $n^2$ scores. Written down, they are most of the memory that
[attention](../mha.py) needs, and on a graphics card most of its time: the card multiplies faster
than it can write the scores to its memory and read them again. So they aren't written down. The
queries are cut into blocks, and so are the keys. A *tile*, one block against another, is small
enough for the fast memory of a processor; it is computed, used and forgotten.

[PyTorch's kernel](sdpa.py) does this. Here it is spelled out, in tensors, to be read: every tile is
several calls, and a call takes longer than its arithmetic. What stays true is the memory, which
grows with $n$ and not with its square.

The layout is that of the kernel, `[batch_size, heads, seq_len_q, d_k]`. The page follows Algorithms
1 and 2 of the paper. It leaves out dropout, and how the work is shared among the parts of a card.
"""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable

from labml_nn.transformers.fast_attention import is_causal
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


def blocks(length: int, size: int) -> list[slice]:
    r"""
    ## Cut into blocks

    The last one may be shorter.
    """
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]


def tiles_of(
    rows: slice, query: Tensor, key: Tensor, allowed: Tensor | None, causal: bool, size: int
) -> Iterator[tuple[slice, Tensor]]:
    r"""
    ## The tiles of a block of queries

    From left to right, where the keys are and the scores: minus infinity where a query may not
    look.

    With `causal`, the last query stands at the last key. A tile that lies in the future as a whole
    is *skipped*, and so are all to its right. That saves nearly half of the work; a mask in
    `allowed`, a tensor like any other, saves none.
    """
    shift = key.shape[2] - query.shape[2]
    for columns in blocks(key.shape[2], size):
        if causal and columns.start >= rows.stop + shift:
            return
        scores = query[:, :, rows] @ key[:, :, columns].mT
        if allowed is not None:
            scores = scores.masked_fill(~allowed[:, :, rows, columns], -math.inf)
        if causal:
            ones = torch.ones(scores.shape[2:], dtype=torch.bool, device=scores.device)
            visible = ones.tril(rows.start + shift - columns.start)
            scores = scores.masked_fill(~visible, -math.inf)
        yield columns, scores


class Tiled(torch.autograd.Function):
    r"""
    ## Forward and backward

    PyTorch would keep what each step computed for the way back, which are all the scores after
    all. With an own way back, the scores can be computed *again* there.
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        allowed: Tensor | None,
        causal: bool,
        size: int,
    ) -> Tensor:
        r"""
        ### Online softmax

        A softmax needs the sum over *all* keys before the first weight is known, and for numbers
        that don't overflow the largest score as well. Both can be kept up to date. For each query
        there is the largest score $m$ so far, the sum $l$ of $e^{S - m}$ and the sum $o$ of the
        values with these weights. If a tile has a larger score $m'$, what there is shrinks by
        $e^{m - m'}$:

        $$
        l \leftarrow e^{m - m'} l + \sum_j e^{S_j - m'} \qquad
        o \leftarrow e^{m - m'} o + \sum_j e^{S_j - m'} V_j
        $$
        """
        mean, log_sums = query.new_empty(*query.shape[:-1], value.shape[-1]), []
        for rows in blocks(query.shape[2], size):
            block = query[:, :, rows]
            largest = torch.full_like(block[..., :1], -math.inf)
            total, weighted = torch.zeros_like(largest), torch.zeros_like(mean[:, :, rows])
            for columns, scores in tiles_of(rows, query, key, allowed, causal, size):
                # As long as nothing was visible, minus infinity would be subtracted from itself.
                grown = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
                finite = grown.masked_fill(grown == -math.inf, 0.0)
                weights = (scores - finite).exp()
                shrink = (largest - finite).exp()
                total = shrink * total + weights.sum(dim=-1, keepdim=True)
                weighted = shrink * weighted + weights @ value[:, :, columns]
                largest = grown

            # A query that saw nothing has zero divided by one.
            idle = total == 0
            mean[:, :, rows] = weighted / total.masked_fill(idle, 1.0)
            log_sums.append((largest + total.log()).masked_fill(idle, 0.0))

        # One number for each query is enough to get the weights back: $L = m + \log l$.
        ctx.save_for_backward(query, key, value, allowed, mean, torch.cat(log_sums, dim=2))
        ctx.causal, ctx.size = causal, size
        return mean

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        r"""
        ### Scores once more

        The weights of a tile are $P = e^{S - L}$. The gradient of a softmax has a sum over all
        keys in it, $\sum_j P_{ij} \, \partial P_{ij}$, and that needs no tiles: it is the product
        of the mean and its gradient, $D_i = \sum_d O_{id} \, \partial O_{id}$. So

        $$
        \partial S_{ij} = P_{ij} \left( \partial P_{ij} - D_i \right)
        $$
        """
        query, key, value, allowed, mean, log_sums = ctx.saved_tensors
        grad_query, grad_key, grad_value = map(torch.zeros_like, (query, key, value))
        product = (mean * grad).sum(dim=-1, keepdim=True)
        for rows in blocks(query.shape[2], ctx.size):
            for columns, scores in tiles_of(rows, query, key, allowed, ctx.causal, ctx.size):
                weights = (scores - log_sums[:, :, rows]).exp()
                grad_value[:, :, columns] += weights.mT @ grad[:, :, rows]
                grad_weights = grad[:, :, rows] @ value[:, :, columns].mT
                grad_scores = weights * (grad_weights - product[:, :, rows])
                grad_query[:, :, rows] += grad_scores @ key[:, :, columns]
                grad_key[:, :, columns] += grad_scores.mT @ query[:, :, rows]
        return grad_query, grad_key, grad_value, None, None, None


def tiled_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    allowed: Tensor | None = None,
    causal: bool = False,
    size: int = 64,
) -> Tensor:
    r"""
    ## Attention in tiles

    Shapes and scale are those of [mean_of_values](../fast_attention.py#mean_of_values), except
    that there are as many heads of keys as of queries. A query that may attend to nothing gets
    zero. Sums of many 16-bit numbers are made with 32 bits.
    """
    if size < 1:
        raise ValueError(f"the size of a block must be at least 1, got {size}")
    if allowed is not None:
        allowed = allowed.expand(-1, -1, query.shape[2], key.shape[2])
    wide = [t.float() if t.element_size() == 2 else t for t in (query, key, value)]
    with torch.autocast(query.device.type, enabled=False):
        return Tiled.apply(*wide, allowed, causal, size).to(value.dtype)


class FlashAttention(MultiHeadAttention):
    r"""
    ## Multi-head attention in tiles

    The same function with the same weights as [MultiHeadAttention](../mha.py#MultiHeadAttention).
    Where weights are dropped or kept it takes the way of that one.
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        bias: bool = True,
        size: int | None = None,
    ) -> None:
        r"""
        * `heads`, `d_model`, `dropout_prob` and `bias` are as usual
        * `size` is that of the blocks; without one, PyTorch's kernel does the work, and is faster
        """
        super().__init__(heads, d_model, dropout_prob, bias)
        self.size = size

    def weighted_mean(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> Tensor:
        r"""
        ### Scores, softmax and mean

        To `[seq_len_q, batch_size, heads, d_k]`.
        """
        drops = self.training and self.dropout.p > 0
        if self.size is None or drops or self.keep_attn:
            return super().weighted_mean(query, key, value, mask)
        self.attn = None
        q, k, v = (t.permute(1, 2, 0, 3) for t in (query, key, value))
        allowed = None if mask is None else mask.permute(2, 3, 0, 1)

        # Where it can be [recognised](../fast_attention.py#is_causal), a causal mask is left out.
        causal = allowed is not None and is_causal(allowed)
        allowed = None if causal else allowed
        return tiled_attention(q, k, v, allowed, causal, self.size).permute(2, 0, 1, 3)


def in_transformer(
    *, d_model: int, heads: int, seq_len: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    Really in tiles, two by two of them, although it takes longer.
    """
    size = max(1, (seq_len + 1) // 2)
    return {"self_attn": lambda: FlashAttention(heads, d_model, dropout_prob, size=size)}


def example(
    seq_len_q: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 2
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Tiles, with gradients, and a module that has them.
    """
    query, key, value = torch.randn(3, batch_size, heads, seq_len_q, d_k).requires_grad_()
    mean = tiled_attention(query, key, value, causal=True, size=3)
    mean.sum().backward()
    d_model = heads * d_k
    x = torch.randn(seq_len_q, batch_size, d_model)
    mask = causal_mask(seq_len_q)
    attention = FlashAttention(heads, d_model, 0.0, size=3)
    return mean, attention(query=x, key=x, value=x, mask=mask)

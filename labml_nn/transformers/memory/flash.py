r"""
---
title: Flash Attention
summary: Exact attention a tile at a time, forward and backward, without ever holding all scores.
paper:
  title: "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning"
  authors: Tri Dao
  year: 2023
  link: https://arxiv.org/abs/2307.08691
terms: {flash attention: "Attention tile by tile; the matrix of scores is never stored."}
---

A text of $n$ positions has $n^2$ scores for each head. At 4,096 positions and 8 heads in 32 bits
these are half a gigabyte, in each layer. [Multi-head attention](../mha.py) writes them to memory
and reads them again several times; a GPU spends more time on that than on multiplying.

So don't write them down. Cut the queries into blocks, and the keys too. A *tile*, one block of
queries against one of keys, fits into the small and fast memory of a processor. There it is
computed, used and forgotten. What is left of it is a sum for each query, so the memory grows with
$n$ and not with its square: of 2,048 positions with four heads, multi-head attention keeps
[144.70](../../../results/family_drawings.json#tables.backward.2048.plain) MB for its backward pass,
and this page [2.13](../../../results/family_drawings.json#tables.backward.2048.tiles) MB.

**In:** query, key and value in the layout of kernels, `[batch_size, heads, seq_len, d_k]`.
**Out:** the same averages as ever, up to rounding. The problem to solve is the softmax, which
divides by a sum over *all* keys, and that isn't known before the last tile.

The page follows Algorithms 1 and 2 of the paper, without dropout. It is for reading, and slow: a
tile takes several calls. [PyTorch's kernel](sdpa.py) does the same in one.
"""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


def blocks(length: int, size: int) -> list[slice]:
    r"""
    ## Blocks

    The last one may be shorter.
    """
    # Seven positions in blocks of 3 are positions 0 to 2, 3 to 5, and 6.
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]


def visible_tiles(rows: slice, query: Tensor, key: Tensor, mask: Tensor, size: int
    ) -> Iterator[tuple[slice, Tensor, Tensor]]:
    r"""
    ## Tiles

    All tiles of a block of queries: where the keys are, what is visible, and the scores.

    [Twelve positions in tiles of three, causal: the order of
    computation](../../../results/memory_drawings.json#figures.tiles)
    """
    for columns in blocks(key.shape[2], size):
        # A tile in which nothing is visible is skipped. Under the causal mask that is nearly half
        # of all tiles, and half of the work.
        visible = mask[:, :, rows, columns]
        if visible.any():
            # These are the only scores in memory.
            yield columns, visible, query[:, :, rows] @ key[:, :, columns].mT


class Tiled(torch.autograd.Function):
    r"""
    ## Attention in tiles

    For its own backward pass, PyTorch would keep all the scores after all. So the backward pass is
    written here too, and computes the scores *again*.
    """

    @staticmethod
    def forward(ctx: FunctionCtx, query: Tensor, key: Tensor, value: Tensor, mask: Tensor,
                size: int) -> Tensor:
        r"""
        ### Online softmax

        Keep three things for each query: the largest score $m$ so far, the sum $l$ of
        $e^{S - m}$, and the sum $o$ of the values with these weights. If a tile has a larger score
        $m'$, shrink the sums by $e^{m - m'}$, as if they had been computed with $m'$:

        $$
        l \leftarrow e^{m - m'} l + \sum_j e^{S_j - m'} \qquad
        o \leftarrow e^{m - m'} o + \sum_j e^{S_j - m'} V_j
        $$

        For scores 1 and 3 in one tile and 5 in the next, $m = 3$ and $l = e^{-2} + 1 = 1.135$; then
        $m' = 5$ and $l = e^{-2} \cdot 1.135 + 1 = 1.154$, which is $e^{-4} + e^{-2} + 1$.
        """
        # The results, block after block.
        out = torch.empty_like(query)
        log_sums = torch.empty_like(query[..., :1])

        # The lowest finite number stands for a hidden score, as in multi-head attention.
        lowest = torch.finfo(query.dtype).min
        for rows in blocks(query.shape[2], size):
            # $m$, $l$ and $o$ before the first tile: the sums are zero, and any score is larger.
            largest = torch.full_like(query[:, :, rows, :1], lowest)
            total, weighted = torch.zeros_like(largest), torch.zeros_like(query[:, :, rows])
            for columns, visible, scores in visible_tiles(rows, query, key, mask, size):
                # Without subtracting the largest score, $e^S$ overflows above 88 in 32 bits.
                scores = scores.masked_fill(~visible, lowest)
                new_largest = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
                weights = (scores - new_largest).exp().masked_fill(~visible, 0)

                # What there is shrinks, ...
                shrink = (largest - new_largest).exp()
                largest = new_largest

                # ... and the tile is added.
                total = shrink * total + weights.sum(dim=-1, keepdim=True)
                weighted = shrink * weighted + weights @ value[:, :, columns]

            # The division, at last. The largest score alone adds 1 to the total. A smaller total
            # is zero: that query may look at nothing, and gets zero.
            total = total.clamp(min=1)
            out[:, :, rows] = weighted / total

            # One number for each query is enough to get all its weights back: $L = m + \ln l$.
            log_sums[:, :, rows] = largest + total.log()

        # These grow with the length of the text and not with its square, but for the mask.
        ctx.save_for_backward(query, key, value, mask, out, log_sums)
        ctx.size = size
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        r"""
        ### Backward pass

        The weights of a tile are $P = e^{S - L}$. The gradient of a softmax has a sum over all keys
        in it, $\sum_j P_{ij} \, \partial P_{ij}$. That needs no tiles: it equals
        $D_i = \sum_d O_{id} \, \partial O_{id}$, the product of the output with its gradient. So

        $$
        \partial S_{ij} = P_{ij} \left( \partial P_{ij} - D_i \right)
        $$
        """
        query, key, value, mask, out, log_sums = ctx.saved_tensors
        d_query, d_key, d_value = map(torch.zeros_like, (query, key, value))

        # $D$, one number for each query.
        product = (out * grad).sum(dim=-1, keepdim=True)
        for rows in blocks(query.shape[2], ctx.size):
            for columns, visible, scores in visible_tiles(rows, query, key, mask, ctx.size):
                # The scores once more, and from them the final weights $P$.
                weights = (scores - log_sums[:, :, rows]).exp().masked_fill(~visible, 0)

                # Backward through the average of the values.
                d_value[:, :, columns] += weights.mT @ grad[:, :, rows]
                d_weights = grad[:, :, rows] @ value[:, :, columns].mT

                # Backward through the softmax: the formula above.
                d_scores = weights * (d_weights - product[:, :, rows])

                # Backward through the scores. Each block of keys gets a part from each of queries.
                d_query[:, :, rows] += d_scores @ key[:, :, columns]
                d_key[:, :, columns] += d_scores.mT @ query[:, :, rows]

        # Mask and size get none.
        return d_query, d_key, d_value, None, None


class FlashAttention(MultiHeadAttention):
    r"""
    ## Multi-head attention in tiles

    The function and the parameters of [multi-head attention](../mha.py#MultiHeadAttention).
    """

    def __init__(self, heads: int, d_model: int, dropout_prob: float = 0.0, bias: bool = True,
                 size: int = 64) -> None:
        r"""
        * `dropout_prob` must be 0: no weights are dropped here
        * `size` is the number of positions in a block

        The other arguments are those of multi-head attention.
        """
        if dropout_prob or size < 1:
            raise ValueError(f"need dropout_prob=0 and size >= 1, got {dropout_prob=}, {size=}")
        super().__init__(heads, d_model, 0.0, bias)
        self.size = size

    def forward(self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
        ) -> Tensor:
        # Without a mask, everything is visible.
        if mask is None:
            mask = torch.ones(1, len(key), 1, dtype=torch.bool, device=query.device)

        # Batch and heads first. If the mask is the same for all queries, so that it has one row,
        # `expand` makes as many as there are queries without copying it.
        mask = self.prepare_mask(mask, query.shape, key.shape).permute(2, 3, 0, 1)

        # `[batch_size, heads, seq_len, d_k]`
        q = self.query(query).permute(1, 2, 0, 3) / math.sqrt(self.d_k)
        k = self.key(key).permute(1, 2, 0, 3)
        v = self.value(value).permute(1, 2, 0, 3)
        x = Tiled.apply(q, k, v, mask.expand(-1, -1, len(query), -1), self.size)

        # Back to the sequence first, and the heads side by side.
        return self.output(x.permute(2, 0, 1, 3).flatten(start_dim=2))


def in_transformer(*, d_model: int, heads: int, seq_len: int, **_: float
    ) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In two by two tiles, of which one lies in the future and is skipped. No weights are dropped.
    """
    # Half of the positions in a block, or one more.
    return {"self_attn": lambda: FlashAttention(heads, d_model, size=(seq_len + 1) // 2)}


def example(seq_len: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 2) -> Tensor:
    r"""
    ## Example

    Forward and backward, in tiles of three positions.

    ### Exercises

    ??? question "Seven positions in tiles of 3, causal: how many tiles are computed?"
        6 of 9. The other three lie in the future.

    ??? question "Scores 2 and 4 in one tile, 0 in the next. What are $m$ and $l$ after each?"
        $m$ is 4 after both: nothing shrinks. $l$ is $e^{-2} + 1$, then $e^{-2} + 1 + e^{-4}$.

    ??? question "Leave out the shrinking of $o$. When would nobody notice?"
        If there is one tile only: nothing has to shrink then.
    """
    d_model = heads * d_k
    attention = FlashAttention(heads, d_model, size=3)

    # Blocks of 3, 3 and 1 positions.
    x = torch.randn(seq_len, batch_size, d_model, requires_grad=True)
    out = attention(query=x, key=x, value=x, mask=causal_mask(seq_len))

    # Computes every score a second time.
    out.sum().backward()
    return out

r"""
---
title: Flash Attention
summary: Exact attention a tile at a time, without ever holding all scores.
paper:
  title: "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning"
  authors: Tri Dao
  year: 2023
  link: https://arxiv.org/abs/2307.08691
terms: {flash attention: "Attention tile by tile; the matrix of scores is never stored."}
---

A text of $n$ positions has $n^2$ scores for each head. At 4,096 positions and 8 heads in 32 bits
these are half a gigabyte, in each layer. [Multi-head attention](../mha.py) writes them to memory
and reads them again several times, which makes it slow on GPUs ([Dao et al.
2022](https://arxiv.org/abs/2205.14135)).

So don't write them down. Cut the queries into blocks, and the keys too. A *tile*, one block of
queries against one of keys, fits into the small, fast memory of a processor. There it is computed,
used and forgotten.

But the softmax divides by a sum over *all* keys, and first subtracts their largest score: without
that, $e^{89}$ is too large for 32 bits. A query has the scores 1 and 3 in one tile, for the values
10 and 20, and 5 in the next, for 40. Keep the largest score and two sums:

| tile | largest | weights | weighted values |
| --- | :---: | --- | --- |
| first | 3 | $e^{1-3} + e^{3-3} = 1.135$ | $10 \, e^{1-3} + 20 \, e^{3-3} = 21.35$ |
| second | 5 | $1.135 \, e^{3-5} + e^{5-5} = 1.154$ | $21.35 \, e^{3-5} + 40 \, e^{5-5} = 42.89$ |

At the second tile both old sums shrink by $e^{3-5}$, as if 5 had been subtracted from the start.
The answer is $42.89 / 1.154 = 37.2$, that of the [whole softmax](flash.py#online_softmax).

For 2,048 positions with four heads of 16 features, the largest tensor that multi-head attention
makes has [67.11](../../../results/family_drawings.json#tables.largest.2048.plain) MB. On this page
it has [0.52](../../../results/family_drawings.json#tables.largest.2048.tiles) MB, as much as the
queries themselves.

[Twelve positions in tiles of three, causal: the order of
computation](../../../results/memory_drawings.json#figures.tiles)

**In:** query, key and value in PyTorch's layout, `[batch_size, heads, seq_len, d_k]`.
**Out:** the same averages as ever, up to rounding.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


def blocks(length: int, size: int) -> list[slice]:
    r"""
    ## Blocks
    """
    # Seven positions in blocks of 3 are positions 0 to 2, 3 to 5, and 6. The last one is shorter.
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]


def visible_tiles(
    rows: slice, query: Tensor, key: Tensor, mask: Tensor, size: int
) -> Iterator[tuple[slice, Tensor, Tensor]]:
    r"""
    ## Tiles

    All tiles of a block of queries: where the keys are, what is visible, and the scores.
    """
    for columns in blocks(key.shape[2], size):
        # A tile in which nothing is visible is skipped. Under the causal mask these are 6 of 16
        # tiles in the picture above, and nearly half of them in a long text.
        visible = mask[:, :, rows, columns]
        if visible.any():
            # Unless a backward pass needs them, these are the only scores in memory.
            yield columns, visible, query[:, :, rows] @ key[:, :, columns].mT


def online_softmax(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, size: int
) -> tuple[Tensor, Tensor]:
    r"""
    ## Online softmax

    Keep three things for each query: the largest score $m$ so far, the sum $l$ of $e^{S - m}$, and
    the sum $o$ of the values with these weights. If a tile has a larger score $m'$, shrink the sums
    by $e^{m - m'}$, as if they had been computed with $m'$:

    $$
    l \leftarrow e^{m - m'} l + \sum_j e^{S_j - m'} \qquad
    o \leftarrow e^{m - m'} o + \sum_j e^{S_j - m'} V_j
    $$

    With the scores 1, 3 and 5 at once, the weights are $e^{1-5} = 0.0183$, $e^{3-5} = 0.1353$ and
    $e^{5-5} = 1$. Their sum is 1.154, and the weighted sum of 10, 20 and 40 is $0.18 + 2.71 + 40 =
    42.89$: the two sums that the tiles gave. If a third tile has the score 2, the largest score
    stays 5: nothing shrinks, and $e^{2-5} = 0.050$ is added to $l$.

    Returned are the results, and for each query the logarithm of its sum, for the backward pass.
    """
    # The results, block after block.
    out = torch.empty_like(query)
    log_sums = torch.empty_like(query[..., :1])

    # The lowest finite number stands for a hidden score, as in multi-head attention.
    lowest = torch.finfo(query.dtype).min
    for rows in blocks(query.shape[2], size):
        # $m$, $l$ and $o$ before the first tile: the sums are zero, and any score is larger.
        largest = torch.full_like(query[:, :, rows, :1], lowest)
        total = torch.zeros_like(largest)
        weighted = torch.zeros_like(query[:, :, rows])

        # Tile after tile, and no row of scores is ever whole.
        for columns, visible, scores in visible_tiles(rows, query, key, mask, size):
            # Subtract the largest score so far, this tile's included: no weight is above 1.
            scores = scores.masked_fill(~visible, lowest)
            new_largest = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
            weights = (scores - new_largest).exp().masked_fill(~visible, 0)

            # The old sums were made with the old largest score. Shrink them, ...
            shrink = (largest - new_largest).exp()
            largest = new_largest

            # ... and add the tile.
            total = shrink * total + weights.sum(dim=-1, keepdim=True)
            weighted = shrink * weighted + weights @ value[:, :, columns]

        # The division, at last. The largest score alone adds 1 to the total. A smaller total is
        # zero: that query may look at nothing, and gets zero.
        total = total.clamp(min=1)
        out[:, :, rows] = weighted / total

        # One number for each query is enough to get all its weights back: $L = m + \ln l$.
        log_sums[:, :, rows] = largest + total.log()
    return out, log_sums


class TiledAttention(MultiHeadAttention):
    r"""
    ## Multi-head attention in tiles
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.0, bias: bool = True, size: int = 64
    ) -> None:
        r"""
        * `dropout_prob` must be 0: no weights are dropped here
        * `size` is the number of positions in a block

        The other arguments are those of multi-head attention.
        """
        if dropout_prob or size < 1:
            raise ValueError(f"need dropout_prob=0 and size >= 1, got {dropout_prob=}, {size=}")
        # The parameters are those of [multi-head attention](../mha.py#MultiHeadAttention).
        super().__init__(heads, d_model, 0.0, bias)
        self.size = size

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        # PyTorch's own backward pass would need all tiles again, so it keeps them. The next page
        # has another one.
        return online_softmax(query, key, value, mask, self.size)[0]

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        The shapes are those of [multi-head attention](../mha.py#MultiHeadAttention.forward).
        """
        # Without a mask, everything is visible.
        if mask is None:
            mask = torch.ones(1, len(key), 1, dtype=torch.bool, device=query.device)

        # Batch and heads first. If the mask is the same for all queries, so that it has one row,
        # `expand` makes as many as there are queries without copying it.
        mask = self.prepare_mask(mask, query.shape, key.shape).permute(2, 3, 0, 1)
        mask = mask.expand(-1, -1, len(query), -1)

        # `[batch_size, heads, seq_len, d_k]`
        q = self.query(query).permute(1, 2, 0, 3) / math.sqrt(self.d_k)
        k = self.key(key).permute(1, 2, 0, 3)
        v = self.value(value).permute(1, 2, 0, 3)
        x = self.attend(q, k, v, mask)

        # Back to the sequence first, and the heads side by side.
        return self.output(x.permute(2, 0, 1, 3).flatten(start_dim=2))


def example(seq_len: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 2) -> Tensor:
    r"""
    ## Example

    Seven positions, in tiles of three.

    ### What it follows

    The page follows Algorithm 1 of the paper, with a mask. It is for reading, and slow: a tile
    takes several calls. [PyTorch's kernel](sdpa.py) does the same in one. For training there has to
    be [a backward pass](flash_backward.py) that works in tiles, too.

    ### Exercises

    ??? question "Seven positions in tiles of 3, causal: how many tiles are computed?"
        6 of 9. The other three lie in the future.

    ??? question "Scores 2 and 4 in one tile, 0 in the next. What are $m$ and $l$ after each?"
        $m$ is 4 after both: nothing shrinks. $l$ is $e^{-2} + 1$, then $e^{-2} + 1 + e^{-4}$.

    ??? question "Leave out the shrinking of $o$. When would nobody notice?"
        If there is one tile only, or if the largest score is in the first: nothing shrinks then.
    """
    d_model = heads * d_k
    attention = TiledAttention(heads, d_model, size=3)

    # Blocks of 3, 3 and 1 positions.
    x = torch.randn(seq_len, batch_size, d_model)
    return attention(query=x, key=x, value=x, mask=causal_mask(seq_len))

r"""
---
title: Attention, Batch First
summary: Heads as an axis before the positions, and why each view and transpose is there.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

This is [multi-head attention](../mha.py) as many courses write it. The **batch** is the first axis,
and it is self-attention: queries, keys and values are made from one input.

**In:** `x`, `[batch_size, seq_len, embed_dim]`, and a mask. **Out:** a tensor of the same shape,
and the attention weights.

[One head at a time](one_head_at_a_time.py) calls a module for each head. That is easy to read, and
slow where sequences are short, because PyTorch takes some time for each call, however small. At 64
positions a step of eight heads takes
[4.0](../../../results/ways.json#tables.time.one%20head%20at%20a%20time.64) ms that way, and
[1.8](../../../results/ways.json#tables.time.batch%20first.64) ms as here. All heads are computed by
the same product: heads become one more axis of independent matrices.

$$
\operatorname{Attention}(Q, K, V) =
\operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V
$$

The rows of $Q$, $K$ and $V$ are the queries, keys and values of the positions in one head of one
sequence, and $d_k$ is their width. The price is a handful of lines that move axes. They look
interchangeable, and wrong ones can give the right shapes, so each has its note.

The paper has neither biases in the projections nor dropout on the weights. GPT-2 has both, and
Llama neither.
"""

import math

import torch
from torch import Tensor, nn


class ScaledDotProductAttention(nn.Module):
    r"""
    ## Scaled dot-product attention

    The formula is about matrices with a row for each position. Axes before these two, such as
    sequences and heads, only say how many matrices there are.
    """

    def __init__(self, dropout: float = 0.1) -> None:
        r"""
        * `dropout` is the probability of dropping an attention weight
        """
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        r"""
        ### Attend

        `query`, `key` and `value` are `[batch_size, num_heads, seq_len, d_k]`, and so is the first
        result. The second one holds the weights, `[batch_size, num_heads, seq_len, seq_len]`. The
        mask is true where a query may look at a key, and is broadcast to the weights.
        """
        # Rows of queries times columns of keys. The root is that of the width of *one head*, and
        # not of `embed_dim`, which is easy to mix up.
        d_k = query.shape[-1]
        scores = torch.matmul(query / math.sqrt(d_k), key.transpose(-2, -1))

        # The smallest finite score gives a hidden key a weight of zero, if the query sees another.
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)

        # Each row belongs to a query and runs along the keys, so the last axis must sum to one.
        weights = scores.softmax(dim=-1)

        # A query that may look at nothing has equal weights now. They become zero, and so does its
        # answer.
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)

        # The weights are returned as they were before dropout.
        return torch.matmul(self.dropout(weights), value), weights


class BatchFirstAttention(nn.Module):
    r"""
    ## Multi-head attention

    The matrices of all heads are stacked in one layer `W_q`, and likewise for keys and values.
    Courses call this class “MultiHeadAttention”.
    """

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.1) -> None:
        r"""
        * `embed_dim` is the number of features of the input and the output
        * `num_heads` is the number of heads; it must divide `embed_dim`
        * `dropout` is the probability of dropping an attention weight
        """
        super().__init__()
        if embed_dim % num_heads:
            sizes = f"num_heads={num_heads}, embed_dim={embed_dim}"
            raise ValueError(f"num_heads must divide embed_dim, got {sizes}")
        self.num_heads = num_heads
        self.d_k = embed_dim // num_heads

        # Three projections in, one out.
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim)
        self.W_v = nn.Linear(embed_dim, embed_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.attention = ScaledDotProductAttention(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        r"""
        ### Attend

        A causal mask is `[seq_len, seq_len]`, the same for the whole batch. A mask of padding has
        an axis for the batch and one for the keys; with axes of length one for heads and queries
        between them, it can be broadcast.

        [Three positions of four features, each feature named by its position, in two
        heads](../../../results/memory_drawings.json#figures.views)
        """
        batch_size, seq_len, embed_dim = x.shape

        # Each layer makes the vectors of all heads in one product, side by side in the last axis.
        query = self.W_q(x)
        key = self.W_k(x)
        value = self.W_v(x)

        # `view` cuts that axis: the first features belong to the first head, the next ones to the
        # second. No number moves. `[batch_size, seq_len, num_heads, d_k]`
        in_heads = (batch_size, seq_len, self.num_heads, self.d_k)
        query = query.view(in_heads)
        key = key.view(in_heads)
        value = value.view(in_heads)

        # `matmul` multiplies the last *two* axes, and those have to be positions and features. So
        # heads change places with positions: `[batch_size, num_heads, seq_len, d_k]`.
        query = query.transpose(1, 2)
        key = key.transpose(1, 2)
        value = value.transpose(1, 2)

        # One call for all heads of all sequences.
        heads, weights = self.attention(query, key, value, mask)

        # Positions before heads again, so that the answers of all heads of one position are
        # neighbours: `[batch_size, seq_len, num_heads, d_k]`.
        heads = heads.transpose(1, 2)

        # `view` can only join axes that are neighbours in memory, and there the order is still head
        # after head. `contiguous` writes the numbers out in the new order.
        joined = heads.contiguous().view(batch_size, seq_len, embed_dim)

        # The last layer mixes the answers of the heads.
        return self.W_o(joined), weights


def example(
    batch_size: int = 3, seq_len: int = 7, num_heads: int = 5, d_k: int = 2
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Under a causal mask, then with padding. The first sequence is nothing but padding.

    ### The same tensor, cut in two ways

    Two positions, a and b, of four features become two heads. With a transpose each head has a part
    of both positions. If `view` alone makes the axes, the shapes are the same, and each “head” is
    one position, cut in two. Its halves attend to each other, and a learns nothing of b.

    [Two positions of four features: with a transpose, and with a view
    alone](../../../results/hand_drawings.json#figures.cut)

    ### Exercises

    ??? question "Join the heads with `reshape`, without the transpose before it. What happens?"
        The shape is right and the output is wrong: features of neighbouring *positions* of one head
        are taken for features of one position. A comparison with another implementation
        notices, and so does the causal test: change the last token, and earlier outputs move.

    ??? question "Why not `view` with the heads before the positions, and save the transpose?"
        `view` only counts the numbers anew, in the order of memory. The first head would get the
        first positions with all their features.

    ??? question "A batch of 5 sequences of 5 positions: pass the mask of padding as it is, 5 by 5."
        Nothing fails. The mask is taken for one of queries and keys, the same for each sequence.
        With 5 sequences of 7 positions, it would be an error: try axes of different lengths.

    ??? question "8 sequences of 512 positions, 16 heads: how large are the weights?"
        8 · 16 · 512 · 512 = 33,554,432 numbers, which is 128 MiB in float32.
    """
    embed_dim = num_heads * d_k
    attention = BatchFirstAttention(embed_dim, num_heads)
    x = torch.randn(batch_size, seq_len, embed_dim)

    # No position sees a later one.
    causal = torch.ones(seq_len, seq_len, dtype=torch.bool).tril()
    output, weights = attention(x, causal)

    # Sequences of 0, 1 and 2 positions; the rest is padding, which no query may look at.
    lengths = torch.arange(batch_size)
    in_sequence = torch.arange(seq_len) < lengths[:, None]
    padded, _ = attention(x, in_sequence[:, None, None])
    return output, weights, padded

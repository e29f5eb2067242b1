r"""
---
title: Attention With Heads Folded Into the Batch
summary: Each head of each sequence becomes a sequence of its own, for torch.bmm.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

Until the output layer mixes them, two heads never look at each other's numbers. Neither do two
sequences of a batch. So one axis can serve both: 3 sequences with 5 heads become 15 sequences with
one head. Head 2 of sequence 1 is number $1 \cdot 5 + 2 = 7$, counted from 0.

**In** and **out:** `[batch_size, seq_len, d_model]`, with the batch first. In between, the heads
are folded into the batch: `[batch_size * heads, seq_len, d_k]`, as if there were one head and many
sequences. You find this where attention calls `torch.bmm`, the product of two *batches of
matrices*, which takes exactly three axes. `torch.nn.MultiheadAttention` does so when it returns its
weights.

For the folded sequence $n$, which is head $n \bmod h$ of sequence $\lfloor n / h \rfloor$,

$$
X_n = \operatorname{softmax}\!\left(\frac{Q_n K_n^\top}{\sqrt{d_k}}\right) V_n
$$

where $h$ is the number of heads, $d_k$ the width of one, and the rows of $Q_n$, $K_n$ and $V_n$ are
queries, keys and values.

This is *narrow* self-attention: each head works on $d_k = d_{model} / h$ features. In *wide*
self-attention each head has all $d_{model}$ of them, with $h$ times the weights and
multiplications. The page has biases and dropout on the weights, unlike the paper, and leaves out
masks of padding.
"""

import math

import torch
from torch import Tensor, nn


def fold(x: Tensor) -> Tensor:
    r"""
    ## Fold heads into the batch

    From `[batch_size, seq_len, heads, d_k]` to `[batch_size * heads, seq_len, d_k]`.

    [Sequence and head (“1.2” is head 2 of sequence 1) in each folded
    sequence](../../../results/memory_drawings.json#figures.folded)
    """
    # Only neighbouring axes can become one, so heads change places with positions first. Without
    # that, `x.reshape(-1, seq_len, d_k)` has the right shape too, and mixes positions with heads.
    x = x.transpose(1, 2)

    # In memory the numbers are still in the old order. If there are several sequences, joining the
    # two axes takes a copy.
    return x.reshape(-1, x.shape[2], x.shape[3])


def unfold(x: Tensor, heads: int) -> Tensor:
    r"""
    ## Unfold heads from the batch

    From `[batch_size * heads, seq_len, d_k]` back to `[batch_size, seq_len, d_model]`.
    """
    # The heads of a sequence follow one another, so `heads` is the *last* of the two axes. If it
    # came first, and a transpose then put it last, the shape would be right, and sequences would
    # have heads of others.
    x = x.unflatten(0, (-1, heads))

    # Positions before heads, then the features of all heads side by side.
    return x.transpose(1, 2).flatten(start_dim=2)


class NarrowSelfAttention(nn.Module):
    r"""
    ## Narrow self-attention
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.1, causal: bool = False
    ) -> None:
        r"""
        * `heads` is the number of heads; it must divide `d_model`
        * `d_model` is the number of features of the input and the output
        * `dropout_prob` is the probability of dropping an attention weight
        * `causal` is whether later positions are hidden
        """
        super().__init__()
        if d_model % heads:
            raise ValueError(f"heads must divide d_model, got heads={heads}, d_model={d_model}")
        self.heads = heads
        self.causal = causal

        # Three projections in, one out.
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout_prob)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        `x` and the result are `[batch_size, seq_len, d_model]`.
        """
        # Project, and cut the width into heads: the first features belong to the first head. No
        # number moves. `[batch_size, seq_len, heads, d_k]`
        query = self.query(x).unflatten(-1, (self.heads, -1))
        key = self.key(x).unflatten(-1, (self.heads, -1))
        value = self.value(x).unflatten(-1, (self.heads, -1))

        # From here on there are no heads: `[batch_size * heads, seq_len, d_k]`.
        query = fold(query)
        key = fold(key)
        value = fold(value)

        # The scores of each query with each key. The root is that of the width of a *head*, which
        # is what is left in the last axis.
        d_k = query.shape[2]
        scores = torch.bmm(query / math.sqrt(d_k), key.transpose(1, 2))

        # True above the diagonal, where a key is later than the query. Each position sees itself,
        # so there is no row of nothing but minus infinity.
        if self.causal:
            seq_len = scores.shape[1]
            later = torch.ones(seq_len, seq_len, dtype=torch.bool, device=x.device).triu(1)
            scores = scores.masked_fill(later, -math.inf)

        # Each row belongs to a query and runs along the keys, so it has to sum to one.
        weights = scores.softmax(dim=-1)

        # Some weights are dropped in training, so that no head relies on a single position.
        answers = torch.bmm(self.dropout(weights), value)

        # The answers of the heads side by side again, mixed by the output layer.
        return self.output(unfold(answers, self.heads))


def example(batch_size: int = 3, seq_len: int = 7, heads: int = 5, d_k: int = 2) -> Tensor:
    r"""
    ## Example

    Random sequences under the causal mask.

    ### Exercises

    ??? question "With 3 sequences and 5 heads, what is folded sequence 7?"
        Head 2 of sequence 1, counted from 0: $7 = 1 \cdot 5 + 2$.

    ??? question "Leave out the transpose in `fold`. How do you notice?"
        If `reshape` is told `(-1, seq_len, d_k)`, not by a shape. Change the last token: earlier
        outputs move. And another implementation gives other numbers. (As the line stands, it would
        make sequences of the positions: here `unfold` then fails.)

    ??? question "How would you give each sequence its own mask of padding?"
        Each row of the mask is needed once for each head: `mask.repeat_interleave(heads, dim=0)`.
        With “repeat” the order would be that of another folding.
    """
    d_model = heads * d_k
    attention = NarrowSelfAttention(heads, d_model, causal=True)
    return attention(torch.randn(batch_size, seq_len, d_model))

r"""
---
title: Attention With Heads Folded Into the Batch
summary: Each head of each sequence becomes a sequence of its own, and bmm knows no heads at all.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

A head attends by itself: no number of another head takes part. Nor does one of another sequence of
the batch. To the arithmetic the two axes are the same thing, so here they *become* the same thing.
The batch is the **first** axis, `[batch_size, seq_len, d_model]`, and heads are folded into it:
what attends is `[batch_size * heads, seq_len, d_k]`, and it attends as if there were one head and
many sequences. PyTorch's `bmm`, the product of two *batches of matrices*, takes these three axes
and no others.

It is *narrow* self-attention: the width is cut into as many chunks as there are heads, and each
head works in a narrow one of $d_k$ features. In a *wide* one each head would get the whole width,
at a cost that grows with the heads. There is a yet narrower kind, which cuts what comes in before
it projects, with one small matrix for all chunks. That has fewer weights and is another function.

The page departs from the [paper](../mha.py) in biases and in dropout on the weights, both usual by
now. It leaves out padding: its only mask is the causal one, which all sequences have in common.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.ways.seam import CausalAtTheSeam


def cut_into_heads(x: Tensor, heads: int) -> Tensor:
    r"""
    ## Cut the width

    From `[batch_size, seq_len, d_model]` to `[batch_size, seq_len, heads, d_k]`. Nothing moves: the
    first $d_k$ features are those of the first head.
    """
    return x.unflatten(-1, (heads, -1))


def fold(x: Tensor) -> Tensor:
    r"""
    ## Fold heads into the batch

    From `[batch_size, seq_len, heads, d_k]` to `[batch_size * heads, seq_len, d_k]`. Only
    neighbours can become one axis, so heads have to change places with positions first. After that
    `reshape` has to copy, because in memory they are still where they were. To fold without the
    change of places would be to take turns at reading positions for heads.
    """
    return x.transpose(1, 2).reshape(-1, x.shape[1], x.shape[3])


def unfold(x: Tensor, heads: int) -> Tensor:
    r"""
    ## Take heads out of the batch

    From `[batch_size * heads, seq_len, d_k]` back to `[batch_size, seq_len, d_model]`, with the
    same steps the other way around. The heads of a sequence are neighbours, so it is the *last* of
    the two folded axes that is theirs.
    """
    return x.unflatten(0, (-1, heads)).transpose(1, 2).flatten(start_dim=2)


class NarrowSelfAttention(nn.Module):
    r"""
    ## Narrow self-attention

    For a folded sequence $n$, which is the head $n \bmod h$ of the sequence
    $\lfloor n / h \rfloor$ of the batch:

    $$
    X_n = \operatorname{softmax}\!\left(\frac{Q_n K_n^\top}{\sqrt{d_k}}\right) V_n
    $$
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.1, causal: bool = False
    ) -> None:
        r"""
        * `heads` is the number of heads, which must divide `d_model`
        * `d_model` is the number of features that come in and go out
        * `dropout_prob` is the probability that a weight is dropped
        * `causal` says that no position may look at a later one
        """
        super().__init__()
        if heads < 1 or d_model < 1 or d_model % heads:
            raise ValueError(
                "d_model must be a positive multiple of heads, "
                f"got d_model={d_model} and heads={heads}"
            )
        self.heads = heads
        self.d_model = d_model
        self.causal = causal

        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout_prob)

    def get_weights(self, scores: Tensor) -> Tensor:
        r"""
        ### From scores to weights

        Both are `[batch_size * heads, seq_len, seq_len]`. A row is for a query and sums to one.
        """
        # True above the diagonal, where the key is later than the query. A sequence sees itself at
        # least, so there is never a row in which everything is hidden.
        if self.causal:
            seq_len = scores.shape[1]
            later = torch.ones(seq_len, seq_len, dtype=torch.bool, device=scores.device).triu(1)
            scores = scores.masked_fill(later, -math.inf)
        return scores.softmax(dim=-1)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        ### Attend

        `x` and the result are `[batch_size, seq_len, d_model]`. Other shapes are a `ValueError`.
        """
        if x.dim() != 3 or x.shape[2] != self.d_model:
            raise ValueError(
                f"x has shape {list(x.shape)}, expected [batch_size, seq_len, {self.d_model}]"
            )
        # Three times the same: project, cut, fold. `[batch_size * heads, seq_len, d_k]`
        query = fold(cut_into_heads(self.query(x), self.heads))
        key = fold(cut_into_heads(self.key(x), self.heads))
        value = fold(cut_into_heads(self.value(x), self.heads))

        # From here to the next note nothing knows of heads. Dividing the query costs less than
        # dividing the scores, of which there are more as soon as sequences are long.
        scores = torch.bmm(query / math.sqrt(query.shape[2]), key.transpose(1, 2))
        weights = self.get_weights(scores)
        x = torch.bmm(self.dropout(weights), value)

        # The heads of a position, side by side again, meet in the output layer.
        return self.output(unfold(x, self.heads))


def step_by_step(attention: NarrowSelfAttention, x: Tensor) -> dict[str, Tensor]:
    r"""
    ## Step by step

    What goes on in a call, without dropout: the steps by name, in order. While one learns, or looks
    for a mistake, it is the shapes that tell most. But not all: fold without the transpose, and
    they are what they should be.
    """
    heads = attention.heads
    projected = attention.query(x)
    cut = cut_into_heads(projected, heads)
    folded = fold(cut)

    # Keys and values go the same way. `[batch_size * heads, seq_len, d_k]`
    key = fold(cut_into_heads(attention.key(x), heads))
    value = fold(cut_into_heads(attention.value(x), heads))

    # `[batch_size * heads, seq_len, seq_len]`
    scores = torch.bmm(folded / math.sqrt(folded.shape[2]), key.transpose(1, 2))
    weights = attention.get_weights(scores)

    # The mean has the shape of the query again. `[batch_size * heads, seq_len, d_k]`
    means = torch.bmm(weights, value)
    unfolded = unfold(means, heads)
    return {
        "projected": projected,
        "cut": cut,
        "folded": folded,
        "scores": scores,
        "weights": weights,
        "means": means,
        "unfolded": unfolded,
        "output": attention.output(unfolded),
    }


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    It makes the causal mask itself, so [the seam](seam.py#CausalAtTheSeam) compares the one that
    the transformer brings.
    """
    return {
        "self_attn": lambda: CausalAtTheSeam(
            NarrowSelfAttention(heads, d_model, dropout_prob, causal=True)
        )
    }


def example(
    batch_size: int = 3, seq_len: int = 7, heads: int = 5, d_k: int = 2
) -> dict[str, Tensor]:
    r"""
    ## Example

    All the steps, as one would print them; then a call of the whole, with dropout.
    """
    d_model = heads * d_k
    attention = NarrowSelfAttention(heads, d_model, causal=True)
    x = torch.randn(batch_size, seq_len, d_model)
    output = attention(x)
    steps = step_by_step(attention, x)
    return steps | {"output": output}

r"""
---
title: Attention, One Head at a Time
summary: A module for a single causal head, a list of them, and three reasons for having many.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

This is how one would write attention after reading the [formula](../mha.py) once. A head is a
module with projections of its own. Many heads are a list of such modules: each is called, the
results are put side by side, and a last layer mixes them. The batch is the **first** axis,
`[batch_size, seq_len, d_model]`, and no tensor ever has an axis for the heads. So nothing can go
wrong with such an axis either.

It is the clearest way and the one with the most calls: all that the others do once is done once for
each head, on small matrices.

The page departs from the paper in biases and in dropout on the weights, both usual by now. Its
attention is for models that write: each position sees itself and what came before. It leaves out
any other mask.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.ways.seam import CausalAtTheSeam


class Head(nn.Module):
    r"""
    ## One head

    $$
    \operatorname{head}(x) = \operatorname{softmax}\!\left(
    \frac{(x W_q) (x W_k)^\top}{\sqrt{\text{head\_size}}}
    \right) x W_v
    $$

    where keys that are later than the query are left out of the softmax.
    """

    def __init__(
        self, head_size: int, d_model: int, max_len: int, dropout_prob: float = 0.1
    ) -> None:
        r"""
        * `head_size` is the number of features of a query, of a key, and of what goes out
        * `d_model` is the number of features that come in
        * `max_len` is the greatest length of a sequence
        * `dropout_prob` is the probability that a weight is dropped
        """
        super().__init__()
        self.query = nn.Linear(d_model, head_size)
        self.key = nn.Linear(d_model, head_size)
        self.value = nn.Linear(d_model, head_size)
        self.dropout = nn.Dropout(dropout_prob)

        # One row for each query: ones up to itself. A buffer moves with the module to another
        # device. It can be made again at any time, so it is not saved. `[max_len, max_len]`
        ones = torch.ones(max_len, max_len, dtype=torch.bool)
        self.register_buffer("lower_triangle", ones.tril(), persistent=False)

    def get_weights(self, x: Tensor) -> Tensor:
        r"""
        ### Weights

        From `[batch_size, seq_len, d_model]` to `[batch_size, seq_len, seq_len]`, before dropout.
        """
        query, key = self.query(x), self.key(x)
        scores = query / math.sqrt(query.shape[-1]) @ key.transpose(-2, -1)

        # A shorter sequence takes the corner at the top left. Each query sees itself, so no row is
        # empty; and the weights have to sum to one, so this comes *before* the softmax.
        seq_len = x.shape[1]
        visible = self.lower_triangle[:seq_len, :seq_len]
        return scores.masked_fill(~visible, -math.inf).softmax(dim=-1)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        ### Attend

        From `[batch_size, seq_len, d_model]` to `[batch_size, seq_len, head_size]`.
        """
        return self.dropout(self.get_weights(x)) @ self.value(x)


class OneHeadAtATime(nn.Module):
    r"""
    ## Many heads

    $$
    \operatorname{Concat}(\operatorname{head}_1(x), \dots, \operatorname{head}_h(x))\, W_o
    $$

    Why not one that is as wide as all of them together?

    1. **They bring more than one thing.** The weights of a head sum to one, so what it brings is
       [between its values](one_head_at_a_time.py#leaves_range_by): a mean. A word that needs its
       verb *and* its object would get something halfway, which is neither. Two heads bring both.
    2. **They look for different things.** A head is a way to compare: one looks for the same word
       again, another for what stands just before, a third for the opening bracket. Each has
       projections of its own to see only the features that matter to it.
    3. **They cost nothing.** Each has only its part of the width, so many narrow heads need
       [as much arithmetic](one_head_at_a_time.py#multiplications), and as many weights, as a
       single wide one.

    There can be too many, each too narrow to compare much: the paper found 8 heads better than one,
    and better than 32 of the same total width (table 3).
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.1, *, max_len: int
    ) -> None:
        r"""
        * `heads` is the number of heads, which must divide `d_model`
        * `d_model` is the number of features that come in and go out
        * `dropout_prob` is the probability that a weight is dropped
        * `max_len` is the greatest length of a sequence
        """
        super().__init__()
        if heads < 1 or d_model < 1 or d_model % heads:
            raise ValueError(
                "d_model must be a positive multiple of heads, "
                f"got d_model={d_model} and heads={heads}"
            )
        self.d_model = d_model
        self.max_len = max_len

        # A plain list would hide the heads from the optimizer, and nothing would fail.
        head_size = d_model // heads
        self.heads = nn.ModuleList(
            Head(head_size, d_model, max_len, dropout_prob) for _ in range(heads)
        )
        self.projection = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        ### Attend

        `x` and the result are `[batch_size, seq_len, d_model]`. Other shapes, and sequences that
        are too long, are a `ValueError`.
        """
        if x.dim() != 3 or x.shape[2] != self.d_model or x.shape[1] > self.max_len:
            raise ValueError(
                f"x has shape {list(x.shape)}, expected [batch_size, seq_len, {self.d_model}] with "
                f"at most {self.max_len} positions"
            )
        # Each head knows its features only; the projection is where they hear of one another.
        side_by_side = torch.cat([head(x) for head in self.heads], dim=-1)
        return self.projection(side_by_side)


def leaves_range_by(head: Head, x: Tensor) -> Tensor:
    r"""
    ## A head brings a mean

    Each feature that a head brings lies between the least and the greatest value that it could see.
    This is how far it is outside at most: nothing, but for rounding.
    """
    values, brought = head.value(x), head.get_weights(x) @ head.value(x)
    least, greatest = values.cummin(dim=1).values, values.cummax(dim=1).values
    return torch.maximum(least - brought, brought - greatest).max()


def multiplications(heads: int, d_model: int, seq_len: int) -> int:
    r"""
    ## Heads cost nothing

    The multiplications of a call for one sequence: the four projections, then scores and means. The
    number of heads appears twice and cancels out, wherever it divides the width.
    """
    head_size = d_model // heads
    projections = 3 * heads * seq_len * d_model * head_size + seq_len * d_model * d_model
    return projections + 2 * heads * seq_len * seq_len * head_size


def in_transformer(
    *, d_model: int, heads: int, seq_len: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    Its mask is its own, so [the seam](seam.py#CausalAtTheSeam) compares the one that the
    transformer brings.
    """
    return {
        "self_attn": lambda: CausalAtTheSeam(
            OneHeadAtATime(heads, d_model, dropout_prob, max_len=seq_len)
        )
    }


def example(
    batch_size: int = 3, seq_len: int = 7, heads: int = 5, head_size: int = 2, max_len: int = 11
) -> tuple[Tensor, Tensor, Tensor]:
    r"""
    ## Example

    All heads, then what one of them brings.
    """
    d_model = heads * head_size
    attention = OneHeadAtATime(heads, d_model, max_len=max_len)
    x = torch.randn(batch_size, seq_len, d_model)

    first = attention.heads[0]
    return attention(x), first(x), leaves_range_by(first, x)

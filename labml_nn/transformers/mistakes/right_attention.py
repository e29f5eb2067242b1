r"""
---
title: The Right One
summary: A short causal self-attention, each step a method, for every mistake to differ from.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

Each mistake of this museum is one wrong line. To put it beside the right one, the attention
below has its steps in methods of a line or two, and a mistake is a class with *one* of them
replaced. All the rest it inherits, so what it does wrong, that line does.

The batch comes first here, `[batch_size, seq_len, d_model]`, and not the sequence as
[elsewhere on this site](../mha.py): nearly all the published code in which these mistakes
were found is written so, and some of them can only be made in that layout.

The page leaves out attention to another sequence, which [the other page](../mha.py) has, and
everything that makes it fast.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RightAttention(nn.Module):
    r"""
    ## Causal self-attention

    $$
    \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}} + M\right) V
    $$

    in each head, where $M$ is minus infinity wherever a position must not look.
    """

    def __init__(self, d_model: int, heads: int, dropout_prob: float = 0.0) -> None:
        r"""
        * `d_model` is the number of features
        * `heads` is the number of heads, which must divide `d_model`
        * `dropout_prob` is the probability that a weight is dropped
        """
        super().__init__()
        self.d_model, self.heads, self.dropout_prob = d_model, heads, dropout_prob
        self.d_k = self.head_width()
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)

    def head_width(self) -> int:
        r"""
        ### The width of a head
        """
        if self.d_model % self.heads:
            raise ValueError(
                "d_model must be a multiple of heads, "
                f"got d_model={self.d_model} and heads={self.heads}"
            )
        return self.d_model // self.heads

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        r"""
        ### Queries, keys and values

        Three layers, because to ask, to be found and to tell are three things.
        """
        return self.query(x), self.key(x), self.value(x)

    def split(self, x: Tensor) -> Tensor:
        r"""
        ### Split into heads

        From `[batch_size, seq_len, d_model]` to `[batch_size, heads, seq_len, d_k]`. A view can
        cut an axis into two, but it can't change the order of axes.
        """
        batch_size, seq_len, _ = x.shape
        return x.view(batch_size, seq_len, self.heads, self.d_k).transpose(1, 2)

    def merge(self, x: Tensor) -> Tensor:
        r"""
        ### Put the heads side by side

        And back: first the order of the axes, then the cut.
        """
        batch_size, _, seq_len, _ = x.shape
        return x.transpose(1, 2).reshape(batch_size, seq_len, self.d_model)

    def scale(self, scores: Tensor) -> Tensor:
        r"""
        ### Scale

        A score is a sum of $d_k$ products, so its spread grows with $\sqrt{d_k}$.
        """
        return scores / math.sqrt(self.d_k)

    def allowed(self, seq_len: int) -> Tensor:
        r"""
        ### Who may look where

        `[seq_len, seq_len]`, true from the diagonal down: at itself and at what came before.
        """
        return torch.ones(
            seq_len, seq_len, dtype=torch.bool, device=self.query.weight.device
        ).tril()

    def weigh(self, scores: Tensor, allowed: Tensor) -> Tensor:
        r"""
        ### From scores to weights

        The last axis is that of the keys, and the weights of a query sum to one. Of a query that
        may look nowhere, all are zero: without `has_key` its softmax would be 0/0.
        """
        has_key = allowed.any(dim=-1, keepdim=True)
        return scores.masked_fill(has_key & ~allowed, -math.inf).softmax(dim=-1) * has_key

    def drop(self, weights: Tensor) -> Tensor:
        r"""
        ### Drop some weights

        In training only.
        """
        return F.dropout(weights, self.dropout_prob, self.training)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        r"""
        ### Attend

        `x` and the result are `[batch_size, seq_len, d_model]`. A `mask` takes the place of the
        causal one; it is true where a position may look, `[batch_size, seq_len, seq_len]`.
        """
        allowed = self.allowed(x.shape[1]) if mask is None else mask.unsqueeze(1)

        # `[batch_size, heads, seq_len, d_k]` each
        query, key, value = map(self.split, self.project(x))

        # `[batch_size, heads, seq_len, seq_len]`, for queries and keys
        scores = self.scale(query @ key.transpose(-2, -1))
        weights = self.drop(self.weigh(scores, allowed))

        return self.output(self.merge(weights @ value))


def example(
    batch_size: int = 3, heads: int = 5, d_k: int = 2, seq_len: int = 7
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    With the causal mask, and with one that also hides the last position of each sequence.
    """
    d_model = heads * d_k
    attention = RightAttention(d_model, heads, 0.1)
    x = torch.randn(batch_size, seq_len, d_model)
    mask = attention.allowed(seq_len) & (torch.arange(seq_len) < seq_len - 1)
    return attention(x), attention(x, mask.expand(batch_size, seq_len, seq_len))

r"""
---
title: Cross-Attention
summary: One sequence looks at another, whose keys and values are made only once.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

A translation is written word by word while the text to be translated lies there, whole. The writer
attends to its own past, and then to the other text, the *memory*. That is the same
[attention](../mha.py) with the queries from one sequence, and the keys and values from the other
(section 3.2.3 of the paper). What changes?

* **The lengths** are two: queries are `[seq_len_q, batch_size, d_model]`, the memory is
  `[seq_len_k, batch_size, d_model]`, and the scores are a rectangle.
* **No causal mask.** The memory is known from the beginning to the end, and every word may look at
  all of it. What is hidden is padding, the same for all queries of a sequence.
* **The cache doesn't grow.** In [self-attention](../kv_cache.py) each new token brings a key and a
  value. Those of the memory are the same at each step, and are made before the first.

What doesn't change: a query doesn't see the other queries, and attention doesn't know the order of
what it looks at. Positions have to be in the memory already, and usually are, because an encoder
made it. Without positions, the memory is a set.

The page has the attention and a layer around it. It departs from the paper in where
[the layer normalises](../models.py#TransformerLayer), and leaves out the encoder, which is
[a stack](../models.py#Encoder) without a causal mask.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from labml_nn.transformers.fast_attention import mean_of_values
from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


class Memory(NamedTuple):
    r"""
    ## What is kept of a memory

    Keys and values in the order in which the kernel takes them, and a mask that is false at
    padding, or nothing where there is none.
    """

    keys: Tensor
    values: Tensor
    visible: Tensor | None


def visible_positions(lengths: Tensor, seq_len_k: int) -> Tensor:
    r"""
    ## The mask of padding

    Sequence $b$ of the batch has `lengths[b]` positions, and what follows is padding. The mask is
    `[1, seq_len_k, batch_size]`: one row serves all queries.
    """
    return (torch.arange(seq_len_k, device=lengths.device)[:, None] < lengths)[None]


class CrossAttention(MultiHeadAttention):
    r"""
    ## Attention to a memory

    [Called as any other](../mha.py#MultiHeadAttention.forward), with the memory as key and value,
    it is just what it inherits. What it adds is a way to split that call in two: one
    part for the memory, done once, and one for the queries, done at each step.
    """

    def remember(self, memory: Tensor, visible: Tensor | None = None) -> Memory:
        r"""
        ### Once

        `memory` is `[seq_len_k, batch_size, d_model]`, and `visible` is
        `[1, seq_len_k, batch_size]`.
        """
        # The kernel reads them again and again, so they are put into its order for good:
        # `[batch_size, heads, seq_len_k, d_k]`.
        keys, values = (
            project(memory).permute(1, 2, 0, 3).contiguous() for project in (self.key, self.value)
        )
        if visible is not None:
            self.prepare_mask(visible, torch.Size([1, *memory.shape[1:]]), memory.shape)
        return Memory(keys, values, visible)

    def recall(self, query: Tensor, memory: Memory) -> Tensor:
        r"""
        ### At each step

        `query` and the result are `[seq_len_q, batch_size, d_model]`: the new positions only. The
        memory isn't projected again. This is for writing, so no weight is dropped.
        """
        expected = (memory.keys.shape[0], self.d_model)
        if query.shape[1:] != expected:
            raise ValueError(
                f"expected a query [seq_len_q, {expected[0]}, {expected[1]}], "
                f"got {list(query.shape)}"
            )
        q = self.query(query).permute(1, 2, 0, 3) / math.sqrt(self.d_k)

        # Where a memory is nothing but padding, its queries are idle, and get zero.
        if memory.visible is None:
            x = mean_of_values(q, memory.keys, memory.values, None, kernel=self.kernel)
        else:
            allowed = memory.visible.permute(2, 0, 1).unsqueeze(1)
            has_key = allowed.any(dim=-1, keepdim=True)
            x = mean_of_values(
                q * has_key, memory.keys, memory.values, allowed | ~has_key, kernel=self.kernel
            )
            x = x * has_key
        return self.output(x.permute(2, 0, 1, 3).flatten(start_dim=2))


class LayerWithMemory(nn.Module):
    r"""
    ## A layer of a decoder

    To its own past, to the memory, then the feed-forward network:

    $$
    \begin{aligned}
    x &\leftarrow x + \operatorname{SelfAttention}(\operatorname{LayerNorm}(x)) \\
    x &\leftarrow x + \operatorname{CrossAttention}(\operatorname{LayerNorm}(x), m) \\
    x &\leftarrow x + \operatorname{FeedForward}(\operatorname{LayerNorm}(x))
    \end{aligned}
    $$

    The memory isn't normalised here: the encoder has done so, at its end.
    """

    def __init__(self, *, d_model: int, heads: int, d_ff: int, dropout_prob: float = 0.1) -> None:
        r"""
        * `d_model` is the number of features
        * `heads` is the number of heads of either attention
        * `d_ff` is the number of features inside the feed-forward network
        * `dropout_prob` is the probability that a weight or a feature is dropped
        """
        super().__init__()
        self.norm_self_attn = nn.LayerNorm(d_model)
        self.self_attn = MultiHeadAttention(heads, d_model, dropout_prob)
        self.norm_cross_attn = nn.LayerNorm(d_model)
        self.cross_attn = CrossAttention(heads, d_model, dropout_prob)
        self.norm_ff = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, dropout_prob)
        self.dropout = nn.Dropout(dropout_prob)

    def forward(
        self,
        *,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        visible: Tensor | None = None,
    ) -> Tensor:
        r"""
        ### Apply the layer

        `x` and the result are `[seq_len_q, batch_size, d_model]`, and `memory` is
        `[seq_len_k, batch_size, d_model]`. `mask` is for the first attention and
        `visible` for the second.
        """
        z = self.norm_self_attn(x)
        x = x + self.dropout(self.self_attn(query=z, key=z, value=z, mask=mask))

        z = self.norm_cross_attn(x)
        z = self.cross_attn(query=z, key=memory, value=memory, mask=visible)
        x = x + self.dropout(z)
        return x + self.dropout(self.feed_forward(self.norm_ff(x)))


def example(
    seq_len_q: int = 7,
    seq_len_k: int = 11,
    batch_size: int = 3,
    heads: int = 5,
    d_k: int = 2,
    d_ff: int = 13,
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A layer over memories of three lengths, of which the first is empty; and one query alone,
    over a memory that is remembered. No other page's model has a memory, so there is none to
    train this in.
    """
    d_model = heads * d_k
    layer = LayerWithMemory(d_model=d_model, heads=heads, d_ff=d_ff)
    x = torch.randn(seq_len_q, batch_size, d_model)
    memory = torch.randn(seq_len_k, batch_size, d_model)
    visible = visible_positions(2 * torch.arange(batch_size), seq_len_k)
    whole = layer(x=x, memory=memory, mask=causal_mask(seq_len_q), visible=visible)

    remembered = layer.cross_attn.remember(memory, visible)
    one = layer.cross_attn.recall(x[-1:], remembered)
    layer.cross_attn.recall(x, layer.cross_attn.remember(memory))
    return whole, one

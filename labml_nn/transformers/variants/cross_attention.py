r"""
---
title: Cross-Attention
summary: One sequence looks at another, whose keys and values are computed only once.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
terms:
  cross-attention: Attention whose queries come from one sequence, and keys and values from another.
---

A translator writes word by word and looks at the original text all the time. Self-attention alone
sees only the words written so far. In *cross-attention* the queries come from the text being
written, and the keys and values from another sequence, the *memory* (section 3.2.3 of the paper).
Of new dates, [our translator](../../translation/encoder_decoder.py) gets
[0.0 %](../../../results/translation.json#tables.models.No%20source.right) right without it, and
[99.7 %](../../../results/translation.json#tables.models.Encoder%20and%20decoder.right) with it.

**In:** queries, `[seq_len_q, batch_size, d_model]`, and a memory,
`[seq_len_k, batch_size, d_model]`. **Out:** one vector for each query,
`[seq_len_q, batch_size, d_model]`.

It is the same [attention](../mha.py) with other arguments. Four things change around it. Say that
three words are written so far, and the original has five:

* **Two lengths.** The scores are a rectangle of 3 by 5: each head has 15.
* **No causal mask.** The memory is complete from the start, so the first word already looks at all
  five. Only padding is hidden.
* **A cache that doesn't grow.** In [self-attention](../kv_cache.py) the fourth word adds a key and
  a value. The five of the memory are the same at every step, so they are computed once.
* **Positions must be in the memory.** Attention doesn't know the order of what it looks at. Usually
  the memory comes from an encoder that has added positions.

The page departs from the paper in where [the layer normalises](../models.py#TransformerLayer). It
leaves out the encoder, which is [a stack](../models.py#Encoder) without a causal mask.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


class Memory(NamedTuple):
    r"""
    ## Keys and values of a memory

    What a model that writes keeps of the other text.
    """

    # Both are split into heads, as attention needs them. `visible` is false at padding, or `None`
    # if there is no padding.
    key: Tensor
    value: Tensor
    visible: Tensor | None


def padding_mask(lengths: Tensor, seq_len_k: int) -> Tensor:
    r"""
    ## Padding mask

    Sequence $b$ has `lengths[b]` positions; the rest is padding. True means visible:
    `[1, seq_len_k, batch_size]`.

    [Three sequences of 5, 3 and 7 positions, padded to
    7](../../../results/family_drawings.json#figures.padding)
    """
    # Positions down, sequences across. The new first axis has length one, which means "the same for
    # all queries".
    return (torch.arange(seq_len_k, device=lengths.device)[:, None] < lengths)[None]


class CrossAttention(MultiHeadAttention):
    r"""
    ## Cross-attention

    Training needs nothing new: call the
    [inherited attention](../mha.py#MultiHeadAttention.forward) with the memory as key and value.
    Writing splits that call into a part done once and one for each new token.
    """

    def remember(self, memory: Tensor, visible: Tensor | None = None) -> Memory:
        r"""
        ### Keys and values, computed once

        The memory is `[seq_len_k, batch_size, d_model]`.
        """
        # The mask is checked here, and gets its axis for the heads. It has one row for all queries,
        # as if there were one query.
        if visible is not None:
            visible = self.prepare_mask(visible, torch.Size([1, *memory.shape[1:]]), memory.shape)

        # Two of the three projections. The third is that of the query, which isn't known yet.
        return Memory(self.key(memory), self.value(memory), visible)

    def recall(self, query: Tensor, memory: Memory) -> Tensor:
        r"""
        ### Attend to the memory

        The steps of the [inherited attention](../mha.py#MultiHeadAttention.forward), without two of
        its projections, and without dropout, as nothing is trained while writing.
        """
        # Only the new positions need a result, so the query is usually one token long.
        scores = self.get_scores(self.query(query) / math.sqrt(self.d_k), memory.key)

        # Padding gets no weight. If a memory is nothing but padding, the mean is zero, and the bias
        # of the output layer is all that comes out.
        if memory.visible is not None:
            scores = scores.masked_fill(~memory.visible, torch.finfo(scores.dtype).min)
        attn = scores.softmax(dim=1)
        if memory.visible is not None:
            attn = attn.masked_fill(~memory.visible, 0)

        # The averages of the memory's values, then the output layer that mixes the heads, both as
        # in the inherited attention: the two calls must give the same numbers.
        x = torch.einsum("ijbh,jbhd->ibhd", attn, memory.value)
        return self.output(x.flatten(start_dim=2))


class LayerWithMemory(nn.Module):
    r"""
    ## Decoder layer

    Self-attention to the text so far, cross-attention to the memory, then the feed-forward network:

    $$
    \begin{aligned}
    x &\leftarrow x + \operatorname{SelfAttention}(\operatorname{LayerNorm}(x)) \\
    x &\leftarrow x + \operatorname{CrossAttention}(\operatorname{LayerNorm}(x), m) \\
    x &\leftarrow x + \operatorname{FeedForward}(\operatorname{LayerNorm}(x))
    \end{aligned}
    $$

    $x$ are the vectors of the text and $m$ is the memory.
    """

    def __init__(self, *, d_model: int, heads: int, d_ff: int, dropout_prob: float = 0.1) -> None:
        r"""
        * `d_model` is the number of features
        * `heads` is the number of heads of each attention
        * `d_ff` is the number of features inside the feed-forward network
        * `dropout_prob` is the probability that a weight or a feature is dropped
        """
        super().__init__()

        # Words look at words before them.
        self.norm_self_attn = nn.LayerNorm(d_model)
        self.self_attn = MultiHeadAttention(heads, d_model, dropout_prob)

        # Then at the memory. What to look for there is another question than what to look for in
        # the text, so the two attentions share no weights. (With shared ones, from three seeds, our
        # translator got 94, 98 and 99 % of the dates right, and never fewer than 99 % without.)
        self.norm_cross_attn = nn.LayerNorm(d_model)
        self.cross_attn = CrossAttention(heads, d_model, dropout_prob)

        # The rest is that of any layer.
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

        `x` and the result are `[seq_len_q, batch_size, d_model]`, `memory` is `[seq_len_k,
        batch_size, d_model]`. `mask` is that of the self-attention, usually causal, and `visible`
        hides the memory's padding.
        """
        # Each part reads a normalised copy and adds its result, as in a layer without a memory.
        z = self.norm_self_attn(x)
        x = x + self.dropout(self.self_attn(query=z, key=z, value=z, mask=mask))

        # Queries from the text, keys and values from the memory. By now a token knows the text
        # before it, and can ask the memory for what comes next. The memory isn't normalised here:
        # the encoder has done that at its end.
        z = self.norm_cross_attn(x)
        x = x + self.dropout(self.cross_attn(query=z, key=memory, value=memory, mask=visible))

        # What both attentions have gathered is worked on, position by position.
        return x + self.dropout(self.feed_forward(self.norm_ff(x)))


def example(
    seq_len_q: int = 7,
    seq_len_k: int = 11,
    batch_size: int = 3,
    heads: int = 5,
    d_k: int = 2,
    d_ff: int = 13,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A layer over memories of 0, 2 and 4 positions, and the last query alone.

    ### Measured here

    Without positions the memory is a set. [Our translator](../../translation/encoder_decoder.py)
    then gets [10.3
    %](../../../results/translation.json#tables.models.No%20positions%20in%20the%20source.right)
    of the new dates right.

    ### Exercises

    ??? question "20 words are written, the memory has 500 positions. How many keys are computed?"
        With `remember`, 500. Without it, 500 again for each word: 10,000.

    ??? question "A mask hides padding only. How long are its first two axes, of queries and keys?"
        1 and `seq_len_k`: the same row serves all queries.

    ??? question "The memory is shuffled, and its mask with it. What changes?"
        Nothing: an average doesn't depend on the order.

    ??? question "Pass a causal mask to the cross-attention. What goes wrong?"
        The first word sees only the first position of the memory. If the lengths differ, the
        mask doesn't fit, and `prepare_mask` says so. If they happen to be equal, nobody says so.
    """
    # Seven words and memories of up to eleven positions.
    d_model = heads * d_k
    layer = LayerWithMemory(d_model=d_model, heads=heads, d_ff=d_ff)
    x = torch.randn(seq_len_q, batch_size, d_model)
    memory = torch.randn(seq_len_k, batch_size, d_model)

    # The first sequence has no memory at all, and its words still get a result.
    visible = padding_mask(2 * torch.arange(batch_size), seq_len_k)
    whole = layer(x=x, memory=memory, mask=causal_mask(seq_len_q), visible=visible)

    # Writing: the memory is projected once, and a single query looks at it.
    remembered = layer.cross_attn.remember(memory, visible)
    return whole, layer.cross_attn.recall(x[-1:], remembered)

r"""
---
title: The Right Attention
summary: A short causal self-attention, for every mistake to differ from in one line.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

Three positions have the values 3, 6 and 12, and all scores are equal. The first sees itself alone
and gets 3, the second gets the mean of two, 4.5, and the third that of three, 7. Forget the mask,
and all three get 7: the first one knows the last.

**In:** a batch of sequences, `[batch_size, seq_len, d_model]`. **Out:** the same shape, where each
position has taken in what it found at its own position and before. In a model of four layers its
loss is [2.117](../../../results/mistakes.json#tables.mistakes.RightAttention.printed). With one
wrong line it can be [0.042](../../../results/mistakes.json#tables.mistakes.MaskInverted.printed),
and the model is worthless.

[The printed loss of each exhibit that was trained, beside the right
one](../../../results/mistakes.json#figures.losses)

Half of the exhibits of this museum are this attention with [one line replaced](one_line.py), 19 of
39. Most others replace a line of the [model](right_model.py), of a training step or of a cache. The
batch comes first here, and not the sequence as [elsewhere on this site](../mha.py): nearly all
published code in which we found mistakes is written so.

The page leaves out attention to another sequence, which [multi-head attention](../mha.py) has.
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

    in each head, where $M$ is minus infinity wherever a position must not look, and 0 elsewhere.
    """

    def __init__(self, heads: int, d_model: int, dropout_prob: float = 0.0) -> None:
        r"""
        * `heads` is the number of heads, which must divide `d_model`
        * `d_model` is the number of features
        * `dropout_prob` is the probability that a weight is dropped
        """
        super().__init__()
        # `//` rounds down in silence, so the widths are checked first.
        if d_model % heads:
            raise ValueError(f"heads must divide d_model, got heads={heads}, d_model={d_model}")
        self.d_k = d_model // heads

        # The dropout is a number here, not a layer that knows whether the model trains: much
        # published code has it so, and forgets to ask.
        self.heads = heads
        self.dropout_prob = dropout_prob

        # Three layers for three things: what to ask, what to be found by, and what to answer.
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)

        # It mixes what the heads found.
        self.output = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        r"""
        ### Attend

        A `mask` takes the place of the causal one. It is true where a position may look,
        `[batch_size, seq_len, seq_len]`.
        """
        batch_size, seq_len, d_model = x.shape

        # Each position makes all three of its own features alone.
        query, key, value = self.query(x), self.key(x), self.value(x)

        # A view can cut the features into heads, but only `transpose` can change the order of axes:
        # `[batch_size, heads, seq_len, d_k]`.
        shape = (batch_size, seq_len, self.heads, self.d_k)
        query, key, value = (z.view(shape).transpose(1, 2) for z in (query, key, value))

        # A score is a sum of $d_k$ products, so its spread grows with $\sqrt{d_k}$.
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)

        # Each position sees itself and what came before it: the diagonal and all below it.
        if mask is None:
            mask = x.new_ones(1, seq_len, seq_len, dtype=torch.bool).tril()
        allowed = mask.unsqueeze(1)

        # In a row without any key, the softmax would be 0/0. Such a row is left visible here ...
        has_key = allowed.any(dim=-1, keepdim=True)
        hidden = has_key & ~allowed

        # The last axis is that of the keys: the weights of each query sum to one.
        weights = scores.masked_fill(hidden, -math.inf).softmax(dim=-1)

        # ... and takes nothing: its weights become zero.
        weights = weights * has_key

        # A function doesn't know whether the model trains, so we say it.
        weights = F.dropout(weights, self.dropout_prob, self.training)

        # Each query gets a mean of the values, by its weights.
        x = weights @ value

        # First the order of the axes, then the heads side by side.
        x = x.transpose(1, 2).reshape(batch_size, seq_len, d_model)
        return self.output(x)


def example(
    batch_size: int = 3, heads: int = 5, d_k: int = 2, seq_len: int = 7
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    With the causal mask, and with one that also hides the last position of each sequence.

    ### Exercises

    ??? question "Which lines would still give the right shape if you changed them?"
        Nearly all of them: the scale, the mask, the axis of the softmax, even the two lines that
        split and join the heads. That is why this museum exists.

    ??? question "Change the last token. Which outputs may move?"
        Only the last one. This test, in evaluation mode and on the whole text, finds every leaking
        mask of this museum.

    ??? question "Which parameter has a gradient of zero, but for rounding, and why?"
        The bias of the keys. It adds the same number to all scores of a query, and the softmax
        takes it out again.
    """
    d_model = heads * d_k
    attention = RightAttention(heads, d_model, 0.1)
    x = torch.randn(batch_size, seq_len, d_model)

    # The last key of every sequence is padding.
    mask = torch.ones(batch_size, seq_len, seq_len, dtype=torch.bool).tril()
    mask[:, :, -1] = False
    return attention(x), attention(x, mask)

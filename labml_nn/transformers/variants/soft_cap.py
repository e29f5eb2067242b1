r"""
---
title: Soft-Capped Scores
summary: Scores squeezed through a hyperbolic tangent, so that none gets beyond a cap.
paper:
  title: "Gemma 2: Improving Open Language Models at a Practical Size"
  authors: Gemma Team
  year: 2024
  link: https://arxiv.org/abs/2408.00118
---

Scores that run away make a softmax sharp and its gradient vanish.
[Normalising](query_key_norm.py) queries and keys is one remedy. Another leaves those
alone and bends the scores:

$$
S \leftarrow c \, \tanh\!\left(\frac{S}{c}\right)
$$

A score that is small beside the cap $c$ stays nearly what it was, and no score gets beyond it. A
hard cut at $c$ would give all that lies beyond it a gradient of zero; here it only
[gets smaller](soft_cap.py#slope), and order is kept: the key with the highest score stays that.

In Gemma 2 the cap is 50 in attention, and 30 for the logits of the last layer (section 2 of the
paper). Its successor, Gemma 3, normalises queries and keys instead
([report](https://arxiv.org/abs/2503.19786), section 2).

**There is no fast way here.** PyTorch's [kernel](../fast_attention.py) computes the scores inside,
and nothing can be put between them and the softmax. So all of them are written out,
`[seq_len_q, seq_len_k, batch_size, heads]`, and the hyperbolic tangent leaves one more tensor of
this size for the backward pass. The memory grows with the square of the length.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


def soft_cap(scores: Tensor, cap: float) -> Tensor:
    r"""
    ## The cap

    `scores` and the result are `[seq_len_q, seq_len_k, batch_size, heads]` here, but any shape
    will do: logits of a vocabulary are capped in the same way.
    """
    return cap * torch.tanh(scores / cap)


def slope(score: float, cap: float) -> float:
    r"""
    ## What is left of a gradient

    The derivative is $1 - \tanh^2(S/c)$: one at zero, 0.42 at the cap itself, 0.07 at twice the
    cap. A score far beyond hardly hears from the loss, but as every score that counts
    against it is bounded too, it has no reason to go there.
    """
    return 1 - math.tanh(score / cap) ** 2


def least_weight(cap: float, seq_len: int) -> float:
    r"""
    ## No key is ever quite shut out

    The worst that can happen to a visible key is a score of $-c$ when all others have $c$.
    A mask must therefore come *after* the cap. Minus infinity, capped, would be $-c$, and the
    hidden keys would have weight: with a small cap, a lot of it.
    """
    return 1 / (1 + (seq_len - 1) * math.exp(2 * cap))


class SoftCapAttention(MultiHeadAttention):
    r"""
    ## Attention with capped scores

    [Scores are all](../mha.py#MultiHeadAttention.get_scores) that is changed. As they are no
    longer plain products, the attention takes the readable way by itself, and masks them
    afterwards, as it should.
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        bias: bool = True,
        cap: float = 50.0,
    ) -> None:
        r"""
        * `cap` is what no score exceeds, a positive number

        The others are those of [MultiHeadAttention](../mha.py#MultiHeadAttention.__init__).
        """
        super().__init__(heads, d_model, dropout_prob, bias)
        if not cap > 0:
            raise ValueError(f"the cap of scores must be positive, got {cap}")
        self.cap = cap

    def get_scores(self, query: Tensor, key: Tensor) -> Tensor:
        r"""
        ### Capped scores

        From the query `[seq_len_q, batch_size, heads, d_k]`, divided by $\sqrt{d_k}$ already, and
        the key `[seq_len_k, batch_size, heads, d_k]`.
        """
        return soft_cap(super().get_scores(query, key), self.cap)


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In the place of the attention that the [transformer that
    writes](../basic/autoregressive_experiment.py) has. As that is a much smaller model than
    Gemma 2, its cap is lower, too.
    """
    return {"self_attn": lambda: SoftCapAttention(heads, d_model, dropout_prob, cap=5.0)}


def example(
    seq_len_q: int = 7,
    seq_len_k: int = 11,
    seq_len: int = 13,
    batch_size: int = 3,
    heads: int = 5,
    d_k: int = 2,
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Over a memory, and over its own past. Scores ten times the cap come out just below it.
    """
    d_model = heads * d_k
    attention = SoftCapAttention(heads, d_model, cap=2.0)
    memory = torch.randn(seq_len_k, batch_size, d_model)
    x = torch.randn(seq_len_q, batch_size, d_model)
    crossed = attention(query=x, key=memory, value=memory)

    x = torch.randn(seq_len, batch_size, d_model)
    causal = attention(query=x, key=x, value=x, mask=causal_mask(seq_len))
    capped = soft_cap(torch.tensor([0.1, 1.0, 20.0]), cap=2.0)
    return crossed, causal, capped

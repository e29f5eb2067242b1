r"""
---
title: Attention from Two Functions
summary: Many variants of attention, each said in a line for a single score; and run by hand.
paper:
  title: "Flex Attention: A Programming Model for Generating Optimized Attention Kernels"
  authors: Dong et al.
  year: 2024
  link: https://arxiv.org/abs/2412.05496
---

Most variants of [attention](../mha.py) change the scores between the product and the softmax. What
a variant does with a *single* score can be said in a function of a line:

* A *score function* takes a score and where it stands, and gives another score.
* A *mask function* takes where a score stands, and says whether it counts.

Where a score stands are four numbers: of the text in the batch `b`, the head `h`, the query `i` and
the key `j`. This page has four such functions, and runs them by hand, on all scores at once.
[FlexAttention](flex.py) makes a kernel of them.

Numbers have the layout of kernels, `[batch_size, heads, seq_len_q, d_k]`. Queries are scaled
before. The page leaves out groups of heads.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

# From a score, a text, a head, a query and a key to a score, and from the last four to true or
# false.
ScoreFunction = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
MaskFunction = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def see_the_past(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    r"""
    ## Causal

    The key must not be later than the query.
    """
    return i >= j


def see_everything(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    r"""
    ## No mask

    For those who need a function where nothing is hidden.
    """
    return (i >= 0) & (j >= 0)


def see_a_window(window: int) -> MaskFunction:
    r"""
    ## Sliding window

    The [positions just before](sliding_window.py), and itself.
    """
    return lambda b, h, i, j: (i >= j) & (i - j < window)


def add_distance(heads: int) -> ScoreFunction:
    r"""
    ## ALiBi

    The further back, the lower the score, in each of the `heads` with another slope
    ([Press et al. 2021](https://arxiv.org/abs/2108.12409)). Tokens need no positions then.
    """
    return lambda score, b, h, i, j: (
        score - torch.exp2(-8.0 / heads * (h + 1).to(score.dtype)) * (i - j)
    )


def cap_softly(cap: float) -> ScoreFunction:
    r"""
    ## Soft cap

    No score is beyond the cap, and small ones stay as they are
    ([Gemma 2](https://arxiv.org/abs/2408.00118)).
    """
    return lambda score, b, h, i, j: cap * torch.tanh(score / cap)


def everywhere(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    r"""
    ## Where all the scores stand

    The numbers of texts, heads, queries and keys, each along an axis of its own. A function for one
    score, called with these, is called for all at once.
    """
    b, h, i, j = (
        torch.arange(length, device=query.device) for length in (*query.shape[:3], key.shape[2])
    )
    return b[:, None, None, None], h[:, None, None], i[:, None], j


def by_hand(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: ScoreFunction | None,
    mask_mod: MaskFunction | None,
    dropout_prob: float = 0.0,
) -> tuple[Tensor, Tensor]:
    r"""
    ## By hand

    It holds all scores, and has all gradients. The results are the mean,
    `[batch_size, heads, seq_len_q, d_k]`, and the weights. A query that sees nothing gets zero.
    """
    # `[batch_size, heads, seq_len_q, seq_len_k]`
    place = everywhere(query, key)
    scores = query @ key.mT
    if score_mod is not None:
        scores = score_mod(scores, *place).to(query.dtype)
    if mask_mod is not None:
        scores = scores.masked_fill(~mask_mod(*place), -math.inf)

    # Only finite numbers take part in the softmax of a query that sees nothing.
    idle = (scores == -math.inf).all(dim=-1, keepdim=True)
    weights = scores.masked_fill(idle, 0.0).softmax(dim=-1).masked_fill(idle, 0.0)
    return F.dropout(weights, dropout_prob) @ value, weights


def example(
    seq_len_q: int = 7, seq_len_k: int = 11, batch_size: int = 3, heads: int = 5, d_k: int = 2
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Each of the functions once.
    """
    query = torch.randn(batch_size, heads, seq_len_q, d_k)
    key, value = torch.randn(2, batch_size, heads, seq_len_k, d_k)
    one, weights = by_hand(query, key, value, add_distance(heads), see_the_past)
    other, _ = by_hand(query, key, value, cap_softly(2.0), see_a_window(3))
    return one, weights, other

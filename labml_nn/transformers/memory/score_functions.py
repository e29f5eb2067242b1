r"""
---
title: Attention from Two Functions
summary: Many variants of attention, each said in a line for a single score.
paper:
  title: "Flex Attention: A Programming Model for Generating Optimized Attention Kernels"
  authors: Dong et al.
  year: 2024
  link: https://arxiv.org/abs/2412.05496
---

Many variants of [attention](../mha.py) change the scores before the softmax, and differ in nothing
else. Written as classes, they repeat each other. What a variant does to a *single* score can be
said in one line:

* A *score function* takes a score and where it stands, and gives another score.
* A *mask function* takes where a score stands, and says whether it counts.

Where a score stands are four numbers: the sequence $b$, the head $h$, the query $i$ and the key
$j$. Here is the causal mask, for one of 16 scores and for all of them:

```
causal(b=0, h=0, i=2, j=3)   False

causal(b=0, h=0, i=i, j=j)   1 0 0 0
                             1 1 0 0
                             1 1 1 0
                             1 1 1 1
```

[Three functions of this page, called with all indices at
once](../../../results/memory_drawings.json#figures.functions)

**In:** query, key and value in the layout of kernels, `[batch_size, heads, seq_len_q, d_k]`, and
the two functions. **Out:** the average of the values, and the weights. Everything is computed on
all scores at once; [FlexAttention](flex.py) makes a kernel of the same functions. The page leaves
out heads that share their keys.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

# The first is called with a score, `b`, `h`, `i` and `j`, the second with the last four of these.
ScoreFunction = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
MaskFunction = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def causal(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    r"""
    ## Causal mask

    The key must not be later than the query.
    """
    # For one pair true or false; for tensors of indices a tensor.
    return i >= j


def sliding_window(window: int) -> MaskFunction:
    r"""
    ## Sliding window

    The [last positions](sliding_window.py), the query's own included.
    """
    # A variant with a number of its own is a function that returns a function.
    return lambda b, h, i, j: (i >= j) & (i - j < window)


def alibi(heads: int) -> ScoreFunction:
    r"""
    ## ALiBi

    The further back the key, the lower the score, with another slope in each of the `heads`
    ([Press et al. 2021](https://arxiv.org/abs/2108.12409)). These slopes are the paper's if the
    number of heads is a power of two; for other numbers there is [another
    rule](../positions/alibi.py#slopes). It needs the causal mask, since a later key would get a
    *higher* score. No positions are added to tokens then.
    """

    def score_mod(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        # Each head has another reach: slopes of 1/4, 1/16, 1/64 and 1/256 for four heads.
        slope = torch.exp2(-8.0 / heads * (h + 1))
        return score - slope * (i - j)

    return score_mod


def soft_cap(cap: float) -> ScoreFunction:
    r"""
    ## Soft cap

    No score gets beyond the cap, and small scores stay nearly as they are
    ([Gemma 2](https://arxiv.org/abs/2408.00118)).
    """
    # $\tanh x$ is nearly $x$ for small $x$, and never beyond 1.
    return lambda score, b, h, i, j: cap * torch.tanh(score / cap)


def indices(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    r"""
    ## Indices of all scores

    The numbers of sequences, heads, queries and keys, each along an axis of its own. PyTorch
    broadcasts what has different axes, so a function that is written for one score gives all of
    them at once when it is called with these. Query 0 stands at key 0. So for new tokens with a
    cache, the functions would have to add an offset to `i`.
    """
    # For 3 queries and 4 keys, `i` counts 0, 1, 2 and `j` counts 0, 1, 2, 3.
    device = query.device

    # Sequences and heads.
    b = torch.arange(query.shape[0], device=device)
    h = torch.arange(query.shape[1], device=device)

    # Queries and keys. Their numbers can differ.
    i = torch.arange(query.shape[2], device=device)
    j = torch.arange(key.shape[2], device=device)

    # Axes 0, 1, 2 and 3 of the scores. `i >= j` then has two axes, and is the same for all
    # sequences and heads; a slope that depends on `h` has one more.
    return b[:, None, None, None], h[:, None, None], i[:, None], j


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: ScoreFunction | None = None,
    mask_mod: MaskFunction | None = None,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Attention with two functions

    The average of the values, `[batch_size, heads, seq_len_q, d_k]`, and the weights. A query that
    may look at nothing gets zero.
    """
    # All of them: `[batch_size, heads, seq_len_q, seq_len_k]`.
    scores = query @ key.mT / math.sqrt(query.shape[-1])

    # Called once, for all scores. A kernel has the function in its inner loop, for each tile.
    if score_mod is not None:
        scores = score_mod(scores, *indices(query, key))

    # Without a mask there is only the softmax.
    if mask_mod is None:
        weights = scores.softmax(dim=-1)
        return weights @ value, weights

    # As in [multi-head attention](../mha.py#MultiHeadAttention.forward): the smallest finite score
    # for hidden keys, and no weights where nothing is visible. What a mask function gives has fewer
    # axes if it looks at `i` and `j` only, and fits all sequences and heads.
    visible = mask_mod(*indices(query, key))
    scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1).masked_fill(~visible, 0)
    return weights @ value, weights


def example(
    seq_len_q: int = 7, seq_len_k: int = 11, batch_size: int = 3, heads: int = 5, d_k: int = 2
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Each of the functions once.

    ### Exercises

    ??? question "Two documents in one sequence must not see each other. Write the mask function."
        With “document”, the number of the document at each position:
        “lambda b, h, i, j: (document[i] == document[j]) & (i >= j)”.

    ??? question "Write a score function that lets only even heads see distances."
        “lambda score, b, h, i, j: score - (h % 2 == 0) * (i - j)”.

    ??? question "Can a score function do what a mask function does? Why are there two?"
        It can return the smallest score, as long as each query sees some key. (One that sees none
        would get the mean of all values, not zero.) And a kernel that knows the mask function
        needn't compute what it hides.

    ??? question "A soft cap of 50 and a score of 100: what comes out?"
        50 · tanh(2) = 48.2.
    """
    # In the layout of kernels: a matrix of queries for each head of each sequence.
    query = torch.randn(batch_size, heads, seq_len_q, d_k)
    key, value = torch.randn(2, batch_size, heads, seq_len_k, d_k)

    # Two variants without a class: ALiBi under a causal mask, and a window with capped scores.
    # (Five heads are no power of two; they are here for the shapes.)
    far, weights = attend(query, key, value, alibi(heads), causal)
    near, _ = attend(query, key, value, soft_cap(2.0), sliding_window(3))
    return far, weights, near

r"""
---
title: Attention with Linear Biases
summary: Each score loses a penalty that grows with the distance, at another rate in each head.
paper:
  title: "Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation"
  authors: Press, Smith and Lewis
  year: 2021
  link: https://arxiv.org/abs/2108.12409
terms:
  ALiBi: Subtracts from each score a penalty that grows with the distance.
---

A text has four tokens. All scores of the last query are equal, so each key gets a quarter of the
weight, the farthest as much as the nearest. ALiBi subtracts a penalty from each score, here 1/2 for
each step back (a row for each query, a column for each key, under a causal mask):

```
0.0
0.5  0.0
1.0  0.5  0.0
1.5  1.0  0.5  0.0
```

Now the last query gives its four keys the weights 0.10, 0.17, 0.28 and 0.46: near counts more than
far. Nothing is added to the tokens themselves.

$$
S_{ijh} = \frac{q_i \cdot k_j}{\sqrt{d_k}} - m_h \, |i - j|
$$

Here $q_i$ is the query at position $i$, $k_j$ the key at position $j$, $d_k$ their width, and $m_h$
the *slope* of head $h$, which is not learned.

A text can be longer than those of training: all that is new about a far key is a larger penalty. A
model that was trained on 64 characters and reads 512 has a loss of
[2.785](../../../results/extrapolation.json#tables.losses.sines.at512) with
[sines](../positional_encoding.py), and of
[2.076](../../../results/extrapolation.json#tables.losses.ALiBi.at512) with ALiBi.

**In** and **out** are those of [attention](../mha.py). A head with a steep slope sees a few
neighbours, one with a gentle slope nearly everything. The price: what a model sees of a long text
is mostly its near past.
"""

import math

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


def slopes(heads: int) -> list[float]:
    r"""
    ## Slopes

    For $n$ heads, a power of two, $2^{-8/n}, 2^{-16/n}, \ldots, 2^{-8}$: each slope is the one
    before it, times the same factor. Four heads have 1/4, 1/16, 1/64 and 1/256. The paper also
    tried learned slopes, and those extrapolated less well.
    """
    # The rule is for powers of two, so begin with the largest one that isn't above `heads`.
    power = 2 ** int(math.log2(heads))
    regular = [2 ** (-8 * (h + 1) / power) for h in range(power)]

    # For other numbers, the authors' code takes the rest from the slopes of twice as many heads.
    # Every other one of those is new: the first is above the slopes that are there already, the
    # others lie between two of them.
    between = [2 ** (-4 * (h + 1) / power) for h in range(0, 2 * power, 2)]
    return regular + between[: heads - power]


class AlibiAttention(MultiHeadAttention):
    r"""
    ## Attention with linear biases
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.1, bias: bool = True
    ) -> None:
        r"""
        The arguments are those of [attention](../mha.py#MultiHeadAttention).
        """
        super().__init__(heads, d_model, dropout_prob, bias)

        # Not learned, and easy to make again, so not saved: `[heads]`.
        self.register_buffer("slopes", torch.tensor(slopes(heads)), persistent=False)

    def get_scores(self, query: Tensor, key: Tensor) -> Tensor:
        r"""
        ### Scores with penalties

        `[seq_len_q, seq_len_k, batch_size, heads]`. If there are fewer queries than keys, the
        queries are the *last* positions: a model that writes has one new query, and the keys of the
        whole text. Counted from 0, that query would take all keys for its future.

        [The weights of eight positions whose scores are all
        equal](../../../results/family_drawings.json#figures.alibi)
        """
        # The positions of the keys, and those of the queries among them, never more than the keys.
        j = torch.arange(len(key), device=key.device)
        i = j[len(key) - len(query) :]

        # How far is each key from each query? `[seq_len_q, seq_len_k]`
        distances = (i[:, None] - j).abs()

        # Times the slope of each head. The axis between is the batch: all sequences have the same
        # penalties, `[seq_len_q, seq_len_k, 1, heads]`.
        penalties = distances[:, :, None, None] * self.slopes

        # The past and the future are penalised alike. A causal mask hides the future anyway.
        # A penalty of 1 makes a weight $e = 2.7$ times smaller beside those without one.
        return super().get_scores(query, key) - penalties


def in_transformer(*, d_model: int, heads: int, dropout_prob: float, **_: float) -> dict:
    r"""
    ## In a transformer

    In the place of attention.
    """
    # Scores know the distances now, so nothing is added to the tokens.
    return {
        "self_attn": lambda: AlibiAttention(heads, d_model, dropout_prob),
        "positions": nn.Identity,
    }


def example(
    seq_len_k: int = 7, seq_len_q: int = 2, batch_size: int = 3, heads: int = 5, d_k: int = 11
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A text under a causal mask, and its end alone, with the keys of all of it.

    ### Measured here

    From 64 to 512 characters the loss with sines rises from
    [2.187](../../../results/extrapolation.json#tables.losses.sines.at64), and that with ALiBi stays
    where it was, at [2.089](../../../results/extrapolation.json#tables.losses.ALiBi.at64). But it
    is not the best at the length of training: [rotary positions](../rotary.py) have
    [1.989](../../../results/extrapolation.json#tables.losses.rotary.at64) there ([all of
    them](extrapolation.py)).

    Must the penalty go on growing? No. Let it stop at the distance 63, the greatest of training,
    and the loss at 512 characters is 2.087 in place of 2.080 (one seed). Let it stop at 15, and the
    loss rises to 2.397. What keeps it level is that far keys have a large penalty, and one that
    training has seen will do.

    ### Where it departs from the paper

    The paper only looks at the past. Here a key *after* the query is as far away as one before it.

    ### Exercises

    ??? question "Which slopes do two heads have?"
        $2^{-4} = 1/16$ and $2^{-8} = 1/256$.

    ??? question "Two equal scores, one at hand, one 10 positions away, slope 1/4: which weights?"
        The penalty is 2.5, so the weight of the far key is $e^{-2.5} = 0.08$ times that of the
        near one.

    ??? question "All slopes are 0. What is left?"
        Attention without positions. With a causal mask only, the model of the measurement above
        reaches [2.335](../../../results/extrapolation.json#tables.losses.none.at64).

    ??? question "Count queries from 0, whatever the keys are. How do you notice?"
        Not with whole texts. Write token by token with the keys of the text so far: the results are
        others than those of reading the text at once.
    """
    d_model = heads * d_k
    attention = AlibiAttention(heads, d_model)

    # Each query sees the keys up to its own.
    x = torch.randn(seq_len_k, batch_size, d_model)
    mask = causal_mask(seq_len_k)
    whole = attention(query=x, key=x, value=x, mask=mask)

    # The last queries alone have the last rows of the mask, and get the same penalties.
    end = attention(query=x[-seq_len_q:], key=x, value=x, mask=mask[-seq_len_q:])
    return whole, end

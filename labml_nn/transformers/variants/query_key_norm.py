r"""
---
title: Query-Key Normalisation
summary: Queries and keys are normalised, so their lengths can't make scores run away.
paper:
  title: Query-Key Normalization for Transformers
  authors: Henry et al.
  year: 2020
  link: https://arxiv.org/abs/2010.04245
terms:
  query-key normalisation: Normalises queries and keys, so that only gains make scores large.
---

A score is the dot product of a query and a key, and nothing in [attention](../mha.py) limits their
lengths. Take the query $(3, 4)$ and the keys $(3, 4)$ and $(4, 3)$. Then let training make all
three vectors three times as long. No angle changes, but the scores grow ninefold:

| | first score | second score | weights |
| --- | ---: | ---: | --- |
| as they are | 17.7 | 17.0 | 0.67 and 0.33 |
| three times as long | 159.1 | 152.7 | 0.998 and 0.002 |
| normalised, at any length | 1.41 | 1.36 | 0.51 and 0.49 |

In the second row the softmax passes almost no gradient to the second key. In large models the loss
then jumps.

So queries and keys are normalised before they are multiplied. What remains of a score is the
*angle* between query and key. In a small model, trained for 500 steps with ten times the usual
learning rate, the largest score is
[50.5](../../../results/families.json#tables.limits.multi-head%20attention,%20ten%20times%20the%20rate.score)
without the normalisation and
[8.6](../../../results/families.json#tables.limits.normalised%20queries%20and%20keys,%20ten%20times%20the%20rate.score)
with it:

[The largest score while training](../../../results/families.json#figures.scores)

**In** and **out** are those of multi-head attention: queries, keys and values, here all from one
sequence, `[seq_len, batch_size, d_model]`, and one vector for each query.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, PrepareForMultiHeadAttention, causal_mask


class NormalisedProjection(PrepareForMultiHeadAttention):
    r"""
    ## Projection, then normalisation
    """

    def __init__(self, d_model: int, heads: int, d_k: int, bias: bool, eps: float) -> None:
        r"""
        * `eps` keeps a vector of zeros from being divided by zero

        The other arguments are those of [the
        projection](../mha.py#PrepareForMultiHeadAttention.__init__).
        """
        # The linear layer and the split into heads are inherited.
        super().__init__(d_model, heads, d_k, bias)

        # PyTorch's own [RMSNorm](../rms_norm.py). It has one gain, which it calls `weight`, for
        # each of the $d_k$ features, so all heads share them.
        self.norm = nn.RMSNorm(d_k, eps)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        From `[..., d_model]` to `[..., heads, d_k]`.
        """
        # Each head's vector is divided by its own size. Before the split, one head with large
        # features would make those of all others small.
        return self.norm(super().forward(x))


class QueryKeyNormAttention(MultiHeadAttention):
    r"""
    ## Attention with normalised queries and keys

    Takes the place of [multi-head attention](../mha.py#MultiHeadAttention).

    $$
    S_{ij} = \frac{1}{\sqrt{d_k}}
    \left( g^Q \odot \frac{q_i}{\operatorname{rms}(q_i)} \right) \cdot
    \left( g^K \odot \frac{k_j}{\operatorname{rms}(k_j)} \right)
    $$

    $q_i$ and $k_j$ are the query at position $i$ and the key at position $j$ of one head,
    $\operatorname{rms}$ is the root of the mean square of the $d_k$ features, and $g^Q$ and $g^K$
    are learned *gains*, one for each feature, shared by the heads.
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        bias: bool = True,
        eps: float = 1e-6,
    ) -> None:
        r"""
        * `eps` is that of the normalisation

        The other arguments are those of multi-head attention.
        """
        super().__init__(heads, d_model, dropout_prob, bias)

        # Two of the three projections are replaced, and `forward` stays as it is. Values keep their
        # lengths: a value's size is part of what it says.
        self.query = NormalisedProjection(d_model, heads, self.d_k, bias, eps)
        self.key = NormalisedProjection(d_model, heads, self.d_k, bias, eps)

    def largest_score(self) -> Tensor:
        r"""
        ### The largest possible score

        Whatever the weights of the projections are, no score is larger. At the start, with gains of
        1 and $d_k = 32$, that is 5.66.
        """
        # In the dot product, the gains of query and key are multiplied feature by feature.
        gains = self.query.norm.weight * self.key.norm.weight

        # A dot product is at most the product of the two lengths. Both vectors are $\sqrt{d_k}$
        # long before the gains, so theirs is at most $d_k \max_d |g^Q_d g^K_d|$. Divided by
        # $\sqrt{d_k}$, that is the score.
        return gains.abs().max() * math.sqrt(self.d_k)


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In the place of the attention of the
    [small transformer](../basic/autoregressive_experiment.py).
    """
    # Each layer has gains of its own.
    return {"self_attn": lambda: QueryKeyNormAttention(heads, d_model, dropout_prob)}


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 2
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    Causal self-attention, and the largest score that it could have.

    ### Measured here

    In a small model the largest score after 500 steps is
    [17.5](../../../results/families.json#tables.limits.multi-head%20attention.score) without and
    [6.3](../../../results/families.json#tables.limits.normalised%20queries%20and%20keys.score) with
    the normalisation, and with ten times the learning rate
    [50.5](../../../results/families.json#tables.limits.multi-head%20attention,%20ten%20times%20the%20rate.score)
    and
    [8.6](../../../results/families.json#tables.limits.normalised%20queries%20and%20keys,%20ten%20times%20the%20rate.score).
    The loss is about the same,
    [2.213](../../../results/families.json#tables.losses.multi-head%20attention.loss) and
    [2.200](../../../results/families.json#tables.losses.normalised%20queries%20and%20keys.loss);
    with the high rate the normalisation seems to be ahead, though the seeds of both overlap,
    [2.271](../../../results/families.json#tables.limits.multi-head%20attention,%20ten%20times%20the%20rate.loss)
    and
    [2.238](../../../results/families.json#tables.limits.normalised%20queries%20and%20keys,%20ten%20times%20the%20rate.loss)
    (means of three seeds).

    ### Scores of random tokens

    Here are 64 random tokens, four heads of $d_k = 32$ features and fresh weights. Queries and keys
    are multiplied by a factor, as training might do:

    [The largest score, and the mean of the largest weight of each
    query](../../../results/family_drawings.json#tables.lengths)

    Plain scores grow with the square of the factor. Normalised ones don't change.

    ### Where it departs from the paper

    The paper makes each vector one long, and learns a single
    factor, the *temperature*, in the place of $1 / \sqrt{d_k}$. Here, as in most models that
    normalise queries and keys today, it is [RMSNorm](../rms_norm.py): its result is $\sqrt{d_k}$
    long, and the gains can make scores larger again. With [rotary positions](../rotary.py), which
    are left out here, queries and keys are rotated after the normalisation.

    [Dehghani et al. 2023](https://arxiv.org/abs/2302.05442) saw the jump of the loss at 8 billion
    parameters.

    ### Exercises

    ??? question "All queries become a hundred times as long. What changes?"
        Nothing, but for the tiny `eps`: the normalisation divides the factor out again.

    ??? question "All values become a hundred times as long. What changes?"
        The result of the heads is a hundred times as large. Values aren't normalised.

    ??? question "A key has the query's direction, 63 others are orthogonal to it. Its weight?"
        With $d_k = 32$ and gains of 1, its score is $\sqrt{32} = 5.66$ and the others are 0, so the
        weight is $1 / (1 + 63 e^{-5.66}) = 0.82$. With a factor of 1 in place of $\sqrt{32}$ it
        would be 0.04: a bound that is too low makes it impossible to look at one key.

    ??? question "Among 1,000 keys that weight is 0.22. How can the model raise it?"
        By larger gains: with a gain $g$ everywhere the score is $g^2 \sqrt{d_k}$ times the cosine
        of the angle. The paper starts its temperature at $\log_2(L^2 - L)$ for texts of length
        $L$, which is 12 for 64 positions.

    ??? question "Normalise all heads together, before they are split. How do you notice?"
        Make one head's features large: all other heads get small ones. The loss tells little. We
        did it to a trained model, and its loss rose from 2.191 to 2.216 (one seed): its heads are
        about equally large.
    """
    # Fresh gains are 1, so the largest possible score is $\sqrt{d_k}$ here.
    d_model = heads * d_k
    attention = QueryKeyNormAttention(heads, d_model)
    x = torch.randn(seq_len, batch_size, d_model)
    x = attention(query=x, key=x, value=x, mask=causal_mask(seq_len))

    # The bound is a property of the module, and no text is needed to know it.
    return x, attention.largest_score()

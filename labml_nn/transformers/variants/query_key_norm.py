r"""
---
title: Query-Key Normalisation
summary: Queries and keys of a known length, so that no score can run away.
paper:
  title: Query-Key Normalization for Transformers
  authors: Henry et al.
  year: 2020
  link: https://arxiv.org/abs/2010.04245
---

A score is a product of a query and a key, and nothing in [attention](../mha.py) bounds their
lengths. In training they grow. Once the scores are some ten apart, one key gets all the weight and
the softmax next to no gradient; in large models the loss then jumps
([Dehghani et al. 2023](https://arxiv.org/abs/2302.05442) saw it at 8 billion parameters).

So queries and keys are normalised, each head's by itself, before they are multiplied. What is left
of a score is the *angle* between the two, and a factor that says how much an angle counts:

$$
S_{ij} = \frac{1}{\sqrt{d_k}}
\left( g^Q \odot \frac{q_i}{\operatorname{rms}(q_i)} \right) \cdot
\left( g^K \odot \frac{k_j}{\operatorname{rms}(k_j)} \right)
$$

The page departs from the paper in that factor. There vectors get the length one, and a single
number, the *temperature*, is learned in the place of $1/\sqrt{d_k}$. Here, as in most
models that do this today, it is [RMSNorm](../rms_norm.py), which gives them the length
$\sqrt{d_k}$, with a gain for each feature of a head, the same for all heads. Equal gains
[are a temperature](query_key_norm.py#gain_of). With [rotary positions](../rotary.py), queries and
keys are turned after the normalisation. That is left out here.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import (
    MultiHeadAttention,
    PrepareForMultiHeadAttention,
    causal_mask,
)
from labml_nn.transformers.rms_norm import RMSNorm


class NormalisedProjection(PrepareForMultiHeadAttention):
    r"""
    ## Project, then normalise

    The normalisation comes last and sees one head at a time: a loud head doesn't make the others
    quiet.
    """

    def __init__(self, d_model: int, heads: int, d_k: int, bias: bool, eps: float) -> None:
        r"""
        * `eps` is added to the mean square, so that a vector of zeros stays one

        The others are those of [PrepareForMultiHeadAttention](../mha.py).
        """
        super().__init__(d_model, heads, d_k, bias)
        self.norm = RMSNorm(d_k, eps)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        ### Project, split and normalise

        From `[..., d_model]` to `[..., heads, d_k]`.
        """
        return self.norm(super().forward(x))


class QueryKeyNormAttention(MultiHeadAttention):
    r"""
    ## Attention with normalised queries and keys

    Only the projections are other ones. Values keep their lengths: those are what is handed over.
    The scores are still products, so the [fast way](../fast_attention.py) is open.
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

        The others are those of [MultiHeadAttention](../mha.py#MultiHeadAttention.__init__).
        """
        super().__init__(heads, d_model, dropout_prob, bias)
        self.query = NormalisedProjection(d_model, heads, self.d_k, bias, eps)
        self.key = NormalisedProjection(d_model, heads, self.d_k, bias, eps)

    def largest_score(self) -> Tensor:
        r"""
        ### No score is larger

        A product of two vectors is at most that of their lengths, here $\sqrt{d_k}$ each, one of
        them stretched by both gains: at most $\sqrt{d_k} \max_d |g^Q_d g^K_d|$ after the usual
        scaling. The weights of the projections have no say in it.
        """
        gains = self.query.norm.gain * self.key.norm.gain
        return gains.abs().max() * math.sqrt(self.d_k)


def gain_of(temperature: float, d_k: int) -> float:
    r"""
    ## A temperature, as a gain

    With the gain $g$ for all features of queries and keys, a score is $g^2 \sqrt{d_k}$ times the
    cosine of the angle between the two. That factor is the paper's temperature.
    """
    return math.sqrt(temperature / math.sqrt(d_k))


def first_temperature(seq_len: int) -> float:
    r"""
    ## Where the temperature starts

    All cosines are at most one, and with a small factor the softmax couldn't be sharp: the longer
    the sequence, the larger the crowd that one key has to be heard over. The paper starts at
    $\log_2(L^2 - L)$, where $L$ is a length that few sequences exceed. Gains of one
    are the temperature $\sqrt{d_k}$, which knows nothing of lengths, and are learned from there.
    """
    if seq_len < 2:
        raise ValueError(f"a temperature needs a length of at least 2, got {seq_len}")
    return math.log2(seq_len**2 - seq_len)


def largest_weight(temperature: float, seq_len: int) -> float:
    r"""
    ## The sharpest softmax

    One key has the cosine $1$ and all others $-1$. With a temperature of one, the best
    of a thousand keys can't get a hundredth of the weight.
    """
    others = (seq_len - 1) * math.exp(-2 * temperature)
    return 1 / (1 + others)


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In the place of the attention that the [transformer that
    writes](../basic/autoregressive_experiment.py) has.
    """
    return {"self_attn": lambda: QueryKeyNormAttention(heads, d_model, dropout_prob)}


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 2
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Once as it starts, and once with gains that are the paper's temperature.
    """
    d_model = heads * d_k
    attention = QueryKeyNormAttention(heads, d_model)
    x = torch.randn(seq_len, batch_size, d_model)
    mask = causal_mask(seq_len)
    started = attention(query=x, key=x, value=x, mask=mask)

    gain = gain_of(first_temperature(seq_len), d_k)
    with torch.no_grad():
        attention.query.norm.gain.fill_(gain)
        attention.key.norm.gain.fill_(gain)
    tempered = attention(query=x, key=x, value=x, mask=mask)
    largest_weight(attention.largest_score().item(), seq_len)
    return started, tempered

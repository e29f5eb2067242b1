r"""
---
title: SwiGLU
summary: A feed-forward network in which one projection opens and closes another.
paper:
  title: GLU Variants Improve Transformer
  authors: Shazeer
  year: 2020
  link: https://arxiv.org/abs/2002.05202
---

The [feed-forward network](feed_forward.py) can only add up what its hidden features say. Here two
projections of a token are *multiplied*, so that one decides how much of the other passes:

$$
\operatorname{SwiGLU}(x) = \bigl( \operatorname{Swish}(x W) \odot x V \bigr) W_2
\qquad
\operatorname{Swish}(z) = \frac{z}{1 + e^{-z}}
$$

Why this learns better is not known; the paper's own explanation ends with "divine
benevolence". It has three matrices where there were two, so at the same number of weights `d_ff` is
two thirds of what it was. Nothing is left out; it departs from the paper in dropout.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.stacked_linear import StackedLinear


class SwiGLU(nn.Module):
    r"""
    ## A gated feed-forward network
    """

    def __init__(self, d_model: int, d_ff: int, dropout_prob: float = 0.0) -> None:
        r"""
        * `d_model` is the number of features that come in and go out
        * `d_ff` is the number of hidden features
        * `dropout_prob` is the probability that a hidden feature is dropped
        """
        super().__init__()
        # Gate and values come out of [one product](stacked_linear.py).
        self.widen = StackedLinear(2, d_model, d_ff)
        self.dropout = nn.Dropout(dropout_prob)
        self.narrow = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        ### Apply at each position

        `x` and the result are `[seq_len, batch_size, d_model]`.
        """
        # Wider in between, `[seq_len, batch_size, d_ff]`.
        gate, values = self.widen(x).chunk(2, dim=-1)
        hidden = F.silu(gate) * values
        return self.narrow(self.dropout(hidden))


def in_transformer(
    *, d_model: int, d_ff: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    With three matrices where the [transformer that writes](basic/autoregressive_experiment.py) has
    two. So they are two thirds as wide, for as many weights.
    """
    narrower = max(1, 2 * d_ff // 3)
    return {"feed_forward": lambda: SwiGLU(d_model, narrower, dropout_prob)}


def example(seq_len: int = 7, batch_size: int = 3, d_model: int = 5, d_ff: int = 11) -> Tensor:
    r"""
    ## Example
    """
    network = SwiGLU(d_model, d_ff)
    return network(torch.randn(seq_len, batch_size, d_model))

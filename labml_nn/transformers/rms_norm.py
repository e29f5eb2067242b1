r"""
---
title: RMSNorm
summary: Features divided by their usual size, with no mean taken off.
paper:
  title: Root Mean Square Layer Normalization
  authors: Zhang and Sennrich
  year: 2019
  link: https://arxiv.org/abs/1910.07467
---

Layer normalisation subtracts from the features of a token their mean, and divides them by their
standard deviation. The paper found that the second part is what helps. What is left is one division
by the *root mean square*,

$$
\operatorname{RMSNorm}(x) = g \odot \frac{x}{\sqrt{\frac{1}{d} \sum_i x_i^2 + \epsilon}}
$$

The direction of $x$ stays as it is, and its length becomes $\sqrt{d}$. That is all that
is wanted of a normalisation, and so it serves in more places than between layers: queries and
keys of attention, embeddings, whatever should have a known size.

The gain $g$, a number for each feature, is learned. Where a linear layer follows it can be left
out, because the layer's weights can do the same.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn


def rms_norm(x: Tensor, eps: float = 1e-6) -> Tensor:
    r"""
    ## Divide by the usual size

    `x` and the result are `[..., d_model]`, with any axes before the last. Squares of 16-bit
    numbers overflow or vanish, so they are taken with 32 bits.
    """
    wide = x.float() if x.element_size() == 2 else x
    return (wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps)).to(x.dtype)


class RMSNorm(nn.Module):
    r"""
    ## With a gain
    """

    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        r"""
        * `d_model` is the number of features
        * `eps` keeps a token of zeros from being divided by zero
        """
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        r"""
        ### Normalise

        `x` and the result are `[seq_len, batch_size, d_model]`.
        """
        return rms_norm(x, self.eps) * self.gain


def in_transformer(*, d_model: int, **_: float) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    Everywhere that the [transformer that writes](basic/autoregressive_experiment.py) normalises:
    before each part of a layer, and at the end.
    """
    places = ("norm_self_attn", "norm_ff", "norm")
    return {place: lambda: RMSNorm(d_model) for place in places}


def example(seq_len: int = 7, batch_size: int = 3, d_model: int = 5) -> Tensor:
    r"""
    ## Example
    """
    x = torch.randn(seq_len, batch_size, d_model)
    return RMSNorm(d_model)(x)

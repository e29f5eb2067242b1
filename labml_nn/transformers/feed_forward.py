r"""
---
title: Feed-Forward Network
summary: Two linear layers with an activation between them, applied at each position.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

[Attention](mha.py) carries information from position to position, but what comes out is
a mean of values, linear in them. This network takes the features of one position at a
time, the same way at each, and combines them in ways that are not linear. It comes
after attention in every layer, and with the paper's `d_ff` of four times `d_model` it
holds two thirds of the layer's weights.

The page leaves out gated variants, in which two linear layers are multiplied. It
departs from section 3.3 of the paper in one thing that has become usual, dropout after
the activation.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn


class FeedForward(nn.Module):
    r"""
    ## Feed-forward network

    $$
    \operatorname{FFN}(x) = \max(0,\, x W_1 + b_1)\, W_2 + b_2
    $$

    The maximum with zero is the paper's activation, a rectifier. Without any, the two
    layers would be no more than a single linear one.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        dropout_prob: float = 0.1,
        activation: Callable[[], nn.Module] = nn.ReLU,
        bias: bool = True,
    ) -> None:
        r"""
        * `d_model` is the number of features that come in and go out
        * `d_ff` is the number of hidden features, between the two layers
        * `dropout_prob` is the probability that a hidden feature is dropped
        * `activation` is called to make the activation, so that no two networks share
          one
        * `bias` says whether the two linear layers have biases
        """
        super().__init__()
        self.layer1 = nn.Linear(d_model, d_ff, bias=bias)
        self.activation = activation()
        self.dropout = nn.Dropout(dropout_prob)
        self.layer2 = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        ### Apply at each position

        `x` and the result are `[seq_len, batch_size, d_model]`; the network acts along
        the last axis only, and the others may be any.
        """
        # The only place where positions get wider: `[seq_len, batch_size, d_ff]`.
        hidden = self.activation(self.layer1(x))
        hidden = self.dropout(hidden)
        return self.layer2(hidden)


def in_transformer(
    *, d_model: int, d_ff: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    With the paper's rectifier, in the place where the [transformer that
    writes](basic/autoregressive_experiment.py) has GELU, which is smooth around zero.
    """
    return {"feed_forward": lambda: FeedForward(d_model, d_ff, dropout_prob)}


def example(
    seq_len: int = 7, batch_size: int = 3, d_model: int = 5, d_ff: int = 11
) -> Tensor:
    r"""
    ## Example

    With another activation than the paper's.
    """
    feed_forward = FeedForward(d_model, d_ff, activation=nn.GELU)
    x = torch.randn(seq_len, batch_size, d_model)
    return feed_forward(x)

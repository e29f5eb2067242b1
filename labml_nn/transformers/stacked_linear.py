r"""
---
title: Stacked Linear Layers
summary: Several linear layers over the same input as one product, and still several matrices.
---

Attention projects a token to a query, a key and a value; a gated network projects it to a gate and
to what it gates. Several small products over the same input take longer than one large one, so
they are often written as a single layer whose result is cut apart.

Then an optimizer that looks at matrices, such as [Muon](../optimizers/muon.py), sees a
large matrix that isn't one: its three parts have nothing to do with each other. Here the
weights keep an axis for the parts, and only the product forgets it.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class StackedLinear(nn.Module):
    r"""
    ## Stacked linear layers

    Without biases.
    """

    def __init__(self, n_layers: int, d_in: int, d_out: int) -> None:
        r"""
        * `n_layers` is the number of linear layers
        * `d_in` is the number of features that come in
        * `d_out` is the number of features that come out of each
        """
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_layers, d_out, d_in))

        # With this bound, features of variance 1 have variance 1 afterwards.
        bound = math.sqrt(3 / d_in)
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        ### Project

        From `[seq_len, batch_size, d_in]` to `[seq_len, batch_size, n_features]`, the `d_out`
        features of the first layer first.
        """
        # The product sees one matrix, `[n_features, d_in]`.
        matrix = self.weight.flatten(0, 1)
        return F.linear(x, matrix)


def example(
    n_layers: int = 2, seq_len: int = 7, batch_size: int = 3, d_in: int = 5, d_out: int = 11
) -> Tensor:
    r"""
    ## Example
    """
    n_features = n_layers * d_out
    layers = StackedLinear(n_layers, d_in, d_out)
    result = layers(torch.randn(seq_len, batch_size, d_in))
    assert result.shape[-1] == n_features
    return result

r"""
---
title: Mamba
summary: A state of fixed size, and each token decides what it keeps, what it adds and what it reads.
know: ../transformers/variants/linear_attention.py
paper:
  title: "Mamba: Linear-Time Sequence Modeling with Selective State Spaces"
  authors: Gu and Dao
  year: 2023
  link: https://arxiv.org/abs/2312.00752
terms:
  selective scan: Carries a state from token to token, with weights that depend on the token.
  state space model: Carries a state along a sequence by linear steps, and reads results from it.
---
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def selective_scan(
    x: Tensor, step: Tensor, rates: Tensor, write: Tensor, read: Tensor
) -> tuple[Tensor, Tensor]:
    r"""
    ## Selective scan

    * `x` are the inputs, and `step` the steps, `[seq_len, batch_size, n_channels]`
    * `rates` are negative, `[n_channels, n_state]`
    * `write` and `read` are vectors for each token, `[seq_len, batch_size, n_state]`

    The results in the shape of `x`, and the last state.
    """
    # Nothing has been read yet. No axis is that of the sequence.
    state = x.new_zeros(*x.shape[1:], rates.shape[1])
    results = []
    for x_t, step_t, write_t, read_t in zip(x, step, write, read, strict=True):
        # What is kept of each number: between 0 and 1, as the rates are negative. A long step
        # forgets much.
        kept = (step_t.unsqueeze(-1) * rates).exp()

        # A long step also adds much. So one number decides between the past and this token.
        added = (step_t * x_t).unsqueeze(-1) * write_t.unsqueeze(1)
        state = kept * state + added

        # The token says which numbers of the state make the result.
        results.append((state * read_t.unsqueeze(1)).sum(dim=-1))
    return torch.stack(results), state


def causal_convolution(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    r"""
    ## Convolution

    Each channel becomes a weighted sum of itself at this position and the few before,
    `[seq_len, batch_size, n_channels]`. `weight` is `[n_channels, width]`.
    """
    # Zeros before the first position, none after the last one: nothing sees the future.
    width = weight.shape[1]
    padded = F.pad(x, (0, 0, 0, 0, width - 1, 0))

    # A window of `width` positions for each position, without a copy, and the last one is its own.
    return (padded.unfold(0, width, 1) * weight).sum(dim=-1) + bias


class Mamba(nn.Module):
    r"""
    ## Mamba
    """

    def __init__(self, d_model: int, n_channels: int, n_state: int = 16, width: int = 4) -> None:
        super().__init__()
        # Two copies: one goes through the scan, the other one becomes a gate.
        self.project = nn.Linear(d_model, 2 * n_channels, bias=False)

        # The short convolution, with the weights that PyTorch's `Conv1d` starts with.
        bound = 1 / math.sqrt(width)
        self.filter = nn.Parameter(torch.empty(n_channels, width).uniform_(-bound, bound))
        self.filter_bias = nn.Parameter(torch.empty(n_channels).uniform_(-bound, bound))

        # From the token: what to write and to read, and a few numbers for the steps. A matrix from
        # all channels to all channels would have as many weights as the rest together.
        self.sizes = [math.ceil(d_model / 16), n_state, n_state]
        self.select = nn.Linear(n_channels, sum(self.sizes), bias=False)
        self.steps = nn.Linear(self.sizes[0], n_channels)

        # At the start the steps are between 0.001 and 0.1, evenly on a logarithmic scale. This is
        # the inverse of the softplus below.
        steps = (0.001 * 100 ** torch.rand(n_channels)).expm1().log()
        self.steps.bias = nn.Parameter(steps)

        # Rates from 1 to `n_state`, so that some numbers of a state forget sooner than others. The
        # logarithm is trained, and the rate can't change its sign.
        rates = torch.arange(1.0, n_state + 1).repeat(n_channels, 1)
        self.log_rates = nn.Parameter(rates.log())

        # A way past the state, and the way out.
        self.skip = nn.Parameter(torch.ones(n_channels))
        self.output = nn.Linear(n_channels, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        # `[seq_len, batch_size, n_channels]` each.
        x, gate = self.project(x).chunk(2, dim=-1)

        # A token sees the three before it.
        x = F.silu(causal_convolution(x, self.filter, self.filter_bias))

        # Everything depends on the token: that is what is *selective*. Steps are positive.
        low, write, read = self.select(x).split(self.sizes, dim=-1)
        step = F.softplus(self.steps(low))

        # The scan, channel by channel, and the input itself.
        y, _ = selective_scan(x, step, -self.log_rates.exp(), write, read)
        y = y + self.skip * x

        # The gate can close what the state has to say at this token.
        return self.output(y * F.silu(gate))

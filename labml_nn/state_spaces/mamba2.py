r"""
---
title: Mamba-2
summary: With one decay for a whole head, the scan is a masked product of matrices.
know: mamba.py
paper:
  title: "Transformers are SSMs: Generalized Models and Efficient Algorithms Through Structured State Space Duality"
  authors: Dao and Gu
  year: 2024
  link: https://arxiv.org/abs/2405.21060
terms:
  state space duality: The same results by a scan, or by a product with a matrix of decays.
---
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.state_spaces.mamba import causal_convolution
from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.rms_norm import RMSNorm


def decays(log_kept: Tensor) -> Tensor:
    r"""
    ## Decays

    What is left at position $i$ of what was written at position $j$:
    `[seq_len, seq_len, batch_size, heads]` from `[seq_len, batch_size, heads]`.
    """
    # The product of what every position after $j$ has kept, up to $i$. Products of numbers are
    # sums of logarithms, and those are differences of running sums.
    total = log_kept.cumsum(dim=0)
    between = total.unsqueeze(1) - total.unsqueeze(0)

    # Nothing of what is written later. Before the exponential, as that would overflow.
    future = causal_mask(len(total)).to(total.device) == 0
    return between.masked_fill(future.unsqueeze(-1), -math.inf).exp()


def scan_in_chunks(
    x: Tensor, log_kept: Tensor, write: Tensor, read: Tensor, chunk_len: int = 64
) -> tuple[Tensor, Tensor]:
    r"""
    ## The scan in chunks
    """
    # `[batch_size, heads, d_head, n_state]`
    state = x.new_zeros(*x.shape[1:], write.shape[-1])
    results = []
    chunks = (one.split(chunk_len) for one in (x, log_kept, write, read))
    for x_c, log_kept_c, write_c, read_c in zip(*chunks, strict=True):
        # Inside the chunk: attention weights without a softmax, times the decays.
        left = decays(log_kept_c)
        weights = torch.einsum("ibn,jbn->ijb", read_c, write_c).unsqueeze(-1) * left
        y = torch.einsum("ijbh,jbhd->ibhd", weights, x_c)

        # From before the chunk: what the state had, less what has decayed since.
        since = log_kept_c.cumsum(dim=0).exp()
        y = y + torch.einsum("ibn,bhdn->ibhd", read_c, state) * since.unsqueeze(-1)
        results.append(y)

        # The state after the chunk. The last row of the decays says what is left of each position.
        state = state * since[-1, :, :, None, None]
        state = state + torch.einsum("jbh,jbhd,jbn->bhdn", left[-1], x_c, write_c)
    return torch.cat(results), state


class Mamba2(nn.Module):
    r"""
    ## Mamba-2
    """

    def __init__(
        self, heads: int, d_model: int, d_head: int, n_state: int = 16, width: int = 4
    ) -> None:
        super().__init__()
        self.heads, n_channels = heads, heads * d_head

        # At once: the gate, what goes through the convolution, and a step for each head.
        n_filtered = n_channels + 2 * n_state
        self.sizes = [n_channels, n_filtered, heads]
        self.project = nn.Linear(d_model, sum(self.sizes), bias=False)

        # Inputs, and what to write and read.
        self.filtered_sizes = [n_channels, n_state, n_state]
        bound = 1 / math.sqrt(width)
        self.filter = nn.Parameter(torch.empty(n_filtered, width).uniform_(-bound, bound))
        self.filter_bias = nn.Parameter(torch.empty(n_filtered).uniform_(-bound, bound))

        # As in [Mamba](mamba.py#Mamba), but one number for each head.
        self.step_bias = nn.Parameter((0.001 * 100 ** torch.rand(heads)).expm1().log())
        self.log_rates = nn.Parameter(torch.arange(1.0, heads + 1).log())
        self.skip = nn.Parameter(torch.ones(heads))

        # The results are normalised before the last projection.
        self.norm = RMSNorm(n_channels)
        self.output = nn.Linear(n_channels, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        # A token sees the three before it.
        gate, x, step = self.project(x).split(self.sizes, dim=-1)
        x = F.silu(causal_convolution(x, self.filter, self.filter_bias))
        x, write, read = x.split(self.filtered_sizes, dim=-1)

        # Steps, and what is kept by them, `[seq_len, batch_size, heads]`.
        step = F.softplus(step + self.step_bias)
        log_kept = -step * self.log_rates.exp()

        # `[seq_len, batch_size, heads, d_head]`
        x = x.unflatten(-1, (self.heads, -1))
        y, _ = scan_in_chunks(x * step.unsqueeze(-1), log_kept, write, read)
        y = (y + x * self.skip.unsqueeze(-1)).flatten(2)

        return self.output(self.norm(y * F.silu(gate)))

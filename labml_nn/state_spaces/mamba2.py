r"""
---
title: Mamba-2
summary: With one decay for a whole head, the scan is a matrix product under a mask.
know: mamba.py
paper:
  title: "Transformers are SSMs: Generalized Models and Efficient Algorithms Through Structured
    State Space Duality"
  authors: Dao and Gu
  year: 2024
  link: https://arxiv.org/abs/2405.21060
terms:
  state space duality: The same results by a scan, or by a product with a matrix of decays.
---

[Mamba's scan](mamba.py) is a loop over the tokens, one small operation after the other. Let each of
three tokens write 1 into a state that keeps half of itself at the second token and 0.8 at the
third:

```text
1
0.5 · 1   + 1 = 1.5
0.8 · 1.5 + 1 = 2.2
```

Each line waits for the one before it. But what is left of each token can be computed for all at
once: at the third token, 0.5 · 0.8 = 0.4 of the first, 0.8 of the second and 1 of the third. They
add up to 2.2. These are the rows of a matrix, and the scan becomes a product:

$$
\begin{pmatrix} 1 & & \\ 0.5 & 1 & \\ 0.4 & 0.8 & 1 \end{pmatrix}
\begin{pmatrix} 1 \\ 1 \\ 1 \end{pmatrix} =
\begin{pmatrix} 1 \\ 1.5 \\ 2.2 \end{pmatrix}
$$

For that, Mamba-2 gives up a little: its channels are cut into *heads*, and all numbers that a head
remembers are kept by the same share. In our small model a forward and backward pass takes
[2.3](../../results/state_spaces.json#tables.losses.Mamba-2.times) times as long as with attention,
with Mamba's loop [3.5](../../results/state_spaces.json#tables.losses.Mamba.times) times.

**In:** a vector for each token, `[seq_len, batch_size, d_model]`. **Out:** the same shape, as from
[Mamba](mamba.py).
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
    between = total.unsqueeze(1) - total

    # Nothing of what is written later. Before the exponential, as that could overflow.
    future = causal_mask(len(total)).to(total.device) == 0
    return between.masked_fill(future[..., None], -math.inf).exp()


def scan_in_chunks(
    x: Tensor, log_kept: Tensor, write: Tensor, read: Tensor, chunk_len: int = 64
) -> tuple[Tensor, Tensor]:
    r"""
    ## The scan in chunks

    * `x` are the inputs times their steps, `[seq_len, batch_size, heads, d_head]`
    * `log_kept` are the logarithms of what is kept, `[seq_len, batch_size, heads]`
    * `write` and `read` are vectors for each token, `[seq_len, batch_size, n_state]`

    The results in the shape of `x`, and the last state.

    This is [linear attention](../transformers/variants/linear_attention.py) without its feature map
    and its division: $C$ are the queries, $B$ the keys, $\Delta x$ the values, and $L$ stands where
    the causal mask has ones. The paper calls it a *duality*: the same results can be had by a scan,
    which is linear in the length of the text, or by a product, which is quadratic but suits a GPU.
    The best of both: products inside chunks, and a state from chunk to chunk.

    ### From a scan to a product

    As in [Mamba](mamba.py#selective_scan), $A$ is a negative *rate*, here one number for a head,
    and $\Delta_t$ the *step* at token $t$. What token $j$ adds to the state is written with the
    weights $B_j$. At each later token $t$ it is multiplied by $a_t = e^{\Delta_t A}$, and token $i$
    reads what is left of it with the weights $C_i$. So

    $$
    y_i = \sum_{j \le i} L_{ij}\, (C_i \cdot B_j)\, \Delta_j x_j
    \qquad L_{ij} = a_{j+1}\, a_{j+2} \cdots a_i
    $$

    $L$ are the *decays*. The matrix at the top of the page is that of three tokens with $a_2 = 0.5$
    and $a_3 = 0.8$.
    """
    # For each head and channel `n_state` numbers, and nothing for each token.
    state = x.new_zeros(*x.shape[1:], write.shape[-1])
    results = []

    # The last chunk may be shorter.
    chunks = (one.split(chunk_len) for one in (x, log_kept, write, read))
    for x_c, log_kept_c, write_c, read_c in zip(*chunks, strict=True):
        # Inside the chunk: what each token reads of each earlier one, times what is left of that.
        left = decays(log_kept_c)
        weights = torch.einsum("ibn,jbn->ijb", read_c, write_c).unsqueeze(-1) * left

        # The weighted sums, as in attention.
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

    The layer around it, in a few respects simpler than [Mamba's](mamba.py#Mamba).
    """

    def __init__(
        self, heads: int, d_model: int, d_head: int, n_state: int = 16, width: int = 4
    ) -> None:
        r"""
        * `heads` is the number of heads, whose channels share a rate and a step
        * `d_model` is the number of features that come in and go out
        * `d_head` is the number of channels of a head
        * `n_state` is how many numbers the state has for each channel; the paper's code has 128,
          eight times as many as Mamba's
        * `width` is how many positions the convolution sees
        """
        super().__init__()
        self.heads = heads
        n_channels = heads * d_head

        # One product for the gate, for what goes through the convolution, and for each head's step.
        n_filtered = n_channels + 2 * n_state
        self.sizes = [n_channels, n_filtered, heads]
        self.project = nn.Linear(d_model, sum(self.sizes), bias=False)

        # Inputs, and what to write and to read. The convolution mixes a token with the three before
        # it in all three.
        self.filtered_sizes = [n_channels, n_state, n_state]

        # PyTorch starts the weights of a convolution like this.
        bound = 1 / math.sqrt(width)
        self.filter = nn.Parameter(torch.empty(n_filtered, width).uniform_(-bound, bound))
        self.filter_bias = nn.Parameter(torch.empty(n_filtered).uniform_(-bound, bound))

        # As in [Mamba](mamba.py#Mamba), but one number for each head. Rates start at 1, 2, 3 and so
        # on, so that some heads forget sooner; the paper's code draws them between 1 and 16.
        self.step_bias = nn.Parameter((0.001 * 100 ** torch.rand(heads)).expm1().log())
        self.log_rates = nn.Parameter(torch.arange(1.0, heads + 1).log())
        self.skip = nn.Parameter(torch.ones(heads))

        # A norm of all channels together, and the way out.
        self.norm = RMSNorm(n_channels)
        self.output = nn.Linear(n_channels, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        `x` and the result are `[seq_len, batch_size, d_model]`.
        """
        # All at once, and then the convolution: a token sees the three before it.
        gate, x, step = self.project(x).split(self.sizes, dim=-1)
        x = F.silu(causal_convolution(x, self.filter, self.filter_bias))
        x, write, read = x.split(self.filtered_sizes, dim=-1)

        # A long step keeps little. The logarithm of what is kept, `[seq_len, batch_size, heads]`.
        step = F.softplus(step + self.step_bias)
        log_kept = -step * self.log_rates.exp()

        # Channels by heads. A long step adds much, and forgets much.
        x = x.unflatten(-1, (self.heads, -1))
        y, _ = scan_in_chunks(x * step.unsqueeze(-1), log_kept, write, read)

        # Past the state, and the heads side by side again.
        y = (y + x * self.skip.unsqueeze(-1)).flatten(2)

        # Gated as in Mamba, then normalised, so that the result has the same size however much the
        # state has kept.
        return self.output(self.norm(y * F.silu(gate)))


def example(
    seq_len: int = 7,
    batch_size: int = 3,
    heads: int = 2,
    d_head: int = 5,
    n_state: int = 11,
    d_model: int = 13,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A layer, and the scan in chunks.

    ### Measured here

    After 500 steps of training the loss is
    [1.947](../../results/state_spaces.json#tables.losses.Mamba-2.loss), and Mamba's is
    [1.972](../../results/state_spaces.json#tables.losses.Mamba.loss). The times are those of one
    core of a CPU, with windows of 64 letters. A GPU should gain more from the product, since it is
    built for products of large matrices; we haven't measured it.

    ### How fast heads forget

    [What is left at each letter (rows) of what each earlier one has written (columns), in the
    slowest and the fastest head of the first layer](../../results/state_spaces.json#figures.decays)

    ### What did not help here

    These are entries of [a list](../../docs/what_did_not_help.md) of such things.

    Short chunks. Inside a chunk of 64 letters 4,096 pairs are compared, and in eight chunks of 8
    letters only 512. Yet a forward and backward pass with short chunks takes
    [1.2](../../results/state_spaces.json#values.chunks) times as long, on one core of a CPU.

    Left out: several groups of $B$ and $C$ for one layer, and limits for the steps, which the
    paper's code has.

    ### Other layers in its place

    [Small models with other layers in the place of attention (the time of a step is in multiples of
    that with attention)](../../results/state_spaces.json#tables.losses)

    ### Exercises

    ??? question "All steps are 0. What are the decays?"
        1 in the lower triangle: nothing is lost. And nothing is written, since steps multiply the
        inputs, too.

    ??? question "Write `exp()` before the mask. When does that go wrong?"
        Above the diagonal the differences are positive, and large where much was forgotten:
        $e^{100}$ is too large for 32 bits. The mask hides the infinity in the forward pass. In the
        backward pass it is multiplied by a gradient of 0, which is not a number.

    ??? question "Use `left[0]` for the state after the chunk. What is lost?"
        All but the first position: the first row has a single 1. The last row says what is left of
        each position at the end.

    ??? question "Why can Mamba itself not be written like this?"
        Each number of its state has a rate of its own, so $L$ would be another matrix for each of
        `n_channels` times `n_state` numbers.
    """
    # Each position has seen those before it.
    layer = Mamba2(heads, d_model, d_head, n_state, width=3)
    y = layer(torch.randn(seq_len, batch_size, d_model))

    # The scan by itself, in chunks of three tokens, the last of which is shorter.
    x = torch.randn(seq_len, batch_size, heads, d_head)

    # What is kept is between 0 and 1, so its logarithm is negative.
    log_kept = -torch.rand(seq_len, batch_size, heads)
    write, read = torch.randn(2, seq_len, batch_size, n_state)

    # What a program that goes on with the text would keep.
    _, state = scan_in_chunks(x, log_kept, write, read, chunk_len=3)
    return y, state

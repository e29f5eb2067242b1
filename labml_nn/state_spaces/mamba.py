r"""
---
title: Mamba
summary: Each token decides what a state of fixed size keeps, and what is added and read.
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

[Linear attention](../transformers/variants/linear_attention.py) carries a state of fixed size along
the text, and every token adds to it. In older *state space models* the state also decays: by the
same factors at each token, whatever the token is.

Take a stream of letters with dots between them, `k...c`, and let one number of the state hold 1 for
“k”. Which letter was the last one?

| | after k | . | . | . | c |
| --- | ---: | ---: | ---: | ---: | ---: |
| keep 0.5 at every token | 1 | 0.5 | 0.25 | 0.13 | 0.06 |
| keep 0.99 at every token | 1 | 0.99 | 0.98 | 0.97 | 0.96 |
| keep 0.99 at a dot, 0.05 at a letter | 1 | 0.99 | 0.98 | 0.97 | 0.05 |

With 0.5 the “k” is nearly lost after three dots. With 0.99 it is still there when “c” has replaced
it. The third row keeps and drops at the right places, but its factor depends on the token. *Mamba*
computes the factors from the token: it *selects*.

In such a stream, with about twenty dots for each letter, a layer with fixed factors gets
[0.941](../../results/state_spaces.json#tables.last_letter.Mamba%2C%20fixed%20weights.right) of the
positions right. Mamba, with as many numbers in its state, gets
[0.9998](../../results/state_spaces.json#tables.last_letter.Mamba.right).

**In:** a vector for each token, `[seq_len, batch_size, d_model]`. **Out:** the same shape, in which
each position has seen those before it. Between two tokens only a state is carried,
`[batch_size, n_channels, n_state]`, and the last three inputs of a short convolution.
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
    # Nothing has been read yet. The state has no axis for the sequence.
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
    `[seq_len, batch_size, n_channels]`. `weight` has a row for each channel.
    """
    # Zeros before the first position, none after the last one: nothing sees the future.
    width = weight.shape[1]
    padded = F.pad(x, (0, 0, 0, 0, width - 1, 0))

    # A window of `width` positions for each position, without a copy, and the last one is its own.
    return (padded.unfold(0, width, 1) * weight).sum(dim=-1) + bias


class Mamba(nn.Module):
    r"""
    ## Mamba

    The layer around the scan. It takes the place of attention.

    ### Recurrence and discretisation

    For one channel with the input $x_t$ at the token $t$, and one number $h$ of its state:

    $$
    h_t = e^{\Delta_t A}\, h_{t-1} + \Delta_t B_t\, x_t \qquad y_t = \sum C_t\, h_t + D\, x_t
    $$

    The sum is over the numbers of the channel's state. $A$ is a negative *rate*, $\Delta_t$ the
    *step*. $B_t$ says what is written into each number, $C_t$ how much of it is read, and $D$ is a
    way past the state. $\Delta_t$, $B_t$ and $C_t$ are computed from the token: the model
    *selects*. (For $A$ it isn't needed, since $\Delta_t$ multiplies it.)

    An example with the rate $A = -1$: with a step of 0.01, 0.99 of the state is kept, and a
    hundredth of the input is added. With a step of 3, only 0.05 is kept, and the input is added
    three times. So one number, the step, decides between the past and the token.

    The paper derives $e^{\Delta A}$ from a differential equation whose input is held for a time of
    $\Delta$. To go from the equation to such steps is called *discretisation*. The same derivation
    would put $(e^{\Delta A} - 1) / A$ in the place of the second $\Delta$. The authors' code takes
    $\Delta$, which is nearly the same for short steps, and so do we.
    """

    def __init__(self, d_model: int, n_channels: int, n_state: int = 16, width: int = 4) -> None:
        r"""
        * `d_model` is the number of features that come in and go out
        * `n_channels` is the number of channels; the paper has twice `d_model`
        * `n_state` is how many numbers the state has for each channel
        * `width` is how many positions the convolution sees
        """
        super().__init__()
        # Two projections: one goes through the scan, the other one becomes a gate.
        self.project = nn.Linear(d_model, 2 * n_channels, bias=False)

        # The short convolution, with weights as PyTorch starts it.
        bound = 1 / math.sqrt(width)
        self.filter = nn.Parameter(torch.empty(n_channels, width).uniform_(-bound, bound))
        self.filter_bias = nn.Parameter(torch.empty(n_channels).uniform_(-bound, bound))

        # From the token: what to write and to read, and a few numbers for the steps. A matrix from
        # all channels to all channels would have, at the paper's sizes, as many weights as
        # `project`.
        self.sizes = [math.ceil(d_model / 16), n_state, n_state]
        self.select = nn.Linear(n_channels, sum(self.sizes), bias=False)
        self.steps = nn.Linear(self.sizes[0], n_channels)

        # At the start the steps are about 0.001 to 0.1, evenly on a logarithmic scale. This is the
        # inverse of the softplus in `forward`.
        steps = (0.001 * 100 ** torch.rand(n_channels)).expm1().log()
        self.steps.bias = nn.Parameter(steps)

        # Rates from 1 to `n_state`, so that some numbers of a state forget sooner than others. The
        # logarithm is trained, so that a rate can't change its sign.
        rates = torch.arange(1.0, n_state + 1).repeat(n_channels, 1)
        self.log_rates = nn.Parameter(rates.log())

        # A way past the state, and the way out.
        self.skip = nn.Parameter(torch.ones(n_channels))
        self.output = nn.Linear(n_channels, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        `x` and the result are `[seq_len, batch_size, d_model]`.
        """
        # Two projections of each token: one to be scanned, and one that becomes the gate.
        x, gate = self.project(x).chunk(2, dim=-1)

        # A token sees the three before it.
        x = F.silu(causal_convolution(x, self.filter, self.filter_bias))

        # Steps, and what to write and to read, depend on the token: that is what is *selective*.
        # The softplus makes steps positive.
        low, write, read = self.select(x).split(self.sizes, dim=-1)
        step = F.softplus(self.steps(low))

        # The scan, channel by channel, and the input itself.
        y, _ = selective_scan(x, step, -self.log_rates.exp(), write, read)
        y = y + self.skip * x

        # The gate can close what the state has to say at this token.
        return self.output(y * F.silu(gate))


def example(
    seq_len: int = 7, batch_size: int = 3, d_model: int = 5, n_channels: int = 11, n_state: int = 2
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A layer, and what its results are made from.

    ### By the distance to the last letter

    [The share that is right, by the distance to the last letter. The point at 64 is for 33 to 64
    dots, that at 32 for 17 to 32](../../results/state_spaces.json#figures.distance)

    ### How long the steps are

    [The mean step of a trained layer at each token: the longest ones are at dots just after a
    letter, which its convolution still sees there](../../results/state_spaces.json#figures.steps)

    ### What did not help here

    There is [a list](../../docs/what_did_not_help.md) of such things.

    Selecting, when the text is Shakespeare, gains nothing. In a small model without attention the
    loss after 500 steps of training is
    [1.972](../../results/state_spaces.json#tables.losses.Mamba.loss), and
    [1.968](../../results/state_spaces.json#tables.losses.Mamba%2C%20fixed%20weights.loss) with
    fixed weights. The short convolution is worth more: without it the loss is
    [2.149](../../results/state_spaces.json#tables.losses.Mamba%2C%20no%20convolution.loss). With
    attention it is [2.213](../../results/state_spaces.json#tables.losses.Attention.loss). That is
    after 500 steps; longer training is another question.

    Left out: a program that carries the state and the last inputs of the convolution from call to
    call for writing, and the paper's kernel, which keeps the states in the fast memory of a GPU.

    ### Exercises

    ??? question "A step of 0.5 and a rate of -2. What is kept?"
        $e^{-1} = 0.37$ of the number.

    ??? question "128 channels with 16 numbers each: how large is the state after 1,000 tokens?"
        2,048 numbers, as after one token. Attention would keep 256,000 numbers for 1,000 tokens of
        128 features.

    ??? question "How can a channel keep a token out of its state?"
        By a step near zero: then $e^{\Delta A}$ is near 1 and nothing is added. For that,
        `steps` has to give a large negative number for this token.

    ??? question "Put the zeros of the convolution behind the last position. What goes wrong?"
        Each position sees the three *after* it. In training the loss gets very low, and what the
        model writes is worth nothing. Change the last token: an earlier output moves, and mustn't.
    """
    # Each position has seen those before it.
    layer = Mamba(d_model, n_channels, n_state, width=3)
    y = layer(torch.randn(seq_len, batch_size, d_model))

    # The scan by itself: inputs, positive steps, negative rates, and what to write and to read.
    x = torch.randn(seq_len, batch_size, n_channels)
    step = torch.rand(seq_len, batch_size, 1)
    write, read = torch.randn(2, seq_len, batch_size, n_state)
    _, state = selective_scan(x, step, -torch.rand(n_channels, n_state), write, read)
    return y, state

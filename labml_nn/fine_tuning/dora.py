r"""
---
title: DoRA
summary: LoRA that learns the length and the direction of each row of a matrix separately.
paper:
  title: "DoRA: Weight-Decomposed Low-Rank Adaptation"
  authors: Liu et al.
  year: 2024
  link: https://arxiv.org/abs/2402.09353
terms:
  DoRA: LoRA with a learned length for each row of the matrix; the product changes the direction.
---

Double a matrix. Each of its rows keeps its direction and gets twice as long, so one number says it
all. [LoRA](lora.py) can't: it would have to add a copy of the whole matrix, and in a product of
rank 8 each row is a mix of the same 8 rows. So one low-rank product has to make rows longer *and*
turn them. The paper found that with LoRA the two go together: the more directions change, the
more lengths change. Full fine-tuning can change the one much and the other little.

*DoRA* gives each row a length of its own, a number to be learned, and LoRA only turns the row:

$$
W' = m \, \frac{W + \frac{\alpha}{r} B A}{\lVert W + \frac{\alpha}{r} B A \rVert}
$$

The norm is taken for each row, and $m$ has one number for each row. A row makes one output feature.
The paper says columns; the library peft takes rows, as we do.

An example with a single row: $W = (3, 4)$ has the length 5. Let the product add $(1, -4)$, which
gives $(4, 0)$ with the length 4. With $m = 5$, DoRA makes $(5, 0)$ of it: turned, and as long as
before. With $m = 10$, the row is $(10, 0)$.

**In** and **out** are those of [LoRA](lora.py#LoRALinear), and the adapter has one more number for
each output feature.

Left out: dropout, and how to get the lengths without making the whole matrix. (peft makes it, too.)
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.fine_tuning.lora import LoRALinear


class DoRALinear(LoRALinear):
    r"""
    ## A layer with a length for each row

    Pass it to [adapt](lora.py#adapt) as `make`.
    """

    def __init__(self, base: nn.Linear, rank: int, alpha: float) -> None:
        r"""
        The arguments are those of [LoRA's layer](lora.py#LoRALinear.__init__).
        """
        super().__init__(base, rank, alpha)
        # $m$ starts as the lengths that the rows have, so nothing changes before the first step.
        self.magnitude = nn.Parameter(base.weight.norm(dim=1))

    def weight(self) -> Tensor:
        # LoRA's matrix, `[d_out, d_in]`.
        weight = super().weight()

        # The length of each of its rows, `[d_out]`.
        length = weight.norm(dim=1)

        # The length is taken as a constant in the backward pass. The paper does so to save memory,
        # and found hardly any difference in the results.
        length = length.detach()

        # First to length 1, then to the learned one.
        return (self.magnitude / length)[:, None] * weight

    def forward(self, x: Tensor) -> Tensor:
        r"""
        From `[seq_len, batch_size, d_in]` to `[seq_len, batch_size, d_out]`.
        """
        # One product, with the matrix that was made for the lengths. LoRA's sum of two products,
        # times $m$ over the length for each output, would give the same.
        return F.linear(x, self.weight(), self.base.bias)


def example(
    seq_len: int = 7, batch_size: int = 3, d_in: int = 11, d_out: int = 5, rank: int = 2
) -> Tensor:
    r"""
    ## Example

    However far the product turns the rows, their lengths stay those of the base. (A row of zeros
    has no direction, and would give 0/0.)

    ### Measured here

    The lengths did not help. These are entries of [a list](../../docs/what_did_not_help.md) of such
    things. With rank 8 the loss on Python is
    [1.613](../../results/lora.json#tables.methods.DoRA%20rank%208.python) with DoRA and
    [1.606](../../results/lora.json#tables.methods.LoRA%20rank%208.python) with LoRA, and the best
    of three seeds of the one,
    [1.611](../../results/lora.json#tables.methods.DoRA%20rank%208.python_low), doesn't reach the
    worst of the other, [1.607](../../results/lora.json#tables.methods.LoRA%20rank%208.python_high).
    The paper finds a gain for models of billions of weights. We gave DoRA the learning rate that is
    best for LoRA. A step takes [0.95](../../results/lora.json#values.dora_time) times as long as
    LoRA's. LoRA has two small products for each token and a large one. Here $B A$ is made once,
    whatever the number of tokens, and they go through one large product. So it pays with many
    tokens: in a try with one layer of 128 inputs and 512 outputs, DoRA took 0.9 times as long as
    LoRA for 768 tokens, and 1.8 times as long for 16.

    ### Exercises

    ??? question "How many numbers does DoRA add to LoRA, for a layer with 128 inputs, 512 outputs?"
        One for each output: 512. At rank 8, LoRA has 5,120.

    ??? question "Start $m$ at one everywhere. What happens at the first step?"
        The model is no longer the trained one: each row has the length 1, whatever it had before.

    ??? question "The update makes a row twice as long, and turns it nowhere. What does DoRA do?"
        Nothing: divided by its length the row is the old one, and $m$ hasn't changed.

    ??? question "Leave out `length.detach()`. What changes?"
        Nothing in the forward pass. The gradient of the matrix loses its part along the row: to
        move $(4, 0)$ to $(4.1, 0)$ changes no result, because the row is divided by its length.
    """
    layer = DoRALinear(nn.Linear(d_in, d_out), rank, alpha=2 * rank)

    # Any numbers, as if they had been learned.
    nn.init.normal_(layer.b)

    # The product turns the rows, and $m$ hasn't moved yet.
    lengths = layer.weight().norm(dim=1)
    assert lengths.allclose(layer.base.weight.norm(dim=1))
    return layer(torch.randn(seq_len, batch_size, d_in))

r"""
---
title: Weights in Four Bits
summary: A scale for each group of weights, and two weights in a byte.
know: ../training/trained.py
terms:
  group (quantisation): Neighbouring weights of a row that share a scale.
---

With [eight bits](../training/trained.py) a weight is one of 255 multiples of a scale. With three
bits there are 7, from −3 to 3 times the scale. Then it matters which weights share a scale, because
the largest of them sets it for all. Take a row of four weights:

| | | | | |
| --- | ---: | ---: | ---: | ---: |
| weights | 0.3 | −0.1 | 0.02 | 0.06 |
| one scale, 0.1 | 3 | −1 | 0 | 1 |
| restored | 0.3 | −0.1 | 0 | 0.1 |
| groups of two, scales 0.1 and 0.02 | 3 | −1 | 1 | 3 |
| restored | 0.3 | −0.1 | 0.02 | 0.06 |

With one scale, 0.02 is lost, and 0.06 has become 0.1. With a scale for each *group*, all four come
back. The price is in the scales: with 16 bits for each and 32 weights in a group, a weight takes
3 + 16/32 = 3.5 bits.

In three bits the loss of the small transformer is
[2.292](../../results/quantisation.json#tables.bits.3.matrix) with one scale for each matrix, and
[1.723](../../results/quantisation.json#tables.bits.3.groups) with groups of 32.

**In:** a matrix of weights, `[d_out, d_in]`, the number of bits, and the length of a group.
**Out:** whole numbers of the same shape, and scales, `[d_out, n_groups]`.

With $b$ bits the whole numbers go from $-m$ to $m$, where $m = 2^{b-1} - 1$. For the group $g$ of
row $i$:

$$
s_{ig} = \frac{\max_{j \in g} |w_{ij}|}{m}
\qquad q_{ij} = \operatorname{round}\left(\frac{w_{ij}}{s_{ig}}\right)
\qquad w_{ij} \approx s_{ig}\, q_{ij}
$$
"""

import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def quantise(weights: Tensor, n_bits: int, group_len: int) -> tuple[Tensor, Tensor]:
    r"""
    ## Quantise

    The whole numbers, `[d_out, d_in]`, and the scales, `[d_out, n_groups]`. If a group
    is as long as a row, each row has one scale.
    """
    # The last group would be shorter.
    if weights.shape[1] % group_len:
        raise ValueError(f"group_len must divide {weights.shape[1]} columns, got {group_len}")

    # Neighbours in a row: together they make a part of one output.
    groups = weights.unflatten(1, (-1, group_len))

    # Of the $2^b$ patterns one stays unused, so that there are as many numbers below zero as above.
    most = 2 ** (n_bits - 1) - 1
    scale = groups.abs().amax(dim=2) / most

    # In 16 bits: a `bfloat16` has the range of 32 bits, and is off by less than 1/256. That is too
    # little to round the largest weight to $m + 1$. A group of zeros may have any scale but zero.
    scale = scale.where(scale > 0, 1.0).bfloat16()

    # Divided by the scale *as it is stored*, so that its error is part of the rounding.
    whole = (groups / scale[:, :, None]).round().to(torch.int8)
    return whole.flatten(1), scale


def restore(whole: Tensor, scale: Tensor) -> Tensor:
    r"""
    ## Restore

    The weights again, nearly, in 32 bits.
    """
    # As many groups as there are scales in a row.
    groups = whole.unflatten(1, (scale.shape[1], -1)).float()

    # A product of a `bfloat16` and a small whole number is exact in 32 bits.
    return (groups * scale[:, :, None]).flatten(1)


def pack(whole: Tensor, n_bits: int) -> Tensor:
    r"""
    ## Pack

    PyTorch doesn't compute with whole numbers of fewer than eight bits, so several of them share a
    byte: four of two bits, or two of four bits. The numbers are $0$ to $2^b - 1$, `[…, n]`. The
    result is `[…, n_bytes]`.
    """
    # Eight bits can't be divided into threes, so numbers of three bits aren't packed here.
    if 8 % n_bits or whole.shape[-1] * n_bits % 8:
        raise ValueError(f"{whole.shape[-1]} numbers of {n_bits} bits don't fill whole bytes")

    # The second number is moved to the left by the bits of the first, and so on.
    parts = whole.unflatten(-1, (-1, 8 // n_bits))
    return (parts << torch.arange(0, 8, n_bits, device=parts.device)).sum(dim=-1).to(torch.uint8)


def unpack(packed: Tensor, n_bits: int) -> Tensor:
    r"""
    ## Unpack

    The numbers again, `[…, n]`, from `[…, n_bytes]`.
    """
    # Each number is moved to the right end, and what stands to the left of it is cut off.
    parts = packed[..., None] >> torch.arange(0, 8, n_bits, device=packed.device)
    return (parts & 2**n_bits - 1).flatten(-2)


class FourBitLinear(nn.Module):
    r"""
    ## A linear layer in four bits
    """

    def __init__(self, layer: nn.Linear, group_len: int) -> None:
        r"""
        * `layer` is the trained layer
        * `group_len` is the number of weights that share a scale
        """
        super().__init__()
        # A trained layer; the whole numbers have no gradient.
        whole, scale = quantise(layer.weight.detach(), 4, group_len)

        # From -7 to 7 becomes from 1 to 15, which has no sign. Buffers are saved with the model.
        self.register_buffer("packed", pack(whole + 8, 4))
        self.register_buffer("scale", scale)

        # One number for each row of weights, so rounding it would save little.
        self.bias = layer.bias

    def forward(self, x: Tensor) -> Tensor:
        r"""
        From `[batch_size, d_in]` to `[batch_size, d_out]`.
        """
        # The matrix in 32 bits is there for this product only.
        weight = restore(unpack(self.packed, 4) - 8, self.scale)
        return F.linear(x, weight, self.bias)


def to_four_bits(model: nn.Module, group_len: int = 32) -> None:
    r"""
    ## A model in four bits

    All linear layers inside it are replaced.
    """
    # A layer is replaced in the module that it belongs to.
    for module in model.modules():
        for name, child in module.named_children():
            if isinstance(child, nn.Linear):
                setattr(module, name, FourBitLinear(child, group_len))


@torch.no_grad()
def round_weights(model: nn.Module, n_bits: int, group_len: int = 0) -> None:
    r"""
    ## Round the weights of a model

    To see what rounding does to the loss, the weights stay in 32 bits, but have only the values
    that fewer bits allow. A `group_len` of 0 is a whole row.
    """
    # Matrices of linear layers. Embeddings, biases and gains stay as they are.
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            length = group_len or layer.in_features

            # In place, so that the model needs no other layers.
            layer.weight.copy_(restore(*quantise(layer.weight, n_bits, length)))


def example(
    d_out: int = 3, n_groups: int = 5, n_bytes: int = 7, batch_size: int = 2
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A layer in four bits computes what the layer with rounded weights computes.

    ### Measured here

    Means of three seeds. Unrounded, the small transformer has a loss of
    [1.679](../../results/quantisation.json#values.float). In three bits with *one* scale for each
    matrix it is worse than counting [three letters in a row](../training/counting.py), and with a
    scale for each row it has [1.759](../../results/quantisation.json#tables.bits.3.rows). Groups
    have more scales to store. The figure counts their bits, too: for a row as if it always had 128
    weights. (Some rows have 512, and need even less.)

    [Loss against bits](../../results/quantisation.json#figures.bits)

    With two bits, groups seem clearly better. But the line of the rows is straight between its
    points, and the loss isn't. A row can have five values, from −2 to 2, and three such weights fit
    into seven bits. With their scales that is 2.4 bits for a weight, fewer than the 2.5 of groups
    of the three values −1, 0 and 1. When we tried it, the loss of the rows was far lower. So extra
    bits do more in the weights here than in the scales.

    ### What did not help here

    These are entries of [a list](../../docs/what_did_not_help.md) of such things.

    Groups, when there are enough bits. With eight bits the loss is
    [1.679](../../results/quantisation.json#tables.bits.8.rows) by rows and
    [1.679](../../results/quantisation.json#tables.bits.8.groups) by groups. And fewer bytes did not
    make our CPU faster: the matrices are restored for each pass, and a pass over one letter takes
    [3.7](../../results/quantisation.json#values.time) times as long as with 32 bits. On a GPU,
    special kernels restore the weights inside the matrix product, and are faster where reading the
    weights is what takes the time.

    Others: groups of 32 with a scale of 16 bits are those of Q4_0, a format of llama.cpp; in files
    made with [GPTQ](gptq.py), groups of 128 are usual.

    Left out: values that aren't evenly spaced (the four bits of
    [QLoRA](https://arxiv.org/abs/2305.14314)), and inputs in few bits, which a product of whole
    numbers needs.

    ### Exercises

    ??? question "With two bits, which whole numbers are there? How many bits is a weight?"
        -1, 0 and 1. With groups of 32, and 16 bits for a scale, 2.5.

    ??? question "A matrix of 512 × 128 in four bits, groups of 32. How many bytes?"
        32,768 for the whole numbers and 4,096 for 2,048 scales: 36,864. In 32 bits it is 262,144.

    ??? question "A weight is ten times as large as the others in its group. What becomes of them?"
        With four bits the largest is 7, so the others become 1. If it were fifteen times as
        large, they would become 0.

    ??? question "Divide by the scale before it is in 16 bits. What goes wrong?"
        The whole numbers are then those of another scale than the one that is stored. Some weights
        come back more than half a scale away from what they were.
    """
    # Two weights in a byte.
    group_len = 2 * n_bytes
    d_in = n_groups * group_len
    model = nn.Sequential(nn.Linear(d_in, d_out))
    four_bits = copy.deepcopy(model)
    to_four_bits(four_bits, group_len)

    # The same values in 32 bits.
    round_weights(model, 4, group_len)
    x = torch.randn(batch_size, d_in)
    return model(x), four_bits(x)

r"""
---
title: Compare an Attention with PyTorch's
summary: The weights of any plain attention in another implementation, and how far both differ.
---

An attention divides its scores by $\sqrt{d_k}$. A test that looks at an attention alone can't know
that this *scale* is wrong: with another scale it is a fine attention too, but not that of the
paper. Without any scale our model reaches a loss of
[2.072](../results/mistakes.json#tables.mistakes.Unscaled.printed), which is even lower than
the [2.117](../results/mistakes.json#tables.mistakes.RightAttention.printed) of the right one.
Only another implementation with the same weights shows the mistake.

**In:** an attention. **Out:** its four matrices (query, key, value and output), which [plain
code](suspects.py) then uses to compute the same output, and a number for how far two outputs
differ. Our tests compare the plain code with PyTorch's own attention.

[The printed loss of each mistake in the museum, beside that of the right
attention](../results/mistakes.json#figures.losses)
"""

import math
import re
from collections.abc import Sequence

import torch
from torch import Tensor, nn

# The weight and the bias of a square linear layer.
Matrix = tuple[Tensor, Tensor]

# Relative to the largest number. The rounding of `float32` is a hundred times smaller.
NEAR = 1e-4


def off(found: Tensor, expected: Tensor) -> float:
    r"""
    ## How far off

    The largest difference, relative to the largest number.
    """
    # An output's size means nothing by itself. 1e-12 is for outputs that are all zeros.
    difference = (found - expected).abs().max() / (expected.abs().max() + 1e-12)

    # NaN, which isn't a number, is as wrong as can be, but it is neither above nor below anything.
    return difference.item() if difference.isfinite() else math.inf


def roughen(module: nn.Module) -> nn.Module:
    r"""
    ## Weights of some size

    Fresh weights are small, biases often zero, and gains (the factors of a normalisation) one. Many
    mistakes don't show then. Here all matrices become random numbers, the same each time, and such
    numbers are added to biases and gains.
    """
    # A generator of its own: the caller's random numbers stay as they are. It is on the CPU, and so
    # must the numbers be, even if the caller has set another default device.
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        # Quantised weights are whole numbers, and stay as they are.
        for weight in filter(Tensor.is_floating_point, module.parameters()):
            noise = torch.randn(weight.shape, generator=generator, device="cpu").to(weight)

            # Scores of a few units: large enough for the softmax to matter.
            if weight.dim() > 1:
                weight.copy_(noise * 1.5 / math.sqrt(weight.shape[-1]))
            else:
                # A bias or a gain. A gain of 1 stays near 1.
                weight.add_(0.3 * noise)
    return module


def by_rows(weight: Tensor, d_model: int) -> Tensor:
    r"""
    ## A weight with an axis for the heads, as a matrix

    With a row for each feature that comes out, as that of a linear layer. All heads together are no
    wider than the model; what has more numbers, such as a convolution's weight, stays as it is.
    """
    is_large = weight.numel() > d_model**2
    if weight.dim() != 3 or d_model not in weight.shape or is_large:
        return weight
    # Features come in along the axis in the middle, for each head.
    if weight.shape[1] == d_model:
        return weight.mT.flatten(0, 1)
    # They come in along the first axis, or the output is the sum over all heads.
    return (weight.flatten(1) if weight.shape[0] == d_model else weight.flatten(0, 1)).t()


def find_weights(attention: nn.Module, d_model: int) -> list[Matrix]:
    r"""
    ## Find the matrices

    An empty list, if the attention has a weight that can't be one of them, such as a gain: then it
    isn't the formula alone. (A table that is `d_model` wide is taken for a matrix.)
    """
    # What a list of heads has one by one is put together: the names differ in a number only.
    groups: dict[str, list[Tensor]] = {}
    for name, weight in attention.named_parameters():
        # A single number, such as a learned scale, counts as one axis: numbers can't be joined.
        parts = groups.setdefault(re.sub(r"\.\d+\b", "", name), [])
        parts.append(weight.detach().reshape(weight.shape or (1,)))

    # Layers in a row have numbers, too: parts of several sizes are no heads.
    if any(len({part.shape[1:] for part in parts}) > 1 for parts in groups.values()):
        return []
    joined = {name: by_rows(torch.cat(parts), d_model) for name, parts in groups.items()}

    # GPT-2's layers have their matrices transposed. A square one doesn't show that, but a matrix
    # for three projections does: its last axis isn't `d_model` long.
    matrices = {n: w for n, w in joined.items() if w.dim() == 2 and d_model in w.shape}
    turned = any(weight.shape[1] != d_model for weight in matrices.values())
    found: list[Matrix] = []
    used = set(matrices)
    for name, matrix in matrices.items():
        # PyTorch's linear layer has a row of weights for each feature that comes out.
        rows = matrix.t() if turned else matrix

        # A bias has its matrix's name, with “bias” instead of “weight”. A parameter that isn't in a
        # layer may have “b” instead of “W”.
        named = name.replace("weight", "bias")
        if named == name:
            named = re.sub(r"(?i)\bw(?=_)", "b", name)
        bias = joined.get(named)
        used.add(named)
        # (It may have an axis for the heads, too.)
        if bias is not None and bias.numel() == len(rows):
            bias = bias.flatten()
        bias = torch.zeros(len(rows)).to(rows) if bias is None or bias.dim() != 1 else bias

        # A matrix for three projections at once is cut into three. Where heads share keys, there
        # are smaller ones.
        if len(bias) == len(rows):
            whole = len(rows) % d_model == 0
            found += zip(*(z.split(d_model) if whole else [z] for z in (rows, bias)), strict=True)
    return found if used >= set(joined) else []


def example(batch_size: int = 3, heads: int = 2, d_k: int = 5) -> tuple[list[Tensor], Sequence]:
    r"""
    ## Example

    PyTorch's attention has one matrix for three projections, and one for the output. With the first
    cut into three, there are four.

    ### Exercises

    ??? question "Why is each weight made random, when it is random already?"
        Some biases start at zero. A mistake in one of those would not show.

    ??? question "There are 24 orders of four matrices. Why may a test try them all?"
        With random weights, only the right order gives the right output. A wrong one can't pass.

    ??? question "Where do `d < 1e-4` and `not d >= 1e-4` differ?"
        For NaN, which is neither. The second one passes.
    """
    d_model = heads * d_k
    theirs = roughen(nn.MultiheadAttention(d_model, heads, batch_first=True))

    # Query, key, value and output, in the order of the parameters.
    matrices = find_weights(theirs, d_model)

    # The value's matrix is the third of the projections.
    x = torch.randn(batch_size, d_model)
    weight, bias = matrices[2]
    return [matrix for matrix, _ in matrices], [x @ weight.t() + bias]

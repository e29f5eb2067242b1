r"""
---
title: Compare an Attention with PyTorch's
summary: The weights of any plain attention in torch.nn.MultiheadAttention, and what differs.
---

A test that asks an attention about itself can't know that a scale is wrong: with another scale it
is a fine attention too, only not the one of the paper. That takes an implementation that
somebody else wrote. There is one on every machine that has PyTorch, and this page puts the
weights of any attention into it.

Which of them belong to the query, the key, the value and the output it needn't be told: there are
24 ways to give out four matrices, and the first position shows which to try.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import skip_init

# A square matrix, as in a linear layer, and its bias; and what finds those of an attention.
Matrix = tuple[Tensor, Tensor]
Find = Callable[[nn.Module, int], list[Matrix]]

# Relative to the largest number. The rounding of `float32` is a hundred times smaller.
NEAR = 1e-4


def off(found: Tensor, expected: Tensor) -> float:
    r"""
    ## How far off

    The largest difference, relative to the largest number; infinite, where something is NaN.
    """
    difference = (found - expected).abs().max() / (expected.abs().max() + 1e-12)
    return difference.item() if difference.isfinite() else math.inf


def roughen(module: nn.Module) -> nn.Module:
    r"""
    ## Weights of some size

    Fresh weights are small, biases are zero, and gains are one. Much that is wrong doesn't show
    then. Here all become random numbers, the same each time; what is no matrix stays near where
    it was.
    """
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in module.parameters():
            noise = torch.randn(weight.shape, generator=generator).to(weight)
            if weight.dim() > 1:
                weight.copy_(noise * 1.5 / math.sqrt(weight.shape[-1]))
            else:
                weight.add_(0.3 * noise)
    return module


def find_weights(attention: nn.Module, d_model: int) -> list[Matrix]:
    r"""
    ## Find the matrices

    * All parameters with two axes count, if the width of the model is one of these. A matrix for
      three projections at once is cut into three.
    * What a list of heads has one by one is put together: names that differ in a number only.
    * A bias has its matrix's name, with “bias” in place of “weight”.
    """
    groups: dict[str, list[Tensor]] = {}
    for name, weight in attention.named_parameters():
        groups.setdefault(re.sub(r"\.\d+\b", "", name), []).append(weight.detach())
    joined = {name: torch.cat(parts) for name, parts in groups.items()}

    # GPT-2's layers have their matrices the other way round; only those for three projections at
    # once show it.
    matrices = {n: w for n, w in joined.items() if w.dim() == 2 and d_model in w.shape}
    turned = any(weight.shape[1] != d_model for weight in matrices.values())
    found: list[Matrix] = []
    for name, weight in matrices.items():
        rows = weight.t() if turned else weight
        bias = joined.get(name.replace("weight", "bias"))
        bias = torch.zeros(len(rows)).to(rows) if bias is None or bias.dim() != 1 else bias
        if len(rows) % d_model == 0 and len(bias) == len(rows):
            found += zip(rows.split(d_model), bias.split(d_model), strict=True)
    return found


def of_torch(
    matrices: Sequence[Matrix], heads: int, x: Tensor, allowed: Tensor, factor: float = 1.0
) -> Tensor:
    r"""
    ## What PyTorch makes of them

    `matrices` are those of query, key, value and output. `allowed` is true where a position may
    look, `[seq_len, seq_len]`, and `factor` is for scores that are not scaled as they should be.
    """
    (query, query_bias), (key, key_bias), (value, value_bias), (output, output_bias) = matrices
    # The weights that it would start with are not needed.
    theirs = skip_init(nn.MultiheadAttention, x.shape[-1], heads, batch_first=True).to(x).eval()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([query * factor, key, value]))
        theirs.in_proj_bias.copy_(torch.cat([query_bias * factor, key_bias, value_bias]))
        theirs.out_proj.weight.copy_(output)
        theirs.out_proj.bias.copy_(output_bias)
        return theirs(x, x, x, attn_mask=~allowed, need_weights=False)[0]


def orders(matrices: Sequence[Matrix], x: Tensor, output: Tensor) -> list[list[Matrix]]:
    r"""
    ## Who is who

    The first position sees only itself, whatever its query and its scale. What comes out there,
    `output` from `x`, is its value through the output layer, and that tells which matrices these
    two are. If no two fit, because even the first position is wrong, all orders are left.
    """
    found = []
    for turned in (False, True):
        # The matrices may be the other way round, as in `x @ w`.
        for order in permutations(matrices):
            found.append([(w.t() if turned else w, bias) for w, bias in order])
    fits = []
    for order in found:
        value, last = order[2:]
        if off(F.linear(F.linear(x[:, 0], *value), *last), output[:, 0]) < NEAR:
            fits.append(order)
    return fits or found


def wrong_scales(heads: int, d_model: int) -> Iterator[tuple[str, int, float]]:
    r"""
    ## The usual suspects: scales and heads

    What to say, the number of heads, and what the scores are too large by.
    """
    d_k = d_model // heads
    scaled = "the scores are divided by the root of the whole width, not of the head's"
    yield scaled, heads, 1 / math.sqrt(heads)
    yield "the scores are not scaled", heads, math.sqrt(d_k)
    yield "the scores are multiplied by the root and not divided by it", heads, d_k
    yield "the scores are divided by the width and not by its root", heads, 1 / math.sqrt(d_k)
    for other in range(1, d_model + 1):
        if other != heads and d_model % other == 0:
            said = f"there are {other} heads, not {heads}"
            yield said, other, 1.0
            yield f"{said}, scaled as {heads} are", other, math.sqrt(heads / other)


def wrong_masks(causal: Tensor) -> Iterator[tuple[str, Tensor]]:
    r"""
    ## The usual suspects: masks

    What to say, and the mask in place of the causal one, `[seq_len, seq_len]`.
    """
    every = torch.ones_like(causal)
    yield "there is no causal mask in evaluation", every
    yield "the causal mask is off by one and shows the next position", every.tril(1)
    yield "the mask is upside down: true is hidden to some and visible to others", ~causal


def same_as_torch(output: Tensor, x: Tensor, matrices: Sequence[Matrix], heads: int) -> str:
    r"""
    ## Compare

    `x` and the `output` of the attention in evaluation are `[batch_size, seq_len, d_model]`. The
    result says what is wrong, or nothing.
    """
    _, seq_len, d_model = x.shape
    if len(matrices) != 4:
        return (
            f"found {len(matrices)} matrices of {d_model} x {d_model}, and an attention has four; "
            "give a function that returns four pairs of a weight and a bias by `weights`, or "
            "None if yours is another kind of attention"
        )
    causal = torch.ones(seq_len, seq_len, dtype=torch.bool).tril()
    least = math.inf
    some = orders(matrices, x, output)
    for order in some:
        least = min(least, off(output, of_torch(order, heads, x, causal)))
        if least < NEAR:
            return ""

    said = f"differs from torch.nn.MultiheadAttention with the same weights by {least:.2g}"
    for order in some:
        value, last = order[2:]
        if off(output, of_torch([value, value, value, last], heads, x, causal)) < NEAR:
            return f"{said}: one projection is used for query, key and value"

    # One mistake first, then two: a narrow attention that is often copied has a wrong scale *and*
    # no mask. If any order may be the right one, even the first position is wrong, and a scale
    # alone can't do that.
    masks, scales = list(wrong_masks(causal)), list(wrong_scales(heads, d_model))
    suspects = [(cause, allowed, heads, 1.0) for cause, allowed in masks]
    if len(some) < 48:
        suspects += [(cause, causal, n_heads, factor) for cause, n_heads, factor in scales]
    for mask, allowed in masks:
        suspects += [(f"{mask}, and {c}", allowed, n, factor) for c, n, factor in scales[:2]]
    for cause, allowed, n_heads, factor in suspects:
        for order in some:
            if off(output, of_torch(order, n_heads, x, allowed, factor)) < NEAR:
                return f"{said}: {cause}"
    return (
        f"{said}. It is none of the usual scales and masks; look at the axis of the softmax, and "
        "at view and transpose where heads are split and merged"
    )


def example(
    batch_size: int = 3, seq_len: int = 7, heads: int = 2, d_k: int = 5
) -> dict[str, Tensor | str]:
    r"""
    ## Example

    PyTorch's attention is compared with itself, and with itself of one head.
    """
    d_model = heads * d_k
    x = torch.randn(batch_size, seq_len, d_model)
    theirs = nn.MultiheadAttention(d_model, heads, batch_first=True)
    matrices = find_weights(theirs, d_model)
    causal = torch.ones(seq_len, seq_len, dtype=torch.bool).tril()
    with torch.no_grad():
        output = theirs(x, x, x, attn_mask=~causal)[0]
    return {
        "output": output,
        "itself": same_as_torch(output, x, matrices, heads),
        "one head": same_as_torch(output, x, matrices, 1),
    }

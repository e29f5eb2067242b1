r"""
---
title: "Mistakes: Widths and Scales"
summary: Six wrong lines around the projections; those that run change no shape, and train.
---

These six are in the arithmetic around the scores. Those that run at all do train, and look like a
right model whose settings want some care. So it takes [another implementation](comparison.py) to
find them.
"""

import math

import torch
from torch import Tensor

from labml_nn.transformers.mistakes.right_attention import RightAttention


class QueryForAll(RightAttention):
    r"""
    ## The query's projection for all three

    Two of three layers are never used: a copied line, in which the name was not changed. Every
    position then looks mostly at itself, since nothing is as near to a vector as that vector.

    Besides the comparison, [the gradients](single_tests.py#gradients) show it: the
    other two layers get none.

    Printed loss:
    [2.338](../../../results/mistakes.json#tables.mistakes.QueryForAll.printed); honest loss:
    [2.323](../../../results/mistakes.json#tables.mistakes.QueryForAll.honest).
    """

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        # **Right:** `return self.query(x), self.key(x), self.value(x)`
        return self.query(x), self.query(x), self.query(x)


class WidthAsFloat(RightAttention):
    r"""
    ## `/` for `//`

    In Python 3 it gives a float, also where the division comes out even, and no axis can have
    a length of 8.0. The first call fails, so this is the kindest mistake of the museum, unless
    somebody mends it with `int`: then a width that doesn't divide is rounded down in silence.
    """

    def head_width(self) -> int:
        # **Right:** `return self.d_model // self.heads`, after a check
        return self.d_model / self.heads


class WidthUnchecked(RightAttention):
    r"""
    ## No check that the heads fit

    Where they don't, the error comes late and from deep inside: “shape is invalid for input of
    size”. Code that makes its layers `heads * d_k` wide doesn't fail at all, and has fewer
    features than it says. [Sizes](attention_tests.py#sizes) asks for an error when the attention
    is made.
    """

    def head_width(self) -> int:
        # **Right:** raise a `ValueError` first, if `self.d_model % self.heads`
        return self.d_model // self.heads


class ScaledByModelWidth(RightAttention):
    r"""
    ## Scaled by the root of the whole width

    The scores are too small by the root of the number of heads, and the weights too even. The
    most copied mistake of all: a [lecture](https://github.com/karpathy/ng-video-lecture/pull/6)
    had it, until a viewer wrote. Courses and repositories that follow the lecture
    had it [in 2025](https://github.com/FareedKhan-dev/train-llm-from-scratch/pull/3) and
    [in 2026](https://github.com/Graylab/DL4Proteins-notebooks/issues/12).

    Training works around it: a model only has to learn longer queries. That is why nobody notices.

    Printed loss:
    [2.193](../../../results/mistakes.json#tables.mistakes.ScaledByModelWidth.printed); honest loss:
    [2.169](../../../results/mistakes.json#tables.mistakes.ScaledByModelWidth.honest).
    """

    def scale(self, scores: Tensor) -> Tensor:
        # **Right:** `return scores / math.sqrt(self.d_k)`
        return scores / math.sqrt(self.d_model)


class Unscaled(RightAttention):
    r"""
    ## Not scaled

    At this size it is no worse than the right one: the weights start out so small that scores are
    small as well. It becomes expensive with wide heads, whose scores saturate the softmax, and
    whose gradients vanish.

    Printed loss:
    [2.094](../../../results/mistakes.json#tables.mistakes.Unscaled.printed); honest loss:
    [2.073](../../../results/mistakes.json#tables.mistakes.Unscaled.honest).
    """

    def scale(self, scores: Tensor) -> Tensor:
        # **Right:** `return scores / math.sqrt(self.d_k)`
        return scores


class ScaledUp(RightAttention):
    r"""
    ## Multiplied where it should be divided

    Scores come out $d_k$ times too large. In each head one key gets nearly all of the weight,
    almost from the start.

    Printed loss:
    [2.520](../../../results/mistakes.json#tables.mistakes.ScaledUp.printed); honest loss:
    [2.523](../../../results/mistakes.json#tables.mistakes.ScaledUp.honest).
    """

    def scale(self, scores: Tensor) -> Tensor:
        # **Right:** `return scores / math.sqrt(self.d_k)`
        return scores * math.sqrt(self.d_k)


def example(
    batch_size: int = 3, heads: int = 5, d_k: int = 2, seq_len: int = 7
) -> dict[str, Tensor]:
    r"""
    ## Example

    Scaled scores, all of which are one before: each mistake by its factor.
    """
    d_model = heads * d_k
    x = torch.randn(batch_size, seq_len, d_model)
    made = [kind(d_model, heads) for kind in (ScaledByModelWidth, Unscaled, ScaledUp)]
    factors = torch.stack([one.scale(torch.ones(())) for one in made])
    unchecked = WidthUnchecked(d_model, heads)
    assert WidthAsFloat(d_model, heads).d_k == unchecked.d_k
    return {"factors": factors, "query for all": QueryForAll(d_model, heads)(x)}

r"""
---
title: "Mistakes: Axes and Views"
summary: Five ways to mix up axes without an error, because the numbers of elements agree.
---

A tensor is a row of numbers with a shape on top. `view` and `reshape` put another shape on the
same row, and never complain as long as the product of the axes is the same. So these mistakes
give results of the right shape, and a test that only looks at shapes passes.
"""

import torch
from torch import Tensor

from labml_nn.transformers.mistakes.right_attention import RightAttention


class SoftmaxOverQueries(RightAttention):
    r"""
    ## Softmax over the queries

    The weights of each *key* sum to one, over all queries that may look at it, later ones
    among them: the future is in the sum. The original of this site had it in the attention of
    its [diffusion model](https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/146),
    whose author called it a big bug. The reader who found it saw no difference
    in the quality of images: without a mask there is no future to leak.

    Printed loss:
    [0.263](../../../results/mistakes.json#tables.mistakes.SoftmaxOverQueries.printed); honest loss:
    [4.343](../../../results/mistakes.json#tables.mistakes.SoftmaxOverQueries.honest).
    """

    def weigh(self, scores: Tensor, allowed: Tensor) -> Tensor:
        # **Right:** `.softmax(dim=-1)`
        return scores.masked_fill(~allowed, -1e9).softmax(dim=-2)


class SoftmaxOverHeads(RightAttention):
    r"""
    ## Softmax over the heads

    The axis of the keys is 1 before the heads get an axis of their own, and stays 1 in the code
    after that. The heads now share out each pair of positions among them, hidden pairs too:
    where all heads have the same score, each gets an equal part.

    Printed loss:
    [2.147](../../../results/mistakes.json#tables.mistakes.SoftmaxOverHeads.printed); honest loss:
    [2.874](../../../results/mistakes.json#tables.mistakes.SoftmaxOverHeads.honest).
    """

    def weigh(self, scores: Tensor, allowed: Tensor) -> Tensor:
        # **Right:** `.softmax(dim=-1)`
        return scores.masked_fill(~allowed, -1e9).softmax(dim=1)


class ViewForSplit(RightAttention):
    r"""
    ## A view in place of a transpose

    The most dangerous line of the museum. It asks for the right shape at once, and gets rows that
    are cut elsewhere: what is called a head is a stretch of positions, and what is called
    a position is a piece of one. The causal mask then hides the wrong things.

    Somebody who trained nanoGPT's small model [reported a loss of
    1.2164](https://github.com/karpathy/nanoGPT/issues/234), where others get 1.47. Nobody found out
    why. A line like this one is how such a number can come about.

    Printed loss:
    [1.195](../../../results/mistakes.json#tables.mistakes.ViewForSplit.printed); honest loss:
    [4.070](../../../results/mistakes.json#tables.mistakes.ViewForSplit.honest).
    """

    def split(self, x: Tensor) -> Tensor:
        batch_size, seq_len, _ = x.shape
        # **Right:** `x.view(batch_size, seq_len, self.heads, self.d_k).transpose(1, 2)`
        return x.view(batch_size, self.heads, seq_len, self.d_k)


class ViewForMerge(RightAttention):
    r"""
    ## Merging heads in the wrong order

    Each position gets what one head found for several positions, and those may come
    later. It was in [a transformer from scratch](https://github.com/jsbaan/transformer-from-scratch/pull/6)
    until 2026, behind a test that trained the model and passed, and in a [series of
    videos](https://github.com/ajhalthor/Transformer-Neural-Network/pull/4).

    Printed loss:
    [1.253](../../../results/mistakes.json#tables.mistakes.ViewForMerge.printed); honest loss:
    [2.522](../../../results/mistakes.json#tables.mistakes.ViewForMerge.honest).
    """

    def merge(self, x: Tensor) -> Tensor:
        batch_size, _, seq_len, _ = x.shape
        # **Right:** `x.transpose(1, 2).reshape(batch_size, seq_len, self.d_model)`
        return x.reshape(batch_size, seq_len, self.d_model)


# A number that the notebook of a tutorial sets in its first cell.
N_HEADS = 4


class SizeFromGlobal(RightAttention):
    r"""
    ## Sizes from globals

    The argument is there, and the code takes the global of the notebook. As long as both say the
    same, nothing is wrong, and so the trained model below is the right one to the last digit. Then
    somebody builds a model with other heads. A view with -1 fits everything, so there is no
    error. Only a comparison at *more than one size* finds it.
    """

    def split(self, x: Tensor) -> Tensor:
        batch_size, seq_len, _ = x.shape
        # **Right:** `x.view(batch_size, seq_len, self.heads, self.d_k)`
        return x.view(batch_size, seq_len, N_HEADS, -1).transpose(1, 2)


def example(
    batch_size: int = 3, heads: int = 5, pairs: int = 2, seq_len: int = 7
) -> dict[str, Tensor]:
    r"""
    ## Example

    Every result has the shape that it should have.
    """
    d_model = N_HEADS * pairs * heads
    x = torch.randn(batch_size, seq_len, d_model)
    kinds = [SoftmaxOverQueries, SoftmaxOverHeads, ViewForSplit, ViewForMerge, SizeFromGlobal]
    return {kind.__name__: kind(d_model, heads)(x) for kind in kinds}

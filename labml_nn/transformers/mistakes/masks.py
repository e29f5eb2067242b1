r"""
---
title: "Mistakes: Masks"
summary: Six ways for the future to leak, most of which make the loss look wonderful.
---

A language model that sees its own answers need not learn anything else. So the printed losses of
this page are *better* than the right model's, all but one, and some are near zero. When the model
writes, there is no future to look up, and out comes gibberish.

**The right model first.** Its printed loss is
[2.114](../../../results/mistakes.json#tables.mistakes.RightAttention.printed), over the whole
validation text. Its honest loss is
[2.074](../../../results/mistakes.json#tables.mistakes.RightAttention.honest), over
[24](../../../results/mistakes.json#values.sizes.n_places) places of that text, which happen to be a
little easier. So compare printed losses with 2.114 and honest losses with 2.074, and never one
with the other. What can be compared is the *gap*, honest minus printed at the same places: zero for
the right model, and not for any mistake of this page.

[The future](single_tests.py#future) and [prefixes](single_tests.py#prefix) find all six, and
so does the [honest loss](../../training/leaks.py).
"""

import torch
from torch import Tensor

from labml_nn.transformers.mistakes.right_attention import RightAttention


class MaskUnused(RightAttention):
    r"""
    ## The mask is never used

    It is an argument, it is documented, it is passed all the way down, and the last line forgets
    it. PyTorch's tutorial on [building blocks of
    transformers](https://docs.pytorch.org/tutorials/intermediate/transformer_building_blocks.html)
    has an “attn_mask” that goes nowhere. Four models of the transformers library
    [saw the future](https://github.com/huggingface/transformers/issues/48745), from one
    release to the next, because they asked for the mask of an encoder.

    Printed loss:
    [0.044](../../../results/mistakes.json#tables.mistakes.MaskUnused.printed); honest loss:
    [7.069](../../../results/mistakes.json#tables.mistakes.MaskUnused.honest); gap:
    [7.026](../../../results/mistakes.json#tables.mistakes.MaskUnused.gap).
    """

    def weigh(self, scores: Tensor, allowed: Tensor) -> Tensor:
        # **Right:** `scores.masked_fill(~allowed, -math.inf).softmax(dim=-1)`
        return scores.softmax(dim=-1)


class MaskOnlyInTraining(RightAttention):
    r"""
    ## A causal mask dropped in evaluation

    Dropout and mask sit in one `if`, and the `else` turns both off. The attention of PyTorch's
    [tutorial on fused
    attention](https://docs.pytorch.org/tutorials/intermediate/scaled_dot_product_attention_tutorial.html)
    does so.

    The one leak of this page that makes the printed loss *worse*. The model has learned to look
    back only, and can't use the future. Its honest loss is nearly that of the right model: it is
    trained well and reported badly.

    Printed loss:
    [3.149](../../../results/mistakes.json#tables.mistakes.MaskOnlyInTraining.printed); honest loss:
    [2.096](../../../results/mistakes.json#tables.mistakes.MaskOnlyInTraining.honest); gap:
    [-1.034](../../../results/mistakes.json#tables.mistakes.MaskOnlyInTraining.gap).
    """

    def allowed(self, seq_len: int) -> Tensor:
        # **Right:** `return super().allowed(seq_len)`, whether the model is in training or not
        return super().allowed(seq_len) | (not self.training)


class MaskOffByOne(RightAttention):
    r"""
    ## Off by one

    The diagonal above the main one is visible, and that is where the answer is. Often written
    `triu` with a diagonal of 2, by somebody who counts from the wrong side.

    Printed loss:
    [0.043](../../../results/mistakes.json#tables.mistakes.MaskOffByOne.printed); honest loss:
    [6.555](../../../results/mistakes.json#tables.mistakes.MaskOffByOne.honest); gap:
    [6.509](../../../results/mistakes.json#tables.mistakes.MaskOffByOne.gap).
    """

    def allowed(self, seq_len: int) -> Tensor:
        # **Right:** `.tril()`
        return torch.ones(seq_len, seq_len, dtype=torch.bool).tril(1)


class MaskInverted(RightAttention):
    r"""
    ## Inverted

    True means *may look* to `scaled_dot_product_attention` of PyTorch, and *must not look* to its
    `MultiheadAttention`. A mask for the one, given to the other, shows the future and hides
    the past.

    Printed loss:
    [0.042](../../../results/mistakes.json#tables.mistakes.MaskInverted.printed); honest loss:
    [4.211](../../../results/mistakes.json#tables.mistakes.MaskInverted.honest); gap:
    [4.167](../../../results/mistakes.json#tables.mistakes.MaskInverted.gap).
    """

    def weigh(self, scores: Tensor, allowed: Tensor) -> Tensor:
        # **Right:** `allowed` as it is, without `~`
        return super().weigh(scores, ~allowed)


class MaskAfterSoftmax(RightAttention):
    r"""
    ## After the softmax

    What is hidden has a weight of zero, as it should. But the others no longer sum to
    one, and by how much they fall short tells how well the hidden keys fit. A model learns to
    read that. An image model of timm [had
    it](https://github.com/huggingface/pytorch-image-models/pull/2236).

    Printed loss:
    [1.516](../../../results/mistakes.json#tables.mistakes.MaskAfterSoftmax.printed); honest loss:
    [4.070](../../../results/mistakes.json#tables.mistakes.MaskAfterSoftmax.honest); gap:
    [2.601](../../../results/mistakes.json#tables.mistakes.MaskAfterSoftmax.gap).
    """

    def weigh(self, scores: Tensor, allowed: Tensor) -> Tensor:
        # **Right:** `scores.masked_fill(~allowed, -math.inf).softmax(dim=-1)`
        return scores.softmax(dim=-1) * allowed


class MaskAsZeros(RightAttention):
    r"""
    ## Zeros where minus infinity belongs

    A score of zero is a score like any other, and its weight is $e^0$ before the division. Also
    written `mask * scores`.

    Printed loss:
    [0.894](../../../results/mistakes.json#tables.mistakes.MaskAsZeros.printed); honest loss:
    [5.272](../../../results/mistakes.json#tables.mistakes.MaskAsZeros.honest); gap:
    [4.406](../../../results/mistakes.json#tables.mistakes.MaskAsZeros.gap).
    """

    def weigh(self, scores: Tensor, allowed: Tensor) -> Tensor:
        # **Right:** `scores.masked_fill(~allowed, -math.inf).softmax(dim=-1)`
        return scores.masked_fill(~allowed, 0.0).softmax(dim=-1)


def weight_of_the_future(attention: RightAttention, x: Tensor) -> Tensor:
    r"""
    ## How much of it is seen

    The mean weight that positions give to what comes after them, for `x` of
    `[batch_size, seq_len, d_model]`.
    """
    seq_len = x.shape[1]
    query, key, _ = map(attention.split, attention.project(x))
    scores = attention.scale(query @ key.transpose(-2, -1))
    weights = attention.weigh(scores, attention.allowed(seq_len))
    return weights.triu(1).sum(dim=-1).mean()


def example(
    batch_size: int = 3, heads: int = 5, d_k: int = 2, seq_len: int = 7
) -> dict[str, Tensor]:
    r"""
    ## Example

    The weight of the future, in evaluation. After the softmax it is zero: that mistake leaks
    through the sum.

    ### Find the bug

    ??? question "`torch.ones(n, n, 1).tril()` for scores whose first two axes are positions"
        It masks nothing: `tril` takes the triangle of the *last two* axes, $n$ by 1. All shapes are
        right. Only this test notices: change the last token; no earlier output may move.

    ??? question "`torch.ones(n, n).triu(1)`, given to `scaled_dot_product_attention`"
        It is the mask of what is hidden, and that function wants what is visible (and, given
        numbers, adds them to the scores). It hides nothing.

    ??? question "`scores = scores * mask`, then the softmax. Which mistake of this page is it?"
        Zeros where minus infinity belongs: a hidden key has the score 0 and the weight $e^0$.

    ??? question "Which of the six makes the printed loss worse, and why?"
        The mask that is dropped in evaluation: the model was trained without the future.
    """
    d_model = heads * d_k
    x = torch.randn(batch_size, seq_len, d_model)
    kinds = [MaskUnused, MaskOnlyInTraining, MaskOffByOne, MaskInverted, MaskAfterSoftmax]
    made = [kind(d_model, heads).eval() for kind in [RightAttention, *kinds, MaskAsZeros]]
    return {type(one).__name__: weight_of_the_future(one, x) for one in made}

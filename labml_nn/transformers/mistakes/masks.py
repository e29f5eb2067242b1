r"""
---
title: "Mistakes: Masks"
summary: Six ways for the future to leak, most of which make the loss look wonderful.
---

A language model that sees its own answers need not learn anything else. So the printed losses of
this page are *better* than the right model's, all but one, and some are near zero. When such a
model writes, there is no future to look up, and out comes gibberish. A row is a query, and 1 means
that it sees the key:

```
right      off by one   inverted
1 0 0      1 1 0        0 1 1
1 1 0      1 1 1        0 0 1
1 1 1      1 1 1        0 0 0
```

[Printed and honest loss of these mistakes; the line is the right
model](../../../results/mistakes.json#figures.masks)

**The right model first.** Its printed loss is
[2.117](../../../results/mistakes.json#tables.mistakes.RightAttention.printed), and its honest loss
[2.072](../../../results/mistakes.json#tables.mistakes.RightAttention.honest). Compare printed
losses with printed ones, and honest losses with honest ones.

A test of [the future](../../../wrongline/properties.py#nothing_from_the_future) finds all six, and
so does the [honest loss](../../training/leaks.py).
"""

import torch
from torch import Tensor

from labml_nn.transformers.mistakes.one_line import Mistake


class MaskUnused(Mistake):
    r"""
    ## The mask is never used

    It is an argument, it is documented, it is passed all the way down, and the last line forgets
    it. PyTorch's tutorial on [building blocks of
    transformers](https://docs.pytorch.org/tutorials/intermediate/transformer_building_blocks.html)
    has an “attn_mask” that goes nowhere. Four models of the transformers library [saw the
    future](https://github.com/huggingface/transformers/issues/48745) from version 5.9 on, because
    they asked for the mask of an encoder.
    """

    # A hidden score becomes minus infinity, and its weight zero.
    right = "weights = scores.masked_fill(hidden, -math.inf).softmax(dim=-1)"

    # Every query sees every key. All shapes stay the same, so there is no error.
    wrong = "weights = scores.softmax(dim=-1)"


class MaskOnlyInTraining(Mistake):
    r"""
    ## A causal mask dropped in evaluation

    Dropout and mask sit in one `if`, and the `else` turns both off. The attention of PyTorch's
    [tutorial on fused
    attention](https://docs.pytorch.org/tutorials/intermediate/scaled_dot_product_attention_tutorial.html)
    does so.

    This is the one leak of the page that makes the printed loss *worse*. The model has learned to
    look back only, and can't use the future. Its honest loss is nearly that of the right model: it
    is trained well and reported badly.
    """

    # What is hidden is the same in training and in evaluation.
    right = "hidden = has_key & ~allowed"

    # In evaluation `self.training` is False, so `hidden` is False everywhere.
    wrong = "hidden = has_key & ~allowed & self.training"


class MaskOffByOne(Mistake):
    r"""
    ## Off by one

    The diagonal above the main one is visible, and that is where the answer is. As a mask of what
    is hidden it is `triu` with a diagonal of 2. We know of no published one.
    """

    # The diagonal and what is below it: the next token is the answer, and is hidden.
    right = ".tril()"

    # One more diagonal is kept: position $t$ sees $t + 1$, whose token is its target.
    wrong = ".tril(1)"


class MaskInverted(Mistake):
    r"""
    ## Inverted

    True means *may look* to `scaled_dot_product_attention` of PyTorch, and *must not look* to its
    `MultiheadAttention`. A mask for one of them, given to the other, shows the future and hides the
    past: in [the code of a book](https://github.com/rasbt/LLMs-from-scratch/issues/1061), and in
    [x-transformers](https://github.com/lucidrains/x-transformers/issues/160).
    """

    # Each position sees itself and earlier ones.
    right = ".tril()"

    # Each position sees later ones only. The last one sees nothing, and takes nothing.
    wrong = ".triu(1)"


class MaskAfterSoftmax(Mistake):
    r"""
    ## After the softmax

    What is hidden has a weight of zero, as it should. But the other weights no longer sum to one,
    and by how much they fall short tells how well the hidden keys fit. A model learns to read that.
    An image model of timm [had it](https://github.com/huggingface/pytorch-image-models/pull/2236).
    """

    # The softmax divides by a sum over the visible keys alone.
    right = "weights = scores.masked_fill(hidden, -math.inf).softmax(dim=-1)"

    # The softmax has divided by a sum over *all* keys, and the product comes too late.
    wrong = "weights = scores.softmax(dim=-1) * allowed"


class MaskAsZeros(Mistake):
    r"""
    ## Zeros instead of minus infinity

    A score of zero is a score like any other, and its weight is $e^0$ before the division. It is
    also written [`mask * scores`](https://github.com/georg-wolflein/good-features/pull/1). GluonTS
    filled in [1e-9, not -1e9](https://github.com/awslabs/gluonts/pull/1401).
    """

    # $e^{-\infty} = 0$: a hidden key weighs nothing.
    right = "-math.inf"

    # $e^0 = 1$: a hidden key weighs as much as a visible one with a score of zero.
    wrong = "0.0"


MASKS_EXHIBITS = (
    MaskUnused,
    MaskOnlyInTraining,
    MaskOffByOne,
    MaskInverted,
    MaskAfterSoftmax,
    MaskAsZeros,
)


def example(
    batch_size: int = 3, heads: int = 5, d_k: int = 2, seq_len: int = 7
) -> dict[str, Tensor]:
    r"""
    ## Example

    The gradient of the first output with respect to all *later* inputs. It should be zero, and is
    zero for the right attention alone. After the softmax, hidden weights are zero as well: that
    mistake leaks through the sum.

    ### Measured here

    The printed loss is of the whole validation text, the honest one of
    [24](../../../results/mistakes.json#values.sizes.n_places) places of it, which happen to be a
    little easier.

    ### Find the bug

    ??? question "`torch.ones(n, n, 1).tril()` for scores whose first two axes are positions"
        It masks nothing: `tril` takes the triangle of the *last two* axes, $n$ by 1. All shapes are
        right. To notice it, change the last token: no earlier output may move.

    ??? question "`torch.ones(n, n).triu(1)`, given to `scaled_dot_product_attention`"
        It is the mask of what is hidden, and that function wants what is visible (and, given
        numbers, adds them to the scores). It hides nothing.

    ??? question "`scores = scores * mask`, then the softmax. Which mistake of this page is it?"
        Zeros instead of minus infinity: a hidden key has the score 0 and the weight $e^0$.

    ??? question "Which of the six makes the printed loss worse, and why?"
        The mask that is dropped in evaluation: the model was trained without the future.
    """
    # A gradient tells what an output depends on, whatever the weights are.
    x = torch.randn(batch_size, seq_len, heads * d_k, requires_grad=True)
    leaks = {}

    # `Mistake` itself has nothing wrong.
    for exhibit in (Mistake, *MASKS_EXHIBITS):
        attention = exhibit.make()(heads, heads * d_k).eval()

        # Of output 0 alone: nothing but input 0 may have a gradient.
        (gradient,) = torch.autograd.grad(attention(x)[:, 0].square().sum(), x)
        leaks[exhibit.__name__] = gradient[:, 1:].abs().max()
    return leaks

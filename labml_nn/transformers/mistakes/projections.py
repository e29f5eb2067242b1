r"""
---
title: "Mistakes: Widths and Scales"
summary: Five wrong lines around the projections; those that run change no shape, and train.
---

These five are in the arithmetic around the scores. Take four heads of four features, and two keys
whose products with the query are 8 and 0. Divided by $\sqrt 4$, the scores are 4 and 0, and the
weights 0.98 and 0.02. Divided by $\sqrt{16}$, for the width of the model, they are 0.88 and 0.12.
Not divided, or multiplied, they are 1.000 and 0.000. All of these train.
A [comparison with another implementation](../../../wrongline/comparison.py) finds them at once.

[Printed and honest loss of these mistakes; the line is the right
model](../../../results/mistakes.json#figures.projections)

The right model's printed loss is
[2.117](../../../results/mistakes.json#tables.mistakes.RightAttention.printed), its honest loss
[2.072](../../../results/mistakes.json#tables.mistakes.RightAttention.honest).
"""

import torch
from torch import Tensor

from labml_nn.transformers.mistakes.one_line import Mistake
from labml_nn.transformers.mistakes.right_attention import RightAttention


class QueryForAll(Mistake):
    r"""
    ## The query's projection for all three

    A copied line in which the name was not changed: two of three layers are never used. A query
    $(1, 2)$ now has the score $1 + 4 = 5$ with its own key, which is $(1, 2)$ as well, and with a
    random key, half of the time, one below 0. So you would expect each position to look at itself.
    But we looked into a model half as wide, after 400 steps from two seeds: queries are short
    there, scores are small, and each position looks at all before it almost evenly. A copy of the
    annotated transformer projected its values [with the layer of the
    keys](https://github.com/yflyzhang/AnnotatedTransformer/issues/1).

    The [gradients](../../../wrongline/properties.py#every_matrix_is_used) show it too: the other
    two layers get none.
    """

    # Three layers, and each of them is used once.
    right = "query, key, value = self.query(x), self.key(x), self.value(x)"

    # The other two layers are saved and counted, and never get a gradient.
    wrong = "query, key, value = self.query(x), self.query(x), self.query(x)"


class WidthAsFloat(Mistake):
    r"""
    ## `/` for `//`

    In Python 3 the result is a float, even where the division comes out even. The first call fails,
    so this is the kindest mistake of the museum, and we know of no published one. But some people
    mend it with `int(...)` and without a check. Then 10 features are cut into 3 heads of 3, and one
    is left over. This attention fails there, since `view` can't place ten numbers in nine. One
    whose layers make `heads * d_k` features runs, with a width that nobody asked for.
    """

    # A whole number, as the length of an axis must be.
    right = "self.d_k = d_model // heads"

    # The mistake is here. The error comes later, where `view` wants whole numbers.
    wrong = "self.d_k = d_model / heads"


class ScaledByModelWidth(Mistake):
    r"""
    ## Scaled by the root of the whole width

    The scores are too small by the root of the number of heads, and the weights too even. This
    mistake gets copied. A [lecture](https://github.com/karpathy/ng-video-lecture/pull/6) had it,
    until a viewer wrote. Courses and repositories that follow the lecture had it [in
    2025](https://github.com/FareedKhan-dev/train-llm-from-scratch/pull/3) and [in
    2026](https://github.com/Graylab/DL4Proteins-notebooks/issues/12).

    Training makes up for a part of it, with longer queries and keys. What is left costs
    [0.078](../../../results/mistakes.json#tables.mistakes.ScaledByModelWidth.change) nats, which
    looks like settings that could be better.
    """

    # A score is a sum of so many products: as many as a head has features.
    right = "math.sqrt(self.d_k)"

    # With four heads this root is twice as large, and each score half of what it should be.
    wrong = "math.sqrt(d_model)"


class Unscaled(Mistake):
    r"""
    ## Not scaled

    Here it is no worse than the right one, because the weights start small: with a standard
    deviation of 0.02, a query spreads by $0.02 \sqrt{128} = 0.226$, and a sum of 32 products of two
    such numbers by $0.226^2 \sqrt{32} = 0.29$. We tried both in a model half as wide, from two
    seeds. Without the scale it is better by 0.06 if its weights start like that. If those for
    queries and keys start six times as large, so that a query spreads by 1, it is worse by more
    than 0.1. A path of [MLC LLM](https://github.com/mlc-ai/mlc-llm/pull/3426) left it out, and so
    did code in a [post about caches](https://github.com/huggingface/blog/pull/2893).
    """

    # The divisor keeps the spread of a score from growing with the width of the head.
    right = "key.transpose(-2, -1) / math.sqrt(self.d_k)"

    # Were queries and keys to spread by 1, a sum of 32 products would spread by $\sqrt{32} = 5.7$.
    wrong = "key.transpose(-2, -1)"


class ScaledUp(Mistake):
    r"""
    ## Multiplied instead of divided

    Scores come out $d_k$ times too large. Our weights start so small that the softmax is soft all
    the same: the largest weight of a query is about 0.2 on average. But the scores grow fast, and
    after a hundred steps of training it is 0.9. A
    [Perceiver](https://github.com/esceptico/perceiver-io/issues/9) divided by a factor that was
    inverted already.
    """

    # Divided, a score spreads no more than one of its products.
    right = "/ math.sqrt(self.d_k)"

    # Wrong by $\sqrt{d_k}$ twice: once for the division that is missing, once for the product.
    wrong = "* math.sqrt(self.d_k)"


PROJECTIONS_EXHIBITS = (QueryForAll, WidthAsFloat, ScaledByModelWidth, Unscaled, ScaledUp)


def example(
    batch_size: int = 3, heads: int = 5, d_k: int = 2, seq_len: int = 7
) -> dict[str, Tensor]:
    r"""
    ## Example

    How far each output is from that of the right attention, with the same weights.

    ### Find the bug

    ??? question "`F.scaled_dot_product_attention(q / math.sqrt(d_k), k, v)`. What is wrong?"
        The function divides by the root once more: scores are divided by the whole $d_k$. A
        comparison with the same weights shows it.

    ??? question "Eight heads, and the scale is the root of the whole width. How much too small?"
        Scores are too small by $\sqrt{8} = 2.83$, since $d_{model} = 8\, d_k$.

    ??? question "Which mistake of this page does a test of shapes find?"
        The float alone, because it doesn't run.
    """
    # One input and one set of weights: only the wrong line can make a difference.
    x = torch.randn(batch_size, seq_len, heads * d_k)
    right = RightAttention(heads, heads * d_k)
    far = {}

    # The float isn't among them: it fails when it is called.
    for exhibit in (QueryForAll, ScaledByModelWidth, Unscaled, ScaledUp):
        wrong = exhibit.make()(heads, heads * d_k)
        wrong.load_state_dict(right.state_dict())
        far[exhibit.__name__] = (wrong(x) - right(x)).abs().max()
    return far

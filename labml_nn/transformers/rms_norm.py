r"""
---
title: RMSNorm
summary: Divide the features of a token by their root mean square, without subtracting the mean.
know: layer_norm.py, models.py
paper:
  title: Root Mean Square Layer Normalization
  authors: Zhang and Sennrich
  year: 2019
  link: https://arxiv.org/abs/1910.07467
terms:
  RMSNorm: Divides a vector by its root mean square.
---

Every layer of a [transformer](models.py) adds something to the features of a token. In a trained
model they grow from layer to layer, to [two to three times their size](models.py#example), and each
layer would get inputs of another size. A normalisation gives all layers inputs of one size.

Take a token with the features 1, 2, 3, 4. The mean of their squares is 30/4 = 7.5, and its root is
2.74, the *root mean square*. RMSNorm divides by it. [Layer normalisation](layer_norm.py) first
subtracts the mean, 2.5. That leaves −1.5, −0.5, 0.5 and 1.5, whose mean square is 5/4 = 1.25. It
divides by the root of that, the standard deviation of 1.12.

| features | 1 | 2 | 3 | 4 |
| --- | --- | --- | --- | --- |
| layer normalisation | −1.34 | −0.45 | 0.45 | 1.34 |
| RMSNorm | 0.37 | 0.73 | 1.10 | 1.46 |

With a learned *gain* $g$ for each of the $d$ features,

$$
\operatorname{RMSNorm}(x) = g \odot \frac{x}{\sqrt{\frac{1}{d} \sum_i x_i^2 + \epsilon}}
$$

where $\odot$ multiplies feature by feature, and $\epsilon$ is a tiny number that keeps a token of
zeros from being divided by zero.

**In:** the features of tokens, `[seq_len, batch_size, d_model]`. **Out:** the same, with a root
mean square of 1 for each token, before the gain.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn


def rms_norm(x: Tensor, eps: float = 1e-6) -> Tensor:
    r"""
    ## Divide by the root mean square

    `x` and the result are `[seq_len, batch_size, d_model]`. After it, the length of every vector is
    $\sqrt{d}$, if it was well above $\sqrt{\epsilon d}$ before.
    """
    # With at least 32 bits. In float16 the square of 256 is infinite; in bfloat16 a mean would have
    # two or three digits.
    wide = x.to(torch.promote_types(x.dtype, torch.float32))

    # One number for each token, `[seq_len, batch_size, 1]`. A token of zeros would be 0/0 without
    # `eps`.
    mean_square = wide.square().mean(dim=-1, keepdim=True)
    normalised = wide * torch.rsqrt(mean_square + eps)

    # Back to 16 bits, if it had 16.
    return normalised.to(x.dtype)


class RMSNorm(nn.Module):
    r"""
    ## RMSNorm with a gain

    Each feature is multiplied by a learned gain, so that some can be larger than others. Where a
    linear layer follows, the layer's weights can do the same, and [some models](modern/model.py)
    have no gains.
    """

    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        r"""
        * `d_model` is the number of features
        * `eps` keeps a token of zeros from being divided by zero
        """
        super().__init__()

        # Gains of 1 change nothing at the start.
        self.gain = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        r"""
        `x` and the result are `[seq_len, batch_size, d_model]`.
        """
        # The same gains for all tokens. Once they differ, they change the direction, too.
        return rms_norm(x, self.eps) * self.gain


def in_transformer(*, d_model: int, **_: float) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In place of every layer normalisation of the [transformer that
    writes](basic/autoregressive_experiment.py).
    """
    places = ("norm_self_attn", "norm_ff", "norm")
    return {place: lambda: RMSNorm(d_model) for place in places}


def example(seq_len: int = 7, batch_size: int = 3, d_model: int = 5) -> Tensor:
    r"""
    ## Try it

    ### A circle, and two points

    RMSNorm without a gain changes the length of the vector and not its direction: the features are
    still in the ratio 1 : 2 : 3 : 4. Subtracting the mean loses one direction: that in which all
    features are equal. With two features, layer normalisation leaves only which of the two is
    larger.

    [Twenty tokens, each joined to what it becomes: a point of the circle, or one of only
    two](../../results/drawings.json#figures.normalised)

    (One of the tokens has 0.79 and 0.80. There $\epsilon$ counts, and layer normalisation makes
    0.93 of it, not 1.)

    ### What the mean is worth

    The paper found that models learn as well without subtracting the mean, and that the
    normalisation takes less time. We see the first, too: with layer normalisation the loss of the
    [modern model](modern/ablation.py) changes by
    [0.002](../../results/ablation.json#tables.changes.layer%20normalisation%2C%20no%20RMSNorm.worth)
    nats, which is within the noise. We did not measure the time.

    How much is there to subtract? Of the mean square of 1, 2, 3 and 4, which is 7.5, the square of
    the mean is 6.25, or 83 %. The example exaggerates: of $d$ numbers drawn from a normal
    distribution with mean zero it is $1/d$ on average. We looked at a small transformer with layer
    normalisation, of two layers and 64 features, trained for 500 steps from two seeds. Before its
    normalisations the mean has 2 to 12 %. So layer normalisation and RMSNorm do much the same
    there. That this is why models learn as well without it is a guess.

    Any vector can be normalised so. Models of today do it to [queries and
    keys](variants/query_key_norm.py), too.

    ### Exercises

    ??? question "Layer normalisation also subtracts the mean. Why can RMSNorm leave that out?"
        - [ ] The mean of the features is zero anyway.
            - It can be small, but nothing makes it zero: the features 1, 2, 3 and 4 have a mean of
              2.5, and RMSNorm leaves one of 0.91.
        - [ ] The gain learns to subtract it.
            - A gain multiplies. It can't subtract.
        - [ ] Dividing by the root mean square removes it.
            - Dividing changes the length of the vector and not its direction.
        - [x] It is a finding, not a proof: models learn as well without it.
            - Yes, in the paper and here, where the difference is within the noise.

    ??? question "Multiply all features by 10. What comes out? What if you add 10 to all?"
        Multiplied: the same as before, from both normalisations. With 10 added, layer normalisation
        gives the same as before, because it subtracts the mean; RMSNorm gives something else.

    ??? question "What does RMSNorm make of $(3, 4)$, without a gain?"
        The mean square is $(9 + 16)/2 = 12.5$ and its root 3.54, so $(0.85, 1.13)$: of length
        $\sqrt 2$.

    ??? question "Take the mean over `dim=0`. The result has the right shape. What goes wrong?"
        There is one number for each feature of a sequence, and not for each token. So each feature
        is divided by its size over all positions, also those to come: the model sees
        the future. Change the last token, and earlier outputs move.
    """
    # Every token is normalised on its own.
    x = torch.randn(seq_len, batch_size, d_model)
    return RMSNorm(d_model)(x)

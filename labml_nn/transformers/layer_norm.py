r"""
---
title: Layer Normalisation
summary: Subtract a token's mean and divide by its standard deviation, then scale and shift.
paper:
  title: Layer Normalization
  authors: Ba, Kiros and Hinton
  year: 2016
  link: https://arxiv.org/abs/1607.06450
terms:
  batch normalisation: Normalises each feature over all tokens of a batch.
  layer normalisation: Gives each token's features mean 0 and variance 1, then scales and shifts.
---

Take a token with three features: 2, 4 and 9. Their mean is 15/3 = 5. Subtract it, and −3, −1 and 4
are left. The squares of these are 9, 1 and 16, and the mean of the squares, the *variance*, is 26/3
= 8.67. Its root, 2.94, is the *standard deviation*. Divide by it:

| features | 2 | 4 | 9 |
| --- | ---: | ---: | ---: |
| minus the mean, 5 | −3 | −1 | 4 |
| divided by 2.94 | −1.02 | −0.34 | 1.36 |
| times the gains 2, 1, 0.5 | −2.04 | −0.34 | 0.68 |
| plus the biases 0, 0, 1 | −2.04 | −0.34 | 1.68 |

After the division, the features have mean 0 and variance 1. *Gain* and *bias* are learned, a pair
for each feature. Those of the table are made up; before training they are 1 and 0, and change
nothing.

$$
\operatorname{LayerNorm}(x) = g \odot \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + b
$$

Here $\mu$ and $\sigma^2$ are mean and variance of one token's features, $\odot$ multiplies feature
by feature, and $\epsilon$ is 0.00001.

The token 20, 40, 90 comes out as the same numbers. So a layer gets inputs of one size, however much
the layers before it have added. In a stack of 64 layers *without* normalisations, the first loss is
[238](../../results/depth.json#tables.stacks.64%20layers%2C%20rate%200.003.first), and [100 steps
don't mend it](models.py#example); with them it is
[4.40](../../results/depth.json#tables.stacks.64%20layers%2C%20rate%200.003.normalised_first).

**In:** the features of tokens, `[seq_len, batch_size, d_model]`. **Out:** the same shape. Each
token is normalised by itself.
"""

import torch
from torch import Tensor, nn


def normalise(x: Tensor, eps: float = 1e-5) -> Tensor:
    r"""
    ## Normalise each token

    `x` and the result are `[seq_len, batch_size, d_model]`.

    What is removed is the token's own shift and scale. 2, 4 and 9 give −1.02, −0.34 and 1.36, and
    so do 102, 104 and 109, and 20, 40 and 90. What stays is the ratio of the distances: 9 − 4 is
    2.5 times 4 − 2, and 1.36 + 0.34 is 2.5 times −0.34 + 1.02.

    If the features are nearly equal, the scale is removed in part only. 0.002, 0.004 and 0.009 have
    a variance of 0.0000087, which is less than $\epsilon$. They become −0.69, −0.23 and 0.93.
    """
    # One mean for each token, `[seq_len, batch_size, 1]`. `dim=-1` is the axis of the features, and
    # `keepdim` leaves an axis of size 1, so that the mean can be subtracted from all of them.
    mean = x.mean(dim=-1, keepdim=True)

    # −3, −1 and 4: how far each feature is from the mean. Their sum is 0.
    centred = x - mean

    # 8.67, the mean of 9, 1 and 16. It is divided by $d$, not by $d - 1$: nothing is estimated from
    # a sample here. So the mean square of the result is 1, if `eps` is small beside the variance.
    variance = centred.square().mean(dim=-1, keepdim=True)

    # Three features of 5 have a variance of 0, and 0/0 is not a number. With `eps` they become 0.
    return centred / torch.sqrt(variance + eps)


class LayerNorm(nn.Module):
    r"""
    ## Layer normalisation

    The same as `nn.LayerNorm`, which keeps the gains under the name `weight`.

    Mean and variance are *computed*, one of each for a token. Gain and bias are *learned*, one of
    each for a feature, and they are the same for all tokens.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        r"""
        * `d_model` is the number of features
        * `eps` keeps a token of equal features from 0/0
        """
        super().__init__()
        # A gain says how much a feature counts: 2 makes it twice as large for all tokens, and 0
        # switches it off. If a linear layer follows, its weights can do the same.
        self.gain = nn.Parameter(torch.ones(d_model))

        # A bias shifts a feature by the same amount for every token. It is added last: before the
        # normalisation, the mean of the biases would be subtracted again.
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        r"""
        `x` and the result are `[seq_len, batch_size, d_model]`.
        """
        # One gain and one bias for each feature. Broadcasting gives the same ones to each token.
        return normalise(x, self.eps) * self.gain + self.bias


def batch_normalise(x: Tensor, eps: float = 1e-5) -> Tensor:
    r"""
    ## Batch normalisation, for comparison

    The same steps along other axes. Put the tokens one below the other. Layer normalisation works
    along each *row*, and batch normalisation down each *column*:

    [Two tokens with three features: numbers of one colour share a mean and a
    variance](../../results/layer_norm.json#figures.axes)

    Down the first column, 2 and 30 have the mean 16 and the standard deviation 14, and become −1
    and 1. In each column it is the same. With two tokens, only which of them is larger is left.

    Now make the second token 0, 0, 0. Layer normalisation gives the first token what it gave
    before. Batch normalisation turns it from −1, −1, −1 into 1, 1, 1. In a language model the
    second token comes later, so the first has seen the future.

    PyTorch's `nn.BatchNorm1d` computes this while it trains, and then scales and shifts. It also
    keeps running means and variances, and uses them in evaluation. There no token depends on
    another any more, but the module computes something else than it did in training. Layer
    normalisation has nothing to keep, and is the same in both.
    """
    # One mean for each feature, `[1, 1, d_model]`, over all positions and sequences.
    mean = x.mean(dim=(0, 1), keepdim=True)
    centred = x - mean

    # A single token in the batch would leave only zeros.
    variance = centred.square().mean(dim=(0, 1), keepdim=True)
    return centred / torch.sqrt(variance + eps)


def example(seq_len: int = 7, batch_size: int = 3, d_model: int = 5) -> tuple[Tensor, ...]:
    r"""
    ## Example

    ### A sentence before and after

    The [small transformer](basic/autoregressive_model.py), with [the weights that run in these
    pages](../page_models/models.py), has read “the cat sat”. Each character has 128 features. Here
    is how far apart they are, before the last normalisation and after it, without gain and bias:

    [From the smallest feature of a character to the largest, and in bold from one standard
    deviation below their mean to one above](../../results/layer_norm.json#figures.sentence)

    [Mean and standard deviation of the features of each
    character](../../results/layer_norm.json#tables.characters)

    The features of the first space are [3.4](../../results/layer_norm.json#values.ratio) times as
    far apart as those of the last “t”. Logits are weighted sums of features. Say the weights make 2
    and 1 of the “t”: the softmax of these gives the first token a probability of 0.73. Of features
    3.4 times as large they make 6.8 and 3.4, and the probability is 0.97. The prediction would be
    surer because of the size alone.

    The gains of this normalisation are between
    [0.93](../../results/layer_norm.json#values.lowest) and
    [1.37](../../results/layer_norm.json#values.highest) after training. The means of the characters
    are small, at most [0.23](../../results/layer_norm.json#values.mean) standard deviations. So
    subtracting them makes no vector shorter by more than 3 %.
    [RMSNorm](rms_norm.py) doesn't subtract them.

    ### Where others differ

    The transformer of 2017 normalises the sum of a sublayer and its input, and most of today
    normalise the input of the sublayer: [post-norm and pre-norm](models.py#example).

    The [Annotated Transformer](https://nlp.seas.harvard.edu/annotated-transformer/) divides the
    squares by $d - 1$, and adds $\epsilon$ to the standard deviation, not to the variance. From 2,
    4 and 9 it makes −0.83, −0.28 and 1.11. Larger gains make up for that factor, up to
    $\epsilon$. So such a model can compute the same, but with the weights of one in the other you
    get other results.

    ### Exercises

    ??? question "Why is the variance divided by $d$, and not by $d - 1$?"
        - [ ] Because nobody can see the difference.
            - With 128 features it is 0.4 %. With 2, 4 and 9 you see it: 26/2 = 13, and 9 becomes
              1.11, not 1.36.
        - [ ] With $d - 1$ the mean of the result wouldn't be 0.
            - It would. The mean was subtracted before, and dividing by any number leaves it 0.
        - [x] These are all the features there are, and their mean square is to become 1.
            - Yes. With $d - 1$ you estimate the variance of many numbers from a few of them.

    ??? question "Each feature is multiplied by a learned gain. Can that undo the normalisation?"
        - [ ] Yes, if training finds the standard deviation for the gain.
            - There is one gain for a feature, and each token has another standard deviation.
        - [x] No: 2, 4, 9 and 20, 40, 90 have become equal, and stay equal with any gains.
            - Yes. All tokens get the same gains, so these can't tell the two apart.
        - [ ] No, because a gain is never far from 1.
            - It starts at 1, and may go anywhere.

    ??? question "What does it make of −2, −4 and −9? And what if each feature is 5?"
        The mean is −5, so 3, 1 and −4 are left: all signs are turned, 1.02, 0.34 and −1.36. Three
        features of 5 become 0, 0 and 0, and then the biases.

    ??? question "How many different results can a token with *two* features have, before the gain?"
        About two. One feature is above the mean, the other as far below it, so it is −1 and 1 or 1
        and −1, if they differ by much more than $\sqrt{\epsilon}$. If they are equal, both are 0.

    ??? question "Take mean and variance over `dim=(0, 2)`. Which shapes change? What goes wrong?"
        No shape of the result changes. But now all positions of a text share their mean and
        variance: change the last token, and the outputs of all others move. The model sees the
        future. PyTorch does so if you pass it the sizes of both axes, as in “nn.LayerNorm([seq_len,
        d_model])” for a text without a batch.
    """
    # The two tokens of the picture, one below the other.
    tokens = torch.tensor([[2.0, 4, 9], [30, 10, 20]]).unsqueeze(1)
    along_rows = normalise(tokens)
    down_columns = batch_normalise(tokens)

    # The rows of the first table, with its gains and biases.
    scaled = LayerNorm(3)
    scaled.gain.data = torch.tensor([2.0, 1, 0.5])
    scaled.bias.data = torch.tensor([0.0, 0, 1])
    first_table = scaled(tokens[0])

    # A batch of tokens. Other scales and shifts give the same up to rounding and `eps`.
    x = torch.randn(seq_len, batch_size, d_model)
    norm = LayerNorm(d_model)
    return along_rows, down_columns, first_table, norm(x), norm(10 * x + 3), batch_normalise(x)

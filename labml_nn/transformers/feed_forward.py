r"""
---
title: Feed-Forward Network
summary: Two linear layers with an activation between them, applied at each position.
know: mha.py
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
terms:
  feed-forward network: Two linear layers and an activation, applied to each position alone.
---

[Attention](mha.py) moves information from position to position, but what it computes is an average:
once the weights are chosen, its output is linear in the values. The feed-forward network works on
what attention has gathered, one position at a time.

How far do two features differ, $|a - b|$? A linear layer that gives 1 for $(1, 0)$ and for $(0, 1)$
gives 1 for $(0.5, 0.5)$ as well, where the difference is 0. Two hidden features can do it, $a - b$
and $b - a$, if negative numbers become 0:

| $a, b$ | hidden | after ReLU | sum |
| --- | --- | --- | --- |
| 1, 0 | 1, −1 | 1, 0 | 1 |
| 0, 1 | −1, 1 | 0, 1 | 1 |
| 0.5, 0.5 | 0, 0 | 0, 0 | 0 |

The maximum with zero is the paper's *activation*, ReLU. Without an activation, two linear layers
are no more than one.

$$
\operatorname{FFN}(x) = \max(0,\, x W_1 + b_1)\, W_2 + b_2
$$

**In** and **out:** one vector for each position, `[seq_len, batch_size, d_model]`.

You can read the network as a list of patterns: column $n$ of $W_1$ is a pattern to look for, and
row $n$ of $W_2$ is what is added where it is found. (An interpretation, of [Geva et al.
2020](https://arxiv.org/abs/2012.14913).)

[ReLU, the paper's activation, and two smooth ones](../../results/drawings.json#figures.activations)

Left out: [gated networks](swiglu.py), in which two linear layers are multiplied. Added: dropout of
the hidden features, which the paper doesn't have.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn


class FeedForward(nn.Module):
    r"""
    ## Feed-forward network
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        dropout_prob: float = 0.1,
        activation: Callable[[], nn.Module] = nn.ReLU,
        bias: bool = True,
    ) -> None:
        r"""
        * `d_model` is the number of features that come in and go out
        * `d_ff` is the number of hidden features
        * `dropout_prob` is the probability that a hidden feature is dropped
        * `activation` makes the activation
        * `bias` is whether the two layers add learned numbers
        """
        super().__init__()
        # From `d_model` features to `d_ff` hidden ones, in the paper four times as many. Then this
        # network has eight square matrices of weights, and attention has four.
        self.layer1 = nn.Linear(d_model, d_ff, bias=bias)

        # The constructor of the activation is passed, so that each layer makes its own.
        self.activation = activation()
        self.dropout = nn.Dropout(dropout_prob)

        # Back to `d_model` features, so that the result can be added to what came in.
        self.layer2 = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        `x` and the result are `[seq_len, batch_size, d_model]`.
        """
        # Each hidden feature looks for one pattern among the features of a position, like $a > b$
        # above. With ReLU it is zero where the pattern is absent: `[seq_len, batch_size, d_ff]`.
        hidden = self.activation(self.layer1(x))

        # Some are dropped in training, so that no output relies on a single one.
        hidden = self.dropout(hidden)

        # Each pattern that was found adds its own vector to the result.
        return self.layer2(hidden)


def in_transformer(
    *, d_model: int, d_ff: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    With the paper's ReLU, in the place where the [small transformer](basic/autoregressive_model.py)
    has GELU, which is smooth around zero.
    """
    return {"feed_forward": lambda: FeedForward(d_model, d_ff, dropout_prob)}


def example(seq_len: int = 7, batch_size: int = 3, d_model: int = 5, d_ff: int = 11) -> Tensor:
    r"""
    ## Example

    Seven positions, and no position learns anything of another.

    ### Measured here

    Without the network, the small transformer has a third of its weights left, and its loss is
    [1.943](../../results/without.json#tables.without.No%20feed-forward%20network.loss) instead of
    [1.846](../../results/without.json#tables.without.The%20whole%20model.loss) after 1,000 steps.

    ### Exercises

    ??? question "Attention has matrices, too. Why does a layer need this network?"
        - [ ] Attention can move features, but not change them.
            - It changes them: values and results go through matrices.
        - [x] With its weights chosen, attention is linear in the values; the activation is not.
            - Yes. The network can compute features that no average of the values has.
        - [ ] Without it, a position couldn't use its own features.
            - It could: each position may look at itself, and the residual stream carries its
              features on.

    ??? question "How many parameters does the network have for `d_model` 128 and `d_ff` 512?"
        Two matrices of 128 × 512, which are 131,072 weights, and 512 + 128 biases: 131,712. The
        four projections of attention have 66,048 parameters.

    ??? question "Swap two positions of `x`. What happens to the result?"
        The same two positions are swapped in it, and no number changes (without dropout).

    ??? question "Replace the activation by `nn.Identity`. What can the network still compute?"
        What one linear layer can: $(x W_1 + b_1) W_2 + b_2 = x (W_1 W_2) + (b_1 W_2 + b_2)$. It
        would have 131,712 parameters to do what 16,512 can do.
    """
    # The class is passed, not an object: it is made inside.
    feed_forward = FeedForward(d_model, d_ff, activation=nn.GELU)

    # Each position is worked on alone, so any axes may stand before the features. Here they are
    # those of a sequence and a batch.
    x = torch.randn(seq_len, batch_size, d_model)
    return feed_forward(x)

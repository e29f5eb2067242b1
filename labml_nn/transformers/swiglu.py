r"""
---
title: SwiGLU
summary: A feed-forward network whose hidden features are products of two projections.
know: feed_forward.py
paper:
  title: GLU Variants Improve Transformer
  authors: Shazeer
  year: 2020
  link: https://arxiv.org/abs/2002.05202
terms:
  SwiGLU: A feed-forward network in which one projection gates another.
---

In the usual [feed-forward network](feed_forward.py), a hidden feature is one weighted sum of a
token's features with an activation. SwiGLU multiplies *two* sums. Think of the volume control of a
radio: one sum, the *value*, is the sound, and the other, the *gate*, is the position of the knob.

Let the value be 3. If the gate is −10, the hidden feature is 3 · −0.0005, which is nearly nothing.
If the gate is 1, it is 3 · 0.73 = 2.19, and if it is 4, it is 3 · 3.93 = 11.79. The factors come
from Swish (PyTorch calls it SiLU), which falls to −0.28 and then rises without a bound:

| gate $z$ | −10 | −4 | −1.28 | 0 | 1 | 4 | 10 |
| --- | --- | --- | --- | --- | --- | --- | --- |
| Swish | −0.00 | −0.07 | −0.28 | 0 | 0.73 | 3.93 | 10.00 |

“Gate” is only a name: Swish isn't between 0 and 1.

$$
\begin{aligned}
\text{hidden} &= \operatorname{Swish}(x\, W_{gate}) \odot x\, W_{value} \\
\operatorname{SwiGLU}(x) &= \text{hidden}\; W_{output}
\end{aligned}
$$

$$
\operatorname{Swish}(z) = \frac{z}{1 + e^{-z}}
$$

where $\odot$ multiplies number by number.

[A hidden feature, for three values](../../results/drawings.json#figures.gate)

Sums with ReLU or GELU only come near a product. (With a square they'd multiply:
$(x + y)^2 - (x - y)^2 = 4 x y$.) We let small networks learn products of numbers up to 1, and then
asked for 3 · 4. One with ReLU says
[4.0](../../results/gates.json#tables.products.ReLU.three_by_four), and SwiGLU with fewer weights
[12.0](../../results/gates.json#tables.products.SwiGLU.three_by_four).

As in the paper, there are no biases. The dropout isn't the paper's.

**In** and **out:** the features of tokens, `[seq_len, batch_size, d_model]`. Each token is changed
on its own.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SwiGLU(nn.Module):
    r"""
    ## Gated feed-forward network
    """

    def __init__(self, d_model: int, d_ff: int, dropout_prob: float = 0.0) -> None:
        r"""
        * `d_model` is the number of features that come in and go out
        * `d_ff` is the number of hidden features
        * `dropout_prob` is the probability that a hidden feature is dropped
        """
        super().__init__()
        # Three matrices where the usual network has two. To have as many weights, make `d_ff` two
        # thirds of the usual: 8/3 of `d_model`, not 4 times `d_model`.
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.value = nn.Linear(d_model, d_ff, bias=False)

        # Back to the features of the model.
        self.output = nn.Linear(d_ff, d_model, bias=False)
        self.dropout = nn.Dropout(dropout_prob)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        `x` and the result are `[seq_len, batch_size, d_model]`.
        """
        # Hidden features, `[seq_len, batch_size, d_ff]`, are products of two answers about the
        # token: near zero if either is.
        hidden = F.silu(self.gate(x)) * self.value(x)

        # Dropout: no result relies on a single hidden feature.
        return self.output(self.dropout(hidden))


def in_transformer(
    *, d_model: int, d_ff: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In place of the network of the [transformer that writes](basic/autoregressive_experiment.py).
    """
    # Two thirds as wide, for as many weights.
    narrower = max(1, 2 * d_ff // 3)
    return {"feed_forward": lambda: SwiGLU(d_model, narrower, dropout_prob)}


def example(seq_len: int = 7, batch_size: int = 3, d_model: int = 5, d_ff: int = 11) -> Tensor:
    r"""
    ## Try it

    ### Why it can multiply

    Two hidden features are enough. Let one have the gate 3 and the value 4, and the other the gate
    −3 and the value −4. Swish makes 2.858 and −0.142 of the gates, and the sum of both is
    2.858 · 4 + 0.142 · 4 = 12. That holds for any two numbers, since Swish of $z$ minus Swish of
    $-z$ is $z$: the factors $\sigma(z)$ and $\sigma(-z)$ sum to one.

    Without a gate, more features only come nearer. A network with ReLU is made of straight pieces.
    Far from zero the last piece goes on straight: twice the inputs give about twice the answer,
    where the product is four times as large.

    ### Measured here

    The networks learned the product of two numbers between −1 and 1, and were then asked for larger
    ones. The errors are shares of the usual size of a product:

    [What small networks make of products; means of three
    seeds](../../results/gates.json#tables.products)

    This doesn't show that products are what gates are good for in a transformer. The paper offers
    no explanation: it gives the credit to “divine benevolence”.

    In the [modern model](modern/ablation.py), a network with GELU and as many weights has a loss
    that is higher by
    [0.022](../../results/ablation.json#tables.changes.a%20network%20with%20GELU%2C%20no%20SwiGLU.worth)
    nats, more than the noise.

    ### Exercises

    ??? question "What does a product of two sums say that one sum with an activation hardly can?"
        - [ ] That a feature is strong.
            - One sum says that: it is large.
        - [x] That a feature counts only where another condition holds.
            - Yes. Where the gate is zero, the product is zero, however large the value is. In one
              sum with an activation, a value that is large enough outweighs any condition.
        - [ ] That the result is negative.
            - The second matrix of the usual network makes negative results, too.

    ??? question "How wide is it, for as many weights as a usual network with 128 and 512 features?"
        $2 \cdot 128 \cdot 512 = 3 \cdot 128 \cdot d_{ff}$, so 341.

    ??? question "Leave out Swish. Is the network linear?"
        No. The hidden features are products of two linear functions, which is called *bilinear*.
        Multiply `x` by 2, and the result is four times as large.

    ??? question "Exchange the weights of `gate` and `value`. Does the result change?"
        Yes: only one of the two goes through Swish. All shapes stay right. If the weights come from
        another program, that is easily overlooked: in a small Llama the loss rises from
        [1.94](../../results/pretrained.json#tables.llama.all%20right.loss) to
        [2.41](../../results/pretrained.json#tables.llama.gate%20and%20value%20exchanged.loss), and
        [44 %](../../results/pretrained.json#tables.llama.gate%20and%20value%20exchanged.other) of
        its guesses are other letters.
    """
    # No token has anything to do with another, so any axes may come before the last.
    network = SwiGLU(d_model, d_ff)
    return network(torch.randn(seq_len, batch_size, d_model))

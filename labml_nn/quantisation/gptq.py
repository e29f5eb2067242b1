r"""
---
title: GPTQ
summary: Weights that are still to be rounded make up for the errors of those that were.
know: groups.py
paper:
  title: "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers"
  authors: Frantar et al.
  year: 2022
  link: https://arxiv.org/abs/2210.17323
terms:
  calibration: Running texts through a model to see which inputs its layers get.
  GPTQ: Rounds a matrix column by column, and after each one corrects the columns that are left.
---

[Rounding](groups.py) takes each weight to the nearest of a few values. That is best for the weight,
but not for the layer. What counts is the *output*, a sum over all weights of a row, each times its
input. Take two weights of 0.4 whose inputs $x$ are always equal, and whole numbers as the values:

| | first weight | second weight | output |
| --- | ---: | ---: | ---: |
| exact | 0.4 | 0.4 | $0.8\, x$ |
| rounded to the nearest | 0 | 0 | 0 |
| GPTQ | 0 | 1 | $x$ |

GPTQ rounds the first weight to 0, which is 0.4 too little, and adds what is missing to the second.
That is 0.8 now, and becomes 1. The error of the output is $0.2\, x$ in place of $0.8\, x$. If the
inputs only go together in part, a part of the error is passed on.

In three bits, with a scale for each row, rounding takes the loss of the small transformer to
[1.759](../../results/quantisation.json#tables.bits.3.rows), and GPTQ to
[1.700](../../results/quantisation.json#tables.bits.3.gptq), with the same number of bits.

**In:** a matrix of weights, `[d_out, d_in]`, and the inputs that the layer gets from some text.
**Out:** whole numbers and scales, as from rounding.
"""

import copy

import torch
from torch import Tensor, nn

from labml_nn.quantisation.groups import quantise, restore, round_weights


def gptq(
    weights: Tensor, products: Tensor, n_bits: int, group_len: int, damping: float = 0.01
) -> tuple[Tensor, Tensor]:
    r"""
    ## Round a matrix

    * `products` is $H$, the sum of the products of all pairs of inputs, `[d_in, d_in]`
    * `damping` is added to its diagonal, as a share of the mean

    Whole numbers, `[d_out, d_in]`, and scales, `[d_out, n_groups]`, for
    [restore](groups.py#restore).
    """
    # An input that is always zero would leave $H$ without an inverse. A hundredth of the mean is
    # what the paper adds.
    n_columns = len(products)
    identity = torch.eye(n_columns, device=products.device)
    damped = products + damping * products.diagonal().mean() * identity

    # $U$, from the inverse of $H$. All rows share it.
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(damped))
    factor = torch.linalg.cholesky(inverse, upper=True)

    # What is left to round changes as we go.
    left = weights.clone()
    most = 2 ** (n_bits - 1) - 1

    # The results, column for column: integers, and a scale for each group.
    columns: list[Tensor] = []
    scales: list[Tensor] = []
    for j in range(n_columns):
        # A group gets its scale when its turn comes, because earlier errors have changed it.
        if j % group_len == 0:
            _, scale = quantise(left[:, j : j + group_len], n_bits, group_len)
            scales.append(scale)

        # The nearest whole number in all rows. Later corrections within a group may go beyond its
        # largest weight, and there is no larger number.
        whole = (left[:, j : j + 1] / scale).round().clamp(-most, most)
        columns.append(whole)

        # The step: what this column is off by, spread over the columns to the right.
        error = left[:, j : j + 1] - whole * scale
        left[:, j + 1 :] -= error / factor[j, j] * factor[j, j + 1 :]

    # As if the matrix had been rounded at once.
    return torch.cat(columns, dim=1).to(torch.int8), torch.cat(scales, dim=1)


def inputs_of(layer: nn.Linear, model: nn.Module, tokens: Tensor) -> Tensor:
    r"""
    ## Calibration

    What the layer gets from these tokens, `[n_inputs, d_in]`.
    """
    seen: list[Tensor] = []

    # A hook is called with the layer's inputs whenever the layer is.
    hook = layer.register_forward_hook(lambda _, inputs, output: seen.append(inputs[0]))
    model(tokens)

    # A hook that stays would keep the inputs of every later call.
    hook.remove()

    # Every position of every text is an input.
    return torch.cat([x.flatten(0, -2) for x in seen])


@torch.no_grad()
def gptq_weights(model: nn.Module, tokens: Tensor, n_bits: int, group_len: int = 0) -> None:
    r"""
    ## Round the weights of a model

    In place of [round_weights](groups.py#round_weights). `tokens` is the text for calibration,
    `[seq_len, batch_size]`. A `group_len` of 0 is a whole row.
    """
    # From the first layer to the last: the inputs are those of the model whose earlier layers *are*
    # rounded, as it will be used. A layer doesn't make up for their errors: it is to give what its
    # exact weights would give for these inputs.
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            x = inputs_of(layer, model, tokens)

            # Its products, and the rounded matrix in the place of the trained one.
            length = group_len or layer.in_features
            layer.weight.copy_(restore(*gptq(layer.weight, x.t() @ x, n_bits, length)))


def example(
    seq_len: int = 7,
    batch_size: int = 3,
    n_groups: int = 2,
    group_len: int = 5,
    d_out: int = 11,
    n_vocab: int = 13,
) -> Tensor:
    r"""
    ## Example

    The errors of the outputs of a layer: rounded to the nearest, and with GPTQ.

    ### Measured here

    The small transformer has a loss of [1.679](../../results/quantisation.json#values.float) before
    its weights are rounded.

    [Loss against bits, rounded and with GPTQ](../../results/quantisation.json#figures.gptq)

    ### What did not help here

    These are entries of [a list](../../docs/what_did_not_help.md) of such things.

    In two bits, groups together with GPTQ. The loss is
    [1.982](../../results/quantisation.json#tables.bits.2.gptq) with a scale for each row and
    [1.991](../../results/quantisation.json#tables.bits.2.gptq_groups) with groups of 32, which cost
    0.4 bits more for each weight (means of three seeds). (In three bits they get
    [1.691](../../results/quantisation.json#tables.bits.3.gptq_groups), and rows
    [1.700](../../results/quantisation.json#tables.bits.3.gptq).) What the calibration is
    made of matters less than how much there is of it: in three bits, with Python code the loss is
    [1.704](../../results/quantisation.json#values.calibration.python), with letters at random
    [1.713](../../results/quantisation.json#values.calibration.random), and with a single window of
    the right text [1.743](../../results/quantisation.json#values.calibration.one_window).

    Left out: many columns at once, which makes it fast for large matrices, and an order of columns
    by the size of their inputs. [AWQ](https://arxiv.org/abs/2306.00978) takes another way: it
    scales up the weights of large inputs before rounding, and corrects nothing.

    ### The error of an output
    Let $x$ be an input of the layer, $w$ a row of weights, and $\hat w$ the row after rounding.
    Over all inputs of a text, the *calibration*, the squared errors of the output add up to

    $$
    \sum_x \left( (w - \hat w)\, x \right)^2 = (w - \hat w)\, H\, (w - \hat w)^\top
    \qquad H = \sum_x x\, x^\top
    $$

    The square matrix $H$ is the same for all rows. $H_{jk}$ is large where the inputs $j$ and $k$
    are large together.

    ### A step

    Column $j$ is rounded. How must the columns to the right of it change to make the error
    smallest? The error is a quadratic function of them, so its derivative is set to zero. The
    result is

    $$
    w_k \leftarrow w_k - \frac{w_j - \hat w_j}{U_{jj}}\, U_{jk} \qquad k > j
    $$

    where $U$ is the upper triangular matrix with $U^\top U = H^{-1}$, a Cholesky factor. Then
    column $j + 1$ is rounded, with the corrections that it has got so far.

    Take the two weights of 0.4 again, with a scale of 1, and let $H$ have 1 on its diagonal and 0.8
    beside it. Rounded to the nearest, both become 0, and the error is 0.576. With GPTQ the first
    becomes 0 and adds $0.8 \cdot 0.4 = 0.32$ to the second. That is 0.72 now and becomes 1. The
    error is 0.136.

    ### Exercises

    ??? question "What does GPTQ do if $H$ is diagonal, that is, if no two inputs go together?"
        It rounds to the nearest: $U$ is diagonal as well, so nothing is passed on.

    ??? question "In the example of “A step”, let the second weight be 0.9. What comes out?"
        The first becomes 0 and adds 0.32, so the second is 1.22 and becomes 1: the same as without
        GPTQ. The error is $0.4^2 - 2 \cdot 0.8 \cdot 0.4 \cdot 0.1 + 0.1^2 = 0.106$.

    ??? question "Which column can't be corrected for?"
        The last one. Nothing is left to its right.

    ??? question "Pass the errors on with `factor[j + 1 :, j]`. What happens?"
        Nothing is corrected. The factor is upper triangular, so below its diagonal it is zero. All
        shapes are right, and it is plain rounding.
    """
    # Thirteen tokens, so the layer gets at most thirteen different inputs. $H$ is a sum over 21.
    d_in = n_groups * group_len
    n_inputs = seq_len * batch_size
    model = nn.Sequential(nn.Embedding(n_vocab, d_in), nn.Linear(d_in, d_out))
    tokens = torch.randint(n_vocab, (seq_len, batch_size))

    # In three bits, without and with corrections. Each rounds a copy, because the outputs of the
    # model itself are compared with.
    rounded = copy.deepcopy(model)
    corrected = copy.deepcopy(model)
    round_weights(rounded, 3, group_len)
    gptq_weights(corrected, tokens, 3, group_len)

    # The mean squares of what the outputs are off by.
    errors = [model(tokens) - one(tokens) for one in (rounded, corrected)]
    return torch.stack([one.view(n_inputs, d_out).square().mean() for one in errors])

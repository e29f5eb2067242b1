r"""
---
title: Muon
summary: Steps of the same size in every direction of a weight matrix.
paper:
  title: "Muon: An optimizer for hidden layers in neural networks"
  authors: Jordan et al.
  year: 2024
  link: https://kellerjordan.github.io/posts/muon/
terms:
  Muon: Makes the singular values of each matrix of momentum nearly equal before the step.
---

[AdamW](adamw.py) gives every number of a weight matrix a step of a similar size. But a matrix is
more than its numbers: it maps directions to directions. A few directions usually dominate its
gradient, and even the steps that AdamW makes of it, as the authors of Muon saw (and [we
do](muon.py#example)). So a step changes what the layer does to a few kinds of input, and leaves the
others nearly as they were.

**In:** matrices with their gradients. **Out:** the same matrices, moved by about the same length in
every direction of the gradient.

Take a gradient that is diagonal, $\operatorname{diag}(1,\, 0.1)$. The step of gradient descent goes
ten times as far in the first direction as in the second. Muon goes along
$\operatorname{diag}(1,\, 1)$. In general, if $U \Sigma V^\top$ is the singular value decomposition
of the gradient, Muon keeps the directions $U$ and $V$, and sets all singular values $\Sigma$ to 1:

$$
U \Sigma V^\top \;\longrightarrow\; U V^\top
$$

It is for the matrices inside the layers. Biases and gains go to AdamW: a vector is a single
direction, and there is nothing to make even. Embeddings and the head go to AdamW as well. They are
matrices, but the authors found that the model then trains best.

PyTorch has `torch.optim.Muon`, which updates one matrix after another. This page updates all
matrices of one shape together: a small model has many small ones. It leaves out spreading the work
over several GPUs.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn


def orthogonalize(matrices: Tensor, steps: int = 5) -> Tensor:
    r"""
    ## Newton-Schulz iteration

    `matrices` and the result are `[n_matrices, rows, columns]`. A decomposition at each step of
    training is too slow on a GPU, the authors say. But a polynomial in $X$ with odd powers,

    $$
    a X + b\, (X X^\top) X + c\, (X X^\top)^2 X,
    $$

    has the same $U$ and $V$ as $X$, and the singular values $a \sigma + b \sigma^3 + c \sigma^5$.
    With the right $a$, $b$ and $c$, five such steps bring nearly all singular values near 1.
    Each step is three matrix products, which any GPU is good at.
    """
    # $X X^\top$ has a row and a column for each row of $X$, so a tall matrix is transposed first.
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if tall else matrices

    # The iteration starts with singular values of at most 1. The root of the sum of their squares
    # is the root of the sum of all squared numbers, so dividing by that is enough.
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)

    # The authors chose the coefficients so that small values grow fast: by 3.4 times in each step.
    # The price is that values end between 0.68 and 1.2, which the authors found to do no harm.
    # Those that begin below 0.0015 stay smaller, and 1 itself becomes 0.70.
    a = 3.4445
    b = -4.7750
    c = 2.0315
    for _ in range(steps):
        # Needed twice below. $X^\top X$ would do as well, but has `columns` rows and columns, and
        # this one has no more: `[n_matrices, rows, rows]`.
        square = x @ x.mT

        # $(b X X^\top + c\, (X X^\top)^2)\, X$ has both of the higher powers.
        x = a * x + (b * square + c * square @ square) @ x

    # A tall matrix is turned back. Of the transpose we have $V U^\top$, and its own is $U V^\top$.
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    r"""
    ## Muon
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter] | Iterable[dict[str, Any]],
        lr: float = 0.02,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        dtype: torch.dtype = torch.bfloat16,
    ) -> None:
        r"""
        * `params` are matrices, or groups of them with settings of their own
        * `lr` is the learning rate: about the length of a step in every direction
        * `weight_decay` is how strongly all weights are pulled towards zero
        * `momentum` is how much of the mean gradient is kept in a step
        * `dtype` is the type of the iteration; the result is rough anyway, so 16 bits are enough
        """
        defaults = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum}
        super().__init__(params, defaults)

        # Not a setting of the groups: it belongs to the machine, and isn't saved with the state.
        self.dtype = dtype

        # Of a bias, the iteration would only change the length. A stack of matrices has to be taken
        # apart first.
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.dim() != 2:
                    raise ValueError(f"not a matrix: {list(parameter.shape)}; give it to AdamW")

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        r"""
        ### One step

        Matrices without a gradient stay as they are.
        """
        # Groups may have different learning rates, so each is on its own.
        for group in self.param_groups:
            # One call for all matrices of a shape: three in the small modern model, not 28.
            shapes: dict[torch.Size, list[nn.Parameter]] = defaultdict(list)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    shapes[parameter.shape].append(parameter)
            for parameters in shapes.values():
                self.update(parameters, group)

    def update(self, parameters: list[nn.Parameter], group: dict[str, Any]) -> None:
        r"""
        ### All matrices of a shape
        """
        # `[n_matrices, rows, columns]`, in the type of the iteration and back.
        directions = torch.stack([self.direction(p, group["momentum"]) for p in parameters])
        directions = orthogonalize(directions.to(self.dtype)).to(parameters[0].dtype)

        # A tall matrix makes many features of few, and a step of length 1 is spread over them:
        # where four are made of one, each changes by about 1/2. Twice the length makes that 1, as
        # in a square matrix.
        rows, columns = parameters[0].shape
        length = group["lr"] * math.sqrt(max(1, rows / columns))

        # Weight decay, as in [AdamW](adamw.py), and the step.
        for parameter, direction in zip(parameters, directions, strict=True):
            parameter.mul_(1 - group["lr"] * group["weight_decay"])
            parameter.sub_(direction, alpha=length)

    def direction(self, parameter: nn.Parameter, momentum: float) -> Tensor:
        r"""
        ### Nesterov momentum
        """
        # The gradient of one batch is noisy, so a running mean takes its place:
        # $m_t = \mu m_{t-1} + (1 - \mu)\, g_t$.
        state = self.state[parameter]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(parameter)
        mean = state["momentum_buffer"].lerp_(parameter.grad, 1 - momentum)

        # Nesterov's variant looks a step ahead: to what the mean becomes if the same gradient comes
        # once more.
        return parameter.grad.lerp(mean, momentum)


def singular_values(rows: int = 16, columns: int = 32) -> tuple[Tensor, Tensor]:
    r"""
    ## Singular values

    Those of a random gradient, largest first, before and after: `[rows]` each. Before, the first is
    a hundred times the last one.

    [The singular values of a gradient, and of the step that Muon makes of
    it](../../results/family_drawings.json#figures.muon)
    """
    # The directions of a random matrix, and singular values of our choice.
    u, _, v = torch.linalg.svd(torch.randn(rows, columns), full_matrices=False)
    before = torch.logspace(0, -2, rows)

    # The iteration never sees the decomposition, only the product.
    after = torch.linalg.svdvals(orthogonalize((u * before) @ v))
    return before, after


def example(n_matrices: int = 2, rows: int = 3, columns: int = 5) -> tuple[Tensor, ...]:
    r"""
    ## Example

    ### Measured here

    How uneven are the steps of others? In a modern model of two layers with 64 features, after 100
    steps of AdamW, we looked at the gradient of each matrix. Its four largest directions have 0.7
    to 0.8 of the sum of all squares, depending on seed and schedule. In the step that AdamW makes
    they have 0.5 to 0.65, and in random matrices of 64 × 64 numbers 0.21. Four of 64 even
    directions would have 0.06.

    ### Exercises

    ??? question "Multiply the loss by 1,000 in all steps. How do the steps of Muon change?"
        Only by rounding: the iteration begins by dividing the matrix by its norm.

    ??? question "What is $U V^\top$ for a gradient with one row?"
        The row, divided by its length: one direction, and a step of length 1 along it. The
        iteration makes 0.70 of that length.

    ??? question "Begin with `x` as it is, not divided by its norm. What happens to a value of 2?"
        $3.44 \cdot 2 - 4.78 \cdot 8 + 2.03 \cdot 32 \approx 34$, then 88 million, and soon
        infinity.
    """
    matrices = [nn.Parameter(torch.randn(rows, columns)) for _ in range(n_matrices)]

    # Both matrices have one shape, so they go through the iteration together.
    optimizer = Muon(matrices)

    # The gradient of each matrix is twice the matrix.
    torch.stack(matrices).square().sum().backward()
    optimizer.step()
    gradients = torch.randn(n_matrices, rows, columns)
    return orthogonalize(gradients), *singular_values(rows, columns)

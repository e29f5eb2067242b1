r"""
---
title: Muon
summary: Steps of the same size in every direction of a matrix, all matrices of a shape at once.
paper:
  title: "Muon: An optimizer for hidden layers in neural networks"
  authors: Jordan et al.
  year: 2024
  link: https://kellerjordan.github.io/posts/muon/
---

The gradient of a weight matrix is dominated by a few directions: of its singular values, a
handful are large and most are small. A step along it changes what the layer does to a few kinds of
input and leaves the others as they were. [AdamW](adamw.py), which looks at each number alone,
doesn't see that.

Muon keeps the directions and makes their sizes equal. If $U \Sigma V^\top$ is the singular
value decomposition of the gradient, averaged over some steps, the step is along

$$
U V^\top .
$$

Decomposing matrices at each step would take too long. But $f(X) = a X + b\, X X^\top X + c\,
(X X^\top)^2 X$ has the same $U$ and $V$ as $X$ and the singular values $a \sigma + b \sigma^3 + c
\sigma^5$. With the right coefficients, five turns of this *Newton-Schulz iteration* bring all but
the tiniest values near 1, and they are products of matrices, which hardware is good at. How near is
not important, so they may be computed with 16 bits.

It is for the matrices between layers. Embeddings, the last layer, gains and biases go to AdamW.

PyTorch has an optimizer of that name, too, which takes one matrix after another. A small model
has many small matrices, and there this is a third of the time of a step. Here matrices of one
shape are **stacked** and go through the iteration together. The page leaves out what it would
take to spread them over several machines.
"""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

# How a singular value $\sigma$ changes in a turn: $a \sigma + b \sigma^3 + c \sigma^5$. Chosen by
# the authors so that small ones grow fast; what they reach is between 0.7 and 1.2.
A, B, C = 3.4445, -4.7750, 2.0315


def orthogonalize(matrices: Tensor, turns: int = 5, eps: float = 1e-7) -> Tensor:
    r"""
    ## Make the singular values equal

    `matrices` and the result are `[n_matrices, rows, columns]`, with no more rows than columns, so
    that $X X^\top$ is as small as it can be.
    """
    # The length of all numbers together is at least the largest singular value, so none is above 1.
    lengths = matrices.norm(dim=(1, 2), keepdim=True)
    x = matrices / lengths.clamp(min=eps)
    for _ in range(turns):
        # `[n_matrices, rows, rows]`
        square = torch.bmm(x, x.mT)

        # Factored, it is two more products: $(b\, X X^\top + c\, (X X^\top)^2)\, X + a X$.
        polynomial = torch.baddbmm(square, square, square, beta=B, alpha=C)
        x = torch.baddbmm(x, polynomial, x, beta=A)
    return x


class Muon(torch.optim.Optimizer):
    r"""
    ## Muon

    A parameter with three axes is a stack of matrices already.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter] | Iterable[dict[str, Any]],
        lr: float = 0.02,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        dtype: torch.dtype = torch.bfloat16,
    ) -> None:
        r"""
        * `params` are parameters, or groups of them with settings of their own
        * `lr` is the learning rate, the size of a step in every direction
        * `weight_decay` pulls all weights to zero, by this share of the learning rate
        * `momentum` is how much of the mean gradient is kept in a step
        * `nesterov` says whether the newest gradient counts once more
        * `dtype` is what the iteration computes with
        """
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "dtype": str(dtype).removeprefix("torch."),
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.dim() not in (2, 3):
                    raise ValueError(
                        "Muon is for matrices and stacks of them, got a parameter of shape "
                        f"{list(parameter.shape)}: give it to AdamW"
                    )

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        r"""
        ### One step

        Parameters without a gradient stay as they are.
        """
        for group in self.param_groups:
            shapes: dict[tuple[int, int], list[nn.Parameter]] = {}
            for parameter in group["params"]:
                if parameter.grad is not None:
                    rows, columns = parameter.shape[-2:]
                    shape = (min(rows, columns), max(rows, columns))
                    shapes.setdefault(shape, []).append(parameter)
            for parameters in shapes.values():
                self.update(parameters, group)

    def update(self, parameters: list[nn.Parameter], group: dict[str, Any]) -> None:
        r"""
        ### All matrices of a shape

        Upright or lying; the upright ones are turned over on the way in and out.
        """
        directions = torch.cat([flat(self.direction(p, group)) for p in parameters])
        directions = orthogonalize(directions.to(getattr(torch, group["dtype"])))

        sizes = [math.prod(p.shape[:-2]) for p in parameters]
        for parameter, direction in zip(parameters, directions.split(sizes), strict=True):
            rows, columns = parameter.shape[-2:]
            if rows > columns:
                direction = direction.mT

            # A matrix that makes many numbers of few has a longer step, so that each of the
            # numbers changes as much.
            scale = math.sqrt(max(1, rows / columns))
            parameter.mul_(1 - group["lr"] * group["weight_decay"])
            parameter.sub_(direction.reshape(parameter.shape), alpha=group["lr"] * scale)

    def direction(self, parameter: nn.Parameter, group: dict[str, Any]) -> Tensor:
        r"""
        ### The mean gradient

        A running mean, as in AdamW, $m_t = \mu m_{t-1} + (1 - \mu)\, g_t$. Nesterov's variant looks
        a step ahead: it takes what the mean would be, were the same gradient to come again.
        """
        state, momentum = self.state[parameter], group["momentum"]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(parameter)
        mean = state["momentum_buffer"].lerp_(parameter.grad, 1 - momentum)
        return parameter.grad.lerp(mean, momentum) if group["nesterov"] else mean


def flat(matrices: Tensor) -> Tensor:
    r"""
    ## Lay a stack of matrices down

    From any number of leading axes to `[n_matrices, rows, columns]`, with no more rows than
    columns.
    """
    rows, columns = matrices.shape[-2:]
    matrices = matrices.reshape(-1, rows, columns)
    return matrices.mT if rows > columns else matrices


def spread_of_singular_values(rows: int = 16, columns: int = 32) -> tuple[Tensor, Tensor]:
    r"""
    ## What it does to a gradient

    The singular values before and after, largest first. Before, the first is a thousand times
    the last, `[rows]`.
    """
    u, _, v = torch.linalg.svd(torch.randn(rows, columns), full_matrices=False)
    before = torch.logspace(0, -3, rows)
    gradient = u @ torch.diag(before) @ v
    after = torch.linalg.svdvals(orthogonalize(gradient.unsqueeze(0), turns=10))
    return before, after[0]


def example(
    n_matrices: int = 2, rows: int = 3, columns: int = 5
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    r"""
    ## Example

    A stack of lying matrices and an upright one make three of one shape.
    """
    stack = nn.Parameter(torch.randn(n_matrices, rows, columns))
    matrix = nn.Parameter(torch.randn(columns, rows))
    optimizer = Muon([stack, matrix])
    (stack @ matrix).square().sum().backward()
    optimizer.step()
    gradients = torch.randn(n_matrices, rows, columns)
    return orthogonalize(gradients), spread_of_singular_values(rows, columns)

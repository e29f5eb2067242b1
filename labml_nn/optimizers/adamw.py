r"""
---
title: AdamW
summary: Steps of a similar size for every number, whatever the size of its gradients.
paper:
  title: Decoupled Weight Decay Regularization
  authors: Loshchilov and Hutter
  year: 2019
  link: https://arxiv.org/abs/1711.05101
---

Some parameters get large gradients and some get small ones, by factors of thousands, for reasons
of the architecture that say nothing about how far they should move. Adam (Kingma and Ba, 2015)
divides the gradient $g_t$ of each number by its usual size. It keeps two running means, of the
gradient and of its square,

$$
m_t = \beta_1 m_{t-1} + (1 - \beta_1)\, g_t \qquad
v_t = \beta_2 v_{t-1} + (1 - \beta_2)\, g_t^2
$$

and moves by their quotient, which is about 1 where the gradient keeps its sign, and less where it
doesn't:

$$
\theta_t = (1 - \eta \lambda)\, \theta_{t-1} -
\eta\, \frac{m_t / (1 - \beta_1^t)}{\sqrt{v_t / (1 - \beta_2^t)} + \epsilon}
$$

The first factor is the *decoupled* weight decay of the paper, algorithm 2. Added to the gradient,
as it used to be, it would be divided by the usual size as well, and numbers with large gradients
would hardly decay.

The page leaves out sparse gradients and the kernels that update all parameters at once.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn


class AdamW(torch.optim.Optimizer):
    r"""
    ## AdamW
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter] | Iterable[dict[str, Any]],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        r"""
        * `params` are parameters, or groups of them with settings of their own
        * `lr` is the learning rate $\eta$
        * `betas` are $\beta_1$ and $\beta_2$, how much of the two means is kept in a step
        * `eps` is the $\epsilon$ that keeps a gradient of zero from being divided by zero
        * `weight_decay` is $\lambda$
        """
        if not 0 <= lr or not all(0 <= beta < 1 for beta in betas):
            raise ValueError(
                f"lr must not be below 0, and betas must be from 0 to 1, got {lr} and {betas}"
            )
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        r"""
        ### One step

        Parameters without a gradient stay as they are.
        """
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self.update(parameter, parameter.grad, group)

    def update(self, parameter: nn.Parameter, grad: torch.Tensor, group: dict[str, Any]) -> None:
        r"""
        ### One parameter
        """
        state = self.state[parameter]
        if not state:
            state["step"] = 0
            state["mean"] = torch.zeros_like(parameter)
            state["mean_square"] = torch.zeros_like(parameter)
        state["step"] += 1
        beta1, beta2 = group["betas"]

        # The weights decay before the step is taken.
        parameter.mul_(1 - group["lr"] * group["weight_decay"])

        # `lerp` goes from the mean towards the gradient: $m + (1 - \beta_1)(g - m)$.
        mean = state["mean"].lerp_(grad, 1 - beta1)
        mean_square = state["mean_square"].lerp_(grad.square(), 1 - beta2)

        # Both means began at zero and are too small at first, by a factor that is known.
        mean = mean / (1 - beta1 ** state["step"])
        mean_square = mean_square / (1 - beta2 ** state["step"])
        parameter.sub_(group["lr"] * mean / (mean_square.sqrt() + group["eps"]))


def first_step(scale: float) -> torch.Tensor:
    r"""
    ## The size of a gradient doesn't matter

    The very first step is the learning rate, up or down. Multiplying the loss by `scale` changes
    nothing.
    """
    weights = nn.Parameter(torch.zeros(4))
    optimizer = AdamW([weights], lr=0.1)
    (scale * torch.tensor([1.0, -2.0, 30.0, -400.0]) @ weights).backward()
    optimizer.step()
    return weights.detach()


def example(d_in: int = 3, d_out: int = 5) -> torch.Tensor:
    r"""
    ## Example

    Two steps of a linear layer.
    """
    layer = nn.Linear(d_in, d_out)
    optimizer = AdamW(layer.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        layer(torch.ones(d_in)).square().sum().backward()
        optimizer.step()
    return first_step(1.0)

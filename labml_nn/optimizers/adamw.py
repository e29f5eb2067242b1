r"""
---
title: AdamW
summary: Each number moves by about the learning rate, whatever the size of its gradient.
paper:
  title: Decoupled Weight Decay Regularization
  authors: Loshchilov and Hutter
  year: 2019
  link: https://arxiv.org/abs/1711.05101
terms:
  Adam: Divides the mean gradient by the root of the mean squared gradient, for each weight.
  weight decay: Shrinks each weight a little at every step.
---

Let one weight have a gradient of 10 in every step, and another of 0.01. With gradient descent
and a learning rate of 0.01, the first moves by 0.1 in a step, and the second by 0.0001. But the
size of a gradient doesn't tell how far a weight should move. AdamW moves both by 0.01.

**In:** parameters of any shape, with their gradients. **Out:** the same parameters, each number
moved by about the learning rate, or less, and shrunk by weight decay. (The twelfth large gradient
after many tiny ones moves it 6.6 times as far.)

Adam ([Kingma and Ba 2015](https://arxiv.org/abs/1412.6980)) divides each gradient $g_t$ by its
usual size. It keeps two running means for each number, of the gradient and of its square:

$$
m_t = \beta_1 m_{t-1} + (1 - \beta_1)\, g_t \qquad
v_t = \beta_2 v_{t-1} + (1 - \beta_2)\, g_t^2
$$

A number whose gradient is always 0.001 has $m = 0.001$ and $\sqrt{v} = 0.001$: the quotient is 1.
If its sign changes from step to step, $m$ is near 0, and so is the quotient. The step is

$$
\theta_t = (1 - \eta \lambda)\, \theta_{t-1} -
\eta\, \frac{m_t / (1 - \beta_1^t)}{\sqrt{v_t / (1 - \beta_2^t)} + \epsilon}
$$

with the learning rate $\eta$. The W stands for the first factor, *decoupled weight decay*,
algorithm 2 of the paper. (There $\lambda$ is multiplied by the schedule's factor alone; here, as in
PyTorch, by the learning rate.) Before, $\lambda \theta$ was added to the gradient; then it was
divided by the usual size as well, and weights with large gradients hardly decayed.

[The length of each step if all gradients are 1, but at step 100 it is 100, with $\beta_2$ = 0.999
(a mean over about 1,000 steps) and 0.99](../../results/family_drawings.json#figures.steps_of_adam)
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
        * `eps` is $\epsilon$, against a division by zero
        * `weight_decay` is $\lambda$
        """
        # With a $\beta$ of 1 the means would stay at zero for ever.
        if lr < 0 or not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"expected lr >= 0 and 0 <= betas < 1, got {lr} and {betas}")
        # Each group of parameters may have other values: no weight decay for biases, say.
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        r"""
        ### One step

        Of all parameters that have a gradient; the others stay as they are.
        """
        # A parameter that had no part in the loss has no gradient.
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self.update(parameter, parameter.grad, group)

    def update(self, parameter: nn.Parameter, grad: torch.Tensor, group: dict[str, Any]) -> None:
        r"""
        ### One parameter
        """
        # Two numbers are remembered for each weight: the optimizer needs twice the memory of the
        # model.
        state = self.state[parameter]
        if not state:
            state["step"] = 0
            state["mean"] = torch.zeros_like(parameter)
            state["mean_square"] = torch.zeros_like(parameter)

        # How many gradients this parameter has had.
        state["step"] += 1

        # The means forget. Of a gradient ten steps ago, $0.9^{10}$ or a third is left in the
        # first one.
        beta1, beta2 = group["betas"]

        # Weight decay, before the step and not as part of it.
        parameter.mul_(1 - group["lr"] * group["weight_decay"])

        # `lerp` goes a part of the way from the old mean to the new number:
        # $m + (1 - \beta_1)(g - m)$.
        mean = state["mean"].lerp_(grad, 1 - beta1)
        mean_square = state["mean_square"].lerp_(grad.square(), 1 - beta2)

        # Both means began at zero. After one step the first is a tenth of the gradient; this makes
        # it the gradient.
        mean = mean / (1 - beta1 ** state["step"])
        mean_square = mean_square / (1 - beta2 ** state["step"])

        # The quotient is 1 or −1 if the gradient stays as it is, and near 0 if its sign keeps
        # changing.
        parameter.sub_(group["lr"] * mean / (mean_square.sqrt() + group["eps"]))


def first_step(scale: float) -> torch.Tensor:
    r"""
    ## Invariance to the size of gradients

    The very first step is the learning rate, up or down. Multiplying the loss by `scale` changes
    nothing, as long as the gradients are much larger than $\epsilon$.
    """
    # A linear loss, whose gradients are these four numbers times `scale`.
    weights = nn.Parameter(torch.zeros(4))
    optimizer = AdamW([weights], lr=0.1)
    (scale * torch.tensor([1.0, -2.0, 30.0, -400.0]) @ weights).backward()
    optimizer.step()

    # They began at zero, so what they are now is the step.
    return weights.detach()


def example(d_in: int = 3, d_out: int = 5) -> torch.Tensor:
    r"""
    ## Example

    Two steps of a linear layer. Left out are AMSGrad, a variant whose mean square never falls,
    and PyTorch's kernel for all parameters at once.

    ### Exercises

    ??? question "The gradients of four numbers are 1, −2, 30 and −400. What are the first steps?"
        At a learning rate of 0.1: −0.1, 0.1, −0.1, 0.1. `first_step` computes them.

    ??? question "A gradient is 1 for thousands of steps, and once 100. What happens to the steps?"
        With $\beta_2 = 0.999$ the mean square jumps from 1 to 11. The mean jumps, too, so some 14
        steps are longer. Then they are shorter: a third of the usual length, and after 1,000 steps
        still less than half. [The loop](../training/loop.py#clip_gradients) shortens such gradients
        before. (In the picture above, the large gradient comes when there have been only 100
        others. So it counts for about a hundredth of the mean square with both $\beta_2$. With
        0.999 the mean square jumps to 105, one step is a little longer, and then they fall to an
        eighth.)

    ??? question "Leave out the two divisions by $1 - \beta^t$. How long is the first step?"
        $0.1 / \sqrt{0.001} = 3.2$ times as long as it should be, with the usual $\beta$.
    """
    # A weight and a bias, in one group.
    layer = nn.Linear(d_in, d_out)
    optimizer = AdamW(layer.parameters())
    for _ in range(2):
        # Gradients are added up, so those of the first step have to go.
        optimizer.zero_grad()
        layer(torch.ones(d_in)).square().sum().backward()
        optimizer.step()
    return first_step(1.0)

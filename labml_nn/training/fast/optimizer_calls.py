r"""
---
title: The Optimizer in Few Calls
summary: AdamW one tensor at a time, with lists of tensors, and in a single kernel.
paper:
  title: Decoupled Weight Decay Regularization
  authors: Loshchilov and Hutter
  year: 2019
  link: https://arxiv.org/abs/1711.05101
---

The small transformer has 69 tensors of parameters, and AdamW does about ten small operations for
each: 690 calls. Most of their time isn't spent on arithmetic. With a fifteenth of the weights (32
features in place of 128) the same loop still takes more than half as long.

**In:** parameters and their gradients, as lists of tensors. **Out:** moved parameters, in place.

The same step can be written in three ways. A loop over the tensors is the easiest to read.
PyTorch's “foreach” functions take whole lists, so Python makes eight calls and not 690. On a CPU
each of the eight still goes through its list tensor by tensor: 552 small operations. And the
*fused* optimizer has one kernel that reads each number once and does all operations on it. The
results are equal up to rounding. The [table](__init__.py) has what the fused one saved of a whole
training step.

[PyTorch's AdamW in the three ways](../../../results/fast_parts.json#figures.optimizers)

On this CPU the lists help only while the tensors are small. From 256 features on they are slower
than the loop. Our guess is the processor's cache: each call goes through all parameters, and they
no longer fit.
"""

import torch
from torch import Tensor


def step_in_a_loop(
    parameters: list[Tensor],
    gradients: list[Tensor],
    rate: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.99,
    eps: float = 1e-8,
) -> None:
    r"""
    ## One tensor at a time

    The first step of [AdamW](../../optimizers/adamw.py), without weight decay.
    """
    # Ten operations on each tensor. Most tensors have only a few hundred numbers, so a call takes
    # longer to begin than to compute.
    for parameter, gradient in zip(parameters, gradients, strict=True):
        # Running means of the gradient and of its square, which begin at zero.
        mean = (1 - beta1) * gradient
        square = (1 - beta2) * gradient * gradient

        # Means that began at zero are too small. In the first step, these two divisions make up
        # for it.
        mean = mean / (1 - beta1)
        square = square / (1 - beta2)

        # Divided by its own usual size, each gradient makes a step of about the same length. `eps`
        # is for gradients of zero.
        parameter -= rate * mean / (square.sqrt() + eps)


def step_with_lists(
    parameters: list[Tensor],
    gradients: list[Tensor],
    rate: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.99,
    eps: float = 1e-8,
) -> None:
    r"""
    ## All tensors in each call

    The same lines, each for the whole list. PyTorch's optimizers do that on a GPU.
    """
    # The running means. Each call takes the tensors of all layers, and goes through them without
    # coming back to Python.
    mean = torch._foreach_mul(gradients, 1 - beta1)
    square = torch._foreach_mul(gradients, gradients)
    torch._foreach_mul_(square, 1 - beta2)

    # A name that ends with an underscore changes the tensors in place, which saves memory.
    torch._foreach_div_(mean, 1 - beta1)
    torch._foreach_div_(square, 1 - beta2)

    # The step: the mean divided by the root of the square, times the rate.
    torch._foreach_sqrt_(square)
    torch._foreach_add_(square, eps)
    torch._foreach_addcdiv_(parameters, mean, square, -rate)


def step_fused(parameters: list[Tensor], gradients: list[Tensor], rate: float = 1e-3) -> None:
    r"""
    ## One kernel

    What the [training loop](../loop.py#adamw) takes: `fused=True`.
    """
    # An optimizer finds the gradients in the parameters, where the backward pass has left them.
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient

    # A new optimizer, because this is a first step: it remembers nothing.
    torch.optim.AdamW(parameters, rate, betas=(0.9, 0.99), weight_decay=0.0, fused=True).step()


def example(d_in: int = 3, d_out: int = 5) -> tuple[list[Tensor], ...]:
    r"""
    ## Example

    The same step in three ways.

    ### Exercises

    ??? question "In the first step, by how much does each parameter move?"
        By the full rate, up or down: the mean is the gradient, and the root of the square is its
        absolute value. (If the gradient is 0, it stays where it is, and if it is as small as `eps`,
        it moves less.)

    ??? question "Why is the fused kernel faster than the lists, with the same arithmetic?"
        - [ ] Python makes fewer calls.
            - One and not eight. But a call takes microseconds, and at 128 features the lists take
              more than a millisecond longer.
        - [x] It goes through each tensor once, and the lists go through each eight times.
            - Yes. On a CPU a list function starts an operation for every tensor, 552 in all, and
              each reads its numbers and writes them back.
        - [ ] It leaves out the division by the root.
            - All three make the same step, up to rounding.

    ??? question "With layers ten times as wide, what part of the loop's time is starting calls?"
        Hardly any. The number of calls is the same, and there is nearly a hundred times as much to
        compute in them.
    """
    # A matrix and a vector, as of one linear layer. The gradients are random: only the step is
    # compared.
    torch.manual_seed(1)
    start = [torch.randn(d_out, d_in), torch.randn(d_out)]
    gradients = [torch.randn(d_out, d_in), torch.randn(d_out)]

    # Each gets a copy, because it changes what it gets: the three steps begin at the same place,
    # and end there, up to rounding.
    moved = []
    for step in (step_in_a_loop, step_with_lists, step_fused):
        parameters = [one.clone() for one in start]
        step(parameters, gradients)
        moved.append(parameters)
    return tuple(moved)

r"""
---
title: Learning Rate Schedules
summary: How large steps are in the course of a training, as shares of the highest rate.
---

Large steps learn fast and small ones settle, so the learning rate rises quickly and falls slowly.
Each schedule here is a function that tells the *share* of the highest rate at a step, and nothing
else: it has no state, and a training that goes on in the middle only needs to know where.

Why a rise? At the start the means of an optimizer have seen few gradients, and a new
model has large ones. Why a fall? At a constant rate the weights end up jumping around a minimum,
as far from it as a step is long.
"""

import math

import torch


def rise(step: int, n_steps: int) -> float:
    r"""
    ## A straight line up

    $$
    s_t = \min\left(1, \frac{t + 1}{w}\right)
    $$

    The last of the $w$ steps has the full rate, and the first one is not lost on a rate of zero.
    """
    return min(1.0, (step + 1) / n_steps) if n_steps else 1.0


def cosine(progress: float, final: float = 0.0) -> float:
    r"""
    ## Half a cosine down

    $$
    s(x) = f + (1 - f)\, \frac{1 + \cos \pi x}{2}
    $$

    Where `progress`, $x$, goes from 0 to 1, the share goes from 1 to `final`, $f$. It stays high
    for long and low for long (Loshchilov and Hutter 2017, [SGDR](https://arxiv.org/abs/1608.03983),
    there with restarts, which are left out).
    """
    return final + (1 - final) * (1 + math.cos(math.pi * progress)) / 2


def linear(progress: float, final: float = 0.0) -> float:
    r"""
    ## A straight line down

    $$
    s(x) = f + (1 - f)(1 - x)
    $$

    Down to zero it beats the cosine in most comparisons (Defazio et al. 2023,
    [When, Why and How Much?](https://arxiv.org/abs/2310.07831)).
    """
    return final + (1 - final) * (1 - progress)


def noam(step: int, n_steps: int) -> float:
    r"""
    ## Up in a line and down with the square root

    $$
    s_t = \min\left(\frac{t + 1}{w}, \sqrt{\frac{w}{t + 1}}\right)
    $$

    That of the first [transformer](../transformers/__init__.py) (section 5.3 of its paper), where
    the highest rate was $1 / \sqrt{d_{model} w}$. It doesn't need to know when the training ends,
    and therefore it has no end at which steps are small.
    """
    return min((step + 1) / n_steps, math.sqrt(n_steps / (step + 1)))


def up_and_down(
    step: int, n_steps: int, warmup_steps: int, final: float = 0.0, way: str = "cosine"
) -> float:
    r"""
    ## Up, and down to the end

    What [the training loop](../training/loop.py#share_at) uses: `n_steps` in all, of which
    `warmup_steps` go up, and the rest down, `cosine` or `linear`.
    """
    if step < warmup_steps:
        return rise(step, warmup_steps)
    progress = (step - warmup_steps) / (n_steps - warmup_steps)
    return cosine(progress, final) if way == "cosine" else linear(progress, final)


def example(n_steps: int = 11) -> torch.Tensor:
    r"""
    ## Example

    The three ways, `[3, n_steps]`.
    """
    return torch.tensor(
        [
            [up_and_down(step, n_steps, 2, way="cosine") for step in range(n_steps)],
            [up_and_down(step, n_steps, 2, way="linear") for step in range(n_steps)],
            [noam(step, 2) for step in range(n_steps)],
        ]
    )

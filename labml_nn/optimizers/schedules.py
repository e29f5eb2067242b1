r"""
---
title: Learning Rate Schedules
summary: The learning rate rises at the start and falls to the end, in a line or a cosine.
terms:
  learning rate schedule: The learning rate as a function of the step.
---

The learning rate needn't be the same in all steps. Here are the rates at seven of 2,000 steps, as
shares of the highest one. The first 5 %, 100 steps, are the *warm-up*:

| step | 0 | 50 | 99 | 550 | 1050 | 1550 | 1999 |
| --- | --- | --- | --- | --- | --- | --- | --- |
| cosine to 0.1 | 0.01 | 0.51 | 1.00 | 0.88 | 0.55 | 0.22 | 0.10 |
| linear to 0 | 0.01 | 0.51 | 1.00 | 0.76 | 0.50 | 0.24 | 0.00 |
| inverse square root | 0.01 | 0.51 | 1.00 | 0.43 | 0.31 | 0.25 | 0.22 |

[The three schedules](../../results/family_drawings.json#figures.rates)

**Why a decay?** Let the minimum be at 0 and every step have the length 1. From 0.4 a step leads to
−0.6, the next one back to 0.4, and so on: no step of this length gets nearer. With steps of 0.1,
the weight ends within 0.1 of it. In our small model, a rate that falls is worth
[0.101](../../results/loop_parts.json#tables.parts.The%20rate%20doesn%27t%20fall.worth).

**Why a warm-up?** The usual explanation is that [AdamW](adamw.py) divides each gradient by its
usual size, and in the first steps has seen too few to know what is usual. In our small model, at a
rate of 0.003, the warm-up is worth
[0.016](../../results/loop_parts.json#tables.parts.No%20warm-up.worth), no more than three seeds
differ among themselves. At a rate of 0.01 [it helps](../training/loop.py#example).

**In:** the number of a step, and how many there are. **Out:** the learning rate of that step, as a
share of the highest one. Each of the three schedules here can be the `schedule` of [the
loop](../training/loop.py). None has a state, so a run that was interrupted needs only the number of
its step.
"""

import math

import torch


def progress(step: int, rising: int, steps: int) -> float:
    r"""
    ## Share of the decay

    From 0, where the rate is highest, to 1 at the end.
    """
    # After a training that is nothing but a warm-up, nothing is to be divided by zero.
    return (step - rising) / max(1, steps - rising)


def cosine(step: int, steps: int, warmup: float = 0.05, final: float = 0.1) -> float:
    r"""
    ## Cosine

    $$
    s(x) = f + (1 - f)\, \frac{1 + \cos \pi x}{2}
    $$

    where $x$ goes from 0 to 1 and $f$ is the `final` share ([Loshchilov and Hutter
    2017](https://arxiv.org/abs/1608.03983), without their restarts). This is what the loop uses
    if nothing else is said.
    """
    # A straight line up. It ends at 1 and does not begin at 0, where a step would be lost.
    rising = round(warmup * steps)
    if step < rising:
        return (step + 1) / rising

    # Half a cosine down: it stays near the highest rate for long, and near the lowest one.
    return final + (1 - final) * 0.5 * (1 + math.cos(math.pi * progress(step, rising, steps)))


def linear(step: int, steps: int, warmup: float = 0.05, final: float = 0.0) -> float:
    r"""
    ## Linear

    $$
    s(x) = f + (1 - f)(1 - x)
    $$

    Down to zero it was better than the cosine in most comparisons of [Defazio et al.
    2023](https://arxiv.org/abs/2310.07831). The [modern
    recipe](../transformers/modern/experiment.py) uses it, though in our small model the two are
    [−0.001](../../results/ablation.json#tables.changes.a%20cosine%20to%20a%20tenth%2C%20no%20line%20to%20zero.worth)
    apart, which is nothing ([a list](../../docs/what_did_not_help.md) has more of such things).
    """
    # The same rise.
    rising = round(warmup * steps)
    if step < rising:
        return (step + 1) / rising

    # A straight line down: half of the fall is behind at half of the way.
    return final + (1 - final) * (1 - progress(step, rising, steps))


def inverse_square_root(step: int, steps: int, warmup: float = 0.05) -> float:
    r"""
    ## Inverse square root

    $$
    s_t = \min\left(\frac{t + 1}{w}, \sqrt{\frac{w}{t + 1}}\right)
    $$

    with $w$ steps of warm-up: the schedule of the first transformer (section 5.3 of its paper),
    there with a highest rate of $1 / \sqrt{d_{model} w}$. After the warm-up it doesn't need to know
    when training ends. The price is that the rate is still high when it does.
    """
    # At least one step, or the curve would begin with a division by zero.
    rising = max(1, round(warmup * steps))

    # The line and the curve meet at 1, in the last step of the warm-up.
    return min((step + 1) / rising, math.sqrt(rising / (step + 1)))


def example(n_steps: int = 11) -> torch.Tensor:
    r"""
    ## Example

    All three, `[3, n_steps]`.

    ### What it leaves out

    Large models are often trained at a constant rate after the warm-up, with a decay in the last
    tenth or so ([Hu et al. 2024](https://arxiv.org/abs/2404.06395) call it *WSD*: warm-up, stable,
    decay). You need to know the end only when the decay begins.

    ### Exercises

    ??? question "At which of 2,000 steps are cosine and line highest, with 5 % of warm-up?"
        At step 99, the last one of the warm-up, and at step 100, the first one of the decay.

    ??? question "You stop a run with the cosine after half of its steps. Have you lost anything?"
        Yes: the small steps at the end, in which the weights settle. The rate is still nearly 0.6
        of the highest.

    ??? question "A schedule that keeps its own count of steps: what breaks?"
        Unless the count is saved with the model, a resumed run begins at zero again, with a warm-up
        in the middle of training.
    """
    # With two steps of warm-up: shares of the highest rate for each of the steps. Another `warmup`
    # moves the peak, and nothing else has to be told.
    steps = range(n_steps)
    shares = [
        [schedule(step, n_steps, warmup=0.2) for step in steps]
        for schedule in (cosine, linear, inverse_square_root)
    ]
    return torch.tensor(shares)

r"""
---
title: The Size of a Gradient
summary: A step is made with large gradients, with small ones, and with nearly none at all.
know: step_tests.py
---

A training adds up the gradients of four parts, and clips the sum to length 1. Where the right
gradient has length 20, the sum has 80, and the optimizer uses 1, as it would without the mistake.
Where the right gradient has length 0.2, the sum has 0.8 and isn't clipped: the mistake shows.

So the [step](step_tests.py) is made twice: at weights with large gradients, and at weights with
small ones. If the length is wrong in one of the two, a third step follows, with gradients a
thousandth as long. No usual clipping touches those.

**In:** [what is tested](whole.py#Whole). **Out:** a sentence that says what is wrong, or nothing.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.in_place import borrowed
from wrongline.step_tests import name_step, plain, ratio, together, usual
from wrongline.steps import steps_of
from wrongline.verdicts import NotTried, Unusual
from wrongline.whole import Whole, cross_entropy, quiet

# Clipping is no mistake, and is told as unusual.
CLIPPED = "gradients are clipped"

# How many times shorter the gradients of the third step are. No training clips at so little.
FAINT = 1000


def is_wrong(said: str | float) -> bool:
    r"""
    ## Is it a mistake?

    A number isn't one: it says how many times the plain gradient was used. Nor is what can be
    meant, or wasn't tried.
    """
    return isinstance(said, str) and not isinstance(said, Unusual | NotTried)


def of_another_size(times: float) -> str:
    r"""
    ## A gradient of the right direction, and of another size

    Empty, if it has the right size, up to a hundredth.
    """
    if 0.99 <= times <= 1.01:
        return ""
    why = "parts are added up" if times > 1 else "divided once too often"
    return f"the gradient is {times:.3g} times that of the mean loss: {why}"


def faint_step(whole: Whole, model: nn.Module) -> str | None:
    r"""
    ## A step with a gradient that is as good as nothing

    It is made only if the length was wrong before. A gradient that was clipped is too short for
    that now, so its true size is seen. One that is always scaled to the same length keeps it. Each
    gradient is made smaller by a hook when autograd hands it to its weight. None, if they arrive
    elsewhere, as at the weights of a copy.
    """
    vector = plain(whole, model)
    with steps_of(whole, model) as steps:
        steps.step()
    names = [name for name in vector if name in steps.used]
    # The length that the optimizer uses now. The factor makes a right gradient a thousandth of it.
    before = together(steps.used, names).norm()
    expected = together(vector, names)
    factor = (before / expected.norm() / FAINT).item()
    arrived: list[None] = []

    def smaller(gradient: Tensor) -> Tensor:
        arrived.append(None)
        return gradient * factor

    # The same step again, with the hooks.
    with steps_of(whole, model) as steps:
        for weight in model.parameters():
            if weight.requires_grad:
                weight.register_hook(smaller)
        steps.step()
    if not arrived or not {*names} <= steps.used.keys():
        return None
    found = together(steps.used, names)
    if abs(found.norm() - before) < 0.01 * before:
        return Unusual(f"gradients are scaled to the length {before:.3g}, whatever theirs is")
    # None, if it has another direction now: then it says nothing about the size.
    times = ratio(found, factor * expected)
    if times is None:
        return None
    return of_another_size(times) or Unusual(f"{CLIPPED}, here to the length {before:.3g}")


def learn_by_heart(whole: Whole, model: nn.Module, n_steps: int = 60) -> None:
    r"""
    ## Some steps of a usual training

    On one batch, whose loss falls, and with it the length of the gradient.
    """
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.Adam(weights, 3e-3)
    for _ in range(n_steps):
        optimizer.zero_grad()
        usual(whole, model).backward()
        optimizer.step()
    optimizer.zero_grad()


def same_step(whole: Whole) -> str:
    r"""
    ## With large gradients, and with small ones

    Clipping hides a wrong size where gradients are large, and is itself seen only there. So the
    step is made twice.
    """
    # Large gradients: weights are doubled until the length is above 20, which any usual clipping
    # would cut, but six times at most.
    with whole.rough(training=True) as rough:
        for _ in range(6):
            gradients = plain(whole, rough)
            if together(gradients, gradients).norm() > 20:
                break
            # In place, since the step below is made with this model.
            for weight in rough.parameters():
                weight.data *= 2

        # Gradients that are clipped after the optimizer has used them are found here.
        large = name_step(whole, rough)
    if isinstance(large, NotTried):
        return large
    if is_wrong(large):
        return str(large)

    # Small gradients: those of a model that was trained on the batch.
    model = getattr(whole.model, "_orig_mod", whole.model)
    with borrowed(model):
        learned = quiet(model)
        learn_by_heart(whole, learned)
        # Gradients that are added up, or divided once too often, are found here.
        small = name_step(whole, learned)
        # If one of the two lengths is wrong, the third step tells whether that is clipping.
        sizes = [one for one in (small, large) if isinstance(one, float)]
        is_other = len(sizes) == 2 and any(abs(one - 1) > 0.01 for one in sizes)
        faint = faint_step(whole, learned) if is_other else None
    # A mistake comes first, and then what is unusual or wasn't tried.
    if is_wrong(small):
        return str(small)
    if isinstance(large, str):
        return large
    if isinstance(small, str):
        return small

    if faint is not None:
        return faint
    # What is left if the third step could not be made. Clipping would cut the large gradient more,
    # so the same factor below 1 for both is no clipping.
    if large < 0.99 and abs(large - small) < 0.01 * small:
        return of_another_size(small)
    most = max(large, small)
    if most > 1.01:
        return of_another_size(most)
    return Unusual(f"{CLIPPED}, here to {large:.3g} of them") if large < 0.99 else ""


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> tuple[str, str]:
    r"""
    ## Example

    A usual step, and one that adds up four parts and clips the sum at 1.

    ### Exercises

    ??? question "Gradients have length 20 and 0.3, and an optimizer uses 1 both times. Why?"
        They are scaled to length 1; or they are added up in four parts, which makes 1.2 of 0.3, and
        clipped at 1. With a gradient of 0.001 the first uses 1, and the second 0.004.
    """

    def adds_and_clips(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        def step(inputs: Tensor, targets: Tensor) -> None:
            optimizer.zero_grad()
            # Four parts whose losses nobody divides by four.
            (4 * cross_entropy(model(inputs), targets)).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

        return step

    text = torch.randint(n_vocab, (batch_size, seq_len + 1))
    whole = Whole(nn.Embedding(n_vocab, n_vocab), text[:, :-1], text[:, 1:])
    return same_step(whole), same_step(replace(whole, make_step=adds_and_clips))

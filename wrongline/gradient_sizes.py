r"""
---
title: The Size of a Gradient
summary: A step is made with large gradients, with small ones, and with nearly none at all.
know: step_tests.py
---

Gradients that are added up and then clipped have the right length where they are large. So one
[step](step_tests.py) tells little: it is made at weights where gradients are large, and at others
where they are small. If either of the two sizes isn't the plain one, a third step is made whose
gradients are a thousandth as long. None is clipped there.

**In:** [what is tested](whole.py#Whole). **Out:** a sentence that says what is wrong, or nothing.
"""

import torch
from torch import Tensor, nn

from wrongline.in_place import borrowed
from wrongline.step_tests import name_step, plain, ratio, together, usual
from wrongline.steps import steps_of
from wrongline.verdicts import NotTried, Unusual
from wrongline.whole import Whole, quiet

# How the mildest finding is told.
CLIPPED = "gradients are clipped"

# How many times shorter the gradients of the third step are.
FAINT = 1000


def is_wrong(said: str | float) -> bool:
    r"""
    ## Is it a mistake?

    A number is none, and nor is what can be meant.
    """
    return isinstance(said, str) and not isinstance(said, Unusual | NotTried)


def of_another_size(times: float) -> str:
    r"""
    ## A gradient of the right direction, and of another size
    """
    if 0.99 <= times <= 1.01:
        return ""
    why = "parts are added up" if times > 1 else "divided once too often"
    return f"the gradient is {times:.3g} times that of the mean loss: {why}"


def faint_step(whole: Whole, model: nn.Module) -> str | None:
    r"""
    ## A step with a gradient that is as good as nothing

    What is clipped to a length is shorter, and isn't clipped any more: so its size is seen. What is
    scaled to a length is as long as before. Each gradient is made smaller where it arrives; None,
    if it arrives elsewhere.
    """
    vector = plain(whole, model)
    names = [*vector]
    with steps_of(whole, model) as steps:
        steps.step()
    names = [name for name in vector if name in steps.used]
    before = together(steps.used, names).norm()
    expected = together(vector, names)
    factor = (before / expected.norm() / FAINT).item()
    arrived: list[None] = []

    def smaller(gradient: Tensor) -> Tensor:
        arrived.append(None)
        return gradient * factor

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
    times = ratio(found, factor * expected)
    if times is None:
        return None
    return of_another_size(times) or Unusual(f"{CLIPPED}, here to the length {before:.3g}")


def learn_by_heart(whole: Whole, model: nn.Module, n_steps: int = 60) -> None:
    r"""
    ## Some steps of a usual training

    They bring the loss of one batch down.
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

    Clipping hides a wrong size, and shows only where gradients are large. So the step is made
    twice.
    """
    # Weights are doubled until no usual clipping would leave their gradients as they are.
    with whole.rough(training=True) as rough:
        for _ in range(6):
            gradients = plain(whole, rough)
            if together(gradients, gradients).norm() > 20:
                break
            # Twice the weights. In place, since the step below
            # is made with this model.
            for weight in rough.parameters():
                weight.data *= 2

        # A wrong place of the clipping shows here.
        large = name_step(whole, rough)
    if isinstance(large, NotTried):
        return large
    if is_wrong(large):
        return str(large)

    # A model that knows the batch has small ones. No clipping touches those.
    model = getattr(whole.model, "_orig_mod", whole.model)
    with borrowed(model):
        learned = quiet(model)
        learn_by_heart(whole, learned)
        # A wrong size of the gradient shows here.
        small = name_step(whole, learned)
        # Where clipping can't hide it.
        sizes = [one for one in (small, large) if isinstance(one, float)]
        is_other = len(sizes) == 2 and any(abs(one - 1) > 0.01 for one in sizes)
        faint = faint_step(whole, learned) if is_other else None
    if is_wrong(small):
        return str(small)
    if isinstance(large, str):
        return large
    if isinstance(small, str):
        return small

    if faint is not None:
        return faint
    # The same factor below one at both places is no clipping.
    if large < 0.99 and abs(large - small) < 0.01 * small:
        return of_another_size(small)
    most = max(large, small)
    if most > 1.01:
        return of_another_size(most)
    return Unusual(f"{CLIPPED}, here to {large:.3g} of them") if large < 0.99 else ""


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> tuple[str, str | None]:
    r"""
    ## Example

    A usual step, and its faint gradients.

    ### Exercises

    ??? question "Gradients have length 20 and 0.3, and an optimizer uses 1 both times. Why?"
        They are scaled to length 1; or they are added up in four parts, which makes 1.2 of 0.3, and
        clipped at 1. With a gradient of 0.001 the first uses 1, and the second 0.004.
    """
    text = torch.randint(n_vocab, (batch_size, seq_len + 1))
    whole = Whole(nn.Embedding(n_vocab, n_vocab), text[:, :-1], text[:, 1:])
    return same_step(whole), faint_step(whole, whole.model)

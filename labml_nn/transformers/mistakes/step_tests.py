r"""
---
title: Test Your Training Step
summary: One step beside the plain one, on the same batch, with the mistake named.
---

```python
check_training_step(model, inputs, targets, make_step=make_step)
```

**In:** a model, a batch, and a function that gets a model and gives your step: a function that is
called with inputs and targets. **Out:** nothing, if all is right; else an `AssertionError` that
names the mistake. The [call](language_model.py#check_training_step) is on the page of all calls.

A step can be wrong, and its loss falls all the same: gradients of parts that are added up and not
averaged, a clipping that comes after the optimizer, weights that no optimizer knows. These three
passed our own tests until somebody tried. So here we look at the gradients *at the moment at which
the optimizer uses them*, and compare them with those of one plain backward pass of the mean loss.
Which optimizer it is, and with which learning rate, doesn't matter.
"""

import copy
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from labml_nn.transformers.mistakes.loss_names import Loss
from labml_nn.transformers.mistakes.undisturbed import copied
from labml_nn.transformers.mistakes.whole import Whole, adam_step, cross_entropy


def quiet(model: nn.Module) -> nn.Module:
    r"""
    ## In training, without dropout

    With dropout, two gradients of the same batch would differ without a mistake.
    """
    for module in model.modules():
        for name, value in vars(module).items():
            # A layer has it as `p`, an attention as a number with “drop” in its name.
            # Other numbers stay as they are.
            layer = name == "p" and "Drop" in type(module).__name__
            if isinstance(value, float) and (layer or "drop" in name):
                setattr(module, name, 0.0)
    # Some layers compute something else in evaluation.
    return model.train()


def plain(whole: Whole, model: nn.Module, loss: Loss = cross_entropy) -> dict[str, Tensor]:
    r"""
    ## The gradients of one plain backward pass
    """
    # A copy, so that the model's own gradients stay as they are.
    model = copy.deepcopy(model)

    # The whole batch at once, and the mean of its losses.
    loss(whole.predict(model, whole.inputs), whole.targets).backward()
    return {name: w.grad for name, w in model.named_parameters() if w.grad is not None}


def watch(whole: Whole, model: nn.Module) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    r"""
    ## The gradients that your optimizer uses

    And those that are there after the step.
    """
    # An optimizer knows weights, not their names.
    names = {id(weight): name for name, weight in model.named_parameters()}
    used: dict[str, Tensor] = {}

    # PyTorch calls this before the step of any optimizer, with the arguments of the step.
    def look(optimizer: torch.optim.Optimizer, arguments: tuple, named: dict) -> None:
        for weight in (one for group in optimizer.param_groups for one in group["params"]):
            # With a function that computes them, the gradients come later. And a loss may have
            # weights of its own.
            if id(weight) in names and not (arguments[1:] or named):
                # A weight without a gradient stands still.
                gradient = torch.zeros_like(weight) if weight.grad is None else weight.grad

                # A fused optimizer removes the scale of `float16` in its own kernel.
                used[names[id(weight)]] = gradient / (getattr(optimizer, "grad_scale", None) or 1.0)

    # Your function may need several calls until the optimizer makes a step, eight at most.
    step = whole.make_step(model)
    # From here on, every optimizer is watched.
    handle = register_optimizer_step_pre_hook(look)
    try:
        for _ in range(8):
            step(whole.inputs, whole.targets)
            # One step of the optimizer is enough.
            if used:
                break
    # Or all later optimizers of this process would be watched, too.
    finally:
        handle.remove()
    # What is left when your function is done.
    after = {n: w.grad for n, w in model.named_parameters() if w.grad is not None}
    return used, after


def together(gradients: dict[str, Tensor], names: Iterable[str]) -> Tensor:
    r"""
    ## One long vector
    """
    # In double precision, since it is a sum over all weights.
    return torch.cat([gradients[name].double().flatten() for name in names])


def ratio(found: Tensor, expected: Tensor) -> float | None:
    r"""
    ## How many times the expected vector

    Or None if the vector points elsewhere, by more than a thousandth of its length.
    """
    # The best factor, and what it can't explain.
    times = (found @ expected / (expected @ expected)).item()
    return times if (found - times * expected).norm() < 1e-3 * found.norm() else None


def name_step(whole: Whole, model: nn.Module) -> str | float:
    r"""
    ## One step beside the plain one

    What is wrong, or how many times the plain gradient was used.
    """
    # The step changes the weights of a copy: its gradients are compared with those at the old ones.
    expected = plain(whole, model)
    used, after = watch(whole, copy.deepcopy(model))

    # An optimizer of your own, which PyTorch doesn't know, can't be watched.
    if not used:
        return ""

    # A weight with a gradient should move.
    missing = [name for name, gradient in expected.items() if name not in used and gradient.any()]
    if missing:
        return f"{', '.join(missing)} get a gradient, and no optimizer knows them"

    # All weights that both know.
    # In one order for both, as long vectors.
    names = [name for name in expected if name in used]
    found = together(used, names)
    if not found.any():
        return "the optimizer finds no gradients: they are cleared before it uses them"
    times = ratio(found, together(expected, names))
    if times is None:
        # A wrong loss is the subject of another test. This one is about the step.
        times = ratio(found, together(plain(whole, model, whole.loss), names))
    if times is None:
        # The gradient may be of one part of the batch.
        for n in range(2, len(whole.inputs) + 1):
            # The part that comes last, with gradients of its own.
            last = [part[-1] for part in (whole.inputs.chunk(n), whole.targets.chunk(n))]
            part = Whole(model, *last, predict=whole.predict)
            if ratio(found, together(plain(part, model), names)) is not None:
                return f"only the last of {n} parts counts: gradients are cleared between them"
        # Dropout of a function that can't be turned off, for instance, or other data.
        return "the gradient isn't that of the mean loss of this batch"
    # What the optimizer used is compared with what is left.
    if times > 1.01:
        return f"the gradient is {times:.3g} times that of the mean loss: parts are added up"

    # Gradients that are cleared at the end of a step are gone, which does no harm.
    left = together(after, names) if all(name in after for name in names) else found
    if 0 < left.norm() < 0.99 * found.norm():
        return "gradients are clipped after the optimizer has used them"
    return times


def same_step(whole: Whole) -> str:
    r"""
    ## With large gradients, and with small ones

    Clipping hides a wrong size, and shows only where gradients are large. So the step is made
    twice.
    """
    # Weights are doubled until no usual clipping would leave their gradients as they are.
    rough = quiet(whole.rough())
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
    if isinstance(large, str):
        return large

    # A model that knows the batch has small ones. No clipping touches those.
    learned = quiet(copied(whole.model))
    usual = adam_step(learned)

    # Sixty steps bring the loss of one batch down.
    for _ in range(60):
        usual(whole.inputs, whole.targets)
    # A wrong size of the gradient shows here.
    small = name_step(whole, learned)
    if isinstance(small, str):
        return small

    # The same factor below one at both places is no clipping.
    if large < 0.99 and abs(large - small) < 0.01 * small:
        return f"the gradient is {small:.3g} times that of the mean loss: divided once too often"
    return ""


def example(
    batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11
) -> tuple[dict[str, Tensor], dict[str, Tensor], str | float]:
    r"""
    ## Example

    A right step: the gradients that it should use, those that it uses, and how many times they are
    those.

    ### Exercises

    ??? question "A step calls `backward` for each of three sequences. What is said of it?"
        “the gradient is 3 times that of the mean loss: parts are added up”.

    ??? question "It divides each of the three losses by three. What is said now?"
        Nothing. The sum of the parts is then the gradient of the mean.

    ??? question "It forgets `zero_grad`. Does this test notice?"
        No. It makes one step only, before which there are no gradients that could be left over. It
        takes [another test](training_tests.py#forgets).
    """
    text = torch.randint(n_vocab, (batch_size, seq_len + 1))

    # A table of what follows what is a model, too. Its step changes a copy.
    table = nn.Embedding(n_vocab, n_vocab)
    whole = Whole(table, text[:, :-1], text[:, 1:])
    used, _ = watch(whole, copy.deepcopy(table))
    return plain(whole, table), used, name_step(whole, table)

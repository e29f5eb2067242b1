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

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from wrongline.calling import arguments_of, called_with
from wrongline.comparison import NEAR, off
from wrongline.loss_names import Loss, other_losses
from wrongline.steps import steps_of
from wrongline.verdicts import NotTried, Unusual
from wrongline.whole import Whole, adam_step, cross_entropy


def is_left_out(targets: Tensor) -> Tensor:
    r"""
    ## Which targets are left out of the loss

    Those below zero: the prompt of a dialogue, or padding. PyTorch's loss leaves out -100, and
    others have chosen -1.
    """
    return targets < 0


def runs_at_an_end(targets: Tensor) -> list[int]:
    r"""
    ## Tokens that may be padding

    Each stands at the end of rows only, or at the beginning of rows only, and in one of them at
    least twice. (Once may be an accident.)
    """
    found = []
    for token in targets[targets >= 0].unique().tolist():
        same = targets == token
        # From the end of a row up to the first other token.
        tails = same.flip(1).cumprod(1).flip(1).bool()
        heads = same.cumprod(1).bool()
        if any(run.equal(same) and (run.sum(1) > 1).any() for run in (tails, heads)):
            found.append(token)
    return found


def padding_of(whole: Whole) -> int | None:
    r"""
    ## The token that pads the rows, and that the loss leaves out

    Most tokenizers pad with a token of their own, such as 0, and the loss has it as its
    `ignore_index`. That is no mistake where the token stands at an end of its rows. The loss tells,
    if it was given, or else the gradient that a step uses.
    """
    if "padding" not in whole.known:
        whole.known["padding"] = None
        tokens = runs_at_an_end(whole.targets)
        if whole.loss is not cross_entropy:
            ignores = loss_ignores
        elif whole.make_step is not adam_step:
            ignores = step_ignores
        else:
            tokens = []
        whole.known["padding"] = next((one for one in tokens if ignores(whole, one)), None)
    return whole.known["padding"]


def without_token(token: int) -> Loss:
    r"""
    ### The usual loss without a token
    """
    return lambda z, y: cross_entropy(z, y.masked_fill(y == token, -100))


def loss_ignores(whole: Whole, token: int) -> bool:
    r"""
    ### By the loss that was given

    No gradient comes to the logits at its places, and one comes to all others that count.
    """
    with torch.no_grad(), whole.rough() as model:
        logits = whole.predict(model, whole.inputs)
    logits = logits.detach().requires_grad_()
    # A loss that computes without gradients tells nothing.
    try:
        (slope,) = torch.autograd.grad(whole.loss(logits, whole.targets), logits)
    except RuntimeError:
        return False
    counts = (whole.targets >= 0) & (whole.targets != token)
    return counts.equal(slope.any(-1))


def step_ignores(whole: Whole, token: int) -> bool:
    r"""
    ### By the gradient that a step uses
    """
    return step_uses(whole, without_token(token))


def wanted(whole: Whole) -> Tensor:
    r"""
    ## The targets that count

    What is left out is -100 here, as PyTorch's loss has it.
    """
    out = is_left_out(whole.targets)
    padding = padding_of(whole)
    if padding is not None:
        out = out | (whole.targets == padding)
    return whole.targets.masked_fill(out, -100)


def copies(whole: Whole) -> bool:
    r"""
    ## Are the targets the inputs?

    But for those that are left out.
    """
    left = is_left_out(whole.targets)
    return bool(((whole.targets == whole.inputs) | left).all() and not left.all())


def shifts_inside(whole: Whole) -> bool:
    r"""
    ## Is the shift in the model?

    All models of the transformers library are given the text as its own `labels`, and shift them.
    The loss that such a model gives tells, or else the gradient that a step uses.
    """
    if "inside" not in whole.known:
        whole.known["inside"] = copies(whole) and (model_shifts(whole) or step_shifts(whole))
    return whole.known["inside"]


def shifted(logits: Tensor, targets: Tensor) -> Tensor:
    r"""
    ### The loss with the shift in it
    """
    return cross_entropy(logits[:, :-1], targets[:, 1:])


def model_shifts(whole: Whole) -> bool:
    r"""
    ### By the loss that the model gives
    """
    names = [name for name in [*arguments_of(whole.model)][1:] if name in ("labels", "targets")]
    for name in names:
        with whole.rough() as model:
            result = called_with(model, whole.inputs, **{name: whole.targets})
            loss = result.get("loss") if isinstance(result, dict) else getattr(result, "loss", None)
            expected = shifted(whole.predict(model, whole.inputs), whole.targets)
            if isinstance(loss, Tensor) and off(loss.detach(), expected.detach()) < NEAR:
                return True
    return False


def step_shifts(whole: Whole) -> bool:
    r"""
    ### By the gradient that a step uses
    """
    return step_uses(whole, shifted)


def step_uses(whole: Whole, loss: Loss) -> bool:
    r"""
    ## Does a step use the gradient of this loss?

    However many times.
    """
    with whole.rough(training=True) as model:
        gradients = plain(whole, model, loss)
        with steps_of(whole, model) as steps:
            steps.step()
        names = [name for name in gradients if name in steps.used]
        if not names:
            return False
        return ratio(together(steps.used, names), together(gradients, names)) is not None


def pairs(whole: Whole, model: nn.Module) -> tuple[Tensor, Tensor]:
    r"""
    ## Logits and their targets, side by side

    Whether the shift is in the data or in the model.
    """
    # Steps may be made to find this out, and they change weights: so it is asked first.
    targets = wanted(whole)
    inside = shifts_inside(whole)
    logits = whole.predict(model, whole.inputs)
    return (logits[:, :-1], targets[:, 1:]) if inside else (logits, targets)


def usual(whole: Whole, model: nn.Module) -> Tensor:
    r"""
    ## The usual loss of the batch
    """
    return cross_entropy(*pairs(whole, model))


def gradients_of(number: Tensor, model: nn.Module) -> dict[str, Tensor]:
    r"""
    ## The gradients of a number

    For the weights that want one. The model's own gradients stay as they are.
    """
    named = {name: one for name, one in model.named_parameters() if one.requires_grad}
    found = torch.autograd.grad(number, [*named.values()], allow_unused=True)
    return {name: one for name, one in zip(named, found, strict=True) if one is not None}


def plain(whole: Whole, model: nn.Module, loss: Loss | None = None) -> dict[str, Tensor]:
    r"""
    ## The gradients of one plain backward pass

    The whole batch at once, and the mean of its losses, or another `loss`.
    """
    if loss is None:
        return gradients_of(usual(whole, model), model)
    return gradients_of(loss(whole.predict(model, whole.inputs), whole.targets), model)


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


def turned(found: Tensor, expected: Tensor, weights: Tensor) -> str:
    r"""
    ## Another direction, on purpose

    What is clipped by value, or has a penalty for large weights, points elsewhere. So does anything
    that is added to the loss, or smooths its targets.
    """
    # Each number by itself is cut off at the largest.
    most = found.abs().max()
    if off(found, expected.clamp(-most, most)) < NEAR:
        return Unusual(f"gradients are clipped by value, at {most:.3g}")
    # What is too much is in proportion to the weights.
    if ratio(found - expected, weights) is not None:
        return Unusual("the loss has a penalty for large weights")
    cosine = (found @ expected / (found.norm() * expected.norm())).clamp(-1, 1).item()
    angle = math.degrees(math.acos(cosine))
    return Unusual(f"the gradient is turned by {angle:.0f} degrees from that of the mean loss")


def name_loss_of_step(whole: Whole, model: nn.Module, found: Tensor, names: list[str]) -> str:
    r"""
    ## A wrong loss, by its gradient
    """
    if whole.loss is not cross_entropy:
        # A wrong loss is the subject of another test, if it was said.
        if ratio(found, together(plain(whole, model, whole.loss), names)) is not None:
            return "said"
    logits, targets = pairs(whole, model)
    for name, loss in other_losses(targets).items():
        # Not every loss can be computed of these.
        try:
            gradients = gradients_of(loss(logits, targets), model)
        except RuntimeError:
            continue
        finally:
            logits, targets = pairs(whole, model)
        if all(one in gradients for one in names):
            if ratio(found, together(gradients, names)) is not None:
                return f"the loss is wrong: {name}"
    return ""


def name_parts(whole: Whole, model: nn.Module, found: Tensor, names: list[str]) -> str:
    r"""
    ## Parts of the batch, wrongly put together
    """
    logits, targets = pairs(whole, model)
    for n in range(2, len(whole.inputs) + 1):
        losses = [
            cross_entropy(*part)
            for part in zip(logits.chunk(n), targets.chunk(n), strict=True)
            if not is_left_out(part[1]).all()
        ]
        # The part that comes last, with gradients of its own.
        last = gradients_of(losses[-1] + 0 * logits.sum(), model)
        logits, targets = pairs(whole, model)
        if ratio(found, together(last, names)) is not None:
            return f"only the last of {n} parts counts: gradients are cleared between them"
        # A part with few targets counts as much as one with many.
        parts = zip(logits.chunk(n), targets.chunk(n), strict=True)
        losses = [cross_entropy(*part) for part in parts if not is_left_out(part[1]).all()]
        means = gradients_of(torch.stack(losses).mean() + 0 * logits.sum(), model)
        logits, targets = pairs(whole, model)
        if ratio(found, together(means, names)) is not None:
            return f"the means of {n} parts are averaged, though their numbers of targets differ"
    return ""


def name_step(whole: Whole, model: nn.Module) -> str | float:
    r"""
    ## One step beside the plain one

    What is wrong, or how many times the plain gradient was used.
    """
    # The step changes the weights: its gradients are compared with those at the old ones.
    expected = plain(whole, model)
    before = [*map(id, model.parameters())]
    with steps_of(whole, model) as steps:
        # A layer that `make_step` has replaced has gradients of its own.
        if [*map(id, model.parameters())] != before:
            expected = plain(whole, model)
        steps.step()
        after = {n: w.grad for n, w in model.named_parameters() if w.grad is not None}
        # Who makes the step may have frozen some.
        moving = {n for n, w in model.named_parameters() if w.requires_grad}
    used = steps.used

    # It moves, and something else.
    if steps.foreign and not steps.moves:
        return "the optimizer has no weight of this model: was it made for another one?"
    # An optimizer of your own, which PyTorch doesn't know, can't be watched.
    if not used:
        return NotTried("no optimizer of PyTorch makes a step, or it computes gradients itself")

    # A weight with a gradient should move.
    missing = [n for n, one in expected.items() if n in moving - used.keys() and one.any()]
    if missing:
        return f"{', '.join(missing)} get a gradient, and no optimizer knows them"

    # All weights that both know.
    # In one order for both, as long vectors.
    names = [name for name in expected if name in used]
    found = together(used, names)
    if not found.any():
        return "the optimizer finds no gradients: they are cleared before it uses them"
    vector = together(expected, names)
    times = ratio(found, vector)
    # From here on, the model is what it was before `make_step`.
    if times is None and not {*names} <= dict(model.named_parameters()).keys():
        return NotTried("`make_step` gives the model other layers")
    # A buffer may move with each call in training, as that of a spectral norm does.
    if times is None:
        times = ratio(found, together(plain(whole, model), names))
    if times is None:
        said = name_loss_of_step(whole, model, found, names)
        if said == "said":
            times = ratio(found, together(plain(whole, model, whole.loss), names))
        else:
            said = said or name_parts(whole, model, found, names)
            weights = together(dict(model.named_parameters()), names)
            return said or turned(found, vector, weights.detach())
    assert times is not None
    if times > 1.01:
        return times
    # What the optimizer used is compared with what is left.

    # Gradients that are cleared at the end of a step are gone, which does no harm.
    left = together(after, names) if all(name in after for name in names) else found
    if 0 < left.norm() < 0.99 * found.norm():
        return "gradients are clipped after the optimizer has used them"
    return times


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

    # A table of what follows what is a model, too. What its step changes is put back.
    table = nn.Embedding(n_vocab, n_vocab)
    whole = Whole(table, text[:, :-1], text[:, 1:])
    with steps_of(whole, table) as steps:
        steps.step()
    return plain(whole, table), steps.used, name_step(whole, table)

r"""
---
title: Tests of a Training
summary: Are the targets right, is the loss honest, are gradients cleared, does it learn?
---

A model can be right and its training wrong: targets that are not the next tokens, a softmax before
the loss, gradients that are never cleared. These tests look at a batch and at a step. Together with
the [tests of a model](model_tests.py) they find every mistake of the
[museum's training](../labml_nn/transformers/mistakes/model_mistakes.py).

**In:** [what is tested](whole.py#Whole). **Out:** for each test a sentence that says what is
wrong, or nothing.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wrongline.comparison import NEAR, off
from wrongline.gradient_sizes import learn_by_heart, same_step
from wrongline.in_place import borrowed
from wrongline.loss_names import name_loss
from wrongline.model_tests import MODEL_TESTS, SHORT
from wrongline.step_tests import (
    copies,
    is_left_out,
    padding_of,
    plain,
    shifts_inside,
    usual,
    wanted,
)
from wrongline.steps import steps_of
from wrongline.verdicts import Findings, NotTried, Unusual
from wrongline.weights_used import without_number
from wrongline.whole import Whole, cross_entropy, quiet, run_tests


def targets_follow_inputs(whole: Whole) -> str:
    r"""
    ## Is the target the next token?

    The one test that needs no model.
    """
    # The batch as the training gets it: everything it learns is in here.
    inputs = whole.inputs
    targets = whole.targets
    # Some are left out on purpose: a prompt, or padding.
    left = is_left_out(wanted(whole))
    if left.all():
        return "every target is below zero, so it is left out of the loss"
    if ((targets[:, :-1] == inputs[:, 1:]) | left[:, :-1]).all():
        padding = padding_of(whole)
        if padding is None:
            return ""
        return Unusual(f"token {padding} is padding: the loss leaves it out, at an end of the rows")
    # As the transformers library wants it.
    if shifts_inside(whole):
        return ""

    # The two mistakes that are in print have names.
    if copies(whole):
        return "the targets are the inputs: the model learns to copy. Shift them by one"
    if ((targets[:, :-2] == inputs[:, 2:]) | left[:, :-2]).all():
        return "each target is the token after next: the targets are shifted twice"

    # Any other.
    return "targets[:, :-1] is not inputs[:, 1:]: the target of a token must be the next one"


def honest(whole: Whole) -> str:
    r"""
    ## Is the loss the honest one?

    Each token is predicted from what comes before it, and *nothing else is there*. The mean of
    these losses must be the one that the training computes of the same batch.
    """
    inputs = whole.inputs
    length = inputs.shape[1]
    # The inputs and the one token after them, without what is left out.
    text = torch.cat([inputs, whole.targets[:, -1:]], dim=1)
    targets = text[:, 1:].masked_fill(is_left_out(wanted(whole)), -100)
    if shifts_inside(whole):
        targets = F.pad(wanted(whole)[:, 1:], (0, 1), value=-100)

    # With weights of some size: a fresh bias may be zero, and would hide what is wrong with it.
    with torch.no_grad(), whole.rough() as model:
        # The loss of the training, in one call for all positions.
        logits = whole.predict(model, inputs)
        # Prefix by prefix: the model gets $n$ tokens, and says what it expects of the next. (Of a
        # long text, a few prefixes. The longest is all of the input.)
        alone = logits.clone()
        for n in range(1, length) if length <= SHORT else range(1, length, length // SHORT):
            # A model may refuse a single token.
            try:
                alone[:, n - 1] = whole.predict(model, inputs[:, :n])[:, -1]
            except Exception:
                continue
        # The mean over the sequences and positions, as that of the training is.
        expected = cross_entropy(alone, targets)
        found = expected
        name = ""
        if not shifts_inside(whole):
            # A loss of yours knows what is padding in your targets.
            given = wanted(whole) if whole.loss is cross_entropy else whole.targets
            found = whole.loss(logits, given)
            name = name_loss(lambda z, _: whole.loss(z, given), logits, targets)
        from_logits = cross_entropy(logits, targets)

    # Both numbers are told, so that one can see how far they are apart.
    # The loss itself is looked at first. If it is the usual one, the logits are to blame.
    differ = f"the loss of the batch is {found:.4f}, from prefixes alone it is {expected:.4f}: "
    if name:
        return differ + name

    # A loss that is wrong on purpose, such as one with smoothed labels, isn't a mistake.
    if off(from_logits, expected) < NEAR:
        if off(found, expected) < NEAR:
            return ""
        return Unusual(f"{differ}labels are smoothed, or a penalty is added")

    # The same loss of the same tokens: only what the model is shown differs.
    return differ + "the logits change with what comes after a token (see model_prefix)"


def weights_after(whole: Whole, leftover: float) -> Tensor:
    r"""
    ## Two steps, and where they lead

    All weights, as one long vector, after two steps. The gradients that the first one has left are
    replaced by `leftover`. (What is cleared at the end of a step is gone.)
    """
    model = getattr(whole.model, "_orig_mod", whole.model)
    with steps_of(whole, model.train()) as steps:
        # Dropout would be another reason for a difference.
        torch.manual_seed(1)
        steps.step()
        for weight in model.parameters():
            if weight.grad is not None and weight.grad.any():
                weight.grad = torch.full_like(weight, leftover)
        torch.manual_seed(1)
        steps.step()
        return torch.cat([weight.detach().flatten() for weight in model.parameters()])


def forgets(whole: Whole) -> str:
    r"""
    ## Are gradients cleared?

    A step must not depend on the gradients that it finds.
    """
    # The same step, from the same weights: after gradients of zero, and after gradients of one.
    clear = weights_after(whole, 0.0)
    found = weights_after(whole, 1.0)
    if clear.equal(found):
        return ""

    # Some kernels of a GPU add up in a different order each time, so even the same step differs.
    # Gradients that are left over make far more of a difference than that. (A step that draws from
    # a generator of its own can't be judged here.)
    again = weights_after(whole, 0.0)
    if (found - clear).norm() < 10 * (again - clear).norm():
        return ""
    return "a step depends on the gradients of the one before: `zero_grad` is missing, or late"


def loss_of_batch(whole: Whole, model: nn.Module) -> float:
    r"""
    ## The loss of the batch, now

    The usual one: that of the training may be the mistake.
    """
    # Some parts may be in another mode than others.
    modes = [(part, part.training) for part in model.modules()]
    with torch.no_grad():
        loss = usual(whole, model.eval()).item()
    for part, mode in modes:
        part.training = mode
    return loss


def learns(whole: Whole, bar: float = 0.3) -> str:
    r"""
    ## Can it learn one batch by heart?

    The memory of any model that works is good enough for a few short sequences, if they differ
    from the first token on.
    """
    # The same batch again and again, with a fresh optimizer.
    model = getattr(whole.model, "_orig_mod", whole.model)
    with steps_of(whole, model) as steps:
        for _ in range(whole.n_steps // 2):
            steps.step()
        half = loss_of_batch(whole, model)
        for _ in range(whole.n_steps // 2, whole.n_steps):
            steps.step()
        loss = loss_of_batch(whole, model)
        # Who makes the step may have frozen some.
        frozen = any(not weight.requires_grad for weight in model.parameters())
    if loss < bar:
        return ""

    # Random text can be remembered, and not understood; so this asks for memory alone.
    said = (
        f"after {whole.n_steps} steps on one batch its loss is {loss:.2f}, not below {bar}: is "
        "there a residual, are the targets right, does the loss get logits, is the rate right?"
    )
    # A part of the weights may not be able to.
    if frozen:
        return Unusual(f"{said} (some weights are frozen)")
    # A small rate is no mistake: the loss still falls, and a usual training of the same model
    # learns the batch.
    if loss < 0.995 * half:
        with borrowed(model):
            learn_by_heart(whole, quiet(model), whole.n_steps)
            plain_loss = loss_of_batch(whole, model)
        if plain_loss < bar:
            return Unusual(
                f"it learns slowly: after {whole.n_steps} steps on one batch its loss is "
                f"{loss:.2f} and falls; with Adam and a rate of 0.003 it is {plain_loss:.2f}"
            )
    return said


def unregistered(model: nn.Module) -> dict[str, Tensor]:
    r"""
    ## Weights that `parameters()` doesn't give

    Those of layers in a plain list or dictionary of Python's, which PyTorch doesn't look into.
    """
    known = {*map(id, model.parameters())}
    found: dict[str, Tensor] = {}
    for path, module in model.named_modules():
        # What PyTorch knows of stands in dictionaries of its own, whose names begin so.
        plain_ones = {n: one for n, one in vars(module).items() if not n.startswith("_")}
        for name, value in plain_ones.items():
            inside: dict[Any, Any] = {}
            if isinstance(value, list | tuple):
                inside = dict(enumerate(value))
            elif isinstance(value, dict):
                inside = value
            for key, one in inside.items():
                place = f"{path}.{name}[{key!r}]".lstrip(".")
                if isinstance(one, nn.Module):
                    found |= {f"{place}.{n}": weight for n, weight in one.named_parameters()}
                elif isinstance(one, nn.Parameter):
                    found[place] = one
    return {name: one for name, one in found.items() if id(one) not in known}


def learning(weights: dict[str, Tensor], loss: Tensor) -> dict[str, Tensor]:
    r"""
    ## Those of some weights that get a gradient of a loss
    """
    weights = {name: one for name, one in weights.items() if one.requires_grad}
    if not weights:
        return {}
    slopes = torch.autograd.grad(loss, [*weights.values()], allow_unused=True)
    pairs = zip(weights.items(), slopes, strict=True)
    return {name: one for (name, one), slope in pairs if slope is not None and slope.any()}


def every_weight_moves(whole: Whole, n_steps: int = 12) -> str:
    r"""
    ## Does every weight move?

    After some steps each weight that gets a gradient must be another. (In the first ones, a
    learning rate may still be zero.) Weights that are frozen are told, and are no mistake.
    """
    with whole.rough(training=True) as model:
        gradients = plain(whole, model)
        before = {name: one.detach().clone() for name, one in model.named_parameters()}
        hidden = learning(unregistered(model), usual(whole, model))
        first = {name: one.detach().clone() for name, one in hidden.items()}
        with steps_of(whole, model) as steps:
            for _ in range(min(n_steps, whole.n_steps)):
                steps.step()
            same = [n for n, one in model.named_parameters() if one.detach().equal(before[n])]
            hidden_same = [name for name, one in hidden.items() if one.detach().equal(first[name])]
            # Who makes the step may have frozen some.
            moving = {name for name, one in model.named_parameters() if one.requires_grad}
    gradients = {name: one for name, one in gradients.items() if name in moving}

    # A step that isn't an optimizer's of PyTorch may do anything.
    if steps.foreign and not steps.moves:
        return NotTried("the optimizer has no weight of this model")
    if hidden_same:
        return (
            f"{', '.join(hidden_same)} get a gradient, and never move: they stand in a plain list "
            "or dictionary, so `parameters()` doesn't give them (see nn.ModuleList)"
        )
    largest = max((float(one.norm()) for one in gradients.values()), default=0.0)
    still = [n for n in same if n in gradients and gradients[n].norm() > 1e-4 * largest]
    if still:
        return f"{', '.join(still)} get a gradient, and never move: is there a rate for them?"
    without = [name for name in same if name in moving and name not in gradients]
    used = {without_number(name) for name in gradients}
    without = [name for name in without if without_number(name) not in used]
    if without:
        return f"no gradient comes to {', '.join(without)}: never used"
    frozen = [name for name in before if name not in moving]
    return Unusual(f"frozen: {', '.join(frozen)}") if frozen else ""


def stays_in_training(whole: Whole) -> str:
    r"""
    ## Is the next step made in training, too?

    Who evaluates within a step, and forgets `model.train()` afterwards, trains without dropout from
    the second step on.
    """
    # Nearly all that differs between training and evaluation is dropout, or a batch normalisation.
    parts = [type(one).__name__ for one in whole.model.modules()]
    differs = any("Drop" in name or "BatchNorm" in name for name in parts)
    modes: list[set[bool]] = []

    def note(module: nn.Module, given: object) -> None:
        # What is computed without gradients may be an evaluation.
        if torch.is_grad_enabled():
            modes[-1].add(module.training)

    with whole.rough(training=True) as model:
        handle = model.register_forward_pre_hook(note)
        try:
            with steps_of(whole, model) as steps:
                for _ in range(2):
                    modes.append(set())
                    steps.step()
        finally:
            handle.remove()
    if modes != [{True}, {False}]:
        return ""
    said = (
        "a step leaves the model in evaluation: `model.train()` is missing after it was evaluated"
    )
    return f"{said}, so the next step has no dropout" if differs else Unusual(said)


# The batch first: if it is wrong, nothing that comes after it can be right.
STEP_TESTS = (forgets, same_step, every_weight_moves, stays_in_training, learns)
TRAINING_TESTS = (targets_follow_inputs, honest, *STEP_TESTS)
WHOLE_TESTS = (targets_follow_inputs, honest, *MODEL_TESTS, *STEP_TESTS)


def find_in_whole(whole: Whole) -> Findings:
    r"""
    ## All of these

    Of a model and of its training, from the names of the tests that fail to what is wrong.
    """
    return run_tests(WHOLE_TESTS, whole)


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> dict[str, str]:
    r"""
    ## Example

    A table of what follows what, trained on targets that are not shifted.

    ### Exercises

    ??? question "The loss is not the honest one, and `model_prefix` passes. What do you look at?"
        At the targets and the loss: the model doesn't see the future.

    ??? question "Why must the sequences differ from the first token on?"
        After equal beginnings with different ends nobody can know which end comes. The loss would
        stay above zero with the best of memories.

    ??? question "The mask lets each token see the next one, too. Which of these tests fail?"
        `honest` and `model_prefix`. `learns` can pass: it is easy to copy what one sees.
    """
    # The inputs twice, where the second should be one token later.
    text = torch.randint(n_vocab, (batch_size, seq_len + 1))
    table = torch.nn.Embedding(n_vocab, n_vocab)

    # Few steps: the first test fails anyway, and the last one does for want of time.
    return find_in_whole(Whole(table, text[:, :-1], text[:, :-1], n_steps=20))

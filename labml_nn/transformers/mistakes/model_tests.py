r"""
---
title: Tests of a Whole Model
summary: What a language model, its batches and its training step can be asked.
---

These tests know nothing about the inside of a model. They are handed a model, a batch as the
training gets it, and the function that computes the loss, and find what
[tests of an attention](attention_tests.py) can't see: positions on the wrong axis, targets that are
not the next tokens, a training that doesn't learn.

Each test gives back a sentence that says what is wrong, or nothing. The batch comes first.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.mistakes.comparison import NEAR, off, roughen


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    r"""
    ## The usual loss

    Of logits `[batch_size, seq_len, n_vocab]` and targets `[batch_size, seq_len]`.
    """
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def adam_step(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
    r"""
    ## A usual training

    A function that makes one step on inputs and targets.
    """
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)

    def step(inputs: Tensor, targets: Tensor) -> None:
        optimizer.zero_grad()
        cross_entropy(model(inputs), targets).backward()
        optimizer.step()

    return step


@dataclass(frozen=True)
class Whole:
    r"""
    ## What is tested

    * `model` is a model as it is made, untrained
    * `inputs` and `targets` are a small batch as the training gets it, the batch first
    * `predict` calls the model: from tokens to logits, the batch first
    * `loss` is that of your training, of logits and targets
    * `make_step` is called with a model, and gives a function that makes one step of your training
      on inputs and targets
    * `n_steps` of them should be enough to learn the batch by heart
    """

    model: nn.Module
    inputs: Tensor
    targets: Tensor
    predict: Callable[[nn.Module, Tensor], Tensor] = lambda model, tokens: model(tokens)
    loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy
    make_step: Callable[[nn.Module], Callable[[Tensor, Tensor], Any]] = adam_step
    n_steps: int = 120

    def rough(self) -> nn.Module:
        r"""
        ### A copy of the model with weights of some size
        """
        return roughen(copy.deepcopy(self.model)).eval()


def targets_follow_inputs(whole: Whole) -> str:
    r"""
    ## Is the target the next token?

    The one test that needs no model.
    """
    inputs, targets = whole.inputs, whole.targets
    if targets[:, :-1].equal(inputs[:, 1:]):
        return ""
    if targets.equal(inputs):
        return "the targets are the inputs: the model learns to copy. Shift them by one"
    if targets[:, :-2].equal(inputs[:, 2:]):
        return "each target is the token after next: the targets are shifted twice"
    return "targets[:, :-1] is not inputs[:, 1:]: the target of a token must be the next one"


def honest(whole: Whole) -> str:
    r"""
    ## Is the loss the honest one?

    Each token is predicted from what comes before it, and *nothing else is there*. The mean of
    these losses must be the one that the training computes of the same batch.
    """
    model, inputs = whole.rough(), whole.inputs
    text = torch.cat([inputs, whole.targets[:, -1:]], dim=1)
    length = inputs.shape[1]
    losses = [
        F.cross_entropy(whole.predict(model, inputs[:, :n])[:, -1], text[:, n])
        for n in range(1, length + 1)
    ]
    expected = torch.stack(losses).mean()
    found = whole.loss(whole.predict(model, inputs), whole.targets)
    if off(found, expected) < NEAR:
        return ""
    return (
        f"the loss of the batch is {found:.4f}, from prefixes alone it is {expected:.4f}. If "
        "model_prefix fails too, the model sees the future; if not, the loss is of other targets "
        "(shifted twice?) or of something else than logits (a softmax before it?)"
    )


def model_prefix(whole: Whole) -> str:
    r"""
    ## Do the first tokens suffice?

    What the model says about a token may not depend on whether there is anything after it.
    """
    model, inputs = whole.rough(), whole.inputs
    logits = whole.predict(model, inputs)
    for n in range(1, inputs.shape[1]):
        if off(whole.predict(model, inputs[:, :n])[:, -1], logits[:, n - 1]) >= NEAR:
            return (
                f"the logits at position {n - 1} change when the tokens after it are cut off: "
                "the model sees the future, or counts positions from the end"
            )
    return ""


def each_sequence_alone(whole: Whole) -> str:
    r"""
    ## Does the company matter?

    Each sequence of the batch, not only the first, must get the same logits alone.
    """
    model, inputs = whole.rough(), whole.inputs
    logits = whole.predict(model, inputs)
    wrong = [
        row
        for row in range(len(inputs))
        if off(whole.predict(model, inputs[row : row + 1])[0], logits[row]) >= NEAR
    ]
    if not wrong:
        return ""
    return (
        f"sequence {wrong[0]} of {len(inputs)} gets other logits when it is alone: something "
        "belongs to the axis of the batch (positions added along it?) or mixes the sequences"
    )


def model_twice(whole: Whole) -> str:
    r"""
    ## Randomness in evaluation
    """
    model, inputs = whole.rough(), whole.inputs
    if whole.predict(model, inputs).equal(whole.predict(model, inputs)):
        return ""
    return "two calls in evaluation differ: dropout is on (a function needs to be told)"


def forgets(whole: Whole) -> str:
    r"""
    ## Are gradients cleared?

    A step must not depend on the gradients that it finds.
    """
    after = []
    for leftover in (0.0, 1.0):
        model = copy.deepcopy(whole.model)
        step = whole.make_step(model)
        for weight in model.parameters():
            weight.grad = torch.full_like(weight, leftover)
        torch.manual_seed(1)
        step(whole.inputs, whole.targets)
        after.append(torch.cat([weight.detach().flatten() for weight in model.parameters()]))
    if after[0].equal(after[1]):
        return ""
    return "a step depends on the gradients of the one before: `zero_grad` is missing, or late"


def learns(whole: Whole, bar: float = 0.3) -> str:
    r"""
    ## Can it learn one batch by heart?

    The memory of any model that works is good enough for a few short sequences, if they differ
    from the first token on.
    """
    model = copy.deepcopy(whole.model)
    step = whole.make_step(model)
    for _ in range(whole.n_steps):
        step(whole.inputs, whole.targets)
    loss = cross_entropy(whole.predict(model.eval(), whole.inputs), whole.targets).item()
    if loss < bar:
        return ""
    return (
        f"after {whole.n_steps} steps on one batch its loss is {loss:.2f}, not below {bar}: is "
        "there a residual, are the targets right, does the loss get logits, is the rate right?"
    )


WHOLE_TESTS = (
    targets_follow_inputs,
    honest,
    model_prefix,
    each_sequence_alone,
    model_twice,
    forgets,
    learns,
)


def find_in_whole(whole: Whole) -> dict[str, str]:
    r"""
    ## All of these

    From the names of the tests that fail to what is wrong. An error is a failure as well.
    """
    found = {}
    for test in WHOLE_TESTS:
        try:
            found[test.__name__] = test(whole)
        except Exception as error:
            found[test.__name__] = f"{type(error).__name__}: {error}"
    return {name: sentence for name, sentence in found.items() if sentence}


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> dict[str, str]:
    r"""
    ## Example

    A table of what follows what, trained on targets that are not shifted.
    """
    text = torch.randint(n_vocab, (batch_size, seq_len + 1))
    whole = Whole(nn.Embedding(n_vocab, n_vocab), text[:, :-1], text[:, :-1], n_steps=20)
    return find_in_whole(whole)

r"""
---
title: Tests of a Whole Model
summary: What a language model can be asked without knowing its inside.
---

These tests know nothing about the inside of a model. They are handed a model and a batch as the
training gets it, and find what [tests of an attention](attention_tests.py) can't see, such as
positions on the wrong axis. Whether the targets are right and the training learns is the subject
of [the next page](training_tests.py).

**In:** a model, a batch, and how the two are used. **Out:** for each test a sentence that says what
is wrong, or nothing. The batch comes first.
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
    # All positions of all sequences in one list, since the function wants the classes on axis 1.
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def adam_step(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
    r"""
    ## A usual training

    A function that makes one step on inputs and targets.
    """
    # Made once, because Adam remembers the gradients of earlier steps.
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)

    # Gradients are cleared first; `backward` would add to them.
    def step(inputs: Tensor, targets: Tensor) -> None:
        optimizer.zero_grad()
        cross_entropy(model(inputs), targets).backward()
        optimizer.step()

    # The function knows its model and its optimizer, and is told the batch.
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

    # What you have to say: the model, and a batch of a few short sequences.
    model: nn.Module

    # Sequences that differ, with no padding in them.
    inputs: Tensor
    targets: Tensor
    # How it is called and trained, if not in the usual way.
    predict: Callable[[nn.Module, Tensor], Tensor] = lambda model, tokens: model(tokens)
    loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy
    make_step: Callable[[nn.Module], Callable[[Tensor, Tensor], Any]] = adam_step

    # More than enough for sequences that differ from the first token on.
    n_steps: int = 120

    def rough(self) -> nn.Module:
        r"""
        ### A copy of the model with weights of some size
        """
        # Yours stays as it is. Fresh biases may be zero, and a mistake in one would not show.
        return roughen(copy.deepcopy(self.model)).eval()


def model_prefix(whole: Whole) -> str:
    r"""
    ## Do the first tokens suffice?

    What the model says about a token may not depend on whether there is anything after it.
    """
    # Once with everything, then with the first token, the first two, and so on.
    model, inputs = whole.rough(), whole.inputs
    logits = whole.predict(model, inputs)
    for n in range(1, inputs.shape[1]):
        # The last prediction of the shorter text must be the one of the longer text there.
        if off(whole.predict(model, inputs[:, :n])[:, -1], logits[:, n - 1]) >= NEAR:
            return (
                f"the logits at position {n - 1} change when the tokens after it are cut off: "
                "the model sees the future, or counts positions from the end"
            )
    # Cut off anywhere, the beginning is predicted alike.
    return ""


def each_sequence_alone(whole: Whole) -> str:
    r"""
    ## Does the company matter?

    Each sequence of the batch, not only the first, must get the same logits alone.
    """
    # Once all together, then each by itself.
    model, inputs = whole.rough(), whole.inputs
    logits = whole.predict(model, inputs)

    # A batch of one keeps its axis: `row : row + 1`.
    wrong = [
        row
        for row in range(len(inputs))
        if off(whole.predict(model, inputs[row : row + 1])[0], logits[row]) >= NEAR
    ]
    if not wrong:
        return ""

    # The first of them is enough to look at. If it is the first of the batch, the position of a
    # sequence in the batch isn't the cause.
    return (
        f"sequence {wrong[0]} of {len(inputs)} gets other logits when it is alone: something "
        "belongs to the axis of the batch (positions added along it?) or mixes the sequences"
    )


def model_twice(whole: Whole) -> str:
    r"""
    ## Randomness in evaluation
    """
    # A copy in evaluation, where nothing should be random, neither dropout nor a sampled mask.
    model, inputs = whole.rough(), whole.inputs

    # Bit by bit: the same program on the same numbers.
    if whole.predict(model, inputs).equal(whole.predict(model, inputs)):
        return ""
    return "two calls in evaluation differ: dropout is on (a function needs to be told)"


# In the order of what can go wrong: time, company, randomness. A model in which any of them fails
# writes worse than its loss says.
MODEL_TESTS = (model_prefix, each_sequence_alone, model_twice)


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> dict[str, str]:
    r"""
    ## Example

    A table of what follows what sees one token only, so it passes.

    ### Exercises

    ??? question "A model adds the mean of the batch to each vector. Which test fails?"
        `each_sequence_alone`: with other company the mean is another.

    ??? question "Why are weights made larger before a test?"
        With small weights a mistake changes little, and could hide in the rounding.

    ??? question "A model counts its positions from the end of the text. Which test fails?"
        `model_prefix`. In a shorter text, each token has another position, and gets other logits.
    """
    # Random text; the targets are its next tokens.
    text = torch.randint(n_vocab, (batch_size, seq_len + 1))
    whole = Whole(nn.Embedding(n_vocab, n_vocab), text[:, :-1], text[:, 1:])

    # The loss that a training would compute of this batch.
    cross_entropy(whole.predict(whole.model, whole.inputs), whole.targets)

    # Three empty sentences.
    return {test.__name__: test(whole) for test in MODEL_TESTS}

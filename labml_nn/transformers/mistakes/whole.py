r"""
---
title: A Model Under Test
summary: What the tests of a whole model have to be told, and what they find out themselves.
---

**In:** a model as it is made, and a small batch. **Out:** the same two, with the ways to call the
model and to train it. Most models need nothing more: their logits are found in a tensor, in a
field, in a dictionary, or in a pair with the loss. Whatever else a model wants can be said.

The [tests of a model](model_tests.py), of its [cache](cache_tests.py), of a
[training](training_tests.py) and of its [step](step_tests.py) all take this one object.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.mistakes.comparison import roughen
from labml_nn.transformers.mistakes.undisturbed import copied


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    r"""
    ## The usual loss

    Of logits `[batch_size, seq_len, n_vocab]` and targets `[batch_size, seq_len]`.
    """
    # All positions of all sequences in one list, since the function wants the classes on axis 1.
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def find_logits(output: Any) -> Any:
    r"""
    ## Find the logits in a result

    Models give them in four ways: as they are, in a field, in a dictionary, or in a tuple.
    """
    # In a field of that name: so do the models of the transformers library.
    found = getattr(output, "logits", output)

    # Or in a dictionary.
    if isinstance(found, dict):
        found = found["logits"]

    # nanoGPT gives a pair: logits and loss.
    return found[0] if isinstance(found, (tuple, list)) else found


def logits_of(model: nn.Module, tokens: Tensor) -> Tensor:
    r"""
    ## Call the model
    """
    # Most models need nothing but the tokens.
    found = find_logits(model(tokens))

    # Without targets, nanoGPT computes the logits of the last position alone.
    if isinstance(found, Tensor) and found.dim() == 3 and found.shape[1] == 1 < tokens.shape[1]:
        found = find_logits(model(tokens, tokens))

    # Anything else must be said.
    if not isinstance(found, Tensor) or found.dim() != 3 or found.shape[:2] != tokens.shape:
        given = list(found.shape) if isinstance(found, Tensor) else type(found).__name__

        # The sentence says what there is, what is wanted, and what to do.
        wanted = f"[{tokens.shape[0]}, {tokens.shape[1]}, n_vocab]"
        raise ValueError(f"the logits are {given}, not {wanted}: say by `predict` how to get them")
    return found


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
        cross_entropy(logits_of(model, inputs), targets).backward()
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
    * `read` is told the text in parts, and reads them one after the other with a cache
    * `shifted` calls the model with all positions larger by a number
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
    predict: Callable[[nn.Module, Tensor], Tensor] = logits_of
    read: Callable[[nn.Module, list[Tensor]], Tensor] | None = None
    shifted: Callable[[nn.Module, Tensor, int], Tensor] | None = None
    loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy
    make_step: Callable[[nn.Module], Callable[[Tensor, Tensor], Any]] = adam_step

    # More than enough for sequences that differ from the first token on.
    n_steps: int = 120

    def rough(self) -> nn.Module:
        r"""
        ### A copy of the model with weights of some size
        """
        # Yours stays as it is, in its precision. Fresh biases may be zero, and a mistake in one
        # would not show.
        model = roughen(copied(self.model)).eval()

        # Some weights are logarithms or rates, and random ones give no numbers. Then yours must do.
        if self.predict(model, self.inputs).isfinite().all():
            return model
        return copied(self.model).eval()


def run_tests(tests: Iterable[Callable[[Whole], str]], whole: Whole) -> dict[str, str]:
    r"""
    ## Run some tests

    From the names of the tests that fail to what is wrong. An error is a failure as well.
    """
    # Every test runs, even after one that fails.
    found = {}
    for test in tests:
        try:
            found[test.__name__] = test(whole)
        # A model that can't be called is told like any other mistake.
        except Exception as error:
            found[test.__name__] = f"{type(error).__name__}: {error}"

    # Tests that pass say nothing.
    return {name: sentence for name, sentence in found.items() if sentence}


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> Tensor:
    r"""
    ## Example

    A table of what follows what.

    ### Exercises

    ??? question "Why does each test take a copy of the model?"
        Tests change weights, and a training step changes them too. Yours should stay as it is.

    ??? question "Your model returns `(loss, logits)`. What do you say?"
        `predict=lambda model, tokens: model(tokens, tokens)[1]`.

    ??? question "Why are weights made larger before a test?"
        With small weights a mistake changes little, and could hide in the rounding.
    """
    # Random text; the targets are its next tokens.
    text = torch.randint(n_vocab, (batch_size, seq_len + 1))
    whole = Whole(nn.Embedding(n_vocab, n_vocab), text[:, :-1], text[:, 1:])

    # One step changes a copy, and the logits of the model stay as they were.
    logits = whole.predict(whole.rough(), whole.inputs)
    whole.make_step(whole.rough())(whole.inputs, whole.targets)
    return cross_entropy(logits, whole.targets)

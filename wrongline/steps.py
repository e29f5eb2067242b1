r"""
---
title: Steps of Somebody's Training
summary: A step is called until an optimizer moves, and all that it moved is put back.
---

A training step is a function that somebody has written. It may add up gradients over eight calls
before an optimizer moves, so steps of the optimizer are counted here, and not calls. It may know an
optimizer that was made before, for this model or, by mistake, for another one. PyTorch tells us
before any optimizer moves: then what it is about to change is remembered.

**In:** [what is tested](whole.py#Whole). **Out:** a block in which steps can be made.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from wrongline.in_place import Memory, borrowed
from wrongline.whole import Whole, adam_step

# Nobody adds up gradients over more calls.
MOST = 64


class Steps:
    r"""
    ## Steps of one model's training
    """

    def __init__(self, whole: Whole, model: nn.Module) -> None:
        r"""
        * `whole` is what is tested, and `model` its model as it is now
        """
        self.batch = (whole.inputs, whole.targets)
        # The plain step, which is ours, knows -100 only. Yours gets the mark that you use.
        if whole.make_step is adam_step:
            self.batch = (whole.inputs, whole.targets.masked_fill(whole.targets < 0, -100))
        self.memory = Memory()
        # How often an optimizer was about to move, and what it was about to use the last time.
        self.moves = 0
        self.foreign = 0
        self.used: dict[str, Tensor] = {}
        # With an optimizer of your own, which PyTorch doesn't know, a call is a step.
        self.calls = MOST
        self.call = whole.make_step(model)
        # An optimizer knows weights, not their names. (A layer may just have been replaced.)
        self.names = {id(weight): name for name, weight in model.named_parameters()}

    def look(self, optimizer: torch.optim.Optimizer, given: tuple, named: dict) -> None:
        r"""
        ### What PyTorch calls before the step of any optimizer

        With the arguments of the step.
        """
        weights = [one for group in optimizer.param_groups for one in group["params"]]
        # What is remembered loses its gradient, and these are about to be used.
        gradients = [one.grad for one in weights]
        self.memory.remember(optimizer)
        for one, gradient in zip(weights, gradients, strict=True):
            one.grad = gradient
        ours = [one for one in weights if id(one) in self.names]
        self.foreign += not ours
        if ours:
            self.moves += 1
        for weight in ours:
            # With a function that computes them, the gradients come later. And a loss may have
            # weights of its own.
            if given[1:] or named:
                continue
            # A weight without a gradient stands still.
            gradient = torch.zeros_like(weight) if weight.grad is None else weight.grad

            # A fused optimizer removes the scale of `float16` in its own kernel.
            scale = getattr(optimizer, "grad_scale", None) or 1.0
            self.used[self.names[id(weight)]] = gradient.detach() / scale

    def step(self) -> None:
        r"""
        ### One step of an optimizer

        As many calls as it takes.
        """
        moves = self.moves
        for _ in range(self.calls):
            # Some write on what they are given.
            self.call(*(one.clone() for one in self.batch))
            if self.moves > moves:
                return
        self.calls = 1


@contextmanager
def steps_of(whole: Whole, model: nn.Module) -> Iterator[Steps]:
    r"""
    ## The block
    """
    with borrowed(model):
        steps = Steps(whole, model)
        # From here on, every optimizer is watched.
        handle = register_optimizer_step_pre_hook(steps.look)
        try:
            yield steps
        # Or all later optimizers of this process would be watched, too.
        finally:
            handle.remove()
            steps.memory.put_back()


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> tuple[int, Tensor, Tensor]:
    r"""
    ## Example

    A step that adds up the gradients of four calls.

    ### Exercises

    ??? question "Why are calls not counted?"
        A training that adds up gradients over eight calls makes one step in eight calls. After 120
        calls it has learned what another one learns in 15.

    ??? question "Its optimizer was made for another model. What is put back?"
        The weights of that model, too: they were remembered before they moved.
    """
    table = nn.Embedding(n_vocab, n_vocab)
    text = torch.randint(n_vocab, (batch_size, seq_len + 1))

    def make_step(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        calls = []

        def step(inputs: Tensor, targets: Tensor) -> None:
            calls.append(1)
            (nn.functional.cross_entropy(model(inputs).mT, targets) / 4).backward()
            if len(calls) % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()

        return step

    whole = Whole(table, text[:, :-1], text[:, 1:], make_step=make_step)
    before = table.weight.detach().clone()
    with steps_of(whole, table) as steps:
        steps.step()
        moved = steps.moves

    # One step was made, with the gradient of the mean, and the table is as it was.
    return moved, steps.used["weight"], table.weight - before

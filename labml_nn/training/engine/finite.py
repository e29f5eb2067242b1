r"""
---
title: A Loss That Isn't Finite
summary: The run stops with the step and its batch, and nothing is saved that can't be used.
---

A learning rate that is too high, a division by zero in a new layer, an overflow: the loss becomes
infinite or *not a number*. One step later the weights are, too, and then they stay so. A program
that doesn't look goes on for hours, and its checkpoints replace the last good ones.

**In:** the losses since the last look. **Out:** nothing, or an [`InputError`](errors.py#InputError)
that names the step and where in the text its windows begin, so that you can look at the very batch.

Reading a loss from a GPU means waiting for it. So the trainer looks only before it records or
saves, not after each step.
"""

import math

import torch

from labml_nn.training.data import RandomWindows
from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.processes import any_rank
from labml_nn.training.engine.trainer import Trainer


def check_finite(trainer: Trainer) -> None:
    r"""
    ## Check losses and weights
    """
    # All losses since the last record in one reading, with the first bad one found afterwards.
    losses = torch.stack(trainer.losses).tolist()
    bad = [index for index, loss in enumerate(losses) if not math.isfinite(loss)]

    # The last loss was computed *before* the last step, so that step may have spoiled the weights.
    # With shards, another rank may hold those weights; all ranks must agree, or one would wait.
    bad_weights = any_rank(not all(bool(w.isfinite().all()) for w in trainer.model.parameters()))
    if not bad and not bad_weights:
        return

    # If all losses are good, the last step it was.
    index = bad[0] if bad else len(losses) - 1

    # The first of these losses belongs to the step after the last record.
    step = trainer.step - len(losses) + index

    # Infinite or not a number: which of the two tells where to look.
    what = f"the loss is {losses[index]}," if bad else "the weights are"

    # A batch depends on the seed and the step alone. So the same draw, from the numbers 0, 1, 2, …
    # in place of the text, tells where its windows begin.
    config = trainer.config
    places = torch.arange(len(trainer.train))
    windows = RandomWindows(places, config.seq_len, config.batch_size, config.seed)
    starts = ", ".join(map(str, windows.at(step)[0][0].tolist()))

    # Steps are counted from 1 for people.
    raise InputError(
        f"{what} not finite in step {step + 1}, whose windows begin at the tokens {starts} of "
        f"the training text; train with a learning rate below {config.learning_rate:g}"
    )

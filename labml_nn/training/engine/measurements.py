r"""
---
title: What a Run Measures
summary: The numbers of a record, over the steps since the last one.
---

A record has four numbers: the mean training loss since the last record, the learning rate, the
speed, and, if it is time for an evaluation, the validation loss. **In:** a
[trainer](trainer.py), which has collected losses. **Out:** named numbers for the
[history](history.py).
"""

import torch

from labml_nn.training.engine.processes import broadcast
from labml_nn.training.engine.trainer import Trainer
from labml_nn.training.loop import evaluate


def interval(trainer: Trainer) -> dict[str, float]:
    r"""
    ## Since the last record
    """
    # All windows of all processes. A token of a resumed run counts once, where it was seen.
    config = trainer.config
    n_tokens = len(trainer.losses) * config.batch_size * config.seq_len

    # The schedule says the rate as a share. The step that was just made has the number before.
    share = trainer.share_of_rate(trainer.step - 1, config.steps)
    values = {
        # From one batch to the next, the loss goes up and down more than training moves it.
        "loss.train": torch.stack(trainer.losses).mean().item(),
        # That of the last step, as it was.
        "learning_rate": config.learning_rate * share,
        "tokens_per_second": n_tokens / trainer.interval,
    }

    # The next interval begins.
    trainer.losses, trainer.interval = [], 0.0
    return values


def validation(trainer: Trainer) -> tuple[float, bool]:
    r"""
    ## The validation loss

    And whether it is lower than ever.
    """
    # Each rank computes it, and two GPUs may differ in the last bit. Then one rank would save a
    # best checkpoint and the other wouldn't, and both would wait. So rank 0 tells it.
    loss = evaluate(trainer.model, trainer.validation, trainer.config.seq_len)
    loss = broadcast(lambda: loss)

    # Compared before it is kept.
    is_best = loss < trainer.best
    trainer.best = min(loss, trainer.best)
    return loss, is_best

r"""
---
title: The Trainer
summary: The state of a run, and what it passes to the training loop.
---

There is one [training loop](../loop.py), and it knows nothing of files, precision or several
processes. A trainer is the state of a run: a model, its optimizers, and how far they have come.
**In:** a model, tokens and settings. **Out:** what the loop takes as arguments:

| argument of the loop | what the trainer has for it |
| --- | --- |
| `model` | `replica`, the model [data parallel, sharded or compiled](placement.py) |
| `batch_at` | `batch_at`, the columns of this rank |
| `optimizers`, `gradients`, `clip` | `mixed`, [for micro-batches and 16 bits](mixed_precision.py) |
| `schedule` | `share_of_rate`, one of two curves |
| `start` | `step`, above 0 for a resumed run |

The [steps](steps.py) of a run connect the two. Whatever the next step depends on is an attribute
here, so that a [checkpoint](checkpoint.py) can keep it.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.optimizers.schedules import cosine, linear
from labml_nn.training.data import RandomWindows
from labml_nn.training.engine.config import TrainConfig
from labml_nn.training.engine.distributed import check_batch, own_columns, seed_rank
from labml_nn.training.engine.mixed_precision import MixedPrecision
from labml_nn.training.engine.placement import decide, place
from labml_nn.training.loop import adamw

Optimizers = list[torch.optim.Optimizer]
MakeOptimizers = Callable[[nn.Module, TrainConfig], Optimizers]

# The names that the setting `schedule` may have.
SCHEDULES = {"cosine": cosine, "linear": linear}


def adamw_for_all(model: nn.Module, config: TrainConfig) -> Optimizers:
    r"""
    ## AdamW for everything

    A [preset](presets.py) may have other optimizers.
    """
    # A list, because other recipes have two.
    return [adamw(model, config.learning_rate, config.weight_decay)]


class Trainer:
    r"""
    ## Trainer
    """

    def __init__(
        self,
        model: nn.Module,
        train: Tensor,
        validation: Tensor,
        config: TrainConfig,
        optimizers: MakeOptimizers = adamw_for_all,
    ) -> None:
        r"""
        * `model` is moved to the device and trained in place
        * `train` and `validation` are the tokens of the two parts of the text
        * `config` says how to train
        * `optimizers` makes the optimizers, when the model is on its device
        """
        # Before anything is decided or moved.
        check_batch(config.batch_size, config.micro_batches)
        self.config, self.device, dtype = decide(config)
        config = self.config

        # A text in memory goes to the GPU at once, because it is small and each step reads it.
        # [Tokens in a file](token_file.py) have less than 64 bits; they stay there.
        self.train = train.to(self.device) if train.dtype == torch.long else train

        # A million tokens at most from a file of tokens, and a tenth of a text, so they are moved
        # whole.
        self.validation = validation.to(self.device, torch.long)

        # The windows of each step follow from the seed; nothing is drawn here.
        self.batches = RandomWindows(self.train, config.seq_len, config.batch_size, config.seed)

        # Optimizers come after the model is placed: they must hold the weights that are trained,
        # and sharding makes new ones.
        self.model, self.replica = place(model, config, self.device)
        self.optimizers = list(optimizers(self.model, config))

        # The loop writes the highest rate beside the current one if it is missing. It must be there
        # before a checkpoint is restored: PyTorch loads into groups only what they have.
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group.setdefault("initial_lr", group["lr"])
        self.mixed = MixedPrecision(
            self.optimizers, self.device, dtype, config.micro_batches, config.clip
        )

        # The model has its weights by now, the same on all ranks.
        seed_rank(config.seed)

        # Steps made, the time they took, and the lowest validation loss so far.
        self.step, self.seconds, self.best = 0, 0.0, math.inf

        # Since the last record: the losses, and their time. A run that is stopped between two
        # records must not lose them, or its history would have another mean.
        self.losses: list[Tensor] = []
        self.interval = 0.0

    def batch_at(self, step: int) -> tuple[Tensor, Tensor]:
        r"""
        ### This rank's part of a batch
        """
        # Cut first and moved then, so that nothing is moved in vain. Targets must be 64-bit
        # numbers.
        inputs, targets = self.batches.at(step)
        return (
            own_columns(inputs).to(self.device, torch.long),
            own_columns(targets).to(self.device, torch.long),
        )

    def share_of_rate(self, step: int, steps: int) -> float:
        r"""
        ### Learning rate of a step

        As a share of the highest rate.
        """
        # A function of the step alone. An object that counts would be one more state to save.
        schedule = SCHEDULES[self.config.schedule]
        return schedule(step, steps, self.config.warmup, self.config.final)


def example(batch_size: int = 3, n_vocab: int = 5, seq_len: int = 7, d_model: int = 11) -> Tensor:
    r"""
    ## Example

    A model that sees one token only, and one batch.

    ### Exercises

    ??? question "Leave `losses` out of a checkpoint. Which number of a resumed run is wrong?"
        The training loss of the first record after it: a mean of fewer steps. The weights are
        right.

    ??? question "Make the optimizers before the model is sharded. What do they step?"
        The whole tensors that the model had before. Its shards would never move.

    ??? question "Three processes, `batch_size` 12, `seq_len` 256. Which shape do the inputs have?"
        `[256, 4]` on each rank: `own_columns` takes a third of the columns.
    """
    # In an alphabet over and over, one token is enough to know the next.
    model = nn.Sequential(nn.Embedding(n_vocab, d_model), nn.Linear(d_model, n_vocab))
    tokens = torch.arange(10 * n_vocab * seq_len) % n_vocab

    # Whatever precision this CPU is good at.
    config = TrainConfig(batch_size=batch_size, seq_len=seq_len, device="cpu")

    # The batch of the first step, whichever step the trainer is at.
    trainer = Trainer(model, tokens, tokens[: 2 * seq_len], config)
    inputs, _ = trainer.batch_at(0)

    # What the loop would call, with what it would pass.
    return trainer.replica(inputs)

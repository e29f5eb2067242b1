r"""
---
title: The Trainer and Its Steps
summary: The state of a run, and the order of what happens between two steps.
---

There is one [training loop](../loop.py), and it knows nothing of files, precision or several
processes. A trainer is the state of a run: a model, its optimizers, and how far they have come.
**In:** a model, tokens and settings. **Out:** the model trained, or trained in part, if somebody
asked to stop.

The trainer has what the loop takes as arguments:

| argument of the loop | what the trainer has for it |
| --- | --- |
| `model` | `replica`, the model [data parallel, sharded or compiled](distributed.py#place) |
| `batch_at` | `batch_at`, the columns of this rank |
| `gradients` | `gradients`, recorded [as a CUDA graph](../fast/cuda_graphs.py) or not |
| `optimizers`, `clip` | `mixed`, [for micro-batches and 16 bits](mixed_precision.py) |
| `schedule` | `share_of_rate`, one of two curves |
| `start` | `step`, above 0 for a resumed run |

The [steps](trainer.py#run_steps) connect the two. What the next step depends on is an attribute of
the trainer, so that a [checkpoint](checkpoint.py) can keep it. One thing isn't: PyTorch has the
random state that dropout draws from.
"""

import math
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.optimizers.schedules import cosine, linear
from labml_nn.training.data import RandomWindows
from labml_nn.training.engine.config import TrainConfig
from labml_nn.training.engine.distributed import check_batch, decide, own_columns, place, seed_rank
from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.mixed_precision import MixedPrecision
from labml_nn.training.engine.processes import any_rank, broadcast
from labml_nn.training.fast.cuda_graphs import NotRecorded, Recorded
from labml_nn.training.loop import adamw, evaluate, train

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
        # before a checkpoint is restored: PyTorch fails to load it into a group that has none.
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group.setdefault("initial_lr", group["lr"])
        self.mixed = MixedPrecision(
            self.optimizers, self.device, dtype, config.micro_batches, config.clip
        )

        # Its gradients, with the kernels of the first batch recorded for all others.
        self.recorded = Recorded(self.mixed.gradients) if config.cuda_graph else None

        # The model has its weights by now, the same on all ranks.
        seed_rank(config.seed)

        # Steps made, the time they took, and the lowest validation loss so far.
        self.step = 0
        self.seconds = 0.0
        self.best = math.inf

        # Since the last record: the losses, and their time. A run that is stopped between two
        # records must not lose them, or its history would have another mean.
        self.losses: list[Tensor] = []
        self.interval = 0.0

    def batch_at(self, step: int) -> tuple[Tensor, Tensor]:
        r"""
        ### This rank's part of a batch
        """
        # Cut first and moved then, so that nothing is moved in vain. A file of tokens has 16 or 32
        # bits for each, which PyTorch's cross entropy doesn't take as targets.
        inputs, targets = self.batches.at(step)
        return (
            own_columns(inputs).to(self.device, torch.long),
            own_columns(targets).to(self.device, torch.long),
        )

    def gradients(self, model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
        r"""
        ### Gradients of a batch

        In micro-batches and in the chosen precision, and if that is set, replayed from a [CUDA
        graph](../fast/cuda_graphs.py). Returns the loss.
        """
        if self.recorded is None:
            return self.mixed.gradients(model, inputs, targets)

        # At the first step it may turn out that a model can't be recorded.
        try:
            return self.recorded(model, inputs, targets)
        except NotRecorded as error:
            raise InputError(f"{error}; train with --no-cuda-graph") from error

    def share_of_rate(self, step: int, steps: int) -> float:
        r"""
        ### Learning rate of a step

        As a share of the highest rate.
        """
        # A function of the step alone. An object that counts would be one more state to save.
        schedule = SCHEDULES[self.config.schedule]
        return schedule(step, steps, self.config.warmup, self.config.final)


def check_finite(trainer: Trainer) -> None:
    r"""
    ## A loss that isn't finite

    A learning rate that is too high, a division by zero in a new layer, an overflow: the loss
    becomes infinite or *not a number*. Usually the weights are, too, one step later, and then they
    stay so. A program that doesn't look may go on for hours, and save such weights.

    So the run stops, with an [`InputError`](errors.py#InputError) that names the step and where in
    the text its windows begin, and you can look at the very batch. Reading a loss from a GPU means
    waiting for it, so the trainer looks only before it records or saves, not after each step.
    """
    # All losses since the last record in one reading, with the first bad one found afterwards.
    losses = torch.stack(trainer.losses).tolist()
    bad = [index for index, loss in enumerate(losses) if not math.isfinite(loss)]

    # The last loss was computed *before* the last step, so that step may have spoiled the weights.
    # With shards, another rank may hold those weights; all ranks must agree, or one would wait.
    bad_weights = any_rank(not all(bool(w.isfinite().all()) for w in trainer.model.parameters()))
    if not bad and not bad_weights:
        return

    # If all losses are good, the last step is the likeliest one.
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


def interval(trainer: Trainer) -> dict[str, float]:
    r"""
    ## What is measured

    A record has the mean training loss since the last record, the learning rate, the speed, and, if
    it is time for an evaluation, the validation loss. This function returns the first three, and a
    new interval begins.
    """
    # All windows of all processes.
    config = trainer.config
    n_tokens = len(trainer.losses) * config.batch_size * config.seq_len

    # The schedule says the rate as a share. The step that was just made has the number before.
    share = trainer.share_of_rate(trainer.step - 1, config.steps)
    values = {
        # A mean, because single batches differ by more than training gains in one step.
        "loss.train": torch.stack(trainer.losses).mean().item(),
        # That of the last step, as it was.
        "learning_rate": config.learning_rate * share,
        "tokens_per_second": n_tokens / trainer.interval,
    }

    # The next interval begins.
    trainer.losses = []
    trainer.interval = 0.0
    return values


def validation(trainer: Trainer) -> tuple[float, bool]:
    r"""
    ### The validation loss

    And whether it is lower than ever.
    """
    # Each rank computes it, and two GPUs may differ in the last bit. One rank could then save a
    # best checkpoint, for which it needs the other, while the other goes on. So rank 0 tells it.
    loss = evaluate(trainer.model, trainer.validation, trainer.config.seq_len)
    loss = broadcast(lambda: loss)

    # Compared before it is kept.
    is_best = loss < trainer.best
    trainer.best = min(loss, trainer.best)
    return loss, is_best


def run_steps(
    trainer: Trainer,
    record: Callable[[int, dict[str, float]], None],
    save: Callable[[bool], None] = lambda is_best: None,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Callable[[], object] = lambda: None,
) -> None:
    r"""
    ## The steps

    The loop calls `after_step` between two steps. What happens then has an order:

    1. *Check.* Is everything finite? Nothing is recorded or saved before.
    2. *Record* what was measured. The history is on the disk before the checkpoint is. A history
       that is too long can be cut; one with a gap can't be mended.
    3. *Save.*
    4. *Stop*, if somebody asked for it. What was done is saved by then.

    The arguments are four functions:

    * `record` is called with a step and named numbers
    * `save` is called at intervals, at the end, before an early end, and, with a true value,
      when the validation loss is lower than ever
    * `should_stop` is asked after each step
    * `progress` is called after each step
    """
    # The clock leaves out evaluating, recording and saving.
    config = trainer.config
    start = time.perf_counter()

    def after_step(step: int, loss: Tensor) -> bool:
        # The loss stays on the GPU, where it may not even be computed yet.
        nonlocal start
        trainer.step = step
        trainer.losses.append(loss)

        # A bar may move at every step; it waits for nothing.
        progress()

        # The last step is always evaluated, so that each run has a final loss. A request to stop
        # comes too late there.
        is_end = step == config.steps

        # If one process is told to stop, all of them stop, after the same step.
        stop = any_rank(not is_end and should_stop())

        # An evaluation is always recorded; a checkpoint may be due at another step.
        evaluating = is_end or step % config.evaluate_every == 0
        recording = evaluating or step % config.record_every == 0
        saving = is_end or stop or step % config.save_every == 0
        if not (recording or saving):
            # Most steps end here.
            return False

        # A GPU may be behind the program. Reading the losses waits for it, so only then is the work
        # done, and the clock tells how long it took.
        check_finite(trainer)
        seconds = time.perf_counter() - start
        trainer.seconds += seconds
        trainer.interval += seconds

        # The numbers of the interval, and after an evaluation its loss.
        is_best = False
        if recording:
            values = interval(trainer)
            if evaluating:
                values["loss.validation"], is_best = validation(trainer)

            # On the disk when it returns.
            record(step, values)

        # The best model is saved when it is there; at the next interval it may be gone.
        if saving or is_best:
            save(is_best)

        # Evaluating, recording and saving don't count as time of training.
        start = time.perf_counter()
        return stop

    # The loop, with all that a long run needs. The trainer passes a part of each batch, and to the
    # loop, all optimizers together look like one.
    train(
        trainer.replica,
        trainer.batch_at,
        [trainer.mixed],
        config.steps,
        # Above 0 for a resumed run. The number of steps is that of the whole run, because the
        # learning rate falls up to its end.
        start=trainer.step,
        schedule=trainer.share_of_rate,
        # In micro-batches, and with the scale removed before clipping.
        gradients=trainer.gradients,
        clip=trainer.mixed.clip,
        # If it returns true, the loop ends.
        after_step=after_step,
    )


def example(batch_size: int = 3, n_vocab: int = 5, seq_len: int = 7, d_model: int = 11) -> Tensor:
    r"""
    ## Example

    A model that sees one token only makes two steps.

    ### Exercises

    ??? question "Leave `losses` out of a checkpoint. What is wrong in a resumed run?"
        The training loss of the first record after it is a mean of fewer steps. Its speed is too
        low: it counts fewer tokens, in the same time. The weights are right.

    ??? question "Make the optimizers before the model is sharded. What do they step?"
        Nothing. They hold the whole tensors that the model had before, which get no gradients any
        more, and its shards never move.

    ??? question "Three processes, `batch_size` 12, `seq_len` 256. Which shape do the inputs have?"
        `[256, 4]` on each rank: `own_columns` takes a third of the columns.

    ??? question "`record_every` is 20 and a run is stopped after step 25. What is recorded?"
        Steps 20, and later, when the run goes on, 40. The five losses are in the checkpoint.

    ??? question "Save first, record then. The process dies in between. What is wrong with the run?"
        The checkpoint is newer than the history, and the resumed run never records that step.

    ??? question "`steps` is 50, `record_every` 20, `evaluate_every` 30. What is recorded?"
        Steps 20, 30, 40 and 50: an evaluation is always recorded, and the last step is evaluated.
    """
    # In an alphabet over and over, one token is enough to know the next.
    model = nn.Sequential(nn.Embedding(n_vocab, d_model), nn.Linear(d_model, n_vocab))
    tokens = torch.arange(10 * n_vocab * seq_len) % n_vocab

    # Whatever precision this CPU is good at.
    config = TrainConfig(steps=2, batch_size=batch_size, seq_len=seq_len, device="cpu")
    trainer = Trainer(model, tokens, tokens[: 2 * seq_len], config)

    # The batch of the first step, whichever step the trainer is at.
    inputs, _ = trainer.batch_at(0)

    # Two steps, one record at the end.
    points = []
    run_steps(trainer, lambda step, values: points.append(step))
    assert points == [2]

    # What the loop has called, with what it has passed.
    return trainer.replica(inputs)

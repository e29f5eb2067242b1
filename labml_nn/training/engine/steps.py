r"""
---
title: The Steps of a Run
summary: What happens between two steps, and in which order, so that a crash at any moment is safe.
---

The [loop](../loop.py) calls `after_step` between two steps. **In:** a [trainer](trainer.py), and
functions that record and save. **Out:** the trainer with all steps made, or with fewer, if it was
asked to stop.

The order matters:

1. *Check.* [Is everything finite?](finite.py) Nothing is recorded or saved before.
2. *Record* what was [measured](measurements.py). The history is on the disk before the checkpoint
   is. A history that is too long can be cut; one with a gap can't be mended.
3. *Save.*
4. *Stop*, if somebody asked for it. So what was done is never lost.
"""

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.training.engine.config import TrainConfig
from labml_nn.training.engine.finite import check_finite
from labml_nn.training.engine.measurements import interval, validation
from labml_nn.training.engine.processes import any_rank
from labml_nn.training.engine.trainer import Trainer
from labml_nn.training.loop import train


def run_steps(
    trainer: Trainer,
    record: Callable[[int, dict[str, float]], None],
    save: Callable[[bool], None] = lambda is_best: None,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Callable[[], object] = lambda: None,
) -> None:
    r"""
    ## Make the steps

    * `record` is called with a step and named numbers
    * `save` is called at intervals, at the end, before an early end, and, with a true value,
      when the validation loss is lower than ever
    * `should_stop` is asked after each step
    * `progress` is called after each step
    """
    # The clock runs over steps only.
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

        # A GPU is far behind the program. Reading the losses waits for it; only now is the work
        # done, and the clock tells how long it took.
        check_finite(trainer)
        seconds = time.perf_counter() - start
        trainer.seconds += seconds
        trainer.interval += seconds

        # Numbers of the interval first: an evaluation is not training.
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
        gradients=trainer.mixed.gradients,
        clip=trainer.mixed.clip,
        # If it returns true, the loop ends.
        after_step=after_step,
    )


def example(batch_size: int = 3, n_vocab: int = 5, seq_len: int = 7) -> dict[str, Tensor]:
    r"""
    ## Example

    A table of pairs learns an alphabet.

    ### Exercises

    ??? question "`record_every` is 20 and a run is stopped after step 25. What is recorded?"
        Steps 20, and later, when the run goes on, 40. The five losses are in the checkpoint.

    ??? question "Save first, record then. The process dies in between. What is wrong with the run?"
        The checkpoint is newer than the history, so the resumed run never records that step.

    ??? question "`steps` is 50, `record_every` 20, `evaluate_every` 30. What is recorded?"
        Steps 20, 30, 40 and 50: an evaluation is always recorded, and the last step is evaluated.
    """
    # In an alphabet, each token has one successor, so the table learns it quickly.
    tokens = torch.arange(10 * n_vocab * seq_len) % n_vocab
    config = TrainConfig(steps=2, batch_size=batch_size, seq_len=seq_len, device="cpu")
    trainer = Trainer(nn.Embedding(n_vocab, n_vocab), tokens, tokens, config)

    # Two steps, one record at the end.
    points = []
    run_steps(trainer, lambda step, values: points.append(step))
    assert points == [2]

    # The weights, by their names.
    return dict(trainer.model.state_dict())

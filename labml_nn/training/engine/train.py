r"""
---
title: Training with Records and Samples
summary: Connects the steps of a run to its history, its checkpoints, a progress bar and Ctrl-C.
---

The [steps](steps.py) of a run call four functions, and know nothing of files,
terminals or signals. This page passes them:

| function | what it does here |
| --- | --- |
| `record` | appends to the [history](history.py) and to [labml](recorder.py), writes a sample |
| `save` | writes a [checkpoint](runs.py#keep) and removes old ones |
| `should_stop` | tells whether [Ctrl-C](stopping.py) was pressed |
| `progress` | moves the [bar](../progress.py) |
"""

import signal
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.history import recording
from labml_nn.training.engine.processes import lost_process_error, rank
from labml_nn.training.engine.recorder import labml_tracker
from labml_nn.training.engine.runs import keep
from labml_nn.training.engine.samples import Writer
from labml_nn.training.engine.steps import run_steps
from labml_nn.training.engine.stopping import interruptible
from labml_nn.training.engine.trainer import Trainer
from labml_nn.training.progress import Progress


def say(text: str) -> None:
    r"""
    ## Print on rank 0

    Otherwise two processes would print everything twice.
    """
    # At once, also into a file: after a crash the last line matters most.
    if not rank():
        print(text, flush=True)


def train(trainer: Trainer, run: Path, about: dict[str, Any], writer: Writer, labml: bool) -> None:
    r"""
    ## Train a run to its end

    * `trainer` may have made some of the steps already
    * `run` is the folder of the run, and `about` [what it is about](plan.py#prepare_run)
    * `writer` writes the samples
    * `labml` says whether to record with labml, too

    A run that is stopped raises `KeyboardInterrupt` when its checkpoint is written.
    """
    # All of these have an end: a file is closed, a bar is left, signals work as before.
    with ExitStack() as stack:
        # In every process, because each gets the signal.
        interrupted = stack.enter_context(interruptible())
        progress, records, steps = Progress(), [], iter(())

        # Only rank 0 has a file and a bar. In the other processes the list stays empty.
        if not rank():
            records.append(stack.enter_context(recording(run, trainer.step)))

            # Beside the history, not in its place: the figure and the table need that one.
            if labml:
                tracker = labml_tracker(run, about["preset"], about["config"])
                records.append(stack.enter_context(tracker))

            # The numbers at the end of the bar, and a line for each evaluation.
            records.append(progress.record)

            # The bar wraps a loop, and the loop is elsewhere. So it wraps a generator, and each
            # step takes one item. Closed, the bar is out of the way of what is printed next.
            steps = (step for step in progress(range(trainer.step, trainer.config.steps)))
            stack.enter_context(closing(steps))

            # Up to the first item, which belongs to the step that comes.
            next(steps)

        def record(step: int, values: dict[str, float]) -> None:
            for one in records:
                # The history comes first: if anything else fails, the numbers are there.
                one(step, values)

            # All ranks compute the sample, because the shards of a model are on all of them.
            if "loss.validation" in values:
                # About one line on a terminal.
                sample = writer.write(60)
                if not rank():
                    progress.write(f"    {sample!r}")

        # Whatever goes wrong in the middle of a run, the user wants to know what is left of it.
        try:
            with lost_process_error():
                run_steps(
                    trainer,
                    record,
                    # With the folder and what the run is about, before `is_best`.
                    partial(keep, run, trainer, about),
                    # Was a signal noted?
                    lambda: interrupted() != 0,
                    # One step further; `None` when there is no bar.
                    lambda: next(steps, None),
                )
        except InputError as error:
            raise InputError(f"{error}; the checkpoints of {run} are kept") from error

        # Another rank may have got the signal. All of them have stopped then, and SIGTERM is what
        # torchrun sends.
        if trainer.step < trainer.config.steps:
            say(f"stopped after step {trainer.step:,}; --resume {run} goes on")

            # Not an error, and still no success: the exit status tells.
            raise KeyboardInterrupt(interrupted() or signal.SIGTERM)

r"""
---
title: Recording a Run
summary: Where losses go, with labml kept in one place and made to behave.
---

What a run measures goes into [its own record](history.py), line by line, and to
[labml](https://github.com/labmlai/labml), which writes “log.jsonl”, a line for some seconds of
training, and tells of the settings and of the end. Nothing is sent anywhere.

labml does more than that when it starts, and this is the only page that knows of it:

* It prints. The way in which it does that in a notebook is gone from IPython 9, so
  there the first print, and with it the run, would fail. Here it is silent.
* It writes a list of all projects into the home directory. Here it doesn't.
* It takes settings from `.labml.yaml` files, and wherever the project is a repository, it keeps
  the address of the remote and all uncommitted changes. Here its project is the folder of
  the runs, which is no repository.

Should labml be missing, or not start, the run's own record is what there is. A missing package
is no reason to lose a run.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from labml_nn.training.files import replacing
from labml_nn.training.history import History, appending, rewind

# Takes a step and named numbers.
Record = Callable[[int, dict[str, float]], None]


@contextmanager
def recording(path: Path, config: dict[str, Any], step: int = 0) -> Iterator[Record]:
    r"""
    ## Record

    * `path` is the folder of the run
    * `config` is its configuration
    * `step` is where it goes on; what was recorded later goes first

    Within the block there is a function that takes a step and numbers; when the block ends,
    everything is on the disk.
    """
    path = path.resolve()
    history = rewind(path, step)
    with ExitStack() as stack:
        append = stack.enter_context(appending(path))
        try:
            pass_on = start_labml(path, config, stack, history)
        # Whatever stops labml, it is not what the reader wanted to know about.
        except Exception as error:
            logging.getLogger(__name__).warning(
                "labml is not used for this run (%s: %s)", type(error).__name__, error
            )
            pass_on = ignore

        def record(step: int, values: dict[str, float]) -> None:
            append(step, values)
            pass_on(step, values)

        yield record


def start_labml(path: Path, config: dict[str, Any], stack: ExitStack, history: History) -> Record:
    r"""
    ## With labml

    `stack` gets what is to be done at the end. The folders are labml's own scheme: name of the
    experiment, name of the run. `history` is what is recorded already.
    """
    import labml.internal.computer.configs
    import labml.internal.logger
    from labml import experiment, lab, tracker

    # A run that was killed has lost what labml had not written yet, or has it twice, and its
    # process stands there still as the one that runs.
    if (path / "run.pid").exists():
        (path / "run.pid").unlink()
        write_log(path, history)
    runs = str(path.parent.parent)
    project = str(path)
    with (
        swapped(labml.internal.logger, SimpleNamespace(log=ignore)),
        swapped(labml.internal.computer.configs, SimpleNamespace(add_project=ignore)),
    ):
        lab.configure({"path": project, "experiments_path": runs})
        experiment.create(
            name=path.parent.name, uuid=path.name, python_file=project, writers={"file"}
        )
        experiment.configs(dict(config))
        watcher = experiment.start()

    # The end is recorded too, completed or crashed. Then its thread has lines left to write.
    stack.callback(finish_writing, path)
    stack.push(watcher)
    return tracker.save


def ignore(*args: object, **kwargs: object) -> None:
    r"""
    ### Do nothing
    """


@contextmanager
def swapped(module: ModuleType, value: object) -> Iterator[None]:
    r"""
    ### Replace one of labml's singletons for a while

    Who uses labml beside this gets back what was there.
    """
    kept = module._internal
    module._internal = value
    try:
        yield
    finally:
        module._internal = kept


def finish_writing(path: Path) -> None:
    r"""
    ### Wait for labml's writer
    """
    for thread in threading.enumerate():
        if getattr(thread, "file_path", None) == path / "log.jsonl":
            thread.join()


def write_log(path: Path, history: History) -> None:
    r"""
    ### What is known so far, as labml writes it
    """
    track: dict[str, list[list[int | list[float]]]] = {}
    for step, values in history:
        for name, value in values.items():
            track.setdefault(name, []).append([step, [value]])
    with replacing(path / "log.jsonl") as temporary:
        line = json.dumps({"track": track, "time": time.time()})
        temporary.write_text(line + "\n", encoding="utf-8")

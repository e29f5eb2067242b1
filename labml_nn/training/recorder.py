r"""
---
title: Recording a Run
summary: Where losses go, with labml kept in one place and made to behave.
---

A run is a folder, `runs/NAME/TIME`, with the settings, the numbers and the last
checkpoint. The numbers are kept by [labml](https://github.com/labmlai/labml), one line of
JSON for some seconds of training. Nothing is sent anywhere.

labml does more than that when it starts, and this is the only page that knows of it:

* It prints. The way in which it does that in a notebook is gone from IPython 9, so
  there the first print, and with it the run, would fail. Here it is silent.
* It writes a list of all projects into the home directory. Here it doesn't.
* It takes settings from `.labml.yaml` files, and wherever the project is a repository, it keeps
  the address of the remote and all uncommitted changes. Here its project is the folder of
  the runs, which is no repository.

Should labml be missing, or not start, the same lines are written without it. A record is
no reason to lose a run.
"""

import json
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from labml_nn.training.files import writing

# Takes a step and named numbers.
Record = Callable[[int, dict[str, float]], None]


def new_run(runs: Path, name: str) -> Path:
    r"""
    ## A folder for a run

    Its name is the time and a few random letters, so no run ever overwrites another. If it
    can't be made, an `InputError` says so before any time is spent on training.
    """
    path = runs.resolve() / name / f"{time.strftime('%Y-%m-%d_%H-%M-%S')}_{secrets.token_hex(2)}"
    with writing(path):
        path.mkdir(parents=True)
    return path


@contextmanager
def recording(path: Path, config: dict[str, Any]) -> Iterator[Record]:
    r"""
    ## Record

    `path` is the folder of the run. Within the block there is a function that takes a step and
    numbers; when the block ends, everything is on the disk.
    """
    with ExitStack() as stack:
        try:
            save = start_labml(path, config, stack)
        # Whatever stops labml, it is not what the reader wanted to know about.
        except Exception as error:
            logging.getLogger(__name__).warning(
                "labml is not used for this run (%s: %s)", type(error).__name__, error
            )
            with writing(path):
                save = start_plain(path, config, stack)

        def record(step: int, values: dict[str, float]) -> None:
            with writing(path):
                save(step, values)

        yield record


def start_labml(path: Path, config: dict[str, Any], stack: ExitStack) -> Record:
    r"""
    ## With labml

    `stack` gets what is to be done at the end. The folders are labml's own scheme: name of the
    experiment, name of the run.
    """
    import labml.internal.computer.configs
    import labml.internal.logger
    from labml import experiment, lab, tracker

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


def start_plain(path: Path, config: dict[str, Any], stack: ExitStack) -> Record:
    r"""
    ## Without labml

    The lines look the same, so that who reads them need not know.
    """
    (path / "configs.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    log = stack.enter_context((path / "log.jsonl").open("w", encoding="utf-8"))

    def save(step: int, values: dict[str, float]) -> None:
        track = {name: [[step, [value]]] for name, value in values.items()}
        log.write(json.dumps({"track": track, "time": time.time()}) + "\n")
        log.flush()

    return save

r"""
---
title: Recording with labml
summary: Passes what a run records on to labml's tracker, if you ask for it.
---

With `--labml` a run goes to [labml](https://github.com/labmlai/labml) as well, beside [its own
history](history.py). **In:** the folder of a run, and its settings. **Out:** a function that takes
a step and named numbers, as the one of the history does.

labml's files are in the folder “labml” of the run, one more subfolder each time that the run is
resumed. labml prints a few lines when it starts, and keeps a list of all projects in “.labml” in
your home folder. Nothing is sent anywhere.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labml_nn.training.engine.errors import InputError


@contextmanager
def labml_tracker(
    run: Path, name: str, config: dict[str, Any]
) -> Iterator[Callable[[int, dict[str, float]], None]]:
    r"""
    ## A run of labml

    * `run` is the folder of the run
    * `name` is the name of the experiment
    * `config` are its settings
    """
    # Nothing else needs labml, so it may be missing.
    try:
        from labml import experiment, lab, tracker
    except ImportError:
        # The option asks for it, so training without it would be a surprise.
        raise InputError("--labml needs the package labml: python -m pip install labml") from None

    # Without this, labml looks for settings and for a repository in the folders above, and may find
    # those of another project.
    lab.configure({"path": str(run), "experiments_path": str(run / "labml")})

    # `file` is the only writer: the terminal already has a bar.
    experiment.create(name=name, python_file=str(run), writers={"file"})
    experiment.configs(dict(config))

    # The experiment ends with the block.
    with experiment.start():
        # It takes a step and named numbers, as ours does.
        yield tracker.save

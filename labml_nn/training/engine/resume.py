r"""
---
title: Resuming a Run as What It Was
summary: A run brings its settings, and whatever contradicts them is refused by name.
---

```sh
python -m labml_nn.training.engine --resume runs/modern/2026-11-21_12-00-00_1f0c
```

A resumed run must go on with the settings, the preset and the text that it began with. Otherwise
the first half of its curve belongs to one experiment and the second half to another, and no number
tells. So “run.json” in the [folder of the run](runs.py) says what the run is *about*, and this page
compares.

**In:** what a run is about, and what the options or a checkpoint say. **Out:** the settings to go
on with, or an [`InputError`](errors.py#InputError) that names the first difference.
"""

import json
from pathlib import Path
from typing import Any

from labml_nn.training.engine.config import option_name
from labml_nn.training.engine.errors import InputError

# How a model is laid out over processes changes no result but for rounding, so it may be another
# one than before.
MAY_CHANGE = {"sharded"}


def read_about(run: Path) -> dict[str, Any]:
    r"""
    ## What a run is about

    A folder that isn't that of a run is an `InputError`.
    """
    # The usual mistake is a folder above or below that of the run. Then there is no such file.
    path = run / "run.json"
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    # No such file, a file where the folder should be, or no permission.
    except OSError as error:
        raise InputError(
            f"{run} is not the folder of a run: cannot read {path}: {error.strerror}"
        ) from error
    # Both JSON and UTF-8 can be invalid, and both errors are of this class.
    except ValueError as error:
        # It is written once, in one step, so this is a damage of the disk or of an editor.
        raise InputError(f"{path} is damaged") from error

    # Other programs write files of this name, too.
    if not isinstance(about, dict) or not {"preset", "config", "text", "symbols"} <= set(about):
        raise InputError(f"{path} is not that of a run")
    return about


def resumed_config(
    run: Path, about: dict[str, Any], preset: str, names: set[str], given: dict[str, Any]
) -> dict[str, Any]:
    r"""
    ## The settings of a resumed run

    * `run` is its folder, and `about` what it says
    * `preset` is the preset that is asked for, and `names` are all settings that it has
    * `given` are the settings that options name
    """
    # The preset decides which settings there are, so it comes first.
    config = about["config"]
    if about["preset"] != preset:
        raise InputError(f"{run} is a run of the preset {about['preset']}")

    # A setting that is new, or gone, would have to be guessed.
    if unknown := set(config) ^ names:
        raise InputError(
            f"{run} is a run of another version of this program, which differs in "
            f"{', '.join(sorted(unknown))}"
        )

    # You may say the same once more. `auto` was decided when the run began, so it says nothing.
    for name, value in given.items():
        if name not in MAY_CHANGE and value not in ("auto", config[name]):
            raise InputError(
                f"{run} has {name}={config[name]}, not {value}: leave out {option_name(name)}, or "
                "start a new run"
            )

    # What may be another one is taken from the options.
    return config | {name: given[name] for name in MAY_CHANGE & given.keys()}


def compare_about(path: Path, there: dict[str, Any], here: dict[str, Any]) -> None:
    r"""
    ## Is a checkpoint of this run?

    * `there` is what the checkpoint at `path` is about, `here` what the run is about
    """
    # Someone may have copied a checkpoint into the folder, or edited “run.json”. Weights of the
    # right shape would load all the same.
    # A file that is no checkpoint of a run may have no settings at all.
    old, new = there.get("config", {}), here["config"]

    # A setting that only one of them has is a difference, too.
    for name in old | new:
        if name not in MAY_CHANGE and old.get(name) != new.get(name):
            raise InputError(
                f"{path} is of another configuration: {name} is {old.get(name)} there and "
                f"{new.get(name)} here"
            )

    # With other symbols, token 5 would be another letter.
    for name, what in (("preset", "preset"), ("text_checksum", "text"), ("symbols", "text")):
        if there.get(name) != here.get(name):
            # Which of the symbols differ helps nobody.
            raise InputError(f"{path} is of another {what}")

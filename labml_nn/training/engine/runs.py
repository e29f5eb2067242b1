r"""
---
title: The Folder of a Run
summary: What a run is about, its checkpoints, and how the newest good one is found.
---

A run is one folder with everything about it:

* “run.json”: the preset, its configuration, and which text it learns from
* “checkpoints”: the newest two, and the one with the lowest validation loss
* “history.jsonl”: [what was measured](history.py)
* “result.json” and “losses.svg”, when it is done

This folder is all that `--resume` needs. The text is looked up where it was, and must be the same
to the last character.
"""

import json
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from labml_nn.training.engine.checkpoint import load_checkpoint, save_checkpoint
from labml_nn.training.engine.distributed import rank
from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.files import replacing, writing
from labml_nn.training.engine.trainer import Trainer

# A run may be resumed with another number of processes, sharded or not.
MAY_CHANGE = {"sharded"}

# How many of the newest checkpoints are kept. With two, one may be damaged.
KEPT = 2


def new_run(runs: Path, preset: str) -> Path:
    r"""
    ## A folder for a run

    Its name is the time and a few random letters, so no run overwrites another. If it can't be
    made, an `InputError` says so before any time is spent on training.
    """
    folder = runs.resolve() / preset
    while True:
        path = folder / f"{time.strftime('%Y-%m-%d_%H-%M-%S')}_{secrets.token_hex(2)}"
        with writing(path):
            folder.mkdir(parents=True, exist_ok=True)

            # Two runs that start in the same second may draw the same letters.
            with suppress(FileExistsError):
                path.mkdir()
                return path


def read_about(run: Path) -> dict[str, Any]:
    r"""
    ## What a run is about

    A folder that isn't that of a run is an `InputError`.
    """
    path = run / "run.json"
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{run} is not the folder of a run: cannot read {path}: {error.strerror}"
        ) from error
    except ValueError as error:
        raise InputError(f"{path} is damaged") from error
    if not isinstance(about, dict) or not {"preset", "config", "text", "symbols"} <= set(about):
        raise InputError(f"{path} is not that of a run")
    return about


def keep(run: Path, trainer: Trainer, about: dict[str, Any], is_best: bool) -> None:
    r"""
    ## Save a checkpoint, remove old ones

    With `is_best`, the validation loss is lower than ever. A copy of the checkpoint then stays
    until a better one comes.
    """
    folder = run / "checkpoints"
    path = save_checkpoint(folder, trainer, about)
    if rank():
        return
    kept = {path}
    if is_best:
        best = folder / path.name.replace("step-", "best-")
        kept.add(best)
        with replacing(best) as temporary:
            temporary.write_bytes(path.read_bytes())
    else:
        kept.update(folder.glob("best-*.pt"))

    # Checkpoints of later steps are of a future that this run has gone back from. Files with a
    # dot were being written when a process was killed.
    older = [one for one in newest_first(folder) if step_of(one) < trainer.step]
    kept.update(older[: KEPT - 1])
    with writing(folder):
        for one in [*folder.glob("*.pt"), *folder.glob(".*")]:
            if one not in kept:
                one.unlink()


def step_of(path: Path) -> int:
    r"""
    ### The step of a checkpoint
    """
    return int(path.name.split("-")[1])


def newest_first(folder: Path) -> list[Path]:
    r"""
    ### All checkpoints but the best one
    """
    return sorted(folder.glob("step-*.pt"), key=step_of, reverse=True)


def newest_good(run: Path, about: dict[str, Any]) -> tuple[dict[str, Any], Path, list[str]] | None:
    r"""
    ## The newest good checkpoint

    Its state, its path, and a sentence for each newer one that is damaged or of another run than
    `about` says. A run that was killed before its first checkpoint has none, and starts again. If
    there are checkpoints and none is good, that is an `InputError`.
    """
    folder = run / "checkpoints"
    refused: list[str] = []
    for path in [*newest_first(folder), *folder.glob("best-*.pt")]:
        try:
            state = load_checkpoint(path)
            compare_about(path, state["about"], about)
        except InputError as error:
            refused.append(str(error))
        else:
            return state, path, refused
    if refused:
        raise InputError(f"{run} has no good checkpoint: {'; '.join(refused)}")
    return None


def compare_about(path: Path, there: dict[str, Any], here: dict[str, Any]) -> None:
    r"""
    ### Is a checkpoint of this run?

    The first difference between two configurations, or another text, is an `InputError`.
    """
    old, new = there.get("config", {}), here["config"]
    for name in old | new:
        if name not in MAY_CHANGE and old.get(name) != new.get(name):
            raise InputError(
                f"{path} is of another configuration: {name} is {old.get(name)} there and "
                f"{new.get(name)} here"
            )
    for name, what in (("preset", "preset"), ("text_checksum", "text"), ("symbols", "text")):
        if there.get(name) != here.get(name):
            raise InputError(f"{path} is of another {what}")

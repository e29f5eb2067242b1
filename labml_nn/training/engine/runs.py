r"""
---
title: The Folder of a Run
summary: Which checkpoints are kept, and how the newest good one is found.
---

A run is one folder with everything about it:

* “run.json”: [what it is about](resume.py), the preset, its configuration, and which text
* “checkpoints”: the newest two, and the one with the lowest validation loss
* “history.jsonl”: [what was measured](history.py)
* “result.json” and “losses.svg”, when it is done

This folder is all that `--resume` needs. The text is looked up where it was, and must be the same
to the last character.

A long run writes hundreds of checkpoints, and each is three times as large as the model: the
weights, and two numbers of [AdamW](../../optimizers/adamw.py) for each weight. So most of them go.
"""

import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from labml_nn.training.engine.checkpoint import save_checkpoint
from labml_nn.training.engine.checkpoint_file import load_checkpoint
from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.files import replacing, writing
from labml_nn.training.engine.processes import rank
from labml_nn.training.engine.resume import compare_about
from labml_nn.training.engine.trainer import Trainer

# How many of the newest checkpoints are kept. With two, one may be damaged.
KEPT = 2


def new_run(runs: Path, preset: str) -> Path:
    r"""
    ## A folder for a run

    If it can't be made, an `InputError` says so before any time is spent on training.
    """
    # The time sorts the runs. A few random letters keep runs of the same second apart: a script may
    # start ten seeds at once.
    folder = runs.resolve() / preset
    while True:
        path = folder / f"{time.strftime('%Y-%m-%d_%H-%M-%S')}_{secrets.token_hex(2)}"
        with writing(path):
            folder.mkdir(parents=True, exist_ok=True)

            # `mkdir` fails if the folder is there. If two runs draw the same letters, one of them
            # gets the folder, and the other draws again.
            with suppress(FileExistsError):
                path.mkdir()
                return path


def keep(run: Path, trainer: Trainer, about: dict[str, Any], is_best: bool) -> None:
    r"""
    ## Save a checkpoint, remove old ones

    With `is_best`, the validation loss is lower than ever. A copy of the checkpoint then stays
    until a better one comes.
    """
    # Every rank takes part in collecting the weights; only rank 0 has them then.
    folder = run / "checkpoints"
    path = save_checkpoint(folder, trainer, about)

    # The others have given their shards, and are done.
    if rank():
        return

    # A copy, because the original will soon be one of the older ones.
    kept = {path}
    if is_best:
        # With a name of its own, it isn't counted among the newest.
        best = folder / path.name.replace("step-", "best-")
        kept.add(best)
        with replacing(best) as temporary:
            temporary.write_bytes(path.read_bytes())
    else:
        # The best one so far stays.
        kept.update(folder.glob("best-*.pt"))

    # Checkpoints of later steps are of a future that this run has gone back from.
    older = [one for one in newest_first(folder) if step_of(one) < trainer.step]
    kept.update(older[: KEPT - 1])

    # The new checkpoint is complete before an old one goes. Files with a dot were being written
    # when a process was killed.
    with writing(folder):
        for one in [*folder.glob("*.pt"), *folder.glob(".*")]:
            if one not in kept:
                one.unlink()


def step_of(path: Path) -> int:
    r"""
    ### The step of a checkpoint
    """
    # From names such as “step-000500-1f0c….pt”.
    return int(path.name.split("-")[1])


def newest_first(folder: Path) -> list[Path]:
    r"""
    ### All checkpoints but the best one
    """
    # By the number of the step, not by the time of the file, which a copy changes.
    return sorted(folder.glob("step-*.pt"), key=step_of, reverse=True)


def newest_good(run: Path, about: dict[str, Any]) -> tuple[dict[str, Any], Path, list[str]] | None:
    r"""
    ## The newest good checkpoint

    Its state, its path, and a sentence for each newer one that is damaged or of another run than
    `about` says. If there are checkpoints and none is good, that is an `InputError`.
    """
    # The best one is the last resort: it may be thousands of steps old.
    folder = run / "checkpoints"
    refused: list[str] = []
    for path in [*newest_first(folder), *folder.glob("best-*.pt")]:
        # A damaged checkpoint costs a few steps. It should not cost the run.
        try:
            # The checksum finds damage, and the comparison another run.
            state = load_checkpoint(path)
            compare_about(path, state["about"], about)
        except InputError as error:
            refused.append(str(error))
        else:
            # The newest good one is enough; older ones aren't read.
            return state, path, refused

    # Beginning again would overwrite what might still be rescued by hand.
    if refused:
        raise InputError(f"{run} has no good checkpoint: {'; '.join(refused)}")

    # Killed before its first checkpoint.
    return None

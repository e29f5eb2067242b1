r"""
---
title: The Folder of a Run
summary: What a run is about, its checkpoints, and the way back to the newest good one.
---

A run is one folder, and everything about it is in there:

* “run.json”: the experiment, its configuration, and which text it learned from
* “checkpoints/”: the newest two, and the one with the lowest validation loss
* “history.jsonl”: [what was measured](history.py)
* “result.json”, when it is done

To go on, a run needs to be told nothing but this folder. Its text is looked up where it was, and
must be the same still, to the last character.
"""

import hashlib
import json
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from labml_nn.training.checkpoint import load_checkpoint, save_checkpoint
from labml_nn.training.data import InputError
from labml_nn.training.distributed import is_first
from labml_nn.training.files import replacing, writing
from labml_nn.training.loop import Trainer

# A run may go on in another number of processes, with shards or without.
MAY_CHANGE = {"sharded"}

# How many of the newest checkpoints stay. With two, one may be damaged.
KEPT = 2


def new_run(runs: Path, name: str) -> Path:
    r"""
    ## A folder for a run

    Its name is the time and a few random letters, so no run ever overwrites another. If it
    can't be made, an `InputError` says so before any time is spent on training.
    """
    folder = runs.resolve() / name
    while True:
        path = folder / f"{time.strftime('%Y-%m-%d_%H-%M-%S')}_{secrets.token_hex(2)}"
        with writing(path):
            folder.mkdir(parents=True, exist_ok=True)

            # Of many runs that begin in one second, two may draw the same letters.
            with suppress(FileExistsError):
                path.mkdir()
                return path


def text_checksum(text: str) -> str:
    r"""
    ### A fingerprint of a text
    """
    return hashlib.sha256(text.encode()).hexdigest()


def write_json(path: Path, document: dict[str, Any]) -> None:
    r"""
    ### A small file that is never half written
    """
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def read_about(run: Path) -> dict[str, Any]:
    r"""
    ## What a run is about

    A folder that is none of a run is an `InputError`.
    """
    try:
        about = json.loads((run / "run.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{run} is not the folder of a run: cannot read {run / 'run.json'}: {error.strerror}"
        ) from error
    except ValueError as error:
        raise InputError(f"{run / 'run.json'} is damaged") from error
    if not isinstance(about, dict) or not {"experiment", "config", "text", "symbols"} <= set(about):
        raise InputError(f"{run / 'run.json'} is not that of a run")
    return about


def keep(run: Path, trainer: Trainer, about: dict[str, Any], best: bool) -> None:
    r"""
    ## Save, and clear away

    `best` says that the validation loss is lower than ever. Then there is a second text,
    “best.json”, beside the same tensors, which stays until a better one comes.
    """
    folder = run / "checkpoints"
    path = folder / f"step-{trainer.step:06}.json"
    save_checkpoint(path, trainer, about)
    if not is_first():
        return
    if best:
        with replacing(folder / "best.json") as temporary:
            temporary.write_bytes(path.read_bytes())

    # First the texts, those of a future that this run has gone back from too. Then the tensors
    # that no text names any more, and what a process that was killed left behind.
    with writing(folder):
        past = [one for one in checkpoints_of(folder) if step_of(one) <= trainer.step]
        for text in set(checkpoints_of(folder)) - set(past[:KEPT]):
            text.unlink()
        named = [one.read_text(encoding="utf-8") for one in folder.glob("[!.]*.json")]
        for beside in [*folder.glob("*.safetensors"), *folder.glob(".*")]:
            if not any(beside.name in text for text in named):
                beside.unlink()


def step_of(path: Path) -> int:
    r"""
    ### The step in a name
    """
    return int(path.stem.removeprefix("step-"))


def checkpoints_of(folder: Path) -> list[Path]:
    r"""
    ### All but the best, the newest first
    """
    return sorted(folder.glob("step-*[0-9].json"), key=step_of, reverse=True)


def newest_good(run: Path, about: dict[str, Any]) -> tuple[dict[str, Any], Path, list[str]] | None:
    r"""
    ## The newest good checkpoint

    Its state, where it was, and a sentence for each newer one that is damaged or of another
    run than `about` says. A run that was killed before its first checkpoint has none, and starts
    again. If there are some and none is good, that is an `InputError`.
    """
    folder = run / "checkpoints"
    wrong: list[str] = []
    for path in [*checkpoints_of(folder), *folder.glob("best.json")]:
        try:
            state = load_checkpoint(path)
            compare_about(path, state["about"], about)
        except InputError as error:
            wrong.append(str(error))
        else:
            return state, path, wrong
    if wrong:
        raise InputError(f"{run} has no good checkpoint: {'; '.join(wrong)}")
    return None


def compare_about(path: Path, there: dict[str, Any], here: dict[str, Any]) -> None:
    r"""
    ### Is it of this run?

    The first difference between two configurations, or texts, is an `InputError`.
    """
    old, new = there.get("config", {}), here["config"]
    for name in old | new:
        if name not in MAY_CHANGE and old.get(name) != new.get(name):
            raise InputError(
                f"{path} is of another configuration: {name} is {old.get(name)} there and "
                f"{new.get(name)} here"
            )
    for name, what in (
        ("experiment", "experiment"),
        ("text_checksum", "text"),
        ("symbols", "text"),
    ):
        if there.get(name) != here.get(name):
            raise InputError(f"{path} is of another {what}")

r"""
---
title: The Folder of a Run
summary: What a run is about, which checkpoints are kept, and how it goes on as what it was.
---

```sh
python -m labml_nn.training.engine --resume runs/modern/2026-11-21_12-00-00_1f0c
```

A run is one folder with everything about it:

* “run.json”: what it is *about*, the preset, its configuration, and which text
* “checkpoints”: the newest two, and the one with the lowest validation loss
* “history.jsonl”: [what was measured](records.py)
* “result.json” and “losses.svg”, when it is done
* “tokenizer.json” with byte pairs, and the folder “labml” with `--labml`

Besides this folder, `--resume` needs the text. It is looked up where it was, and must be the same
to the last character. A resumed run must go on with the settings, the preset and the text that it
began with. Otherwise the first half of its curve belongs to one experiment and the second half to
another, and no number tells. So whatever contradicts “run.json” is an
[`InputError`](errors.py#InputError) that names the first difference.
"""

import json
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from labml_nn.training.engine.checkpoint import load_checkpoint, save_checkpoint
from labml_nn.training.engine.config import option_name
from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.files import replacing, writing
from labml_nn.training.engine.processes import rank
from labml_nn.training.engine.trainer import Trainer

# How many of the newest checkpoints are kept. With two, one may be damaged.
KEPT = 2

# How a model is laid out over processes, and who starts its kernels, changes no result but for
# rounding. So both may be other than before.
MAY_CHANGE = {"sharded", "cuda_graph"}


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
    ### The settings of a resumed run

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

    # You may say the same once more. `auto` leaves a choice open, so it contradicts nothing.
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
    ### Is a checkpoint of this run?

    * `there` is what the checkpoint at `path` is about, `here` what the run is about
    """
    # Someone may have copied a checkpoint into the folder, or edited “run.json”. Weights of the
    # right shape would load all the same.
    # A file that is no checkpoint of a run may have no settings at all.
    old = there.get("config", {})
    new = here["config"]

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


def keep(run: Path, trainer: Trainer, about: dict[str, Any], is_best: bool) -> None:
    r"""
    ## Save a checkpoint, remove old ones

    A long run writes hundreds of checkpoints, and each is three times as large as the model: the
    weights, and two numbers of [AdamW](../../optimizers/adamw.py) for each weight. So most of them
    go.

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

r"""
---
title: Records of Runs
summary: One line for each recorded step, the curves of a run, and runs side by side.
---

```sh
python -m labml_nn.training.engine.records runs/*/* --figure curves.svg
```

What a run measures goes to “history.jsonl” in its folder, one line of JSON for a step, written at
once, so that you can look at a run while it trains:

```
{"step": 20, "loss.train": 3.21, "learning_rate": 0.0006, "tokens_per_second": 9100}
```

**In:** steps and named numbers. **Out:** the history of the run, its curves in a figure, and, from
the histories of any number of runs, a table of what they differ in and what came of it.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labml_nn.training.engine.errors import InputError, Parser, one_sentence
from labml_nn.training.engine.files import replacing, writing
from labml_nn.training.engine.runs import read_about
from labml_nn.training.figures import draw_losses

# Steps, each with its named numbers.
History = list[tuple[int, dict[str, float]]]

HISTORY_FILE = "history.jsonl"

# Names, texts below them.
Row = dict[str, str]


def read_history(run: Path) -> History:
    r"""
    ## The history of a run

    This works while the run is training, too.
    """
    # After the last line break there is nothing, or half a line that is being written. Neither
    # counts.
    path = run / HISTORY_FILE

    # A new run has no file.
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []

    # Each line is a document of its own, so a file that is still growing can be read.
    points = [json.loads(line) for line in lines]

    # The step is the key, the rest are values.
    return [(point.pop("step"), point) for point in points]


@contextmanager
def recording(run: Path, step: int = 0) -> Iterator[Callable[[int, dict[str, float]], None]]:
    r"""
    ### Record

    Gives a function that takes a step and named numbers. `step` is where the run goes on.
    """
    # First the file loses the lines after `step`. Then new lines are appended.
    rewind(run, step)
    path = run / HISTORY_FILE
    with writing(path):
        file = path.open("a", encoding="utf-8")

    def record(step: int, values: dict[str, float]) -> None:
        # On the disk when the function returns. Otherwise a checkpoint could be newer than the
        # history, and the steps between the two would be missing.
        with writing(path):
            file.write(json.dumps({"step": step} | values) + "\n")
            file.flush()
            os.fsync(file.fileno())

    # Also when training fails.
    try:
        yield record
    finally:
        file.close()


def rewind(run: Path, step: int) -> None:
    r"""
    ### Go back to a step

    A run that was killed may have written lines *after* its last checkpoint, and the last line may
    be cut off. When the run goes on from the checkpoint, it makes these steps again. So everything
    that was recorded after `step` is removed first, and the file is that of a run that was never
    interrupted.
    """
    # A new file takes the place of the old one. Cutting the old one would be dangerous: killed in
    # the middle, it could have lost too much.
    points = [{"step": at} | values for at, values in read_history(run) if at <= step]
    with replacing(run / HISTORY_FILE) as temporary:
        lines = [json.dumps(point) + "\n" for point in points]
        temporary.write_text("".join(lines), encoding="utf-8")


@contextmanager
def labml_tracker(
    run: Path, name: str, config: dict[str, Any]
) -> Iterator[Callable[[int, dict[str, float]], None]]:
    r"""
    ## Recording with labml

    With `--labml` a run goes to [labml](https://github.com/labmlai/labml) as well, beside its own
    history. This gives a function that takes a step and named numbers, as `recording` does.

    * `run` is the folder of the run
    * `name` is the name of the experiment
    * `config` are its settings

    labml's files are in the folder “labml” of the run, one more subfolder each time that the run is
    resumed. labml prints a few lines when it starts, and keeps a list of all projects in “.labml”
    in your home folder. Nothing is sent anywhere.
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


def draw(path: Path, history: History) -> None:
    r"""
    ## The curves of a run

    A history becomes a figure in a file whose name tells its format, such as “losses.svg” in the
    folder of the run.
    """
    # `Figure` itself, and not `pyplot`, which looks for a screen and keeps each figure.
    try:
        from matplotlib.figure import Figure
    except ImportError:
        # Training itself doesn't need it; a run without it fails only here, with its result saved.
        raise InputError("a figure needs matplotlib: python -m pip install matplotlib") from None

    # As large as a page is wide.
    figure = Figure(figsize=(8, 5), layout="constrained")

    # The function of the lesson, so that all curves on this site look the same.
    draw_losses(figure.subplots(), history)

    # What matplotlib says about an unknown format is a good sentence.
    with writing(path):
        try:
            # “.svg”, “.png” or “.pdf”: the name says which.
            figure.savefig(path)
        except ValueError as error:
            raise InputError(f"cannot draw {path}: {error}") from error


def validation_losses(curves: dict[str, History]) -> History:
    r"""
    ### The curves of several runs

    The validation losses of all runs in one history, each under the name of its run. So they are
    drawn in the same way.
    """
    # [The figure](../figures.py#draw_losses) makes a line of each name that begins with `loss.`.
    # Training losses stay away: of five runs, ten curves would hide each other.
    return [
        (step, {f"loss.{name}": values["loss.validation"]})
        # Steps may be in any order: each name is drawn on its own.
        for name, history in curves.items()
        for step, values in history
        if "loss.validation" in values
    ]


@one_sentence
def main(argv: Sequence[str] | None = None) -> int:
    r"""
    ## Runs side by side

    You have trained ten runs and want to know which setting was worth it. This prints a table with
    a line for each run, also for those that are still training, and a column for each setting in
    which the runs differ.
    """
    parser = Parser(
        prog="python -m labml_nn.training.engine.records", description="Compare runs in a table."
    )

    # The shell makes a list of folders from “runs/*/*”.
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="the folder of a run")
    parser.add_argument(
        "--figure", type=Path, metavar="FILE", help="draw the validation losses, as SVG, PNG or PDF"
    )
    arguments = parser.parse_args(argv)

    # Absolute, because “.” has no name.
    runs = [run.resolve() for run in arguments.runs]
    settings = differences([read_about(run)["config"] for run in runs])

    # A column for each setting that differs; what is the same in all runs says nothing.
    print(table([row_of(run, settings) for run in runs]))

    # The table comes first: it needs no other package.
    if arguments.figure is not None:
        draw(arguments.figure, validation_losses({run.name: read_history(run) for run in runs}))
    return 0


def differences(configs: list[dict[str, Any]]) -> list[str]:
    r"""
    ### Settings that differ

    A setting that one run has and another doesn't have counts, too.
    """
    # A dictionary keeps the order of the settings, and a set wouldn't.
    names = list({name: None for config in configs for name in config})

    # `repr`, because 1, 1.0 and True are equal in Python.
    return [name for name in names if len({repr(config.get(name)) for config in configs}) > 1]


def row_of(run: Path, settings: list[str]) -> Row:
    r"""
    ### A line of the table
    """
    # A run that is still training has no result yet.
    about = read_about(run)
    history = read_history(run)
    path = run / "result.json"
    result = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    # Of the speeds, the median: the first interval of a compiled model takes a minute.
    losses = [values["loss.validation"] for _, values in history if "loss.validation" in values]
    speeds = sorted(values["tokens_per_second"] for _, values in history)
    return {
        # Time and letters; the folder above has the name of the preset.
        "run": run.name,
        # Runs of two presets have different settings; a missing one stays empty.
        "preset": about["preset"],
        # In the order in which a configuration has them.
        **{name: str(about["config"].get(name, "")) for name in settings},
        # What the result says is known at the end only.
        "parameters": shown(result.get("parameters"), ",d"),
        # How far it has come. Without an evaluation, a run has steps and no loss.
        "step": shown(history[-1][0] if history else 0, ",d"),
        "loss": shown(losses[-1] if losses else None, ".4f"),
        # If it is far below the last one, the run was too long or the model too large.
        "lowest": shown(min(losses, default=None), ".4f"),
        # [A loss that isn't](../leaks.py) should catch the eye.
        "honest": {True: "yes", False: "NO", None: ""}[result.get("honest")],
        "tokens/s": shown(speeds[len(speeds) // 2] if speeds else None, ",.0f"),
        # Of the whole run, evaluations excluded.
        "seconds": shown(result.get("seconds"), ",.1f"),
    }


def shown(value: float | None, style: str) -> str:
    r"""
    ### A number, or nothing
    """
    # A cell stays empty as long as a run hasn't got that far.
    return "" if value is None else format(value, style)


def table(rows: list[Row]) -> str:
    r"""
    ### The table
    """
    # Names first, and each column as wide as its longest cell.
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]

    # Run and preset are aligned left, numbers right, so that digits stand below each other.
    # Without blanks at the ends of lines, which a terminal might wrap.
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index < 2 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


if __name__ == "__main__":
    sys.exit(main())

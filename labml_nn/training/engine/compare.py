r"""
---
title: Runs Side by Side
summary: One table and one figure of any number of runs, also of those that are under way.
---

```sh
python -m labml_nn.training.compare runs/*/* --figure curves.svg
```

The table has a line for each run, and a column for each setting in which the runs differ. Nothing
is computed again: the numbers are those that the runs [recorded](history.py).
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from labml_nn.training.data import InputError
from labml_nn.training.figures import draw_losses
from labml_nn.training.files import writing
from labml_nn.training.history import History, read_history
from labml_nn.training.options import Parser
from labml_nn.training.runs import read_about

# Names, texts below them.
Row = dict[str, str]


def read_result(run: Path) -> dict[str, Any]:
    r"""
    ## What a run ended with, if it has ended
    """
    path = run / "result.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def differences(configs: list[dict[str, Any]]) -> list[str]:
    r"""
    ## What was set in different ways

    A setting that one experiment has and another has not counts, too.
    """
    names = list({name: None for config in configs for name in config})
    return [name for name in names if len({repr(config.get(name)) for config in configs}) > 1]


def row_of(run: Path, settings: list[str]) -> Row:
    r"""
    ## A run as a line
    """
    about, history, result = read_about(run), read_history(run), read_result(run)
    losses = [values["loss.validation"] for _, values in history if "loss.validation" in values]
    speeds = sorted(values["tokens_per_second"] for _, values in history)

    def shown(value: float | None, style: str) -> str:
        return "" if value is None else format(value, style)

    return {
        "run": run.name,
        "experiment": about["experiment"].rpartition(".")[2],
        **{name: str(about["config"].get(name, "")) for name in settings},
        "parameters": shown(result.get("parameters"), ",d"),
        "steps": shown(history[-1][0] if history else 0, ",d"),
        "loss": shown(losses[-1] if losses else None, ".4f"),
        "lowest": shown(min(losses, default=None), ".4f"),
        "honest": {True: "yes", False: "NO", None: ""}[result.get("honest")],
        "tokens/s": shown(speeds[len(speeds) // 2] if speeds else None, ",.0f"),
        "seconds": shown(result.get("seconds"), ",.1f"),
    }


def table(rows: list[Row]) -> str:
    r"""
    ## The table

    Numbers stand on the right, the names of runs and experiments on the left.
    """
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index < 2 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def draw(path: Path, curves: dict[str, History]) -> None:
    r"""
    ## The figure

    The validation losses of all runs, in a file whose name tells its format.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("the figure needs matplotlib: python -m pip install matplotlib") from None
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    points: History = []
    for name, history in curves.items():
        for step, values in history:
            if "loss.validation" in values:
                points.append((step, {f"loss.{name}": values["loss.validation"]}))
    draw_losses(axes, points)
    with writing(path):
        try:
            figure.savefig(path)
        except ValueError as error:
            raise InputError(f"cannot draw {path}: {error}") from error


def main(argv: Sequence[str] | None = None) -> int:
    r"""
    ## On the command line
    """
    parser = Parser(
        prog="python -m labml_nn.training.compare", description="Compare runs in a table."
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="the folder of a run")
    parser.add_argument(
        "--figure", type=Path, metavar="FILE", help="draw the validation losses, as SVG, PNG or PDF"
    )
    try:
        arguments = parser.parse_args(argv)
        runs = [run.resolve() for run in arguments.runs]
        settings = differences([read_about(run)["config"] for run in runs])
        print(table([row_of(run, settings) for run in runs]))
        if arguments.figure is not None:
            draw(arguments.figure, {run.name: read_history(run) for run in runs})
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

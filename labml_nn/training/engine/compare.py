r"""
---
title: Runs Side by Side
summary: One table and one figure of any number of runs, also of those that are still training.
---

```sh
python -m labml_nn.training.engine.compare runs/*/* --figure curves.svg
```

The table has a line for each run, and a column for each setting in which the runs differ. The
numbers are those that the runs [recorded](history.py).
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.files import writing
from labml_nn.training.engine.history import History, read_history
from labml_nn.training.engine.program import Parser, one_sentence
from labml_nn.training.engine.resume import read_about
from labml_nn.training.figures import draw_losses

# Names, texts below them.
Row = dict[str, str]


def read_result(run: Path) -> dict[str, Any]:
    r"""
    ## The result of a run

    Empty if it hasn't ended yet.
    """
    path = run / "result.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def differences(configs: list[dict[str, Any]]) -> list[str]:
    r"""
    ## Settings that differ

    A setting that one run has and another doesn't have counts, too.
    """
    names = list({name: None for config in configs for name in config})
    return [name for name in names if len({repr(config.get(name)) for config in configs}) > 1]


def row_of(run: Path, settings: list[str]) -> Row:
    r"""
    ## A line of the table
    """
    about, history, result = read_about(run), read_history(run), read_result(run)
    losses = [values["loss.validation"] for _, values in history if "loss.validation" in values]
    speeds = sorted(values["tokens_per_second"] for _, values in history)

    def shown(value: float | None, style: str) -> str:
        return "" if value is None else format(value, style)

    return {
        "run": run.name,
        "preset": about["preset"],
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

    Run and preset are aligned left, numbers right.
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


def validation_losses(curves: dict[str, History]) -> History:
    r"""
    ## The curves of several runs

    The validation losses of all runs in one history, each under the name of its run.
    """
    return [
        (step, {f"loss.{name}": values["loss.validation"]})
        for name, history in curves.items()
        for step, values in history
        if "loss.validation" in values
    ]


def draw(path: Path, history: History) -> None:
    r"""
    ## The figure

    Goes to a file whose name tells its format.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("a figure needs matplotlib: python -m pip install matplotlib") from None
    figure = Figure(figsize=(8, 5), layout="constrained")
    draw_losses(figure.subplots(), history)
    with writing(path):
        try:
            figure.savefig(path)
        except ValueError as error:
            raise InputError(f"cannot draw {path}: {error}") from error


@one_sentence
def main(argv: Sequence[str] | None = None) -> int:
    r"""
    ## On the command line
    """
    parser = Parser(
        prog="python -m labml_nn.training.engine.compare", description="Compare runs in a table."
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="the folder of a run")
    parser.add_argument(
        "--figure", type=Path, metavar="FILE", help="draw the validation losses, as SVG, PNG or PDF"
    )
    arguments = parser.parse_args(argv)
    runs = [run.resolve() for run in arguments.runs]
    settings = differences([read_about(run)["config"] for run in runs])
    print(table([row_of(run, settings) for run in runs]))
    if arguments.figure is not None:
        draw(arguments.figure, validation_losses({run.name: read_history(run) for run in runs}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

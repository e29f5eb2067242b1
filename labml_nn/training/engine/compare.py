r"""
---
title: Runs Side by Side
summary: One table and one figure of any number of runs, also of those that are still training.
---

```sh
python -m labml_nn.training.engine.compare runs/*/* --figure curves.svg
```

You have trained ten runs and want to know which setting was worth it. **In:** the folders of runs.
**Out:** a table with a line for each run, and a column for each setting in which the runs differ.
The numbers are those that the runs [recorded](history.py).
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from labml_nn.training.engine.curves import draw, validation_losses
from labml_nn.training.engine.history import read_history
from labml_nn.training.engine.program import Parser, one_sentence
from labml_nn.training.engine.resume import read_about

# Names, texts below them.
Row = dict[str, str]


def differences(configs: list[dict[str, Any]]) -> list[str]:
    r"""
    ## Settings that differ

    A setting that one run has and another doesn't have counts, too.
    """
    # A dictionary keeps the order of the settings, and a set wouldn't.
    names = list({name: None for config in configs for name in config})

    # `repr`, because 1, 1.0 and True are equal in Python.
    return [name for name in names if len({repr(config.get(name)) for config in configs}) > 1]


def shown(value: float | None, style: str) -> str:
    r"""
    ## A number, or nothing
    """
    # A cell stays empty as long as a run hasn't got that far.
    return "" if value is None else format(value, style)


def row_of(run: Path, settings: list[str]) -> Row:
    r"""
    ## A line of the table
    """
    # A run that is still training has no result yet.
    about, history, path = read_about(run), read_history(run), run / "result.json"
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
        # Without an evaluation, a run has steps and no loss.
        "steps": shown(history[-1][0] if history else 0, ",d"),
        "loss": shown(losses[-1] if losses else None, ".4f"),
        # If it is far below the last one, the run was too long or the model too large.
        "lowest": shown(min(losses, default=None), ".4f"),
        # [A loss that isn't](../leaks.py) should catch the eye.
        "honest": {True: "yes", False: "NO", None: ""}[result.get("honest")],
        "tokens/s": shown(speeds[len(speeds) // 2] if speeds else None, ",.0f"),
        # Of the whole run, evaluations excluded.
        "seconds": shown(result.get("seconds"), ",.1f"),
    }


def table(rows: list[Row]) -> str:
    r"""
    ## The table
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


@one_sentence
def main(argv: Sequence[str] | None = None) -> int:
    r"""
    ## On the command line
    """
    parser = Parser(
        prog="python -m labml_nn.training.engine.compare", description="Compare runs in a table."
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


if __name__ == "__main__":
    sys.exit(main())

r"""
---
title: The History of a Run
summary: One line for each recorded step, none missing and none twice, even if a run is killed.
---

What a run measures goes to “history.jsonl” in its folder. **In:** a step and named numbers.
**Out:** one line of JSON, written at once, so that you can look at a run while it trains:

```
{"step": 20, "loss.train": 3.21, "learning_rate": 0.0006, "tokens_per_second": 9100}
```

A run that was killed may have written lines *after* its last checkpoint, and the last line may be
cut off. When the run goes on from the checkpoint, it makes these steps again. So their old lines
are removed first, and the file is that of a run that was never interrupted.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from labml_nn.training.engine.files import replacing, writing

# Steps, each with its named numbers.
History = list[tuple[int, dict[str, float]]]

NAME = "history.jsonl"


def read_history(run: Path) -> History:
    r"""
    ## Read

    This works while the run is training, too.
    """
    # After the last line break there is nothing, or half a line that is being written. Neither
    # counts.
    path = run / NAME

    # A new run has no file.
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []

    # Each line is a document of its own, so a file that is still growing can be read.
    points = [json.loads(line) for line in lines]

    # The step is the key, the rest are values.
    return [(point.pop("step"), point) for point in points]


def rewind(run: Path, step: int) -> None:
    r"""
    ## Go back to a step

    Removes everything that was recorded after `step`.
    """
    # A new file takes the place of the old one. Cutting the old one would be dangerous: killed in
    # the middle, it could have lost too much.
    points = [{"step": at} | values for at, values in read_history(run) if at <= step]
    with replacing(run / NAME) as temporary:
        lines = [json.dumps(point) + "\n" for point in points]
        temporary.write_text("".join(lines), encoding="utf-8")


@contextmanager
def recording(run: Path, step: int = 0) -> Iterator[Callable[[int, dict[str, float]], None]]:
    r"""
    ## Record

    Gives a function that takes a step and named numbers. `step` is where the run goes on.
    """
    # First the file loses the lines after `step`. Then new lines are appended.
    rewind(run, step)
    path = run / NAME
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

r"""
---
title: Loss Curves of Runs
summary: The history of one run or of several as a figure in a file.
---

**In:** the [history](history.py) of a run. **Out:** a figure, “losses.svg” in its folder. For
several runs, their validation losses are put into one history first, and drawn in the same way.
"""

from pathlib import Path

from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.files import writing
from labml_nn.training.engine.history import History
from labml_nn.training.figures import draw_losses


def validation_losses(curves: dict[str, History]) -> History:
    r"""
    ## The curves of several runs

    The validation losses of all runs in one history, each under the name of its run.
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


def draw(path: Path, history: History) -> None:
    r"""
    ## The figure

    Goes to a file whose name tells its format.
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

r"""
---
title: Pictures of a Training
summary: Loss curves, and what a head of attention looks at.
---

Two pictures that say more than their numbers. Both are drawn on axes that the caller
made, so that they can stand alone or side by side. In a notebook a picture can be
[live](figures.py#LiveFigure) while a model trains.
"""

import builtins
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_losses(axes: "Axes", history: list[tuple[int, dict[str, float]]]) -> None:
    r"""
    ## Loss curves

    `history` is a list of steps and named numbers; there is a line for each name that starts
    with `loss.`. As long as validation falls beside training, the model learns the
    language. Where the lines part, it learns the text by heart.
    """
    names = sorted({name for _, values in history for name in values if name.startswith("loss.")})
    for name in names:
        steps = [step for step, values in history if name in values]
        losses = [values[name] for _, values in history if name in values]
        axes.plot(steps, losses, ".-", label=name.removeprefix("loss."))
    axes.set(xlabel="step", ylabel="cross entropy, nats a token")
    axes.legend()


def draw_attention(axes: "Axes", weights: torch.Tensor, queries: str, keys: str) -> None:
    r"""
    ## What a head looks at

    `weights` has a row for each query and a column for each key, and each row sums to one:
    the darker a cell, the more the query takes from that key. `queries` and `keys` are their
    characters.
    """
    axes.imshow(weights.tolist(), cmap="Blues", vmin=0.0, vmax=1.0)
    axes.set(xlabel="key", ylabel="query")
    # A line break and a space would be invisible.
    visible = str.maketrans({"\n": "↵", " ": "␣"})
    axes.set_xticks(range(len(keys)), list(keys.translate(visible)), family="monospace")
    axes.set_yticks(range(len(queries)), list(queries.translate(visible)), family="monospace")


class LiveFigure:
    r"""
    ## A picture that follows

    In a notebook it is shown at once, and again in the same place while what it shows changes.
    Elsewhere nothing is shown before the end.

    To draw takes as long as many steps of a small model. So a picture stays for ten times as long
    as it took, and most of the time is left for training.
    """

    def __init__(self, figure: "Figure", draw: Callable[[], None]) -> None:
        r"""
        * `figure` is what the caller draws on
        * `draw` draws what is known now, over what was there
        """
        self.figure, self.draw = figure, draw
        self.due = time.monotonic()

        # In a notebook this is one of the built-in functions.
        display = getattr(builtins, "display", None)
        self.shown = display and display(figure, display_id=True)

    def update(self) -> None:
        r"""
        ### Show it as it is now

        Unless it was shown a moment ago.
        """
        start = time.monotonic()
        if self.shown and start >= self.due:
            self.draw()
            self.shown.update(self.figure)
            end = time.monotonic()
            self.due = end + 10 * (end - start)

    def finish(self) -> None:
        r"""
        ### Show it for the last time

        A notebook that has it already would show it once more at the end of the cell.
        """
        import matplotlib.pyplot as plt

        self.draw()
        if self.shown:
            self.shown.update(self.figure)
        else:
            plt.show()
        plt.close(self.figure)

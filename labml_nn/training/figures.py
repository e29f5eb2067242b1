r"""
---
title: Figures
summary: Loss curves, and a map of what a head of attention looks at.
---

Two figures that say more than their numbers. Each is drawn on axes that you pass in, so that it
can stand alone or beside others. In a notebook, a figure can be [live](figures.py#LiveFigure) and
change while the model trains.
"""

import builtins
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from torch import Tensor

# matplotlib takes a second to load, so it is imported where something is drawn.
if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_losses(axes: "Axes", history: list[tuple[int, dict[str, float]]]) -> None:
    r"""
    ## Loss curves

    As long as the validation loss falls with the training loss, what the model learns also holds
    for text that it hasn't seen. Where it rises while the training loss goes on falling, the model
    learns the text by heart, or gets too sure of itself.

    `history` is a list of steps and named numbers. Each name that begins with `loss.` is a line.
    """
    # `loss.train`, `loss.validation`, and whatever else a run has recorded.
    names = sorted({name for _, values in history for name in values if name.startswith("loss.")})
    for name in names:
        # Not every number is there at every step: an evaluation takes time, and is rare.
        steps = [step for step, values in history if name in values]
        losses = [values[name] for _, values in history if name in values]
        axes.plot(steps, losses, ".-", label=name.removeprefix("loss."))

    # A nat is the unit of a loss with a natural logarithm.
    axes.set(xlabel="step", ylabel="cross entropy, nats a token")
    axes.legend()


def draw_attention(axes: "Axes", weights: Tensor, queries: str, keys: str) -> None:
    r"""
    ## Attention maps

    Each row belongs to a query and has a weight for each key, with a sum of one. The darker a cell,
    the more the query takes from that key. Under a causal mask the upper right triangle is empty.

    `queries` and `keys` are the characters at the positions.
    """
    # The colours mean the same in every figure: nearly white is 0, dark blue is 1.
    # Attention weights may be in bfloat16, which matplotlib doesn't know; a list it does.
    axes.imshow(weights.tolist(), cmap="Blues", vmin=0.0, vmax=1.0)
    axes.set(xlabel="key", ylabel="query")

    # A line break and a space would be invisible.
    visible = str.maketrans({"\n": "↵", " ": "␣"})
    axes.set_xticks(range(len(keys)), list(keys.translate(visible)), family="monospace")
    # The first query is at the top, as in a matrix.
    axes.set_yticks(range(len(queries)), list(queries.translate(visible)), family="monospace")


class LiveFigure:
    r"""
    ## A live figure

    In a notebook it is shown at once, and drawn anew in the same place while training goes on.
    In a plain program a window opens at the end.
    """

    def __init__(self, figure: "Figure", draw: Callable[[], None]) -> None:
        r"""
        * `figure` is the figure to show
        * `draw` draws what is known now, over what was there
        """
        self.figure = figure
        self.draw = draw

        # When to draw again: at once.
        self.due = time.monotonic()

        # IPython makes `display` one of the built-in functions, in a notebook and on its terminal.
        # (On the terminal it prints a line in place of the figure.)
        display = getattr(builtins, "display", None)
        self.shown = display and display(figure, display_id=True)

    def update(self) -> None:
        r"""
        ### Draw it again

        Unless it was drawn a moment ago.
        """
        # In a plain program there is nothing to update.
        start = time.monotonic()
        if self.shown and start >= self.due:
            self.draw()
            self.shown.update(self.figure)

            # Drawing takes as long as several steps of a small model. A pause ten times as long
            # leaves most of the time for training.
            end = time.monotonic()
            self.due = end + 10 * (end - start)

    def finish(self) -> None:
        r"""
        ### Draw it for the last time
        """
        import matplotlib.pyplot as plt

        # However short a time ago it was drawn.
        self.draw()
        if self.shown:
            self.shown.update(self.figure)
        # In a plain program, a window opens.
        else:
            plt.show()

        # An open figure would be shown once more below the cell.
        plt.close(self.figure)

r"""
---
title: Progress of a Run
summary: A curve that grows while a model trains, and whose empty part is what is left to do.
know: figures.py
---

Is it still running? How long will it take? Is the loss falling? While a model trains, a notebook
should answer all three. **In:** the losses so far, and the number of steps that there will be.
**Out:** in a notebook a curve, in a plain program a line at each tenth.

After 400 of 1,000 steps the curve ends at two fifths of its width. The axis has room for all steps,
so the empty part is the work that is left: the curve is its own progress bar. Its title says the
rest. If the 400 steps took 48 seconds, a step takes 0.12, and the other 600 will take 72:

```
step 400 of 1,000, loss 1.932, 72 seconds left
```

Why no bar of widgets? A widget is drawn by a running program. In a saved notebook there is none,
and what is left of the bar is often a line of text or nothing. The curve is a picture, and a
picture can be saved.
"""

import builtins
import time
from collections.abc import Callable
from pathlib import Path

from labml_nn.training.figures import LiveFigure

# Losses of single batches go up and down. A mean of so many shows where they are going.
MEAN_OF = 20


def time_left(seconds: float) -> str:
    r"""
    ## The time that is left

    In seconds below two minutes: “0.3 minutes” takes a moment to understand.
    """
    # No digits after the point: it is a guess.
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"


def where_it_begins(
    steps: int, done: int, planned: int, before: int, file: Path | None = None
) -> str:
    r"""
    ## Where it begins

    * `steps` is how many steps there should be, and `done` how many there were
    * `planned` is how many there should have been, when it was asked before
    * `before` is for how many steps the model was trained by others
    * `file` is the one that the run is [kept](run_file.py) in, if it is
    """
    # A form was filled in with 0, or with −5. It must not look as if the model had been trained.
    if steps < 1:
        return f"asked for {steps:,} steps, so nothing is trained: ask for 1 or more."

    # A new run: the usual case, and that of a model which is fine-tuned.
    if not done:
        trained = f"from weights that were trained for {before:,} before"
        return f"{steps:,} steps, {trained if before else 'from scratch'}."

    # A cell that does nothing has to say why. A new run would go on from its file.
    if done >= steps:
        remove = f"remove {file} and " if file else ""
        return (
            f"{done:,} steps are done, and nothing is left to do. To go on, ask for more; to start "
            f"from scratch, {remove}run the cell that makes the run."
        )

    # The learning rate depends on two numbers, the step and how many there should be. So a longer
    # run is another run from the first step on.
    other = f" Its learning rate is now that of a run of {steps:,}." if steps != planned else ""
    return f"goes on after step {done:,} of {steps:,}.{other}"


class RunProgress:
    r"""
    ## Progress of a run
    """

    def __init__(self, first: int, steps: int, say: Callable[[str], object]) -> None:
        r"""
        * `first` is the number of steps that were done before
        * `steps` is the number that there will be
        * `say` gets the lines of text
        """
        # Time counts from now on, also for a run that was stopped yesterday.
        self.first = first
        self.steps = steps
        self.say = say
        self.losses: list[float] = []
        self.began = time.monotonic()

        # IPython makes `display` one of the built-in functions. Without it there is nobody to show
        # a picture to.
        self.live = self.figure() if hasattr(builtins, "display") else None

    def figure(self) -> LiveFigure:
        r"""
        ### The picture

        It is drawn again [in its place](figures.py#LiveFigure), and for at most a tenth of the
        time.
        """
        import matplotlib.pyplot as plt

        # Wide and low: several runs should fit on a screen.
        figure, self.axes = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
        return LiveFigure(figure, self.draw)

    def draw(self) -> None:
        r"""
        ### Draw the curve
        """
        # Over what was there: first each loss, pale.
        self.axes.clear()
        self.axes.plot(range(1, len(self.losses) + 1), self.losses, color="#9ecae1", linewidth=0.8)

        # Then the means, each in the middle of its steps. At their end, a falling curve would lie
        # above the losses that it is the mean of.
        whole = len(self.losses) // MEAN_OF
        parts = [self.losses[MEAN_OF * at : MEAN_OF * (at + 1)] for at in range(whole)]
        middles = [MEAN_OF * at + (MEAN_OF + 1) / 2 for at in range(whole)]
        self.axes.plot(middles, [sum(part) / MEAN_OF for part in parts], color="#08519c")

        # Room for all steps, also those that are still to come.
        self.axes.set(xlim=(0, self.steps), xlabel="step", ylabel="loss")
        # The title is the line of text, so it is there in the saved picture as well.
        self.axes.set_title(self.text(), fontsize=10, loc="left")

    def text(self) -> str:
        r"""
        ### The line of text

        How far it is, the mean of the last losses, and the time that is left if all steps take as
        long as those since it began.
        """
        # A loss of one batch says little, so the last 20 are averaged.
        done = len(self.losses)
        some = self.losses[-MEAN_OF:]

        # Steps that were done before have taken no time since it began.
        each = (time.monotonic() - self.began) / max(1, done - self.first)
        # Nothing is left when all are done.
        left = f", {time_left(each * (self.steps - done))} left" if done < self.steps else ""
        mean = sum(some) / max(1, len(some))
        return f"step {done:,} of {self.steps:,}, loss {mean:.3f}{left}"

    def update(self, losses: list[float], tenth: bool = False) -> None:
        r"""
        ### Show it

        A curve whenever it is due, or a line at each tenth.
        """
        # A picture takes as long as many steps, so it decides itself whether it is time.
        self.losses = losses
        if self.live:
            self.live.update()
        elif tenth:
            self.say(self.text())

    def finish(self, losses: list[float]) -> None:
        r"""
        ### Show it for the last time
        """
        # The curve as it will be saved, however short a time ago it was drawn. Where there is none,
        # the last line is said already.
        self.losses = losses
        if self.live:
            self.live.finish()


def example(steps: int = 7) -> list[str]:
    r"""
    ## Example

    What is said after each of seven steps.

    ### Exercises

    ??? question "A run goes on at step 600. Why does the time left count from there?"
        The clock began with the cell, and the 600 steps before took no part of its time. Counted as
        if they had, each step would seem quicker than it is.

    ??? question "Why is the mean drawn in the middle of its 20 steps?"
        - [ ] So that the curve is smoother.
            - It has the same points, shifted by half of their distance.
        - [x] A mean tells about the middle of what it is the mean of.
            - Yes. If the loss falls evenly, the mean of steps 1 to 20 is that of step 10.5.
        - [ ] The last steps aren't known yet.
            - They are: a mean is drawn when all of its steps are done.

    ??? question "A step takes 2 ms, and a drawing 200 ms. How often is it drawn, at most?"
        After a pause of ten times 200 ms, so every 2.2 s, or about a thousand steps. Drawing after
        each step would make the training a hundred times as slow.
    """
    said: list[str] = []
    progress = RunProgress(0, steps, said.append)
    # In a notebook the picture would be shown here, and the lines wouldn't be said.
    progress.live = None

    # A loss that halves, then loses a third, and so on.
    for done in range(1, steps + 1):
        progress.update([1 / step for step in range(1, done + 1)], tenth=True)
    return said

r"""
---
title: The Stop Button
summary: An interrupt waits for the end of a step, so that a training can go on after it.
know: loop.py
---

A step of training changes a million weights: first the matrices, then the biases, which [have no
weight decay](loop.py#adamw). Press the stop button of a notebook in between, and the matrices have
made 601 steps and the biases 600. The counter says 600. Go on from there, and the matrices make
step 601 twice.

**In:** a training in a `with` block, which asks after each step whether the button was pressed.
**Out:** the same training, which an interrupt ends *between* two steps: step 601 is made to its
end, and the counter says 601.

The button sends the *signal* that Ctrl-C sends on a terminal, and Python's answer to that signal is
an exception, `KeyboardInterrupt`, at whatever line is running. Another answer can be given: a
function that only notes that somebody wants to stop.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


class StopButton:
    r"""
    ## The button
    """

    def __init__(self) -> None:
        # The training looks at it after each step. Nobody has pressed it yet.
        self.pressed = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        r"""
        ### While it is watched

        The first interrupt inside the block sets `pressed`. A second one is an exception again, for
        steps that take minutes.
        """
        # Python lets only the main thread say what a signal does. In a notebook that is the thread
        # of the cells. In any other thread an interrupt stays what it is.
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        # What an interrupt does usually, to be put back.
        before = signal.getsignal(signal.SIGINT)

        def press(*_: object) -> None:
            # Nothing is stopped here: the step goes on. A second press does what it did before.
            self.pressed = True
            signal.signal(signal.SIGINT, before)

        # Whatever ends the block, an error as well, Ctrl-C does afterwards what it did before. Else
        # the next one would press a button that nobody looks at.
        signal.signal(signal.SIGINT, press)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def example(steps: int = 7, d_model: int = 3) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    Seven steps that move two vectors, one after the other. Press the button when you like: both
    will have moved as often.

    ### Exercises

    ??? question "Why isn't it enough to catch `KeyboardInterrupt` around the loop?"
        - [ ] The exception would be raised only when the loop is over.
            - It is raised at once: that is the trouble.
        - [x] It can be raised in the middle of a step, when some weights have moved.
            - Yes. What goes on from there is another training, and nothing tells.
        - [ ] PyTorch catches it.
            - It reaches your code, from whatever line was running.

    ??? question "Why does the function `press` put back the old answer?"
        A step may take minutes, or never end. If you press twice, you want to stop now, and the
        weights may be those of half a step.

    ??? question "Leave out `finally`. When do you notice?"
        In a program, after a training that has ended with an error. The next Ctrl-C presses a
        button that no training looks at, and only the one after it stops the program. In a
        notebook you don't: before each cell, Jupyter's kernel puts Python's own answer back.
    """
    # Nothing has moved yet.
    button = StopButton()
    first = torch.zeros(d_model)
    second = torch.zeros(d_model)

    # From here on the first interrupt ends no line, whichever is running: it only sets `pressed`.
    with button.watched():
        for _ in range(steps):
            # A step. Between its two lines the vectors differ.
            first += 1
            second += 1

            # Here they are equal, so here it may end.
            if button.pressed:
                break
    return first, second

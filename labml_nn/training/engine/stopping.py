r"""
---
title: Stopping Between Two Steps
summary: Ctrl-C waits for the end of the step, so that what is saved is whole.
---

You press Ctrl-C, or a cluster ends your job. Python then raises `KeyboardInterrupt` at whatever
line it is. In the middle of a step some weights are new and some are old, and the loss of the step
isn't recorded yet. A checkpoint of that moment would not be a state that training ever was in.

**In:** nothing. **Out:** a function that tells whether a signal came. The
[steps](steps.py) ask it after each step; if there was one, they save and stop.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def interruptible() -> Iterator[Callable[[], int]]:
    r"""
    ## Note the signal

    Within the block, the first signal is only noted. The function that the block gets returns its
    number, or 0.
    """
    # SIGINT is Ctrl-C. SIGTERM is what “kill”, Docker and batch systems send before they use force.
    noted = 0
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def put_back() -> None:
        # What the program did on these signals before the block.
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(number: int, *_: object) -> None:
        # A second Ctrl-C ends the program at once: the step may be stuck, and then nobody would ask
        # for the note.
        nonlocal noted
        noted = number
        put_back()

    # From here on Python calls `note` between two of its instructions, so a matrix product is
    # never cut short.
    for number in before:
        signal.signal(number, note)

    # Also after an error, so that no later part of the program ignores Ctrl-C.
    try:
        yield lambda: noted
    finally:
        put_back()

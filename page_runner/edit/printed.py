r"""
---
title: Printed
summary: What a program prints comes to the page while it still runs.
---

A loop without end may print for ever. So what is printed goes to the page in pieces, at most ten a
second unless the program asks for more with `flush`, and after 100,000 characters nothing more is
told.
"""

import io
import time
from collections.abc import Callable
from typing import Any

# In seconds.
BETWEEN = 0.1

MOST_CHARACTERS = 100_000


class Printed(io.TextIOBase):
    r"""
    ## A file that tells what is written to it

    `say` is called with each piece.
    """

    def __init__(self, say: Callable[[str], Any]) -> None:
        super().__init__()
        self.say = say
        self._waiting: list[str] = []
        self._left = MOST_CHARACTERS
        self._said = time.monotonic()

    def writable(self) -> bool:
        r"""
        ### It can be written to
        """
        return True

    def write(self, text: str) -> int:
        r"""
        ### Keep a text until it is time
        """
        if self._left > 0:
            self._waiting.append(text[: self._left])
            self._left -= len(text)
            if self._left <= 0:
                self._waiting.append("\n… what else is printed isn't shown.\n")
        if time.monotonic() - self._said > BETWEEN:
            self.flush()
        return len(text)

    def flush(self) -> None:
        r"""
        ### Tell what has been kept
        """
        if self._waiting:
            self.say("".join(self._waiting))
            self._waiting.clear()
        self._said = time.monotonic()

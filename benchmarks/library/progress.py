r"""Which run has ended, what it has found, and how long the others will take."""

import time
from collections.abc import Mapping
from typing import Any


class Progress:
    r"""Says on one line for each run how far it is."""

    def __init__(self, total: int, at_a_time: int = 1) -> None:
        r"""
        * `total` is the number of runs that have to be made
        * `at_a_time` is the number of processes
        """
        self.total, self.at_a_time = total, at_a_time
        self.done = 0
        # Not a clock that experiments use: these may be replaced to compare two runs.
        self.started = time.monotonic()

    def ended(self, name: str, found: Any) -> None:
        r"""Tell about a run that has ended."""
        self.done += 1
        print(f"{self.done}/{self.total}  {name}  {few(found)}{self.left()}", flush=True)

    def left(self) -> str:
        r"""How long the runs that are left will take, if they are like those before."""
        runs = self.total - self.done
        if runs == 0:
            return ""
        seconds = (time.monotonic() - self.started) / self.done * runs
        return f"  about {duration(seconds)} left"


def duration(seconds: float) -> str:
    r"""A time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def few(found: Any, most: int = 4) -> str:
    r"""The first numbers of what was found."""
    if not isinstance(found, Mapping):
        return ""
    numbers = [(name, one) for name, one in found.items() if isinstance(one, float | int)]
    return ", ".join(f"{name} {one:.4g}" for name, one in numbers[:most])

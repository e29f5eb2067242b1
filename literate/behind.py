r"""
---
title: Behind
summary: A process that measures what nobody waits for, and can be left while it does.
---

While an author writes, the page that was saved is measured at once, and those that depend on it
behind it. Some of these take seconds, and a file that is saved meanwhile must not wait for them.
To kill the [process](child.py) would save nothing, because it takes seconds to start another. So
the one who asked goes, the process finishes what it is at, and the next question is put when it
has.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from literate.child import Child

# How often somebody who waits looks up.
POLL_SECONDS = 0.05


class Left(Exception):
    r"""
    ## The parent has gone
    """


class Behind:
    r"""
    ## A child that can be left

    It is asked like [any other](child.py#Child). `is_urgent` says whether there is something better
    to do than to wait.
    """

    def __init__(self, root: Path) -> None:
        self.is_urgent: Callable[[], bool] = lambda: False
        self._child = Child(root)
        self._thread = ThreadPoolExecutor(1)
        self._asked: Future[dict[str, Any]] | None = None

    def start(self) -> None:
        r"""
        ### Nothing yet

        It takes seconds, so it is part of the first question.
        """

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        r"""
        ### Ask

        Raises what a child raises, and [Left](#Left) as soon as there is something better to do. An
        answer that comes later is not used: the sources may have changed.
        """
        if self._asked is not None:
            self._wait_for(self._asked)
        self._asked = self._thread.submit(self._start_and_ask, request, seconds)
        self._wait_for(self._asked)
        return self._asked.result()

    def stop(self) -> None:
        r"""
        ### Stop

        Also when it is just being started.
        """
        self._child.stop()
        while self._asked is not None and not self._asked.done():
            wait([self._asked], POLL_SECONDS)
            self._child.stop()

    def _start_and_ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        self._child.start()
        return self._child.ask(request, seconds)

    def _wait_for(self, answer: Future[dict[str, Any]]) -> None:
        while not answer.done():
            if self.is_urgent():
                raise Left
            wait([answer], POLL_SECONDS)

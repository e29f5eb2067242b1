r"""
---
title: Calls and passes
summary: Which call of a function a line runs in, and which pass of which loop.
---

A line of a head runs once for each head, and a line of attention once for each call. A page that
shows one of these runs has to say which one it is: “head 2 of 5”, “call 2 of 6, from line 159”.
[Instrumented code](instrument.py) tells when a function is entered, and hands
over what each loop goes through. Which calls are going on is in Python's own frames.

A generator waits in the middle of a loop while other code runs. So a loop counts only while the
frame that runs it is one of those that are waiting for the current line.
"""

import operator
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

# What these count is nothing that a reader knows by name.
NAMELESS = {"_", "step", "index", "number", "count", "round", "time"}


@dataclass(eq=False)
class Loop:
    r"""
    ## A loop that goes on

    * `name` is what the loop calls each of the things that it goes through
    * `total` is how many there are; None until the end, if nobody knows before
    * `at` is the number of the pass, from 1, and `frame` the frame that runs it
    """

    name: str
    total: int | None
    at: int = 0
    frame: int = 0


@dataclass(frozen=True)
class Moment:
    r"""
    ## When a line has run

    * `function` is the qualified name of the function, empty outside of any
    * `serial` is the number of the call among those of all functions, and `call` among those of
      its own, both from 1
    * `line` is the line of the page that called the function, None if there was none
    * `passes` are the loops that went on, the outermost first, each with the number of its pass
    """

    function: str = ""
    serial: int = 0
    call: int = 0
    line: int | None = None
    passes: tuple[tuple[Loop, int], ...] = ()


NOWHERE = Moment()


class Calls:
    r"""
    ## The calls of a page
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._serial = 0
        self._loops: list[Loop] = []
        # What is known of each frame. The code tells whether it is still the same one.
        self._frames: dict[int, tuple[CodeType, str, int, int]] = {}

    def enter(self, function: str, frame: FrameType) -> None:
        r"""
        ### A function begins
        """
        self._serial += 1
        self.counts[function] += 1
        known = frame.f_code, function, self._serial, self.counts[function]
        self._frames[id(frame)] = known

    def passes(self, name: str, things: Iterable[Any]) -> Iterator[Any]:
        r"""
        ### A loop goes through things

        The same things, one by one. The frame that asks for the next one is the one that runs the
        loop.
        """
        loop = Loop(name, operator.length_hint(things, 0) or None)
        self._loops.append(loop)
        try:
            for thing in things:
                loop.at += 1
                loop.frame = id(sys._getframe(1))
                yield thing
            loop.total = loop.at
        finally:
            self._loops.remove(loop)

    def now(self, frame: FrameType) -> Moment:
        r"""
        ### What goes on while this frame runs
        """
        code, function, serial, call = self._frames.get(id(frame), (None, "", 0, 0))
        if code is not frame.f_code:
            function, serial, call = "", 0, 0
        waiting = {id(frame)}
        line = None
        outer = frame.f_back
        while outer is not None:
            waiting.add(id(outer))
            if line is None and outer.f_code.co_filename == frame.f_code.co_filename:
                line = outer.f_lineno
            outer = outer.f_back
        passes = tuple((loop, loop.at) for loop in self._loops if loop.frame in waiting)
        return Moment(function, serial, call, line, passes)

    def told(self, moment: Moment) -> str:
        r"""
        ### A moment in words

        That of a function which was called once, outside of any loop, needs none. All that there
        was must be over: only then the totals are known.
        """
        if moment.passes:
            return ", ".join(_pass(loop, at) for loop, at in moment.passes)
        total = self.counts[moment.function]
        if total < 2:
            return ""
        origin = f", from line {moment.line}" if moment.line else ""
        return f"call {moment.call} of {total}{origin}"


def _pass(loop: Loop, at: int) -> str:
    name = "pass" if len(loop.name) == 1 or loop.name in NAMELESS else loop.name
    return f"{name} {at}" + (f" of {loop.total}" if loop.total else "")

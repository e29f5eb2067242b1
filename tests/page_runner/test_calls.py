r"""Which call and which pass a line is in, told by code that runs."""

import sys
from collections.abc import Iterable, Iterator
from textwrap import dedent
from typing import Any

import pytest

from page_runner.calls import Calls, Moment
from page_runner.instrument import HOOK, instrument


class Recorder:
    r"""Asks at each value of the name `here` what goes on."""

    def __init__(self) -> None:
        self.calls = Calls()
        self.moments: list[Moment] = []

    def __call__(self, line: int, owner: str | None, name: str, value: Any) -> Any:
        if name == "here":
            self.moments.append(self.calls.now(sys._getframe(1)))
        return value

    def enter(self, function: str) -> None:
        self.calls.enter(function, sys._getframe(1))

    def passes(self, name: str, things: Iterable[Any]) -> Iterator[Any]:
        return self.calls.passes(name, things)


def told(text: str) -> list[str]:
    recorder = Recorder()
    exec(instrument(dedent(text).lstrip(), "page.py"), {HOOK: recorder})
    # No loop is left behind.
    assert recorder.calls._loops == []
    return [recorder.calls.told(one) for one in recorder.moments]


CASES = {
    "outside of everything": ("here = 1", [""]),
    "a function that is called once": ("def f():\n    here = 1\nf()", [""]),
    "a function that is called twice": (
        """
        def f():
            here = 1
        f()
        f()
        """,
        ["call 1 of 2, from line 3", "call 2 of 2, from line 4"],
    ),
    "a loop in another function, and what comes behind it": (
        """
        def f():
            here = 1
        def g():
            for head in "abc":
                f()
            here = 2
        g()
        """,
        ["head 1 of 3", "head 2 of 3", "head 3 of 3", ""],
    ),
    "comprehensions": (
        """
        def f(x):
            here = x
            return x
        a = [f(head) for head in "ab"]
        b = sum(f(head) for head in (1, 2))
        c = {f(layer): 1 for layer in "a"}
        """,
        ["head 1 of 2", "head 2 of 2", "head 1 of 2", "head 2 of 2", "layer 1 of 1"],
    ),
    "loops in loops": (
        """
        for layer in "ab":
            for head in range(2):
                here = 1
        """,
        [f"layer {layer} of 2, head {head} of 2" for layer in (1, 2) for head in (1, 2)],
    ),
    "names that tell nothing": (
        """
        for i in range(2): here = i
        for _ in range(1): here = 1
        for step in [1]: here = 1
        """,
        ["pass 1 of 2", "pass 2 of 2", "pass 1 of 1", "pass 1 of 1"],
    ),
    "a length that is known at the end only, or never": (
        """
        for head, key in zip("ab", "cd"): here = 1
        for head in iter(int, 1):
            here = 1
            break
        """,
        ["head 1 of 2", "head 2 of 2", "head 1"],
    ),
    "a loop that is left by a return and by an error": (
        """
        def f():
            for head in "ab":
                return
        def g():
            for head in "ab":
                1 / 0
        f()
        try: g()
        except ZeroDivisionError: here = 1
        here = 2
        """,
        ["", ""],
    ),
    "a generator that waits in its loop": (
        """
        def rows():
            for row in "ab":
                here = row
                yield row
        waiting = rows()
        next(waiting)
        here = 1
        for x in rows():
            here = 2
            break
        del waiting
        """,
        # While it waits, its loop is not that of the code outside.
        ["row 1 of 2", "", "row 1 of 2", "pass 1"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_moment_in_words(case: str) -> None:
    text, expected = CASES[case]
    assert told(text) == expected


def test_what_a_loop_goes_through_is_the_same() -> None:
    calls = Calls()
    things = [1, 2, 3]
    found = []
    for thing in calls.passes("x", things):
        found.append(thing)
        # As in any loop over a list, what is appended comes, too.
        if len(things) < 5:
            things.append(9)
    assert found == [1, 2, 3, 9, 9]
    with pytest.raises(TypeError):
        list(calls.passes("x", 5))

r"""
---
title: Seen
summary: The shapes and first values of what each line binds, in a run in the browser.
---

A line that runs a hundred times is told once for each of its shapes, with the first values of its
first calls. To tell two runs apart, first values are not enough: a mask that hides one more key may
change the last row only. So each tensor has a mark, two sums over its numbers, of a large tensor
over the first million; equal tensors have equal marks.

Where a page has no PyTorch, all that a line binds is told: numbers, texts and lists, as Python
writes them. Beside tensors, that would be too much to read.
"""

import sys
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from page_runner.values import tensors_in

# So many numbers of a tensor are shown.
FIRST = 6

# Of a larger tensor only so many numbers make its mark.
MOST_NUMBERS = 1 << 20

# A name that gets ever new shapes on a line, in a loop, is told so often.
MOST_TENSORS = 64

# Of the calls in which a line has bound one shape, so many are kept to be compared.
MOST_CALLS = 16

# Of a longer value the beginning is told.
MOST_CHARACTERS = 72

# Name, shape and type of a tensor; what is none has no shape.
Key = tuple[str, tuple[int, ...] | None, str]


class Seen:
    r"""
    ## What a run has bound

    It is called as the [recorder](../instrument.py#instrument) that instrumented code calls.
    """

    def __init__(self) -> None:
        self.lines: dict[int, dict[Key, list[Any]]] = {}
        # How often there was each shape, and each name of a line.
        self.times: dict[tuple[int, Key], int] = {}
        self.numbers: dict[tuple[int, str], int] = {}

    def __call__(self, line: int, owner: str | None, name: str, value: Any) -> Any:
        r"""
        ### A line has bound a value
        """
        torch = sys.modules.get("torch")
        if torch is None:
            self._see_plain(line, name, value)
            return value
        with torch.no_grad():
            for part, tensor in tensors_in(name, value):
                self._see(line, part, tensor)
        return value

    def enter(self, function: str) -> None:
        r"""
        ### A function begins

        Calls are not told apart here: each line is told as a whole.
        """

    def passes(self, name: str, things: Iterable[Any]) -> Iterable[Any]:
        r"""
        ### A loop goes through things
        """
        return things

    def axis(self, name: str, value: Any) -> None:
        r"""
        ### Lengths of axes

        The page knows their names from its recorded run.
        """

    def _see(self, line: int, name: str, tensor: Any) -> None:
        try:
            shape = tuple(int(size) for size in tensor.shape)
        except (RuntimeError, TypeError, ValueError):
            return
        dtype = str(tensor.dtype).removeprefix("torch.")
        calls = self._calls(line, (name, shape, dtype))
        if calls is not None:
            calls.append([self.numbers[line, name], *first_and_mark(tensor)])

    def _see_plain(self, line: int, name: str, value: Any) -> None:
        r"""
        What can be called, as a function or a class, is part of the program.
        """
        if callable(value):
            return
        calls = self._calls(line, (name, None, type(value).__name__))
        if calls is not None:
            calls.append([self.numbers[line, name], *text_and_mark(value)])

    def _calls(self, line: int, key: Key) -> list[Any] | None:
        r"""
        The calls in which a line has bound it, for one more; None if enough are told.
        """
        name = key[0]
        known = self.lines.setdefault(line, {})
        self.numbers[line, name] = self.numbers.get((line, name), 0) + 1
        if key not in known:
            if sum(other == name for other, *_ in known) == MOST_TENSORS:
                return None
            known[key] = []
            self.times[line, key] = 0
        self.times[line, key] += 1
        return known[key] if len(known[key]) < MOST_CALLS else None

    def told(self) -> dict[int, list[list[Any]]]:
        r"""
        ### As it is told

        By the line, a list of tensors: name, shape, dtype, the calls that were kept, and how often
        there was one. A call has its number among all of this name, first values and a mark.
        """
        return {
            line: [[*key, calls, self.times[line, key]] for key, calls in known.items()]
            for line, known in sorted(self.lines.items())
        }


def text_and_mark(value: Any) -> tuple[list[str], str]:
    r"""
    ## A value as Python writes it, and its mark

    What Python writes may have an address in it, which is another one in each run. The text of a
    class of the page may fail: then there is none.
    """
    try:
        whole = repr(value)
    except Exception:
        return [], ""
    if " at 0x" in whole:
        return [], type(value).__name__
    mark = sha256(whole.encode(errors="backslashreplace")).hexdigest()[:16]
    is_short = len(whole) <= MOST_CHARACTERS
    return [whole if is_short else f"{whole[: MOST_CHARACTERS - 1]}…"], mark


def first_and_mark(tensor: Any) -> tuple[list[str], str]:
    r"""
    ## The first values of a tensor, and its mark

    Some tensors have no numbers to read: then there are no values, and the mark is empty.
    """
    torch = sys.modules["torch"]
    try:
        flat = tensor.detach().reshape(-1)
        first = [written(one) for one in flat[:FIRST].tolist()]
        if tensor.is_complex():
            flat = torch.view_as_real(flat).reshape(-1)
        numbers = flat[:MOST_NUMBERS].to(torch.float64)
        # Two places that have changed their numbers change this sum, too.
        places = torch.arange(1, len(numbers) + 1, dtype=torch.float64)
        total, by_place = numbers.sum().item(), (numbers * places).sum().item()
        return first, f"{total:.9g} {by_place:.9g}"
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError, AttributeError):
        return [], ""


def written(number: float | complex) -> str:
    r"""
    ## A number with four digits
    """
    if isinstance(number, bool | int):
        return str(number)
    if isinstance(number, complex):
        return f"{number:.3g}"
    return f"{number:.4g}"

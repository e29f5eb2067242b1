r"""How long code takes: runs it often, and tells the time of one run."""

import time
from collections.abc import Callable, Iterable
from typing import Any


def _with_unit(seconds: float) -> str:
    r"""A time with three digits and its unit."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds / 1e-9:.2f} ns"


def _part(ordered: list[float], part: float) -> float:
    r"""What lies at a part of the way through numbers in order, between two if need be."""
    place = part * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


class Measurement:
    r"""The times of runs, in seconds."""

    def __init__(self, number_per_run: int, raw_times: list[float], title: str, words: Any) -> None:
        self.number_per_run = number_per_run
        self.raw_times = raw_times
        self.title = title
        self.label, self.sub_label, self.description, self.num_threads = words

    @property
    def times(self) -> list[float]:
        r"""The time of one run, in each of the series."""
        return [one / self.number_per_run for one in self.raw_times]

    @property
    def mean(self) -> float:
        r"""The mean of the series."""
        return sum(self.times) / len(self.times)

    @property
    def median(self) -> float:
        r"""The one in the middle."""
        return _part(sorted(self.times), 0.5)

    @property
    def iqr(self) -> float:
        r"""The width of the middle half."""
        ordered = sorted(self.times)
        return _part(ordered, 0.75) - _part(ordered, 0.25)

    def __repr__(self) -> str:
        head = f"<torch.utils.benchmark.utils.common.Measurement object at {hex(id(self))}>\n"
        if len(self.times) > 1:
            times = f"  Median: {_with_unit(self.median)}\n  IQR:    {_with_unit(self.iqr)}\n"
            return f"{head}{self.title}\n{times}  {len(self.times)} measurements"
        runs = f"  1 measurement, {self.number_per_run} runs , 1 thread"
        return f"{head}{self.title}\n  {_with_unit(self.median)}\n{runs}"


class Timer:
    r"""Measures a statement, which sees `globals` and what `setup` has made."""

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = time.perf_counter,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = None,
    ) -> None:
        if language is not None:
            raise NotImplementedError(
                "Timer(language=…) is not in the browser's torch: measure Python."
            )
        import torch

        names = {"torch": torch} | (globals or {})
        exec(compile(setup, "setup", "exec"), names)
        self._code = compile(stmt, "stmt", "exec")
        self._names, self._clock = names, timer
        self._title = f"{label or stmt}{f': {sub_label}' if sub_label else ''}"
        self._words = (label or stmt, sub_label or stmt, description, num_threads)

    def timeit(self, number: int = 1000000) -> Measurement:
        r"""So many runs, as one series."""
        self._seconds(max(number // 100, 2))
        return Measurement(number, [self._seconds(number)], self._title, self._words)

    def _seconds(self, number: int) -> float:
        code, names = self._code, self._names
        begun = self._clock()
        for _ in range(number):
            exec(code, names)
        return self._clock() - begun

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        r"""Series of so many runs that each takes long enough to be measured."""
        number, took = 1, self._seconds(1)
        while took < min_run_time / 100:
            number *= 10
            took = self._seconds(number)
        times = [took]
        while sum(times) < min_run_time:
            times.append(self._seconds(number))
        return Measurement(number, times, self._title, self._words)

    adaptive_autorange = blocked_autorange


class Compare:
    r"""A table of measurements: a row for each thing measured, a column for each way."""

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results = list(results)

    def trim_significant_figures(self) -> None:
        r"""The digits are few already."""

    def colorize(self, rowwise: bool = False) -> None:
        r"""The table has no colours."""

    def __str__(self) -> str:
        columns = list(dict.fromkeys(str(one.description) for one in self._results))
        rows = list(dict.fromkeys(str(one.sub_label) for one in self._results))
        found = {(str(one.sub_label), str(one.description)): one for one in self._results}
        table = [["", *columns]]
        for row in rows:
            cells = [found.get((row, column)) for column in columns]
            table.append([row, *(_with_unit(one.median) if one else "" for one in cells)])
        widths = [max(len(line[place]) for line in table) for place in range(len(table[0]))]
        return "\n".join(
            "  |  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for line in table
        )

    def print(self) -> None:
        r"""Prints the table."""
        print(self)  # noqa: T201

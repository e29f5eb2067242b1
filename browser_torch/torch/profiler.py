r"""Nothing is profiled here: a name for a part of a program changes nothing."""

from collections.abc import Callable
from typing import Any

from torch._absent import absent


class record_function:
    r"""Gives a part of a program a name, within `with` or as a decorator."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name

    def __enter__(self) -> "record_function":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function


_INSTEAD = {"profile": "time.perf_counter, or utils.benchmark.Timer"}
__getattr__ = absent("module 'torch.profiler'", lambda: list(globals()), _INSTEAD)

r"""Nothing is compiled here: what steers a compiler does nothing."""

from collections.abc import Callable
from typing import Any


def is_compiling() -> bool:
    r"""No."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def disable(fn: Any = None, recursive: bool = True, **options: Any) -> Any:
    r"""The function itself."""
    return fn if fn is not None else lambda function: function


def allow_in_graph(fn: Any) -> Any:
    r"""The function itself."""
    return fn


assume_constant_result = allow_in_graph


def reset() -> None:
    r"""There is nothing to forget."""


def cudagraph_mark_step_begin() -> None:
    r"""There are no graphs."""


class set_stance:
    r"""Changes nothing, alone, within `with` and as a decorator."""

    def __init__(self, stance: str = "default", **options: Any) -> None:
        self.stance = stance

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        pass

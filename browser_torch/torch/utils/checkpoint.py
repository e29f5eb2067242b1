r"""Memory for time: here nothing is computed a second time."""

from collections.abc import Callable
from typing import Any


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, **options: Any
) -> Any:
    r"""What the function gives."""
    options.pop("preserve_rng_state", None)
    return function(*args, **options)

r"""Nothing is compiled here: a script of a function is the function itself."""

from collections.abc import Callable
from typing import Any

from torch._absent import absent


def script(obj: Any, *args: Any, **options: Any) -> Any:
    r"""The function or the module itself."""
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **options: Any) -> Any:
    r"""The function or the module itself, once it has run on the inputs."""
    inputs = example_inputs if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    func(*inputs)
    return func


def ignore(drop: Any = False, **options: Any) -> Any:
    r"""The function itself."""
    return drop if callable(drop) else lambda function: function


def export(fn: Callable[..., Any]) -> Callable[..., Any]:
    r"""The function itself."""
    return fn


unused = export


def is_scripting() -> bool:
    r"""No."""
    return False


is_tracing = is_scripting

_INSTEAD = {name: "the module itself" for name in ("ScriptModule", "load", "save", "freeze")}
__getattr__ = absent("module 'torch.jit'", lambda: list(globals()), _INSTEAD)

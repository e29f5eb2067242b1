r"""NumPy's words for axes, which PyTorch understands wherever it takes `dim` or `keepdim`."""

from collections.abc import Callable
from typing import Any

from torch._tensor import Tensor, in_words_of_numpy

# PyTorch has these in Python, where it takes its own words alone.
_OWN_WORDS = {"norm", "split", "unflatten", "unique", "unique_consecutive"}
# They are asked for all the time, and hardly ever in this way.
_OFTEN = {"size", "stride", "unsqueeze"}


def takes_axis(name: str, function: Any) -> bool:
    r"""Whether a function takes `dim`, and no `axis` yet."""
    if name[0] == "_" or name in _OWN_WORDS:
        return False
    if "axis" in getattr(function, "also_takes", ()):
        return False
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return "dim" in names and "axis" not in names


def with_axis(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    r"""The function, which takes `axis` as well if it takes `dim`."""
    return in_words_of_numpy(function) if takes_axis(name, function) else function


for _name, _function in list(vars(Tensor).items()):
    if _name not in _OFTEN and takes_axis(_name, _function):
        setattr(Tensor, _name, in_words_of_numpy(_function))

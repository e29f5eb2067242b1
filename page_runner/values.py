r"""
---
title: Tensors in a value
summary: What a line has bound may be a tensor, or hold some.
---

A line binds a tensor, a tuple of two, a dictionary of parameters, a dataclass. Each tensor in it is
told by the name with which the line's reader would reach it.
"""

import itertools
import sys
from collections.abc import Iterator
from typing import Any

# The first elements of a long list say enough.
MOST_ELEMENTS = 8


def is_tensor(value: Any) -> bool:
    r"""
    ## Is a value a tensor?

    Where nothing has imported PyTorch, nothing is.
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def tensors_in(name: str, value: Any, depth: int = 2) -> Iterator[tuple[str, Any]]:
    r"""
    ## The tensors in a value, with their names

    A tensor has the name of the value. Those in a tuple, list, dictionary, named tuple or
    dataclass have the name with which one would reach them, `return[0]` or `state.mean`. The value
    may hold values that hold tensors, but nothing deeper is looked at.
    """
    if is_tensor(value):
        yield name, value
    elif depth:
        for part, inner in itertools.islice(parts_of(value), MOST_ELEMENTS):
            yield from tensors_in(f"{name}{part}", inner, depth - 1)


def parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    r"""
    ## What a value holds, and how to reach it
    """
    names = getattr(type(value), "__dataclass_fields__", getattr(type(value), "_fields", ()))
    if names:
        yield from ((f".{name}", getattr(value, name, None)) for name in names)
    elif isinstance(value, tuple | list):
        yield from ((f"[{index}]", part) for index, part in enumerate(value))
    elif isinstance(value, dict):
        # Keys of other kinds may print differently in every run.
        named = ((key, part) for key, part in value.items() if isinstance(key, str | int))
        yield from ((f"[{key!r}]", part) for key, part in named)

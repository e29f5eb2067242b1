r"""Derivatives of functions at a place, as tensors."""

from collections.abc import Callable
from typing import Any

from torch import func as functions
from torch._making import ones_like
from torch._tensor import Tensor

Function = Callable[..., Any]


def _of(inputs: Any) -> tuple[Any, ...]:
    return inputs if isinstance(inputs, tuple) else (inputs,)


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    r"""All derivatives of a result: its axes, then those of the input."""
    places = tuple(range(len(inputs))) if isinstance(inputs, tuple) else 0
    found = functions.jacrev(func, places)(*_of(inputs))
    return found if create_graph else _cut(found)


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    r"""All second derivatives of a number."""
    places = tuple(range(len(inputs))) if isinstance(inputs, tuple) else 0
    found = functions.hessian(func, places)(*_of(inputs))
    return found if create_graph else _cut(found)


def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    r"""The result, and the gradients of the inputs from that of the result."""
    value, back = functions.vjp(func, *_of(inputs))
    found = back(ones_like(value) if v is None else v)
    found = found if isinstance(inputs, tuple) else found[0]
    return value, found if create_graph else _cut(found)


def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    r"""The result, and how it changes where the inputs move by `v`."""
    moves = tuple(ones_like(one) for one in _of(inputs)) if v is None else _of(v)
    value, found = functions.jvp(func, _of(inputs), moves)
    return value, found if create_graph else _cut(found)


def _cut(tree: Any) -> Any:
    if isinstance(tree, Tensor):
        return tree.detach()
    return tuple(_cut(one) for one in tree)

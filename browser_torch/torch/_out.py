r"""`out=`: the result of a function goes into a tensor that is there."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from torch._dtypes import c_name, scalar_name
from torch._tape import Mode, check_in_place, no_grad
from torch._tensor import Tensor, share_memory

# What converts its result, if the type of `out` can hold it; all others want their own type.
_CONVERT = (
    "torch._elementwise",
    "torch._formulas",
    "torch._gamma",
    "torch._joining",
    "torch._pairs",
)


def with_out(function: Callable[..., Any]) -> Callable[..., Any]:
    r"""A function that takes `out`, a tensor or several."""
    strict = function.__module__ not in _CONVERT

    @wraps(function)
    def either(*args: Any, out: Any = None, **options: Any) -> Any:
        if out is None:
            return function(*args, **options)
        targets = out if isinstance(out, (tuple, list)) else (out,)
        given = [one for one in (*args, *options.values(), *targets) if isinstance(one, Tensor)]
        if Mode.grad and any(one.requires_grad for one in given):
            raise RuntimeError(
                f"{function.__name__}(): functions with out=... arguments don't support automatic "
                "differentiation, but one of the arguments requires grad."
            )
        with no_grad():
            made = function(*args, **options)
            results = made if isinstance(made, tuple) else (made,)
            for target, result in zip(targets, results, strict=True):
                _put(target, result, strict)
        return out

    either.also_takes = (*getattr(function, "also_takes", ()), "out")
    return either


def _put(target: Tensor, result: Tensor, strict: bool) -> None:
    r"""The result into memory of the same shape, or into new memory under the same name."""
    if strict and target.dtype is not result.dtype:
        raise RuntimeError(
            f"Expected out tensor to have dtype {c_name(result.dtype)}, but got "
            f"{c_name(target.dtype)} instead"
        )
    if result.dtype.kind > target.dtype.kind:
        raise RuntimeError(
            f"result type {scalar_name(result.dtype)} can't be cast to the desired output type "
            f"{scalar_name(target.dtype)}"
        )
    check_in_place(target)
    if target.shape == result.shape:
        target.copy_(result)
    else:
        counter = target._counter
        share_memory(target, result.to(target.dtype))
        target._counter = counter
        counter.version += 1

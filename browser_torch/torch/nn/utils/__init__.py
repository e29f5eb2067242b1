r"""What is done to parameters and their gradients."""

import math
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from torch._dtypes import float32
from torch._joining import cat, stack
from torch._making import tensor
from torch._memory import Operation, run
from torch._raw import Reduction, Unary, unary
from torch._tape import Mode, no_grad
from torch._tensor import Tensor, new, view_of
from torch.nn.utils import rnn

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "get_total_norm",
    "parameters_to_vector",
    "rnn",
    "vector_to_parameters",
]


def get_total_norm(
    tensors: Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: Any = None,
) -> Tensor:
    r"""The length of all tensors together."""
    given = list(tensors)
    if not given:
        return tensor(0.0)
    if norm_type == 2 and not Mode.grad and all(one.dtype is float32 for one in given):
        lengths = _lengths(given)
    else:
        lengths = stack([one.norm(norm_type) for one in given])
    total = lengths.norm(norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {float(norm_type)} for gradients from `parameters` is "
            "non-finite, so it cannot be clipped. To disable this error and scale the gradients by "
            "the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def _lengths(tensors: list[Tensor]) -> Tensor:
    r"""The root of the sum of squares of each: one root for all of them, in one piece of memory."""
    sums = new((len(tensors),), float32)
    for place, one in enumerate(tensors):
        squares = unary(Unary.SQUARE, one)
        # With a step of 0 along each axis all elements fall on one place.
        target = view_of(sums, squares.shape, (0,) * len(squares.shape), place)
        run(Operation.REDUCE, (Reduction.SUM,), target, squares)
    return unary(Unary.SQUARE_ROOT, sums)


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: Any = None,
) -> Tensor:
    r"""Shortens the gradient of all parameters together to a length."""
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    gradients = [one.grad for one in given if one.grad is not None]
    with no_grad():
        total = get_total_norm(gradients, norm_type, error_if_nonfinite)
        factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(factor)
    return total


def clip_grad_value_(parameters: Any, clip_value: float, foreach: Any = None) -> None:
    r"""Limits each number of the gradients."""
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    with no_grad():
        for one in given:
            if one.grad is not None:
                one.grad.clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    r"""All parameters behind each other."""
    return cat([one.reshape(-1) for one in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    r"""The parts of a vector as the values of parameters."""
    start = 0
    for one in parameters:
        one.data = vec[start : start + one.numel()].view(one.shape).data
        start += one.numel()


def __getattr__(name: str) -> Any:
    if name == "parametrize":
        return import_module("torch.nn.utils.parametrize")
    raise AttributeError(f"module 'torch.nn.utils' has no attribute '{name}'")

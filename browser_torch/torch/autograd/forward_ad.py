r"""Forward derivatives: how a result changes where an input moves along its tangent.

The tangent of a result comes from two walks back: a gradient is linear in the gradient that it
starts from, and the derivative of that line is the change.
"""

from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch._making import zeros_like
from torch._tape import enable_grad, run_backward
from torch._tensor import Tensor

UnpackedDualTensor = namedtuple("UnpackedDualTensor", "primal tangent")


class _Level:
    r"""The tensors that move, each with its tangent."""

    moving: list[tuple[Tensor, Tensor]] | None = None


@contextmanager
def dual_level() -> Iterator[None]:
    r"""Tensors have tangents within."""
    if _Level.moving is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _Level.moving = []
    try:
        yield
    finally:
        _Level.moving = None


def make_dual(tensor: Tensor, tangent: Tensor, *, level: Any = None) -> Tensor:
    r"""A tensor that moves along a tangent."""
    if _Level.moving is None:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists")
    with enable_grad():
        dual = tensor.view_as(tensor) if tensor.requires_grad else tensor.detach().requires_grad_()
    _Level.moving.append((dual, tangent))
    return dual


def unpack_dual(tensor: Tensor, *, level: Any = None) -> UnpackedDualTensor:
    r"""A tensor and its tangent; None if it doesn't depend on what moves."""
    if not _Level.moving or not tensor.requires_grad:
        return UnpackedDualTensor(tensor, None)
    for dual, tangent in _Level.moving:
        if dual is tensor:
            return UnpackedDualTensor(tensor.detach(), tangent)
    with enable_grad():
        start = zeros_like(tensor).requires_grad_()
        duals = [dual for dual, _ in _Level.moving]
        slopes = run_backward([tensor], [start], duals, True, True)
    pairs = [
        (slope, tangent)
        for slope, (_, tangent) in zip(slopes, _Level.moving, strict=True)
        if slope is not None
    ]
    if not pairs:
        return UnpackedDualTensor(tensor, None)
    roots = [slope for slope, _ in pairs if slope.requires_grad]
    tangents = [tangent for slope, tangent in pairs if slope.requires_grad]
    found = run_backward(roots, tangents, [start], False, True)[0] if roots else None
    return UnpackedDualTensor(tensor.detach(), zeros_like(tensor) if found is None else found)

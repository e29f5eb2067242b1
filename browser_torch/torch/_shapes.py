r"""Shapes and strides: numbers only, no tensor."""

import math
import operator
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

Shape = tuple[int, ...]


class Size(tuple):
    r"""A shape."""

    __slots__ = ()

    def numel(self) -> int:
        r"""How many elements a tensor of this shape has."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __getitem__(self, at: Any) -> Any:
        got = tuple.__getitem__(self, at)
        return Size(got) if isinstance(at, slice) else got

    def __add__(self, other: Iterable[int]) -> "Size":
        return Size(tuple.__add__(self, tuple(other)))


def contiguous_strides(shape: Sequence[int]) -> Shape:
    r"""The strides of a tensor whose elements follow each other in memory."""
    return _contiguous_strides(tuple(shape))


# Few shapes come again and again, so what was found for them is kept.
_kept = lru_cache(4096)


# `Size` would be slow to ask.
@_kept
def _contiguous_strides(shape: Shape) -> Shape:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size or 1
    return tuple(reversed(strides))


def broadcast(a: Shape, b: Shape) -> Shape:
    r"""The shape of `a + b`: aligned at the right, a size of 1 becomes that of the other."""
    if a == b:
        return a
    return _broadcast(tuple(a), tuple(b))


@_kept
def _broadcast(a: Shape, b: Shape) -> Shape:
    axes = max(len(a), len(b))
    shape = []
    for axis in range(axes):
        x = a[axis - axes] if axis >= axes - len(a) else 1
        y = b[axis - axes] if axis >= axes - len(b) else 1
        if x != y and x != 1 and y != 1:
            raise RuntimeError(
                f"The size of tensor a ({x}) must match the size of tensor b ({y}) at "
                f"non-singleton dimension {axis}"
            )
        shape.append(y if x == 1 else x)
    return tuple(shape)


def expanded_strides(shape: Shape, strides: Shape, wanted: Shape) -> Shape:
    r"""The strides that show a tensor in a larger shape: an axis that is repeated has stride 0."""
    return strides if shape == wanted else _expanded_strides(shape, strides, wanted)


@_kept
def _expanded_strides(shape: Shape, strides: Shape, wanted: Shape) -> Shape:
    new = len(wanted) - len(shape)
    if new < 0:
        raise RuntimeError(
            f"expand(torch.FloatTensor{{{list(shape)}}}, size={list(wanted)}): the number of sizes "
            f"provided ({len(wanted)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({len(shape)})"
        )
    steps = [0] * new
    for size, larger, stride in zip(shape, wanted[new:], strides, strict=True):
        if size != larger and size != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({larger}) must match the existing size ({size}) "
                f"at non-singleton dimension {len(steps)}.  Target sizes: {list(wanted)}.  "
                f"Tensor sizes: {list(shape)}"
            )
        steps.append(stride if size == larger else 0)
    return tuple(steps)


def wrap_axis(axis: Any, axes: int) -> int:
    r"""A number of an axis, where -1 is the last one."""
    number = as_int(axis)
    reach = max(axes, 1)
    if not -reach <= number < reach:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-reach}, {reach - 1}], "
            f"but got {number})"
        )
    return number + reach if number < 0 else number


def wrap_axes(dims: Any, axes: int) -> list[int]:
    r"""Several axes; None and no axis at all stand for every one."""
    if dims is None or (isinstance(dims, (tuple, list)) and not dims):
        return list(range(axes))
    if not isinstance(dims, (tuple, list)):
        dims = [dims]
    wrapped = [wrap_axis(axis, axes) for axis in dims]
    for axis in wrapped:
        if wrapped.count(axis) > 1:
            raise RuntimeError(f"dim {axis} appears multiple times in the list of dims")
    return [axis for axis in wrapped if axis < axes]


def as_int(number: Any) -> int:
    r"""An integer, or TypeError: a floating-point number is none."""
    if isinstance(number, bool):
        return int(number)
    return operator.index(number)


def shape_of_arguments(sizes: tuple[Any, ...]) -> Shape:
    r"""`f(2, 3)` and `f((2, 3))` mean the same shape."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = tuple(sizes[0])
    return tuple([size if type(size) is int else as_int(size) for size in sizes])


@_kept
def fit_shape(given: Shape, count: int) -> Shape:
    r"""A shape for so many elements, where -1 stands for what is left."""
    sizes = list(given)
    invalid = RuntimeError(f"shape '{sizes}' is invalid for input of size {count}")
    if sizes.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    for size in sizes:
        if size < -1:
            raise RuntimeError(f"invalid shape dimension {size}")
    if -1 in sizes:
        known = -math.prod(sizes)
        if known == 0:
            raise RuntimeError(
                f"cannot reshape tensor of {count} elements into shape {sizes} because the "
                "unspecified dimension size -1 can be any value and is ambiguous"
            )
        if count % known:
            raise invalid
        sizes[sizes.index(-1)] = count // known
    if math.prod(sizes) != count:
        raise invalid
    return tuple(sizes)


@_kept
def view_strides(shape: Shape, strides: Shape, wanted: Shape) -> Shape | None:
    r"""The strides that show the same memory in another shape; None if there are none."""
    if math.prod(wanted) == 0:
        return contiguous_strides(wanted)
    # Axes that follow each other in memory are one piece; each new axis is a part of one piece.
    pieces: list[list[int]] = []
    for size, stride in zip(shape, strides, strict=True):
        if size == 1:
            continue
        if pieces and pieces[-1][1] == size * stride:
            pieces[-1] = [pieces[-1][0] * size, stride]
        else:
            pieces.append([size, stride])
    left, step = pieces.pop() if pieces else [1, 1]
    steps = []
    for size in reversed(wanted):
        if size != 1 and left == 1 and pieces:
            left, step = pieces.pop()
        if left % size:
            return None
        steps.append(step)
        left //= size
        step *= size
    return tuple(reversed(steps))


@_kept
def is_contiguous(shape: Shape, strides: Shape) -> bool:
    r"""Whether the elements follow each other in memory."""
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 1:
            continue
        if stride != expected:
            return 0 in shape
        expected *= size
    return True


def axes_in_memory(shape: Shape, *strides: Shape) -> list[int] | None:
    r"""The order of the axes in the memory of an elementwise result, the outermost first.

    PyTorch keeps the order of its arguments, so that a transposed argument has a transposed
    result, and random numbers fill memory in that order. None stands for the plain order.
    """
    shape, axes = tuple(shape), len(shape)
    order = list(range(axes - 1, -1, -1))
    for start in range(1, axes):
        at = start
        for before in range(start - 1, -1, -1):
            compared = _compare_axes(order[before], order[at], shape, strides)
            if compared > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif compared < 0:
                break
    order.reverse()
    return None if order == list(range(axes)) else order


def _compare_axes(a: int, b: int, shape: Shape, strides: tuple[Shape, ...]) -> int:
    r"""Above 0 if axis `a` should lie outside of axis `b`; 0 if nothing tells."""
    for steps in strides:
        if steps[a] == 0 or steps[b] == 0:
            continue
        if steps[a] != steps[b]:
            return 1 if steps[a] > steps[b] else -1
        if shape[a] > shape[b]:
            return 1
    return 0


def strides_in_order(shape: Shape, order: Sequence[int]) -> Shape:
    r"""The strides of a new tensor whose axes lie in memory in this order."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis] or 1
    return tuple(strides)


@_kept
def strides_of_result(shape: Shape, *strides: Shape) -> Shape | None:
    r"""The strides of a result whose arguments have these; None stands for the plain ones."""
    if len(shape) < 2:
        return None
    plain = contiguous_strides(shape)
    if all(one == plain for one in strides):
        return None
    order = axes_in_memory(shape, *strides)
    return strides_in_order(shape, order) if order else None

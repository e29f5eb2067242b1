r"""Tensors side by side, taken apart, turned, and in other shapes."""

import math
from collections.abc import Callable
from typing import Any

from torch._elementwise import fit_gradient, need_tensor
from torch._joining import cat, fliplr, flipud, hstack, stack
from torch._making import tensor
from torch._raw import copy_into
from torch._shapes import contiguous_strides, shape_of_arguments
from torch._tensor import Tensor, alias_of, method, new, share_memory, view_of
from torch._views import split, tensor_split

method(fliplr)
method(flipud)


def _at_least(name: str, widen: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    def function(*tensors: Any) -> Any:
        single = len(tensors) == 1
        if single and isinstance(tensors[0], Tensor):
            return widen(tensors[0])
        given = tensors[0] if single and isinstance(tensors[0], (list, tuple)) else tensors
        for one in given:
            if not isinstance(one, Tensor):
                raise TypeError(
                    f"{name}() received an invalid combination of arguments - got "
                    f"({type(one).__name__})"
                )
        return tuple(widen(one) for one in given)

    function.__name__ = name
    return function


def _as_1d(one: Tensor) -> Tensor:
    return one if one.shape else one.reshape(1)


def _as_2d(one: Tensor) -> Tensor:
    return one if len(one.shape) > 1 else _as_1d(one).unsqueeze(0)


def _as_3d(one: Tensor) -> Tensor:
    return one if len(one.shape) > 2 else _as_2d(one).unsqueeze(-1)


atleast_1d = _at_least("atleast_1d", _as_1d)
atleast_2d = _at_least("atleast_2d", _as_2d)
atleast_3d = _at_least("atleast_3d", _as_3d)


def _listed(name: str, tensors: Any) -> list[Tensor]:
    given = list(tensors)
    if not given:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return given


def column_stack(tensors: Any) -> Tensor:
    r"""Vectors as columns, beside matrices."""
    given = _listed("column_stack", tensors)
    return hstack([one if len(one.shape) > 1 else one.reshape(-1, 1) for one in given])


def dstack(tensors: Any) -> Tensor:
    r"""Behind each other, along the third axis."""
    return cat([_as_3d(one) for one in _listed("dstack", tensors)], 2)


def _splitter(name: str, axes: int) -> Callable[..., tuple[Tensor, ...]]:
    def function(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        need_tensor(name, input)
        if len(input.shape) < axes:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {axes} dimension, but got a tensor "
                f"with {len(input.shape)} dimensions!"
            )
        axis = {"hsplit": min(1, len(input.shape) - 1), "vsplit": 0, "dsplit": 2}[name]
        if isinstance(indices_or_sections, int):
            count, size = indices_or_sections, input.shape[axis]
            if count <= 0 or size % count:
                raise RuntimeError(
                    f"torch.{name} attempted to split along dimension {axis}, but the size of the "
                    f"dimension {size} is not divisible by the split_size {count}!"
                )
        return tensor_split(input, indices_or_sections, axis)

    function.__name__ = name
    return method(function)


hsplit, vsplit, dsplit = _splitter("hsplit", 1), _splitter("vsplit", 2), _splitter("dsplit", 3)


def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    r"""Parts of these sizes."""
    return split(input, split_sizes, dim)


@method
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    r"""Quarter turns of the plane of two axes."""
    need_tensor("rot90", input)
    axes = len(input.shape)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if axes < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {axes}")
    first, second = dims
    if first == second or abs(first - second) == axes:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {first} and dim1 = {second}"
        )
    for place, one in enumerate(dims):
        if not -axes <= one < axes:
            raise RuntimeError(f"Rotation dim{place} out of range, dim{place} = {one}")
    turns = k % 4
    if turns == 1:
        return input.flip(second).transpose(first, second)
    if turns == 2:
        return input.flip(dims)
    if turns == 3:
        return input.flip(first).transpose(first, second)
    return input.clone()


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    r"""The places along all axes, of the places in a row."""
    if not isinstance(indices, Tensor):
        raise TypeError(
            f"Unsupported type for indices: {type(indices).__name__}, expected a tensor"
        )
    sizes = tensor(shape).tolist() if isinstance(shape, Tensor) else shape
    sizes = [sizes] if isinstance(sizes, int) else list(sizes)
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    if not sizes:
        return ()
    places = [
        indices.div(step, rounding_mode="floor") % size
        for step, size in zip(contiguous_strides(sizes), sizes, strict=True)
    ]
    return stack(places, -1).unbind(-1)


@method
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    r"""Sums, so that a smaller shape is left, from which this one is broadcast."""
    wanted = shape_of_arguments(size)
    axes = len(input.shape)
    rest = input.shape[axes - len(wanted) :] if len(wanted) <= axes else None
    if rest is None or any(one not in (1, own) for one, own in zip(wanted, rest, strict=True)):
        raise RuntimeError(
            f"size {{{list(wanted)}}} is not expandable to size {{{list(input.shape)}}}."
        )
    return fit_gradient(input, wanted) if wanted else input.sum()


def _put_into(self: Tensor, shape: tuple[int, ...]) -> Tensor:
    r"""The first elements of the memory in another shape; what is new is 0."""
    count = math.prod(shape)
    have = (self._storage.n_bytes - self._offset * self.itemsize) // self.itemsize
    if count <= have:
        self.shape = view_of(self, shape, contiguous_strides(shape), 0).shape
        self._strides = contiguous_strides(shape)
        return self
    larger = new((count,), self.dtype)
    memory = view_of(self, (have,), (1,), self._offset)
    copy_into(view_of(larger, (have,), (1,), 0), memory)
    counter = self._counter
    share_memory(self, view_of(larger, shape, contiguous_strides(shape), 0))
    self._counter = counter
    return self


@method
def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    r"""Another shape, whatever fits into the memory."""
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    return _put_into(self, shape_of_arguments(sizes))


@method
def resize_as_(self: Tensor, the_template: Tensor) -> Tensor:
    r"""The shape of another tensor."""
    return resize_(self, the_template.shape)


@method
def as_strided_(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    r"""Looks at its memory in another way from now on."""
    view = alias_of(self).as_strided(size, stride, storage_offset)
    self.shape, self._strides, self._offset = view.shape, view._strides, view._offset
    return self


def _new(self: Tensor, *args: Any) -> Tensor:
    r"""A tensor of the same type, of a shape or of numbers."""
    if len(args) == 1 and isinstance(args[0], Tensor):
        return alias_of(args[0])
    if len(args) == 1 and isinstance(args[0], list):
        return tensor(args[0], dtype=self.dtype)
    return new(shape_of_arguments(args) if args else (0,), self.dtype)


method(_new, "new")

r"""Other looks at the same memory: only shape, strides and offset change."""

import math
from collections.abc import Sequence
from typing import Any

from torch._dtypes import dtype
from torch._elementwise import fit_gradient
from torch._raw import (
    contiguous as raw_contiguous,
)
from torch._raw import copy_into, dense_copy, filled
from torch._shapes import (
    Shape,
    as_int,
    contiguous_strides,
    expanded_strides,
    fit_shape,
    is_contiguous,
    shape_of_arguments,
    view_strides,
    wrap_axes,
    wrap_axis,
)
from torch._tape import record, record_parts, record_view
from torch._tensor import Tensor, alias_of, in_words_of_numpy, method, view_of


@method
def view(input: Tensor, *shape: Any, size: Any = None) -> Tensor:
    r"""The same elements in another shape, without a copy."""
    if len(shape) == 1 and isinstance(shape[0], dtype):
        return _view_as_type(input, shape[0])
    wanted = fit_shape(shape_of_arguments(shape or (size,)), input.numel())
    strides = view_strides(input.shape, input._strides, wanted)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return _as_view(input, wanted, strides, "View")


def _as_view(input: Tensor, shape: Shape, strides: Shape, name: str) -> Tensor:
    old = input.shape
    out = view_of(input, shape, strides, input._offset)
    return record_view(out, input, lambda gradient: (gradient.reshape(old),), name)


def _view_as_type(input: Tensor, d: dtype) -> Tensor:
    r"""The same bytes as numbers of another type."""
    old = input.dtype.itemsize
    if old == d.itemsize:
        out = view_of(input, input.shape, input._strides, input._offset)
        out.dtype = d
        return out
    if not input.shape:
        raise RuntimeError(
            "self.dim() cannot be 0 to view a tensor as another with different element sizes"
        )
    row = input.shape[-1] * old
    if row % d.itemsize or input._offset * old % d.itemsize:
        raise RuntimeError(
            f"self.size(-1) must be divisible by {d.itemsize // old} to view {input.dtype} as {d} "
            f"(different element sizes), but got {input.shape[-1]}"
        )
    if not input.is_contiguous():
        raise RuntimeError(
            f"self.stride(-1) must be 1 to view {input.dtype} as {d} (different element sizes)"
        )
    shape = (*input.shape[:-1], row // d.itemsize)
    out = view_of(input, shape, contiguous_strides(shape), input._offset * old // d.itemsize)
    out.dtype = d
    return out


@method
def reshape(input: Tensor, *shape: Any) -> Tensor:
    r"""The same elements in another shape, copied if need be."""
    if not shape:
        raise TypeError("reshape(): argument 'shape' must be given")
    wanted = fit_shape(shape_of_arguments(shape), input.numel())
    strides = view_strides(input.shape, input._strides, wanted)
    if strides is not None:
        return _as_view(input, wanted, strides, "View")
    old = input.shape
    copied = raw_contiguous(input)
    out = view_of(copied, wanted, contiguous_strides(wanted), copied._offset)
    return record(out, (input,), lambda gradient: (gradient.reshape(old),), "UnsafeView")


@method
def view_as(input: Tensor, other: Tensor) -> Tensor:
    r"""In the shape of another tensor."""
    return view(input, other.shape)


@method
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    r"""In the shape of another tensor, copied if need be."""
    return reshape(input, other.shape)


@method
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    r"""Several axes as one."""
    axes = len(input.shape)
    start, end = wrap_axis(start_dim, axes), wrap_axis(end_dim, axes)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not axes:
        return input.reshape(1)
    if start == end:
        return input
    size = math.prod(input.shape[start : end + 1])
    return input.reshape(*input.shape[:start], size, *input.shape[end + 1 :])


def ravel(input: Tensor) -> Tensor:
    r"""All axes as one."""
    return input.contiguous().view(-1)


@method
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    r"""One axis as several."""
    axis = wrap_axis(dim, len(input.shape))
    sizes = [as_int(size) for size in sizes]
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    known = -math.prod(sizes) if -1 in sizes else math.prod(sizes)
    size = input.shape[axis]
    fits = known > 0 and size % known == 0 if -1 in sizes else known == size
    if sizes.count(-1) > 1 or not fits:
        raise RuntimeError(
            f"unflatten: Provided sizes {sizes} don't multiply up to the size of dim {axis} "
            f"({size}) in the input tensor"
        )
    sizes = fit_shape(tuple(sizes), size)
    return input.view(*input.shape[:axis], *sizes, *input.shape[axis + 1 :])


@method
def permute(input: Tensor, *dims: Any) -> Tensor:
    r"""The axes in another order."""
    if len(dims) == 1 and isinstance(dims[0], (tuple, list)):
        dims = tuple(dims[0])
    axes = len(input.shape)
    if len(dims) != axes:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {axes} is not equal "
            f"to len(dims) = {len(dims)}"
        )
    order = [wrap_axis(axis, axes) for axis in dims]
    if len(set(order)) != axes:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    out = view_of(
        input,
        tuple(input.shape[axis] for axis in order),
        tuple(input._strides[axis] for axis in order),
        input._offset,
    )

    def backward(gradient: Tensor) -> tuple[Tensor]:
        return (gradient.permute(sorted(range(axes), key=order.__getitem__)),)

    return record_view(out, input, backward, "Permute")


@method
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    r"""Two axes change places."""
    axes = len(input.shape)
    a, b = wrap_axis(dim0, axes), wrap_axis(dim1, axes)
    shape, strides = list(input.shape), list(input._strides)
    if axes:
        shape[a], shape[b] = shape[b], shape[a]
        strides[a], strides[b] = strides[b], strides[a]
    out = view_of(input, shape, strides, input._offset)
    return record_view(out, input, lambda gradient: (transpose(gradient, a, b),), "Transpose")


swapaxes = swapdims = transpose


@method
def t(input: Tensor) -> Tensor:
    r"""The transpose of a matrix."""
    if len(input.shape) > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {len(input.shape)}D"
        )
    return transpose(input, 0, 1) if len(input.shape) == 2 else alias_view(input)


def alias_view(input: Tensor) -> Tensor:
    r"""The same look at the same memory, as a tensor of its own."""
    return record_view(alias_of(input), input, lambda gradient: (gradient,), "Alias")


Tensor.T = property(lambda self: permute(self, *reversed(range(len(self.shape)))))


def _matrix_transpose(self: Tensor) -> Tensor:
    if len(self.shape) < 2:
        raise RuntimeError(
            "tensor.mT is only supported on matrices or batches of matrices. Got "
            f"{len(self.shape)}-D tensor."
        )
    return transpose(self, -2, -1)


Tensor.mT = property(_matrix_transpose)


@method
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    r"""Axes go to other places; the rest keep their order."""
    axes = len(input.shape)
    sources, targets = (
        [wrap_axis(axis, axes) for axis in ([one] if isinstance(one, int) else one)]
        for one in (source, destination)
    )
    if len(sources) != len(targets):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({sources} dims) should contain "
            f"the same number of dims as destination ({targets} dims)"
        )
    for name, listed in (("source", sources), ("destination", targets)):
        if len(set(listed)) < len(listed):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({listed})")
    order: list[int | None] = [None] * axes
    for old, new in zip(sources, targets, strict=True):
        order[new] = old
    rest = iter(axis for axis in range(axes) if axis not in sources)
    return permute(input, [next(rest) if axis is None else axis for axis in order])


moveaxis = movedim


@method
def unsqueeze(input: Tensor, dim: Any = None, *, axis: Any = None) -> Tensor:
    r"""A new axis of size 1."""
    dim = axis if dim is None else dim
    if dim is None:
        raise TypeError('unsqueeze() missing 1 required positional arguments: "dim"')
    axes = len(input.shape)
    axis = wrap_axis(dim, axes + 1)
    stride = input._strides[axis] * input.shape[axis] if axis < axes else 1
    shape = (*input.shape[:axis], 1, *input.shape[axis:])
    strides = (*input._strides[:axis], stride, *input._strides[axis:])
    out = view_of(input, shape, strides, input._offset)
    return record_view(out, input, lambda gradient: (gradient.squeeze(axis),), "Unsqueeze")


@method
@in_words_of_numpy
def squeeze(input: Tensor, *dims: Any, dim: Any = None) -> Tensor:
    r"""Without axes of size 1."""
    if dims:
        dim = dims[0] if len(dims) == 1 else dims
    axes = range(len(input.shape))
    dropped = [axis for axis in wrap_axes(dim, len(axes)) if input.shape[axis] == 1]
    if isinstance(dim, (tuple, list)) and not dim:
        dropped = []
    shape = tuple(input.shape[axis] for axis in axes if axis not in dropped)
    strides = tuple(input._strides[axis] for axis in axes if axis not in dropped)
    return _as_view(input, shape, strides, "Squeeze")


@method
def expand(input: Tensor, *shape: Any, size: Any = None, implicit: bool = False) -> Tensor:
    r"""Axes of size 1 are repeated, without a copy."""
    wanted = shape_of_arguments(shape or (size,))
    new = len(wanted) - len(input.shape)
    if new < 0:
        expanded_strides(input.shape, input._strides, wanted)
    full = []
    for axis, size in enumerate(wanted):
        if size == -1:
            if axis < new:
                raise RuntimeError(
                    "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                    f"dimension {axis}"
                )
            size = input.shape[axis - new]
        if size < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({size}) isn't allowed in dimension {axis}"
            )
        full.append(size)
    old = input.shape
    strides = expanded_strides(old, input._strides, tuple(full))
    out = view_of(input, tuple(full), strides, input._offset)
    return record_view(out, input, lambda gradient: (fit_gradient(gradient, old),), "Expand")


@method
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    r"""Axes of size 1 are repeated, without a copy."""
    return expand(input, size)


@method
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    r"""As large as another tensor."""
    return expand(input, other.shape)


@method
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    r"""A part of an axis."""
    if not input.shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor) and (start.shape or start.dtype.kind != 1):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    axis, size = wrap_axis(dim, len(input.shape)), 0
    size = input.shape[axis]
    start = as_int(start)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -size <= start <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    start = start + size if start < 0 else start
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return input[(*[slice(None)] * axis, slice(start, start + length))]


@method
def select(input: Tensor, dim: int, index: Any) -> Tensor:
    r"""One place of an axis."""
    axis, place = wrap_axis(dim, len(input.shape)), as_int(index)
    if not input.shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    if not -input.shape[axis] <= place < input.shape[axis]:
        raise IndexError(
            f"select(): index {place} out of range for tensor of size {list(input.shape)} at "
            f"dimension {axis}"
        )
    return input[(*[slice(None)] * axis, place)]


@method
def split(input: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    r"""Parts of an axis."""
    axis = wrap_axis(dim, len(input.shape))
    size = input.shape[axis]
    if isinstance(split_size, int):
        if split_size < 0:
            raise RuntimeError(
                f"split expects split_size be non-negative, but got split_size={split_size}"
            )
        if split_size == 0 and size:
            raise RuntimeError(
                f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}"
            )
        step = split_size or 1
        sizes = [min(step, size - start) for start in range(0, size, step)] or [0]
    else:
        sizes = [as_int(one) for one in split_size]
    if sum(sizes) != size:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size "
            f"at dimension {dim}), but got split_sizes={sizes}"
        )
    if min(sizes, default=0) < 0:
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={sizes}"
        )
    strides, start = input._strides, input._offset
    shapes, parts = [], []
    for one in sizes:
        shapes.append((*input.shape[:axis], one, *input.shape[axis + 1 :]))
        parts.append(view_of(input, shapes[-1], strides, start))
        start += one * strides[axis]

    def backward(gradients: Sequence[Tensor | None]) -> tuple[Tensor]:
        from torch._joining import cat

        d = next(one.dtype for one in gradients if one is not None)
        given = zip(gradients, shapes, strict=True)
        return (cat([filled(shape, 0, d) if one is None else one for one, shape in given], axis),)

    record_parts(parts, input, backward, "Split")
    return tuple(parts)


Tensor.split_with_sizes = split


@method
@in_words_of_numpy
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    r"""So many parts of an axis, of equal size if it can be."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = input.shape[wrap_axis(dim, len(input.shape))]
    return split(input, max(1, -(-size // chunks)), dim)


@method
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    r"""So many parts of an axis whose sizes differ by at most 1, or parts that end at places."""
    size = input.shape[wrap_axis(dim, len(input.shape))]
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        sizes = [size // count + (part < size % count) for part in range(count)]
    elif isinstance(indices_or_sections, Tensor) and not indices_or_sections.shape:
        return tensor_split(input, int(indices_or_sections), dim)
    else:
        ends = [*indices_or_sections, size]
        sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    return split(input, sizes, dim)


@method
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    r"""The slices along an axis."""
    axis = wrap_axis(dim, len(input.shape))
    if not input.shape:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return tuple(select(input, axis, place) for place in range(input.shape[axis]))


@method
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    r"""Any look at the memory."""
    offset = input._offset if storage_offset is None else storage_offset
    reach = offset + sum((one - 1) * step for one, step in zip(size, stride, strict=True))
    if math.prod(size) and (reach + 1) * input.itemsize > input._storage.n_bytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, "
            f"and itemsize {input.itemsize} requiring a storage size of "
            f"{(reach + 1) * input.itemsize} are out of bounds for storage of size "
            f"{input._storage.n_bytes}"
        )
    shape, strides, old_offset = tuple(size), tuple(stride), input._offset
    old = input.shape, input._strides

    def backward(gradient: Tensor) -> tuple[Tensor]:
        # Places that are seen twice get both gradients.
        whole = filled((input.numel(),), 0, gradient.dtype)
        from torch._making import arange

        places = arange(input.numel())
        places = view_of(places, shape, strides, offset - old_offset).reshape(-1)
        whole = whole.index_add(0, places, gradient.reshape(-1))
        return (view_of(whole, old[0], contiguous_strides(old[0]), 0),)

    return record_view(view_of(input, shape, strides, offset), input, backward, "AsStrided")


@method
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    r"""Windows along an axis, as a new last axis."""
    axis = wrap_axis(dimension, len(input.shape))
    if not input.shape:
        return unfold(input.reshape(1), 0, size, step).reshape(size)
    length = input.shape[axis]
    if size > length:
        raise RuntimeError(
            f"maximum size for tensor at dimension {axis} is {length} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    count = (length - size) // step + 1
    stride = input._strides[axis]
    shape = (*input.shape[:axis], count, *input.shape[axis + 1 :], size)
    strides = (*input._strides[:axis], stride * step, *input._strides[axis + 1 :], stride)
    old = input.shape

    def backward(gradient: Tensor) -> tuple[Tensor]:
        whole = filled(old, 0, gradient.dtype)
        if count <= size:
            for place in range(count):
                part = whole.narrow(axis, place * step, size)
                copy_into(part, part + gradient.select(axis, place).movedim(-1, axis))
            return (whole,)
        # The first places of all windows, then the second ones, and so on.
        before = (slice(None),) * axis
        for inside in range(size):
            part = whole[(*before, slice(inside, inside + (count - 1) * step + 1, step))]
            copy_into(part, part + gradient.select(-1, inside))
        return (whole,)

    out = view_of(input, shape, strides, input._offset)
    return record_view(out, input, backward, "Unfold")


@method
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    r"""The diagonal of two axes, as the last axis."""
    axes = len(input.shape)
    a, b = wrap_axis(dim1, axes), wrap_axis(dim2, axes)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    down, right = max(0, -offset), max(0, offset)
    size = max(0, min(input.shape[a] - down, input.shape[b] - right))
    kept = [axis for axis in range(axes) if axis not in (a, b)]
    old = input.shape

    def look(source: Tensor) -> Tensor:
        start = down * source._strides[a] + right * source._strides[b] if size else 0
        return view_of(
            source,
            (*(source.shape[axis] for axis in kept), size),
            (*(source._strides[axis] for axis in kept), source._strides[a] + source._strides[b]),
            source._offset + start,
        )

    def backward(gradient: Tensor) -> tuple[Tensor]:
        whole = filled(old, 0, gradient.dtype)
        copy_into(look(whole), gradient)
        return (whole,)

    return record_view(look(input), input, backward, "Diagonal")


# Copies, and the way out of the graph
@method
def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    r"""The tensor itself if its elements follow each other in memory, else a copy."""
    if is_contiguous(input.shape, input._strides):
        return input
    out = raw_contiguous(input)
    return record(out, (input,), lambda gradient: (gradient,), "Clone")


@method
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    r"""A copy with memory of its own, which is part of the graph."""
    out = dense_copy(input, input.dtype)
    return record(out, (input,), lambda gradient: (gradient,), "Clone")


@method
def detach(input: Tensor) -> Tensor:
    r"""The same memory, and no part of the graph."""
    return alias_of(input)


@method
def detach_(input: Tensor) -> Tensor:
    r"""Leaves the graph."""
    if input._base is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead.")
    input._node, input.requires_grad = None, False
    return input


@method
def positive(input: Tensor) -> Tensor:
    r"""The tensor itself."""
    return input


for _name, _function in (
    ("swapaxes", transpose),
    ("swapdims", transpose),
    ("ravel", ravel),
    ("moveaxis", movedim),
):
    method(_function, _name)

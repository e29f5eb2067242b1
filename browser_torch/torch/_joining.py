r"""Several tensors as one, and one as repetitions of itself."""

from functools import reduce
from typing import Any

from torch._dtypes import FLOATING, bool_, int64, promote_types
from torch._elementwise import truth
from torch._making import tensor
from torch._memory import Operation, run
from torch._raw import contiguous, copy_into, numbers
from torch._shapes import Size, broadcast, contiguous_strides, shape_of_arguments, wrap_axis
from torch._tape import record
from torch._tensor import Tensor, method, new, unfilled, view_of


def cat(tensors: Any, dim: int = 0, *, axis: int | None = None) -> Tensor:
    r"""Tensors behind each other, along an axis that they have."""
    if isinstance(tensors, Tensor):
        raise TypeError(
            "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor"
        )
    given = list(tensors)
    for place, one in enumerate(given):
        if not isinstance(one, Tensor):
            raise TypeError(
                f"expected Tensor as element {place} in argument 0, but got {type(one).__name__}"
            )
    if not given:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for place, one in enumerate(given):
        if not one.shape:
            raise RuntimeError(
                f"zero-dimensional tensor (at position {place}) cannot be concatenated"
            )
    # An empty tensor of one axis fits everywhere, for old times' sake.
    parts = [one for one in given if one.shape != (0,)] or given[:1]
    first = parts[0]
    d = reduce(promote_types, (one.dtype for one in given))
    axis = wrap_axis(dim if axis is None else axis, len(first.shape))
    for place, one in enumerate(parts):
        _check_joined(first, one, axis, place)
    sizes = [one.shape[axis] for one in parts]
    out = unfilled((*first.shape[:axis], sum(sizes), *first.shape[axis + 1 :]), d)
    start = 0
    for one, size in zip(parts, sizes, strict=True):
        copy_into(view_of(out, one.shape, out._strides, start * out._strides[axis]), one)
        start += size
    if len(parts) == len(given):
        return record(out, parts, lambda gradient: gradient.split(sizes, axis), "Cat")

    def backward(gradient: Tensor) -> list[Tensor]:
        pieces = iter(gradient.split(sizes, axis))
        return [new((0,), d) if one.shape == (0,) else next(pieces) for one in given]

    return record(out, given, backward, "Cat")


concat = concatenate = cat


def _check_joined(first: Tensor, one: Tensor, axis: int, place: int) -> None:
    if len(one.shape) != len(first.shape):
        raise RuntimeError(
            f"Tensors must have same number of dimensions: got {len(first.shape)} and "
            f"{len(one.shape)}"
        )
    for other, (expected, size) in enumerate(zip(first.shape, one.shape, strict=True)):
        if other != axis and expected != size:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {axis}. Expected size {expected} "
                f"but got size {size} for tensor number {place} in the list."
            )


def stack(tensors: Any, dim: int = 0) -> Tensor:
    r"""Tensors of one shape beside each other, along a new axis."""
    if isinstance(tensors, Tensor):
        raise TypeError(
            "stack(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor"
        )
    given = list(tensors)
    for place, one in enumerate(given):
        if not isinstance(one, Tensor):
            raise TypeError(
                f"expected Tensor as element {place} in argument 0, but got {type(one).__name__}"
            )
    if not given:
        raise RuntimeError("stack expects a non-empty TensorList")
    for place, one in enumerate(given):
        if one.shape != given[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(given[0].shape)} at "
                f"entry 0 and {list(one.shape)} at entry {place}"
            )
    axis = wrap_axis(dim, len(given[0].shape) + 1)
    return cat([one.unsqueeze(axis) for one in given], axis)


def hstack(tensors: Any) -> Tensor:
    r"""Side by side."""
    given = list(tensors)
    if not given:
        raise RuntimeError("hstack expects a non-empty TensorList")
    return cat(given, 0 if len(given[0].shape) == 1 else 1)


def vstack(tensors: Any) -> Tensor:
    r"""Below each other."""
    if not tensors:
        raise RuntimeError("vstack expects a non-empty TensorList")
    return cat([one.unsqueeze(0) if len(one.shape) == 1 else one for one in tensors], 0)


row_stack = vstack


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    r"""All in the shape that their sum would have."""
    shape = reduce(broadcast, (one.shape for one in tensors))
    return tuple(one.expand(shape) for one in tensors)


def broadcast_shapes(*shapes: Any) -> Size:
    r"""The shape of a sum of tensors of these shapes."""
    return Size(
        reduce(broadcast, ((one,) if isinstance(one, int) else tuple(one) for one in shapes))
    )


@method
def repeat(input: Tensor, *repeats: Any) -> Tensor:
    r"""Copies behind each other, so many along each axis."""
    counts = shape_of_arguments(repeats)
    if len(counts) < len(input.shape):
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    shape = (*[1] * (len(counts) - len(input.shape)), *input.shape)
    # Each axis becomes two: the copies, and the elements of one.
    pairs = [size for pair in zip(counts, shape, strict=True) for size in pair]
    split = [size for one in shape for size in (1, one)]
    full = [count * size for count, size in zip(counts, shape, strict=True)]
    return input.reshape(split).expand(pairs).reshape(full).clone()


@method
def tile(input: Tensor, *dims: Any) -> Tensor:
    r"""Copies behind each other; axes that are not named come once."""
    counts = shape_of_arguments(dims)
    missing = len(input.shape) - len(counts)
    return repeat(input, *[1] * max(0, missing), *counts)


@method
def repeat_interleave(
    input: Tensor, repeats: Any, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    r"""Each element so many times in a row."""
    if dim is None:
        input, dim = input.flatten(), 0
    axis = wrap_axis(dim, len(input.shape))
    size = input.shape[axis]
    if isinstance(repeats, Tensor):
        counts = repeats.tolist() if repeats.shape else [repeats.item()]
        counts = counts * size if len(counts) == 1 else counts
        if len(counts) != size:
            raise RuntimeError(
                f"repeats must have the same size as input along dim, but got repeats.size(0) = "
                f"{len(counts)} and input.size({axis}) = {size}"
            )
        places = [place for place, count in enumerate(counts) for _ in range(count)]
        return input.index_select(axis, tensor(places, dtype=int64))
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    shape = list(input.shape)
    wide = input.unsqueeze(axis + 1).expand(*shape[: axis + 1], repeats, *shape[axis + 1 :])
    return wide.reshape(*shape[:axis], size * repeats, *shape[axis + 1 :]).clone()


@method
def flip(input: Tensor, *given: Any, dims: Any = None) -> Tensor:
    r"""Axes in the opposite direction."""
    axes = given if dims is None else dims
    axes = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
    listed = [wrap_axis(axis, len(input.shape)) for axis in axes]
    if len(set(listed)) < len(listed):
        raise RuntimeError(f"dim {listed[-1]} appears multiple times in the list of dims")
    if not input.shape or not listed:
        return input.clone()
    for axis in listed:
        places = list(range(input.shape[axis]))[::-1]
        input = input.index_select(axis, tensor(places, dtype=int64))
    return input


def fliplr(input: Tensor) -> Tensor:
    r"""Columns from right to left."""
    if len(input.shape) < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


def flipud(input: Tensor) -> Tensor:
    r"""Rows from the last to the first."""
    if not input.shape:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


@method
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    r"""Elements move along axes; what leaves at the end comes in at the start."""
    if dims is None or dims == ():
        return roll(input.flatten(), shifts, 0).view(input.shape)
    shifts = [shifts] if isinstance(shifts, int) else shifts
    dims = [dims] if isinstance(dims, int) else dims
    if len(shifts) != len(dims):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}"
        )
    for shift, axis in zip(shifts, dims, strict=True):
        axis = wrap_axis(axis, len(input.shape))
        size = input.shape[axis]
        if size:
            places = [(place - shift) % size for place in range(size)]
            input = input.index_select(axis, tensor(places, dtype=int64))
    return input


def _triangle(name: str, lower: int) -> Any:
    def function(input: Tensor, diagonal: int = 0) -> Tensor:
        if len(input.shape) < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        source = contiguous(input)
        out = new(input.shape, input.dtype)
        run(Operation.TRIANGLE, (lower, int(diagonal)), out, source)
        title = name.capitalize()
        return record(out, (input,), lambda gradient: (function(gradient, diagonal),), title)

    function.__name__ = name
    return method(function)


tril, triu = _triangle("tril", 1), _triangle("triu", 0)


@method
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    r"""The diagonal of a matrix, or the matrix with this diagonal."""
    if len(input.shape) == 2:
        return input.diagonal(diagonal).clone()
    if len(input.shape) != 1:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {len(input.shape)}D")
    return diag_embed(input, diagonal)


@method
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    r"""Matrices with these diagonals, along two new axes."""
    axes = len(input.shape) + 1
    first = wrap_axis(dim1, axes)
    second = wrap_axis(dim2, axes)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if (first, second) != (axes - 2, axes - 1):
        return diag_embed(input, offset).movedim((-2, -1), (first, second))
    size = input.shape[-1] + abs(offset)
    out = new((*input.shape[:-1], size, size), input.dtype)
    down, right = max(0, -offset), max(0, offset)
    strides = (*out._strides[:-2], size + 1)
    copy_into(view_of(out, input.shape, strides, down * size + right), input)

    def backward(gradient: Tensor) -> tuple[Tensor]:
        return (gradient.diagonal(offset, -2, -1),)

    return record(out, (input,), backward, "DiagEmbed")


@method
def trace(input: Tensor) -> Tensor:
    r"""The sum of the diagonal."""
    if len(input.shape) != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.dim()}")
    return input.diagonal().sum()


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    r"""For each tensor its values along an axis of its own."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    shape = [one.numel() for one in tensors]
    grids = []
    for place, one in enumerate(tensors):
        wide = one.reshape([-1 if axis == place else 1 for axis in range(len(tensors))])
        grids.append(wide.expand(shape))
    if indexing == "xy" and len(grids) > 1:
        grids = [grid.transpose(0, 1) for grid in grids]
    return tuple(grids)


def cartesian_prod(*tensors: Tensor) -> Tensor:
    r"""All combinations, one a row."""
    if len(tensors) == 1:
        return tensors[0]
    return stack([grid.reshape(-1) for grid in meshgrid(*tensors, indexing="ij")], 1)


@method
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    r"""The places of elements other than 0."""
    if as_tuple and not input.shape:
        input = input.reshape(1)
    strides, axes = contiguous_strides(input.shape), range(len(input.shape))
    places = [place for place, value in enumerate(numbers(truth(input))) if value]
    rows = [[place // strides[axis] % input.shape[axis] for axis in axes] for place in places]
    # As in PyTorch, the places of an axis lie together.
    found = new((len(rows), len(axes)), int64, (1, len(rows) or 1))
    if rows and axes:
        copy_into(found, tensor(rows, dtype=int64))
    return tuple(found.unbind(1)) if as_tuple else found


argwhere = nonzero
method(argwhere, "argwhere")


@method
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    r"""How often each number occurs."""
    if input.dtype.kind == FLOATING or input.dtype is bool_:
        from torch._dtypes import scalar_name

        raise RuntimeError(f"\"bincount_cpu\" not implemented for '{scalar_name(input.dtype)}'")
    if len(input.shape) != 1 or any(value < 0 for value in numbers(input)):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    values = numbers(input)
    if weights is not None and weights.dtype.name != "float32":
        weights = weights.double()
    weight = [1] * len(values) if weights is None else numbers(weights)
    counts: list[Any] = [0] * max(minlength, max(values, default=-1) + 1)
    for value, one in zip(values, weight, strict=True):
        counts[value] += one
    return tensor(counts, dtype=int64 if weights is None else weights.dtype)


@method
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    r"""Each value once, in order."""
    if dim is not None:
        return _unique_slices(
            input, wrap_axis(dim, len(input.shape)), return_inverse, return_counts
        )
    values = numbers(input)
    found = _sorted(set(values))
    results = [tensor(found, dtype=input.dtype)]
    place = {value: at for at, value in enumerate(found)}
    if return_inverse:
        results.append(tensor([place[value] for value in values], dtype=int64).view(input.shape))
    if return_counts:
        counts = [0] * len(found)
        for value in values:
            counts[place[value]] += 1
        results.append(tensor(counts, dtype=int64))
    return results[0] if len(results) == 1 else tuple(results)


def _unique_slices(input: Tensor, axis: int, return_inverse: bool, return_counts: bool) -> Any:
    r"""Each slice along an axis once, in order."""
    size = input.shape[axis]
    if not input.numel() and size:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    slices = [tuple(numbers(one)) for one in input.unbind(axis)]
    found = _sorted(set(slices))
    place = {one: at for at, one in enumerate(found)}
    first = [slices.index(one) for one in found]
    results = [input.index_select(axis, tensor(first, dtype=int64))]
    if return_inverse:
        results.append(tensor([place[one] for one in slices], dtype=int64))
    if return_counts:
        results.append(tensor([slices.count(one) for one in found], dtype=int64))
    return results[0] if len(results) == 1 else tuple(results)


def _sorted(values: Any) -> list[Any]:
    return sorted(values)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    r"""All combinations of so many elements, each a row."""
    import itertools

    if len(input.shape) != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return new((0,), input.dtype)
    kind = "combinations_with_replacement" if with_replacement else "combinations"
    rows = list(getattr(itertools, kind)(range(input.shape[0]), r))
    places = tensor([place for row in rows for place in row], dtype=int64)
    return input[places].view(len(rows), r)

r"""Copies of a tensor in which a part is another one, and sums and extremes at places."""

import math
from typing import Any

from torch._dtypes import BOOLEAN, FLOATING, iinfo, int64
from torch._elementwise import need_tensor, to_operand
from torch._indexing import scatter, scatter_add, take_along_dim
from torch._making import arange
from torch._raw import cast, contiguous_copy, filled
from torch._shapes import wrap_axis
from torch._tape import check_in_place, no_grad, record
from torch._tensor import Tensor, alias_of, method

method(take_along_dim)


def _with_part(name: str, input: Tensor, src: Tensor, look: Any) -> Tensor:
    r"""A copy of a tensor in which a view of it holds something else."""
    need_tensor(name, input)
    if not isinstance(src, Tensor):
        raise TypeError(
            f"{name}(): argument 'src' (position 2) must be Tensor, not {type(src).__name__}"
        )
    out = contiguous_copy(input)
    part = look(out)
    if part.shape != src.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(part.shape)}"
        )
    with no_grad():
        part.copy_(alias_of(src))

    def backward(gradient: Tensor) -> tuple[Tensor, Tensor]:
        outside = _with_part(name, gradient, filled(src.shape, 0, gradient.dtype), look)
        return outside, to_operand(look(gradient), src.shape, src.dtype)

    title = "".join(word.capitalize() for word in name.split("_"))
    return record(out, (input, src), backward, title)


@method
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    r"""A copy with another slice at a place."""
    return _with_part("select_scatter", input, src, lambda one: one.select(dim, index))


@method
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    r"""A copy with other slices from a place to another."""
    axis = wrap_axis(dim, len(input.shape))
    key = (*[slice(None)] * axis, slice(start, end, step))
    return _with_part("slice_scatter", input, src, lambda one: one[key])


@method
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    r"""A copy with another diagonal."""
    return _with_part("diagonal_scatter", input, src, lambda one: one.diagonal(offset, dim1, dim2))


@method
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    r"""One number along the diagonal, in place."""
    axes = len(self.shape)
    if axes < 2:
        raise RuntimeError("dimensions must larger than 1")
    if axes > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    check_in_place(self)
    size = min(self.shape)
    places = arange(size)
    self[(places,) * axes] = fill_value
    if wrap and axes == 2:
        # In a tall matrix the diagonal begins again below an empty row.
        for start in range(size + 1, self.shape[0], size + 1):
            rows = places[: self.shape[0] - start]
            self[rows + start, rows] = fill_value
    return self


_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _least(name: str, d: Any) -> Any:
    r"""What changes no product, and no extreme."""
    if name == "prod":
        return 1
    if d.kind == BOOLEAN:
        return name == "amin"
    if d.kind == FLOATING:
        return -math.inf if name == "amax" else math.inf
    limits = iinfo(d)
    return limits.min if name == "amax" else limits.max


def _one_by_one(name: str, start: Tensor, axis: int, index: Tensor, src: Tensor) -> Tensor:
    r"""Slices of an index go to different places each, so they come one after another."""
    out = start
    for place in range(index.shape[axis]):
        where_to = index.narrow(axis, place, 1)
        part = src.narrow(axis, place, 1)
        known = out.gather(axis, where_to)
        if name == "prod":
            joined = known & part if out.dtype.kind == BOOLEAN else known * part
        else:
            joined = known.maximum(part) if name == "amax" else known.minimum(part)
        out = out.scatter(axis, where_to, cast(joined, out.dtype))
    return out


@method
def scatter_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    r"""A copy with sums, products, means or extremes of values at the places of an index."""
    need_tensor("scatter_reduce", input)
    if reduce not in _REDUCTIONS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    axis = wrap_axis(dim, len(input.shape))
    # The checks are those of `scatter`, and so are the errors.
    with no_grad():
        scatter(input, dim, index, src)
    if not index.numel():
        return input.clone()
    if not input.shape:
        one = scatter_reduce(
            input.reshape(1),
            0,
            index.reshape(1),
            src.reshape(1),
            reduce,
            include_self=include_self,
        )
        return one.reshape(())
    src = src.reshape(1) if not src.shape else src
    src = src[tuple(slice(0, size) for size in index.shape)]
    if reduce in ("amax", "amin"):
        return _extreme(input, axis, index, src, reduce, include_self)
    start = input
    if not include_self:
        neutral = 1 if reduce == "prod" else 0
        start = scatter(input, axis, index, neutral)
    if reduce == "prod":
        return _one_by_one(reduce, start, axis, index, src)
    total = scatter_add(start, axis, index, src)
    if reduce == "sum":
        return total
    counts = filled(input.shape, int(include_self), int64)
    counts = scatter_add(counts, axis, index, filled(index.shape, 1, int64)).clamp(min=1)
    if input.dtype.kind >= FLOATING:
        return total / counts
    return total.div(counts, rounding_mode="floor").to(input.dtype)


def _extreme(
    input: Tensor, axis: int, index: Tensor, src: Tensor, name: str, include_self: bool
) -> Tensor:
    r"""Equal extremes share the gradient."""
    with no_grad():
        start = input
        if not include_self:
            start = scatter(input, axis, index, _least(name, input.dtype))
        out = _one_by_one(name, start, axis, index, src)
    result = alias_of(out)

    def backward(gradient: Tensor) -> tuple[Tensor, Tensor]:
        of_input = cast(alias_of(input) == result, gradient.dtype)
        of_src = cast(alias_of(src) == result.gather(axis, index), gradient.dtype)
        share = gradient / of_input.scatter_add(axis, index, of_src)
        to_input = of_input * share
        if not include_self:
            to_input = to_input.scatter(axis, index, 0)
        return to_input, of_src * share.gather(axis, index)

    return record(out, (input, src), backward, "ScatterReduce", (input, src))


@method
def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    r"""A copy with products, means or extremes of slices."""
    need_tensor("index_reduce", input)
    if reduce not in _REDUCTIONS[1:]:
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    axis = wrap_axis(dim, len(input.shape))
    if len(index.shape) > 1:
        raise IndexError("index_reduce(): Index is supposed to be a vector")
    if source.dtype is not input.dtype:
        raise RuntimeError("index_reduce(): self and source expected to have the same scalar type")
    shape = [-1 if other == axis else 1 for other in range(len(input.shape))]
    places = cast(alias_of(index), int64).reshape(shape).expand(source.shape)
    return scatter_reduce(input, axis, places, source, reduce, include_self=include_self)


@method
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    r"""A copy with values at places, as if the tensor had one axis."""
    need_tensor("put", input)
    if index.dtype is not int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {index.dtype.name}")
    if input.dtype is not source.dtype:
        raise RuntimeError("put_(): self and source expected to have the same dtype")
    if index.numel() != source.numel():
        raise RuntimeError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.numel()}, index.numel() = {index.numel()}"
        )
    flat = input.reshape(-1)
    out = flat.index_put([index.reshape(-1)], source.reshape(-1), accumulate)
    return out.reshape(input.shape)

r"""Neighbours along an axis: their differences, the area below them, and runs of equal ones."""

from typing import Any

from torch._dtypes import bool_, int64
from torch._elementwise import need_tensor
from torch._joining import cat
from torch._making import tensor
from torch._raw import numbers
from torch._shapes import wrap_axis
from torch._tensor import Tensor, in_words_of_numpy, method


def _with_ends(input: Tensor, axis: int, prepend: Any, append: Any) -> Tensor:
    parts = [one for one in (prepend, input, append) if one is not None]
    for one in parts:
        if len(one.shape) != len(input.shape):
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for other, size in enumerate(one.shape):
            if other != axis and size != input.shape[other]:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input "
                    "except along the differencing dimension; input.size("
                    f"{other}) = {input.shape[other]}, but got tensor.size({other}) = {size}"
                )
    return cat(parts, axis) if len(parts) > 1 else input


@method
@in_words_of_numpy
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    r"""What each element has more than the one before it, `n` times."""
    need_tensor("diff", input)
    if not input.shape:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = wrap_axis(dim, len(input.shape))
    if n == 0:
        return input.clone()
    out = _with_ends(input, axis, prepend, append)
    for _ in range(n):
        rest = max(0, out.shape[axis] - 1)
        before = out.narrow(axis, 0, rest)
        after = out.narrow(axis, min(1, out.shape[axis]), rest)
        out = after ^ before if out.dtype is bool_ else after - before
    return out


def _widths(name: str, y: Tensor, x: Any, dx: Any, axis: int) -> Any:
    r"""How far neighbours are apart."""
    if x is None:
        return dx
    if not x.shape:
        raise RuntimeError(f"{name}: Currently, `x` must be at least one-dimensional")
    if len(x.shape) == 1:
        if x.shape[0] != y.shape[axis]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        shape = [-1 if other == axis else 1 for other in range(len(y.shape))]
        return x.diff().view(shape)
    wide = x.reshape(*[1] * (len(y.shape) - len(x.shape)), *x.shape)
    return wide.diff(dim=axis)


def _areas(name: str, y: Tensor, x: Any, dx: Any, dim: int) -> tuple[Tensor, int]:
    axis = wrap_axis(dim, len(y.shape))
    if not y.shape:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    widths = _widths(name, y, x, dx, axis)
    rest = max(0, y.shape[axis] - 1)
    before, after = y.narrow(axis, 0, rest), y.narrow(axis, min(1, y.shape[axis]), rest)
    return (before + after) * widths / 2, axis


@in_words_of_numpy
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = 1, dim: int = -1) -> Tensor:
    r"""The area below a line of points."""
    if not y.shape:
        wrap_axis(dim, 0)
    areas, axis = _areas("trapezoid", y, x, dx, dim)
    return areas.sum(axis)


trapz = trapezoid


@in_words_of_numpy
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Any = 1, dim: int = -1
) -> Tensor:
    r"""The area below a line of points, up to each of them."""
    areas, axis = _areas("cumulative_trapezoid", y, x, dx, dim)
    return areas.cumsum(axis)


@method
def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    r"""One of each run of equal elements, or of equal slices along an axis."""
    need_tensor("unique_consecutive", input)
    if dim is None:
        slices: list[Any] = numbers(input)
        input, axis, shape = input.reshape(-1), 0, input.shape
    else:
        axis = wrap_axis(dim, len(input.shape))
        if not input.numel() and input.shape[axis]:
            raise RuntimeError(
                "There are 0 sized dimensions, and they aren't selected, so unique_consecutive "
                "cannot be applied"
            )
        slices = [numbers(one) for one in input.unbind(axis)]
        shape = (len(slices),)
    first: list[int] = []
    runs: list[int] = []
    for place, one in enumerate(slices):
        if not first or one != slices[place - 1]:
            first.append(place)
        runs.append(len(first) - 1)
    results = [input.index_select(axis, tensor(first, dtype=int64))]
    if return_inverse:
        results.append(tensor(runs, dtype=int64).view(shape))
    if return_counts:
        ends = [*first[1:], len(slices)]
        counts = [end - start for start, end in zip(first, ends, strict=bool(slices))]
        results.append(tensor(counts, dtype=int64))
    return results[0] if len(results) == 1 else tuple(results)

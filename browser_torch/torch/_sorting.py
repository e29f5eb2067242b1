r"""Elements in order."""

import bisect
import math
from typing import Any

from torch._dtypes import int32, int64
from torch._making import tensor, zeros
from torch._raw import numbers
from torch._reductions import named_pair
from torch._shapes import wrap_axis
from torch._tensor import Tensor, alias_of, method


def _places_in_order(input: Tensor, axis: int, descending: bool) -> Tensor:
    r"""Where the elements are, the first in order first; equal ones keep their order."""
    moved = alias_of(input).movedim(axis, -1)
    size, flat = input.shape[axis], numbers(moved)
    places: list[int] = []
    for start in range(0, len(flat), size or 1):
        row = flat[start : start + size]

        def rank(place: int, row: list[Any] = row) -> tuple[bool, Any]:
            value = row[place]
            missing = value != value
            # What is not a number counts as the largest.
            return missing, 0 if missing else value

        if descending:
            # Reversed twice: equal elements stay in order.
            order = sorted(range(size - 1, -1, -1), key=rank)[::-1]
        else:
            order = sorted(range(size), key=rank)
        places += order
    return tensor(places, dtype=int64).view(moved.shape).movedim(-1, axis).contiguous()


@method
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    r"""The elements in order along an axis, with their places."""
    axis = wrap_axis(dim, len(input.shape))
    if not input.shape:
        return named_pair("sort", input.clone(), zeros((), dtype=int64))
    places = _places_in_order(input, axis, descending)
    return named_pair("sort", input.gather(axis, places), places)


@method
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    r"""The places of the elements in order."""
    return sort(input, dim, descending)[1]


@method
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    r"""The largest elements, with their places."""
    axis = wrap_axis(dim, len(input.shape))
    if not 0 <= k <= (input.shape[axis] if input.shape else 1):
        raise RuntimeError("selected index k out of range")
    if not input.shape:
        return named_pair("topk", input.clone(), zeros((), dtype=int64))
    places = _places_in_order(input, axis, largest).narrow(axis, 0, k).contiguous()
    return named_pair("topk", input.gather(axis, places), places)


@method
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    r"""The element at a place in the order."""
    axis = wrap_axis(dim, len(input.shape))
    if not 1 <= k <= (input.shape[axis] if input.shape else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    if not input.shape:
        return named_pair("kthvalue", input.clone(), zeros((), dtype=int64))
    values, places = (one.narrow(axis, k - 1, 1) for one in sort(input, axis))
    if keepdim:
        return named_pair("kthvalue", values, places)
    return named_pair("kthvalue", values.squeeze(dim), places.squeeze(dim))


def searchsorted(
    sorted_sequence: Tensor,
    values: Any,
    *,
    right: bool = False,
    side: str | None = None,
    out_int32: bool = False,
    sorter: Tensor | None = None,
) -> Tensor:
    r"""Where each value would be put into a sorted sequence."""
    if side not in (None, "left", "right"):
        raise RuntimeError(
            f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}"
        )
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left "
            "while right was True"
        )
    if sorter is not None:
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    find = bisect.bisect_right if right or side == "right" else bisect.bisect_left
    d = int32 if out_int32 else int64
    if not isinstance(values, Tensor):
        return tensor(find(sorted_sequence.tolist(), values), dtype=d)
    if len(sorted_sequence.shape) == 1:
        row = numbers(sorted_sequence)
        return tensor([find(row, value) for value in numbers(values)], dtype=d).view(values.shape)
    count = math.prod(values.shape[:-1])
    rows = sorted_sequence.reshape(count, sorted_sequence.shape[-1]).tolist()
    wanted = values.reshape(count, values.shape[-1]).tolist()
    found = [[find(row, value) for value in some] for row, some in zip(rows, wanted, strict=True)]
    return tensor(found, dtype=d).view(values.shape)


def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    r"""Between which boundaries each value lies."""
    if len(boundaries.shape) != 1:
        raise RuntimeError(
            f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})"
        )
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)

r"""Statistics of many elements, beyond sums and extremes."""

import math
from typing import Any

from torch._dtypes import COMPLEX, FLOATING, bool_, int64, scalar_name
from torch._elementwise import need_tensor
from torch._making import tensor, zeros
from torch._raw import cast, filled, numbers
from torch._reductions import amax, amin, dist, named_pair, named_results
from torch._shapes import wrap_axis
from torch._tensor import Tensor, alias_of, in_words_of_numpy, method

_Extremes = named_results("aminmax", "min max")


@method
@in_words_of_numpy
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    r"""Both extremes."""
    need_tensor("aminmax", input)
    axes = () if dim is None else dim
    return _Extremes(amin(input, axes, keepdim), amax(input, axes, keepdim))


method(dist)


@method
@in_words_of_numpy
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    r"""The mean of those elements that are numbers."""
    need_tensor("nanmean", input)
    if input.dtype.kind < FLOATING:
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{scalar_name(input.dtype)}"
        )
    count = (~input.isnan()).sum(dim, keepdim)
    return input.nansum(dim, keepdim, dtype=dtype) / count


@method
def msort(input: Tensor) -> Tensor:
    r"""The elements in order, along the first axis."""
    need_tensor("msort", input)
    return input.sort(0)[0]


@method
@in_words_of_numpy
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    r"""What occurs most often along an axis; the smallest of them, where it comes last."""
    need_tensor("mode", input)
    axis = wrap_axis(dim, len(input.shape))
    if not input.shape:
        return named_pair("mode", input.clone(), zeros((), dtype=int64))
    size = input.shape[axis]
    if not size and not input.numel():
        raise IndexError(f"mode(): Expected reduction dim {axis} to have non-zero size.")
    moved = alias_of(input).movedim(axis, -1)
    flat = numbers(moved)
    places = []
    for start in range(0, len(flat), size or 1):
        row = flat[start : start + size]
        counts: dict[Any, int] = {}
        for one in row:
            counts[one] = counts.get(one, 0) + 1
        most = max(counts.values())
        best = min(one for one, count in counts.items() if count == most)
        places.append(size - 1 - row[::-1].index(best))
    found = tensor(places, dtype=int64).view(*moved.shape[:-1], 1).movedim(-1, axis).contiguous()
    values = input.gather(axis, found)
    if keepdim:
        return named_pair("mode", values, found)
    return named_pair("mode", values.squeeze(axis), found.squeeze(axis))


@method
def histc(input: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    r"""How many elements are in each of several ranges of one width."""
    need_tensor("histc", input)
    if input.dtype.kind != FLOATING:
        raise NotImplementedError(
            f"\"histogram_cpu\" not implemented for '{scalar_name(input.dtype)}'"
        )
    if bins <= 0:
        raise RuntimeError("torch.histc(): bins must be > 0")
    flat = alias_of(input).reshape(-1)
    values = numbers(flat)
    low, high = float(min), float(max)
    if low == high and values:
        low, high = _ends(values)
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    # In the precision of the input, as a number at an edge goes by its rounding.
    places = numbers((flat - low) / (high - low) * bins)
    counts = [0] * bins
    for one, place in zip(values, places, strict=True):
        if low <= one <= high:
            counts[int(place) if place < bins else bins - 1] += 1
    return tensor(counts, dtype=input.dtype)


def _ends(values: list[float]) -> tuple[float, float]:
    r"""The extremes, if all numbers are finite."""
    if not all(map(math.isfinite, values)):
        return math.nan, math.nan
    ordered = sorted(values)
    return ordered[0], ordered[-1]


@method
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    r"""How the rows vary together."""
    need_tensor("cov", input)
    if len(input.shape) > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{len(input.shape)} dimensions"
        )
    if input.dtype is bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = input.reshape(1, -1) if len(input.shape) < 2 else input
    weights = _weights(rows.shape[1], fweights, aweights)
    count = rows.shape[1] if weights is None else weights.sum()
    if weights is None:
        mean = rows.sum(1, keepdim=True) / count
    else:
        mean = (rows * weights).sum(1, keepdim=True) / count
    if aweights is None or correction == 0:
        norm = count - correction
    else:
        squares = weights * aweights
        norm = count - correction * squares.sum() / count
    norm = norm.clamp(min=0) if isinstance(norm, Tensor) else norm if norm > 0 else 0
    apart = rows - mean
    weighted = apart if weights is None else apart * weights
    turned = apart.t().conj() if apart.dtype.kind == COMPLEX else apart.t()
    return ((weighted @ turned.to(weighted.dtype)) / norm).squeeze()


def _weights(count: int, fweights: Tensor | None, aweights: Tensor | None) -> Tensor | None:
    r"""How often, and how much, each column counts."""
    for name, one in (("fweights", fweights), ("aweights", aweights)):
        if one is None:
            continue
        if len(one.shape) > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
                f"{len(one.shape)} dimensions"
            )
        whole = one.dtype.kind < FLOATING
        if whole != (name == "fweights"):
            wanted = "integral" if name == "fweights" else "floating point"
            raise RuntimeError(
                f"cov(): expected {name} to have {wanted} dtype but got {name} with "
                f"{scalar_name(one.dtype)} dtype"
            )
        if one.numel() != count:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the "
                f"input but got {one.numel()} != {count}"
            )
        if count and bool((one < 0).any()):
            raise RuntimeError(f"cov(): {name} cannot be negative")
    if fweights is None or aweights is None:
        return fweights if aweights is None else aweights
    return fweights * aweights


@method
def corrcoef(input: Tensor) -> Tensor:
    r"""How much the rows vary together, between -1 and 1."""
    need_tensor("corrcoef", input)
    if len(input.shape) > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{len(input.shape)} dimensions"
        )
    both = cov(input)
    if not both.shape:
        return both / both
    deviation = both.diagonal().sqrt()
    return (both / deviation.unsqueeze(1) / deviation.unsqueeze(0)).clamp(-1, 1)


def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    r"""Which elements are among others."""
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError("isin() received an invalid combination of arguments")
    known = {*numbers(test_elements)} if isinstance(test_elements, Tensor) else {test_elements}
    if not isinstance(elements, Tensor):
        return filled((), (elements in known) != invert, bool_)
    found = [(one in known) != invert for one in numbers(elements)]
    return cast(tensor(found, dtype=bool_), bool_).view(elements.shape)

r"""Many elements become one: sums, means, extremes, norms, and running sums."""

import math
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from torch._dtypes import COMPLEX, FLOATING, Default, bool_, int64, scalar_name
from torch._elementwise import truth, where
from torch._making import zeros
from torch._memory import Operation, run
from torch._raw import Binary, Reduction, Unary, binary, cast, filled, reduce, scalar, unary
from torch._raw import where as raw_where
from torch._shapes import wrap_axes, wrap_axis
from torch._tape import record, record_result
from torch._tensor import Tensor, alias_of, in_words_of_numpy, method, new, unfilled


def restore_axes(reduced: Tensor, dims: Any, axes: int, keepdim: bool) -> Tensor:
    r"""What was reduced, with axes of size 1 where the reduced ones were."""
    if keepdim:
        return reduced
    for axis in sorted(wrap_axes(dims, axes)):
        reduced = reduced.unsqueeze(axis)
    return reduced


@method
def sum(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    r"""The sum of all elements, or along axes."""
    keepdim = keepdim or keepdims
    if dtype is not None:
        input = input.to(dtype)
    dim = axis if dim is None else dim
    shape = input.shape

    def backward(gradient: Tensor) -> tuple[Tensor]:
        return (restore_axes(gradient, dim, len(shape), keepdim).expand(shape),)

    return record(reduce(Reduction.SUM, input, dim, keepdim), (input,), backward, "Sum")


@method
@in_words_of_numpy
def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    r"""The mean of all elements, or along axes."""
    if dtype is None and input.dtype.kind < FLOATING:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {scalar_name(input.dtype)}"
        )
    if dtype is not None:
        input = input.to(dtype)
    count = math.prod(input.shape[axis] for axis in wrap_axes(dim, len(input.shape)))
    d = input.dtype
    if d.work is not d:
        # Sixteen bits are too few for a sum of many elements.
        return mean(input.to(d.work), dim, keepdim).to(d)
    total = sum(input, dim, keepdim)
    return total / count if count else total * math.nan


@method
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    r"""The sum of those elements that are numbers."""
    if dtype is not None:
        input = input.to(dtype)
    if input.dtype.kind < FLOATING:
        return sum(input, dim, keepdim)
    return sum(where(input.isnan(), 0.0, input), dim, keepdim)


@method
@in_words_of_numpy
def prod(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    r"""The product of all elements, or along an axis."""
    if dtype is not None:
        input = input.to(dtype)
    axes = len(input.shape)
    if dim is not None and not axes:
        # One number has an axis only by name.
        wrap_axis(dim, axes)
        dim = None

    def backward(gradient: Tensor, y: Tensor) -> tuple[Tensor]:
        y = restore_axes(y, dim, axes, keepdim and dim is not None)
        gradient = restore_axes(gradient, dim, axes, keepdim and dim is not None)
        if bool((alias_of(input) == 0).any()):
            return (gradient * _products_of_others(input, dim),)
        return (gradient * y / input,)

    result = reduce(Reduction.PRODUCT, input, dim, keepdim and dim is not None)
    return record_result(result, (input,), backward, "Prod", (input,))


def _products_of_others(input: Tensor, dim: Any) -> Tensor:
    r"""For each element the product of all others along the axis, zeros among them."""
    if dim is None:
        return _products_of_others(input.reshape(-1), 0).view(input.shape)
    from torch._joining import stack

    parts = input.unbind(dim)
    products = []
    for skipped in range(len(parts)):
        product = filled(parts[0].shape, 1, input.dtype)
        for place, part in enumerate(parts):
            product = product * part if place != skipped else product
        products.append(product)
    return stack(products, dim)


ValuesAndIndices = namedtuple("ValuesAndIndices", "values indices")


def named_pair(name: str, values: Tensor, indices: Tensor) -> Any:
    r"""Values with the places where they were found."""
    return _pair_type(name)(values, indices)


_pair_types: dict[str, Any] = {}


def _pair_type(name: str) -> Any:
    if name not in _pair_types:
        _pair_types[name] = type(f"torch.return_types.{name}", (ValuesAndIndices,), {})
    return _pair_types[name]


def _as_text(results: Any) -> str:
    lines = (f"{name}={getattr(results, name)!r}" for name in results._fields)
    return f"{type(results).__name__}(\n" + ",\n".join(lines) + ")"


ValuesAndIndices.__repr__ = _as_text


def named_results(name: str, fields: str) -> Any:
    r"""A type of results with names, which are printed as in PyTorch."""
    return type(f"torch.return_types.{name}", (namedtuple(name, fields),), {"__repr__": _as_text})


def _all_extremes(operation: Reduction, name: str) -> Callable[..., Tensor]:
    r"""`amax` and `amin`: equal extremes share the gradient."""

    def function(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
        axes = len(input.shape)

        def backward(gradient: Tensor, y: Tensor) -> tuple[Tensor]:
            y = restore_axes(y, dim, axes, keepdim)
            hit = cast(binary(Binary.EQUAL, input, y), gradient.dtype)
            gradient = restore_axes(gradient, dim, axes, keepdim)
            return (gradient * hit / hit.sum(wrap_axes(dim, axes), keepdim=True),)

        result = reduce(operation, input, dim, keepdim)
        return record_result(result, (input,), backward, name.capitalize(), (input,))

    function.__name__ = name
    return method(function)


amax = _all_extremes(Reduction.LARGEST, "amax")
amin = _all_extremes(Reduction.SMALLEST, "amin")


def _place(name: str, operation: Reduction) -> Callable[..., Tensor]:
    def function(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        if input.dtype is bool_:
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
        return reduce(operation, input, dim, keepdim)

    function.__name__ = name
    return method(in_words_of_numpy(function))


argmax = _place("argmax", Reduction.PLACE_OF_LARGEST)
argmin = _place("argmin", Reduction.PLACE_OF_SMALLEST)


def _extreme(name: str, pairwise: Any, whole: Any, places: Reduction) -> Callable[..., Any]:
    def function(
        input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Tensor | None = None
    ) -> Any:
        if isinstance(dim, Tensor) or other is not None:
            return pairwise(input, dim if other is None else other)
        if dim is None:
            return whole(input, None)
        if not isinstance(dim, int):
            raise TypeError(f"{name}() received an invalid combination of arguments")
        axis = wrap_axis(dim, len(input.shape))
        if not input.shape:
            return named_pair(name, input.clone(), zeros((), dtype=int64))
        if input.shape[axis] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
        found = reduce(places, input, axis, True)
        values = input.gather(axis, found)
        if keepdim:
            return named_pair(name, values, found)
        return named_pair(name, values.squeeze(axis), found.squeeze(axis))

    function.__name__ = name
    return method(in_words_of_numpy(function))


def _pairwise(name: str) -> Callable[..., Tensor]:
    from torch import _elementwise

    return getattr(_elementwise, name)


max = _extreme("max", _pairwise("maximum"), amax, Reduction.PLACE_OF_LARGEST)
min = _extreme("min", _pairwise("minimum"), amin, Reduction.PLACE_OF_SMALLEST)


@method
def any(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    r"""Whether one of the elements is other than 0."""
    return reduce(Reduction.ANY, truth(input), dim, keepdim)


@method
def all(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    r"""Whether all elements are other than 0."""
    return reduce(Reduction.ALL, truth(input), dim, keepdim)


@method
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    r"""How many elements are other than 0."""
    return sum(truth(input), dim)


@method
@in_words_of_numpy
def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    r"""The variance of all elements, or along axes."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if input.dtype.kind < FLOATING:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    taken = int(unbiased) if correction is None else correction
    count = math.prod(input.shape[axis] for axis in wrap_axes(dim, len(input.shape)))
    squares = (input - input.mean(dim, keepdim=True)).square().sum(dim, keepdim=keepdim)
    rest = count - taken
    return squares / rest if rest > 0 else squares * math.nan


@method
@in_words_of_numpy
def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    r"""The standard deviation."""
    return var(input, dim, unbiased, keepdim, correction=correction).sqrt()


def var_mean(input: Tensor, dim: Any = None, **options: Any) -> tuple[Tensor, Tensor]:
    r"""Variance and mean."""
    return var(input, dim, **options), mean(input, dim, options.get("keepdim", False))


def std_mean(input: Tensor, dim: Any = None, **options: Any) -> tuple[Tensor, Tensor]:
    r"""Standard deviation and mean."""
    return std(input, dim, **options), mean(input, dim, options.get("keepdim", False))


@method
def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Tensor:
    r"""The length of a vector: of all elements, or along axes."""
    if dtype is not None:
        input = input.to(dtype)
    if input.dtype.kind < FLOATING:
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{scalar_name(input.dtype)}"
        )
    if input.dtype.kind == COMPLEX:
        input = input.abs()
    if p == "nuc":
        from torch.linalg import matrix_norm

        return matrix_norm(input, "nuc", (0, 1) if dim is None else dim, keepdim)
    if p in ("fro", None, 2):
        return _length(input, dim, keepdim)
    if p == math.inf:
        return input.abs().amax(dim, keepdim=keepdim)
    if p == -math.inf:
        return input.abs().amin(dim, keepdim=keepdim)
    if p == 0:
        count = (input != 0).to(input.dtype).sum(dim, keepdim=keepdim)
        return record(count, (input,), lambda gradient: (None,), "Norm")
    if p == 1:
        return input.abs().sum(dim, keepdim=keepdim)
    sizes = input.abs()
    if p < 1:
        # At 0 the slope is infinite; as in PyTorch, it counts as 0.
        zero = alias_of(sizes) == 0
        powers = where(zero, 0.0 if p > 0 else math.inf, where(zero, 1.0, sizes) ** p)
    else:
        powers = sizes**p
    return powers.sum(dim, keepdim=keepdim) ** (1 / p)


def _length(input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    r"""The root of the sum of squares; its derivative at 0 is taken to be 0."""
    squares = input.square().sum(dim, keepdim=keepdim)

    def backward(gradient: Tensor, y: Tensor) -> tuple[Tensor]:
        zero = binary(Binary.EQUAL, alias_of(y), 0)
        return (where(zero, 0.0, gradient / where(zero, 1.0, 2 * y)),)

    return record_result(unary(Unary.SQUARE_ROOT, squares), (squares,), backward, "Norm")


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    r"""The distance of two tensors."""
    return norm(input - other, p)


@method
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    r"""The logarithm of the sum of exponentials, computed so that nothing overflows."""
    if input.dtype.kind < FLOATING:
        input = input.to(Default.dtype)
    largest = alias_of(input).amax(dim, keepdim=True)
    largest = where(largest.isfinite(), largest, 0.0)
    out = (input - largest).exp().sum(dim, keepdim=True).log() + largest
    return out if keepdim else out.squeeze(dim)


@method
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    r"""The middle element, the lower one of two."""
    if dim is None:
        return input.flatten().sort()[0][(input.numel() - 1) // 2].clone()
    if not input.shape:
        return named_pair("median", input.clone(), zeros((), dtype=int64))
    ordered = input.sort(dim)
    middle = (input.shape[dim] - 1) // 2
    values, places = (one.narrow(dim, middle, 1).contiguous() for one in ordered)
    if not keepdim:
        values, places = values.squeeze(dim), places.squeeze(dim)
    return named_pair("median", values, places)


@method
def quantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    r"""The element at a part of the way through the sorted ones, between two if need be."""
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    axes = len(input.shape)
    if dim is None:
        out = quantile(input.flatten(), q, 0, interpolation=interpolation)
        if not keepdim:
            return out
        return out.view(*out.shape, *[1] * axes)
    if not axes:
        out = quantile(input.reshape(1), q, 0, interpolation=interpolation)
        return out
    if isinstance(q, Tensor) and q.dtype is not input.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if input.dtype.kind != FLOATING:
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    ordered, last = input.sort(dim)[0], input.shape[dim] - 1
    single = not isinstance(q, Tensor) or not q.shape
    parts = []
    moves = isinstance(q, Tensor) and q.requires_grad
    for where_to in [q] if single else q.unbind(0):
        one = float(where_to)
        place = one * last
        low = int(place)
        high = low + 1 if low < last else low
        weight: Any = place - low
        if interpolation == "nearest":
            weight = float(round(weight)) if weight != 0.5 else float(low % 2)
        elif interpolation != "linear":
            whole = {"lower": 0.0, "higher": 1.0, "midpoint": 0.5}[interpolation]
            weight = whole if weight else 0.0
        if moves:
            # The place moves with `q` between two elements, and not at all if one is chosen.
            weight = weight + (where_to - one) * (last if interpolation == "linear" else 0)
        parts.append(ordered.select(dim, low).lerp(ordered.select(dim, high), weight))
    if keepdim:
        parts = [part.unsqueeze(dim) for part in parts]
    if single:
        return parts[0]
    from torch._joining import stack

    return stack(parts)


def _cumulate(name: str, product: int) -> Callable[..., Tensor]:
    def function(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
        if dtype is not None:
            input = input.to(dtype)
        d = input.dtype if input.dtype.kind >= FLOATING else int64
        source = cast(input, d.work)
        out = new(input.shape, d.work)
        axis = wrap_axis(dim, len(input.shape))
        if not input.shape:
            out = source.clone()
        else:
            run(Operation.CUMULATE, (product, axis), out, source)

        def backward_of_sum(gradient: Tensor) -> tuple[Tensor]:
            if not gradient.shape:
                return (gradient,)
            return (gradient.flip(axis).cumsum(axis).flip(axis),)

        def backward_of_product(gradient: Tensor, y: Tensor) -> tuple[Tensor]:
            if not gradient.shape:
                return (gradient,)
            if bool((alias_of(input) == 0).any()):
                return (_slope_with_zeros(input, gradient, axis),)
            return ((gradient * y).flip(axis).cumsum(axis).flip(axis) / input,)

        out = cast(out, d)
        if product:
            return record_result(out, (input,), backward_of_product, "Cumprod", (input,))
        return record(out, (input,), backward_of_sum, "Cumsum")

    function.__name__ = name
    return method(function)


cumsum, cumprod = _cumulate("cumsum", 0), _cumulate("cumprod", 1)


def _slope_with_zeros(input: Tensor, gradient: Tensor, axis: int) -> Tensor:
    r"""The gradient of running products, place by place: nothing is divided by 0."""
    from torch._joining import stack

    parts = input.unbind(axis)
    given = gradient.unbind(axis)
    before = filled(parts[0].shape, 1, input.dtype)
    slopes = []
    for place in range(len(parts)):
        product = before
        total = filled(parts[0].shape, 0, gradient.dtype)
        for later in range(place, len(parts)):
            product = product * parts[later] if later > place else product
            total = total + given[later] * product
        slopes.append(total)
        before = before * parts[place]
    return stack(slopes, axis)


def _running_extreme(name: str, operation: Binary) -> Callable[..., Any]:
    def function(input: Tensor, dim: int) -> Any:
        from torch._joining import stack

        if not input.shape:
            return named_pair(name, input.clone(), zeros((), dtype=int64))
        best, places = [], []
        for place, part in enumerate(input.unbind(dim)):
            if not best:
                best, places = [part], [filled(part.shape, 0, int64)]
                continue
            better = binary(operation, part, best[-1])
            best.append(where(better, part, best[-1]))
            places.append(raw_where(better, scalar(place, int64), places[-1]))
        return named_pair(name, stack(best, dim), stack(places, dim))

    function.__name__ = name
    return method(function)


cummax = _running_extreme("cummax", Binary.GREATER_EQUAL)
cummin = _running_extreme("cummin", Binary.LESS_EQUAL)


@method
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    r"""Running `logsumexp`."""
    largest = alias_of(input).amax(dim, keepdim=True)
    return (input - largest).exp().cumsum(dim).log() + largest


def _soft(name: str, logarithm: int) -> Callable[..., Tensor]:
    def function(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
        if dtype is not None:
            input = input.to(dtype)
        d = input.dtype
        if d.kind != FLOATING:
            kernel = "log_softmax" if logarithm else "softmax"
            if wrap_axis(dim, len(input.shape)) == len(input.shape) - 1:
                kernel += "_lastdim"
            raise NotImplementedError(
                f"\"{kernel}_kernel_impl\" not implemented for '{scalar_name(d)}'"
            )
        axis = wrap_axis(dim, len(input.shape))
        source = cast(input, d.work)
        source = alias_of(source) if source.is_contiguous() else source.contiguous()
        if not input.shape:
            source = source.view(1)
        out = unfilled(source.shape, d.work)
        run(Operation.SOFTMAX, (logarithm, axis), out, source)

        def backward(gradient: Tensor, y: Tensor) -> tuple[Tensor]:
            from torch._tape import Mode

            if Mode.grad or d.work is not d:
                if logarithm:
                    return (gradient - y.exp() * gradient.sum(axis, keepdim=True),)
                return (y * (gradient - (gradient * y).sum(axis, keepdim=True)),)
            shape = y.shape or (1,)
            y, gradient = y.contiguous().view(shape), gradient.contiguous().view(shape)
            back = unfilled(shape, d)
            run(Operation.SOFTMAX_BACKWARD, (logarithm, axis), back, y, gradient)
            return (back.view(input.shape),)

        out = cast(out.view(input.shape), d)
        title = "LogSoftmax" if logarithm else "Softmax"
        return record_result(out, (input,), backward, title)

    function.__name__ = name
    return method(function)


softmax, log_softmax = _soft("softmax", 0), _soft("log_softmax", 1)


@method
def equal(input: Tensor, other: Tensor) -> bool:
    r"""Whether two tensors have one shape and the same elements."""
    if input.shape != other.shape:
        return False
    return bool(reduce(Reduction.ALL, binary(Binary.EQUAL, input, other), None).item())


@method
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    r"""Which elements are nearly equal."""
    for place, one in (("input", input), ("other", other)):
        if not isinstance(one, Tensor):
            raise TypeError(
                f"isclose(): argument '{place}' must be Tensor, not {type(one).__name__}"
            )
    for limit, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{limit} must be greater than or equal to zero, but got {value:g}")
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{scalar_name(input.dtype)} did not match {scalar_name(other.dtype)}")
    a, b = alias_of(input), alias_of(other)
    if a.dtype is bool_:
        return a == b
    near = (a == b) | (((a - b).abs() <= atol + rtol * b.abs()) & (a - b).isfinite())
    return near | (a.isnan() & b.isnan()) if equal_nan else near


@method
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    r"""Whether all elements are nearly equal."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())

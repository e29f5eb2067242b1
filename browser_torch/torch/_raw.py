r"""Operations without derivatives: each of them is one call of a kernel, or two."""

import math
from enum import IntEnum
from functools import cache
from typing import Any

from torch._dtypes import (
    COMPLEX,
    FLOATING,
    Default,
    bool_,
    default_of_kind,
    dtype,
    float32,
    float64,
    int64,
    kind_of_number,
    promote_types,
    scalar_name,
)
from torch._memory import Operation, bits, run
from torch._shapes import (
    Shape,
    broadcast,
    contiguous_strides,
    expanded_strides,
    is_contiguous,
    strides_of_result,
    wrap_axes,
)
from torch._tensor import Tensor, new, unfilled, view_of


class Unary(IntEnum):
    r"""What is done to each element; the order is that of kernels/elementwise.c."""

    NEGATIVE = 0
    ABSOLUTE = 1
    SIGN = 2
    SQUARE = 3
    RECIPROCAL = 4
    SQUARE_ROOT = 5
    RECIPROCAL_ROOT = 6
    EXPONENTIAL = 7
    EXPONENTIAL_2 = 8
    EXPONENTIAL_LESS_1 = 9
    LOGARITHM = 10
    LOGARITHM_2 = 11
    LOGARITHM_OF_1_MORE = 12
    SINE = 13
    COSINE = 14
    TANGENT = 15
    HYPERBOLIC_TANGENT = 16
    ERROR_FUNCTION = 17
    SIGMOID = 18
    RELU = 19
    SILU = 20
    GELU = 21
    GELU_SLOPE = 22
    FLOOR = 23
    CEILING = 24
    ROUND = 25
    TRUNCATE = 26
    IS_NAN = 27
    IS_FINITE = 28
    NOT = 29
    INVERT_BITS = 30
    CONJUGATE = 31


class Binary(IntEnum):
    r"""What is done to pairs of elements; the order is that of kernels/elementwise.c."""

    ADD = 0
    SUBTRACT = 1
    MULTIPLY = 2
    DIVIDE = 3
    POWER = 4
    MAXIMUM = 5
    MINIMUM = 6
    EQUAL = 7
    NOT_EQUAL = 8
    LESS = 9
    LESS_EQUAL = 10
    GREATER = 11
    GREATER_EQUAL = 12
    FLOOR_DIVIDE = 13
    TRUNCATED_DIVIDE = 14
    REMAINDER = 15
    C_REMAINDER = 16
    AND = 17
    OR = 18
    XOR = 19
    SHIFT_LEFT = 20
    SHIFT_RIGHT = 21
    ARC_TANGENT_2 = 22


class Reduction(IntEnum):
    r"""How many elements become one; the order is that of kernels/reduce.c."""

    SUM = 0
    PRODUCT = 1
    LARGEST = 2
    SMALLEST = 3
    PLACE_OF_LARGEST = 4
    PLACE_OF_SMALLEST = 5
    ANY = 6
    ALL = 7


_GIVES_BOOL = {Unary.IS_NAN, Unary.IS_FINITE, Unary.NOT}
_COMPARES = set(range(Binary.EQUAL, Binary.GREATER_EQUAL + 1))
_BITWISE = {Binary.AND, Binary.OR, Binary.XOR, Binary.SHIFT_LEFT, Binary.SHIFT_RIGHT}
# What stays an integer; everything else makes floating-point numbers of integers.
_INTEGRAL_UNARY = {
    Unary.NEGATIVE,
    Unary.ABSOLUTE,
    Unary.SIGN,
    Unary.SQUARE,
    Unary.INVERT_BITS,
    Unary.NOT,
}


def filled(shape: Shape, value: Any, d: dtype) -> Tensor:
    r"""A new tensor full of one number."""
    tensor = new(shape, d)
    if value != 0:
        fill(tensor, value)
    return tensor


def fill(tensor: Tensor, value: Any) -> None:
    r"""One number into every element."""
    d = tensor.dtype
    if d.kind >= FLOATING:
        if isinstance(value, complex):
            parts = view_of_parts(tensor)
            copy_into(parts, _pair(value, parts.dtype))
            return
        number = bits(float(value))
    elif d is bool_:
        number = int(bool(value))
    else:
        number = int(value)
        number = (number + 2**63) % 2**64 - 2**63
    run(Operation.FILL, (number,), tensor)


def view_of_parts(tensor: Tensor) -> Tensor:
    r"""The real and the imaginary parts, along a new last axis; the memory is the same."""
    strides = (*(2 * stride for stride in tensor._strides), 1)
    parts = view_of(tensor, (*tensor.shape, 2), strides, 2 * tensor._offset)
    parts.dtype = tensor.dtype.to_real()
    return parts


def _pair(value: complex, d: dtype) -> Tensor:
    pair = new((2,), d)
    fill(view_of(pair, (), (), 0), value.real)
    fill(view_of(pair, (), (), 1), value.imag)
    return pair


_scalars: dict[Any, Tensor] = {}


def scalar(value: Any, d: dtype) -> Tensor:
    r"""A number as a tensor without axes. It is used again, so nobody may change it."""
    key = d.code, type(value), value if value == value else "nan", math.copysign(1, value.real)
    tensor = _scalars.get(key)
    if tensor is None:
        tensor = filled((), value, d)
        if len(_scalars) < 4096:
            _scalars[key] = tensor
    return tensor


def new_like_memory(shape: Shape, strides: Shape, d: dtype) -> Tensor:
    r"""A new tensor with these strides, and memory for all that they reach."""
    reach = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    memory = new((max(reach, 1),), d)
    return view_of(memory, shape, strides, 0)


def copy_into(target: Tensor, source: Tensor) -> None:
    r"""The elements of one tensor into another, broadcast and converted."""
    expanded_strides(source.shape, source._strides, target.shape)
    run(Operation.COPY, (), target, source)


def contiguous(tensor: Tensor) -> Tensor:
    r"""The tensor itself if its elements follow each other, else a copy in which they do."""
    if is_contiguous(tensor.shape, tensor._strides):
        return tensor
    return contiguous_copy(tensor)


def contiguous_copy(tensor: Tensor) -> Tensor:
    r"""A copy whose elements follow each other."""
    out = unfilled(tensor.shape, tensor.dtype)
    run(Operation.COPY, (), out, tensor)
    return out


def dense_copy(tensor: Tensor, d: dtype) -> Tensor:
    r"""A copy of a type, with the axes in the order that they have in memory."""
    out = unfilled(tensor.shape, d, strides_of_result(tensor.shape, tensor._strides))
    run(Operation.COPY, (), out, tensor)
    return out


def cast(tensor: Tensor, d: dtype) -> Tensor:
    r"""The tensor itself if it is of the type, else a copy that is."""
    return tensor if tensor.dtype is d else dense_copy(tensor, d)


def result_type(a: Any, b: Any) -> dtype:
    r"""The type of `a + b`, where one of them may be a number."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.dtype is b.dtype:
            return a.dtype
        # A tensor without axes gives way to one with axes, unless it is of a larger kind.
        if (not a.shape) != (not b.shape):
            large, small = (b, a) if not a.shape else (a, b)
            if small.dtype.kind <= large.dtype.kind:
                return large.dtype
        return promote_types(a.dtype, b.dtype)
    if not isinstance(a, Tensor):
        a, b = b, a
    if not isinstance(a, Tensor):
        return default_of_kind(max(kind_of_number(a), kind_of_number(b)))
    kind = kind_of_number(b)
    if kind <= a.dtype.kind:
        return a.dtype
    return a.dtype.to_complex() if kind == COMPLEX and a.dtype.kind else default_of_kind(kind)


def unary(operation: int, a: Tensor) -> Tensor:
    r"""An operation on each element."""
    d = a.dtype
    if d.kind < FLOATING:
        if operation not in _INTEGRAL_UNARY:
            a = cast(a, Default.dtype)
        elif d is not bool_ or operation != Unary.NOT:
            a = cast(a, int64)
    elif d.work is not d:
        a = cast(a, d.work)
    strides = strides_of_result(a.shape, a._strides)
    out = unfilled(a.shape, bool_ if operation in _GIVES_BOOL else a.dtype, strides)
    run(Operation.UNARY, (operation,), out, a)
    if operation in _GIVES_BOOL or operation not in _INTEGRAL_UNARY and d.kind < FLOATING:
        return out
    return cast(out, d)


def binary(operation: int, a: Any, b: Any, d: dtype | None = None) -> Tensor:
    r"""An operation on pairs of elements; one of the two may be a number."""
    d = d or result_type(a, b)
    if operation in (Binary.DIVIDE, Binary.ARC_TANGENT_2):
        d = Default.dtype if d.kind < FLOATING else d
    work = d.work
    if d is bool_ and operation not in _COMPARES | _BITWISE | _BOOL_ARITHMETIC:
        work = int64
    if d.kind == COMPLEX and operation == Binary.POWER:
        return _complex_power(a, b, d)
    a = scalar(a, work) if not isinstance(a, Tensor) else cast(a, work)
    b = scalar(b, work) if not isinstance(b, Tensor) else cast(b, work)
    shape = broadcast(a.shape, b.shape)
    strides = strides_of_result(
        shape,
        expanded_strides(a.shape, a._strides, shape),
        expanded_strides(b.shape, b._strides, shape),
    )
    out = unfilled(shape, bool_ if operation in _COMPARES else work, strides)
    run(Operation.BINARY, (operation,), out, a, b)
    return out if operation in _COMPARES or work is d else cast(out, d if d is not bool_ else work)


def binary_into(operation: int, target: Tensor, other: Any) -> bool:
    r"""The result of `binary` in place of its first operand, where one kernel can do it.

    False, and nothing is done, if a type or a shape would change.
    """
    d = target.dtype
    if d is not float32 and d is not float64:
        return False
    if isinstance(other, Tensor):
        if other.dtype is not d or other.shape not in (target.shape, ()):
            return False
    elif not isinstance(other, (int, float)):
        return False
    else:
        other = scalar(other, d)
    run(Operation.BINARY, (operation,), target, target, other)
    return True


def _complex_power(a: Any, b: Any, d: dtype) -> Tensor:
    r"""By numbers of Python: it is rare."""
    a = scalar(a, d) if not isinstance(a, Tensor) else cast(a, d)
    b = scalar(b, d) if not isinstance(b, Tensor) else cast(b, d)
    shape = broadcast(a.shape, b.shape)
    wide = [
        numbers(view_of(one, shape, expanded_strides(one.shape, one._strides, shape), one._offset))
        for one in (a, b)
    ]
    out = new(shape, d)
    flat = view_of(out, (out.numel(),), (1,), 0)
    for place, (base, exponent) in enumerate(zip(*wide, strict=True)):
        value = base**exponent if base else complex(exponent == 0)
        fill(view_of(flat, (), (), place), value)
    return out


_BOOL_ARITHMETIC = {Binary.ADD, Binary.MULTIPLY, Binary.MAXIMUM, Binary.MINIMUM}


def where(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    r"""Elements of `a` where the condition holds, of `b` elsewhere; both of one type."""
    shape = broadcast(broadcast(condition.shape, a.shape), b.shape)
    strides = strides_of_result(
        shape,
        *(expanded_strides(one.shape, one._strides, shape) for one in (condition, a, b)),
    )
    out = unfilled(shape, a.dtype, strides)
    run(Operation.WHERE, (), out, condition, a, b)
    return out


def reduce(operation: int, a: Tensor, dims: Any, keepdim: bool = False) -> Tensor:
    r"""Many elements become one, along the axes of `dims` or along all."""
    axes = wrap_axes(dims, len(a.shape))
    d = a.dtype
    if operation in (Reduction.SUM, Reduction.PRODUCT) and d.kind < FLOATING:
        a, d = cast(a, int64), int64
    elif d.work is not d:
        a = cast(a, d.work)
    if d.kind == COMPLEX:
        return _sum_of_parts(operation, a, axes, keepdim)
    of_extremes = Reduction.LARGEST <= operation <= Reduction.PLACE_OF_SMALLEST
    if of_extremes and any(a.shape[axis] == 0 for axis in axes):
        _no_extreme(operation, a, dims)
    kept_shape = tuple(1 if axis in axes else size for axis, size in enumerate(a.shape))
    result = {
        Reduction.PLACE_OF_LARGEST: int64,
        Reduction.PLACE_OF_SMALLEST: int64,
        Reduction.ANY: bool_,
        Reduction.ALL: bool_,
    }.get(operation, a.dtype)
    out = new(kept_shape, result)
    if operation in (Reduction.PRODUCT, Reduction.ALL):
        if math.prod(a.shape) == 0:
            fill(out, 1)
    # Along the reduced axes all elements fall on the same place.
    strides = tuple(0 if axis in axes else stride for axis, stride in enumerate(out._strides))
    run(Operation.REDUCE, (operation,), view_of(out, a.shape, strides, 0), a)
    if operation <= Reduction.SMALLEST and out.dtype is not d:
        out = cast(out, d)
    if keepdim:
        return out
    shape = [size for axis, size in enumerate(a.shape) if axis not in axes]
    return view_of(out, shape, contiguous_strides(shape), 0)


def _sum_of_parts(operation: int, a: Tensor, axes: list[int], keepdim: bool) -> Tensor:
    if operation != Reduction.SUM:
        raise NotImplementedError(
            f"{Reduction(operation).name.lower()} of complex numbers is not in the browser's "
            "torch: use abs(), real or imag first."
        )
    parts = (
        reduce(operation, view_of_parts(a), axes, keepdim) if axes or a.shape else view_of_parts(a)
    )
    return complex_of_parts(parts, a.dtype)


def complex_of_parts(parts: Tensor, d: dtype) -> Tensor:
    r"""Pairs along the last axis as complex numbers, in the same memory."""
    out = view_of(
        parts,
        parts.shape[:-1],
        tuple(stride // 2 for stride in parts._strides[:-1]),
        parts._offset // 2,
    )
    out.dtype = d
    return out


def _no_extreme(operation: int, a: Tensor, dims: Any) -> None:
    name = {
        Reduction.LARGEST: "max",
        Reduction.SMALLEST: "min",
        Reduction.PLACE_OF_LARGEST: "argmax",
        Reduction.PLACE_OF_SMALLEST: "argmin",
    }[Reduction(operation)]
    if dims is None or dims == ():
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )
    raise IndexError(f"{name}(): Expected reduction dim {dims} to have non-zero size.")


@cache
def _packed() -> Tensor:
    r"""Memory for the parts of a matrix product that are packed; kernels/matmul.c has its size."""
    return new((264 * 128,), float32)


def matmul(a: Tensor, b: Tensor, added: Tensor | None = None) -> Tensor:
    r"""Matrix products over the last two axes; those before are broadcast.

    What is `added` to each row lies in order, and is of the type that is computed with.
    """
    d = a.dtype
    if d.kind == COMPLEX:
        return _complex_matmul(a, b)
    work = d.work if d is not bool_ else int64
    a, b = cast(a, work), cast(b, work)
    *lead_a, rows, _ = a.shape
    *lead_b, _, columns = b.shape
    lead = lead_a
    if lead_a != lead_b:
        lead = broadcast(lead_a, lead_b)
        a, b = _with_lead(a, lead), _with_lead(b, lead)
    out = unfilled((*lead, rows, columns), work)
    if added is None:
        run(Operation.MATMUL, (), out, a, b, _packed())
    else:
        run(Operation.MATMUL, (), out, a, b, _packed(), added)
    return cast(out, d)


def _with_lead(one: Tensor, lead: Shape) -> Tensor:
    r"""Matrices, broadcast over the axes before their last two."""
    strides = expanded_strides(one.shape[:-2], one._strides[:-2], lead)
    return view_of(one, (*lead, *one.shape[-2:]), (*strides, *one._strides[-2:]), one._offset)


def _complex_matmul(a: Tensor, b: Tensor) -> Tensor:
    r"""Four products of real matrices."""

    def part(one: Tensor, which: int) -> Tensor:
        parts = view_of_parts(one)
        return view_of(parts, one.shape, parts._strides[:-1], parts._offset + which)

    real_a, imaginary_a, real_b, imaginary_b = part(a, 0), part(a, 1), part(b, 0), part(b, 1)
    real = binary(Binary.SUBTRACT, matmul(real_a, real_b), matmul(imaginary_a, imaginary_b))
    imaginary = binary(Binary.ADD, matmul(real_a, imaginary_b), matmul(imaginary_a, real_b))
    out = new(real.shape, a.dtype)
    parts = view_of_parts(out)
    copy_into(view_of(parts, out.shape, parts._strides[:-1], 0), real)
    copy_into(view_of(parts, out.shape, parts._strides[:-1], 1), imaginary)
    return out


def same_dtype(a: Tensor, b: Tensor, what: str) -> None:
    r"""Products want two tensors of one type."""
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected {what} to have the same dtype, but got: {scalar_name(a.dtype).lower()} != "
            f"{scalar_name(b.dtype).lower()}"
        )


def numbers(tensor: Tensor) -> list[Any]:
    r"""All elements in order, as numbers of Python."""
    if tensor.dtype.kind == COMPLEX:
        flat = numbers(view_of_parts(contiguous(tensor)))
        return [complex(*flat[i : i + 2]) for i in range(0, len(flat), 2)]
    if tensor.dtype.work is float32:
        tensor = cast(tensor, float32)
    tensor = contiguous(tensor)
    d, count = tensor.dtype, tensor.numel()
    start = tensor._offset * d.itemsize
    raw = tensor._storage.bytes()[start : start + count * d.itemsize]
    return raw.cast(d.format).tolist() if count else []

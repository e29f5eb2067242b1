r"""Functions of pairs of elements that are formulas of others."""

import math
from collections.abc import Callable
from typing import Any

from torch._dtypes import COMPLEX, FLOATING, INTEGRAL, Default, complex128, float64, scalar_name
from torch._elementwise import need_tensor, to_operand, where
from torch._raw import Binary, binary, cast, result_type, scalar
from torch._raw import where as raw_where
from torch._tape import record
from torch._tensor import Tensor, alias_of, method

Function = Callable[[Tensor, Tensor], Tensor]


def _check(name: str, input: Any, other: Any, *, floating: bool = False) -> None:
    need_tensor(name, input)
    if not isinstance(other, Tensor):
        raise TypeError(
            f"{name}(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}"
        )
    d = result_type(input, other)
    if floating and d.kind < FLOATING:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{scalar_name(d)}'")


def _log_of_sum(name: str, base: float) -> Function:
    r"""The logarithm of a sum of two powers, computed so that nothing overflows."""
    factor = math.log(base)

    def function(input: Tensor, other: Tensor) -> Tensor:
        _check(name, input, other, floating=True)
        a, b = alias_of(input), alias_of(other)
        larger = binary(Binary.MAXIMUM, a, b)
        rest = ((a - b).abs() * -factor).exp().log1p() / factor
        # The difference of infinities is no number.
        out = where((a == b) & a.isinf(), larger, larger + rest)

        def backward(gradient: Tensor) -> tuple[Tensor, Tensor]:
            share = ((input - other) * factor).sigmoid()
            return (
                to_operand(gradient * share, input.shape, input.dtype),
                to_operand(gradient * (1 - share), other.shape, other.dtype),
            )

        return record(out, (input, other), backward, name.capitalize(), (input, other))

    function.__name__ = name
    return method(function)


logaddexp, logaddexp2 = _log_of_sum("logaddexp", math.e), _log_of_sum("logaddexp2", 2)


def _known_extreme(name: str, at_least: Binary) -> Function:
    r"""The extreme of two elements; what is not a number loses."""

    def function(input: Tensor, other: Tensor) -> Tensor:
        _check(name, input, other)
        a, b = alias_of(input), alias_of(other)
        first = binary(at_least, a, b) | b.isnan()
        d = result_type(a, b)
        out = raw_where(first, cast(a, d), cast(b, d))

        def backward(gradient: Tensor) -> tuple[Tensor, Tensor]:
            return (
                to_operand(where(first, gradient, 0.0), input.shape, input.dtype),
                to_operand(where(first, 0.0, gradient), other.shape, other.dtype),
            )

        return record(out, (input, other), backward, name.capitalize(), (input, other))

    function.__name__ = name
    return method(function)


fmax = _known_extreme("fmax", Binary.GREATER_EQUAL)
fmin = _known_extreme("fmin", Binary.LESS_EQUAL)


@method
def hypot(input: Tensor, other: Tensor) -> Tensor:
    r"""The long side of a triangle, of both others."""
    _check("hypot", input, other, floating=True)
    d = result_type(input, other)
    a, b = cast(alias_of(input), float64), cast(alias_of(other), float64)
    out = cast((a * a + b * b).sqrt(), d)

    def backward(gradient: Tensor) -> tuple[Tensor, Tensor]:
        length = (input * input + other * other).sqrt()
        return (
            to_operand(gradient * (input / length), input.shape, input.dtype),
            to_operand(gradient * (other / length), other.shape, other.dtype),
        )

    return record(out, (input, other), backward, "Hypot", (input, other))


@method
def copysign(input: Tensor, other: Any) -> Tensor:
    r"""The size of one number with the sign of the other."""
    need_tensor("copysign", input)
    d = result_type(input, other)
    d = d if d.kind >= FLOATING else Default.dtype
    a = cast(alias_of(input), d)
    b = alias_of(other) if isinstance(other, Tensor) else scalar(other, d)
    size = a.abs()
    out = where(b.signbit(), -size, size)

    def backward(gradient: Tensor) -> list[Tensor | None]:
        turned = binary(Binary.NOT_EQUAL, a.signbit(), b.signbit())
        slope = where(turned, -gradient, gradient)
        parts = [to_operand(where(a == 0, 0.0, slope), input.shape, input.dtype)]
        if isinstance(other, Tensor):
            parts.append(to_operand(gradient * 0, other.shape, other.dtype))
        return parts

    operands = [one for one in (input, other) if isinstance(one, Tensor)]
    return record(out, operands, backward, "Copysign", (input,))


@method
def xlogy(input: Any, other: Any) -> Tensor:
    r"""`input * log(other)`, which is 0 where `input` is."""
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        raise TypeError("xlogy() received an invalid combination of arguments - got two numbers")
    d = result_type(input, other)
    d = d if d.kind >= FLOATING else Default.dtype
    a, b = (
        cast(alias_of(one), d) if isinstance(one, Tensor) else scalar(one, d)
        for one in (input, other)
    )
    zero = (a == 0) & ~b.isnan()
    out = where(zero, 0.0, a * b.log())

    def backward(gradient: Tensor) -> list[Tensor]:
        parts = []
        if isinstance(input, Tensor):
            nothing = (a == 0) & (b <= 0)
            logarithm = other.log() if isinstance(other, Tensor) else b.log()
            part = where(nothing, 0.0, gradient * logarithm)
            parts.append(to_operand(part, input.shape, input.dtype))
        if isinstance(other, Tensor):
            parts.append(to_operand(gradient * (input / other), other.shape, other.dtype))
        return parts

    operands = [one for one in (input, other) if isinstance(one, Tensor)]
    return record(out, operands, backward, "Xlogy", operands)


@method
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    r"""0 for negative numbers, 1 for positive ones, and a value at 0."""
    need_tensor("heaviside", input)
    if not isinstance(values, Tensor):
        raise TypeError(
            "heaviside(): argument 'values' (position 2) must be Tensor, not "
            f"{type(values).__name__}"
        )
    if input.dtype.kind == COMPLEX or values.dtype.kind == COMPLEX:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if input.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    own = alias_of(input)
    return where(own == 0, alias_of(values), cast(own > 0, own.dtype))


@method
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    r"""`input * 2 ** other`."""
    _check("ldexp", input, other)
    return input * 2.0**other


@method
def float_power(input: Any, exponent: Any) -> Tensor:
    r"""`input ** exponent` in double precision."""
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise TypeError("float_power() received an invalid combination of arguments")
    d = complex128 if result_type(input, exponent).kind == COMPLEX else float64
    base, power = (one.to(d) if isinstance(one, Tensor) else one for one in (input, exponent))
    if not isinstance(base, Tensor):
        base = scalar(base, d)
    return base**power


def _float_power_(self: Tensor, exponent: Any) -> Tensor:
    r"""The same in place, for double precision alone."""
    if self.dtype.kind != COMPLEX and self.dtype is not float64:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {scalar_name(self.dtype)} but the "
            "operation's result requires dtype Double"
        )
    return self.pow_(exponent)


method(_float_power_, "float_power_")


# Whole numbers
def _check_whole(name: str, input: Tensor, other: Tensor) -> None:
    _check(name, input, other)
    d = result_type(input, other)
    if d.kind != INTEGRAL:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{scalar_name(d)}'")


@method
def gcd(input: Tensor, other: Tensor) -> Tensor:
    r"""The greatest common divisor, by Euclid."""
    _check_whole("gcd", input, other)
    d = result_type(input, other)
    a, b = input.to(d).abs(), other.to(d).abs()
    while bool((b != 0).any()):
        done = b == 0
        rest = a.remainder(where(done, 1, b))
        a, b = where(done, a, b), where(done, 0, rest)
    return a + 0 * b


@method
def lcm(input: Tensor, other: Tensor) -> Tensor:
    r"""The least common multiple."""
    _check_whole("lcm", input, other)
    divisor = gcd(input, other)
    return (input.div(where(divisor == 0, 1, divisor), rounding_mode="trunc") * other).abs()

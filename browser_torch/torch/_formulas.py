r"""Functions of each element that are formulas of others.

They are computed in double precision, so that what cancels costs no digit of single precision.
"""

import math
from collections.abc import Callable

from torch._dtypes import COMPLEX, FLOATING, Default, bool_, float64
from torch._elementwise import need_floating, need_tensor, where
from torch._raw import Binary, binary, cast, filled
from torch._tape import no_grad, record
from torch._tensor import Tensor, alias_of, method

Formula = Callable[[Tensor], Tensor]
_LOG_2 = math.log(2)


def _elementwise(name: str, value: Formula, slope: Formula) -> Formula:
    r"""A function by its value and its derivative."""

    def function(input: Tensor) -> Tensor:
        need_tensor(name, input)
        if input.dtype.kind == COMPLEX:
            raise NotImplementedError(
                f"{name} of complex numbers is not in the browser's torch: write it with exp, log "
                "and sqrt."
            )
        with no_grad():
            out = value(cast(alias_of(input), float64))
        out = cast(out, input.dtype if input.dtype.kind == FLOATING else Default.dtype)
        title = name.capitalize()
        return record(out, (input,), lambda gradient: (gradient * slope(input),), title, (input,))

    function.__name__ = name
    return method(function)


def _sinh(x: Tensor) -> Tensor:
    size = x.abs()
    grown = size.expm1()
    near = (grown + grown / (grown + 1)) / 2
    # Half of the exponential, before it can overflow.
    return x.sign() * where(size > 20, (size - _LOG_2).exp(), near)


def _cosh(x: Tensor) -> Tensor:
    size = x.abs()
    return (size - _LOG_2).exp() + (-size - _LOG_2).exp()


def _asinh(x: Tensor) -> Tensor:
    size = x.abs()
    near = (size + size * size / (1 + (1 + size * size).sqrt())).log1p()
    return x.sign() * where(size > 1e8, size.log() + _LOG_2, near)


def _acosh(x: Tensor) -> Tensor:
    beyond = x - 1
    near = (beyond + (beyond * (beyond + 2)).sqrt()).log1p()
    far = where(x > 1e8, x.log() + _LOG_2, near)
    return where(x < 1, math.nan, far)


def _atanh(x: Tensor) -> Tensor:
    return 0.5 * (2 * x / (1 - x)).log1p()


def _atan(x: Tensor) -> Tensor:
    return binary(Binary.ARC_TANGENT_2, x, 1.0)


def _erfc(x: Tensor) -> Tensor:
    r"""`1 - erf(x)`; where that is small, the continued fraction of Laplace."""
    far = x.clamp(min=2)
    denominator = far
    for step in range(50, 0, -1):
        denominator = far + step / 2 / denominator
    tail = (-far * far).exp() / math.sqrt(math.pi) / denominator
    return where(x > 2, tail, 1 - x.erf())


def _erfinv(y: Tensor) -> Tensor:
    r"""The formula of Winitzki, and steps of Halley's method."""
    size = y.abs()
    logarithm = ((1 - size) * (1 + size)).log()
    part = 2 / (math.pi * 0.147) + logarithm / 2
    x = ((part * part - logarithm / 0.147).sqrt() - part).sqrt()
    for _ in range(3):
        # Near 1 the difference of the complements has more digits.
        missed = where(size > 0.5, (1 - size) - _erfc(x), x.erf() - size)
        step = missed * math.sqrt(math.pi) / 2 * (x * x).exp()
        x = x - step / (1 + x * step)
    return y.sign() * where(size == 1, math.inf, x)


def _bell(x: Tensor) -> Tensor:
    return 2 / math.sqrt(math.pi) * (-x * x).exp()


sinh = _elementwise("sinh", _sinh, lambda x: cosh(x))
cosh = _elementwise("cosh", _cosh, lambda x: sinh(x))
asinh = _elementwise("asinh", _asinh, lambda x: (x * x + 1).rsqrt())
acosh = _elementwise("acosh", _acosh, lambda x: (x * x - 1).rsqrt())
atanh = _elementwise("atanh", _atanh, lambda x: 1 / (1 - x * x))
atan = _elementwise("atan", _atan, lambda x: 1 / (x * x + 1))
erfc = _elementwise("erfc", _erfc, lambda x: -_bell(x))
erfinv = _elementwise("erfinv", _erfinv, lambda y: 1 / _bell(erfinv(y)))
arcsinh, arccosh, arctanh, arctan = asinh, acosh, atanh, atan
for _name in ("asinh", "acosh", "atanh", "atan"):
    method(globals()[_name], f"arc{_name[1:]}")


@method
def sinc(input: Tensor) -> Tensor:
    r"""`sin(pi x) / (pi x)`, which is 1 at 0."""
    need_tensor("sinc", input)
    zero = alias_of(input) == 0
    turned = where(zero, 1.0, input) * math.pi
    return where(zero, 1.0, turned.sin() / turned)


@method
def deg2rad(input: Tensor) -> Tensor:
    r"""Degrees as radians."""
    need_tensor("deg2rad", input)
    return input * (math.pi / 180)


@method
def rad2deg(input: Tensor) -> Tensor:
    r"""Radians as degrees."""
    need_tensor("rad2deg", input)
    return input * (180 / math.pi)


@method
def frac(input: Tensor) -> Tensor:
    r"""What is behind the point."""
    need_tensor("frac", input)
    need_floating("frac_cpu", input)
    return input - input.trunc()


@method
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    r"""The inverse of the sigmoid; `eps` keeps it away from 0 and 1."""
    need_tensor("logit", input)
    low, high = (0.0, 1.0) if eps is None else (eps, 1 - eps)

    def backward(gradient: Tensor) -> tuple[Tensor]:
        inside = (input >= low) & (input <= high)
        slope = gradient / (input * (1 - input))
        return (where(inside, slope, math.nan if eps is None else 0.0),)

    own = alias_of(input)
    own = own if own.dtype.kind >= FLOATING else cast(own, Default.dtype)
    if eps is not None:
        own = own.clamp(low, high)
    return record((own / (1 - own)).log(), (input,), backward, "Logit", (input,))


# Tests of each element
@method
def signbit(input: Tensor) -> Tensor:
    r"""Whether the sign is a minus, that of zero included."""
    need_tensor("signbit", input)
    own = alias_of(input)
    if own.dtype.kind < FLOATING:
        return own < 0
    return (own < 0) | ((own == 0) & (own.reciprocal() < 0))


def _infinite(name: str, sign: float) -> Formula:
    def function(input: Tensor) -> Tensor:
        need_tensor(name, input)
        if input.dtype.kind == COMPLEX:
            raise RuntimeError(f"{name} does not support complex inputs.")
        if input.dtype.kind < FLOATING:
            return filled(input.shape, False, bool_)
        return alias_of(input) == sign

    function.__name__ = name
    return method(function)


isposinf, isneginf = _infinite("isposinf", math.inf), _infinite("isneginf", -math.inf)


@method
def isreal(input: Tensor) -> Tensor:
    r"""Whether the imaginary part is 0."""
    need_tensor("isreal", input)
    if input.dtype.kind < COMPLEX:
        return filled(input.shape, True, bool_)
    return alias_of(input).imag == 0

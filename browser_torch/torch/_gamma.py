r"""The logarithm of the gamma function, and its derivatives.

For large numbers Stirling's series has all digits; smaller ones are moved there, six steps up, and
negative ones are mirrored first.
"""

import math
from collections.abc import Callable

from torch._dtypes import FLOATING, Default, float64
from torch._elementwise import where
from torch._raw import cast
from torch._tape import no_grad, record
from torch._tensor import Tensor, alias_of, method

_STEPS = 7


def _wide(input: Tensor) -> Tensor:
    return cast(alias_of(input), float64)


def _series(z: Tensor, factors: list[float]) -> Tensor:
    r"""A sum of powers of `1 / z ** 2`."""
    power = 1 / (z * z)
    total = power * 0
    for factor in reversed(factors):
        total = (total + factor) * power
    return total


def _log_gamma(x: Tensor) -> Tensor:
    z, product = x + _STEPS, x
    for step in range(1, _STEPS):
        product = product * (x + step)
    tail = z * _series(z, [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188])
    value = (z - 0.5) * z.log() - z + 0.5 * math.log(2 * math.pi) + tail - product.log()
    return where((x == 1) | (x == 2), 0.0, value)


def _first(x: Tensor) -> Tensor:
    z, total = x + _STEPS, x * 0
    for step in range(_STEPS):
        total = total + 1 / (x + step)
    tail = _series(z, [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132])
    return z.log() - 0.5 / z - tail - total


def _second(x: Tensor) -> Tensor:
    z, total = x + _STEPS, x * 0
    for step in range(_STEPS):
        total = total + 1 / (x + step) ** 2
    tail = _series(z, [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66]) / z
    return 1 / z + 0.5 / (z * z) + tail + total


def _turn(x: Tensor) -> Tensor:
    r"""The angle of the mirror, `pi x`, without the whole turns."""
    return (x - x.round()) * math.pi


def _log_of_negative(x: Tensor, mirrored: Tensor) -> Tensor:
    return math.log(math.pi) - _turn(x).sin().abs().log() - mirrored


def _first_of_negative(x: Tensor, mirrored: Tensor) -> Tensor:
    slope = mirrored - math.pi / _turn(x).tan()
    # One over 0 has the sign of the 0.
    whole = where(x == 0, -1 / x, math.nan)
    return where(x == x.round(), whole, slope)


def _second_of_negative(x: Tensor, mirrored: Tensor) -> Tensor:
    return (math.pi / _turn(x).sin()) ** 2 - mirrored


def _gamma(
    name: str,
    positive: Callable[[Tensor], Tensor],
    negative: Callable[[Tensor, Tensor], Tensor],
    slope: Callable[[Tensor], Tensor] | None,
) -> Callable[[Tensor], Tensor]:
    def function(input: Tensor) -> Tensor:
        with no_grad():
            x = _wide(input)
            below = x <= 0
            value = positive(where(below, 1 - x, x))
            value = where(below, negative(x, value), value)
            value = where(x == math.inf, x if name != "trigamma" else 0.0, value)
        out = cast(value, input.dtype if input.dtype.kind >= FLOATING else Default.dtype)
        if slope is None:
            return out
        back = slope
        return record(
            out, (input,), lambda gradient: (gradient * back(input),), name.capitalize(), (input,)
        )

    function.__name__ = name
    return function


trigamma = _gamma("trigamma", _second, _second_of_negative, None)
digamma = _gamma("digamma", _first, _first_of_negative, trigamma)
lgamma = _gamma("lgamma", _log_gamma, _log_of_negative, digamma)
method(digamma)
method(lgamma)

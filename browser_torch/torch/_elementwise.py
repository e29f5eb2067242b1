r"""Operations on each element, and on pairs of elements, with their derivatives."""

import math
from collections.abc import Callable
from typing import Any

from torch._dtypes import (
    COMPLEX,
    FLOATING,
    INTEGRAL,
    Default,
    bool_,
    c_name,
    float32,
    int64,
    scalar_name,
)
from torch._memory import Operation, run
from torch._raw import (
    Binary,
    Unary,
    binary,
    cast,
    complex_of_parts,
    filled,
    result_type,
    scalar,
    unary,
    view_of_parts,
)
from torch._raw import (
    where as raw_where,
)
from torch._shapes import Shape
from torch._tape import NUMBER, Mode, needs_record, record, record_result, record_view
from torch._tensor import Tensor, alias_of, method, unfilled

Number = int | float | complex


def fit_gradient(gradient: Tensor, shape: Shape) -> Tensor:
    r"""The gradient of what was broadcast: a sum along every axis that was repeated."""
    if gradient.shape == shape:
        return gradient
    new = len(gradient.shape) - len(shape)
    repeated = [
        axis
        for axis, size in enumerate(gradient.shape)
        if axis < new or shape[axis - new] == 1 and size != 1
    ]
    if repeated:
        gradient = gradient.sum(repeated, keepdim=True)
    return gradient.reshape(shape)


def _check_pair(name: str, a: Any, b: Any) -> None:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return
    for place, one in (("input", a), ("other", b)):
        if not isinstance(one, (Tensor, int, float, complex)):
            raise TypeError(
                f"{name}(): argument '{place}' must be Tensor or Number, not {type(one).__name__}"
            )
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not number")


def _tensors(*operands: Any) -> list[Tensor]:
    return [one for one in operands if isinstance(one, Tensor)]


def to_operand(gradient: Tensor, shape: Shape, d: Any) -> Tensor:
    r"""The gradient in the shape and the type of the operand."""
    gradient = fit_gradient(gradient, shape)
    if gradient.dtype.kind == COMPLEX and d.kind != COMPLEX:
        gradient = real(gradient)
    return gradient if gradient.dtype is d else gradient.to(d)


def conjugated(factor: Any) -> Any:
    r"""Derivatives of complex numbers take the conjugate of the other factor."""
    if isinstance(factor, Tensor):
        return conj(factor) if factor.dtype.kind == COMPLEX else factor
    return factor.conjugate()


@method
def add(input: Any, other: Any, *, alpha: Number = 1) -> Tensor:
    r"""`input + alpha * other`."""
    _check_pair("add", input, other)
    if alpha != 1:
        other = other * alpha
    result = binary(Binary.ADD, input, other)
    operands = _tensors(input, other)
    kinds = [(one.shape, one.dtype, one.requires_grad) for one in operands]

    def backward(gradient: Tensor) -> list[Tensor | None]:
        return [to_operand(gradient, shape, d) if needed else None for shape, d, needed in kinds]

    return record(result, operands, backward, "Add")


@method
def sub(input: Any, other: Any, *, alpha: Number = 1) -> Tensor:
    r"""`input - alpha * other`."""
    _check_pair("sub", input, other)
    kinds = [
        one.dtype is bool_ if isinstance(one, Tensor) else isinstance(one, bool)
        for one in (input, other)
    ]
    if all(kinds):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    if any(kinds):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
            "to invert a mask, use the `~` or `logical_not()` operator instead."
        )
    if alpha != 1:
        other = other * alpha
    result = binary(Binary.SUBTRACT, input, other)
    first = isinstance(input, Tensor)
    operands = _tensors(input, other)
    shapes = [(one.shape, one.dtype, one.requires_grad) for one in operands]

    def backward(gradient: Tensor) -> list[Tensor | None]:
        gradients: list[Tensor | None] = []
        for place, (shape, d, needed) in enumerate(shapes):
            negative = place == 1 or not first
            part = to_operand(gradient, shape, d) if needed else None
            gradients.append(-part if negative and part is not None else part)
        return gradients

    return record(result, operands, backward, "Sub")


def rsub(input: Tensor, other: Any, *, alpha: Number = 1) -> Tensor:
    r"""`other - alpha * input`."""
    return sub(other, input, alpha=alpha)


@method
def mul(input: Any, other: Any) -> Tensor:
    r"""`input * other`."""
    _check_pair("mul", input, other)
    result = binary(Binary.MULTIPLY, input, other)
    if not isinstance(input, Tensor):
        input, other = other, input
    if not isinstance(other, Tensor):
        shape, d = input.shape, input.dtype
        return record(
            result,
            (input,),
            lambda gradient: (to_operand(gradient * conjugated(other), shape, d),),
            "Mul",
            (NUMBER,),
        )
    a, b = input, other
    need_a, need_b = a.requires_grad, b.requires_grad

    def backward(gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        of_a = of_b = None
        if need_a:
            of_a = to_operand(gradient * conjugated(b), a.shape, a.dtype)
        if need_b:
            of_b = to_operand(gradient * conjugated(a), b.shape, b.dtype)
        return of_a, of_b

    saved = [*((b,) if need_a else ()), *((a,) if need_b else ())]
    return record(result, (a, b), backward, "Mul", saved)


@method
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    r"""`input / other`, or rounded down or towards zero."""
    _check_pair("div", input, other)
    if rounding_mode not in (None, "floor", "trunc"):
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )
    if rounding_mode:
        _no_zero_divisor(input, other)
        operation = Binary.FLOOR_DIVIDE if rounding_mode == "floor" else Binary.TRUNCATED_DIVIDE
        result = binary(operation, input, other)
        operands = _tensors(input, other)
        shapes = [(one.shape, one.dtype) for one in operands]
        # A whole number is flat wherever it has a derivative.
        return record(
            result,
            operands,
            lambda gradient: [filled(*one[:1], 0, one[1]) for one in shapes],
            "Div",
        )
    result = binary(Binary.DIVIDE, input, other)
    operands = _tensors(input, other)
    a, b = input, other
    need_b = isinstance(b, Tensor) and b.requires_grad
    need_a = isinstance(a, Tensor) and a.requires_grad

    def backward(gradient: Tensor) -> list[Tensor | None]:
        gradients: list[Tensor | None] = []
        if isinstance(a, Tensor):
            part = to_operand(gradient / conjugated(b), a.shape, a.dtype) if need_a else None
            gradients.append(part)
        if isinstance(b, Tensor):
            part = None
            if need_b:
                part = -gradient * conjugated((a / b) / b)
                part = to_operand(part, b.shape, b.dtype)
            gradients.append(part)
        return gradients

    saved = operands if need_b else [b] if isinstance(b, Tensor) else [NUMBER]
    return record(result, operands, backward, "Div", saved)


def _no_zero_divisor(a: Any, b: Any) -> None:
    r"""Integers can't be divided by 0; floating-point numbers can."""
    if result_type(a, b).kind >= FLOATING:
        return
    if (b == 0) if not isinstance(b, Tensor) else bool((b == 0).any()):
        raise RuntimeError("ZeroDivisionError")


def _pow_slope(base: Tensor, exponent: Number) -> Tensor:
    r"""The derivative of a power; that of $x^0$ is 0 everywhere."""
    if exponent == 0:
        return filled(base.shape, 0, base.dtype)
    return exponent * base ** (exponent - 1)


@method
def pow(input: Any, exponent: Any) -> Tensor:
    r"""`input ** exponent`."""
    _check_pair("pow", input, exponent)
    if not isinstance(exponent, Tensor):
        if isinstance(exponent, int) and exponent < 0 and input.dtype.kind < FLOATING:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        result = _power_of_number(input, exponent)
        base = input
        return record(
            result,
            (base,),
            lambda gradient: (gradient * _pow_slope(base, exponent),),
            "Pow",
            (base,),
        )
    a, b = input, exponent
    result = binary(Binary.POWER, a, b)
    if not isinstance(a, Tensor):
        logarithm = math.log(a) if a > 0 else -math.inf
        return record_result(
            result,
            (b,),
            lambda gradient, y: (to_operand(gradient * y * logarithm, b.shape, b.dtype),),
            "Pow",
        )

    def backward(gradient: Tensor, y: Tensor) -> tuple[Tensor | None, Tensor | None]:
        of_a = of_b = None
        if a.requires_grad:
            slope = where(b == 0, 0.0, b * a ** (b - 1))
            of_a = to_operand(gradient * slope, a.shape, a.dtype)
        if b.requires_grad:
            slope = where((a == 0) & (b >= 0), 0.0, y * a.log())
            of_b = to_operand(gradient * slope, b.shape, b.dtype)
        return of_a, of_b

    return record_result(result, (a, b), backward, "Pow", (a, b))


def _power_of_number(base: Tensor, exponent: Number) -> Tensor:
    r"""Frequent powers have exact operations."""
    special = {2: Unary.SQUARE, 0.5: Unary.SQUARE_ROOT, -0.5: Unary.RECIPROCAL_ROOT}
    floating = base.dtype.kind == FLOATING
    if exponent in special and floating:
        return unary(special[exponent], base)
    if exponent == -1 and floating:
        return unary(Unary.RECIPROCAL, base)
    if exponent == 3 and floating:
        return binary(Binary.MULTIPLY, unary(Unary.SQUARE, base), base)
    return binary(Binary.POWER, base, exponent)


def _extreme(operation: Binary, name: str) -> Callable[[Tensor, Tensor], Tensor]:
    def choose(input: Tensor, other: Tensor) -> Tensor:
        for place, one in (("input", input), ("other", other)):
            if not isinstance(one, Tensor):
                raise TypeError(
                    f"{name}(): argument '{place}' must be Tensor, not {type(one).__name__}"
                )
        result = binary(operation, input, other)
        wins = Binary.GREATER if operation == Binary.MAXIMUM else Binary.LESS

        def backward(gradient: Tensor) -> tuple[Tensor, Tensor]:
            d = gradient.dtype
            # Where both are equal, each has a half.
            half = cast(binary(Binary.EQUAL, input, other), d) * 0.5
            share = cast(binary(wins, input, other), d) + half
            return (
                to_operand(gradient * share, input.shape, input.dtype),
                to_operand(gradient * (1 - share), other.shape, other.dtype),
            )

        return record(result, (input, other), backward, name.capitalize(), (input, other))

    choose.__name__ = name
    return method(choose)


maximum, minimum = _extreme(Binary.MAXIMUM, "maximum"), _extreme(Binary.MINIMUM, "minimum")


def need_tensor(name: str, one: Any) -> None:
    if not isinstance(one, Tensor):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type(one).__name__}"
        )


def _of_input(
    name: str, operation: Unary, slope: Callable[[Tensor], Any]
) -> Callable[[Tensor], Tensor]:
    r"""A function whose derivative is computed from its argument."""

    def function(input: Tensor) -> Tensor:
        need_tensor(name, input)
        result = unary(operation, input)
        return record(
            result,
            (input,),
            lambda gradient: (gradient * slope(input),),
            name.capitalize(),
            (input,),
        )

    function.__name__ = name
    return method(function)


def _of_result(
    name: str, operation: Unary, slope: Callable[[Tensor], Any]
) -> Callable[[Tensor], Tensor]:
    r"""A function whose derivative is computed from its result."""

    def function(input: Tensor) -> Tensor:
        need_tensor(name, input)
        result = unary(operation, input)
        return record_result(
            result,
            (input,),
            lambda gradient, y: (gradient * conjugated(slope(y)),),
            name.capitalize(),
        )

    function.__name__ = name
    return method(function)


def _constant(name: str, operation: Unary) -> Callable[[Tensor], Tensor]:
    r"""A function that is flat wherever it has a derivative."""

    def function(input: Tensor) -> Tensor:
        need_tensor(name, input)
        if input.dtype.kind < FLOATING and operation != Unary.SIGN:
            return alias_of(input).clone()
        shape = input.shape
        return record(
            unary(operation, input),
            (input,),
            lambda gradient: (filled(shape, 0, gradient.dtype),),
            name.capitalize(),
        )

    function.__name__ = name
    return method(function)


exp = _of_result("exp", Unary.EXPONENTIAL, lambda y: y)
exp2 = _of_result("exp2", Unary.EXPONENTIAL_2, lambda y: y * math.log(2))
expm1 = _of_result("expm1", Unary.EXPONENTIAL_LESS_1, lambda y: y + 1)
sqrt = _of_result("sqrt", Unary.SQUARE_ROOT, lambda y: 1 / (2 * y))
rsqrt = _of_result("rsqrt", Unary.RECIPROCAL_ROOT, lambda y: -0.5 * y**3)
tanh = _of_result("tanh", Unary.HYPERBOLIC_TANGENT, lambda y: 1 - y * y)
sigmoid = _of_result("sigmoid", Unary.SIGMOID, lambda y: y * (1 - y))
reciprocal = _of_result("reciprocal", Unary.RECIPROCAL, lambda y: -y * y)
tan = _of_result("tan", Unary.TANGENT, lambda y: 1 + y * y)
_relu = _of_result("relu", Unary.RELU, lambda y: cast(binary(Binary.GREATER, y, 0), y.dtype))
log = _of_input("log", Unary.LOGARITHM, lambda a: 1 / a)
log2 = _of_input("log2", Unary.LOGARITHM_2, lambda a: 1 / (a * math.log(2)))
log1p = _of_input("log1p", Unary.LOGARITHM_OF_1_MORE, lambda a: 1 / (1 + a))
sin = _of_input("sin", Unary.SINE, lambda a: a.cos())
cos = _of_input("cos", Unary.COSINE, lambda a: -a.sin())
_square = _of_input("square", Unary.SQUARE, lambda a: 2 * a)

erf = _of_input("erf", Unary.ERROR_FUNCTION, lambda a: 2 / math.sqrt(math.pi) * (-a * a).exp())
floor, ceil = _constant("floor", Unary.FLOOR), _constant("ceil", Unary.CEILING)
trunc, sign = _constant("trunc", Unary.TRUNCATE), _constant("sign", Unary.SIGN)
_round = _constant("round", Unary.ROUND)
sgn, fix = sign, trunc


@method
def square(input: Tensor) -> Tensor:
    r"""`input * input`."""
    return _square(input.long() if getattr(input, "dtype", None) is bool_ else input)


@method
def relu(input: Tensor) -> Tensor:
    r"""Zero in place of negative numbers."""
    need_tensor("relu", input)
    if input.dtype is bool_:
        raise RuntimeError("Boolean inputs not supported for relu")
    return _relu(input) if input.dtype.kind >= FLOATING else clamp(input, min=0)


@method
def neg(input: Tensor) -> Tensor:
    r"""`-input`."""
    need_tensor("neg", input)
    if input.dtype is bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return record(unary(Unary.NEGATIVE, input), (input,), lambda gradient: (-gradient,), "Neg")


negative = neg


@method
def log10(input: Tensor) -> Tensor:
    r"""The logarithm to the base 10."""
    return log(input) / math.log(10)


@method
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    r"""To the nearest whole number, halves to the even one."""
    if not decimals:
        return _round(input)
    return _round(input * 10**decimals) / 10**decimals


@method
def abs(input: Tensor) -> Tensor:
    r"""The size of each element."""
    need_tensor("abs", input)
    if input.dtype.kind == COMPLEX:
        parts = view_as_real(input)
        return parts.square().sum(-1).sqrt()
    if input.dtype is bool_:
        raise RuntimeError("The operation abs is not supported for bool tensors")
    result = unary(Unary.ABSOLUTE, input)
    return record(
        result,
        (input,),
        lambda gradient: (gradient * unary(Unary.SIGN, input),),
        "Abs",
        (input,),
    )


absolute = abs


@method
def angle(input: Tensor) -> Tensor:
    r"""The angle of complex numbers; of a negative number it is half a turn."""
    if input.dtype.kind != COMPLEX:
        flat = input * 0 if input.dtype.kind == FLOATING else filled(input.shape, 0, float32)
        return where(input < 0, math.pi, flat)
    return atan2(imag(input), real(input))


def need_floating(kernel: str, input: Tensor) -> None:
    r"""Some functions are not made for integers."""
    if input.dtype.kind < FLOATING:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_name(input.dtype)}'")


@method
def silu(input: Tensor) -> Tensor:
    r"""`input * sigmoid(input)`."""

    need_floating("silu_cpu", input)

    def backward(gradient: Tensor) -> tuple[Tensor]:
        gate = input.sigmoid()
        return (gradient * gate * (1 + input * (1 - gate)),)

    return record(unary(Unary.SILU, input), (input,), backward, "Silu", (input,))


def gelu(input: Tensor) -> Tensor:
    r"""The exact GELU."""
    need_floating("GeluKernelImpl", input)
    own = alias_of(input)
    if input.dtype is not float32 or not needs_record((input,)) or not own.is_contiguous():
        return record(unary(Unary.GELU, own), (input,), _gelu_back(input, None), "Gelu", (input,))
    out, slope = unfilled(own.shape, float32), unfilled(own.shape, float32)
    run(Operation.GELU_AND_SLOPE, (), out, slope, own)
    return record(out, (input,), _gelu_back(input, slope), "Gelu", (input,))


def _gelu_back(input: Tensor, slope: Tensor | None) -> Callable[[Tensor], tuple[Tensor]]:
    def backward(gradient: Tensor) -> tuple[Tensor]:
        if Mode.grad:
            below = 0.5 * (1 + (input * math.sqrt(0.5)).erf())
            bell = (-0.5 * input * input).exp() / math.sqrt(2 * math.pi)
            return (gradient * (below + input * bell),)
        known = unary(Unary.GELU_SLOPE, input) if slope is None else slope
        return (binary(Binary.MULTIPLY, gradient, known),)

    return backward


del Tensor.silu


@method
def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    r"""From `input` to `end` by a weight."""
    return input + (end - input) * weight


@method
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    r"""`input + value * tensor1 * tensor2`."""
    return input + tensor1 * tensor2 * value


@method
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    r"""`input + value * tensor1 / tensor2`."""
    return input + tensor1 / tensor2 * value


def _test(name: str, operation: Unary) -> Callable[[Tensor], Tensor]:
    def function(input: Tensor) -> Tensor:
        need_tensor(name, input)
        if input.dtype.kind < FLOATING and operation != Unary.NOT:
            return filled(input.shape, operation == Unary.IS_FINITE, bool_)
        return unary(operation, input)

    function.__name__ = name
    return method(function)


isnan, isfinite = _test("isnan", Unary.IS_NAN), _test("isfinite", Unary.IS_FINITE)
logical_not = _test("logical_not", Unary.NOT)


@method
def isinf(input: Tensor) -> Tensor:
    r"""Whether each element is infinite."""
    return ~(isfinite(input) | isnan(input))


@method
def nan_to_num(
    input: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    r"""Finite numbers in place of those that are none."""
    from torch._dtypes import finfo

    if input.dtype.kind < FLOATING:
        return input.clone()
    limits = finfo(input.dtype)
    out = where(isnan(input), nan, input)
    out = where(out == math.inf, limits.max if posinf is None else posinf, out)
    return where(out == -math.inf, limits.min if neginf is None else neginf, out)


def _comparison(name: str, operation: Binary) -> Callable[[Any, Any], Tensor]:
    def compare(input: Any, other: Any) -> Tensor:
        if not isinstance(input, Tensor):
            raise TypeError(
                f"{name}() received an invalid combination of arguments - got "
                f"({type(input).__name__}, {type(other).__name__})"
            )
        _check_pair(name, input, other)
        if operation >= Binary.LESS and result_type(input, other).kind == COMPLEX:
            d = scalar_name(result_type(input, other))
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{d}'")
        return binary(operation, input, other)

    compare.__name__ = name
    return method(compare)


eq, ne = _comparison("eq", Binary.EQUAL), _comparison("ne", Binary.NOT_EQUAL)
lt, le = _comparison("lt", Binary.LESS), _comparison("le", Binary.LESS_EQUAL)
gt, ge = _comparison("gt", Binary.GREATER), _comparison("ge", Binary.GREATER_EQUAL)
less, greater, not_equal = lt, gt, ne
less_equal, greater_equal = le, ge


def truth(one: Any) -> Any:
    r"""Whether each element is other than 0."""
    if not isinstance(one, Tensor):
        return bool(one)
    return one if one.dtype is bool_ else binary(Binary.NOT_EQUAL, one, 0)


def _logical(name: str, operation: Binary) -> Callable[[Tensor, Tensor], Tensor]:
    def combine(input: Tensor, other: Tensor) -> Tensor:
        for place, one in (("input", input), ("other", other)):
            if not isinstance(one, Tensor):
                raise TypeError(
                    f"{name}(): argument '{place}' must be Tensor, not {type(one).__name__}"
                )
        return binary(operation, truth(input), truth(other))

    combine.__name__ = name
    return method(combine)


logical_and, logical_or = _logical("logical_and", Binary.AND), _logical("logical_or", Binary.OR)
logical_xor = _logical("logical_xor", Binary.XOR)


def _bitwise(name: str, operation: Binary) -> Callable[[Any, Any], Tensor]:
    def combine(input: Any, other: Any) -> Tensor:
        _check_pair(name, input, other)
        d = result_type(input, other)
        if (
            d.kind >= FLOATING
            or d is bool_
            and operation
            in (
                Binary.SHIFT_LEFT,
                Binary.SHIFT_RIGHT,
            )
        ):
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{scalar_name(d)}'")
        return binary(operation, input, other)

    combine.__name__ = name
    return method(combine)


bitwise_and, bitwise_or = _bitwise("bitwise_and", Binary.AND), _bitwise("bitwise_or", Binary.OR)
bitwise_xor = _bitwise("bitwise_xor", Binary.XOR)
bitwise_left_shift = _bitwise("lshift", Binary.SHIFT_LEFT)
bitwise_right_shift = _bitwise("rshift", Binary.SHIFT_RIGHT)


@method
def bitwise_not(input: Tensor) -> Tensor:
    r"""`~input`."""
    if input.dtype is bool_:
        return unary(Unary.NOT, input)
    if input.dtype.kind != INTEGRAL:
        raise NotImplementedError(
            f"\"bitwise_not_cpu\" not implemented for '{scalar_name(input.dtype)}'"
        )
    return unary(Unary.INVERT_BITS, input)


@method
def floor_divide(input: Any, other: Any) -> Tensor:
    r"""`input // other`."""
    _check_pair("floor_divide", input, other)
    _no_zero_divisor(input, other)
    d = result_type(input, other)
    return binary(Binary.FLOOR_DIVIDE, input, other, int64 if d is bool_ else d)


@method
def remainder(input: Any, other: Any) -> Tensor:
    r"""`input % other`, with the sign of the divisor."""
    _check_pair("remainder", input, other)
    _no_zero_divisor(input, other)
    result = binary(Binary.REMAINDER, input, other)
    return _record_remainder(result, input, other, "floor", "Remainder")


@method
def fmod(input: Any, other: Any) -> Tensor:
    r"""The remainder with the sign of the dividend."""
    _check_pair("fmod", input, other)
    _no_zero_divisor(input, other)
    result = binary(Binary.C_REMAINDER, input, other)
    return _record_remainder(result, input, other, "trunc", "Fmod")


def _record_remainder(result: Tensor, a: Any, b: Any, mode: str, name: str) -> Tensor:
    r"""Along the divisor, a remainder falls by the quotient, which is a whole number."""

    def backward(gradient: Tensor) -> list[Tensor | None]:
        parts = []
        if isinstance(a, Tensor):
            parts.append(to_operand(gradient, a.shape, a.dtype))
        if isinstance(b, Tensor):
            part = -gradient * div(a, b, rounding_mode=mode) if b.requires_grad else None
            parts.append(None if part is None else to_operand(part, b.shape, b.dtype))
        return parts

    operands = _tensors(a, b)
    return record(result, operands, backward, name, operands)


@method
def atan2(input: Tensor, other: Tensor) -> Tensor:
    r"""The angle of a point, of its second and its first coordinate."""
    for place, one in (("input", input), ("other", other)):
        if not isinstance(one, Tensor):
            raise TypeError(f"atan2(): argument '{place}' must be Tensor, not {type(one).__name__}")

    def backward(gradient: Tensor) -> tuple[Tensor, Tensor]:
        scaled = gradient / (input * input + other * other)
        return (
            to_operand(scaled * other, input.shape, input.dtype),
            to_operand(-scaled * input, other.shape, other.dtype),
        )

    result = binary(Binary.ARC_TANGENT_2, input, other)
    return record(result, (input, other), backward, "Atan2", (input, other))


def _arc(name: str, sign: int) -> Callable[[Tensor], Tensor]:
    r"""The angle whose sine or cosine is the input, from both coordinates of its point."""

    def function(input: Tensor) -> Tensor:
        need_tensor(name, input)
        own = alias_of(input)
        if own.dtype.kind < FLOATING:
            own = cast(own, Default.dtype)
        other = unary(Unary.SQUARE_ROOT, (1 - own) * (1 + own))
        pair = (own, other) if sign > 0 else (other, own)

        def backward(gradient: Tensor) -> tuple[Tensor]:
            return (gradient * sign * ((1 - input) * (1 + input)).rsqrt(),)

        result = binary(Binary.ARC_TANGENT_2, *pair)
        return record(result, (input,), backward, name.capitalize(), (input,))

    function.__name__ = name
    return method(function)


asin, acos = _arc("asin", 1), _arc("acos", -1)
arcsin, arccos = asin, acos
method(asin, "arcsin")
method(acos, "arccos")


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    r"""Elements of `input` where the condition holds, of `other` elsewhere."""
    if input is None and other is None:
        return tuple(condition.nonzero().unbind(1))
    if not isinstance(condition, Tensor):
        raise TypeError(
            "where(): argument 'condition' (position 1) must be Tensor, not "
            f"{type(condition).__name__}"
        )
    if condition.dtype is not bool_:
        if condition.dtype.name != "uint8":
            raise RuntimeError(
                "where expected condition to be a boolean tensor, but got a tensor with dtype "
                f"{scalar_name(condition.dtype)}"
            )
        condition = truth(condition)
    d = result_type(input, other)
    a = input if isinstance(input, Tensor) else scalar(input, d)
    b = other if isinstance(other, Tensor) else scalar(other, d)
    result = raw_where(condition, cast(a, d), cast(b, d))

    def backward(gradient: Tensor) -> tuple[Tensor, Tensor]:
        zero = scalar(0, gradient.dtype)
        return (
            to_operand(where(condition, gradient, zero), a.shape, a.dtype),
            to_operand(where(condition, zero, gradient), b.shape, b.dtype),
        )

    return record(result, (a, b), backward, "Where", (condition,))


@method
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    r"""A number wherever the mask holds."""
    check_mask(mask)
    if isinstance(value, Tensor) and value.shape:
        raise RuntimeError(
            "masked_fill only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.dim()} dimension(s)."
        )
    check_value(value, input)
    filling = value if isinstance(value, Tensor) else scalar(value, input.dtype)
    result = raw_where(mask, cast(filling, input.dtype), input)
    shape = input.shape

    def backward(gradient: Tensor) -> tuple[Tensor, Tensor | None]:
        zero = scalar(0, gradient.dtype)
        of_filling = None
        if filling.requires_grad:
            of_filling = fit_gradient(where(mask, gradient, zero), ())
        return fit_gradient(where(mask, zero, gradient), shape), of_filling

    return record(result, (input, filling), backward, "MaskedFill", (mask,))


def check_mask(mask: Any) -> None:
    r"""A mask is a tensor of bools."""
    if not isinstance(mask, Tensor):
        raise TypeError(
            "masked_fill() received an invalid combination of arguments - got "
            f"({type(mask).__name__}, …), but expected a mask that is a tensor"
        )
    if mask.dtype is not bool_:
        raise RuntimeError(
            "masked_fill_ only supports boolean masks, but got mask with dtype "
            f"{c_name(mask.dtype)}"
        )


def _integer_name(target: Tensor) -> str:
    return "int64_t" if target.dtype is int64 else c_name(target.dtype)


def check_value(value: Any, target: Tensor) -> None:
    r"""A floating-point number doesn't go into a tensor of integers."""
    if not isinstance(value, (Tensor, int, float, complex)):
        raise TypeError(f"expected a number or a tensor, and got {type(value).__name__}")
    kind = result_type(value, value).kind
    if kind >= FLOATING and target.dtype.kind < FLOATING:
        if isinstance(value, Tensor):
            raise RuntimeError(
                f"value cannot be converted to type {_integer_name(target)} without overflow"
            )
        if not math.isfinite(value):
            raise RuntimeError(
                f"value cannot be converted to type {_integer_name(target)} without overflow"
            )


@method
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    r"""Not below `min` and not above `max`."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    result = alias_of(input)
    if min is not None:
        result = binary(Binary.MAXIMUM, result, min)
    if max is not None:
        result = binary(Binary.MINIMUM, result, max)
    shape, d = input.shape, input.dtype

    def backward(gradient: Tensor) -> tuple[Tensor, ...]:
        kept = filled((), True, bool_)
        if min is not None:
            kept = kept & (alias_of(input) >= min)
        if max is not None:
            kept = kept & (alias_of(input) <= max)
        zero = scalar(0, gradient.dtype)
        parts = [to_operand(where(kept, gradient, zero), shape, d)]
        for limit, beyond in ((min, Binary.LESS), (max, Binary.GREATER)):
            if isinstance(limit, Tensor):
                hit = binary(beyond, alias_of(input), limit)
                if beyond == Binary.LESS and max is not None:
                    # Where both limits meet, the upper one is the result.
                    hit = hit & binary(Binary.LESS, limit, max)
                if beyond == Binary.GREATER and min is not None:
                    hit = hit | binary(Binary.LESS, limit, min)
                part = where(hit, gradient, zero)
                parts.append(to_operand(part, limit.shape, limit.dtype))
        return tuple(parts)

    limits = _tensors(min, max)
    return record(result, (input, *limits), backward, "Clamp", (input,))


clip = clamp


@method
def clamp_min(input: Tensor, min: Any) -> Tensor:
    r"""Not below `min`."""
    need_tensor("clamp_min", input)
    return clamp(input, min=min)


@method
def clamp_max(input: Tensor, max: Any) -> Tensor:
    r"""Not above `max`."""
    need_tensor("clamp_max", input)
    return clamp(input, max=max)


# Complex numbers
@method
def view_as_real(input: Tensor) -> Tensor:
    r"""Real and imaginary parts along a new last axis, in the same memory."""
    if input.dtype.kind != COMPLEX:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return record_view(
        view_of_parts(input), input, lambda g: (view_as_complex(g.contiguous()),), "ViewAsReal"
    )


@method
def view_as_complex(input: Tensor) -> Tensor:
    r"""Pairs along the last axis as complex numbers, in the same memory."""
    if input.dtype not in _PAIRS:
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of scalar type: {scalar_name(input.dtype)}"
        )
    if not input.shape or input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if input._strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if input._offset % 2 or any(stride % 2 for stride in input._strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    out = complex_of_parts(input, _PAIRS[input.dtype])
    return record_view(out, input, lambda g: (view_as_real(g),), "ViewAsComplex")


def _pairs() -> dict[Any, Any]:
    from torch._dtypes import complex64, complex128, float64

    return {float32: complex64, float64: complex128}


_PAIRS = _pairs()


@method
def conj(input: Tensor) -> Tensor:
    r"""The imaginary parts with the other sign."""
    if input.dtype.kind != COMPLEX:
        return input
    return record(unary(Unary.CONJUGATE, input), (input,), lambda g: (conj(g),), "Conj")


@method
def resolve_conj(input: Tensor) -> Tensor:
    r"""The same tensor: conjugates are computed at once here."""
    return input


@method
def resolve_neg(input: Tensor) -> Tensor:
    r"""The same tensor: negatives are computed at once here."""
    return input


@method
def is_conj(input: Tensor) -> bool:
    r"""Whether the conjugate is still to be computed: never here."""
    return False


def real(input: Tensor) -> Tensor:
    r"""The real parts."""
    return view_as_real(input).select(-1, 0) if input.dtype.kind == COMPLEX else input


def imag(input: Tensor) -> Tensor:
    r"""The imaginary parts."""
    if input.dtype.kind != COMPLEX:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return view_as_real(input).select(-1, 1)


Tensor.real, Tensor.imag = property(real), property(imag)


# Operators
def _operator(function: Callable[..., Tensor], swapped: bool) -> Callable[..., Any]:
    def operate(self: Tensor, other: Any) -> Any:
        if not isinstance(other, (Tensor, int, float, complex)):
            return NotImplemented
        return function(other, self) if swapped else function(self, other)

    return operate


for _name, _function in (
    ("add", add),
    ("sub", sub),
    ("mul", mul),
    ("truediv", div),
    ("pow", pow),
    ("floordiv", floor_divide),
    ("mod", remainder),
    ("and", bitwise_and),
    ("or", bitwise_or),
    ("xor", bitwise_xor),
    ("lshift", bitwise_left_shift),
    ("rshift", bitwise_right_shift),
):
    setattr(Tensor, f"__{_name}__", _operator(_function, swapped=False))
    setattr(Tensor, f"__r{_name}__", _operator(_function, swapped=True))
for _name, _function in (("lt", lt), ("le", le), ("gt", gt), ("ge", ge)):
    setattr(Tensor, f"__{_name}__", _operator(_function, swapped=False))


def _equality(function: Callable[..., Tensor], otherwise: bool) -> Callable[..., Any]:
    def compare(self: Tensor, other: Any) -> Any:
        if not isinstance(other, (Tensor, int, float, complex)):
            return otherwise
        return function(self, other)

    return compare


Tensor.__eq__, Tensor.__ne__ = _equality(eq, False), _equality(ne, True)


def _inverted(self: Tensor) -> Tensor:
    if self.dtype.kind > INTEGRAL:
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return bitwise_not(self)


Tensor.__neg__, Tensor.__abs__, Tensor.__invert__ = neg, abs, _inverted
Tensor.__pos__ = lambda self: self
for _name, _function in (
    ("absolute", abs),
    ("multiply", mul),
    ("divide", div),
    ("true_divide", div),
    ("subtract", sub),
    ("negative", neg),
    ("less", lt),
    ("greater", gt),
    ("not_equal", ne),
    ("less_equal", le),
    ("greater_equal", ge),
    ("clip", clamp),
    ("where", lambda self, condition, other: where(condition, self, other)),
    ("arctan2", atan2),
    ("sgn", sign),
    ("fix", trunc),
    ("rsub", rsub),
    ("bitwise_left_shift", bitwise_left_shift),
    ("bitwise_right_shift", bitwise_right_shift),
):
    method(_function, _name)
multiply, divide, true_divide, subtract = mul, div, div, sub
arctan2 = atan2

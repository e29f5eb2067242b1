r"""Nonlinearities and dropout."""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

from torch import _elementwise, _random, _reductions
from torch._dtypes import FLOATING, Default, float64
from torch._elementwise import need_floating, where
from torch._raw import Binary, binary, filled
from torch._shapes import axes_in_memory
from torch._tape import record
from torch._tensor import Tensor, alias_of


def _usual_axis(input: Tensor, dim: int | None) -> int:
    r"""PyTorch's choice if no axis is named, which it warns of."""
    if dim is not None:
        return dim
    return 0 if len(input.shape) in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    r"""Positive numbers with the sum 1."""
    return _reductions.softmax(input, _usual_axis(input, dim), dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    r"""The logarithms of softmax."""
    return _reductions.log_softmax(input, _usual_axis(input, dim), dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    r"""Softmax of the negative."""
    return softmax(-input, dim, dtype=dtype)


def _also_in_place(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    r"""With an argument that puts the result in place of the input."""

    @wraps(function)
    def either(input: Tensor, *args: Any, inplace: bool = False, **options: Any) -> Tensor:
        if inplace and input.requires_grad and input.is_leaf:
            # Says what is wrong with it.
            input.mul_(1)
        out = function(input.clone() if inplace else input, *args, **options)
        return input.copy_(out) if inplace else out

    either.also_takes = ("inplace",)
    return either


def _in_place(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def changed(input: Tensor, *args: Any, **options: Any) -> Tensor:
        return function(input, *args, inplace=True, **options)

    changed.__name__ = f"{function.__name__}_"
    changed.__doc__ = f"`{function.__name__}` in place of the input."
    return changed


@_also_in_place
def relu(input: Tensor) -> Tensor:
    r"""Zero in place of negative numbers."""
    return _elementwise.relu(input)


@_also_in_place
def silu(input: Tensor) -> Tensor:
    r"""`input * sigmoid(input)`."""
    return _elementwise.silu(input)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    r"""A smooth ReLU, exactly or by tanh."""
    if approximate == "none":
        return _elementwise.gelu(input)
    if approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    inside = math.sqrt(2 / math.pi) * (input + 0.044715 * input**3)
    return 0.5 * input * (1 + inside.tanh())


def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    r"""`log(1 + exp(input))`."""
    need_floating("softplus_cpu", input)
    scaled = input * beta
    return where(scaled > threshold, input, scaled.clamp(max=threshold).exp().log1p() / beta)


def logsigmoid(input: Tensor) -> Tensor:
    r"""`log(sigmoid(input))`."""
    need_floating("log_sigmoid_cpu", input)
    plain = alias_of(input)
    out = plain.clamp(max=0) - (-plain.abs()).exp().log1p()
    return record(
        out, (input,), lambda gradient: (gradient * (-input).sigmoid(),), "LogSigmoid", (input,)
    )


@_also_in_place
def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    r"""Negative numbers flatten out exponentially."""
    need_floating("elu_cpu", input)
    return where(input > 0, input, alpha * input.clamp(max=0).expm1())


@_also_in_place
def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    r"""`elu` with a smooth derivative for any width."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    need_floating("elu_cpu", input)
    return where(input > 0, input, alpha * (input.clamp(max=0) / alpha).expm1())


@_also_in_place
def selu(input: Tensor) -> Tensor:
    r"""`elu` that keeps mean and variance."""
    return elu(input, 1.6732632423543772848170429916717) * 1.0507009873554804934193349852946


@_also_in_place
def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    r"""Negative numbers are made small."""
    need_floating("leaky_relu_cpu", input)
    return where(input > 0, input, input * negative_slope)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    r"""Negative numbers are made small, by a number that is learned for each channel."""
    count = weight.numel()
    if len(weight.shape) > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = "
            f"{len(weight.shape)}"
        )
    if count != 1:
        if not input.shape:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if len(input.shape) > 1 else 1
        if channels != count:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{count} and channel size = {channels}."
            )
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}"
        )
    if len(input.shape) > 1:
        weight = weight.view(1, count, *[1] * (len(input.shape) - 2))
    return where(input > 0, input, input * (weight if input.shape else weight.reshape(())))


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    r"""Negative numbers are made small, by random numbers while training."""
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace=inplace)
    negative = input.detach() <= 0
    slopes = filled(input.shape, 1, input.dtype)
    drawn = _random._uniform((int(negative.sum()),), float64, lower, upper, None)
    slopes[negative] = drawn.to(input.dtype)
    out = input * slopes
    return input.copy_(out) if inplace else out


@_also_in_place
def relu6(input: Tensor) -> Tensor:
    r"""Between 0 and 6."""
    return hardtanh(input, 0, 6)


@_also_in_place
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    r"""Between two limits."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if input.dtype.name == "bool":
        raise NotImplementedError("Bool inputs not supported for hardtanh")
    if input.dtype.kind < FLOATING:
        min_val = int(min_val)
        max_val = int(max_val)
    out = alias_of(input).clamp(min_val, max_val)

    def backward(gradient: Tensor) -> tuple[Tensor]:
        # At the limits the derivative is 0.
        return (where((input > min_val) & (input < max_val), gradient, 0.0),)

    return record(out, (input,), backward, "Hardtanh", (input,))


@_also_in_place
def hardsigmoid(input: Tensor) -> Tensor:
    r"""A sigmoid of straight lines."""
    need_floating("hardsigmoid_cpu", input)
    return hardtanh(input + 3, 0, 6) / 6


@_also_in_place
def hardswish(input: Tensor) -> Tensor:
    r"""`silu` of straight lines."""
    need_floating("hardswish_cpu", input)
    return input * hardsigmoid(input)


@_also_in_place
def mish(input: Tensor) -> Tensor:
    r"""`input * tanh(softplus(input))`."""
    need_floating("mish_cpu", input)
    return input * softplus(input).tanh()


@_also_in_place
def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    r"""A value in place of the numbers up to a threshold."""
    if input.dtype.kind < FLOATING:
        value = int(value)
    return where(input > threshold, input, filled((), value, input.dtype))


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    r"""Zero in place of small numbers."""
    need_floating("hardshrink_cpu", input)
    return where((input >= -lambd) & (input <= lambd), 0.0, input)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    r"""Nearer to zero, and zero in place of small numbers."""
    need_floating("softshrink_cpu", input)
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd:g}.")
    near = where(input < -lambd, input + lambd, input * 0)
    return where(input > lambd, input - lambd, near)


def softsign(input: Tensor) -> Tensor:
    r"""`input / (1 + |input|)`."""
    return input / (1 + input.abs())


def tanhshrink(input: Tensor) -> Tensor:
    r"""`input - tanh(input)`."""
    return input - input.tanh()


def glu(input: Tensor, dim: int = -1) -> Tensor:
    r"""One half, gated by the other."""
    if not input.shape:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    if input.shape[dim] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim % len(input.shape)} is size "
            f"{input.shape[dim]}"
        )
    value, gate = input.chunk(2, dim)
    return value * gate.sigmoid()


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    r"""A sample that has a derivative."""
    noise = -logits.new_empty(logits.shape).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    best = soft.argmax(dim, keepdim=True)
    return filled(logits.shape, 0, logits.dtype).scatter(dim, best, 1.0) - soft.detach() + soft


relu_, elu_, celu_, selu_ = (_in_place(one) for one in (relu, elu, celu, selu))
leaky_relu_, hardtanh_, rrelu_, threshold_ = (
    _in_place(one) for one in (leaky_relu, hardtanh, rrelu, threshold)
)


# Dropout
def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    r"""Each element is 0 with a probability; the others are made larger."""
    _check_probability(p)
    if not training or p == 0 or not input.numel():
        return input
    if p == 1:
        out = input * 0.0
        return input.copy_(out) if inplace else out
    d = input.dtype if input.dtype.kind >= FLOATING else Default.dtype
    # The noise is drawn in the order that the elements have in memory.
    order = axes_in_memory(input.shape, input._strides)
    shape = [input.shape[axis] for axis in order] if order else input.shape
    noise = binary(Binary.DIVIDE, _random.bernoulli_of(tuple(shape), 1 - p, d), float(1 - p))
    if order:
        noise = noise.permute(sorted(range(len(order)), key=order.__getitem__))
    out = input * noise
    return input.copy_(out) if inplace else out


def _channels(input: Tensor, p: float, training: bool, inplace: bool, alone: int = 0) -> Tensor:
    r"""Dropout of whole channels; an input of `alone` axes is a batch of one."""
    _check_probability(p)
    if not training or p == 0 or not input.numel():
        return input
    if len(input.shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    images = input.unsqueeze(0) if len(input.shape) == alone else input
    shape = (*images.shape[:2], *[1] * (len(images.shape) - 2))
    if p == 1:
        out = images * 0.0
    else:
        kept = _random.bernoulli_of(shape, 1 - p, input.dtype)
        out = images * binary(Binary.DIVIDE, kept, float(1 - p))
    out = out.view(input.shape)
    return input.copy_(out) if inplace else out


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    r"""Whole channels of sequences are 0 with a probability."""
    if len(input.shape) not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {len(input.shape)}D input. Note "
            "that dropout1d exists to provide channel-wise dropout on inputs with 1 spatial "
            "dimension, a channel dimension, and an optional batch dimension."
        )
    return _channels(input, p, training, inplace, 2)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    r"""Whole channels of images are 0 with a probability."""
    return _channels(input, p, training, inplace)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    r"""Whole channels of volumes are 0 with a probability."""
    return _channels(input, p, training, inplace, 4)


def _alpha(input: Tensor, p: float, training: bool, shape: Any, inplace: bool) -> Tensor:
    r"""Dropout for `selu`: what is dropped goes to its lower end, and mean and variance stay."""
    _check_probability(p)
    if not training or p == 0 or not input.numel():
        return input
    if p == 1:
        out = input * 0.0
        return input.copy_(out) if inplace else out
    alpha = 1.7580993408473766
    scale = 1.0 / math.sqrt((alpha * alpha * p + 1) * (1 - p))
    kept = _random.bernoulli_of(tuple(shape), 1 - p, input.dtype)
    out = input * (kept * scale) + ((kept - 1) * (alpha * scale) + alpha * scale * p)
    return input.copy_(out) if inplace else out


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    r"""Dropout that keeps mean and variance."""
    return _alpha(input, p, training, input.shape, inplace)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    r"""Dropout of whole channels that keeps mean and variance."""
    _check_probability(p)
    if training and p and len(input.shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    shape = (*input.shape[:2], *[1] * (len(input.shape) - 2))
    return _alpha(input, p, training, shape, inplace)

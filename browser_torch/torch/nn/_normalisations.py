r"""Normalisations, distances and angles."""

import math
from typing import Any

from torch._dtypes import FLOATING, finfo, float32, float64
from torch._joining import broadcast_tensors
from torch._making import triu_indices
from torch._memory import Operation, bits, run
from torch._raw import contiguous
from torch._shapes import contiguous_strides
from torch._tape import Mode, record, record_result
from torch._tensor import Tensor, alias_of, in_words_of_numpy, unfilled, view_of
from torch.nn._windows import pad


def _normalised(
    input: Tensor,
    length: int,
    eps: float,
    centred: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    r"""Rows of mean 0 (if centred) and size 1, by one kernel."""
    source = contiguous(alias_of(input))
    rows = input.numel() // length if length else 0
    d = input.dtype

    def flat(one: Tensor) -> Tensor:
        return view_of(one, (rows, length), (length, 1), one._offset)

    out = unfilled(input.shape, d)
    mean = unfilled((rows,), d)
    factor = unfilled((rows,), d)
    numbers = (bits(float(eps)), centred)
    tensors = (flat(out), flat(source), mean, factor)
    if weight is not None:
        return _scaled_and_shifted(input, numbers, tensors, weight, bias)
    run(Operation.NORMALISE, numbers, *tensors)

    def backward(gradient: Tensor, y: Tensor) -> tuple[Tensor]:
        if Mode.grad:
            return (_normalised_slowly(gradient, y, factor, length, centred),)
        gradient = contiguous(gradient)
        back = unfilled(input.shape, d)
        run(Operation.NORMALISE_BACKWARD, (centred,), flat(back), flat(y), flat(gradient), factor)
        return (back,)

    return record_result(out, (input,), backward, "NativeLayerNorm", (input,))


def _scaled_and_shifted(
    input: Tensor,
    numbers: tuple[int, int],
    tensors: tuple[Tensor, ...],
    weight: Tensor,
    bias: Tensor | None,
) -> Tensor:
    r"""Normalised rows with a factor and a shift for each place, as one operation of the graph."""
    normalised, _, _, factor = tensors
    rows, length = normalised.shape
    d = input.dtype

    def places(one: Tensor) -> Tensor:
        one = contiguous(alias_of(one))
        return view_of(one, (length,), (1,), one._offset)

    own = [places(one) for one in (weight, bias) if one is not None]
    scaled = unfilled((rows, length), d)
    run(Operation.NORMALISE, numbers, *tensors, scaled, *own)
    out = view_of(scaled, input.shape, contiguous_strides(input.shape), 0)

    def backward(gradient: Tensor) -> tuple[Tensor | None, ...]:
        if Mode.grad:
            return (_normalised_slowly(gradient, normalised, factor, length, numbers[1]),)
        gradient = contiguous(gradient)
        gradient = view_of(gradient, (rows, length), (length, 1), gradient._offset)
        of_input = unfilled((rows, length), d)
        of_places = [unfilled((length,), d) for _ in own]
        tensors = (of_input, normalised, gradient, factor, own[0], *of_places)
        run(Operation.NORMALISE_BACKWARD, numbers[1:], *tensors)
        shaped = [
            view_of(one, weight.shape, contiguous_strides(weight.shape), 0) for one in of_places
        ]
        return view_of(of_input, input.shape, contiguous_strides(input.shape), 0), *shaped

    inputs = (input, weight) if bias is None else (input, weight, bias)
    return record(out, inputs, backward, "NativeLayerNorm", (input, weight))


def _normalised_slowly(
    gradient: Tensor, y: Tensor, factor: Tensor, length: int, centred: int
) -> Tensor:
    raise NotImplementedError(
        "the second derivative of a normalisation is not in the browser's torch: write the "
        "normalisation out with mean() and rsqrt()."
    )


def _check_normalised(input: Tensor, shape: tuple[int, ...]) -> None:
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []"
        )
    if tuple(input.shape[len(input.shape) - len(shape) :]) != shape:
        listed = ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, {listed}], but "
            f"got input of size{list(input.shape)}"
        )


def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    r"""Rows of mean 0 and variance 1, then scaled and shifted."""
    shape = _as_shape(normalized_shape)
    _check_normalised(input, shape)
    if input.dtype in (float32, float64):
        if (
            weight is not None
            and weight.dtype is input.dtype
            and (bias is None or bias.dtype is input.dtype)
        ):
            return _normalised(input, math.prod(shape), eps, 1, weight, bias)
        out = _normalised(input, math.prod(shape), eps, 1)
    else:
        wide = input.to(input.dtype.work)
        out = _normalised(wide, math.prod(shape), eps, 1)
    if weight is not None:
        out = out * weight
    if bias is not None:
        out = out + bias
    if out._node is not None:
        # For PyTorch all of it is one operation.
        out._node.title = "NativeLayerNorm"
    return out if out.dtype is input.dtype else out.to(input.dtype)


def rms_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    r"""Rows of size 1, then scaled."""
    shape = _as_shape(normalized_shape)
    _check_normalised(input, shape)
    eps = finfo(input.dtype.work).eps if eps is None else eps
    if weight is not None and weight.dtype is input.dtype and input.dtype in (float32, float64):
        return _normalised(input, math.prod(shape), eps, 0, weight)
    wide = input if input.dtype in (float32, float64) else input.to(input.dtype.work)
    out = _normalised(wide, math.prod(shape), eps, 0)
    if weight is not None:
        out = out * weight
    return out if out.dtype is input.dtype else out.to(input.dtype)


def _as_shape(shape: Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _scaled(out: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    r"""Each channel scaled and shifted."""
    shape = [out.shape[1], *[1] * (len(out.shape) - 2)]
    if weight is not None:
        out = out * weight.view(shape)
    return out if bias is None else out + bias.view(shape)


def _check_several(input: Tensor) -> None:
    r"""One number has no variance."""
    count = math.prod(input.shape) // max(1, input.shape[1])
    if count == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.shape}"
        )


def _check_channels(input: Tensor, **given: Tensor | None) -> None:
    if len(input.shape) < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {len(input.shape)}"
        )
    for name, one in given.items():
        if one is not None and one.numel() != input.shape[1]:
            raise RuntimeError(f"{name} should contain {input.shape[1]} elements not {one.numel()}")


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    r"""Each channel of mean 0 and variance 1 over the batch."""
    if training and len(input.shape) > 1:
        _check_several(input)
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined in evaluation mode")
    if len(input.shape) == 1 and not input.numel():
        return input.clone()
    _check_channels(
        input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    shape = [input.shape[1], *[1] * (len(input.shape) - 2)]
    if training:
        axes = [0, *range(2, len(input.shape))]
        mean = input.mean(axes)
        var = input.var(axes, correction=0)
        if running_mean is not None and running_var is not None:
            count = input.numel() / max(1, input.shape[1])
            running_mean.lerp_(mean.detach(), momentum)
            running_var.lerp_(var.detach() * (count / (count - 1)), momentum)
    else:
        mean = running_mean
        var = running_var
    out = (input - mean.view(shape)) * (var.view(shape) + eps).rsqrt()
    return _scaled(out, weight, bias)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    r"""Each channel of each example of mean 0 and variance 1."""
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.shape}"
        )
    if len(input.shape) < 3:
        raise RuntimeError(
            f"Expected at least 3 dimensions for input tensor but received {len(input.shape)}"
        )
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    axes = [*range(2, len(input.shape))]
    mean = input.mean(axes, keepdim=True)
    var = input.var(axes, correction=0, keepdim=True)
    if running_mean is not None and running_var is not None:
        count = math.prod(input.shape[2:])
        unbiased = var.detach() * (count / max(1, count - 1))
        for kept, seen in ((running_mean, mean.detach()), (running_var, unbiased)):
            kept.lerp_(seen.flatten(1).mean(0), momentum)
    return _scaled((input - mean) * (var + eps).rsqrt(), weight, bias)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    r"""Groups of channels of mean 0 and variance 1."""
    _check_channels(input, weight=weight, bias=bias)
    if num_groups <= 0 or input.shape[1] % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(input.shape)} and num_groups={num_groups}"
        )
    if math.prod(input.shape) == input.shape[0] * num_groups and input.shape[0] == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.shape}"
        )
    size = math.prod(input.shape[1:]) // num_groups
    grouped = input.reshape(input.shape[0], num_groups, size)
    out = layer_norm(grouped, (size,), None, None, eps).view(input.shape)
    return _scaled(out, weight, bias)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    r"""Each number divided by the size of its neighbours in the channels beside it."""
    if len(input.shape) < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {len(input.shape)} dimensions)"
        )
    if not input.numel():
        return input
    squares = pad(input.square(), [0, 0] * (len(input.shape) - 2) + [size // 2, (size - 1) // 2])
    sums = squares.unfold(1, size, 1).sum(-1)
    means = sums / size if input.dtype.kind >= FLOATING else sums.div(size, rounding_mode="trunc")
    return input / (means * alpha + k) ** beta


def normalize(
    input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    r"""Vectors of length 1."""
    length = input.norm(p, dim, keepdim=True).clamp(min=eps)
    return input / length.expand_as(input)


@in_words_of_numpy
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    r"""The cosine of the angle between vectors."""
    one, other = broadcast_tensors(x1, x2)
    one = one / one.norm(2, dim, keepdim=True).clamp(min=eps)
    other = other / other.norm(2, dim, keepdim=True).clamp(min=eps)
    return (one * other).sum(dim)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    r"""The distances of pairs of vectors."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def pdist(input: Tensor, p: float = 2) -> Tensor:
    r"""The distances of all pairs of rows, each pair once."""
    if len(input.shape) != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {len(input.shape)}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    rows, columns = triu_indices(input.shape[0], input.shape[0], 1)
    apart = input[rows] - input[columns]
    out = apart.norm(p, -1)
    return out + apart.abs().clamp(max=0).sum(-1) if p == 0 else out

r"""What layers compute, as functions."""

import math
from typing import Any

from torch import _elementwise, _reductions
from torch._absent import absent
from torch._autocast import in_single_precision
from torch._dtypes import FLOATING, bool_, c_name, finfo, float32, float64, int64, scalar_name
from torch._elementwise import need_floating, relu, sigmoid, tanh, where
from torch._indexing import embedding
from torch._joining import cat
from torch._making import arange, full
from torch._memory import Operation, bits, run
from torch._products import einsum, linear, matmul
from torch._random import bernoulli_of
from torch._raw import Binary, binary, cast, contiguous, filled
from torch._shapes import axes_in_memory
from torch._tape import Mode, record, record_result
from torch._tensor import Tensor, alias_of, new, view_of

silu = _elementwise.silu


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


# Nonlinearities
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
    scaled = input * beta
    return where(scaled > threshold, input, scaled.clamp(max=threshold).exp().log1p() / beta)


def logsigmoid(input: Tensor) -> Tensor:
    r"""`log(sigmoid(input))`."""
    plain = alias_of(input)
    out = plain.clamp(max=0) - (-plain.abs()).exp().log1p()
    return record(
        out, (input,), lambda gradient: (gradient * (-input).sigmoid(),), "LogSigmoid", (input,)
    )


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    r"""Negative numbers flatten out exponentially."""
    need_floating("elu_cpu", input)
    return where(input > 0, input, alpha * input.clamp(max=0).expm1())


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    r"""Negative numbers are made small."""
    return where(input > 0, input, input * negative_slope)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    r"""Between 0 and 6."""
    return input.clamp(0, 6)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    r"""Between two limits."""
    return input.clamp(min_val, max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    r"""A sigmoid of straight lines."""
    return (input + 3).clamp(0, 6) / 6


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    r"""`silu` of straight lines."""
    return input * hardsigmoid(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    r"""`input * tanh(softplus(input))`."""
    return input * softplus(input).tanh()


def softsign(input: Tensor) -> Tensor:
    r"""`input / (1 + |input|)`."""
    return input / (1 + input.abs())


def tanhshrink(input: Tensor) -> Tensor:
    r"""`input - tanh(input)`."""
    return input - input.tanh()


def glu(input: Tensor, dim: int = -1) -> Tensor:
    r"""One half, gated by the other."""
    if input.shape[dim] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim % len(input.shape)} is size "
            f"{input.shape[dim]}"
        )
    value, gate = input.chunk(2, dim)
    return value * gate.sigmoid()


def softmin(input: Tensor, dim: int | None = None) -> Tensor:
    r"""Softmax of the negative."""
    return softmax(-input, dim)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, dim: int = -1) -> Tensor:
    r"""A sample that has a derivative."""
    noise = -logits.new_empty(logits.shape).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    best = soft.argmax(dim, keepdim=True)
    return filled(logits.shape, 0, logits.dtype).scatter(dim, best, 1.0) - soft.detach() + soft


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    r"""Each element is 0 with a probability; the others are made larger."""
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0 or not input.numel():
        return input
    if p == 1:
        return input * 0.0
    d = input.dtype
    # The noise is drawn in the order that the elements have in memory.
    order = axes_in_memory(input.shape, input._strides)
    shape = [input.shape[axis] for axis in order] if order else input.shape
    noise = binary(Binary.DIVIDE, bernoulli_of(tuple(shape), 1 - p, d), float(1 - p))
    if order:
        noise = noise.permute(sorted(range(len(order)), key=order.__getitem__))
    out = input * noise
    return input.copy_(out) if inplace else out


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False) -> Tensor:
    r"""Dropout that keeps mean and variance."""
    raise NotImplementedError(
        "functional.alpha_dropout is not in the browser's torch: use functional.dropout."
    )


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    r"""A 1 at the place of each number."""
    if tensor.dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if tensor.numel() and int(tensor.min()) < 0:
        raise RuntimeError("Class values must be non-negative.")
    largest = int(tensor.max()) if tensor.numel() else -1
    if num_classes == -1:
        num_classes = largest + 1
    elif largest >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return cast(binary(Binary.EQUAL, tensor.unsqueeze(-1), arange(num_classes)), int64)


# Normalisation
def _normalised(input: Tensor, length: int, eps: float, centred: int) -> Tensor:
    r"""Rows of mean 0 (if centred) and size 1, by one kernel."""
    source = contiguous(alias_of(input))
    rows = input.numel() // length if length else 0
    d = input.dtype

    def flat(one: Tensor) -> Tensor:
        return view_of(one, (rows, length), (length, 1), one._offset)

    out, mean, factor = new(input.shape, d), new((rows,), d), new((rows,), d)
    numbers = (bits(float(eps)), centred)
    run(Operation.NORMALISE, numbers, flat(out), flat(source), mean, factor)

    def backward(gradient: Tensor, y: Tensor) -> tuple[Tensor]:
        if Mode.grad:
            return (_normalised_slowly(gradient, y, factor, length, centred),)
        gradient, back = contiguous(gradient), new(input.shape, d)
        run(Operation.NORMALISE_BACKWARD, (centred,), flat(back), flat(y), flat(gradient), factor)
        return (back,)

    return record_result(out, (input,), backward, "NativeLayerNorm", (input,))


def _normalised_slowly(
    gradient: Tensor, y: Tensor, factor: Tensor, length: int, centred: int
) -> Tensor:
    raise NotImplementedError(
        "the second derivative of a normalisation is not in the browser's torch: write the "
        "normalisation out with mean() and rsqrt()."
    )


def _check_normalised(input: Tensor, shape: tuple[int, ...]) -> None:
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
    wide = input if input.dtype in (float32, float64) else input.to(input.dtype.work)
    out = _normalised(wide, math.prod(shape), eps, 0)
    if weight is not None:
        out = out * weight
    return out if out.dtype is input.dtype else out.to(input.dtype)


def _as_shape(shape: Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


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
    shape = [1, -1, *[1] * (len(input.shape) - 2)]
    if training:
        axes = [0, *range(2, len(input.shape))]
        mean, var = input.mean(axes), input.var(axes, correction=0)
        if running_mean is not None:
            count = input.numel() / input.shape[1]
            unbiased = var.detach() * count / (count - 1)
            running_mean.lerp_(mean.detach(), momentum)
            running_var.lerp_(unbiased, momentum)
    else:
        mean, var = running_mean, running_var
    out = (input - mean.view(shape)) * (var.view(shape) + eps).rsqrt()
    if weight is not None:
        out = out * weight.view(shape)
    return out if bias is None else out + bias.view(shape)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    r"""Groups of channels of mean 0 and variance 1."""
    grouped = input.reshape(input.shape[0], num_groups, -1)
    out = layer_norm(grouped, grouped.shape[-1:], None, None, eps).view(input.shape)
    shape = [1, -1, *[1] * (len(input.shape) - 2)]
    if weight is not None:
        out = out * weight.view(shape)
    return out if bias is None else out + bias.view(shape)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    r"""Vectors of length 1."""
    length = input.norm(p, dim, keepdim=True).clamp(min=eps)
    return input / length.expand_as(input)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    r"""The cosine of the angle between vectors."""
    one = x1 / x1.norm(2, dim, keepdim=True).clamp(min=eps)
    other = x2 / x2.norm(2, dim, keepdim=True).clamp(min=eps)
    return (one * other).sum(dim)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6) -> Tensor:
    r"""The distances of pairs of vectors."""
    return (x1 - x2 + eps).norm(p, -1)


# Losses
def _reduced(losses: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return losses
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    raise ValueError(f"{reduction} is not a valid value for reduction")


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    r"""Minus the log-probability of each target."""
    input, weight = in_single_precision(input, weight)
    if len(input.shape) == 1:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
        losses = nll_loss(input, target, weight, None, ignore_index, None, reduction)
        return losses.squeeze(0) if reduction == "none" else losses
    if len(input.shape) > 2:
        classes = input.shape[1]
        rows = input.movedim(1, -1).reshape(-1, classes)
        losses = nll_loss(rows, target.reshape(-1), weight, None, ignore_index, None, reduction)
        return losses.view(target.shape) if reduction == "none" else losses
    if target.dtype.kind != 1:
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {scalar_name(target.dtype)}"
        )
    if target.dtype is not int64:
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {scalar_name(target.dtype)}"
        )
    if len(target.shape) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input.shape[0] != target.shape[0]:
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size "
            f"({target.shape[0]})."
        )
    kept = target != ignore_index
    all_kept = bool(kept.all())
    safe = target if all_kept else target.masked_fill(~kept, 0)
    for value in (safe.amin(), safe.amax()) if safe.numel() else ():
        if not 0 <= int(value) < input.shape[1]:
            raise IndexError(f"Target {int(value)} is out of bounds.")
    losses = -input.gather(1, safe.unsqueeze(1)).squeeze(1)
    factor = kept.to(input.dtype) if weight is None else weight[safe] * kept
    if weight is not None or not all_kept:
        losses = where(kept, losses * factor, 0.0)
    if reduction == "mean":
        count = target.numel() if weight is None and all_kept else factor.sum()
        return losses.sum() / count if target.numel() else losses.sum() * math.nan
    return _reduced(losses, reduction)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    r"""Minus the log-probability of each target, from scores."""
    if not isinstance(target, Tensor):
        raise TypeError(
            "cross_entropy_loss(): argument 'target' (position 2) must be Tensor, not "
            f"{type(target).__name__}"
        )
    input, weight = in_single_precision(input, weight)
    axis = 0 if len(input.shape) == 1 else 1
    if target.dtype.kind == FLOATING:
        return _soft_targets(input, target, weight, axis, reduction, label_smoothing)
    _check_targets(input, target)
    logarithm = log_softmax(input, axis)
    losses = nll_loss(logarithm, target, weight, None, ignore_index, None, reduction)
    if not label_smoothing:
        return losses
    kept = (target != ignore_index).to(input.dtype)
    if weight is not None:
        shape = [-1 if one == axis else 1 for one in range(len(input.shape))]
        logarithm = logarithm * weight.view(shape)
    smooth = -logarithm.sum(axis) * kept
    if reduction == "mean":
        factor = kept if weight is None else weight[target * kept.long()] * kept
        smooth = smooth.sum() / factor.sum()
    elif reduction == "sum":
        smooth = smooth.sum()
    share = label_smoothing / input.shape[axis]
    return (1 - label_smoothing) * losses + share * smooth


def _check_targets(input: Tensor, target: Tensor) -> None:
    axes, given = len(input.shape), len(target.shape)
    if not axes:
        raise RuntimeError("Dimension out of range: cross_entropy needs scores of classes")
    if axes == 1 and given == 1 and target.shape[0] != 1:
        raise ValueError(
            f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}"
        )
    if axes > 1 and given:
        if input.shape[0] != target.shape[0]:
            raise ValueError(
                f"Expected input batch_size ({input.shape[0]}) to match target batch_size "
                f"({target.shape[0]})."
            )
        expected = (input.shape[0], *input.shape[2:])
        if axes > 2 and tuple(target.shape) != expected:
            raise RuntimeError(f"Expected target size {list(expected)}, got {list(target.shape)}")


def _soft_targets(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    axis: int,
    reduction: str,
    label_smoothing: float,
) -> Tensor:
    r"""Targets that are probabilities."""
    if input.shape != target.shape:
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {scalar_name(target.dtype)}"
        )
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / input.shape[axis]
    products = log_softmax(input, axis) * target
    if weight is not None:
        products = products * weight.view([-1 if one == axis else 1 for one in range(input.dim())])
    losses = -products.sum(axis)
    return (
        losses.sum() / max(1, losses.numel())
        if reduction == "mean"
        else _reduced(losses, reduction)
    )


def _check_loss(name: str, input: Tensor, target: Any) -> None:
    if not isinstance(target, Tensor):
        raise TypeError(f"{name}(): argument 'target' must be Tensor, not {type(target).__name__}")


def mse_loss(input: Tensor, target: Tensor, *args: Any, reduction: str = "mean") -> Tensor:
    r"""Squares of the differences."""
    input, target = in_single_precision(input, target)
    _check_loss("mse_loss", input, target)
    return _reduced((input - target).square(), reduction)


def l1_loss(input: Tensor, target: Tensor, *args: Any, reduction: str = "mean") -> Tensor:
    r"""Sizes of the differences."""
    input, target = in_single_precision(input, target)
    _check_loss("l1_loss", input, target)
    return _reduced((input - target).abs(), reduction)


def smooth_l1_loss(
    input: Tensor, target: Tensor, *args: Any, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    r"""Squares of small differences, sizes of large ones."""
    input, target = in_single_precision(input, target)
    size = (input - target).abs()
    return _reduced(where(size < beta, 0.5 * size * size / beta, size - 0.5 * beta), reduction)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0
) -> Tensor:
    r"""Squares of small differences, sizes of large ones."""
    return smooth_l1_loss(input, target, reduction=reduction, beta=delta) * delta


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *args: Any, reduction: str = "mean"
) -> Tensor:
    r"""Minus the log-probability of yes or no."""
    yes, no = input.log().clamp(min=-100), (1 - input).log().clamp(min=-100)
    losses = -(target * yes + (1 - target) * no)
    return _reduced(losses if weight is None else losses * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *args: Any,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    r"""Minus the log-probability of yes or no, from scores."""
    input, target = in_single_precision(input, target)
    if input.shape != target.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    if pos_weight is not None:
        factor = 1 + (pos_weight - 1) * target
        losses = (1 - target) * input + factor * softplus(-input)
    else:
        losses = input.clamp(min=0) - input * target + (-input.abs()).exp().log1p()
    return _reduced(losses if weight is None else losses * weight, reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    r"""How far a distribution is from a target, whose logarithm is the input."""
    input, target = in_single_precision(input, target)
    if log_target:
        losses = target.exp() * (target - input)
    else:
        logarithm = target.clamp(min=finfo(target.dtype).tiny).log()
        losses = where(target > 0, target * logarithm, 0.0) - target * input
    if reduction == "batchmean":
        return losses.sum() / input.shape[0]
    return _reduced(losses, reduction)


# Attention
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    r"""Attention, with zeros where a query sees nothing."""
    for name, one in (("query", query), ("key", key), ("value", value)):
        if not isinstance(one, Tensor):
            raise TypeError(
                f"scaled_dot_product_attention(): argument '{name}' must be Tensor, not "
                f"{type(one).__name__}"
            )
        if len(one.shape) < 2:
            raise RuntimeError("Expected query, key, and value to all be at least 2 dimensional")
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{c_name(query.dtype)} key.dtype: {c_name(key.dtype)} and value.dtype: "
            f"{c_name(value.dtype)} instead."
        )
    if attn_mask is not None and is_causal:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True"
        )
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    if enable_gqa:
        heads = query.shape[-3]
        key = key.repeat_interleave(heads // key.shape[-3], -3)
        value = value.repeat_interleave(heads // value.shape[-3], -3)
    scores = query @ key.transpose(-2, -1) * scale
    if is_causal:
        attn_mask = filled(scores.shape[-2:], True, bool_).tril()
    if attn_mask is None:
        return dropout(scores.softmax(-1), dropout_p) @ value
    if attn_mask.dtype is bool_:
        hidden = ~attn_mask
        scores = scores.masked_fill(hidden, -math.inf)
        blind = hidden.all(-1, keepdim=True)
    else:
        if attn_mask.dtype is not query.dtype and attn_mask.dtype is not float32:
            raise RuntimeError(
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                f"attn_mask.dtype: {c_name(attn_mask.dtype)} and  query.dtype: "
                f"{c_name(query.dtype)} instead."
            )
        scores = scores + attn_mask
        blind = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = scores.softmax(-1).masked_fill(blind, 0)
    return dropout(weights, dropout_p) @ value


# Padding, windows and images
def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    r"""More at the ends of the last axes; a negative number takes away."""
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) // 2 > len(input.shape):
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {len(input.shape)}"
        )
    if mode != "constant":
        return _pad_from_inside(input, pad, mode)
    out = input
    for place in range(0, len(pad), 2):
        axis = len(input.shape) - 1 - place // 2
        out = _pad_axis(out, axis, pad[place], pad[place + 1], 0 if value is None else value)
    return out.clone() if out is input else out


def _pad_axis(input: Tensor, axis: int, before: int, after: int, value: float) -> Tensor:
    size = input.shape[axis]
    if size + before + after < 0:
        raise RuntimeError(
            f"The input size {size}, plus negative padding {before} and {after}, resulted in a "
            "negative output size, which is invalid."
        )
    if before < 0 or after < 0:
        start = max(0, -before)
        input = input.narrow(axis, start, size - start - max(0, -after))
    parts = [input]
    for count, place in ((before, 0), (after, 2)):
        if count > 0:
            shape = [*input.shape[:axis], count, *input.shape[axis + 1 :]]
            parts.insert(place, full(shape, value, dtype=input.dtype))
    return cat(parts, axis) if len(parts) > 1 else input


def _pad_from_inside(input: Tensor, pad: Any, mode: str) -> Tensor:
    out = input
    for place in range(0, len(pad), 2):
        axis = len(input.shape) - 1 - place // 2
        size = out.shape[axis]
        places = arange(-pad[place], size + pad[place + 1])
        if mode == "replicate":
            places = places.clamp(0, size - 1)
        elif mode == "circular":
            places = places % size
        elif mode == "reflect":
            places = (size - 1) - ((places % (2 * (size - 1))) - (size - 1)).abs()
        else:
            raise NotImplementedError(f"Unrecognised padding mode {mode}")
        out = out.index_select(axis, places)
    return out


def _numbers(value: Any, count: int) -> tuple[int, ...]:
    return (value,) * count if isinstance(value, int) else tuple(value)


def _convolve(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    axes: int,
) -> Tensor:
    r"""Windows of the input times the weights."""
    single = len(input.shape) == axes + 1
    if single:
        input = input.unsqueeze(0)
    if len(input.shape) != axes + 2:
        raise RuntimeError(
            f"Expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input to conv{axes}d, but "
            f"got input of size: {list(input.shape)}"
        )
    if input.shape[1] != weight.shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight.shape)}, expected input"
            f"{list(input.shape)} to have {weight.shape[1] * groups} channels, but got "
            f"{input.shape[1]} channels instead"
        )
    strides, dilations = _numbers(stride, axes), _numbers(dilation, axes)
    if padding == "same":
        sizes = [d * (k - 1) for d, k in zip(dilations, weight.shape[2:], strict=True)]
        ends = [one for size in reversed(sizes) for one in (size // 2, size - size // 2)]
    else:
        widths = _numbers(0 if padding == "valid" else padding, axes)
        ends = [one for width in reversed(widths) for one in (width, width)]
    windows = pad(input, ends) if any(ends) else input
    for axis in range(axes):
        reach = dilations[axis] * (weight.shape[2 + axis] - 1) + 1
        if windows.shape[2 + axis] < reach:
            raise RuntimeError(
                f"Calculated padded input size per channel: ({windows.shape[2 + axis]}). Kernel "
                f"size: ({reach}). Kernel size can't be greater than actual input size"
            )
        windows = windows.unfold(2 + axis, reach, strides[axis])
        if dilations[axis] > 1:
            windows = windows[..., :: dilations[axis]]
    places, inside = "xyz"[:axes], "uvw"[:axes]
    out = einsum(
        f"bgc{places}{inside},goc{inside}->bgo{places}",
        windows.unflatten(1, (groups, -1)),
        weight.unflatten(0, (groups, -1)),
    ).flatten(1, 2)
    if bias is not None:
        out = out + bias.view(-1, *[1] * axes)
    return out.squeeze(0) if single else out


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    r"""Convolution along one axis."""
    return _convolve(input, weight, bias, stride, padding, dilation, groups, 1)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    r"""Convolution along two axes."""
    return _convolve(input, weight, bias, stride, padding, dilation, groups, 2)


def _pooled(
    input: Tensor, kernel_size: Any, stride: Any, padding: Any, axes: int, value: float
) -> Tensor:
    sizes = _numbers(kernel_size, axes)
    strides = sizes if stride is None else _numbers(stride, axes)
    ends = [one for width in reversed(_numbers(padding, axes)) for one in (width, width)]
    windows = pad(input, ends, value=value) if any(ends) else input
    for axis in range(axes):
        windows = windows.unfold(input.dim() - axes + axis, sizes[axis], strides[axis])
    return windows.flatten(-axes)


def max_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0) -> Tensor:
    r"""The largest of each window."""
    return _pooled(input, kernel_size, stride, padding, 1, -math.inf).max(-1)[0]


def max_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0) -> Tensor:
    r"""The largest of each window."""
    return _pooled(input, kernel_size, stride, padding, 2, -math.inf).max(-1)[0]


def avg_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0) -> Tensor:
    r"""The mean of each window."""
    return _pooled(input, kernel_size, stride, padding, 1, 0.0).mean(-1)


def avg_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0) -> Tensor:
    r"""The mean of each window."""
    return _pooled(input, kernel_size, stride, padding, 2, 0.0).mean(-1)


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    r"""More or fewer places along the last axes."""
    axes = len(input.shape) - 2
    if mode not in ("nearest", "linear", "bilinear"):
        raise NotImplementedError(
            f"functional.interpolate with mode='{mode}' is not in the browser's torch: use "
            "'nearest' or 'linear'."
        )
    if size is None:
        factors = _numbers(scale_factor, axes) if isinstance(scale_factor, int) else None
        factors = factors or ((scale_factor,) * axes)
        sizes = [int(one * factor) for one, factor in zip(input.shape[2:], factors, strict=True)]
    else:
        sizes = list(_numbers(size, axes))
    out = input
    for axis, wanted in enumerate(sizes):
        out = _resampled(out, 2 + axis, wanted, mode, bool(align_corners))
    return out


def _resampled(input: Tensor, axis: int, wanted: int, mode: str, aligned: bool) -> Tensor:
    size = input.shape[axis]
    if mode == "nearest":
        return input.index_select(axis, (arange(wanted) * (size / wanted)).floor().long())
    if aligned:
        at = arange(wanted) * ((size - 1) / max(1, wanted - 1))
    else:
        at = ((arange(wanted) + 0.5) * (size / wanted) - 0.5).clamp(min=0)
    low = at.floor().long().clamp(max=size - 1)
    high = (low + 1).clamp(max=size - 1)
    weight = (at - low).view([-1 if one == axis else 1 for one in range(len(input.shape))])
    low_values, high_values = input.index_select(axis, low), input.index_select(axis, high)
    return low_values * (1 - weight) + high_values * weight


__all__ = ["embedding", "linear", "log_softmax", "matmul", "relu", "sigmoid", "softmax", "tanh"]


__getattr__ = absent("module 'torch.nn.functional'", lambda: list(globals()), {})

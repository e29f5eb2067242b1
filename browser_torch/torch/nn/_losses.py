r"""Losses: how far a result is from what it should be."""

import math
from collections.abc import Callable
from typing import Any

from torch._autocast import in_single_precision
from torch._dtypes import FLOATING, float32, int64, scalar_name
from torch._elementwise import where
from torch._joining import broadcast_tensors, cat, stack
from torch._making import arange, tensor
from torch._memory import IndexOutOfRange, Operation, run
from torch._products import linear
from torch._raw import contiguous, filled
from torch._reductions import log_softmax
from torch._tape import Mode, record
from torch._tensor import Tensor, alias_of, unfilled


def _reduced(losses: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return losses
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    raise ValueError(f"{reduction} is not a valid value for reduction")


def _known(reduction: str) -> str:
    r"""A reduction that there is, or ValueError."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def _named(size_average: Any, reduce: Any, reduction: str) -> str:
    r"""The reduction, which old programs name by two other arguments."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


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
    reduction = _named(size_average, reduce, reduction)
    if len(input.shape) == 1:
        input = input.unsqueeze(0)
        target = target.unsqueeze(0)
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
    reduction = _named(size_average, reduce, reduction)
    axis = 0 if len(input.shape) == 1 else 1
    if target.dtype.kind == FLOATING:
        return _soft_targets(input, target, weight, axis, reduction, label_smoothing)
    _check_targets(input, target)
    plain = input.dtype is float32 and target.dtype is int64 and weight is None
    if plain and not label_smoothing and len(input.shape) == 2 and input.shape[1]:
        return _of_rows(input, target, ignore_index, _known(reduction))
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


def _of_rows(scores: Tensor, target: Tensor, ignore_index: int, reduction: str) -> Tensor:
    r"""Cross entropy of rows of scores, by one kernel, as one operation of the graph."""
    scores_in_order, target = contiguous(alias_of(scores)), contiguous(target)
    numbers = (ignore_index, ("none", "mean", "sum").index(reduction))
    logarithms = unfilled(scores.shape, float32)
    loss = unfilled(target.shape if reduction == "none" else (), float32)
    try:
        run(Operation.CROSS_ENTROPY, numbers, logarithms, scores_in_order, target, loss)
    except IndexOutOfRange as wrong:
        raise IndexError(f"Target {wrong.index} is out of bounds.") from None

    def backward(gradient: Tensor) -> tuple[Tensor]:
        if Mode.grad:
            # Of operations that have derivatives themselves.
            kept = (target != ignore_index).to(float32)
            right = (arange(scores.shape[1]) == target.unsqueeze(1)).to(float32)
            each = gradient * kept / (kept.sum() if reduction == "mean" else 1)
            return ((log_softmax(scores, 1).exp() - right) * each.unsqueeze(1),)
        of_scores = unfilled(scores.shape, float32)
        tensors = (of_scores, logarithms, target, contiguous(gradient))
        run(Operation.CROSS_ENTROPY_BACKWARD, numbers, *tensors)
        return (of_scores,)

    return record(loss, (scores,), backward, "NllLoss", (scores, target))


def _check_targets(input: Tensor, target: Tensor) -> None:
    axes = len(input.shape)
    given = len(target.shape)
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


def _pair(name: str, input: Tensor, target: Any) -> tuple[Tensor, Tensor]:
    r"""Both in single precision within autocast, and of one shape."""
    if not isinstance(target, Tensor):
        raise TypeError(f"{name}(): argument 'target' must be Tensor, not {type(target).__name__}")
    return broadcast_tensors(*in_single_precision(input, target))


def _weighted(losses: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    r"""Losses of pairs; a mean with weights is divided by their sum."""
    if weight is None:
        return _reduced(losses, reduction)
    losses = losses * weight
    if reduction == "mean":
        return losses.sum() / weight.sum()
    return _reduced(losses, reduction)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    r"""Squares of the differences."""
    input, target = _pair("mse_loss", input, target)
    losses = (input - target).square()
    return _weighted(losses, weight, _named(size_average, reduce, reduction))


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    r"""Sizes of the differences."""
    input, target = _pair("l1_loss", input, target)
    losses = (input - target).abs()
    return _weighted(losses, weight, _named(size_average, reduce, reduction))


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    r"""Squares of small differences, sizes of large ones."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    reduction = _named(size_average, reduce, reduction)
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    input, target = _pair("smooth_l1_loss", input, target)
    size = (input - target).abs()
    losses = where(size < beta, 0.5 * size * size / beta, size - 0.5 * beta)
    return _reduced(losses, reduction)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    r"""Squares of small differences, sizes of large ones."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    losses = smooth_l1_loss(input, target, reduction="none", beta=delta) * delta
    return _weighted(losses, weight, reduction)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    r"""Minus the log-probability of yes or no."""
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
        )
    seen = input.detach()
    if seen.numel() and not bool(((seen >= 0) & (seen <= 1)).all()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    yes = input.log().clamp(min=-100)
    no = (1 - input).log().clamp(min=-100)
    losses = -(target * yes + (1 - target) * no)
    losses = losses if weight is None else losses * weight
    return _reduced(losses, _named(size_average, reduce, reduction))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    r"""Minus the log-probability of yes or no, from scores."""
    input, target = in_single_precision(input, target)
    if input.shape != target.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    # log(1 + exp(-x)) without a large exponential.
    rest = (-input.abs()).exp().log1p() + (-input).clamp(min=0)
    factor = 1 if pos_weight is None else 1 + (pos_weight - 1) * target
    losses = (1 - target) * input + factor * rest
    losses = losses if weight is None else losses * weight
    return _reduced(losses, _named(size_average, reduce, reduction))


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
    reduction = _named(size_average, reduce, reduction)
    if log_target:
        losses = target.exp() * (target - input)
    else:
        losses = target * where(target == 0, 1.0, target).log() - target * input
    if reduction == "batchmean":
        return losses.sum() / input.shape[0] if input.shape else losses
    return _reduced(losses, reduction)


# Distances and margins
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    r"""Minus the log-probability of counts."""
    reduction = _known(_named(size_average, reduce, reduction))
    if log_input:
        losses = input.exp() - target * input
    else:
        losses = input - target * (input + eps).log()
    if full:
        # Stirling's formula for the logarithm of a factorial.
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        losses = losses + where(target <= 1, 0.0, stirling)
    return _reduced(losses, reduction)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    r"""Minus the log-probability of normal numbers with given variances."""
    if not isinstance(var, Tensor):
        var = filled(input.shape, float(var), input.dtype)
    if bool((var.detach() < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif len(var.shape) != len(input.shape) or any(
            one not in (size, 1) for one, size in zip(var.shape, input.shape, strict=True)
        ):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    # Bounded below without a derivative, as in PyTorch.
    var = var + (var.detach().clamp(min=eps) - var.detach())
    losses = 0.5 * (var.log() + (input - target).square() / var)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return _reduced(losses, reduction)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    r"""`log(1 + exp(-target * input))`, for targets of 1 and -1."""
    losses = (-target * input).exp().log1p()
    return _reduced(losses, _named(size_average, reduce, reduction))


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    r"""The input where the target is 1; what it lacks to the margin where it is -1."""
    near = where(target != -1, input, 0.0)
    far = where(target != 1, (margin - input).clamp(min=0), 0.0)
    return _reduced(near + far, _named(size_average, reduce, reduction))


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    r"""How far the first input is from being the larger one, by the sign of the target."""
    axes = {len(one.shape) for one in (input1, input2, target)}
    if len(axes) > 1:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    losses = (-target * (input1 - input2) + margin).clamp(min=0)
    return _reduced(losses, _named(size_average, reduce, reduction))


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    r"""1 less the cosine where the target is 1; the cosine above the margin where it is -1."""
    if len(target.shape) not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if len(target.shape) == 1 and (len(input1.shape) != 2 or len(input2.shape) != 2):
        raise RuntimeError(
            f"1D target tensor expects 2D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    if len(target.shape) == 0 and (len(input1.shape) != 1 or len(input2.shape) != 1):
        raise RuntimeError(
            f"0D target tensor expects 1D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    tiny = 1e-12
    lengths = (input1.square().sum(-1) + tiny) * (input2.square().sum(-1) + tiny)
    cosine = (input1 * input2).sum(-1) / lengths.sqrt()
    near = where(target == 1, 1 - cosine, 0.0)
    far = where(target == -1, (cosine - margin).clamp(min=0), 0.0)
    return _reduced(near + far, _named(size_average, reduce, reduction))


def _rows(name: str, input: Tensor, target: Tensor, several: bool) -> tuple[Tensor, Tensor]:
    r"""Scores with a row for each example, and their targets."""
    if len(input.shape) > 2 or len(input.shape) == 2 and input.shape[1] == 0:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(input.shape)}"
        )
    if target.dtype is not int64 and several:
        raise RuntimeError(f"{name}: target must be Long, but got {scalar_name(target.dtype)}")
    rows = input.reshape(1, -1) if len(input.shape) < 2 else input
    wanted = rows.shape if several else rows.shape[:1]
    if several and tuple(target.shape) not in {tuple(input.shape), tuple(wanted)}:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for size: {list(input.shape)}"
        )
    if not several and target.numel() != wanted[0]:
        raise RuntimeError(
            f"inconsistent target size, expected {wanted[0]} but got {list(target.shape)}"
        )
    return rows, target.reshape(wanted)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    r"""How far the score of the target is from being the largest by a margin."""
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and len(weight.shape) != 1:
        raise ValueError("weight must be one-dimensional")
    reduction = _known(_named(size_average, reduce, reduction))
    rows, places = _rows("multi_margin_loss", input, target, False)
    if places.dtype is not int64:
        raise RuntimeError(f"expected scalar type Long but found {scalar_name(places.dtype)}")
    if weight is not None and (len(weight.shape) != 1 or weight.numel() != rows.shape[1]):
        raise ValueError(
            f"weight must be one-dimensional with {rows.shape[1]} elements, but got "
            f"{list(weight.shape)}"
        )
    if places.numel() and not 0 <= int(places.min()) <= int(places.max()) < rows.shape[1]:
        raise RuntimeError("target out of range")
    own = rows.gather(1, places.unsqueeze(1))
    short = (margin - own + rows).clamp(min=0) ** p
    if weight is not None:
        short = short * weight[places].unsqueeze(1)
    others = arange(rows.shape[1]) != places.unsqueeze(1)
    losses = where(others, short, 0.0).sum(1) / rows.shape[1]
    losses = losses if len(input.shape) == 2 else losses.squeeze(0)
    return _reduced(losses, reduction)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    r"""How far the targets of a row, up to a -1, are from being larger than the others by 1."""
    reduction = _known(_named(size_average, reduce, reduction))
    rows, places = _rows("multilabel_margin_loss", input, target, True)
    if places.numel() and not -1 <= int(places.min()) <= int(places.max()) < rows.shape[1]:
        raise RuntimeError("argument #2 'target' is out of range")
    losses = []
    for scores, listed in zip(rows.unbind(0), places.tolist(), strict=True):
        named = listed[: listed.index(-1)] if -1 in listed else listed
        rest = [place for place in range(len(listed)) if place not in named]
        wanted = scores[tensor(named, dtype=int64)].unsqueeze(1)
        short = (1 - wanted + scores[tensor(rest, dtype=int64)]).clamp(min=0)
        losses.append(short.sum() / rows.shape[1])
    out = stack(losses) if losses else rows.sum(1)
    out = out if len(input.shape) == 2 else out.squeeze(0)
    return _reduced(out, reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    r"""Minus the log-probabilities of yes or no, of all classes."""
    rest = (-input.abs()).exp().log1p()
    yes = input.clamp(max=0) - rest
    no = (-input).clamp(max=0) - rest
    losses = -(target * yes + (1 - target) * no)
    losses = (losses if weight is None else losses * weight).mean(-1)
    return _reduced(losses, _named(size_average, reduce, reduction))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    r"""How far what is like the anchor is from being nearer to it by a margin."""

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return (a - b + eps).norm(p, -1)

    axes = {len(one.shape) for one in (anchor, positive, negative)}
    if len(axes) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and "
            f"negative {negative.dim()}D inputs"
        )
    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=distance,
        margin=margin,
        swap=swap,
        reduction=_named(size_average, reduce, reduction),
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    r"""The same with a distance of your own."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")

    def usual(a: Tensor, b: Tensor) -> Tensor:
        return (a - b + 1e-6).norm(2, -1)

    distance = distance_function or usual
    near = distance(anchor, positive)
    far = distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return _reduced((margin + near - far).clamp(min=0), reduction)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    r"""`cross_entropy` of the scores that a linear layer gives, of one place or of several."""
    if options is not None:
        raise NotImplementedError(
            "functional.linear_cross_entropy with options is not in the browser's torch: use it "
            "without them."
        )
    if len(input.shape) not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {len(input.shape)}")
    if len(linear_weight.shape) < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {len(linear_weight.shape)}"
        )
    *made, width = linear_weight.shape
    if input.shape[-1] != width:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {width}, respectively"
        )
    if linear_bias is not None and list(linear_bias.shape) != made:
        raise RuntimeError(
            f"expected linear_bias shape {tuple(made)}, got {tuple(linear_bias.shape)}"
        )
    if len(made) > 1 and len(input.shape) == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} "
            f"requires batched input, (N, {width}), got unbatched input with shape "
            f"{tuple(input.shape)}"
        )
    scores = linear(input, linear_weight.reshape(-1, width))
    if linear_bias is not None:
        scores = scores + linear_bias.reshape(-1)
    scores = scores.reshape(*input.shape[:-1], *made)
    if target.shape == scores.shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    return cross_entropy(
        scores,
        target,
        weight=weight,
        reduction=reduction,
        ignore_index=-100 if ignore_index is None else ignore_index,
        label_smoothing=label_smoothing,
    )


# Sequences without places
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    r"""Minus the log-probability of a text, over all ways to stretch it with blanks."""
    single = len(log_probs.shape) == 2
    batch = log_probs.unsqueeze(1) if single else log_probs
    lengths, wanted = (
        one.reshape(-1).tolist() if isinstance(one, Tensor) else [*one]
        for one in (input_lengths, target_lengths)
    )
    if len(lengths) != batch.shape[1] or len(wanted) != batch.shape[1]:
        raise RuntimeError("input_lengths and target_lengths must be of size batch_size")
    if not 0 <= blank < batch.shape[2]:
        raise RuntimeError("blank must be in label range")
    if max(lengths) > batch.shape[0]:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {batch.shape[0]}, but got value "
            f"{max(lengths)} (while checking arguments for ctc_loss_cpu)"
        )
    if len(targets.shape) == 1:
        texts = [one.tolist() for one in targets.split(wanted)]
    else:
        texts = [row[:count] for row, count in zip(targets.tolist(), wanted, strict=True)]
    losses = stack(
        [
            _stretched(batch[:length, place], text, blank)
            for place, (length, text) in enumerate(zip(lengths, texts, strict=True))
        ]
    )
    # The gradient is that of scores before a log_softmax, which PyTorch takes for granted.
    sizes = stack([batch[:length, place].exp().sum() for place, length in enumerate(lengths)])
    losses = losses + (sizes - sizes.detach())
    if zero_infinity:
        losses = where(losses == math.inf, 0.0, losses)
    if reduction == "mean":
        return (losses / tensor(wanted).clamp(min=1).to(losses.dtype)).mean()
    return _reduced(losses.squeeze(0) if single else losses, reduction)


def _stretched(log_probs: Tensor, text: list[int], blank: int) -> Tensor:
    r"""The loss of one text: each place of it goes on from itself or from the places before."""
    labels = [blank, *(one for label in text for one in (label, blank))]
    scores = log_probs[:, tensor(labels, dtype=int64)]
    # A letter can follow the one before without a blank, unless both are the same.
    skips = [
        place > 1 and label not in (blank, labels[place - 2]) for place, label in enumerate(labels)
    ]
    never = filled((1,), -math.inf, log_probs.dtype)
    if not log_probs.shape[0]:
        return -never[0] if text else -never[0] * 0
    first = scores[0, :2]
    paths = cat([first, never.expand(len(labels) - first.numel())])
    for row in scores[1:]:
        one = cat([never, paths[:-1]])
        two = cat([never, never, paths[:-2]])[: len(labels)]
        two = where(tensor(skips), two, -math.inf)
        ways = stack([paths, one, two])
        # Where there is no way at all, the largest is minus infinity.
        largest = ways.detach().amax(0)
        largest = where(largest == -math.inf, 0.0, largest)
        total = (ways - largest).exp().sum(0)
        paths = where(total > 0, where(total > 0, total, 1.0).log() + largest, -math.inf) + row
    ends = paths[-2:]
    largest = ends.detach().amax()
    return -ends.logsumexp(0) if float(largest) > -math.inf else -largest + 0 * paths.sum().isnan()

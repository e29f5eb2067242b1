r"""What `torch` itself has of the functions of layers.

They take their arguments in another order, or by position alone, and losses take a number for what
becomes of many: 0 keeps each of them, 1 is the mean, 2 the sum.
"""

from collections.abc import Callable
from typing import Any

from torch._shapes import wrap_axis
from torch._tensor import Tensor, method
from torch.nn import functional as F

_SAME = """
bilinear celu celu_ channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
conv_transpose3d cosine_similarity hardshrink max_pool1d_with_indices avg_pool1d
adaptive_avg_pool1d max_pool1d max_pool2d max_pool3d pairwise_distance pdist pixel_shuffle
pixel_unshuffle prelu rms_norm rrelu rrelu_ selu selu_ threshold threshold_
""".split()

_REDUCTIONS = ("none", "mean", "sum")


def _reduction(name: str, reduction: Any) -> str:
    if not isinstance(reduction, int):
        raise TypeError(
            f"{name}(): argument 'reduction' must be int, not {type(reduction).__name__}"
        )
    if reduction not in (0, 1, 2):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _REDUCTIONS[reduction]


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 0,
) -> Tensor:
    r"""The loss of yes or no, from scores."""
    known = _reduction("binary_cross_entropy_with_logits", reduction)
    return F.binary_cross_entropy_with_logits(
        input, target, weight, reduction=known, pos_weight=pos_weight
    )


def kl_div(
    input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False
) -> Tensor:
    r"""How far a distribution is from another one, from logarithms of its probabilities."""
    known = _reduction("kl_div", reduction)
    return F.kl_div(input, target, reduction=known, log_target=log_target)


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0
) -> Tensor:
    r"""Distances of pairs that are alike, and what others lack to a margin."""
    known = _reduction("hinge_embedding_loss", reduction)
    return F.hinge_embedding_loss(input, target, margin, reduction=known)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    r"""How far the first input is from being the larger one, by the sign of the target."""
    known = _reduction("margin_ranking_loss", reduction)
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=known)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    r"""How far the directions of pairs are from what the target says."""
    known = _reduction("cosine_embedding_loss", reduction)
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=known)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    r"""The loss of counts, from their means."""
    known = _reduction("poisson_nll_loss", reduction)
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=known)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    r"""What lacks until the negative is further than the positive by a margin."""
    known = _reduction("triplet_margin_loss", reduction)
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=known)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    r"""The loss of a sequence whose places in a longer one are unknown."""
    known = _reduction("ctc_loss", reduction)
    return F.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, known, zero_infinity
    )


def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    r"""The last axes of mean 0 and variance 1."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    r"""Each group of channels of mean 0 and variance 1."""
    wrap_axis(1, len(input.shape))
    return F.group_norm(input, num_groups, weight, bias, eps)


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    r"""Each channel of mean 0 and variance 1, over a batch."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    r"""Each channel of each example of mean 0 and variance 1."""
    return F.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    r"""The largest of so many windows, and their places."""
    return F.adaptive_max_pool1d_with_indices(input, output_size)


def constant_pad_nd(input: Tensor, pad: Any, value: Any = 0) -> Tensor:
    r"""More at the ends of the last axes."""
    return F.pad(input, pad, value=value)


def _dropping(name: str, function: Callable[..., Tensor], inplace: bool) -> Callable[..., Tensor]:
    r"""A dropout that is told each time whether it is training."""

    def drop(input: Tensor, p: float, train: bool) -> Tensor:
        if not 0 <= p <= 1:
            raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
        return function(input, p, train, inplace)

    drop.__name__ = name
    return drop


def _all() -> dict[str, Callable[..., Any]]:
    found = {name: getattr(F, name) for name in _SAME}
    for name, function in (
        ("dropout", F.dropout),
        ("alpha_dropout", F.alpha_dropout),
        ("feature_dropout", F.dropout2d),
        ("feature_alpha_dropout", F.feature_alpha_dropout),
    ):
        found[name] = _dropping(name, function, False)
        found[f"{name}_"] = _dropping(f"{name}_", function, True)
    for name, value in globals().items():
        if getattr(value, "__module__", "") == __name__ and name[0] != "_":
            found[name] = value
    return found


FUNCTIONS = _all()
method(F.prelu)
method(F.hardshrink)

r"""What layers compute, as functions."""

from typing import Any

from torch._absent import absent
from torch._dtypes import int64
from torch._elementwise import sigmoid, tanh
from torch._indexing import embedding as _embedding
from torch._joining import stack
from torch._making import arange, tensor
from torch._products import einsum, linear
from torch._raw import Binary, binary, cast, filled
from torch._tape import no_grad
from torch._tensor import Tensor
from torch.nn._activations import (
    alpha_dropout,
    celu,
    celu_,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    elu,
    elu_,
    feature_alpha_dropout,
    gelu,
    glu,
    gumbel_softmax,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    log_softmax,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    relu_,
    rrelu,
    rrelu_,
    selu,
    selu_,
    silu,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    tanhshrink,
    threshold,
    threshold_,
)
from torch.nn._attention import multi_head_attention_forward, scaled_dot_product_attention
from torch.nn._losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cross_entropy,
    ctc_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    linear_cross_entropy,
    margin_ranking_loss,
    mse_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from torch.nn._normalisations import (
    batch_norm,
    cosine_similarity,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    pairwise_distance,
    pdist,
    rms_norm,
)
from torch.nn._pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from torch.nn._resampling import (
    affine_grid,
    channel_shuffle,
    grid_sample,
    interpolate,
    native_channel_shuffle,
    pixel_shuffle,
    pixel_unshuffle,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)
from torch.nn._windows import (
    conv1d,
    conv2d,
    conv3d,
    conv_tbc,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    fold,
    pad,
    unfold,
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


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    r"""Rows of a table."""
    if padding_idx is not None and not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise AssertionError("Padding_idx must be within num_embeddings")
    if max_norm is not None:
        _shorten(weight, input, max_norm, norm_type)
    return _embedding(input, weight, padding_idx, None, norm_type, scale_grad_by_freq, sparse)


def _shorten(weight: Tensor, places: Tensor, max_norm: float, norm_type: float) -> None:
    r"""The rows that are looked up, made no longer than a length, in place."""
    with no_grad():
        rows = places.unique()
        lengths = weight[rows].norm(norm_type, 1, keepdim=True)
        weight[rows] = weight[rows] * (max_norm / (lengths + 1e-7)).clamp(max=1)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    r"""The sum, the mean or the largest of rows of a table, for each bag of numbers."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            f"embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({tuple(per_sample_weights.shape)}) is not "
            f"None, then it must have the same shape as the input ({tuple(input.shape)})"
        )
    if len(input.shape) == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                "of fixed length sequences. However, found offsets of type Tensor"
            )
        starts = [row * input.shape[1] for row in range(input.shape[0])]
    elif len(input.shape) == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if len(offsets.shape) != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        starts = offsets.tolist()
    else:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
        )
    if starts and starts[0] != 0:
        raise RuntimeError(
            f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
            f"position 0. However, got {starts[0]}"
        )
    count = input.numel()
    if starts and starts[-1] > count:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length({count}) but got offsets[-1] of "
            f"{starts[-1]}"
        )
    ends = [*starts[1:], count]
    if include_last_offset:
        starts = starts[:-1]
        ends = ends[:-1]
    if padding_idx is not None and padding_idx < 0:
        padding_idx += weight.shape[0]
    places = input.reshape(-1)
    if max_norm is not None:
        _shorten(weight, places, max_norm, norm_type)
    rows = _embedding(places, weight, padding_idx)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    numbers = places.tolist()
    # For each row the bag that it belongs to; padding belongs to none.
    bags = [
        [place for place in range(start, end) if numbers[place] != padding_idx]
        for start, end in zip(starts, ends, strict=True)
    ]
    empty = filled((len(bags), weight.shape[1]), 0, weight.dtype)
    if mode == "max":
        parts = [
            rows[tensor(bag, dtype=int64)].max(0)[0] if bag else empty[place]
            for place, bag in enumerate(bags)
        ]
        return stack(parts) if parts else empty
    of_row = tensor([place for place, bag in enumerate(bags) for _ in bag], dtype=int64)
    used = tensor([place for bag in bags for place in bag], dtype=int64)
    out = empty.index_add(0, of_row, rows[used])
    if mode == "mean":
        lengths = tensor([max(1, len(bag)) for bag in bags], dtype=weight.dtype)
        out = out / lengths.view(-1, 1)
    return out


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    r"""Products of two inputs with a matrix between them, for each output."""
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): input batch dimensions do not match: got {list(input1.shape)} and "
            f"{list(input2.shape)}"
        )
    for name, one, size in (("1", input1, weight.shape[1]), ("2", input2, weight.shape[2])):
        if one.shape[-1] != size:
            raise RuntimeError(
                f"bilinear(): input{name} size does not match weight size: got {one.shape[-1]} "
                f"but expected {size}"
            )
    out = einsum("...i,oij,...j->...o", input1, weight, input2)
    return out if bias is None else out + bias


_OWN = "a function of your own, or PyTorch on your machine"
_INSTEAD = {
    "grouped_mm": "a matrix product for each group",
    "scaled_mm": "a matrix product, and a multiplication",
    "scaled_grouped_mm": "a matrix product for each group, and a multiplication",
    "handle_torch_function": _OWN,
    "has_torch_function": _OWN,
}
__getattr__ = absent("module 'torch.nn.functional'", lambda: list(globals()), _INSTEAD)

r"""Layers with parameters."""

import math
from typing import Any

from torch._dtypes import int64
from torch._making import empty, full, ones, zeros
from torch._tape import no_grad
from torch._tensor import Tensor
from torch.nn import functional, init
from torch.nn.module import Module
from torch.nn.parameter import Parameter


class Identity(Module):
    r"""Changes nothing."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        r"""The input."""
        return input


class Linear(Module):
    r"""`input @ weight.T + bias`."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, dtype=dtype, device=device))
        if bias:
            self.bias = Parameter(empty(out_features, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        r"""Uniform numbers, smaller for more inputs."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        r"""From `in_features` to `out_features` along the last axis."""
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        r"""The sizes."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Bilinear(Module):
    r"""Products of two inputs with a matrix between them, for each output."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(empty(*shape, dtype=dtype, device=device))
        self.register_parameter(
            "bias", Parameter(empty(out_features, dtype=dtype)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        r"""Uniform numbers, smaller for more inputs."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        r"""From both inputs to `out_features` along the last axis."""
        return functional.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        r"""The sizes."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class Embedding(Module):
    r"""A row of a table for each number."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if _weight is None:
            made = empty(num_embeddings, embedding_dim, dtype=dtype, device=device)
            self.weight = Parameter(made, requires_grad=not _freeze)
            self.reset_parameters()
        else:
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, **options: Any
    ) -> "Embedding":
        r"""With a table that is there."""
        return cls(*embeddings.shape, _weight=embeddings, _freeze=freeze, **options)

    def reset_parameters(self) -> None:
        r"""Normal numbers."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        r"""The rows."""
        return functional.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type
        )

    def extra_repr(self) -> str:
        r"""The sizes."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        return f"{text}, sparse=True" if self.sparse else text


class EmbeddingBag(Module):
    r"""The sum, the mean or the largest of rows of a table, for each bag of numbers."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.mode = mode
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        if _weight is None:
            self.weight = Parameter(empty(num_embeddings, embedding_dim, dtype=dtype))
            self.reset_parameters()
        else:
            self.weight = Parameter(_weight)

    def reset_parameters(self) -> None:
        r"""Normal numbers."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        r"""A row for each bag."""
        return functional.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        r"""The sizes."""
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"


class _Norm(Module):
    r"""What both normalisations of rows have in common."""

    def __init__(
        self, normalized_shape: Any, eps: float | None, elementwise_affine: bool, dtype: Any
    ) -> None:
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape, self.eps = tuple(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = Parameter(ones(self.normalized_shape, dtype=dtype))
        else:
            self.register_parameter("weight", None)

    def reset_parameters(self) -> None:
        r"""Scales by 1 and shifts by 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if getattr(self, "bias", None) is not None:
            init.zeros_(self.bias)

    def extra_repr(self) -> str:
        r"""The sizes."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class LayerNorm(_Norm):
    r"""Rows of mean 0 and variance 1, then scaled and shifted."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine, dtype)
        if elementwise_affine and bias:
            self.bias = Parameter(zeros(self.normalized_shape, dtype=dtype))
        else:
            self.register_parameter("bias", None)

    def extra_repr(self) -> str:
        r"""The sizes."""
        return f"{super().extra_repr()}, bias={self.bias is not None}"

    def forward(self, input: Tensor) -> Tensor:
        r"""In the same shape."""
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(_Norm):
    r"""Rows of size 1, then scaled."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine, dtype)

    def forward(self, input: Tensor) -> Tensor:
        r"""In the same shape."""
        return functional.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Module):
    r"""Groups of channels of mean 0 and variance 1."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        weight = Parameter(ones(num_channels, dtype=dtype)) if affine else None
        self.register_parameter("weight", weight)
        shift = Parameter(zeros(num_channels, dtype=dtype)) if affine and bias else None
        self.register_parameter("bias", shift)

    reset_parameters = _Norm.reset_parameters

    def forward(self, input: Tensor) -> Tensor:
        r"""In the same shape."""
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        r"""The sizes."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class _ChannelNorm(Module):
    r"""Channels of mean 0 and variance 1, with running values for later."""

    affine_as_usual = tracks_as_usual = True
    axes: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool | None = None,
        track_running_stats: bool | None = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = self.affine_as_usual if affine is None else affine
        tracks = self.tracks_as_usual if track_running_stats is None else track_running_stats
        self.track_running_stats = tracks
        count = num_features
        weight = Parameter(ones(count, dtype=dtype)) if self.affine else None
        self.register_parameter("weight", weight)
        shift = Parameter(zeros(count, dtype=dtype)) if self.affine and bias else None
        self.register_parameter("bias", shift)
        self.register_buffer("running_mean", zeros(count, dtype=dtype) if tracks else None)
        self.register_buffer("running_var", ones(count, dtype=dtype) if tracks else None)
        self.register_buffer("num_batches_tracked", zeros((), dtype=int64) if tracks else None)

    def reset_running_stats(self) -> None:
        r"""As if nothing had been seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        r"""Scales by 1 and shifts by 0."""
        self.reset_running_stats()
        _Norm.reset_parameters(self)

    def check(self, input: Tensor) -> None:
        r"""ValueError for a wrong number of axes."""
        if len(input.shape) not in self.axes:
            listed = " or ".join(f"{one}D" for one in self.axes)
            raise ValueError(f"expected {listed} input (got {len(input.shape)}D input)")

    def extra_repr(self) -> str:
        r"""The sizes."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_ChannelNorm):
    r"""Each channel of mean 0 and variance 1 over the batch."""

    def forward(self, input: Tensor) -> Tensor:
        r"""In the same shape."""
        self.check(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                # The mean of all that was seen.
                momentum = 1.0 / float(self.num_batches_tracked)
        keeps = not self.training or self.track_running_stats
        return functional.batch_norm(
            input,
            self.running_mean if keeps else None,
            self.running_var if keeps else None,
            self.weight,
            self.bias,
            self.training or self.running_mean is None,
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    r"""Batch normalisation of rows."""

    axes = (2, 3)


class BatchNorm2d(_BatchNorm):
    r"""Batch normalisation of images."""

    axes = (4,)


class BatchNorm3d(_BatchNorm):
    r"""Batch normalisation of volumes."""

    axes = (5,)


class _InstanceNorm(_ChannelNorm):
    r"""Each channel of each example of mean 0 and variance 1."""

    affine_as_usual = tracks_as_usual = False

    def forward(self, input: Tensor) -> Tensor:
        r"""In the same shape."""
        self.check(input)
        single = len(input.shape) == self.axes[0]
        images = input.unsqueeze(0) if single else input
        if self.affine and images.shape[1] != self.num_features:
            raise ValueError(
                f"expected input's size at dim={0 if single else 1} to match num_features "
                f"({self.num_features}), but got: {images.shape[1]}."
            )
        out = functional.instance_norm(
            images,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return out.squeeze(0) if single else out


class InstanceNorm1d(_InstanceNorm):
    r"""Instance normalisation of sequences."""

    axes = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    r"""Instance normalisation of images."""

    axes = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    r"""Instance normalisation of volumes."""

    axes = (4, 5)


class PReLU(Module):
    r"""Negative numbers are made small, by a number that is learned."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(full((num_parameters,), float(init), dtype=dtype))

    def forward(self, input: Tensor) -> Tensor:
        r"""In the same shape."""
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        r"""How many numbers are learned."""
        return f"num_parameters={self.num_parameters}"


# Convolutions
class _Convolution(Module):
    axes = 1
    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        output_padding: Any = 0,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(
                "padding_mode must be one of ['zeros', 'reflect', 'replicate', 'circular'], but "
                f"got padding_mode='{padding_mode}'"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.groups = groups
        self.kernel_size, self.stride, self.dilation, self.output_padding = (
            self.of_axes(one) for one in (kernel_size, stride, dilation, output_padding)
        )
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"Invalid padding string '{padding}', should be one of 'valid', 'same'"
                )
            if padding == "same" and max(self.stride) > 1:
                raise ValueError("padding='same' is not supported for strided convolutions")
        self.padding = padding if isinstance(padding, str) else self.of_axes(padding)
        self.padding_mode = padding_mode
        first = out_channels
        second = in_channels // groups
        if self.transposed:
            first = in_channels
            second = out_channels // groups
        self.weight = Parameter(empty(first, second, *self.kernel_size, dtype=dtype, device=device))
        shift = Parameter(empty(out_channels, dtype=dtype)) if bias else None
        self.register_parameter("bias", shift)
        self.reset_parameters()

    def of_axes(self, value: Any) -> tuple[int, ...]:
        r"""One number for each axis."""
        return (value,) * self.axes if isinstance(value, int) else tuple(value)

    def reset_parameters(self) -> None:
        r"""Uniform numbers, smaller for more inputs."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            inputs = math.prod(self.weight.shape[1:])
            bound = 1 / math.sqrt(inputs) if inputs else 0
            init.uniform_(self.bias, -bound, bound)

    def around(self) -> list[int]:
        r"""How much is padded at the ends of each axis, the last axis first."""
        if self.padding == "valid":
            return [0, 0] * self.axes
        ends = []
        for axis in reversed(range(self.axes)):
            if self.padding == "same":
                total = self.dilation[axis] * (self.kernel_size[axis] - 1)
                ends += [total // 2, total - total // 2]
            else:
                ends += [self.padding[axis]] * 2
        return ends

    def forward(self, input: Tensor) -> Tensor:
        r"""Windows times weights."""
        convolve = getattr(functional, f"conv{self.axes}d")
        padding = self.padding
        if self.padding_mode != "zeros":
            input = functional.pad(input, self.around(), self.padding_mode)
            padding = 0
        return convolve(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )

    def extra_repr(self) -> str:
        r"""The sizes."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        text += f", stride={self.stride}"
        usual = (0,) * self.axes
        if self.padding != usual:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self.axes:
            text += f", dilation={self.dilation}"
        if self.output_padding != usual:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"


class Conv1d(_Convolution):
    r"""Convolution along one axis."""


class Conv2d(_Convolution):
    r"""Convolution along two axes."""

    axes = 2


class Conv3d(_Convolution):
    r"""Convolution along three axes."""

    axes = 3


class _TransposedConvolution(_Convolution):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
            output_padding,
        )

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        r"""Each number times the weights, added up where they overlap."""
        more = self.output_padding
        if output_size is not None:
            more = self.more_for(input, [*output_size][-self.axes :])
        convolve = getattr(functional, f"conv_transpose{self.axes}d")
        return convolve(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            more,
            self.groups,
            self.dilation,
        )

    def more_for(self, input: Tensor, wanted: list[int]) -> tuple[int, ...]:
        r"""How much has to be added at the ends for a wanted size."""
        more = []
        for axis, size in enumerate(input.shape[len(input.shape) - self.axes :]):
            reach = self.dilation[axis] * (self.kernel_size[axis] - 1) + 1
            least = (size - 1) * self.stride[axis] - 2 * self.padding[axis] + reach
            if not least <= wanted[axis] < least + self.stride[axis]:
                raise ValueError(
                    f"requested an output size of {wanted}, but valid sizes of axis {axis} range "
                    f"from {least} to {least + self.stride[axis] - 1}"
                )
            more.append(wanted[axis] - least)
        return tuple(more)


class ConvTranspose1d(_TransposedConvolution):
    r"""Convolution backwards along one axis."""


class ConvTranspose2d(_TransposedConvolution):
    r"""Convolution backwards along two axes."""

    axes = 2


class ConvTranspose3d(_TransposedConvolution):
    r"""Convolution backwards along three axes."""

    axes = 3


class MultiheadAttention(Module):
    r"""Attention with several heads."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.batch_first, self.head_dim = batch_first, embed_dim // num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.add_zero_attn = add_zero_attn
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim

        def weight(*shape: int) -> Parameter:
            return Parameter(empty(*shape, dtype=dtype, device=device))

        if self._qkv_same_embed_dim:
            self.in_proj_weight = weight(3 * embed_dim, embed_dim)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = weight(embed_dim, embed_dim)
            self.k_proj_weight = weight(embed_dim, self.kdim)
            self.v_proj_weight = weight(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", weight(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, dtype=dtype)
        self.bias_k = weight(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = weight(1, 1, embed_dim) if add_bias_kv else None
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            init.xavier_uniform_(self.q_proj_weight)
            init.xavier_uniform_(self.k_proj_weight)
            init.xavier_uniform_(self.v_proj_weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        r"""The result, and the weights if they are wanted."""
        turned = self.batch_first and len(query.shape) == 3
        if turned:
            query, key, value = (one.transpose(0, 1) for one in (query, key, value))
        out, weights = functional.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            not self._qkv_same_embed_dim,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return out.transpose(0, 1) if turned else out, weights


class NonDynamicallyQuantizableLinear(Linear):
    r"""What PyTorch calls the projection at the end of attention."""

r"""Layers with parameters."""

import math
from typing import Any

from torch._making import empty, ones, zeros
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

    def __init__(self, *args: Any, **options: Any) -> None:
        raise NotImplementedError(
            "nn.Bilinear is not in the browser's torch: use einsum with a Parameter."
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
        return functional.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        r"""The sizes."""
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


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
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True
    ) -> None:
        super().__init__()
        self.num_groups, self.eps = num_groups, eps
        if num_channels % num_groups:
            raise ValueError("num_channels must be divisible by num_groups")
        self.register_parameter("weight", Parameter(ones(num_channels)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(num_channels)) if affine else None)

    def forward(self, input: Tensor) -> Tensor:
        r"""In the same shape."""
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class _BatchNorm(Module):
    r"""Each channel of mean 0 and variance 1 over the batch."""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight, self.bias = Parameter(ones(num_features)), Parameter(zeros(num_features))
        self.register_buffer("running_mean", zeros(num_features))
        self.register_buffer("running_var", ones(num_features))

    def forward(self, input: Tensor) -> Tensor:
        r"""In the same shape."""
        return functional.batch_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training,
            self.momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    r"""Batch normalisation of rows."""


class BatchNorm2d(_BatchNorm):
    r"""Batch normalisation of images."""


class Dropout(Module):
    r"""While training, each element is 0 with a probability."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        r"""In the same shape."""
        return functional.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        r"""The probability."""
        return f"p={self.p}, inplace={self.inplace}"


class _Convolution(Module):
    axes = 1

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
    ) -> None:
        super().__init__()
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        sizes = (kernel_size,) * self.axes if isinstance(kernel_size, int) else tuple(kernel_size)
        self.weight = Parameter(empty(out_channels, in_channels // groups, *sizes))
        self.register_parameter("bias", Parameter(empty(out_channels)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        r"""Uniform numbers, smaller for more inputs."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(math.prod(self.weight.shape[1:]))
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        r"""Windows times weights."""
        convolve = functional.conv1d if self.axes == 1 else functional.conv2d
        return convolve(
            input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )


class Conv1d(_Convolution):
    r"""Convolution along one axis."""


class Conv2d(_Convolution):
    r"""Convolution along two axes."""

    axes = 2


class MultiheadAttention(Module):
    r"""Attention with several heads; queries, keys and values of one width."""

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
        if add_bias_kv or add_zero_attn or kdim not in (None, embed_dim):
            raise NotImplementedError(
                "nn.MultiheadAttention with add_bias_kv, add_zero_attn or kdim is not in the "
                "browser's torch: use it without them."
            )
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.batch_first, self.head_dim = batch_first, embed_dim // num_heads
        self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim, dtype=dtype))
        if bias:
            self.in_proj_bias = Parameter(empty(3 * embed_dim, dtype=dtype))
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias)
        init.xavier_uniform_(self.in_proj_weight)
        if bias:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)

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
        if is_causal and attn_mask is None:
            raise RuntimeError(
                "Need attn_mask if specifying the is_causal hint. You may use the Transformer "
                "module method `generate_square_subsequent_mask` to create this mask."
            )
        batched = len(query.shape) == 3
        if self.batch_first and batched:
            query, key, value = (one.transpose(0, 1) for one in (query, key, value))
        if not batched:
            query, key, value = (one.unsqueeze(1) for one in (query, key, value))
        if query.shape[-1] != self.embed_dim:
            raise AssertionError(
                f"was expecting embedding dimension of {self.embed_dim}, but got {query.shape[-1]}"
            )
        weights = self.in_proj_weight.chunk(3)
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        q, k, v = (
            functional.linear(one, weight, bias)
            .unflatten(-1, (self.num_heads, self.head_dim))
            .permute(1, 2, 0, 3)
            for one, weight, bias in zip((query, key, value), weights, biases, strict=True)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        if attn_mask is not None:
            if len(attn_mask.shape) == 3:
                attn_mask = attn_mask.unflatten(0, (-1, self.num_heads))
            elif tuple(attn_mask.shape) != tuple(scores.shape[-2:]):
                raise RuntimeError(
                    f"The shape of the 2D attn_mask is {attn_mask.shape}, but should be "
                    f"{tuple(scores.shape[-2:])}."
                )
            scores = _masked(scores, attn_mask)
        if key_padding_mask is not None:
            wide = key_padding_mask[:, None, None] if batched else key_padding_mask
            scores = _masked(scores, wide)
        attention = scores.softmax(-1)
        if not need_weights:
            blind = (scores.detach() == -math.inf).all(-1, keepdim=True)
            attention = attention.masked_fill(blind, 0)
        attention = functional.dropout(attention, self.dropout, self.training)
        out = self.out_proj((attention @ v).permute(2, 0, 1, 3).flatten(2))
        if not batched:
            out = out.squeeze(1)
        elif self.batch_first:
            out = out.transpose(0, 1)
        if not need_weights:
            return out, None
        shown = attention.mean(1) if average_attn_weights else attention
        return out, shown if batched else shown.squeeze(0)


def _masked(scores: Tensor, mask: Tensor) -> Tensor:
    r"""True hides, for a mask of bools; numbers are added."""
    if mask.dtype.name == "bool":
        return scores.masked_fill(mask, -math.inf)
    return scores + mask


class NonDynamicallyQuantizableLinear(Linear):
    r"""What PyTorch calls the projection at the end of attention."""


# Functions as modules
class _Function(Module):
    r"""A function of `functional`, with its arguments by name."""

    function = ""
    arguments: tuple[str, ...] = ()
    defaults: tuple[Any, ...] = ()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()
        given = dict(zip(self.arguments, self.defaults, strict=False))
        given |= dict(zip(self.arguments, args, strict=False))
        for name, value in options.items():
            if name not in self.arguments and name != "inplace":
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{name}'"
                )
            if name in self.arguments:
                given[name] = value
        for name, value in given.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_given", given)

    def forward(self, *inputs: Any) -> Any:
        r"""What the function gives."""
        return getattr(functional, self.function)(*inputs, **self._given)

    def extra_repr(self) -> str:
        r"""The arguments."""
        return ", ".join(f"{name}={value!r}" for name, value in self._given.items())


def _module(name: str, function: str, **arguments: Any) -> type[_Function]:
    body = {
        "function": function,
        "arguments": tuple(arguments),
        "defaults": tuple(arguments.values()),
        "__doc__": f"`functional.{function}` as a module.",
        "__module__": "torch.nn.modules",
    }
    return type(name, (_Function,), body)


ReLU, SiLU = _module("ReLU", "relu"), _module("SiLU", "silu")
GELU = _module("GELU", "gelu", approximate="none")
Tanh, Sigmoid = _module("Tanh", "tanh"), _module("Sigmoid", "sigmoid")
Softmax, LogSoftmax = (
    _module("Softmax", "softmax", dim=None),
    _module("LogSoftmax", "log_softmax", dim=None),
)
Softplus = _module("Softplus", "softplus", beta=1.0, threshold=20.0)
ELU = _module("ELU", "elu", alpha=1.0)
LeakyReLU = _module("LeakyReLU", "leaky_relu", negative_slope=0.01)
GLU = _module("GLU", "glu", dim=-1)
ReLU6, Mish = _module("ReLU6", "relu6"), _module("Mish", "mish")
Hardswish, Hardsigmoid = _module("Hardswish", "hardswish"), _module("Hardsigmoid", "hardsigmoid")
LogSigmoid, Softsign = _module("LogSigmoid", "logsigmoid"), _module("Softsign", "softsign")
CrossEntropyLoss = _module(
    "CrossEntropyLoss",
    "cross_entropy",
    weight=None,
    ignore_index=-100,
    reduction="mean",
    label_smoothing=0.0,
)
NLLLoss = _module("NLLLoss", "nll_loss", weight=None, ignore_index=-100, reduction="mean")
MSELoss, L1Loss = (
    _module("MSELoss", "mse_loss", reduction="mean"),
    _module("L1Loss", "l1_loss", reduction="mean"),
)
BCELoss = _module("BCELoss", "binary_cross_entropy", weight=None, reduction="mean")
BCEWithLogitsLoss = _module(
    "BCEWithLogitsLoss",
    "binary_cross_entropy_with_logits",
    weight=None,
    reduction="mean",
    pos_weight=None,
)
KLDivLoss = _module("KLDivLoss", "kl_div", reduction="mean", log_target=False)
SmoothL1Loss = _module("SmoothL1Loss", "smooth_l1_loss", reduction="mean", beta=1.0)
HuberLoss = _module("HuberLoss", "huber_loss", reduction="mean", delta=1.0)
CosineSimilarity = _module("CosineSimilarity", "cosine_similarity", dim=1, eps=1e-8)
MaxPool1d = _module("MaxPool1d", "max_pool1d", kernel_size=2, stride=None, padding=0)
MaxPool2d = _module("MaxPool2d", "max_pool2d", kernel_size=2, stride=None, padding=0)
AvgPool1d = _module("AvgPool1d", "avg_pool1d", kernel_size=2, stride=None, padding=0)
AvgPool2d = _module("AvgPool2d", "avg_pool2d", kernel_size=2, stride=None, padding=0)


class Flatten(Module):
    r"""Several axes as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        r"""With fewer axes."""
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    r"""One axis as several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        r"""With more axes."""
        return input.unflatten(self.dim, self.unflattened_size)

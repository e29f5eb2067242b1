r"""Functions of `functional` as modules: their arguments are kept, and nothing is learned."""

from typing import Any

from torch._tensor import Tensor
from torch.nn import functional
from torch.nn.module import Module

# An argument without which there is no module; and tensors that go with the module.
NEEDED, BUFFERS = object(), ("weight", "pos_weight")
INPLACE = {"inplace": False}
LOSS = {"size_average": None, "reduce": None, "reduction": "mean"}


class _Function(Module):
    r"""A function of `functional`, with its arguments by name."""

    function = ""
    arguments: dict[str, Any] = {}
    shown: tuple[str, ...] = ()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()
        names = [*self.arguments]
        kind = type(self).__name__
        if len(args) > len(names):
            raise TypeError(
                f"{kind}.__init__() takes at most {len(names) + 1} positional arguments but "
                f"{len(args) + 1} were given"
            )
        given = dict(zip(names, args, strict=False)) | options
        for name in given:
            if name not in names:
                raise TypeError(f"{kind}.__init__() got an unexpected keyword argument '{name}'")
        for name, value in (self.arguments | given).items():
            if value is NEEDED:
                raise TypeError(
                    f"{kind}.__init__() missing 1 required positional argument: '{name}'"
                )
            if name in BUFFERS:
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)
        self.check()

    def check(self) -> None:
        r"""An error if the arguments make no sense."""

    def forward(self, *inputs: Any, **options: Any) -> Any:
        r"""What the function gives."""
        kept = {name: getattr(self, name) for name in self.arguments}
        return getattr(functional, self.function)(*inputs, **kept, **options)

    def extra_repr(self) -> str:
        r"""The arguments that PyTorch prints."""
        parts = []
        for name in self.shown:
            value = getattr(self, name)
            if name == "inplace":
                parts += ["inplace=True"] if value else []
            else:
                parts.append(f"{name}={value!r}" if self.named(name) else f"{value!r}")
        return ", ".join(parts)

    def named(self, name: str) -> bool:
        r"""Whether an argument is printed with its name."""
        return True


def _module(
    name: str, function: str, shown: str | None = None, base: type = _Function, **arguments: Any
) -> Any:
    r"""A class; of its arguments those of `shown` are printed, usually all."""
    if shown is None:
        shown = " ".join(one for one in arguments if one not in LOSS)
    body = {
        "function": function,
        "arguments": arguments,
        "shown": tuple(shown.split()),
        "__doc__": f"`functional.{function}` as a module.",
        "__module__": "torch.nn.modules",
    }
    return type(name, (base,), body)


# Nonlinearities
ReLU = _module("ReLU", "relu", **INPLACE)
SiLU = _module("SiLU", "silu", **INPLACE)
ReLU6 = _module("ReLU6", "relu6", **INPLACE)
Mish = _module("Mish", "mish", **INPLACE)
Hardswish = _module("Hardswish", "hardswish", "", **INPLACE)
Hardsigmoid = _module("Hardsigmoid", "hardsigmoid", "", **INPLACE)
SELU = _module("SELU", "selu", **INPLACE)
ELU = _module("ELU", "elu", alpha=1.0, **INPLACE)
CELU = _module("CELU", "celu", alpha=1.0, **INPLACE)
LeakyReLU = _module("LeakyReLU", "leaky_relu", negative_slope=0.01, **INPLACE)
Hardtanh = _module("Hardtanh", "hardtanh", min_val=-1.0, max_val=1.0, **INPLACE)
GELU = _module("GELU", "gelu", approximate="none")
GLU = _module("GLU", "glu", dim=-1)
Tanh = _module("Tanh", "tanh")
Sigmoid = _module("Sigmoid", "sigmoid")
Tanhshrink = _module("Tanhshrink", "tanhshrink")
Softsign = _module("Softsign", "softsign")
LogSigmoid = _module("LogSigmoid", "logsigmoid")
Softplus = _module("Softplus", "softplus", beta=1.0, threshold=20.0)


class _Plain(_Function):
    r"""A module whose arguments are printed without their names."""

    def named(self, name: str) -> bool:
        r"""None is."""
        return False


Softshrink = _module("Softshrink", "softshrink", base=_Plain, lambd=0.5)
Hardshrink = _module("Hardshrink", "hardshrink", base=_Plain, lambd=0.5)


class Threshold(_module("Threshold", "threshold", threshold=NEEDED, value=NEEDED, **INPLACE)):
    r"""A value in place of the numbers up to a threshold."""


class RReLU(_module("RReLU", "rrelu", lower=1.0 / 8, upper=1.0 / 3, **INPLACE)):
    r"""Negative numbers are made small, by random numbers while training."""

    def forward(self, input: Tensor) -> Tensor:
        r"""In the same shape."""
        return super().forward(input, training=self.training)


# Of which axis?
Softmax, LogSoftmax, Softmin = (
    _module(name, function, dim=None)
    for name, function in (
        ("Softmax", "softmax"),
        ("LogSoftmax", "log_softmax"),
        ("Softmin", "softmin"),
    )
)


class Softmax2d(Module):
    r"""Softmax over the channels of images."""

    def forward(self, input: Tensor) -> Tensor:
        r"""In the same shape."""
        if len(input.shape) not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {len(input.shape)}D instead"
            )
        return functional.softmax(input, -3)


# Losses
CrossEntropyLoss = _module(
    "CrossEntropyLoss",
    "cross_entropy",
    "",
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
)
NLLLoss = _module(
    "NLLLoss",
    "nll_loss",
    "",
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
)
MSELoss = _module("MSELoss", "mse_loss", **LOSS)
L1Loss = _module("L1Loss", "l1_loss", **LOSS)
BCELoss = _module("BCELoss", "binary_cross_entropy", "", weight=None, **LOSS)
BCEWithLogitsLoss = _module(
    "BCEWithLogitsLoss",
    "binary_cross_entropy_with_logits",
    "",
    weight=None,
    **LOSS,
    pos_weight=None,
)
KLDivLoss = _module("KLDivLoss", "kl_div", "", **LOSS, log_target=False)
SmoothL1Loss = _module("SmoothL1Loss", "smooth_l1_loss", "", **LOSS, beta=1.0)
HuberLoss = _module("HuberLoss", "huber_loss", "", reduction="mean", delta=1.0)
PoissonNLLLoss = _module(
    "PoissonNLLLoss",
    "poisson_nll_loss",
    "",
    log_input=True,
    full=False,
    size_average=None,
    eps=1e-8,
    reduce=None,
    reduction="mean",
)
GaussianNLLLoss = _module(
    "GaussianNLLLoss", "gaussian_nll_loss", "", full=False, eps=1e-6, reduction="mean"
)
SoftMarginLoss = _module("SoftMarginLoss", "soft_margin_loss", **LOSS)
HingeEmbeddingLoss = _module("HingeEmbeddingLoss", "hinge_embedding_loss", "", margin=1.0, **LOSS)
MarginRankingLoss = _module("MarginRankingLoss", "margin_ranking_loss", "", margin=0.0, **LOSS)
CosineEmbeddingLoss = _module(
    "CosineEmbeddingLoss", "cosine_embedding_loss", "", margin=0.0, **LOSS
)
MultiMarginLoss = _module(
    "MultiMarginLoss", "multi_margin_loss", "", p=1, margin=1.0, weight=None, **LOSS
)
MultiLabelMarginLoss = _module("MultiLabelMarginLoss", "multilabel_margin_loss", **LOSS)
MultiLabelSoftMarginLoss = _module(
    "MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", "", weight=None, **LOSS
)
TripletMarginLoss = _module(
    "TripletMarginLoss",
    "triplet_margin_loss",
    "",
    margin=1.0,
    p=2.0,
    eps=1e-6,
    swap=False,
    **LOSS,
)
TripletMarginWithDistanceLoss = _module(
    "TripletMarginWithDistanceLoss",
    "triplet_margin_with_distance_loss",
    "",
    distance_function=None,
    margin=1.0,
    swap=False,
    reduction="mean",
)
CTCLoss = _module("CTCLoss", "ctc_loss", "", blank=0, reduction="mean", zero_infinity=False)
CosineSimilarity = _module("CosineSimilarity", "cosine_similarity", "", dim=1, eps=1e-8)
PairwiseDistance = _module(
    "PairwiseDistance", "pairwise_distance", "", p=2.0, eps=1e-6, keepdim=False
)


# Windows
class _Windows(_Function):
    r"""Windows that lie side by side, unless a stride is given."""

    def check(self) -> None:
        r"""The stride is the size of a window, if there is none."""
        if self.stride is None:
            self.stride = self.kernel_size


def _of_axes(axes: int, value: Any) -> tuple[int, ...]:
    return (value,) * axes if isinstance(value, int) else tuple(value)


MaxPool1d, MaxPool2d, MaxPool3d = (
    _module(
        f"MaxPool{axes}d",
        f"max_pool{axes}d",
        "kernel_size stride padding dilation ceil_mode",
        _Windows,
        kernel_size=NEEDED,
        stride=None,
        padding=0,
        dilation=1,
        return_indices=False,
        ceil_mode=False,
    )
    for axes in (1, 2, 3)
)


class AvgPool1d(
    _module(
        "AvgPool1d",
        "avg_pool1d",
        "kernel_size stride padding",
        _Windows,
        kernel_size=NEEDED,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
    )
):
    r"""The mean of each window."""

    def check(self) -> None:
        r"""The sizes become tuples."""
        super().check()
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, _of_axes(1, getattr(self, name)))


AvgPool2d, AvgPool3d = (
    _module(
        f"AvgPool{axes}d",
        f"avg_pool{axes}d",
        "kernel_size stride padding",
        _Windows,
        kernel_size=NEEDED,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
    )
    for axes in (2, 3)
)
LPPool1d, LPPool2d, LPPool3d = (
    _module(
        f"LPPool{axes}d",
        f"lp_pool{axes}d",
        "norm_type kernel_size stride ceil_mode",
        norm_type=NEEDED,
        kernel_size=NEEDED,
        stride=None,
        ceil_mode=False,
    )
    for axes in (1, 2, 3)
)
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = (
    _module(f"AdaptiveAvgPool{axes}d", f"adaptive_avg_pool{axes}d", output_size=NEEDED)
    for axes in (1, 2, 3)
)
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = (
    _module(
        f"AdaptiveMaxPool{axes}d",
        f"adaptive_max_pool{axes}d",
        "output_size",
        output_size=NEEDED,
        return_indices=False,
    )
    for axes in (1, 2, 3)
)
FractionalMaxPool2d, FractionalMaxPool3d = (
    _module(
        f"FractionalMaxPool{axes}d",
        f"fractional_max_pool{axes}d",
        "",
        kernel_size=NEEDED,
        output_size=None,
        output_ratio=None,
        return_indices=False,
        _random_samples=None,
    )
    for axes in (2, 3)
)


class _Unpool(_Windows):
    r"""The largest numbers at the places where a pooling found them."""

    def check(self) -> None:
        r"""The sizes become tuples."""
        super().check()
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, _of_axes(int(self.function[-2]), getattr(self, name)))

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        r"""With zeros around them."""
        return super().forward(input, indices, output_size=output_size)


MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = (
    _module(
        f"MaxUnpool{axes}d",
        f"max_unpool{axes}d",
        base=_Unpool,
        kernel_size=NEEDED,
        stride=None,
        padding=0,
    )
    for axes in (1, 2, 3)
)
_COLUMNS = {"kernel_size": NEEDED, "dilation": 1, "padding": 0, "stride": 1}
Unfold = _module("Unfold", "unfold", **_COLUMNS)
Fold = _module("Fold", "fold", output_size=NEEDED, **_COLUMNS)


class LocalResponseNorm(
    _module("LocalResponseNorm", "local_response_norm", size=NEEDED, alpha=0.0001, beta=0.75, k=1.0)
):
    r"""Each number divided by the size of its neighbours in the channels beside it."""

    def named(self, name: str) -> bool:
        r"""The size isn't."""
        return name != "size"


# Padding
class _Pad(_Function):
    r"""More at the ends of the last axes."""

    mode = "constant"
    axes = 1

    def check(self) -> None:
        r"""One number for each end."""
        self.padding = _of_axes(2 * self.axes, self.padding)

    def forward(self, input: Tensor) -> Tensor:
        r"""With more places."""
        return functional.pad(input, self.padding, self.mode, getattr(self, "value", None))

    def named(self, name: str) -> bool:
        r"""Only where there are two."""
        return len(self.shown) > 1


def _pads(name: str, mode: str, **more: Any) -> tuple[Any, ...]:
    found = []
    for axes in (1, 2, 3):
        base = type("_Pad", (_Pad,), {"mode": mode, "axes": axes})
        found.append(_module(f"{name}{axes}d", "pad", base=base, padding=NEEDED, **more))
    return tuple(found)


ConstantPad1d, ConstantPad2d, ConstantPad3d = _pads("ConstantPad", "constant", value=NEEDED)
ZeroPad1d, ZeroPad2d, ZeroPad3d = _pads("ZeroPad", "constant")
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = _pads("ReflectionPad", "reflect")
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = _pads("ReplicationPad", "replicate")
CircularPad1d, CircularPad2d, CircularPad3d = _pads("CircularPad", "circular")


# Images
class Upsample(Module):
    r"""More or fewer places along the last axes."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.mode = mode
        self.align_corners = align_corners
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(one) for one in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        r"""In another size."""
        return functional.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        r"""The size or the factor, and how."""
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    r"""More places, each with the value of the nearest."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    r"""More places, with values between those at the corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


PixelShuffle = _module("PixelShuffle", "pixel_shuffle", upscale_factor=NEEDED)
PixelUnshuffle = _module("PixelUnshuffle", "pixel_unshuffle", downscale_factor=NEEDED)
ChannelShuffle = _module("ChannelShuffle", "channel_shuffle", groups=NEEDED)


# Dropout
class _Dropout(_Function):
    r"""While training, something is 0 with a probability."""

    def check(self) -> None:
        r"""A probability is between 0 and 1."""
        if self.p < 0 or self.p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")

    def forward(self, input: Tensor) -> Tensor:
        r"""In the same shape."""
        return super().forward(input, training=self.training)

    def extra_repr(self) -> str:
        r"""The probability."""
        return f"p={self.p}, inplace={self.inplace}"


Dropout, Dropout1d, Dropout2d, Dropout3d, AlphaDropout, FeatureAlphaDropout = (
    _module(name, function, base=_Dropout, p=0.5, inplace=False)
    for name, function in (
        ("Dropout", "dropout"),
        ("Dropout1d", "dropout1d"),
        ("Dropout2d", "dropout2d"),
        ("Dropout3d", "dropout3d"),
        ("AlphaDropout", "alpha_dropout"),
        ("FeatureAlphaDropout", "feature_alpha_dropout"),
    )
)


class Flatten(Module):
    r"""Several axes as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        r"""With fewer axes."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        r"""From which axis to which."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    r"""One axis as several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        r"""With more axes."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        r"""Which axis, and its sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"

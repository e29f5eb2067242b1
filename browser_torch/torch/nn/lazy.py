r"""Layers that learn the number of their inputs from the first input."""

from typing import Any

from torch._tensor import Tensor, share_memory
from torch.nn import layers
from torch.nn.module import Module
from torch.nn.parameter import Buffer, Parameter

_NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
    "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
    "Call `forward` to initialize the parameters before accessing their attributes."
)


class _Uninitialized:
    r"""What has a type and no shape yet."""

    _becomes: type = Tensor

    @property
    def shape(self) -> Any:
        r"""An error: nobody knows it yet."""
        raise RuntimeError(_NO_SHAPE)

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        r"""Gets memory for a shape, and is what it stands for from now on."""
        from torch._making import empty

        self.__class__ = self._becomes
        share_memory(self, empty(*shape, dtype=dtype or self.dtype))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):
    r"""A parameter whose shape nobody knows yet."""

    _becomes = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        r"""Has no memory."""
        from torch._dtypes import Default

        made = Tensor.__new__(cls)
        made.requires_grad = requires_grad
        made.dtype = dtype or Default.dtype
        return made


class UninitializedBuffer(_Uninitialized, Buffer):
    r"""A buffer whose shape nobody knows yet."""

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None) -> Any:
        r"""Has no memory."""
        made = UninitializedParameter(requires_grad, device, dtype)
        made.__class__ = cls
        made.persistent = True
        return made


class LazyModuleMixin:
    r"""Before the first input, a layer has no sizes; from then on it is an ordinary one."""

    cls_to_become: Any = None
    # The size that the first input tells; until then it is 0.
    size_of_input = ""

    def has_uninitialized_params(self) -> bool:
        r"""Whether the first input is still to come."""
        own = [*self._parameters.values(), *self._buffers.values()]
        return any(isinstance(one, _Uninitialized) for one in own)

    def reset_parameters(self) -> None:
        r"""Weights are drawn once they have a shape."""
        if getattr(self, self.size_of_input) and not self.has_uninitialized_params():
            super().reset_parameters()

    def __call__(self, *args: Any, **options: Any) -> Any:
        if self.has_uninitialized_params():
            self.initialize_parameters(*args, **options)
        self.__class__ = self.cls_to_become
        return self(*args, **options)


def _materialize(module: Module, shapes: dict[str, Any]) -> None:
    r"""Gives parameters and buffers their shapes, and their first numbers."""
    for name, shape in shapes.items():
        one = getattr(module, name)
        if one is not None:
            one.materialize(shape)
    module.reset_parameters()


class LazyLinear(LazyModuleMixin, layers.Linear):
    r"""A linear layer that learns `in_features` from its input."""

    cls_to_become = layers.Linear
    size_of_input = "in_features"

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, False, device, dtype)
        self.weight = UninitializedParameter(dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(dtype=dtype)

    def initialize_parameters(self, input: Tensor) -> None:
        r"""Takes the length of the last axis."""
        self.in_features = input.shape[-1]
        shapes = {"weight": (self.out_features, self.in_features), "bias": (self.out_features,)}
        _materialize(self, shapes)


class _LazyConvolution(LazyModuleMixin):
    size_of_input = "in_channels"

    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        *args: Any,
        bias: bool = True,
        dtype: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, *args, bias=False, dtype=dtype, **options
        )
        self.weight = UninitializedParameter(dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(dtype=dtype)

    def initialize_parameters(self, input: Tensor, *args: Any, **options: Any) -> None:
        r"""Takes the number of channels, which stands before the axes of the image."""
        self.in_channels = input.shape[-self.axes - 1]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        sizes = (self.out_channels, self.in_channels // self.groups)
        if self.transposed:
            sizes = (self.in_channels, self.out_channels // self.groups)
        shapes = {"weight": (*sizes, *self.kernel_size), "bias": (self.out_channels,)}
        _materialize(self, shapes)


class _LazyNorm(LazyModuleMixin):
    size_of_input = "num_features"

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool | None = None,
        track_running_stats: bool | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        affine = self.affine_as_usual if affine is None else affine
        tracks = self.tracks_as_usual if track_running_stats is None else track_running_stats
        super().__init__(0, eps, momentum, False, False, dtype=dtype)
        self.affine = affine
        self.track_running_stats = tracks
        if affine:
            self.weight = UninitializedParameter(dtype=dtype)
            self.bias = UninitializedParameter(dtype=dtype)
        if tracks:
            from torch._making import tensor

            self.running_mean = UninitializedBuffer(dtype=dtype)
            self.running_var = UninitializedBuffer(dtype=dtype)
            self.num_batches_tracked = tensor(0)

    def initialize_parameters(self, input: Tensor) -> None:
        r"""Takes the number of channels."""
        self.num_features = input.shape[1]
        names = ("weight", "bias", "running_mean", "running_var")
        _materialize(self, dict.fromkeys(names, (self.num_features,)))


def _lazy(kind: type, base: type) -> type:
    r"""The lazy form of a layer."""
    name = f"Lazy{base.__name__}"
    body = {"cls_to_become": base, "__doc__": f"`{base.__name__}` for the first input's channels."}
    return type(name, (kind, base), body | {"__module__": __name__})


LazyConv1d = _lazy(_LazyConvolution, layers.Conv1d)
LazyConv2d = _lazy(_LazyConvolution, layers.Conv2d)
LazyConv3d = _lazy(_LazyConvolution, layers.Conv3d)
LazyConvTranspose1d = _lazy(_LazyConvolution, layers.ConvTranspose1d)
LazyConvTranspose2d = _lazy(_LazyConvolution, layers.ConvTranspose2d)
LazyConvTranspose3d = _lazy(_LazyConvolution, layers.ConvTranspose3d)
LazyBatchNorm1d = _lazy(_LazyNorm, layers.BatchNorm1d)
LazyBatchNorm2d = _lazy(_LazyNorm, layers.BatchNorm2d)
LazyBatchNorm3d = _lazy(_LazyNorm, layers.BatchNorm3d)
LazyInstanceNorm1d = _lazy(_LazyNorm, layers.InstanceNorm1d)
LazyInstanceNorm2d = _lazy(_LazyNorm, layers.InstanceNorm2d)
LazyInstanceNorm3d = _lazy(_LazyNorm, layers.InstanceNorm3d)

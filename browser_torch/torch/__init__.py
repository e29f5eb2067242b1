r"""A stand-in for the part of PyTorch that the lessons use, and what a reader will type next.

It runs in the reader's browser, where there is Python and no PyTorch. Results, random numbers and
errors are PyTorch's; the tests compare them. What it lacks says so, and names what can be used.
"""

import builtins
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any, NoReturn

from torch import (
    _arranging,
    _asking,
    _differences,
    _elementwise,
    _formulas,
    _gamma,
    _indexing,
    _joining,
    _making,
    _matrices,
    _pairs,
    _products,
    _random,
    _reductions,
    _scattering,
    _sorting,
    _statistics,
    _views,
)
from torch._absent import INSTEAD, absent
from torch._autocast import Precision
from torch._dtypes import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    device,
    dtype,
    e,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    inf,
    int8,
    int16,
    int32,
    int64,
    nan,
    pi,
    promote_types,
    set_default_dtype,
    uint8,
)
from torch._out import with_out
from torch._raw import result_type
from torch._shapes import Size
from torch._tape import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from torch._tensor import Tensor
from torch._words import with_axis

from torch import _values, _in_place  # isort: skip
from torch._printing import set_printoptions

from torch import _foreach  # isort: skip
from torch._random import Generator, default_generator

_values, _in_place = _values, _in_place

# Functions, and methods that are functions, too
_OF_MODULES = (
    _making,
    _elementwise,
    _gamma,
    _reductions,
    _views,
    _joining,
    _indexing,
    _sorting,
    _products,
    _random,
    _formulas,
    _pairs,
    _differences,
    _statistics,
    _matrices,
    _arranging,
    _scattering,
    _asking,
)
_NOT_HERE = {
    "trigamma",
    "in_words_of_numpy",
    "annotations",
    "method",
    "new",
    "record",
    "record_view",
    "cast",
    "gelu",
    "linear",
    "need_tensor",
    "powers",
    "to_operand",
}


def _functions() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for module in _OF_MODULES:
        for name, value in vars(module).items():
            own = getattr(value, "__module__", "") == module.__name__
            if callable(value) and own and not name.startswith("_") and name not in _NOT_HERE:
                found[name] = value
    return found


_own = set(globals())
for _name, _function in _functions().items():
    if _name not in _own:
        _writes = _function.__module__ not in ("torch._making", "torch._views")
        _made = with_out(_function) if _writes or _name == "arange" else _function
        globals()[_name] = with_axis(_name, _made)
globals().update(_foreach.FUNCTIONS)


def _from_method(name: str) -> Callable[..., Any]:
    def function(input: Tensor, *args: Any, **options: Any) -> Any:
        if not isinstance(input, Tensor):
            raise TypeError(
                f"{name}(): argument 'input' (position 1) must be Tensor, not "
                f"{type(input).__name__}"
            )
        return getattr(input, name)(*args, **options)

    function.__name__ = name
    return function


for _name in (
    "acos_ asin_ ceil_ clamp_ cos_ exp2_ expm1_ fill_ floor_ log_ log1p_ log2_ reciprocal_ "
    "round_ rsqrt_ sigmoid_ sin_ sqrt_ square_ tan_ tanh_ trunc_ abs_ add_ sub_ mul_ div_ relu_ "
    "exp_ numel clone is_complex is_floating_point detach neg_ zero_ acosh_ addmv_ arccos_ "
    "arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asinh_ atan_ atanh_ clamp_max_ "
    "clamp_min_ clip_ cosh_ deg2rad_ erf_ erfc_ fix_ frac_ gcd_ index_put_ lcm_ ldexp_ log10_ "
    "logit_ nan_to_num_ negative_ rad2deg_ resize_as_ sinc_ sinh_ xlogy_ "
).split():
    if hasattr(Tensor, _name) and _name not in globals():
        globals()[_name] = _from_method(_name)

# Names that hide those of Python come last.
float, double, half, long, int, short, bool = float32, float64, float16, int64, int32, int16, bool_
cfloat, cdouble = complex64, complex128
newaxis = None
strided, contiguous_format, preserve_format, channels_last = "torch.strided", 0, 1, 2

__version__ = "2.13.0+browser"
version = SimpleNamespace(__version__=__version__, cuda=None, hip=None, git_version="", debug=False)


def is_tensor(obj: Any) -> Any:
    r"""Whether it is a tensor."""
    return isinstance(obj, Tensor)


def can_cast(from_: dtype, to: dtype) -> Any:
    r"""Whether one type may become the other."""
    return from_.kind <= to.kind


def _typed(d: dtype) -> Callable[..., Tensor]:
    def make(*data: Any) -> Tensor:
        if len(data) == 1 and not isinstance(data[0], builtins.int):
            return _making.tensor(data[0], dtype=d)
        return _making.zeros(*data, dtype=d)

    make.dtype = d  # type: ignore[attr-defined]
    return make


FloatTensor, DoubleTensor, LongTensor = _typed(float32), _typed(float64), _typed(int64)
BoolTensor, IntTensor = _typed(bool_), _typed(int32)
ByteTensor, CharTensor, ShortTensor = _typed(uint8), _typed(int8), _typed(int16)
HalfTensor, BFloat16Tensor = _typed(float16), _typed(bfloat16)


def _check(cond: Any, message: Any = None) -> None:
    r"""Raises RuntimeError unless something holds."""
    if not cond:
        said = "Expected cond to be True, but got False"
        raise RuntimeError(said if message is None else builtins.str(message()))


def set_default_device(device: Any) -> None:
    r"""There is the CPU alone."""
    _making.check_device(device)


def get_default_device() -> Any:
    r"""The CPU."""
    return device("cpu")


def set_num_threads(count: Any) -> None:
    r"""There is one thread here."""


set_num_interop_threads = set_num_threads


def get_num_threads() -> Any:
    r"""One."""
    return 1


get_num_interop_threads = get_num_threads


def set_float32_matmul_precision(precision: str) -> None:
    r"""Single precision is single precision here."""


def get_float32_matmul_precision() -> Any:
    r"""Single precision is single precision here."""
    return "highest"


def is_autocast_enabled(device_type: str = "cpu") -> Any:
    r"""Whether matrix products have factors of 16 bits at present."""
    return Precision.dtype is not None


def use_deterministic_algorithms(mode: Any, *, warn_only: Any = False) -> None:
    r"""Everything is deterministic here."""


def compile(model: Any = None, **options: Any) -> Any:
    r"""Nothing is compiled here: the function itself."""
    return model if model is not None else lambda function: function


from torch import (
    amp,
    autograd,
    backends,
    cpu,
    cuda,
    distributed,
    linalg,
    nn,
    optim,
    random,
    testing,
    utils,
)
from torch.amp import GradScaler, autocast
from torch.linalg import cholesky, cholesky_inverse
from torch.nn import _of_torch
from torch.serialization import load, save

globals().update(_of_torch.FUNCTIONS)
inverse, det, svd = linalg.inv, linalg.det, linalg.svd_of_torch
slogdet, logdet, matrix_exp = linalg.slogdet, linalg.logdet_of_torch, linalg.matrix_exp

# What is seldom used is read when somebody asks for it.
_LATER = ("accelerator", "compiler", "distributions", "func", "jit", "profiler")
_absent = absent("module 'torch'", lambda: list(globals()), INSTEAD)


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return import_module(f"torch.{name}")
    if name == "vmap":
        return import_module("torch.func").vmap
    return _absent(name)


_missing = absent("'Tensor' object", lambda: dir(Tensor), INSTEAD)


def _missing_method(self: Tensor, name: str) -> NoReturn:
    _missing(name)


Tensor.__getattr__ = _missing_method

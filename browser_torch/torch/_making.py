r"""New tensors: from numbers of Python, full of one number, or in a pattern."""

import builtins
import math
from array import array
from collections.abc import Callable
from typing import Any

from torch._dtypes import (
    COMPLEX,
    FLOATING,
    INTEGRAL,
    Default,
    bool_,
    default_of_kind,
    device,
    dtype,
    float32,
    float64,
    int64,
    kind_of_number,
)
from torch._memory import Operation, bits, run
from torch._raw import cast, fill, filled, numbers
from torch._shapes import as_int, shape_of_arguments, strides_of_result
from torch._tape import require_differentiable
from torch._tensor import Tensor, alias_of, method, new, view_of


def check_device(place: Any) -> None:
    r"""Only the CPU is here; another device is an error."""
    if place is not None and not isinstance(place, device):
        device(place)


def with_grad(tensor: Tensor, requires_grad: bool) -> Tensor:
    r"""Marks a new tensor as one that wants a gradient."""
    if requires_grad:
        require_differentiable(tensor)
        tensor.requires_grad = True
    return tensor


def _flatten(data: Any, shape: list[int], depth: int, flat: list[Any]) -> None:
    r"""Nested sequences as one list of numbers; their lengths are the shape."""
    if isinstance(data, Tensor):
        if data.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        data = data.item() if len(shape) == depth or not data.shape else data.tolist()
    if isinstance(data, (list, tuple, range)):
        if len(shape) == depth:
            if flat:
                raise TypeError("not a sequence")
            shape.append(len(data))
        elif shape[depth] != len(data):
            raise ValueError(
                f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})"
            )
        for one in data:
            _flatten(one, shape, depth + 1, flat)
        return
    if len(shape) > depth:
        raise TypeError(f"expected a sequence, and got {type(data).__name__}")
    flat.append(data)


def _kind(flat: list[Any]) -> int:
    kinds = set()
    for one in flat:
        if not isinstance(one, (bool, int, float, builtins.complex)):
            if not hasattr(one, "__float__") or isinstance(one, str):
                if isinstance(one, str):
                    raise TypeError(f"new(): invalid data type '{type(one).__name__}'")
                raise RuntimeError(f"Could not infer dtype of {type(one).__name__}")
        kinds.add(kind_of_number(one))
    return max(kinds, default=FLOATING)


def tensor(
    data: Any,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    r"""A new tensor of these numbers."""
    check_device(device)
    if isinstance(data, Tensor):
        made = alias_of(data)
        made = cast(made, dtype) if dtype and dtype is not made.dtype else made.clone()
        return with_grad(made, requires_grad)
    if isinstance(data, (bytes, bytearray)):
        data = list(data)
    if hasattr(data, "__array_interface__"):
        data = data.tolist()
    shape: list[int] = []
    flat: list[Any] = []
    _flatten(data, shape, 0, flat)
    kind = _kind(flat)
    own = default_of_kind(kind)
    if dtype is not None and (dtype.kind == FLOATING or kind < FLOATING):
        # Numbers go into the wanted type directly: a large integer keeps all its digits.
        own = dtype if dtype.work is dtype else dtype.work
    made = new(tuple(shape), own)
    _write(made, flat)
    if dtype is not None:
        made = cast(made, dtype)
    return with_grad(made, requires_grad)


def _write(target: Tensor, flat: list[Any]) -> None:
    d = target.dtype
    if d.kind == COMPLEX:
        values = [
            part
            for one in flat
            for part in (builtins.complex(one).real, builtins.complex(one).imag)
        ]
    elif d is bool_:
        values = [int(bool(one)) for one in flat]
    else:
        values = [float(one) if d.kind == FLOATING else int(one) for one in flat]
    format = "B" if d is bool_ else d.format
    try:
        raw = memoryview(array(format, values)).cast("B")
    except OverflowError:
        raise RuntimeError(f"value cannot be converted to type {d.name} without overflow") from None
    target._storage.bytes()[: len(raw)] = raw


def as_tensor(data: Any, dtype: dtype | None = None, device: Any = None) -> Tensor:
    r"""A tensor of these numbers; the same one if it is a tensor of this type already."""
    check_device(device)
    if isinstance(data, Tensor):
        return data.to(dtype) if dtype else data
    return tensor(data, dtype=dtype)


asarray = as_tensor


def from_numpy(data: Any) -> Tensor:
    r"""A tensor of the numbers of an array."""
    return tensor(data)


def frombuffer(
    buffer: Any, *, dtype: dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    r"""Bytes as numbers. They are copied: PyTorch would share the memory."""
    raw = memoryview(buffer).cast("B")[offset:]
    if len(raw) == 0:
        raise ValueError("both buffer length (0) and count (-1) must not be 0")
    if count < 0:
        if len(raw) % dtype.itemsize:
            raise ValueError(
                f"buffer length ({len(raw)} bytes) after offset ({offset} bytes) must be a "
                f"multiple of element size ({dtype.itemsize})"
            )
        count = len(raw) // dtype.itemsize
    if count * dtype.itemsize > len(raw):
        raise ValueError(
            f"requested buffer length ({count} * {dtype.itemsize} bytes) after offset ({offset} "
            f"bytes) must not be greater than actual buffer length ({len(buffer)} bytes)"
        )
    made = new((count,), dtype)
    made._storage.bytes()[:] = raw[: count * dtype.itemsize]
    return with_grad(made, requires_grad)


def from_file(
    filename: str, shared: bool = False, size: int = 0, *, dtype: dtype | None = None
) -> Tensor:
    r"""The numbers of a file. They are read: PyTorch would map the file into memory."""
    d = dtype or Default.dtype
    with open(filename, "rb") as file:
        return frombuffer(file.read(size * d.itemsize), dtype=d)


def _maker(name: str, value: int) -> Callable[..., Tensor]:
    def make(
        *size: Any,
        dtype: dtype | None = None,
        device: Any = None,
        requires_grad: bool = False,
        layout: Any = None,
        memory_format: Any = None,
        pin_memory: bool = False,
        out: None = None,
        **named: Any,
    ) -> Tensor:
        check_device(device)
        if "size" in named and not size:
            size = (named.pop("size"),)
        if named or not size and name != "empty":
            raise TypeError(f"{name}() received an invalid combination of arguments")
        made = filled(shape_of_arguments(size), value, dtype or Default.dtype)
        return with_grad(made, requires_grad)

    make.__name__ = name
    return make


# What PyTorch leaves as it was in memory is 0 here.
zeros, ones, empty = _maker("zeros", 0), _maker("ones", 1), _maker("empty", 0)


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    r"""A tensor full of one number."""
    check_device(device)
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    shape = shape_of_arguments((size,) if isinstance(size, (tuple, list)) else (tuple(size),))
    d = dtype or default_of_kind(kind_of_number(fill_value))
    return with_grad(filled(shape, fill_value, d), requires_grad)


def _like(source: Tensor, value: Any, d: dtype | None) -> Tensor:
    r"""A new tensor of the shape of another, with its order of axes in memory."""
    strides = strides_of_result(source.shape, source._strides)
    made = new(source.shape, d or source.dtype, strides)
    if value != 0:
        fill(made, value)
    return made


def _maker_like(name: str, value: int) -> Callable[..., Tensor]:
    def make(
        input: Tensor,
        *,
        dtype: dtype | None = None,
        device: Any = None,
        requires_grad: bool = False,
        memory_format: Any = None,
        layout: Any = None,
    ) -> Tensor:
        if not isinstance(input, Tensor):
            raise TypeError(
                f"{name}(): argument 'input' (position 1) must be Tensor, not "
                f"{type(input).__name__}"
            )
        check_device(device)
        return with_grad(_like(input, value, dtype), requires_grad)

    make.__name__ = name
    return make


zeros_like, ones_like = _maker_like("zeros_like", 0), _maker_like("ones_like", 1)
empty_like = _maker_like("empty_like", 0)


def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    r"""A tensor full of one number, of the shape of another."""
    return with_grad(_like(input, fill_value, dtype), requires_grad)


def scalar_tensor(s: Any, **options: Any) -> Tensor:
    r"""A number as a tensor, of the default type if none is named."""
    return full((), s, **{"dtype": Default.dtype, **options})


def empty_strided(size: Any, stride: Any, **options: Any) -> Tensor:
    r"""A new tensor with these strides; what PyTorch leaves as it was is 0 here."""
    reach = 1 + sum((one - 1) * step for one, step in zip(size, stride, strict=True))
    memory = zeros(max(0, reach) if math.prod(size) else 0, **options)
    return view_of(memory, tuple(size), tuple(stride), 0)


def arange(
    *args: Any,
    start: Any = None,
    end: Any = None,
    step: Any = None,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    r"""Numbers from a start up to an end, which is left out."""
    check_device(device)
    if not args and end is None or len(args) > 3:
        raise TypeError("arange() received an invalid combination of arguments")
    given = [one.item() if isinstance(one, Tensor) else one for one in args]
    if len(given) == 1 and end is None:
        given = [0, given[0]]
    if end is not None:
        given = [*(given or [0 if start is None else start]), end]
    first, last, stride = (*given, 1 if step is None else step)[:3]
    for one in (first, last, stride):
        if not isinstance(one, (int, float)):
            raise TypeError("arange() received an invalid combination of arguments")
    if stride == 0:
        raise RuntimeError("step must be nonzero")
    if (last - first) * stride < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if not math.isfinite(last) or not math.isfinite(first):
        raise RuntimeError(f"unsupported range: {first} -> {last}")
    whole = all(isinstance(one, int) for one in (first, last, stride))
    if dtype is not None and dtype.kind == INTEGRAL and not whole:
        # Whole numbers from the start on: what stands behind the point is cut off first.
        first, last, stride = int(first), int(last), int(stride)
        if stride == 0:
            raise ValueError("step must be nonzero")
        whole = True
    d = int64 if whole else dtype if dtype is float64 else Default.dtype.work
    count = -((first - last) // stride) if whole else math.ceil((last - first) / stride)
    made = new((count,), d)
    limits = (first, stride) if whole else (bits(float(first)), bits(float(stride)))
    run(Operation.ARANGE, limits, made)
    made = cast(made, dtype or (int64 if whole else Default.dtype))
    return with_grad(made, requires_grad)


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    r"""So many numbers at equal distances, both ends among them."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if any(isinstance(one, Tensor) and one.shape for one in (start, end)):
        raise RuntimeError("linspace only supports 0-dimensional start and end tensors")
    start, end = float(start), float(end)
    gap = (end - start) / (steps - 1) if steps > 1 else 0.0
    half = steps // 2
    values = [start + gap * i if i < half else end - gap * (steps - 1 - i) for i in range(steps)]
    if steps == 1:
        values = [start]
    return tensor(values, dtype=dtype or Default.dtype, requires_grad=requires_grad)


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    r"""So many numbers at equal ratios."""
    check_device(device)
    if any(isinstance(one, Tensor) and one.shape for one in (start, end)):
        raise RuntimeError("logspace only supports 0-dimensional start and end tensors")
    exponents = linspace(start, end, steps, dtype=float64).tolist()
    made = tensor([base**one for one in exponents], dtype=dtype or Default.dtype)
    return with_grad(made, requires_grad)


def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    r"""Ones on the diagonal, zeros elsewhere."""
    m = n if m is None else m
    if n < 0 or m < 0:
        raise RuntimeError(f"n must be greater or equal to 0, got {min(n, m)}")
    made = new((as_int(n), as_int(m)), dtype or Default.dtype)
    fill(view_of(made, (min(n, m),), (m + 1,), 0), 1)
    return with_grad(made, requires_grad)


def tril_indices(row: int, col: int, offset: int = 0, **options: Any) -> Tensor:
    r"""The places on and below a diagonal, as two rows of indices."""
    places = [(i, j) for i in range(row) for j in range(col) if j - i <= offset]
    return tensor([[place[0] for place in places], [place[1] for place in places]], dtype=int64)


def triu_indices(row: int, col: int, offset: int = 0, **options: Any) -> Tensor:
    r"""The places on and above a diagonal, as two rows of indices."""
    places = [(i, j) for i in range(row) for j in range(col) if j - i >= offset]
    return tensor([[place[0] for place in places], [place[1] for place in places]], dtype=int64)


def complex(real: Tensor, imag: Tensor) -> Tensor:
    r"""Complex numbers of two parts."""
    from torch._joining import stack

    for name, one in (("real", real), ("imag", imag)):
        if not isinstance(one, Tensor):
            raise TypeError(
                f"complex(): argument '{name}' must be Tensor, not {type(one).__name__}"
            )
    if real.dtype is not imag.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {real.dtype} but got scalar type {imag.dtype} for "
            "second argument"
        )
    if real.dtype not in (float32, float64):
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got other types"
        )
    from torch._elementwise import view_as_complex
    from torch._joining import broadcast_tensors

    return view_as_complex(stack(broadcast_tensors(real, imag), -1))


def polar(abs: Tensor, angle: Tensor) -> Tensor:
    r"""Complex numbers of a size and an angle."""
    for name, one in (("abs", abs), ("angle", angle)):
        if not isinstance(one, Tensor):
            raise TypeError(f"polar(): argument '{name}' must be Tensor, not {type(one).__name__}")
    return complex(abs * angle.cos(), abs * angle.sin())


@method
def tolist(self: Tensor) -> Any:
    r"""The numbers in nested lists."""
    flat = numbers(self)
    if not self.shape:
        return flat[0]
    for axis in range(len(self.shape) - 1, 0, -1):
        size = self.shape[axis]
        count = math.prod(self.shape[:axis])
        flat = [flat[i * size : (i + 1) * size] for i in range(count)]
    return flat


@method
def item(self: Tensor) -> Any:
    r"""The only number."""
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return numbers(self)[0]


def _new_maker(maker: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def make(self: Tensor, *args: Any, dtype: dtype | None = None, **options: Any) -> Tensor:
        return maker(*args, dtype=dtype or self.dtype, **options)

    return make


for _name, _make in (
    ("new_zeros", zeros),
    ("new_ones", ones),
    ("new_empty", empty),
    ("new_empty_strided", empty_strided),
    ("new_full", full),
    ("new_tensor", tensor),
):
    method(_new_maker(_make), _name)


@method
def numpy(self: Tensor, **options: Any) -> Any:
    r"""There is no NumPy in the page."""
    raise NotImplementedError(
        "Tensor.numpy is not in the browser's torch, where there is no NumPy: use tolist()."
    )


__all__ = [
    "arange",
    "as_tensor",
    "asarray",
    "complex",
    "empty",
    "empty_like",
    "empty_strided",
    "eye",
    "from_file",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "polar",
    "scalar_tensor",
    "tensor",
    "tril_indices",
    "triu_indices",
    "zeros",
    "zeros_like",
]

r"""Number types, devices, and the type that two types have in common."""

import math
from typing import Any, NoReturn

inf, nan, pi, e = math.inf, math.nan, math.pi, math.e

# What a type can hold: each kind holds those before it.
BOOLEAN, INTEGRAL, FLOATING, COMPLEX = range(4)


class dtype:
    r"""A type of numbers. `code` is its number in kernels.h."""

    def __init__(self, name: str, code: int, itemsize: int, kind: int, format: str) -> None:
        self.name, self.code, self.itemsize, self.kind = name, code, itemsize, kind
        self.format = format
        self.is_floating_point = kind == FLOATING
        self.is_complex = kind == COMPLEX
        self.is_signed = name not in ("uint8", "bool")
        # What kernels compute with when they have no code for the type itself.
        self.work: dtype = self

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    def __copy__(self) -> "dtype":
        return self

    def __deepcopy__(self, memo: Any) -> "dtype":
        return self

    def to_real(self) -> "dtype":
        r"""The type of the two parts of a complex number."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    def to_complex(self) -> "dtype":
        r"""The complex type with parts of this type."""
        return {"float64": complex128, "complex128": complex128}.get(self.name, complex64)


float32 = dtype("float32", 0, 4, FLOATING, "f")
float64 = dtype("float64", 1, 8, FLOATING, "d")
int64 = dtype("int64", 2, 8, INTEGRAL, "q")
int32 = dtype("int32", 3, 4, INTEGRAL, "i")
uint8 = dtype("uint8", 4, 1, INTEGRAL, "B")
int8 = dtype("int8", 5, 1, INTEGRAL, "b")
bool_ = dtype("bool", 6, 1, BOOLEAN, "?")
int16 = dtype("int16", 7, 2, INTEGRAL, "h")
bfloat16 = dtype("bfloat16", 8, 2, FLOATING, "H")
float16 = dtype("float16", 9, 2, FLOATING, "e")
complex64 = dtype("complex64", 10, 8, COMPLEX, "f")
complex128 = dtype("complex128", 11, 16, COMPLEX, "d")
for _small in (int32, uint8, int8, int16):
    _small.work = int64
for _half in (bfloat16, float16):
    _half.work = float32

# The order in which one type gives way to another.
_ORDER = (
    bool_,
    uint8,
    int8,
    int16,
    int32,
    int64,
    float16,
    bfloat16,
    float32,
    float64,
    complex64,
    complex128,
)
_RANK = {one: rank for rank, one in enumerate(_ORDER)}

# As error messages call them.
_SCALAR_NAMES = {
    "float32": "Float",
    "float64": "Double",
    "int64": "Long",
    "int32": "Int",
    "int16": "Short",
    "uint8": "Byte",
    "int8": "Char",
    "bool": "Bool",
    "bfloat16": "BFloat16",
    "float16": "Half",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}


def scalar_name(one: dtype) -> str:
    r"""`Float` for `float32`, as PyTorch says in its errors."""
    return _SCALAR_NAMES[one.name]


def c_name(one: dtype) -> str:
    r"""`float` for `float32`, as PyTorch says in its other errors."""
    name = _SCALAR_NAMES[one.name]
    special = {"BFloat16": "c10::BFloat16", "Half": "c10::Half", "Byte": "unsigned char"}
    special |= {"Long": "long int", "Char": "signed char", "ComplexFloat": "c10::complex<float>"}
    return special.get(name, name.lower())


class Default:
    r"""The type of floating-point numbers for which none is named."""

    dtype = float32


def get_default_dtype() -> dtype:
    r"""The type of new floating-point tensors."""
    return Default.dtype


def set_default_dtype(d: dtype) -> None:
    r"""Sets the type of new floating-point tensors."""
    if d.kind != FLOATING:
        raise TypeError(f"only floating-point types are supported as the default type, got {d}")
    Default.dtype = d


def promote_types(a: dtype, b: dtype) -> dtype:
    r"""The smallest type that holds the numbers of both."""
    names = {a.name, b.name}
    if names == {"float16", "bfloat16"}:
        return float32
    if names == {"uint8", "int8"}:
        return int16
    if COMPLEX in (a.kind, b.kind) and float64 in (a, b):
        return complex128
    return a if _RANK[a] >= _RANK[b] else b


def kind_of_number(number: Any) -> int:
    r"""The kind of a number of Python."""
    if isinstance(number, bool):
        return BOOLEAN
    if isinstance(number, int):
        return INTEGRAL
    return COMPLEX if isinstance(number, complex) else FLOATING


def default_of_kind(kind: int) -> dtype:
    r"""The type that numbers of a kind get by themselves."""
    if kind == COMPLEX:
        return Default.dtype.to_complex()
    return (bool_, int64, Default.dtype)[kind]


class finfo:
    r"""The limits of a floating-point type."""

    def __init__(self, type: dtype | None = None) -> None:
        type = (type or Default.dtype).to_real()
        limits = {
            "float32": (23, -126, 127),
            "float64": (52, -1022, 1023),
            "bfloat16": (7, -126, 127),
            "float16": (10, -14, 15),
        }
        if type.name not in limits:
            raise TypeError(
                f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                f"'{type}'"
            )
        digits, lowest, highest = limits[type.name]
        self.eps = 2.0**-digits
        self.tiny = self.smallest_normal = 2.0**lowest
        self.max = (2 - 2.0**-digits) * 2.0**highest
        self.min = -self.max
        self.bits, self.dtype = type.itemsize * 8, type.name


class iinfo:
    r"""The limits of an integer type."""

    def __init__(self, type: dtype) -> None:
        if type.kind != INTEGRAL:
            raise TypeError(
                f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'"
            )
        self.bits, self.dtype = type.itemsize * 8, type.name
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0
        self.max = 2 ** (self.bits - 1) - 1 if type.is_signed else 2**self.bits - 1


class device:
    r"""Where a tensor is: here there is the CPU alone."""

    def __init__(self, type: "str | device" = "cpu", index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index
        if isinstance(type, int):
            no_device("cuda")
        name, _, number = type.partition(":")
        if name != "cpu":
            no_device(name)
        self.type, self.index = name, int(number) if number else index

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (other.type, other.index) == (self.type, self.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __enter__(self) -> "device":
        return self

    def __exit__(self, *_: Any) -> None:
        return None


KNOWN_DEVICES = ("cuda", "mps", "xpu", "meta", "hip", "xla", "mtia", "hpu", "vulkan", "opengl")


def no_device(name: str) -> NoReturn:
    r"""The error for a device that isn't here."""
    if name not in KNOWN_DEVICES:
        raise RuntimeError(
            f"Expected one of cpu, {', '.join(KNOWN_DEVICES)} device type at start of device "
            f"string: {name}"
        )
    if name == "cuda":
        raise AssertionError("Torch not compiled with CUDA enabled")
    raise RuntimeError(f"the device '{name}' does not exist in the browser; use 'cpu'")


def check_device_name(name: str) -> None:
    r"""Only the CPU is here; the name of another device is an error."""
    device(name)


cpu = device("cpu")

r"""Memory, and the one way to the kernels that work in it."""

import struct
import sys
from array import array
from enum import IntEnum
from functools import cache
from typing import Any

if sys.platform == "emscripten":
    # The page's worker has put the WebAssembly function there.
    from js import stand_in_run as _run
else:
    import ctypes
    import os

    _library = ctypes.CDLL(os.environ["BROWSER_TORCH_KERNELS"])
    _library.run.argtypes = [ctypes.c_void_p]
    _run = _library.run


class Operation(IntEnum):
    r"""What `run` in kernels/run.c can do; the order is that of kernels.h."""

    UNARY = 0
    BINARY = 1
    WHERE = 2
    COPY = 3
    FILL = 4
    ARANGE = 5
    TRIANGLE = 6
    REDUCE = 7
    CUMULATE = 8
    MATMUL = 9
    SOFTMAX = 10
    SOFTMAX_BACKWARD = 11
    NORMALISE = 12
    NORMALISE_BACKWARD = 13
    INDEX = 14
    GATHER = 15
    RANDOM = 16
    ADAMW = 17
    GELU_AND_SLOPE = 18


_REASONS = (
    "",
    "there is no such operation",
    "the row of numbers is not well formed",
    "a tensor reaches outside its memory",
    "it does not work on these dtypes",
    "the shapes or the layouts do not fit",
    "an index is out of range",
    "a number is out of range",
)
BAD_INDEX = 6


class IndexOutOfRange(Exception):
    r"""A kernel has met an index that is none: of which tensor of indices, and the number."""

    def __init__(self, which: int, index: int) -> None:
        super().__init__(which, index)
        self.which, self.index = which, index


class Storage:
    r"""A piece of memory, whose address never changes."""

    __slots__ = ("words", "address", "n_bytes")

    def __init__(self, n_bytes: int) -> None:
        # At least one word, so that even an empty tensor has an address.
        self.words = _ZERO * ((n_bytes + 7) // 8 or 1)
        self.address = self.words.buffer_info()[0]
        self.n_bytes = n_bytes

    def bytes(self) -> memoryview:
        r"""The memory itself, to read and to write."""
        return memoryview(self.words).cast("B")[: self.n_bytes]


_ZERO = array("q", [0])
_ROW = array("q", [0]) * 512
_ROW_ADDRESS = _ROW.buffer_info()[0]


@cache
def _packer(length: int) -> Any:
    return struct.Struct(f"<{length}q").pack_into


def run(operation: int, numbers: tuple[int, ...], *tensors: Any) -> None:
    r"""Calls a kernel. A tensor is described by its `_where`, a tuple of numbers."""
    row = [0, operation, len(numbers), len(tensors), *numbers]
    for tensor in tensors:
        row += tensor._where
    length = row[0] = len(row)
    _packer(length)(_ROW, 0, *row)
    status = _run(_ROW_ADDRESS)
    if status == BAD_INDEX:
        raise IndexOutOfRange(_ROW[1], _ROW[2])
    if status:
        name = Operation(operation).name.lower()
        raise RuntimeError(f"the kernel {name} refused a call: {_REASONS[status]}")


_FLOAT, _INTEGER = struct.Struct("<d"), struct.Struct("<q")


def bits(number: float) -> int:
    r"""A floating-point number as a kernel takes it."""
    return _INTEGER.unpack(_FLOAT.pack(number))[0]

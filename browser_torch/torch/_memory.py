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
    CROSS_ENTROPY = 19
    CROSS_ENTROPY_BACKWARD = 20


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


class _Freed:
    r"""Memory of tensors that are gone, kept for new ones of the same size.

    The results of a training step have the sizes of those of the step before. New memory must be
    filled with zeros, and the system gives it page by page.
    """

    # What is kept at most, in words; a smaller piece is as fast made anew.
    MOST, LEAST = 2**23, 2**8

    def __init__(self) -> None:
        self.pieces: dict[int, list[array[int]]] = {}
        self.words = 0

    def keep(self, words: "array[int]") -> None:
        r"""Takes memory that nobody looks at any more."""
        count = len(words)
        if count < self.LEAST or count > self.MOST:
            return
        if self.words + count > self.MOST:
            # Sizes that nobody asks for any more would fill it.
            self.pieces.clear()
            self.words = 0
        self.pieces.setdefault(count, []).append(words)
        self.words += count

    def take(self, count: int) -> "array[int] | None":
        r"""Memory of so many words, with what was left in it; None if there is none."""
        pieces = self.pieces.get(count)
        if not pieces:
            return None
        self.words -= count
        return pieces.pop()


_freed = _Freed()


class Storage:
    r"""A piece of memory, whose address never changes; full of zeros, if it is to be `clear`."""

    __slots__ = ("words", "address", "n_bytes")

    def __init__(self, n_bytes: int, clear: bool = True) -> None:
        # For `__del__`, if there is no memory left for what follows.
        self.words = _ZERO
        # At least one word, so that even an empty tensor has an address.
        count = (n_bytes + 7) // 8 or 1
        words = None if clear else _freed.take(count)
        self.words = _ZERO * count if words is None else words
        self.address = self.words.buffer_info()[0]
        self.n_bytes = n_bytes

    # As a default, since the module may be gone when the program ends.
    def __del__(self, keep: Any = _freed.keep) -> None:
        keep(self.words)

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
    r"""Calls a kernel with numbers and tensors, all in one row of integers."""
    row = [0, operation, len(numbers), len(tensors), *numbers]
    for tensor in tensors:
        storage, shape = tensor._storage, tensor.shape
        row += storage.address, storage.n_bytes, tensor.dtype.code, tensor._offset, len(shape)
        row += shape
        row += tensor._strides
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

r"""The tensor: a piece of memory, and the offset, shape and strides to read it by.

What tensors can do is defined by topic, in the modules beside this one; each of them gives the
class its methods with `method`.
"""

import math
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

from torch._dtypes import Default, cpu, device, dtype
from torch._memory import Storage
from torch._shapes import Shape, Size, contiguous_strides, is_contiguous, wrap_axis


class Counter:
    r"""What all tensors in one piece of memory share.

    `version` counts the changes in place, so that a derivative can tell whether what it needs has
    been overwritten. `rebased` counts those of them that are a part of the graph.
    """

    __slots__ = ("version", "rebased")

    def __init__(self) -> None:
        self.version = self.rebased = 0


class Tensor:
    r"""An array of numbers of one type."""

    __slots__ = (
        "_storage",
        "_offset",
        "shape",
        "_strides",
        "dtype",
        "requires_grad",
        "grad",
        "_node",  # of the graph, which has made this tensor; None for a leaf
        "_slot",  # which of the node's results it is
        "_counter",
        "_base",  # the tensor that this one is a view of
        "_seen",  # `rebased` when the view's node was right
        "_hooks",
        "__dict__",
        "__weakref__",
    )

    def __new__(cls, *args: Any, **options: Any) -> "Tensor":
        tensor = object.__new__(cls)
        tensor.requires_grad = False
        tensor.grad = tensor._node = tensor._base = tensor._hooks = None
        tensor._slot = tensor._seen = 0
        tensor._counter = None
        return tensor

    def __init__(self, *args: Any, **options: Any) -> None:
        if self._counter is not None:
            return
        # `Tensor(2, 3)` is a shape, `Tensor([2, 3])` are numbers.
        from torch import _making

        if len(args) == 1 and not isinstance(args[0], int):
            is_shape = isinstance(args[0], Size)
            made = _making.zeros(args[0]) if is_shape else _making.tensor(args[0]).float()
        else:
            made = _making.zeros(*args) if args else _making.zeros(0)
        share_memory(self, made)

    @property
    def device(self) -> device:
        r"""Always the CPU."""
        return cpu

    @property
    def is_leaf(self) -> bool:
        r"""Whether no operation of the graph has made it."""
        return self._node is None

    @property
    def grad_fn(self) -> Any:
        r"""The node of the graph that has made it."""
        from torch._tape import refresh

        refresh(self)
        return self._node

    @property
    def _version(self) -> int:
        return self._counter.version

    @property
    def ndim(self) -> int:
        r"""How many axes it has."""
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        r"""Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        r"""Bytes of all elements."""
        return self.numel() * self.dtype.itemsize

    @property
    def data(self) -> "Tensor":
        r"""The same memory without the graph, and without counting changes in place."""
        alias = view_of(self, self.shape, self._strides, self._offset)
        alias._counter = Counter()
        return alias

    @data.setter
    def data(self, value: "Tensor") -> None:
        share_memory(self, value)

    is_cuda = is_sparse = is_sparse_csr = is_quantized = is_mps = is_nested = False
    layout = "torch.strided"
    names = ()

    def get_device(self) -> int:
        r"""The number of the GPU: there is none."""
        return -1

    def to_dense(self, dtype: Any = None, **options: Any) -> "Tensor":
        r"""The tensor itself: none is sparse here."""
        return self if dtype is None else self.to(dtype)

    def dim(self) -> int:
        r"""How many axes it has."""
        return len(self.shape)

    ndimension = dim

    def numel(self) -> int:
        r"""How many elements it has."""
        return math.prod(self.shape)

    nelement = numel

    def element_size(self) -> int:
        r"""Bytes of an element."""
        return self.dtype.itemsize

    def size(self, dim: int | None = None) -> Any:
        r"""The shape, or the size of one axis."""
        return self.shape if dim is None else self.shape[wrap_axis(dim, len(self.shape))]

    def stride(self, dim: int | None = None) -> Any:
        r"""How far neighbours along an axis lie from each other in memory."""
        if dim is None:
            return tuple(self._strides)
        return self._strides[wrap_axis(dim, len(self.shape))]

    def storage_offset(self) -> int:
        r"""Where in its memory the first element is."""
        return self._offset

    def data_ptr(self) -> int:
        r"""The address of the first element."""
        return self._storage.address + self._offset * self.dtype.itemsize

    def untyped_storage(self) -> "UntypedStorage":
        r"""The memory, which other tensors may share."""
        return UntypedStorage(self._storage)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        r"""Whether the elements follow each other in memory."""
        return is_contiguous(self.shape, self._strides)

    def is_floating_point(self) -> bool:
        r"""Whether the elements are floating-point numbers."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        r"""Whether the elements are complex numbers."""
        return self.dtype.is_complex

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    # `==` compares elements, so a class without this line could be no key.
    __hash__ = object.__hash__


class UntypedStorage:
    r"""The memory of a tensor, as PyTorch shows it."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def nbytes(self) -> int:
        r"""Bytes of the memory."""
        return self._storage.n_bytes

    size = nbytes

    def __len__(self) -> int:
        return self._storage.n_bytes

    def data_ptr(self) -> int:
        r"""The address of the memory."""
        return self._storage.address


def method(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    r"""Makes a function a method of tensors, too."""
    setattr(Tensor, name or function.__name__, function)
    return function


def in_words_of_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    r"""Lets a function take `axis` and `keepdims` for `dim` and `keepdim`, as PyTorch does."""

    @wraps(function)
    def either(*args: Any, **options: Any) -> Any:
        if options:
            if "axis" in options:
                options["dim"] = options.pop("axis")
            if "keepdims" in options:
                options["keepdim"] = options.pop("keepdims")
        return function(*args, **options)

    either.also_takes = (*getattr(function, "also_takes", ()), "axis", "keepdims")
    return either


def new(shape: Shape, d: dtype, strides: Shape | None = None, clear: bool = True) -> Tensor:
    r"""A tensor with memory of its own, full of zeros if it is to be `clear`."""
    shape, n_bytes, plain = _layout(tuple(shape), d.itemsize)
    tensor = Tensor.__new__(Tensor)
    tensor._storage = Storage(n_bytes, clear)
    tensor._offset, tensor.shape, tensor.dtype = 0, shape, d
    tensor._strides = plain if strides is None else strides
    tensor._counter = Counter()
    return tensor


@lru_cache(4096)
def _layout(shape: Shape, itemsize: int) -> tuple[Size, int, Shape]:
    r"""Of a new tensor: the shape, how many bytes it takes, and the plain strides."""
    if min(shape, default=0) < 0:
        negative = next(size for size in shape if size < 0)
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {negative}: {list(shape)}"
        )
    n_bytes = math.prod(shape) * itemsize
    if n_bytes > 2**31:
        raise RuntimeError(
            f"[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: you "
            f"tried to allocate {n_bytes} bytes"
        )
    return Size(shape), n_bytes, contiguous_strides(shape)


def unfilled(shape: Shape, d: dtype, strides: Shape | None = None) -> Tensor:
    r"""The same for a result: a kernel must write each of its elements before one is read."""
    return new(shape, d, strides, clear=False)


def view_of(source: Tensor, shape: Shape, strides: Shape, offset: int) -> Tensor:
    r"""Another look at the memory of a tensor, without a history."""
    tensor = Tensor.__new__(Tensor)
    tensor._storage, tensor.dtype, tensor._counter = source._storage, source.dtype, source._counter
    tensor.shape = shape if type(shape) is Size else Size(shape)
    tensor._offset, tensor._strides = offset, tuple(strides)
    return tensor


def alias_of(source: Tensor) -> Tensor:
    r"""The same elements without a history; changes in place count for both."""
    return view_of(source, source.shape, source._strides, source._offset)


def share_memory(tensor: Tensor, source: Tensor) -> None:
    r"""Lets a tensor look at the memory of another one, as that does."""
    for name in ("_storage", "_offset", "shape", "_strides", "dtype", "_counter"):
        setattr(tensor, name, getattr(source, name))


def default_dtype() -> dtype:
    r"""The type of new floating-point tensors."""
    return Default.dtype

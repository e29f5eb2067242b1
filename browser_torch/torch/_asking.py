r"""What can be asked of a tensor, and what is seldom done with it."""

from collections.abc import Callable
from typing import Any

from torch._elementwise import need_tensor
from torch._making import tensor
from torch._raw import numbers
from torch._tape import check_in_place
from torch._tensor import Tensor, method

Tensor.is_cpu = True
for _name in ("ipu", "maia", "meta", "mkldnn", "mtia", "vulkan", "xla", "xpu"):
    setattr(Tensor, f"is_{_name}", False)


def _retains_grad(self: Tensor) -> bool:
    r"""Whether the gradient is kept, though this is no leaf."""
    return self._node is not None and any(one is self for one in self._node.kept)


Tensor.output_nr = property(lambda self: self._slot)
Tensor.retains_grad = property(_retains_grad)


@method
def is_signed(input: Tensor) -> bool:
    r"""Whether its type has negative numbers."""
    need_tensor("is_signed", input)
    return input.dtype.is_signed


@method
def is_nonzero(input: Tensor) -> bool:
    r"""Whether the only number is other than 0."""
    need_tensor("is_nonzero", input)
    return bool(input)


@method
def is_same_size(input: Tensor, other: Tensor) -> bool:
    r"""Whether two tensors have one shape."""
    need_tensor("is_same_size", input)
    return input.shape == other.shape


@method
def is_inference(input: Tensor) -> bool:
    r"""Whether it was made for inference alone: no tensor is, here."""
    return False


@method
def is_neg(input: Tensor) -> bool:
    r"""Whether the negative is still to be computed: never here."""
    return False


for _name in ("is_shared", "is_pinned"):
    method(lambda self: False, _name)


def _is_set_to(self: Tensor, tensor: Tensor) -> bool:
    r"""Whether both look at the same elements of the same memory."""
    return (
        self._storage is tensor._storage
        and self._offset == tensor._offset
        and self.shape == tensor.shape
        and self._strides == tensor._strides
    )


method(_is_set_to, "is_set_to")


def _apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    r"""A function of Python on each element, in place."""
    if self.requires_grad:
        raise TypeError(
            "Can't call apply_() on Variable that requires grad. Use var.detach().apply_()"
        )
    check_in_place(self)
    found = [callable(one) for one in numbers(self)]
    return self.copy_(tensor(found, dtype=self.dtype).view(self.shape))


method(_apply_, "apply_")


def get_device(input: Tensor) -> int:
    r"""The number of the GPU: there is none."""
    return input.get_device()


def typename(obj: Any) -> str:
    r"""The name of a type."""
    if isinstance(obj, Tensor):
        return obj.type()
    cls = obj if isinstance(obj, type) else type(obj)
    own = getattr(cls, "__module__", "")
    return cls.__qualname__ if own == "builtins" else f"{own}.{cls.__qualname__}"

r"""Tensors that a module learns."""

from typing import Any

from torch._making import zeros
from torch._printing import text_of
from torch._tape import require_differentiable
from torch._tensor import Tensor, share_memory


class Parameter(Tensor):
    r"""A tensor that a module lists among its parameters."""

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> "Parameter":
        r"""Looks at the memory of a tensor, and is a leaf."""
        source = zeros(0) if data is None else data
        if not isinstance(source, Tensor):
            raise TypeError(
                f"Parameter(): argument 'data' must be Tensor, not {type(source).__name__}"
            )
        parameter = Tensor.__new__(cls)
        share_memory(parameter, source)
        if requires_grad:
            require_differentiable(parameter)
        parameter.requires_grad = requires_grad
        return parameter

    def __init__(self, *args: Any, **options: Any) -> None:
        pass

    def __repr__(self) -> str:
        return "Parameter containing:\n" + text_of(self)


class Buffer(Tensor):
    r"""A tensor that a module keeps and does not learn."""

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> "Buffer":
        r"""Looks at the memory of a tensor."""
        buffer = Tensor.__new__(cls)
        share_memory(buffer, zeros(0) if data is None else data)
        buffer.persistent = persistent
        return buffer

    def __init__(self, *args: Any, **options: Any) -> None:
        pass

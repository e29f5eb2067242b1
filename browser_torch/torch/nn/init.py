r"""First values of parameters."""

import math
from typing import Any

from torch._absent import absent
from torch._elementwise import where
from torch._making import empty, eye
from torch._random import randperm
from torch._tape import no_grad
from torch._tensor import Tensor


def _fans(tensor: Tensor) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


_calculate_fan_in_and_fan_out = _fans


def _fan(tensor: Tensor, mode: str) -> int:
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _fans(tensor)[mode.lower() != "fan_in"]


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    r"""By how much a nonlinearity shrinks what goes through it."""
    fixed = {"linear": 1, "sigmoid": 1, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}
    if nonlinearity in fixed:
        return fixed[nonlinearity]
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2 / (1 + slope**2))
    if nonlinearity.startswith("conv"):
        return 1
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    r"""Uniform numbers."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    r"""Normal numbers."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    r"""Normal numbers between two limits: those outside are drawn again.

    For limits with little between them, PyTorch draws in another way, and gets other numbers."""
    with no_grad():
        tensor.normal_(mean, std, generator=generator)
        outside = (tensor < a) | (tensor > b)
        while outside.any():
            again = empty(tensor.shape, dtype=tensor.dtype).normal_(mean, std, generator=generator)
            tensor.copy_(where(outside, again, tensor))
            outside = (tensor < a) | (tensor > b)
        return tensor


def constant_(tensor: Tensor, val: float) -> Tensor:
    r"""One number."""
    with no_grad():
        return tensor.fill_(val)


def zeros_(tensor: Tensor) -> Tensor:
    r"""Zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    r"""Ones."""
    return constant_(tensor, 1.0)


def eye_(tensor: Tensor) -> Tensor:
    r"""The identity."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(eye(*tensor.shape))


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    r"""Uniform numbers whose variance keeps that of what goes through."""
    std = calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    r"""Normal numbers whose variance keeps that of what goes through."""
    std = calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return normal_(tensor, 0, std, generator)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    r"""Uniform numbers with a variance between those for both directions."""
    std = gain * math.sqrt(2.0 / float(sum(_fans(tensor))))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    r"""Normal numbers with a variance between those for both directions."""
    std = gain * math.sqrt(2.0 / float(sum(_fans(tensor))))
    return normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    r"""Rows or columns of length 1 at right angles to each other, by Gram and Schmidt."""
    if len(tensor.shape) < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if not tensor.numel():
        return tensor
    rows = tensor.shape[0]
    with no_grad():
        drawn = empty(rows, tensor.numel() // rows, dtype=tensor.dtype)
        drawn.normal_(0, 1, generator=generator)
        wide = rows < drawn.shape[1]
        given = (drawn if wide else drawn.t()).double()
        made = given.clone()
        for place in range(given.shape[0]):
            one, before = given[place], made[:place]
            # Twice: what the first round leaves by rounding, the second one takes away.
            for _ in range(2):
                one = one - before.t() @ (before @ one)
            made[place] = one / one.norm()
        turned = made if wide else made.t()
        tensor.copy_(turned.reshape(tensor.shape))
        return tensor.mul_(gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    r"""Normal numbers, and zeros in each column."""
    if len(tensor.shape) != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[randperm(rows)[:zeros], column] = 0
    return tensor


__getattr__ = absent("module 'torch.nn.init'", lambda: list(globals()), {})

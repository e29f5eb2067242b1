r"""Mixed precision: matrix products have factors of 16 bits within the block, losses have 32."""

from contextlib import ContextDecorator
from typing import Any

from torch._dtypes import FLOATING, bfloat16, check_device_name, float16, float32
from torch._tensor import Tensor


class Precision:
    r"""The type of the factors of matrix products; None leaves them as they are."""

    dtype: Any = None


class autocast(ContextDecorator):
    r"""Sets the type of the factors of matrix products."""

    def __init__(
        self,
        device_type: str = "cpu",
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        check_device_name(device_type)
        self.dtype = (dtype or bfloat16) if enabled else None
        self.before: list[Any] = []

    def __enter__(self) -> "autocast":
        self.before.append(Precision.dtype)
        # In single precision there is nothing to do.
        Precision.dtype = None if self.dtype is float32 else self.dtype
        return self

    def __exit__(self, *_: Any) -> None:
        Precision.dtype = self.before.pop()


def in_precision(*factors: Tensor | None) -> list[Any]:
    r"""The factors in the type that is set."""
    d = Precision.dtype
    if d is None:
        return list(factors)
    return [
        one.to(d) if one is not None and one.dtype.kind == FLOATING and one.dtype is not d else one
        for one in factors
    ]


def in_single_precision(*given: Tensor | None) -> list[Any]:
    r"""What a loss is computed of: in 32 bits, where a type is set."""
    if Precision.dtype is None:
        return list(given)
    short = (float16, bfloat16)
    return [one.float() if one is not None and one.dtype in short else one for one in given]

r"""Which implementation of attention is used: here there is one."""

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class SDPBackend(enum.IntEnum):
    r"""PyTorch's implementations."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_AVAILABLE = {SDPBackend.MATH, SDPBackend.FLASH_ATTENTION}


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    r"""Allows some implementations. All that a CPU has are one here."""
    from torch.nn import functional

    allowed = [backends] if isinstance(backends, SDPBackend) else list(backends)
    usual = functional.scaled_dot_product_attention
    if not _AVAILABLE & set(allowed):

        def refuse(*args: Any, **options: Any) -> Any:
            raise RuntimeError("No available kernel. Aborting execution.")

        functional.scaled_dot_product_attention = refuse
    try:
        yield
    finally:
        functional.scaled_dot_product_attention = usual

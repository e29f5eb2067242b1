r"""Tools."""

from importlib import import_module
from typing import Any

from torch.utils import checkpoint, data

__all__ = ["checkpoint", "data"]


def __getattr__(name: str) -> Any:
    if name == "benchmark":
        return import_module("torch.utils.benchmark")
    raise AttributeError(f"module 'torch.utils' has no attribute '{name}'")

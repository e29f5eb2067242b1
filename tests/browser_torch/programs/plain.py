r"""What an example gave, as numbers and text that both worlds can read."""

from typing import Any

import torch


def plain(value: Any, depth: int = 0) -> Any:
    r"""Tensors become ("tensor", dtype, shape, numbers); the rest its type's name."""
    if depth > 6:
        return "…"
    if isinstance(value, torch.Tensor):
        value = value.detach()
        name, shape = str(value.dtype), tuple(value.shape)
        if value.is_complex():
            value = torch.view_as_real(value.resolve_conj())
        if value.dtype in (torch.bfloat16, torch.float16):
            value = value.float()
        return ("tensor", name, shape, value.reshape(-1).tolist())
    if isinstance(value, dict):
        return {str(key): plain(one, depth + 1) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one, depth + 1) for one in value]
    if isinstance(value, (int, float, str, bool, type(None))):
        return value
    if hasattr(value, "state_dict"):
        return plain(value.state_dict(), depth + 1)
    return type(value).__name__

r"""Tools."""

from torch.utils import checkpoint, data

__all__ = ["checkpoint", "data"]

r"""Mixed precision."""

from typing import Any

from torch._autocast import autocast

__all__ = ["GradScaler", "autocast", "is_autocast_available"]


def is_autocast_available(device_type: str) -> bool:
    r"""On the CPU, which is all there is."""
    return device_type == "cpu"


class GradScaler:
    r"""Scales by 1."""

    def __init__(self, device: str = "cpu", enabled: bool = True, **options: Any) -> None:
        self.enabled = enabled

    def is_enabled(self) -> bool:
        r"""Whether it was made to scale."""
        return self.enabled

    def scale(self, loss: Any) -> Any:
        r"""The loss itself."""
        return loss

    def unscale_(self, optimizer: Any) -> None:
        r"""Nothing to do."""

    def step(self, optimizer: Any) -> Any:
        r"""A step of the optimizer."""
        return optimizer.step()

    def update(self) -> None:
        r"""Nothing to do."""

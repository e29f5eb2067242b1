r"""There is no accelerator here, as PyTorch says on a machine that has none."""

from typing import Any


def is_available() -> bool:
    r"""No."""
    return False


def current_accelerator(check_available: bool = False) -> None:
    r"""None."""


def device_count() -> int:
    r"""None."""
    return 0


def _none(*args: Any, **options: Any) -> None:
    r"""An error: there is no device to use."""
    raise RuntimeError("Cannot access accelerator device when none is available.")


set_device_index = current_device_index = synchronize = current_stream = _none

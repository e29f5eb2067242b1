r"""There is no GPU here."""

from typing import Any


def is_available() -> bool:
    r"""No."""
    return False


is_initialized = is_bf16_supported = is_available


def device_count() -> int:
    r"""None."""
    return 0


def get_device_capability(device: Any = None) -> tuple[int, int]:
    r"""An error: there is no GPU."""
    raise AssertionError("Torch not compiled with CUDA enabled")


get_device_name = current_device = get_device_capability


def _nothing(*args: Any, **options: Any) -> None:
    r"""Nothing to do without a GPU."""


manual_seed = manual_seed_all = synchronize = empty_cache = reset_peak_memory_stats = _nothing

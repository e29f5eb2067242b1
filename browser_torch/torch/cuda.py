r"""There is no GPU here."""

from types import SimpleNamespace
from typing import Any

from torch._absent import absent
from torch._autocast import autocast as _autocast


def is_available() -> bool:
    r"""No."""
    return False


is_initialized = is_bf16_supported = is_available


def device_count() -> int:
    r"""None."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    r"""Nothing."""
    return 0


memory_allocated = memory_reserved = max_memory_reserved = max_memory_allocated


def get_device_capability(device: Any = None) -> tuple[int, int]:
    r"""An error: there is no GPU."""
    raise AssertionError("Torch not compiled with CUDA enabled")


get_device_name = current_device = get_device_capability


def _nothing(*args: Any, **options: Any) -> None:
    r"""Nothing to do without a GPU."""


manual_seed = manual_seed_all = synchronize = empty_cache = reset_peak_memory_stats = _nothing


def _autocast_of_gpu(enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> Any:
    r"""Changes nothing: it is about a GPU."""
    return _autocast("cpu", enabled=False)


class _GradScaler:
    def __new__(cls, *args: Any, **options: Any) -> Any:
        from torch.amp import GradScaler

        return GradScaler("cuda", **options)


amp = SimpleNamespace(autocast=_autocast_of_gpu, GradScaler=_GradScaler)

_INSTEAD = {
    name: "time.perf_counter: there is no GPU to wait for"
    for name in ("Event", "Stream", "current_stream", "stream")
}
__getattr__ = absent("module 'torch.cuda'", lambda: list(globals()), _INSTEAD)

r"""What `save` writes, `load` reads: in the page, to files that last as long as it is open."""

import os
import pickle
from contextlib import nullcontext
from typing import Any


def _opened(f: Any, mode: str) -> Any:
    return open(f, mode) if isinstance(f, (str, os.PathLike)) else nullcontext(f)


def save(obj: Any, f: Any, *args: Any, **options: Any) -> None:
    r"""Writes an object to a file, or to what has `write`."""
    with _opened(f, "wb") as file:
        pickle.dump(obj, file)


class _OfWeights(pickle.Unpickler):
    r"""Reads tensors and what holds them, and runs no code of others."""

    def find_class(self, module: str, name: str) -> Any:
        r"""What a name of the file stands for."""
        plain = module in ("builtins", "collections") and name in _PLAIN
        if not plain and module.partition(".")[0] != "torch":
            raise pickle.UnpicklingError(
                f"Weights only load failed. Unsupported global: GLOBAL {module}.{name} was not an "
                "allowed global by default. Please use `torch.load` with weights_only=False if you "
                "trust the file."
            )
        return super().find_class(module, name)


_PLAIN = {"OrderedDict", "defaultdict", "set", "complex", "slice", "dict", "list", "bytearray"}


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **options: Any,
) -> Any:
    r"""Reads what `save` has written."""
    with _opened(f, "rb") as file:
        if weights_only is False:
            return pickle.load(file)
        return _OfWeights(file).load()

r"""What `save` writes, `load` reads: in the page, to files that last as long as it is open.

Tensors, and the lists, tuples, dictionaries, numbers and texts that hold them, become bytes; an
object of another kind is not written, and no code is run when a file is read.
"""

import marshal
import os
from collections import OrderedDict
from contextlib import nullcontext
from typing import Any

from torch._dtypes import dtype
from torch._making import tensor
from torch._tensor import Tensor

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def _opened(f: Any, mode: str) -> Any:
    return open(f, mode) if isinstance(f, (str, os.PathLike)) else nullcontext(f)


def save(obj: Any, f: Any, *args: Any, **options: Any) -> None:
    r"""Writes an object to a file, or to what has `write`."""
    content = marshal.dumps(_written(obj))
    with _opened(f, "wb") as file:
        file.write(content)


def load(f: Any, map_location: Any = None, *args: Any, **options: Any) -> Any:
    r"""Reads what `save` has written."""
    with _opened(f, "rb") as file:
        return _read(marshal.loads(file.read()))


def _written(one: Any) -> Any:
    r"""An object in numbers, texts and tuples, each with what it stands for."""
    if type(one) in _PLAIN:
        return "plain", one
    if isinstance(one, Tensor):
        content = one.detach().tolist(), tuple(one.shape), one.dtype.name, one.requires_grad
        return type(one).__name__, content
    if isinstance(one, dtype):
        return "dtype", one.name
    if isinstance(one, dict):
        kind = "OrderedDict" if isinstance(one, OrderedDict) else "dict"
        return kind, [(_written(key), _written(value)) for key, value in one.items()]
    if isinstance(one, (list, tuple, set)):
        kind = next(cls for cls in (list, tuple, set) if isinstance(one, cls)).__name__
        return kind, [_written(part) for part in one]
    raise NotImplementedError(
        f"torch.save of {type(one).__name__} is not in the browser's torch: use its state_dict()."
    )


def _read(written: Any) -> Any:
    r"""The object again."""
    import torch

    kind, content = written
    if kind == "plain":
        return content
    if kind == "dtype":
        return getattr(torch, content)
    if kind in ("dict", "OrderedDict"):
        pairs = [(_read(key), _read(value)) for key, value in content]
        return OrderedDict(pairs) if kind == "OrderedDict" else dict(pairs)
    if kind in ("list", "tuple", "set"):
        parts = [_read(part) for part in content]
        return {"list": list, "tuple": tuple, "set": set}[kind](parts)
    numbers, shape, name, requires_grad = content
    made = tensor(numbers, dtype=getattr(torch, name)).view(shape)
    if kind == "Parameter":
        return torch.nn.Parameter(made, requires_grad)
    return made.requires_grad_(requires_grad) if requires_grad else made

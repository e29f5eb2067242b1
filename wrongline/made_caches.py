r"""
---
title: Make a Cache for a Model
summary: A cache that the caller makes, of a class such as “KVCache”, with sizes that fit the model.
---

Some models neither give a cache nor keep one: the caller makes it, and they fill it. It may be a
dictionary, a list, or an object of a class that stands in the same file. Then its sizes have to be
those of the model: the rows of the batch, the tokens of the text, the heads and their width.

**In:** a model and the parts of a text. **Out:** empty caches to [read with](read_parts.py).
"""

import inspect
import re
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.calling import HOLDERS, LENGTH, ROWS, called_with, find_logits, is_needed
from wrongline.comparison import NEAR, off
from wrongline.sizes import PRECISIONS, meaning
from wrongline.verdicts import SaidError


class NoCacheError(SaidError):
    r"""
    ## It has no cache of this kind
    """


class Mark:
    r"""
    ## An object as it is now

    It is kept: if it were gone, a new one could be taken for it, since Python uses the number of
    `id` again.
    """

    def __init__(self, value: Any) -> None:
        r"""
        * `value` is the object; if it is a tensor, its version counts how often it was written to
        """
        self.value = value
        self.version = value._version if isinstance(value, Tensor) else 0

    def __eq__(self, other: object) -> bool:
        r"""
        ### The same object, and not written to
        """
        if not isinstance(other, Mark):
            return False
        return self.value is other.value and self.version == other.version


def marks(value: Any, depth: int = 0) -> Any:
    r"""
    ## By what one sees that a cache was filled
    """
    if isinstance(value, Tensor):
        return Mark(value)
    if isinstance(value, list | tuple):
        return [marks(one, depth) for one in value]
    held = value if isinstance(value, dict) else getattr(value, "__dict__", None)
    if held is None or depth > 4:
        return value if isinstance(value, int | float | str | None) else Mark(value)
    return {key: marks(one, depth + 1) for key, one in held.items()}


def refuse_unread(
    cache: dict[str, Any], given: dict, result: Any, model: nn.Module, part: Tensor
) -> None:
    r"""
    ## Refuse a cache that no call reads

    Without it the same comes out.
    """
    others = {name: one for name, one in given.items() if name not in cache}
    if off(find_logits(called_with(model, part, **others)), find_logits(result)) < NEAR:
        raise NoCacheError(f"`{next(iter(cache))}` changes nothing")


def new_dictionary(model: nn.Module, parts: list) -> dict:
    r"""
    ## An empty dictionary
    """
    return {}


def new_list(model: nn.Module, parts: list) -> list:
    r"""
    ## An empty list
    """
    return []


def new_slots(model: nn.Module, parts: list) -> list:
    r"""
    ## An empty place for each layer
    """
    return [None] * known_sizes(model, parts)["n_layers"]


def known_sizes(model: nn.Module, parts: list) -> dict[str, Any]:
    r"""
    ## Sizes of a model, by what they are

    As its modules or their configurations say them.
    """
    found: dict[str, Any] = {}
    for part in model.modules():
        for holder in [part, *(getattr(part, name, None) for name in HOLDERS)]:
            known = holder if isinstance(holder, dict) else getattr(holder, "__dict__", {})
            for name, value in known.items():
                if type(value) is int and meaning(name):
                    found.setdefault(meaning(name), value)
    # Layers stand in a list, or in a row if all are of one class.
    layers = [
        len(part)
        for part in model.modules()
        if isinstance(part, nn.ModuleList)
        or isinstance(part, nn.Sequential)
        and len({*map(type, part)}) == 1
    ]
    found.setdefault("n_layers", max(layers, default=1))
    if "heads" in found and "d_model" in found:
        found.setdefault("d_k", found["d_model"] // found["heads"])
        found.setdefault("key_heads", found["heads"])
    return found


def made_cache(
    kind: type, is_list: bool, model: nn.Module, parts: list, shares: bool = True
) -> Any:
    r"""
    ## Make one of a class

    Or a list of them, one for each layer. It has a place for each head of keys; if `shares` is
    false, for each head.
    """
    sizes = known_sizes(model, parts)
    if shares and "key_heads" in sizes:
        sizes["heads"] = sizes["key_heads"]
    given: dict[str, Any] = {}
    for name, one in [*inspect.signature(kind).parameters.items()]:
        if re.search(ROWS, name):
            given[name] = len(parts[0])
        elif meaning(name) in sizes and meaning(name) != "seq_len":
            given[name] = sizes[meaning(name)]
        elif name == "device":
            given[name] = parts[0].device
        elif name in PRECISIONS:
            given[name] = torch.get_default_dtype()
        elif re.search(LENGTH, name) and not re.search("head|offset|_per_", name):
            given[name] = sum(part.shape[1] for part in parts)
        elif name in HOLDERS and hasattr(model, name):
            given[name] = getattr(model, name)
        # Nobody can guess what this is.
        elif is_needed(one):
            raise NoCacheError(f"`{kind.__name__}` wants {name}")
    return [kind(**given) for _ in range(sizes["n_layers"])] if is_list else kind(**given)


def example(batch_size: int = 3, seq_len: int = 7, d_model: int = 11) -> tuple[Tensor, bool]:
    r"""
    ## Example

    A cache with a row for each token, and whether writing on it is seen.

    ### Exercises

    ??? question "Why must a cache have changed after the first call?"
        A model that never writes on it has no cache of this kind. Then its logits would be called
        wrong, for nothing would have been kept.
    """

    class RowCache:
        def __init__(self, batch_size: int, max_len: int, dim: int) -> None:
            r"""
            * `batch_size`, `max_len` and `dim` are its sizes
            """
            self.rows = torch.zeros(batch_size, max_len, dim)

    # The width is an attribute of the model.
    model = nn.Identity()
    vars(model)["dim"] = d_model
    cache = made_cache(RowCache, False, model, [torch.zeros(batch_size, seq_len)])

    # Written in place, the tensor is the same and its version isn't.
    before = marks(cache)
    cache.rows[:, :1] = 1.0
    return cache.rows, marks(cache) != before

r"""
---
title: A Cache in a Module
summary: What a module keeps from one call to the next, and how it is emptied.
know: made_caches.py
---

Some models keep the keys of a text in the module itself. Before another text such a cache is
emptied, by a method such as `reset_cache`, if there is one.

**In:** a model. **Out:** what it keeps that looks like a cache, and a model that begins anew.
"""

import inspect
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.calling import beside, called_with, is_needed
from wrongline.made_caches import Mark

# What a cache is called, and the method that empties it.
LIKE = r"past|cache|^kv|state|^mem|^hiddens?$|^hx$|^h_?0$|^inference_(params|context)$"
EMPTY = r"^(reset|clear|empty)(_|$)"


def empty(model: nn.Module) -> bool:
    r"""
    ## Empty the cache of a module

    True, if it or its parts have a method for that.
    """
    done = False
    for part in model.modules():
        names = [name for name in dir(type(part)) if re.search(EMPTY, name)]
        for method in (getattr(part, name) for name in names):
            # `reset_parameters` is about weights, and `ModuleDict.clear` about layers.
            if not callable(method) or "param" in method.__name__ or is_of_pytorch(method):
                continue
            if not any(map(is_needed, inspect.signature(method).parameters.values())):
                method()
                done = True
        if done:
            break
    return done


def begin(model: nn.Module, part: Tensor) -> bool:
    r"""
    ## Empty it before a text

    Some models make room at the first call, and can be emptied only after it.
    """
    try:
        return empty(model)
    except Exception:
        called_with(model, part, **beside(model, part))
        return empty(model)


def is_of_pytorch(method: Callable) -> bool:
    r"""
    ## Is a method one of PyTorch's own classes?
    """
    return str(method.__module__).partition(".")[0] == "torch"


def contents(model: nn.Module) -> dict[str, Any]:
    r"""
    ## What the modules hold that looks like a cache
    """
    return {
        f"{path}.{name}": Mark(one)
        for path, part in model.named_modules()
        for name, one in [*vars(part).items(), *part.named_buffers(recurse=False)]
        if re.search(LIKE, name)
    }


def example(batch_size: int = 3, seq_len: int = 5, d_model: int = 7) -> tuple[bool, Tensor]:
    r"""
    ## Example

    A layer that keeps what it was given, and forgets it.

    ### Exercises

    ??? question "`nn.ModuleDict` has a method `clear`. Why isn't it called?"
        It takes all layers out of the dictionary: it is no cache of the author's.
    """

    class Keeps(nn.Identity):
        def __init__(self) -> None:
            r"""
            Nothing is kept at first.
            """
            super().__init__()
            self.cache = torch.zeros(0)

        def forward(self, x: Tensor) -> Tensor:
            r"""
            * `x` is of any shape
            """
            self.cache = x
            return x

        def reset_cache(self) -> None:
            r"""
            Forget it.
            """
            self.cache = torch.zeros(0)

    layer = Keeps()
    before = contents(layer)
    layer(torch.zeros(batch_size, seq_len, d_model))
    assert contents(layer) != before
    return empty(layer), layer.cache

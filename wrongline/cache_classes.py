r"""
---
title: Classes of a Cache
summary: A cache that the caller makes has a class in the file, beside it, or in another library.
know: made_caches.py
---

nanochat's model takes `kv_cache`. Its class is in the file that writes texts, not in that of the
model. Mamba, flash-attn and Megatron take “inference_params”, whose class is in a library that may
not be installed. We know what a model reads from it all the same: a dictionary that the model
fills, and the number of tokens read so far, which the caller raises.

**In:** a model. **Out:** classes of which a [cache can be made](made_caches.py), and the names that
the model reads from it, if none fits.
"""

import ast
import inspect
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from torch import nn

from wrongline.words import code_of

# How the name of such a class ends, and what its file may import for it.
CACHE_CLASS = r"(Cache|InferenceParams|InferenceContext)\b"
KNOWN = r"^(torch|math|typing|dataclasses|collections|enum|functools|abc|__future__)(\.|$)"

# The number of tokens read so far. The caller raises it after each call.
MOVED = ("seqlen_offset", "sequence_len_offset")

# What the argument for `InferenceParams` is called.
TOLD = r"^inference_(params|context)$"

# No more files are searched: a folder may have thousands, and each is read.
MOST_FILES = 60


class InferenceParams:
    r"""
    ## What Mamba, flash-attn and Megatron are handed

    A stand-in for the class of these libraries, with the names of all three.
    """

    def __init__(self, max_batch_size: int, max_seqlen: int) -> None:
        r"""
        * `max_batch_size` and `max_seqlen` are the texts, and their tokens in all
        """
        self.max_batch_size = max_batch_size
        self.max_seqlen = self.max_sequence_length = max_seqlen
        self.batch_size_offset = 0
        # How many tokens were read before.
        self.seqlen_offset = self.sequence_len_offset = 0
        # Each layer puts its keys and values here, under its number.
        self.key_value_memory_dict: dict[Any, Any] = {}
        self.lengths_per_sample = None

    def is_static_batching(self) -> bool:
        r"""
        ### All texts begin at once
        """
        return True


def cache_classes(model: nn.Module) -> list[type]:
    r"""
    ## Classes of a cache that the model's file knows

    The caller makes a cache of one of them. If that file knows none, those of the files beside it.
    """
    # The names of the file: its own classes, and those that it imports.
    around = getattr(inspect.unwrap(type(model).forward), "__globals__", {})
    classes = [one for one in around.values() if isinstance(one, type)]
    found = [one for one in classes if re.search(CACHE_CLASS, one.__name__)]
    if found:
        return found
    # The library of that class may be missing, so the stand-in takes its place.
    if any(re.search(TOLD, name) for name in inspect.signature(model.forward).parameters):
        return [InferenceParams]
    path = around.get("__file__")
    return [*classes_beside(path)] if isinstance(path, str) else []


@lru_cache(maxsize=64)
def classes_beside(path: str) -> tuple[type, ...]:
    r"""
    ## Those of the files beside a file

    The class alone is run, with what its file imports from PyTorch and from some modules of
    Python's.
    """
    found = []
    others = [one for one in sorted(Path(path).parent.glob("*.py")) if one != Path(path)]
    for other in others[:MOST_FILES]:
        # What can't be read or run has no class for us.
        try:
            text = other.read_text("utf-8")
            if re.search(r"(?m)^class \w*" + CACHE_CLASS, text):
                found += classes_in(text, str(other))
        except Exception:
            continue
    return tuple(found)


def classes_in(text: str, path: str) -> list[type]:
    r"""
    ## Those of a text
    """
    names: dict[str, Any] = {"__name__": Path(path).stem}
    wanted = [node for node in ast.parse(text).body if is_wanted(node)]
    # All at once: `from __future__ import annotations` holds for what is compiled with it.
    exec(compile(ast.Module(wanted, []), path, "exec"), names)
    return [names[node.name] for node in wanted if isinstance(node, ast.ClassDef)]


def is_wanted(node: ast.stmt) -> bool:
    r"""
    ### Is it a class of a cache, or an import that does nothing else?
    """
    if isinstance(node, ast.Import):
        return all(re.search(KNOWN, one.name) for one in node.names)
    if isinstance(node, ast.ImportFrom):
        return not node.level and bool(re.search(KNOWN, node.module or ""))
    return isinstance(node, ast.ClassDef) and bool(re.search(CACHE_CLASS, node.name))


def moved(cache: Any) -> dict[str, int]:
    r"""
    ## The number of tokens read so far

    By its name; empty, if the caller doesn't count in this cache.
    """
    known = getattr(cache, "__dict__", {})
    return {name: known[name] for name in MOVED if type(known.get(name)) is int}


def move(cache: Any, before: dict[str, int], tokens: int) -> None:
    r"""
    ## Raise that number

    Unless the model has done so.
    """
    for name, place in before.items():
        if getattr(cache, name) == place:
            setattr(cache, name, place + tokens)


def read_from_cache(model: nn.Module, name: str) -> list[str]:
    r"""
    ## What a model reads from a cache

    As “kv_cache.get_pos()”. What a dictionary, a list, a tuple or a tensor has as well says nothing
    about the class, and is left out.
    """
    text, _ = code_of(type(model).forward)
    usual = {*dir(dict), *dir(list), *dir(tuple), "shape", "size"}
    found = re.findall(rf"\b{name}\.(\w+)", text)
    return [one for one in dict.fromkeys(found) if one not in usual]


def how_to_read(model: nn.Module, names: list[str]) -> str:
    r"""
    ## How to hand such a cache over

    Of the first of these arguments from which the model reads something. Empty, if there is none.
    """
    for name in names:
        read = read_from_cache(model, name)
        if read:
            return (
                f"`{name}` is an object that the caller makes, with {', '.join(read[:6])}: say by "
                "`read` a function of the model and of parts of the text that makes one, calls the "
                "model with it for each part, and gives torch.cat(logits, dim=1)"
            )
    return ""


def example(rows: int = 3, length: int = 7) -> tuple[int, dict[str, int]]:
    r"""
    ## Example

    A call has read seven tokens, and the caller counts them.

    ### Exercises

    ??? question "Why is the file that writes texts not imported?"
        It may load a model when it is imported. To define one class loads nothing.
    """
    cache = InferenceParams(rows, length)
    before = moved(cache)
    move(cache, before, length)
    return cache.seqlen_offset, before

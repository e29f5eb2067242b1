r"""
---
title: One Cache by Two Names
summary: A model may take its cache by a newer and an older name, and each has to be right.
know: read_parts.py
---

Release 5.24 of the transformers library says `cache` where it said `past_key_values`, and still
understands both. So may anybody's model. If one of the names leads to another tensor, or is read in
another branch, the model is right by one name and wrong by the other.

**In:** a model with a cache that agrees in one way. **Out:** a way to [read](read_parts.py) by each
of its names.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.calling import beside, called_with, find_logits
from wrongline.in_place import borrowed
from wrongline.made_caches import refuse_unread
from wrongline.read_parts import (
    CACHES,
    Counts,
    Place,
    Read,
    cache_in,
    first_place,
    likely_names,
    next_call,
    nowhere,
)

# One cache may go by the newer name and by the older ones at once.
ONE_CACHE = CACHES[:3]


def by_name(name: str, wishes: dict, place: Place, model: nn.Module, parts: list) -> list[Tensor]:
    r"""
    ## The cache comes back, and goes in by one of its names

    It is taken from the field of that name, if there is one.
    """
    cache: dict[str, Any] = {}
    said = []
    n_read = 0
    for number, part in enumerate(parts):
        given = beside(model, part) | wishes | place(n_read, part)
        result = next_call(partial(called_with, model, part, **given, **cache), number)
        if number == 1:
            refuse_unread(cache, given, result, model, part)
        kept = getattr(result, name, None)
        cache = {name: cache_in(result, name)[1] if kept is None else kept}
        said.append(find_logits(result))
        n_read += part.shape[1]
    return said


def by_each_name(model: nn.Module, part: Tensor) -> Iterator[tuple[str, Read]]:
    r"""
    ## Ways to read by each name of a cache

    If the model takes it by more names than one, or gives another one by another name. The one
    may be right, and the other one not.
    """
    held, wishes, offset = likely_names(model)
    taken = [name for name in ONE_CACHE if name in held]
    with borrowed(model):
        result = called_with(model, part, **beside(model, part), **wishes)
    given = {name: getattr(result, name, None) for name in ONE_CACHE}
    fields = [name for name, one in given.items() if one is not None]
    several = len({id(given[name]) for name in fields}) > 1
    place: Place = partial(first_place, offset) if offset else nowhere
    if len(taken) > 1 or several:
        for name in dict.fromkeys([*taken, *(fields if several else ())]):
            yield name, partial(by_name, name, wishes, place)


def example(batch_size: int = 3, seq_len: int = 7, n_vocab: int = 11) -> list[str]:
    r"""
    ## Example

    A model whose cache has one name: there is nothing more to read.

    ### Exercises

    ??? question "A model takes any name, and never reads `past_key_value`. Why is it not accused?"
        The same comes out with and without it, so nobody is told that it is a cache.
    """
    tokens = torch.randint(n_vocab, (batch_size, seq_len))
    return [name for name, _ in by_each_name(Counts(n_vocab, n_vocab), tokens)]

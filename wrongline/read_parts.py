r"""
---
title: Read a Text in Parts
summary: How any model with a cache is given a text piece by piece, as when it writes.
---

**In:** a model. **Out:** the ways in which it may read with a cache: functions that are given the
parts of a text, and give logits for each. The [tests of a cache](cache_tests.py) compare them with
those of the text as a whole.

A cache goes from call to call in one of four ways, and the names of the arguments tell which. It
comes back with the logits and goes into the next call. It is a dictionary or a list that the call
fills, or [an object of a class of the file](made_caches.py), such as “KVCache”. It stays in the
module, which has a switch for it. Or it stays there, and each call is told at which position its
tokens begin. Some models are given the whole text each time, and cut off by themselves what the
cache has.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate, product
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.cache_classes import cache_classes, move, moved
from wrongline.calling import (
    arguments_of,
    beside,
    called_with,
    find_logits,
    has_room,
    set_up,
)
from wrongline.comparison import NEAR, off
from wrongline.in_place import borrowed
from wrongline.kept_caches import LIKE, begin, contents
from wrongline.made_caches import (
    NoCacheError,
    made_cache,
    marks,
    new_dictionary,
    new_list,
    new_slots,
    refuse_unread,
)
from wrongline.model_tests import other_tokens
from wrongline.verdicts import told
from wrongline.whole import Whole

# What a cache is called, as an argument and as a field of the result. (Release 5.24 of the library
# says `cache` where it said `past_key_values` or `cache_params`, and still understands both.)
CACHES = ("cache", "past_key_values", "past_key_value", "cache_params", "state")

# What other code calls it, the wish for one, and the place of a part.
NOT_LIKE = r"^(use|return|output|enable)_|position|length|mask|size|offset"
WISHES = (
    r"^(use|return|enable)_?.*(cache|past|state|present|kv)|"
    r"^(return_intermediates|input_not_include_cache)$"
)
OFFSET = r"^(start|input|cur)_?pos|^(pos(ition)?_)?offset$|^past_len"

# The positions of all tokens.
POSITION_NAMES = r"^position_ids$|^(cache_)?positions?$"

Read = Callable[[nn.Module, list[Tensor]], list[Tensor]]
# From the number of tokens that were read, and the next part, to arguments.
Place = Callable[[int, Tensor], dict[str, Any]]


class LaterCallError(Exception):
    r"""
    ## A call with something in the cache has failed

    Its cause is the error of the model.
    """


def likely_names(model: nn.Module) -> tuple[list[str], dict[str, bool], str]:
    r"""
    ## Arguments of a cache

    Names that may hold it, wishes for one, and the name of an offset, if there is one.
    """
    others = dict([*arguments_of(model).items()][1:])
    wishes = {name: True for name in others if re.search(WISHES, name)}
    named = [name for name in CACHES if name in others]
    like = [name for name in others if re.search(LIKE, name) and not re.search(NOT_LIKE, name)]
    # What is a number or a text by default is no cache.
    like = [name for name in like if not isinstance(others[name].default, int | float | str)]
    held = [name for name in dict.fromkeys(named + like) if name not in wishes]
    # A model around another one passes on what it is given.
    if not held and any(one.kind is one.VAR_KEYWORD for one in others.values()):
        held = ["cache"]
        wishes = {"use_cache": True} | wishes
    offset = next((name for name in others if re.search(OFFSET, name)), "")
    return held, wishes, offset


def cache_in(result: Any, name: str) -> tuple[str, Any]:
    r"""
    ## The cache in a result, and its name there
    """
    # A result may have one cache under several names. First come those that the model takes.
    if isinstance(result, dict):
        like = [one for one in result if re.search(LIKE, str(one))]
        given = [one for one in (name, *CACHES, *like) if result.get(one) is not None]
        return (given[0], result[given[0]]) if given else ("", None)
    # Beside the logits, the cache comes last. Some have None there for a loss that isn't asked for.
    if type(result) in (tuple, list):
        others = [one for one in result if one is not None and one is not find_logits(result)]
        return ("", others[-1]) if others else ("", None)
    given = [one for one in (name, *CACHES) if getattr(result, one, None) is not None]
    return (given[0], getattr(result, given[0])) if given else ("", None)


def nowhere(n_read: int, part: Tensor) -> dict[str, Any]:
    r"""
    ## A part isn't told its place
    """
    return {}


def first_place(name: str, n_read: int, part: Tensor) -> dict[str, Any]:
    r"""
    ## A part is told the position of its first token
    """
    return {name: n_read}


def all_places(name: str, n_read: int, part: Tensor) -> dict[str, Any]:
    r"""
    ## A part is told the positions of all its tokens
    """
    return {name: torch.arange(n_read, n_read + part.shape[1], device=part.device)}


def places_in_rows(name: str, n_read: int, part: Tensor) -> dict[str, Any]:
    r"""
    ## A part is told them for each sequence
    """
    return {name: all_places(name, n_read, part)[name].expand(part.shape)}


def next_call(call: Callable[[], Any], number: int) -> Any:
    r"""
    ## Call it with what was read

    The first call is a guess. If a later one fails, the model's cache does.
    """
    if not number:
        return call()
    try:
        return call()
    except Exception as error:
        raise LaterCallError from error


def returned(name: str, wishes: dict, place: Place, model: nn.Module, parts: list) -> list[Tensor]:
    r"""
    ## The cache comes back with the logits
    """
    taken = arguments_of(model)
    cache: dict[str, Any] = {}
    said = []
    n_read = 0
    for number, part in enumerate(parts):
        # The first call is given no cache, and makes one.
        given = beside(model, part) | wishes | place(n_read, part) | cache
        result = next_call(partial(called_with, model, part, **given), number)
        # What takes any name may have no use for this one.
        if number == 1 and not {*cache} & {*taken}:
            refuse_unread(cache, given, result, model, part)
        there, kept = cache_in(result, name)
        # A model without one would be told each part alone.
        if kept is None:
            raise NoCacheError(f"nothing comes back for `{name}`")
        # It goes by the name of an argument.
        cache = {(there if there in taken or name not in taken else name) or name: kept}
        said.append(find_logits(result))
        n_read += part.shape[1]
    return said


def filled(
    name: str, make: Callable, wishes: dict, place: Place, model: nn.Module, parts: list
) -> list[Tensor]:
    r"""
    ## The call fills a dictionary or a list
    """
    cache = make(model, parts)
    before = marks(cache)
    said = []
    n_read = 0
    for number, part in enumerate(parts):
        given = beside(model, part) | wishes | place(n_read, part) | {name: cache}
        place_now = moved(cache)
        result = next_call(partial(called_with, model, part, **given), number)
        if marks(cache) == before:
            raise NoCacheError(f"`{name}` stays empty")
        move(cache, place_now, part.shape[1])
        said.append(find_logits(result))
        n_read += part.shape[1]
    return said


def read_module(
    wishes: dict, place: Place, model: nn.Module, parts: list
) -> tuple[list[Tensor], bool]:
    r"""
    ## Read with what a module keeps

    Beside the logits, whether something of it is called a cache, or is made like one.
    """
    said = []
    n_read = 0
    with borrowed(model):
        # What can be emptied, or given room, is a cache.
        is_one = begin(model, parts[0])
        is_one |= set_up(model, len(parts[0]), sum(one.shape[1] for one in parts))
        before = contents(model)
        for number, part in enumerate(parts):
            given = beside(model, part) | wishes | place(n_read, part)
            try:
                result = next_call(partial(called_with, model, part, **given), number)
            except LaterCallError as error:
                if is_one or error.__cause__ is None:
                    raise
                raise NoCacheError(f"no cache seen: {told(error.__cause__)}") from error.__cause__
            said.append(find_logits(result))
            is_one = is_one or contents(model) != before
            n_read += part.shape[1]
    return said, is_one


def in_module(wishes: dict, place: Place, model: nn.Module, parts: list) -> list[Tensor]:
    r"""
    ## The cache stays in the module

    Whatever it is called there, the last part tells: it depends on those that were read before.
    """
    said, is_one = read_module(wishes, place, model, parts)
    if is_one:
        return said
    others = [other_tokens(part, by) for by, part in enumerate(parts[:-1], 1)]
    again, _ = read_module(wishes, place, model, [*others, parts[-1]])
    if off(again[-1], said[-1]) < NEAR:
        raise NoCacheError("the module keeps nothing that a later call uses")
    return said


def whole_texts(read: Read, model: nn.Module, parts: list) -> list[Tensor]:
    r"""
    ## Each call is given the whole text, beside the cache

    A model that cuts off what was read gives logits for new tokens only, and needs the cache for
    the others. So the text is read once more, with other tokens in place of those that were read
    before. If that changes anything, the model reads them again, and its cache isn't tried by this.
    """
    text = torch.cat(parts, dim=1)
    other = other_tokens(text)
    ends = list(accumulate(part.shape[1] for part in parts))
    replaced = [
        torch.cat([other[:, : end - part.shape[1]], part], dim=1)
        for end, part in zip(ends, parts, strict=True)
    ]
    try:
        said = read(model, [text[:, :end].contiguous() for end in ends])
        again = read(model, replaced)
    except LaterCallError as error:
        raise NoCacheError("it doesn't take the whole text with a cache") from error
    for part, one, two in zip(parts, said, again, strict=True):
        if one.shape[1] > part.shape[1] or off(two, one) >= NEAR:
            raise NoCacheError("what was read before is read again")
    return said


def ways_to_read(model: nn.Module) -> Iterator[Read]:
    r"""
    ## All ways in which a model may read with a cache

    The likelier ones come first, and those that are given the whole text each time come last.
    """
    held, wishes, offset = likely_names(model)
    # If it wants to know where a part begins, that is the likelier way.
    kinds = (first_place, all_places) if offset else ()
    places: list[Place] = [partial(one, offset) for one in kinds]
    for place in [*places, nowhere]:
        for name in held:
            yield partial(returned, name, wishes, place)
            yield partial(filled, name, new_dictionary, wishes, place)
            yield partial(filled, name, new_list, wishes, place)
            for kind in cache_classes(model):
                for is_list, shares in product((False, True), (True, False)):
                    make = partial(made_cache, kind, is_list, shares=shares)
                    yield partial(filled, name, make, wishes, place)
            # How an object of its own class fails tells more than a list in its place.
            yield partial(filled, name, new_slots, wishes, place)
        if wishes and not held or place is not nowhere or has_room(model):
            yield partial(in_module, wishes, place)
    for name in held:
        yield partial(whole_texts, partial(returned, name, wishes, nowhere))
        yield partial(whole_texts, partial(filled, name, new_dictionary, wishes, nowhere))
        yield partial(whole_texts, partial(filled, name, new_list, wishes, nowhere))
    if wishes and not held:
        yield partial(whole_texts, partial(in_module, wishes, nowhere))


def way_of(read: Any) -> str:
    r"""
    ## One of these ways, in words
    """
    if read.func is whole_texts:
        return f"{way_of(read.args[0])}, with the whole text each time"
    return "in the module" if read.func is in_module else f"by `{read.args[0]}`"


def told_positions(model: nn.Module) -> Iterator[Read]:
    r"""
    ## Ways in which each part is told its positions

    Though the model has a default for them.
    """
    held, wishes, _ = likely_names(model)
    for position in [name for name in arguments_of(model) if re.search(POSITION_NAMES, name)]:
        for place in (places_in_rows, all_places):
            for name in held:
                yield partial(returned, name, wishes, partial(place, position))


def read_parts(model: nn.Module, parts: list[Tensor]) -> Tensor | None:
    r"""
    ## Read with a cache

    Logits of all tokens in the first way that it can be read, or None if the model has no cache.
    """
    for read in ways_to_read(model):
        try:
            return torch.cat(read(model, parts), dim=1)
        except Exception:
            continue
    return None


def read_by(whole: Whole, model: nn.Module, lengths: list[int]) -> Tensor | None:
    r"""
    ## Read parts of given lengths
    """
    # The text is cut along its second axis.
    parts = [part.contiguous() for part in whole.inputs.split(lengths, dim=1)]

    # You know how your model is called.
    return whole.read(model, parts) if whole.read else read_parts(model, parts)


class Counts(nn.Embedding):
    r"""
    ## A model with a cache

    It adds up the rows of all tokens so far. What it remembers is the sum.
    """

    def forward(
        self, tokens: Tensor, use_cache: bool = False, state: Tensor | None = None
    ) -> "Counts.Output":
        r"""
        ### Logits and a cache

        From tokens, `[batch_size, seq_len]`, to a row of logits for each, and the sum of all rows,
        which is for the next call.
        """
        sums = super().forward(tokens).cumsum(dim=1)

        # What was read before counts, too.
        if state is not None:
            sums = sums + state
        return Counts.Output(sums, sums[:, -1:])

    class Output:
        r"""
        ### Both together
        """

        def __init__(self, logits: Tensor, state: Tensor) -> None:
            r"""
            * `logits` are for the next tokens, and `state` is for the next call
            """
            # By these names they are found.
            self.logits = logits
            self.state = state


def example(batch_size: int = 3, seq_len: int = 7, n_vocab: int = 11) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    In parts of two tokens and of five, and at once. Both give the same logits.

    ### Exercises

    ??? question "Why is an error in reading no failure of the test?"
        A model that refuses several tokens at once says so, loudly. The mistakes here are silent.
    """
    # Random tokens: what counts is that both ways agree.
    tokens = torch.randint(n_vocab, (batch_size, seq_len))
    whole = Whole(Counts(n_vocab, n_vocab), tokens, tokens)

    # The cache goes from the first call into the second.
    found = read_by(whole, whole.model, [2, seq_len - 2])
    # None would mean that there is no cache.
    assert found is not None

    # Nothing was read before.
    at_once = whole.model(tokens).logits
    return found, at_once

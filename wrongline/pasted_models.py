r"""
---
title: Call a Pasted Model
summary: How a whole model that somebody has written is called, and how one with a cache reads.
know: ways_to_call.py
---

A whole model gets tokens and gives a score for each token that may come next. That much is sure.
Some models want targets as well, and give the loss first. Some want the sequence first, some a mask
from outside. nanoGPT, without targets, gives the scores of the last position alone. If you take
them for the scores of all positions, you find a leak where there is none.

**In:** a model that somebody else has written. **Out:** the ways to call it, the tensor of its
result that has the scores, and a function that reads a text in parts, if it has a cache.

With a mask that is never used, the printed loss is
[0.044](../results/mistakes.json#tables.mistakes.MaskUnused.printed). A test can tell, if it
calls the model in the right way.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.batches import TARGETS
from wrongline.calling import BEGINNING, shaped
from wrongline.in_place import borrowed
from wrongline.model_tests import MODEL_TESTS
from wrongline.places import place_of
from wrongline.properties import (
    nothing_from_the_future,
    same_twice,
    sequences_apart,
)
from wrongline.read_parts import Read, ways_to_read
from wrongline.sizes import SIZES
from wrongline.verdicts import RIGHT, SaidError
from wrongline.ways_to_call import OTHER_LENGTH, Refused, Way, best_of, reads_ahead, ways
from wrongline.whole import Whole, run_tests

# What published code calls a cache, and the wish for one.
CACHE = r"past|cache|^kv|state"
WISH = r"^(use|return)_"


def is_model(module: nn.Module) -> bool:
    r"""
    ## An attention, or a whole model?

    What has a table of tokens reads tokens.
    """
    # The table is somewhere within it. (An attention may have one for positions, so it is tried
    # as an attention first.)
    return any(isinstance(one, nn.Embedding) for one in module.modules())


def texts(d_model: int = 0) -> Tensor:
    r"""
    ## What a module is tried with

    5 sequences of 7 vectors, or of tokens if no width is said.
    """
    # If there were as many sequences as tokens, a mask would fit along both axes. Token 0 is
    # padding for many.
    torch.manual_seed(1)
    return torch.randn(5, 7, d_model) if d_model else torch.randint(1, SIZES["n_vocab"], (5, 7))


def scores_in(result: Any, tokens: Tensor | None = None) -> Tensor:
    r"""
    ## The scores in a result

    The first tensor with three axes: for the batch, the positions and the features or tokens. Or
    one with a row for each of the `tokens`.
    """
    # In a field, in a dictionary, beside a loss or a cache: all of it is looked through.
    found = getattr(result, "logits", result)
    if isinstance(found, dict):
        found = found.get("logits", [*found.values()])

    # A loss has no axes, and a cache has one more, for the heads.
    parts = found if isinstance(found, tuple | list) else [found]
    for one in parts:
        if isinstance(one, Tensor) and one.dim() == 3:
            return one
    # For a loss, some have put all positions into one row.
    for one in parts:
        if isinstance(one, Tensor) and tokens is not None and one.dim() == 2:
            shaped_one = shaped(one, tokens)
            if shaped_one.dim() == 3:
                return shaped_one

    # The sentence is what the page shows.
    shapes = [list(one.shape) if isinstance(one, Tensor) else type(one).__name__ for one in parts]
    if shapes == [[]]:
        raise SaidError("it gives one number, as a loss is: `forward` must give the scores, too")
    given = ", ".join(str(one) for one in shapes) or "nothing"
    raise SaidError(f"no result has three axes for batch, positions and tokens: it gives {given}")


# What else a model must be given: zeros for segments, places, the text of its encoder.
SEGMENTS = r"(?i)segment|token_type|type_ids"
PLACES = r"(?i)pos"
SOURCE = r"(?i)^(src|source|enc(oder)?_(in|input|tokens|ids)\w*|context|memory)"


def role_of(name: str) -> str:
    r"""
    ## What an argument of a model is
    """
    if re.search(BEGINNING, name):
        return "beginning"
    roles = {"segments": SEGMENTS, "places": PLACES, "source": SOURCE}
    return next((one for one, pattern in roles.items() if re.search(pattern, name)), "tokens")


@dataclass(frozen=True)
class ModelWay(Way):
    r"""
    ## A way to call a model

    As for an [attention](ways_to_call.py#Way). What is passed once more are the targets. Other
    inputs have a role: they are zeros, places, the place of the first token, or the text of an
    encoder.
    """

    roles: tuple[str, ...] = ()

    def given(self, turned: Tensor) -> list[Any]:
        r"""
        ### Its inputs
        """
        source = (torch.arange(OTHER_LENGTH) * 5 + 1) % (SIZES["n_vocab"] - 2) + 1
        is_first = int(self.layout == "sequence first")
        rows = turned.shape[is_first]
        source = source.unsqueeze(is_first)
        # The same for all sequences, and another length than theirs.
        source = source.repeat(1, rows) if is_first else source.repeat(rows, 1)
        length = turned.shape[1 - is_first]
        places = torch.arange(length).unsqueeze(is_first).expand_as(turned)
        known = {
            "tokens": turned,
            "segments": torch.zeros_like(turned),
            "places": places.contiguous(),
            "beginning": 0,
            "source": source.contiguous(),
        }
        return [known[role] for role in self.roles or ["tokens"] * self.inputs]

    def __call__(self, model: nn.Module, x: Tensor) -> Tensor:
        r"""
        ### Call it

        `x` are tokens, `[batch_size, seq_len]`. The result is
        `[batch_size, seq_len, n_vocab]`.
        """
        # The same numbers; only the order of the axes changes. Models often give targets a view,
        # which a piece of a longer text doesn't allow.
        turned = x.t() if self.layout == "sequence first" else x
        # A model that makes its own mask gets none.
        mask: dict[str, Any] = dict.fromkeys(self.absent)
        mask |= {} if self.mask == "none" else {self.name: self.causal_mask(x.shape[1])}

        # The tokens are their own targets. That is no training: it only asks for all scores.
        scores = scores_in(model(*self.given(turned.contiguous()), **mask), turned)
        return scores.transpose(0, 1) if self.layout == "sequence first" else scores


def badness(module: nn.Module, way: Way, x: Tensor) -> int:
    r"""
    ## How many quick tests fail in a way to call it
    """
    # Those of a model are quick. Nothing is trained, so the targets don't matter.
    if isinstance(way, ModelWay):
        with torch.no_grad():
            found = run_tests(MODEL_TESTS, Whole(module, x, x, predict=way))
        # What couldn't be tried for a NaN is no better than what fails.
        return sum(weight(one.test) for one in found.verdicts if one.kind != RIGHT)

    # Three quick tests tell the ways apart: what is read along the wrong axis fails one of them.
    # (A test may leave it in training.)
    tests = (same_twice, nothing_from_the_future, sequences_apart)
    wrong = 0
    for test in tests:
        # One that refuses a batch of one, for example, is still called in the right way: that is
        # less bad than to fail.
        try:
            wrong += weight(test.__name__) * bool(test(module.eval(), lambda x: way(module, x), x))
        except Exception:
            wrong += 1
            if test is nothing_from_the_future:
                wrong += 2 * sees_ahead(module, way, x)
    return wrong


def sees_ahead(module: nn.Module, way: Way, x: Tensor) -> bool:
    r"""
    ## Without gradients, does it see the future?

    Some can't be differentiated twice. No, if a shorter text can't be read.
    """
    try:
        with torch.no_grad():
            return bool(reads_ahead(module, way, x))
    except Exception:
        return False


def weight(test: str) -> int:
    r"""
    ## How bad it is to fail a quick test

    An encoder sees the future on purpose. Nothing reads along the batch on purpose.
    """
    return 4 if test in ("sequences_apart", "each_sequence_alone") else 2


def best_way(
    attention: nn.Module, answers: dict[str, Any], d_model: int = SIZES["d_model"]
) -> tuple[Way | None, Refused | None]:
    r"""
    ## The way in which an attention does best

    And the error of the way that came furthest, if it runs in none.
    """
    # The same input for all ways: vectors, as in a model's layers. Nothing is told of what fails,
    # unless everything does.
    return best_of(attention, ways(attention.forward, answers), texts(d_model), badness)


def model_ways(forward: Callable, answers: dict[str, Any]) -> Iterator[ModelWay]:
    r"""
    ## All ways to call a model

    `answers` are what somebody has said.
    """
    # With what it must be given, first. Nothing else has no default.
    named = [*inspect.signature(forward).parameters]
    first = next(ways(forward, {}))
    needed = first.inputs
    # Then with its targets, if they come next.
    more = len(named) > needed and re.search(TARGETS, named[needed])
    # Inputs come in the order of the signature, without masks.
    others = [one for one in named if one not in (*first.absent, first.name)]
    for inputs in (needed, needed + 1)[: 2 if more else 1]:
        # What was said replaces what was guessed.
        for way in ways(forward, {"inputs": inputs, "other": False} | answers):
            roles = tuple(role_of(one) for one in others[: way.inputs])
            # A single text is no text of an encoder.
            plain = {*roles} == {"tokens"} or roles.count("tokens") == 0 and len(roles) == 1
            yield ModelWay(**vars(way), roles=() if plain else roles)


def reader(
    module: nn.Module, way: Way, x: Tensor, cache: str = ""
) -> tuple[str, Callable[[nn.Module, list[Tensor]], Tensor] | None]:
    r"""
    ## Read with a cache

    The name of the argument that takes the cache, and a function that reads the parts of a text one
    after the other. None, if it has no cache or can't be read so. `cache` is what somebody has
    said: a name, or “none”.
    """
    # Arguments that hold what was read, and those that ask for it. (The input comes first. Its name
    # may have the word “state” in it.)
    others = [*inspect.signature(module.forward).parameters][way.inputs :]
    names = [one for one in others if re.search(CACHE, one)]
    wishes = {one: True for one in names if re.match(WISH, one)}
    # Several may hold it; one is enough. (What somebody has said goes first.)
    held = [one for one in names if one not in wishes]
    name = cache or (held[0] if held else "")

    # Which mask a part gets that begins in the middle, only its author knows.
    if way.mask != "none" or cache and name not in held:
        return "", None
    if name not in held:
        return in_other_ways(module, way, x)

    def read(module: nn.Module, parts: list[Tensor]) -> Tensor:
        # Scores of all parts, and what is kept from one call to the next.
        said = []
        kept: dict[str, Any] = {}
        for part in parts:
            # As the whole text is given.
            turned = part.transpose(0, 1) if way.layout == "sequence first" else part
            # The first call gets no cache, and makes one. Each later one gets that of the call
            # before it.
            # (The text of an encoder, or of cross-attention, is the same each time.)
            given = way.given(turned) if isinstance(way, ModelWay) else way.inputs_of(part, turned)
            result = module(*given, **dict.fromkeys(way.absent), **wishes, **kept)

            # The cache comes last in the result. Some have None there for a loss that isn't asked
            # for.
            scores = scores_in(result)
            kept = {name: [one for one in result if one is not None][-1]}
            said.append(scores.transpose(0, 1) if way.layout == "sequence first" else scores)
        # Side by side, as if it had been read at once.
        return torch.cat(said, dim=1)

    # A cache that needs more than that is not tried, rather than called wrong.
    try:
        read(module.eval(), [*x.split([3, x.shape[1] - 3], dim=1)])
    except Exception:
        return ("", None) if cache else in_other_ways(module, way, x)
    return name, read


def in_other_ways(
    module: nn.Module, way: Way, x: Tensor
) -> tuple[str, Callable[[nn.Module, list[Tensor]], Tensor] | None]:
    r"""
    ## Read in one of the other ways

    The cache may be [filled by the call, or stay in the module](read_parts.py). The first way in
    which it agrees is taken, or else the first that runs.
    """
    if way.layout != "batch first" or way.inputs > 1 or isinstance(way, ModelWay) and way.roles:
        return "", None
    parts = [part.contiguous() for part in x.split([3, x.shape[1] - 3], dim=1)]
    found: tuple[str, Callable[[nn.Module, list[Tensor]], Tensor] | None] = ("", None)
    with torch.no_grad(), borrowed(module):
        whole = way(module.eval(), x)
    for one in ways_to_read(module):

        def read(module: nn.Module, parts: list[Tensor], one: Read = one) -> Tensor:
            return torch.cat([scores_in(part) for part in one(module, parts)], dim=1)

        try:
            with torch.no_grad(), borrowed(module):
                said = read(module.eval(), parts)
        except Exception:
            continue
        if said.shape != whole.shape:
            continue
        # A cache that stays in the module has no argument.
        name = next((each for each in getattr(one, "args", ()) if isinstance(each, str)), "")
        if place_of(said, whole) is None:
            return name, read
        found = found if found[1] else (name, read)
    return found


class Counts(nn.Embedding):
    r"""
    ## A model for the example

    It adds up rows, and gives a loss, the scores and the sum so far.
    """

    def forward(
        self, tokens: Tensor, targets: Tensor, past: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        r"""
        From tokens, `[batch_size, seq_len]`, to scores, `[batch_size, seq_len, n_vocab]`.
        """
        sums = super().forward(tokens).cumsum(dim=1)
        # What was read before counts, too.
        sums = sums if past is None else sums + past[..., None, :]
        # The loss first, as some models have it.
        loss = nn.functional.cross_entropy(sums.flatten(0, 1), targets.flatten())
        return loss, sums, sums[:, -1]


def example(batch_size: int = 5, seq_len: int = 7, n_vocab: int = 19) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    The scores at once, and read in two parts with the cache.

    ### Exercises

    ??? question "A model gives `(loss, logits)`. Why isn't the first result taken?"
        A loss has no axes. The first tensor with three of them has the scores.

    ??? question "nanoGPT is called without targets. Why does a test see a leak then?"
        It gives the last position alone. Of a shorter text that is another position, so its scores
        differ, as if later tokens had changed them.
    """
    # Tokens, and a model that wants targets too.
    tokens = torch.randint(n_vocab, (batch_size, seq_len))
    model = Counts(n_vocab, n_vocab)
    way = next(model_ways(model.forward, {}))

    # It has found the argument for the cache by its name.
    _, read = reader(model, way, tokens)
    assert read is not None
    return way(model, tokens), read(model, [*tokens.split([2, seq_len - 2], dim=1)])

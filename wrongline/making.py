r"""
---
title: Make What Was Pasted
summary: A module is made and called in all ways that there are, with other sizes after an error.
know: ways_to_call.py
---

**In:** a class or a function of a text, and the sizes that were guessed. **Out:** the module, what
it is (an attention, a model of tokens, or one of pictures), and the way in which it is called; or
the error of the likeliest way, with its line.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.attempts import Attempt, others
from wrongline.comparison import NEAR
from wrongline.configurations import maker
from wrongline.functions import OfFunction, tries_of
from wrongline.guesses import sizes_in
from wrongline.in_place import borrowed
from wrongline.pasted_models import (
    badness,
    best_way,
    is_model,
    model_ways,
    texts,
)
from wrongline.pasted_text import COPIED, in_words
from wrongline.pictures import shape_of, takes_pictures
from wrongline.properties import gradient
from wrongline.run_pasted import run_text
from wrongline.sizes import SIZES
from wrongline.ways_to_call import Refused, Way, best_of, further, refused_by, ways

# So many other sizes are tried after an error.
ATTEMPTS = 6


@dataclass(frozen=True)
class Made:
    r"""
    ## What is tested, and how

    * `module` was made, and is called in a `way`; that is None for a model of pictures
    * `heads` is 0 if nobody has said how many there are
    * `width` is that of the input
    * `shape` is that of pictures
    """

    module: nn.Module
    way: Way | None
    heads: int
    width: int
    shape: tuple[int, int, int] | None = None


class Failed(Exception):
    r"""
    ## Why nothing was tested

    A sentence, with its line.
    """

    def __init__(self, sentence: str, line: int | None = None) -> None:
        r"""
        * `sentence` says what to do, if anybody knows
        """
        super().__init__(sentence)
        self.line = line


def make(text: str, kind: Any, tried: Attempt) -> Iterator[nn.Module]:
    r"""
    ## Make it

    One module of a class, or a few of a function.
    """
    # The same random numbers each time. Dropout is on, since some mistakes are there with dropout
    # only.
    torch.manual_seed(1)
    # Sizes that stand above the class are names of its file.
    getattr(maker(kind), "__globals__", {}).update(tried.constants)
    one = kind if isinstance(kind, FunctionType) else kind(**tried.arguments)
    yield from tries_of(one, text)


def fill(module: nn.Module, answers: dict[str, Any], width: int) -> None:
    r"""
    ## Layers that learn their size from the first call

    Until then they have no weights. So whatever way runs first is called once.
    """
    if not any(isinstance(one, nn.LazyLinear) for one in module.modules()):
        return
    every: list[tuple[Way, Tensor]] = [(way, texts(width)) for way in ways(module.forward, answers)]
    every += [(way, texts()) for way in model_ways(module.forward, answers)]
    for way, x in every:
        try:
            with torch.no_grad():
                way(module.eval(), x)
            return
        except Exception:
            continue


def call_it(
    module: nn.Module, answers: dict[str, Any], tried: Attempt
) -> tuple[Made | None, Refused | None]:
    r"""
    ## Find out what it is, and how it is called

    Or why it can't be called.
    """
    # What runs on vectors is an attention. (One may have a table of positions.) Of the rest, what
    # has a table reads tokens, and so does what runs on them: a table may be a bare parameter.
    heads = sizes_in(module, tried.constants, tried.arguments)["heads"]
    heads = 1 if getattr(module, "heads", "") == "no heads" else heads
    fill(module, answers, tried.width)
    way, refused = best_way(module, answers, tried.width)
    if way is None:
        every = model_ways(module.forward, answers)
        way, why = best_of(module, every, texts(), badness)
        refused = why if is_model(module) else refused
    if way is not None:
        return Made(module, way, heads, tried.width), None

    # Of what reads neither, the first convolution or patch reads pictures. (It may have a table of
    # positions.)
    shape = shape_of({**tried.constants, **tried.arguments})
    error = takes_pictures(module, shape)
    if error is None:
        return Made(module, None, heads, tried.width, shape), None
    # What has a convolution over two axes was meant for them.
    wants_four = refused is not None and "expected 4" in refused.sentence
    if wants_four or any(one.dim() == 4 for one in module.parameters()):
        refused = refused_by(error)
    return None, refused


def sees_past(module: nn.Module, way: Way | None, width: int) -> bool:
    r"""
    ## Does a position see those before it?

    Where heads are taken for positions, everything runs, and no position sees another.
    """
    if not isinstance(module, OfFunction) or way is None:
        return True
    x = texts(width)
    with borrowed(module):
        found = gradient(lambda x: way(module.eval(), x), x, (0, -1))
    return bool((found[0, :-1].abs() > NEAR * found.abs().max()).any())


def made_of(
    text: str, kind: Any, answers: dict[str, Any], first: Attempt, said: set[str]
) -> tuple[Made, Attempt]:
    r"""
    ## Make it and call it

    With [other sizes](attempts.py), if an error names them.
    """
    waiting = [first]
    refused: Refused | None = None
    has_no_weights = False
    first_error: Exception | None = None
    for _ in range(ATTEMPTS):
        if not waiting:
            break
        tried = waiting.pop(0)
        likely: list[Made] = []
        try:
            for module in make(text, kind, tried):
                made, refusal = call_it(module, answers, tried)
                # Of a function, the layout in which the past matters.
                if made:
                    likely += [made]
                    if sees_past(made.module, made.way, made.width):
                        return made, tried
                    continue
                assert refusal is not None
                refused = further(refused, refusal)
                has_no_weights = not [*module.parameters()]
                why = refusal.sentence
                waiting += [one for one in others(why, tried, said) if one not in waiting]
        # It can't be made with these.
        except Exception as error:
            first_error = first_error or error
            why = in_words(error)
            waiting += [one for one in others(why, tried, said) if one not in waiting]
        if likely:
            return likely[0], tried
    if refused is None:
        assert first_error is not None
        raise first_error
    remedy = "Say below what it is made with"
    if has_no_weights:
        remedy = "It has no weights of its own: paste the class that calls it, too"
    raise Failed(
        "It runs in no way that we know. In the one that came furthest: "
        f"{refused.sentence.rstrip('.')}. {remedy}",
        refused.line,
    )


def example(batch_size: int = 3, seq_len: int = 7) -> Tensor:
    r"""
    ## Example

    A class of a text, made and called.

    ### Exercises

    ??? question "A class of layers without weights takes queries, keys and values. What is tested?"
        The class as a function, between four matrices: it is compared with the formula then.
    """
    kind = run_text(COPIED)["SelfAttention"]
    sizes = {"embed_size": SIZES["d_model"], "heads": SIZES["heads"]}
    made, _ = made_of(COPIED, kind, {}, Attempt(sizes), set())
    assert made.way is not None
    return made.way(made.module, torch.randn(batch_size, seq_len, SIZES["d_model"]))

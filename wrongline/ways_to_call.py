r"""
---
title: Find the Way to Call a Module
summary: Is the batch first? Does true hide or show? Every way is tried, and the best one taken.
know: guesses.py
---

An attention is made, and now it has to be called. Is the batch first, or the sequence? Does it want
its input three times, as query, key and value? Does true hide or show? Nothing in a signature says
so. So we try all ways, and take the one in which the attention does best: an attention that is
right under one reading of its mask is not to be called wrong under another.

**In:** a module that somebody else has written. **Out:** a [way](ways_to_call.py#Way) to call it.
It is shown, and can be corrected [where the class is pasted](pasted.py).

With a mask that is read upside down, everything runs and every shape is right: no error says which
meaning is meant. So each way is judged by what comes out.
"""

import inspect
import math
import os
import re
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.angles import angles_among, forms_for, unturned
from wrongline.in_place import borrowed, forget_history
from wrongline.pasted_text import failed_line, in_words
from wrongline.sizes import SIZES, is_off, meaning
from wrongline.verdicts import SaidError, is_inside, told
from wrongline.words import causal_word, code_of


def output_in(result: Any, x: Tensor) -> Any:
    r"""
    ## The output in a result

    Beside it may be weights, or a cache. What has the shape of the input is the output.
    """
    # In a dictionary, in fields, or side by side.
    if not isinstance(result, Tensor | dict | tuple | list):
        result = getattr(result, "__dict__", result)
    parts = [*result.values()] if isinstance(result, dict) else result
    parts = parts if isinstance(parts, tuple | list) else [parts]

    # Of several tensors with that shape the first is taken.
    fits = [one for one in parts if isinstance(one, Tensor) and one.shape == x.shape]
    # If nothing has that shape, there will be more to say about it.
    return [*fits, *parts][0]


@dataclass(frozen=True)
class Refused:
    r"""
    ## Why no way runs

    * `sentence` is the error of the way that came furthest, and `line` that of a pasted text
    * `reached` are the lines that led to it, the outermost first: the later they are, the further
    * `placed` is the sentence with the file and the line
    """

    sentence: str
    line: int | None = None
    reached: tuple[float, ...] = ()
    placed: str = ""


# What runs to its end gives something else than an output.
AT_THE_END = (math.inf,)


def refused_by(error: Exception) -> Refused:
    r"""
    ## How far an error came
    """
    # These tests have a sentence of their own for a result that is no output.
    if isinstance(error, SaidError):
        return Refused(str(error), None, AT_THE_END, str(error))
    lines = [
        one.lineno or 0
        for one in traceback.extract_tb(error.__traceback__)
        if not is_inside(one) and os.path.dirname(one.filename) != os.path.dirname(__file__)
    ]
    # An error without a message has no more to say than its line.
    place = told(error).removeprefix(f"{type(error).__name__}: {error}")
    return Refused(in_words(error), failed_line(error), tuple(lines), in_words(error) + place)


def further(one: Refused | None, other: Refused) -> Refused:
    r"""
    ## Which of two came further

    The first one, if they came equally far, because the likelier ways come first.
    """
    return other if one is None or other.reached > one.reached else one


@dataclass(frozen=True)
class Way:
    r"""
    ## A way to call an attention

    * `layout` is the order of axes, “batch first” or “sequence first”
    * `inputs` is how often the input is passed: three times as query, key and value
    * `mask` says what its mask means: “none” is passed, “true shows”, “true hides”, or “added” to
      the scores
    * `shape` is that of the mask; `name` is what the argument is called
    * `switch` is an argument that is turned on, such as PyTorch's `is_causal`, by true or a `word`
    * `other` says that its keys and values come from another text: its inputs but for the first
    * `absent` are arguments that must be given, and get None: masks of padding, lengths
    * `offset` makes another text of that
    * `angles` are arguments for rotary positions, which get [angles of 0](angles.py) in a `form`,
      for heads of a `width`
    """

    layout: str = "batch first"
    inputs: int = 1
    mask: str = "none"
    shape: str = "T, T"
    name: str = ""
    switch: str = ""
    word: Any = True
    other: bool = False
    absent: tuple[str, ...] = ()
    offset: float = 0.0
    angles: tuple[str, ...] = ()
    form: str = ""
    width: int = 0

    def context(self, rows: int, d_model: int) -> Tensor:
        r"""
        ### The other text, for cross-attention

        The same for each sequence, and longer than theirs.
        """
        numbers = torch.randn(1, OTHER_LENGTH, d_model, generator=torch.Generator().manual_seed(2))
        return numbers.repeat(rows, 1, 1) + self.offset

    def inputs_of(self, x: Tensor, turned: Tensor) -> list[Tensor]:
        r"""
        ### Its inputs

        `turned` is `x` as it is given. Query, key and value are the same: self-attention.
        """
        if not self.other:
            return [turned] * self.inputs
        context = self.context(len(x), x.shape[-1]).to(x)
        context = context.transpose(0, 1) if self.layout == "sequence first" else context
        return [turned, *[context] * (self.inputs - 1)]

    def causal_mask(self, n: int) -> Tensor:
        r"""
        ### The causal mask, as this attention wants it
        """
        # True from the diagonal down: position $i$ sees itself and all before it.
        shows = torch.ones(n, n, dtype=torch.bool).tril()
        # Added to a score, minus infinity hides it, and zero leaves it as it is.
        added = torch.zeros(n, n).masked_fill(~shows, -torch.inf)
        mask = {"true shows": shows, "true hides": ~shows, "added": added}[self.mask]

        # Axes of length 1 for the batch and the heads.
        return mask[tuple(slice(None) if one == "T" else None for one in self.shape.split(", "))]

    def __call__(self, attention: nn.Module, x: Tensor) -> Tensor:
        r"""
        ### Call it

        `x` has the batch first, whatever the attention wants.
        """
        forget_history(attention)
        # The same numbers; only the order of the axes changes.
        turned = x.transpose(0, 1) if self.layout == "sequence first" else x
        # An attention with a mask of its own has no argument for one.
        mask = {} if self.mask == "none" else {self.name: self.causal_mask(x.shape[1])}
        on: dict[str, Any] = {self.switch: self.word} if self.switch else {}
        on |= dict.fromkeys(self.absent)
        on |= unturned(self.angles, self.form, self.width, x.shape[1])
        inputs = self.inputs_of(x, turned)
        # Where all arguments have to be named, as in `forward(self, *, query, key, value)`.
        names = only_by_name(attention.forward)
        named = dict(zip(names, inputs, strict=False))
        output = attention(**named, **mask, **on) if named else attention(*inputs, **mask, **on)
        output = output_in(output, turned)

        # Back again, so that nobody else needs to know.
        return output.transpose(0, 1) if self.layout == "sequence first" else output


def only_by_name(forward: Callable) -> list[str]:
    r"""
    ## The arguments that have to be named

    None, if the first one needn't be.
    """
    parameters = [*inspect.signature(forward).parameters.values()]
    if any(one.kind != one.KEYWORD_ONLY for one in parameters):
        return []
    return [one.name for one in parameters]


# What a mask can mean, and the shapes that it can have.
MEANINGS = ("true shows", "true hides", "added")
SHAPES = ("T, T", "1, T, T", "1, 1, T, T", "T, T, 1")
LAYOUTS = ("batch first", "sequence first")

# The other text of cross-attention has another length than all axes of the tests.
OTHER_LENGTH = 11

# What published code calls it, and what must be given and can be None.
CONTEXT = (
    r"(?i)context|memory|^enc|_enc|encod|^cond|source|^src$|^other|^kv$|key_?value|cross|^y$|^z$"
)
NOT_NEEDED = r"(?i)mask(?!ed_pos|_pos)|len|pad|bias|dropout"


def ways(forward: Callable, answers: dict[str, Any]) -> Iterator[Way]:
    r"""
    ## All ways to call it

    `answers` are what somebody has said, by the names of [Way](ways_to_call.py#Way).
    """
    parameters = dict(inspect.signature(forward).parameters)
    angles = tuple(angles_among([*parameters][1:]))
    without = {name: one for name, one in parameters.items() if name not in angles}
    found = [*ways_with(forward, without, answers)]
    # What may be left out is first left out.
    if all(parameters[name].default is not inspect.Parameter.empty for name in angles):
        yield from found
    if angles:
        for form, width in forms_for(angles, getattr(forward, "__self__", nn.Module())):
            yield from (replace(way, angles=angles, form=form, width=width) for way in found)


def ways_with(
    forward: Callable, parameters: dict[str, inspect.Parameter], answers: dict[str, Any]
) -> Iterator[Way]:
    r"""
    ### All ways, with these arguments
    """
    # Every mask has the word in its name.
    masks = [name for name in parameters if re.search(r"(?i)mask(?!ed_pos|_pos)", name)]
    # That of padding isn't the causal one.
    masks.sort(key=lambda name: "pad" in name)
    # A switch that is off by default makes a mask by itself.
    turned_on = [name for name in parameters if meaning(name) == "causal" and name not in masks]
    turned_on = [name for name in turned_on if is_off(parameters[name])]
    # So does a word.
    text, around = code_of(forward)
    words: dict[str, Any] = {}
    for name, one in parameters.items():
        word = causal_word(name, one.default, text, around)
        words |= {} if word is None else {name: word}
    turned_on = [*words, *turned_on]
    masks = [name for name in masks if name not in words]
    # What must be given, and is no mask, is an input. What has a default isn't needed.
    open_end = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    must = [
        name
        for name, one in parameters.items()
        if one.default is one.empty and one.kind not in open_end
    ]
    absent = [name for name in must[1:] if re.search(NOT_NEEDED, name)]
    named = [name for name in must if name not in (*masks, *absent, *words)]
    # A second text, if it is called so. (Who says that there is one, means the next argument.)
    is_other = len(named) > 1 and bool(re.search(CONTEXT, named[1]))
    after = [*parameters][len(named) : len(named) + 1]
    more = len(named) == 1 and answers.get("other") and after and after[0] not in masks
    # An attention that builds its own mask has no argument for one.
    meanings = (*MEANINGS, "none") if masks else ("none",)
    # For each part of a way, all that it can be. The likelier ones come first.
    every: dict[str, Any] = {
        # Each argument for a mask is tried.
        "name": masks or [""],
        "layout": LAYOUTS,
        "inputs": [max(1, len(named)) + bool(more)],
        # A mask may have four shapes.
        "mask": meanings,
        "shape": SHAPES,
        "switch": [""],
        "other": [is_other],
    }
    # What was said is no longer tried.
    every |= {key: [value] for key, value in answers.items() if key in every}
    # Each with each: 26 ways for each mask. What has a place for a mask is first given one, in both
    # layouts. Without a mask there is one shape as good as any, and a switch that may be needed.
    found = [Way(**dict(zip(every, one, strict=True))) for one in product(*every.values())]
    # One mask is the causal one, and the others hide nothing.
    found = [
        replace(way, absent=tuple(one for one in absent if way.mask == "none" or one != way.name))
        for way in found
    ]
    yield from (way for way in found if way.mask != "none")
    plain = [way for way in found if way.mask == "none" and way.shape == every["shape"][0]]
    plain = [way for way in plain if way.name == every["name"][0]]
    for name in [*turned_on, ""]:
        for way in plain:
            on = way.switch or name
            yield replace(way, switch=on, word=words.get(on, True))


def best_of(
    module: nn.Module, every: Iterable[Way], x: Tensor, badness: Callable[..., int]
) -> tuple[Way | None, Refused | None]:
    r"""
    ## The best of some ways

    That in which the fewest quick tests fail, as `badness` counts them. Beside it stands why others
    don't run: the error of the one that came furthest.
    """
    # Nothing is found yet, and anything is better than that.
    best = None
    fewest = math.inf

    # A way that is refused at once tells less than one that fails at the end of the text.
    refused: Refused | None = None
    for way in every:
        # Most ways don't run, and that is how we know that they are none.
        try:
            with borrowed(module):
                with torch.no_grad():
                    output = way(module.eval(), x)

                # Some run, and give something else.
                if list(output.shape[: x.dim()]) != list(x.shape):
                    shapes = f"an input of {list(x.shape)} gives {list(output.shape)}"
                    refused = further(refused, refused_by(SaidError(shapes)))
                    continue
                # At the end of the block, it is as it was.
                wrong = badness(module, way, x)
        except Exception as error:
            refused = further(refused, refused_by(error))
            continue
        # Of equally good ones the first, since the likelier ways come first: batch first, and a
        # mask that is used.
        if wrong < fewest:
            best = way
            fewest = wrong
        # None can be better than that: the others need not be tried.
        if not wrong:
            break
    return best, refused


def reads_ahead(module: nn.Module, way: Way, x: Tensor) -> int:
    r"""
    ## A quick test for the example

    Whether the first output needs what comes after it: one failure or none.
    """
    # The same position in a text that ends with it.
    alone = way(module, x[:, :1])
    # Where everything is hidden, there is NaN, which is not smaller than anything.
    apart = (way(module, x)[:, :1] - alone).abs().max()
    return int(not apart < 1e-4)


def example(batch_size: int = 5, seq_len: int = 7) -> tuple[Tensor, Way | None]:
    r"""
    ## Example

    PyTorch's own attention, in one of all ways, and the way that is found for it.

    ### Exercises

    ??? question "Why is an attention tried with both meanings of its mask?"
        Nothing in its signature says which it is, and the wrong one looks like a mask that is
        upside down.

    ??? question "When may two ways be equally good?"
        If the batch were as long as the text, “batch first” and “sequence first” would both run,
        and only the mixing of sequences would tell them apart.

    ??? question "An attention with a mistake fails a test in every way. Which way is taken?"
        One in which the fewest tests fail: mostly that in which it is meant to be called.
    """
    d_model = SIZES["d_model"]
    attention = nn.MultiheadAttention(d_model, SIZES["heads"], batch_first=True).eval()

    # There true hides, and the input is passed three times.
    way = Way(inputs=3, mask="true hides", name="attn_mask")
    x = torch.randn(batch_size, seq_len, d_model)

    # Among its masks there are others, which come first in the signature.
    answers = {"name": "attn_mask", "inputs": 3}
    best, _ = best_of(attention, ways(attention.forward, answers), x, reads_ahead)
    return way(attention, x), best

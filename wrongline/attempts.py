r"""
---
title: Another Size after an Error
summary: Shapes that don't fit name the size that is wanted, so that one is tried.
know: guesses.py
---

“mat1 and mat2 shapes cannot be multiplied (35x24 and 32x8)”: the input has 24 features, and this
class wants 32, because somebody has written the number into it. Nobody needs to be asked: the error
names it. The same holds for a head that gives 8 features where 24 went in.

**In:** the error of a class, and the sizes that were guessed. **Out:** other sizes to try.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from wrongline.configurations import holds
from wrongline.sizes import SIZES, meaning

# No class of a lecture is wider.
WIDEST = 4096


@dataclass(frozen=True)
class Attempt:
    r"""
    ## Sizes to try

    * `arguments` are those of the class, and `constants` those of the text
    * `width` is that of the input
    """

    arguments: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    width: int = SIZES["d_model"]


def wanted_widths(failed: str) -> list[int]:
    r"""
    ## Widths that an error names

    The likeliest first: the rows of a matrix, the length of a vector that is normalised.
    """
    found = re.findall(r"cannot be multiplied \(\d+x\d+ and (\d+)x\d+\)", failed)
    found += re.findall(r"normalized_shape=\[(\d+)\]", failed)
    found += re.findall(r"(?:tensor [ab]|size) \((\d+)\)", failed)
    found += re.findall(r"mat1 .*?\d+x\d+.*?(\d+)x\d+", failed)
    return [int(one) for one in dict.fromkeys(found)]


def others(failed: str, tried: Attempt, said: set[str]) -> Iterator[Attempt]:
    r"""
    ## What else to try

    `said` are names that somebody has said: they stay.
    """
    # A head gives fewer features than it gets. If it gives as many, it is an attention with one.
    narrow = re.search(r"an input of \[\d+, \d+, (\d+)\] gives \[\d+, \d+, (\d+)\]", failed)
    if narrow:
        goes_in, comes_out = int(narrow[1]), int(narrow[2])
        for part in ("arguments", "constants"):
            values = getattr(tried, part)
            changed = {
                name: goes_in
                for name, value in values.items()
                if type(value) is int and value == comes_out and name not in said
            }
            if changed:
                yield replace(tried, **{part: values | changed})
        return

    # A width of something else has been taken for one that heads divide.
    if re.search(r"divisib|must divide|% \w*\.?(n_|num_)?heads? ==", failed):
        wide = {SIZES["d_ff"]}
        changed = {
            name: SIZES["d_model"]
            for name, value in tried.arguments.items()
            if type(value) is int and value in wide and name not in said
        }
        if changed:
            yield replace(tried, arguments=tried.arguments | changed)

    # Groups of a normalisation divide the channels.
    groups = re.search(r"num_channels \((\d+)\) must be divisible by num_groups \((\d+)\)", failed)
    groups = groups or re.search(r"number of channels .*? (\d+).*?num_groups=(\d+)", failed)
    if groups:
        channels, wanted = int(groups[1]), int(groups[2])
        changed = {
            name: wanted
            for name, value in tried.arguments.items()
            if type(value) is int and value == channels and name not in said
        }
        if changed:
            yield replace(tried, arguments=tried.arguments | changed)

    for width in wanted_widths(failed):
        if 1 < width <= WIDEST and width != tried.width and "width" not in said:
            yield replace(tried, width=width)


def width_of(*said: dict[str, Any]) -> int | None:
    r"""
    ## The width that was said

    As an argument, or in a configuration.
    """
    for values in said:
        for name, value in values.items():
            within = holds(value) or {name: value}
            for inner, size in within.items():
                if meaning(inner) == "d_model" and type(size) is int:
                    return size
    return None


def example() -> list[int]:
    r"""
    ## Example

    The width that a matrix wants.

    ### Exercises

    ??? question "Why isn't every number of an error tried?"
        Most of them count sequences and positions, and those are right.
    """
    tried = Attempt()
    failed = "mat1 and mat2 shapes cannot be multiplied (35x24 and 32x8)"
    return [one.width for one in others(failed, tried, set())]

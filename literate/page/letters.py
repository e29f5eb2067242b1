r"""
---
title: Letters
summary: A shape in a line of code has one letter for each axis, as in einsum.
---

The shape of attention scores has four axes: `seq_len_q`, `seq_len_k`, `batch_size` and `heads`. In
full it is longer than most lines of code. In letters it is `i j b h`, and fits at the end of the
line. The letters are those that people write in an `einsum`; a legend on the page has their names.
"""

import re
from collections.abc import Iterable, Mapping
from string import ascii_lowercase

_NAME = re.compile(r"[^\W\d]\w*")

# The letters that most papers and programs use. Where a name isn't here, its own letters are tried.
USUAL = {
    "seq_len": "i",
    "seq_len_q": "i",
    "seq_len_k": "j",
    "batch_size": "b",
    "heads": "h",
    "d_k": "d",
    "d_model": "m",
    "n_vocab": "v",
}


def letters(names: Iterable[str]) -> dict[str, str]:
    r"""
    ## A letter for each name

    Earlier names choose first. A name that is one letter keeps it. When the alphabet is used up, a
    name stands for itself.
    """
    names = list(names)
    found = {name: name for name in names if len(name) == 1}
    # The usual letters come before any other choice: `d_model` must not take the letter of `d_k`.
    for name in names:
        if name in USUAL and USUAL[name] not in found.values():
            found.setdefault(name, USUAL[name])
    for name in names:
        # The first letters of its words, its other letters, any letter.
        initials = "".join(word[:1] for word in name.split("_"))
        choices = [*(initials + name).lower(), *ascii_lowercase]
        free = (one for one in choices if one in ascii_lowercase and one not in found.values())
        found.setdefault(name, next(free, name))
    return {name: found[name] for name in names}


def names_in(axis: str) -> list[str]:
    r"""
    ## The names in an axis

    `heads*d_k` has two, a number has none.
    """
    return _NAME.findall(axis)


def short(axes: Iterable[str], known: Mapping[str, str]) -> str:
    r"""
    ## A shape in letters

    The axes `seq_len`, `2*d_k` and `3` are `i 2d 3`. A tensor without axes is called a scalar.
    """
    shape = [_NAME.sub(lambda name: known[name[0]], axis).replace("*", "") for axis in axes]
    return " ".join(shape) or "scalar"

r"""
---
title: What a Text Reads and Doesn't Define
summary: A class is copied without the sizes above it; each undefined name is found, and asked for.
know: guesses.py
---

A constructor reads the name “C”, and `forward` begins with “B, T, C = x.shape”. That binds “C” in
`forward` alone: for the constructor it's still undefined. Python itself knows which is which, in a
table of symbols that it makes of every text.

**In:** a text, and the names that it defines. **Out:** the names that are read and defined nowhere,
and a guess for those that say what they are.
"""

import builtins
import symtable
from collections.abc import Container, Iterator
from typing import Any

from wrongline.sizes import SIZES, meaning

# What a lecture calls the axes: five sequences of seven positions, as in the tests.
LETTERS = {"B": 5, "T": 7, "C": 24, "D": 24, "H": 3, "V": 19}


def tables(text: str) -> Iterator[symtable.SymbolTable]:
    r"""
    ## The tables of symbols

    That of the text, and those of its functions and classes.
    """
    waiting = [symtable.symtable(text, "pasted.py", "exec")]
    while waiting:
        table = waiting.pop()
        yield table
        waiting += table.get_children()


def globals_read(
    text: str, within: Container[str] | None = None, outermost: bool = False
) -> set[str]:
    r"""
    ## The global names that a text reads

    Or some of its definitions, if they are said, or its lines that stand outermost.
    """
    found: set[str] = set()
    top, *_ = tables(text)
    if outermost:
        return {one.get_name() for one in top.get_symbols() if one.is_referenced()}
    waiting = [one for one in top.get_children() if within is None or one.get_name() in within]
    if within is None:
        found = {one.get_name() for one in top.get_symbols() if one.is_referenced()}
    while waiting:
        table = waiting.pop()
        found |= {
            one.get_name() for one in table.get_symbols() if one.is_global() and one.is_referenced()
        }
        waiting += table.get_children()
    return found


def undefined(text: str, names: Container[str], within: Container[str] | None = None) -> list[str]:
    r"""
    ## Read, and defined nowhere
    """
    return sorted(
        one for one in globals_read(text, within) if one not in names and not hasattr(builtins, one)
    )


def guess_for(name: str) -> Any:
    r"""
    ## A guess for such a name

    None, if it says nothing.
    """
    if name in LETTERS:
        return LETTERS[name]
    if name == "device":
        return "cpu"
    # One or two other letters may be anything.
    return (SIZES | {"dropout": 0.1}).get(meaning(name)) if len(name) > 2 else None


def letters_read(text: str, names: dict[str, Any], within: Container[str]) -> dict[str, int]:
    r"""
    ## Sizes of one letter that the text has, and a class reads

    As `B, T, C = 4, 8, 32` above a class. They become those of the test.
    """
    read = globals_read(text, within)
    return {
        name: size
        for name, size in LETTERS.items()
        if name in read and type(names.get(name)) is int
    }


def example() -> tuple[list[str], list[Any]]:
    r"""
    ## Example

    In one function `C` is bound, and in the other it is read.

    ### Exercises

    ??? question "Why is `T` seven here, and the length of a mask sixteen elsewhere?"
        A letter is the axis itself: a view by `B, T, C` must fit the text of the test.
    """
    text = "def f(x):\n    B, T, C = x.shape\n\ndef g(x):\n    return x.view(B, T, C, n_head)\n"
    found = undefined(text, ())
    return found, [guess_for(name) for name in found]

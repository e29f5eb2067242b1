r"""
---
title: Guess the Arguments of a Class
summary: The names of arguments say what they are, and so do those that a configuration is read for.
---

Nobody who pastes an attention wants to fill in a form first. But to make one with 24 and 3 is a
guess: which argument is the width, and which the number of heads? Most names tell. Other arguments
have a default. The rest has to be said.

**In:** a class that somebody else has written. **Out:** its arguments. Each guess is shown, and can
be corrected [where the class is pasted](pasted.py). The [way](ways_to_call.py) in which the module
is called is guessed, too.

With a mask that is never used, the printed loss is
[0.044](../results/mistakes.json#tables.mistakes.MaskUnused.printed). Many classes have a
switch for their mask, and it is often off.
"""

import inspect
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from wrongline.configurations import CONFIGS, config_of, holds, maker
from wrongline.sizes import (
    GROUPED,
    NOTHING,
    SIZES,
    is_switch,
    is_yes_or_no,
    likely,
    meaning,
    on_this_machine,
    size_for,
)
from wrongline.words import SEES_ALL, causal_word, with_layers


def as_argument(name: str, parameter: inspect.Parameter, around: dict[str, Any]) -> type | None:
    r"""
    ## An argument that is a module of the text

    Its annotation is a class, or it is called as one: `encoder` for `Encoder`.
    """
    kinds = [one for one in around.values() if isinstance(one, type) and issubclass(one, nn.Module)]
    for one in kinds:
        own = one.__module__ == "pasted" and one.__name__.lower() == name.lower().replace("_", "")
        if own or parameter.annotation in (one, one.__name__) and one is not nn.Module:
            return one
    return None


def passed_on(kind: type) -> list[str]:
    r"""
    ## What must be given by name, and is passed on

    By `**kwargs` to another class, or to the class that it inherits from.
    """
    taken = inspect.signature(maker(kind)).parameters
    open_end = next((n for n, one in taken.items() if one.kind is one.VAR_KEYWORD), "")
    try:
        text = inspect.getsource(maker(kind))
    except (OSError, TypeError):
        return []
    around = getattr(maker(kind), "__globals__", {})
    found = []
    call = rf"(\w+)(?:\(\))?(?:\.__init__)?\(((?:[^()]|\([^()]*\))*)\*\*{open_end}\b"
    for name, given in re.findall(call, text) if open_end else ():
        other = kind.__mro__[1] if name == "super" else around.get(name)
        if not isinstance(other, type) or other is nn.Module:
            continue
        said = re.findall(r"(\w+)\s*=", given)
        named = [*inspect.signature(maker(other)).parameters.items()][1:]
        needed = [n for n, one in named if one.default is NOTHING and one.kind.value in (1, 3)]
        found += [n for n in needed if n not in said and n not in taken]
        found += passed_on(other)
    return found


def guess_arguments(makes: Callable[..., Any], text: str) -> tuple[dict[str, Any], list[str]]:
    r"""
    ## Guess the arguments of a class

    Or of a function that makes a model. And those that have no default and can't be guessed. `text`
    is the source, because a configuration is known only by what is read from it.
    """
    # Dropout is on: some mistakes are there with dropout only.
    sizes = SIZES | {"dropout": 0.1}
    found: dict[str, Any] = {}
    unknown = []
    # `self` is no argument, and `*args` takes nothing that we know.
    named = list(inspect.signature(maker(makes)).parameters.items())
    around = getattr(maker(makes), "__globals__", {})
    code = with_layers(text, around)
    for name, parameter in named[isinstance(makes, type) :]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        default = parameter.default
        # The mask itself may have the name of the switch; only a switch is on or off by default.
        known = meaning(name) != "causal" or isinstance(default, bool)
        # A configuration holds many others.
        if name in CONFIGS:
            found[name] = config_of(makes, name, text)
        # A name that says what it is. What has a default keeps it, but for the sizes of the test.
        elif meaning(name) and known:
            found[name] = size_for(name, default, sizes)
        # A word turns the mask on.
        elif (word := causal_word(name, default, code, around)) is not None:
            found[name] = word
        # What lets everything be seen is off.
        elif default is True and re.search(SEES_ALL, name):
            found[name] = False
        # A default that can be typed is shown, too.
        elif isinstance(default, int | float | str | torch.device | None):
            found[name] = on_this_machine(name, default)
        # A switch is off, if nobody says that it is on.
        elif default is parameter.empty and (is_yes_or_no(parameter.annotation) or is_switch(name)):
            found[name] = False
        # Without a default, the end of its name may say what it is, or it has to be said.
        elif default is parameter.empty and likely(name) is not None:
            found[name] = likely(name)
        elif default is parameter.empty:
            kind = as_argument(name, parameter, around)
            inner, left = (
                guess_arguments(kind, text) if kind and kind is not makes else ({}, [name])
            )
            if left:
                unknown.append(name)
            else:
                found[name] = kind(**inner)  # type: ignore[misc]
    for name in passed_on(makes) if isinstance(makes, type) else ():
        if name not in found and (meaning(name) or likely(name) is not None):
            what = meaning(name)
            found[name] = size_for(name, NOTHING, sizes) if what else likely(name)
    # What is as wide as the model by default, has its width.
    widths = {one.default for name, one in named if meaning(name) == "d_model"} - {NOTHING, None}
    for name, one in named:
        if (
            not meaning(name)
            and type(one.default) is int
            and one.default in widths
            and name in found
        ):
            found[name] = SIZES["d_model"]
    return found, unknown


def guess_constants(names: dict[str, Any]) -> dict[str, int]:
    r"""
    ## Guess the sizes that a text has above its classes

    From the names of the text, such as `n_embd = 384`, to what they become.
    """
    # One or two letters may be anything there. What is no whole number is no size.
    sizes = {name for name, one in names.items() if type(one) is int and len(name) > 2}
    return {name: SIZES[meaning(name)] for name in sizes if meaning(name) in SIZES}


def share_heads(*said: dict[str, Any]) -> None:
    r"""
    ## More heads, where some share their keys

    Two key heads for six heads of the same width in all, also in a configuration.
    """
    # (A configuration that is shown as a name, such as `cfg=Settings()`, may be changed, too.)
    holders = [*said, *(holds(one) for values in said for one in values.values())]
    known = [
        (values, name, meaning(name))
        for values in holders
        for name, value in values.items()
        if type(value) is int
    ]
    if any(what == "key_heads" for _, _, what in known):
        for values, name, what in known:
            values[name] = GROUPED.get(what, values[name])


def sizes_in(module: nn.Module, *said: dict[str, Any]) -> dict[str, int]:
    r"""
    ## The sizes that a module was made with

    Of what was said, the last counts. The number of heads is 0 if nobody has said it.
    """
    # These two are needed.
    found = {"d_model": SIZES["d_model"], "heads": 0}

    # A number of heads may be nobody's argument, but the module remembers it.
    for values in (vars(module), *said):
        for name, value in values.items():
            # A configuration holds many.
            within = holds(value) or {name: value}
            found |= {meaning(n): v for n, v in within.items() if type(v) is int and meaning(n)}
    return found


def example() -> tuple[dict[str, Any], dict[str, Any]]:
    r"""
    ## Example

    PyTorch's own attention, and a class with a configuration, from their names alone.

    ### Exercises

    ??? question "Why not four heads of width 4?"
        Code that exchanges heads and features would give the same shapes.

    ??? question "Why does a configuration have `n_embd`, when nobody has said that it does?"
        The text reads `config.n_embd`. What is read must be there.

    ??? question "Why is a switch such as `causal=False` guessed to be true?"
        Without a mask, any attention would be told that it has none. You can say that it's off.
    """
    # Width, heads, dropout and bias are known by their names. The others keep their defaults.
    found, _ = guess_arguments(nn.MultiheadAttention, "")

    # Of a configuration, the text of the class says what is read: here three heads, and a width for
    # all of them.
    config = config_of(nn.MultiheadAttention, "config", "config.n_embd // config.n_head")
    return found, vars(config)

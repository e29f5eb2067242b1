r"""
---
title: Guess a Configuration
summary: What a class reads from its configuration must be there, so the text says what it holds.
know: sizes.py
---

Many models are made of one argument, a configuration that holds all others. Some read it as an
object, some as a dictionary. Some texts have its class, some classes give their own, and often
nobody has copied it. Then what the text reads from it is what it must hold.

**In:** a class that takes a configuration, and its text. **Out:** a configuration with the [sizes
of the tests](sizes.py).
"""

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import is_dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from wrongline.sizes import (
    NOTHING,
    PRECISIONS,
    SIZES,
    is_switch,
    is_yes_or_no,
    likely,
    meaning,
    on_this_machine,
    size_for,
)
from wrongline.words import causal_word, with_layers

# Arguments that hold many others.
CONFIGS = tuple("config cfg args hparams params conf opt opts options hp hps".split())


# What the class of a configuration is called.
CONFIG_CLASS = r"(?i)(config|cfg|cfgnode|args|params|settings|options|namespace)$"


class Config(SimpleNamespace):
    r"""
    ## A configuration

    Some read it as an object, some as a dictionary, and some pass all of it on, as `**config`.
    """

    def __getitem__(self, name: str) -> Any:
        r"""
        As `config["n_head"]`; without it, the error is that of `config.n_head`.
        """
        return getattr(self, name)

    def __contains__(self, name: str) -> bool:
        r"""
        As `"n_head" in config`.
        """
        return name in vars(self)

    def __iter__(self) -> Iterator[str]:
        r"""
        Over the names, as a dictionary.
        """
        return iter(vars(self))

    def __len__(self) -> int:
        r"""
        How many names there are.
        """
        return len(vars(self))

    def get(self, name: str, default: Any = None) -> Any:
        r"""
        As `config.get("n_head", 8)`.
        """
        return vars(self).get(name, default)

    def keys(self) -> Any:
        r"""
        As `config.keys()`; `**config` wants it, too.
        """
        return vars(self).keys()

    def items(self) -> Any:
        r"""
        As `config.items()`.
        """
        return vars(self).items()


def maker(makes: Callable[..., Any]) -> Callable[..., Any]:
    r"""
    ## What takes the arguments

    The constructor of a class, or a function that makes a model.
    """
    if isinstance(makes, type):
        return makes.__init__  # type: ignore[misc]
    return inspect.unwrap(makes)


def names_read(name: str, text: str, around: dict[str, Any]) -> list[str]:
    r"""
    ## What is read from a configuration

    As `config.n_head`, `config["n_head"]`, `config.get("n_head")` or `"n_head" in config`. What all
    of it is passed to reads its own arguments. Each name is there once.
    """
    read = re.findall(rf"\b{name}(?:\.|\[[\"'])(\w+)", text)
    read += re.findall(rf"\b{name}\.get\(\s*[\"'](\w+)", text)
    read += re.findall(rf"[\"'](\w+)[\"']\s+(?:not\s+)?in\s+(?:self\.)?{name}\b", text)
    read += re.findall(rf"getattr\(\s*(?:self\.)?{name},\s*[\"'](\w+)", text)
    for called in re.findall(rf"(\w+)\([^()]*\*\*(?:self\.)?{name}\b", text):
        if callable(around.get(called)):
            read += inspect.signature(maker(around[called])).parameters
    # What a dictionary can do is no size.
    return [one for one in dict.fromkeys(read) if one != "self" and not hasattr(Config, one)]


# What gives a configuration to those who ask its class for one.
GIVES = r"(?i)config|default|hparams|args|params|settings"


def given_by(makes: Callable[..., Any]) -> Iterator[Any]:
    r"""
    ## Configurations that a class gives itself

    By a static method, or one of the class, that needs nothing, as “GPT.get_default_config()”.
    """
    for name, one in vars(makes).items() if isinstance(makes, type) else ():
        if not isinstance(one, staticmethod | classmethod) or not re.search(GIVES, name):
            continue
        try:
            made = getattr(makes, name)()
        except Exception:
            continue
        if made is not None and not isinstance(made, nn.Module):
            yield made


def with_sizes(made: Any) -> Any:
    r"""
    ## The same configuration, with the sizes of the test

    A name of a published model, such as `model_type = "gpt2"`, would bring other sizes along.
    """
    values = made if isinstance(made, dict) else vars(made)
    sizes = SIZES | {"dropout": 0.1}
    for name, value in [*values.items()]:
        new = size_for(name, value, sizes) if meaning(name) else value
        new = None if re.search(PRESET, name) and isinstance(value, str) else new
        put(made, name, new)
    return made


def put(made: Any, name: str, value: Any) -> None:
    r"""
    ## Put a value into a configuration

    Into a dictionary by its key. What allows no other values stays as it is.
    """
    if isinstance(made, dict):
        made[name] = value
        return
    with suppress(AttributeError):
        setattr(made, name, value)


# No text of characters needs more.
LARGEST = 1000

# What says that all sizes are those of a published model.
PRESET = r"^(model_type|model_name|preset|variant|arch)$"


def of_its_class(kind: type) -> Any:
    r"""
    ## A configuration of a class that the text has

    With the sizes of the test. Its properties, and what it computes when it is made, are right
    then. None, if it can't be made.
    """
    sizes = SIZES | {"dropout": 0.1}
    given = {}
    for name, one in [*inspect.signature(maker(kind)).parameters.items()][1:]:
        if meaning(name) and one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY):
            given[name] = size_for(name, one.default, sizes)
        elif one.default is NOTHING and is_yes_or_no(one.annotation):
            given[name] = False
    try:
        made = kind(**given)
    except Exception:
        return None
    # What isn't an argument: values of the class, or annotations alone.
    for name in [*getattr(kind, "__annotations__", {}), *vars(kind)]:
        value = vars(kind).get(name, NOTHING)
        if name in given or not meaning(name) or callable(value) and value is not NOTHING:
            continue
        if not isinstance(value, property):
            put(made, name, size_for(name, value, sizes))
    return made


def classes_of_configs(makes: Callable[..., Any], name: str, others: list[type]) -> list[type]:
    r"""
    ## Classes that a configuration may have

    First the one that the argument is annotated with, then those that are called so. What runs
    other code when it is made isn't tried.
    """
    annotation = inspect.signature(maker(makes)).parameters[name].annotation
    said = [one for one in others if annotation in (one, one.__name__)]
    named = [one for one in others if re.search(CONFIG_CLASS, one.__name__) or is_dataclass(one)]
    return [one for one in dict.fromkeys(said + named) if not issubclass(one, nn.Module)]


def config_of(makes: Callable[..., Any], name: str, text: str) -> Any:
    r"""
    ## Make a configuration

    Of what is read from it, wherever in the text: `config.n_head` or `cfg["n_head"]`.
    """
    # A class may give its own. It can do more than ours, such as merge another into it.
    for made in given_by(makes):
        return with_sizes(made)

    # What nobody can guess has a default where the configuration is a class of the same file.
    around = getattr(maker(makes), "__globals__", {})
    others = [one for one in around.values() if isinstance(one, type)]
    defaults = {key: value for other in others for key, value in vars(other).items()}
    defaults = {key: one for key, one in defaults.items() if not isinstance(one, property)}
    for other in others:
        hints = getattr(other, "__annotations__", {}).items()
        defaults = {key: False for key, one in hints if is_yes_or_no(one)} | defaults

    read = names_read(name, text, around)
    sizes = SIZES | {"dropout": 0.1}
    known = {one: size_for(one, defaults.get(one, NOTHING), sizes) for one in read if meaning(one)}

    # The sizes of the test go before defaults.
    # A dictionary above the class may be one, as `GPT_CONFIG = {"n_heads": 12, ...}`.
    for one in around.values():
        if isinstance(one, dict) and len({*one} & {*read}) > 1 and all(type(k) is str for k in one):
            defaults = {**defaults, **one}
    every = {one: False if is_switch(one) else likely(one) for one in read}
    every |= {one: value for one, value in (defaults | known).items() if one in read}
    found = {one: value for one, value in every.items() if value is not None or one in defaults}
    # Numbers have 32 bits in all tests.
    found |= {one: torch.float32 for one in read if one in PRECISIONS}
    # A class that can be made knows more: what it computes.
    if name in inspect.signature(maker(makes)).parameters:
        for kind in reversed(classes_of_configs(makes, name, others)):
            made = of_its_class(kind)
            # Layers may read it by another name, such as `a.n_head`: a class that the argument is
            # annotated with has all of that.
            annotation = inspect.signature(maker(makes)).parameters[name].annotation
            said = [*getattr(made, "__dict__", {})] if annotation in (kind, kind.__name__) else []
            found |= read_from(made, [*read, *said])
    # A word that turns a mask on.
    code = with_layers(text, around)
    for one in [*found, *(name for name in read if name not in found)]:
        word = causal_word(one, found.get(one), code, around)
        found |= {} if word is None else {one: word}
    # A vocabulary by another name is as small as by the usual one.
    found |= {one: SIZES["n_vocab"] for one, value in found.items() if is_large(one, value)}
    return Config(**{one: on_this_machine(one, value) for one, value in found.items()})


def is_large(name: str, value: Any) -> bool:
    r"""
    ## Is it a published model's vocabulary?
    """
    return type(value) is int and value > LARGEST and "vocab" in name.lower()


def read_from(made: Any, names: list[str]) -> dict[str, Any]:
    r"""
    ## Those of some names that an object has
    """
    found = {}
    for name in names:
        # A property may fail.
        try:
            found[name] = getattr(made, name)
        except Exception:
            continue
    return found


def said_parts(given: dict[str, Any], said: dict[str, Any], taken: set[str]) -> dict[str, Any]:
    r"""
    ## What was said of a configuration

    It is changed there. What the class has `taken` by this name, or is no part of a configuration,
    is left.
    """
    rest = {}
    for name, value in said.items():
        configs = [one for one in given.values() if isinstance(one, Config) and name in one]
        configs = [] if name in taken else configs
        for config in configs:
            setattr(config, name, value)
        if not configs:
            rest[name] = value
    return rest


def missing_in(error: AttributeError, config: Config, text: str) -> list[str]:
    r"""
    ## What a configuration lacks

    The name that the error is about, and what else the text reads from one and nobody can guess.
    """
    known = dir(config)
    # Other names may hold the options of a program, and what is asked for by `get` may be missing.
    read = [re.findall(rf"\b{name}(?:\.|\[[\"'])(\w+)\b(?!\()", text) for name in CONFIGS]
    read = [names for names in read if error.name in names]
    lacks = [one for names in read for one in names if one not in known]
    lacks = [one for one in lacks if not re.search(rf"[\"']{one}[\"'](\)|,| in| not in)", text)]
    return list(dict.fromkeys([str(error.name), *lacks]))


def unguessed(name: str, config: Config, missing: list[str]) -> str:
    r"""
    ## What to say about a configuration

    All that was guessed of it, and the names that are missing.
    """
    said = [f"{key}={value!r}" for key, value in config.items()]
    inner = ", ".join([*said, *(f"{one}=..." for one in missing)])
    return (
        f"nobody can guess `{missing[0]}` of `{name}`: say all of it, by "
        f"--arguments 'dict({name}=Config({inner}))'"
    )


def holds(values: Any) -> dict[str, Any]:
    r"""
    ## What a configuration holds

    Empty, if it is none.
    """
    if isinstance(values, dict):
        return values
    # A plain object, of whatever class. (What is PyTorch's own is none.)
    is_plain = not callable(values) and not type(values).__module__.startswith("torch")
    return getattr(values, "__dict__", {}) if is_plain else {}


def example() -> dict[str, Any]:
    r"""
    ## Example

    Of a configuration, the text of the class says what is read: here heads, a width for all of
    them, and a switch.

    ### Exercises

    ??? question "Why does a configuration have `n_embd`, when nobody has said that it does?"
        The text reads “config.n_embd”. What is read must be there.
    """
    text = "config.n_embd // config.n_head if config.use_flash else 0"
    return vars(config_of(nn.MultiheadAttention, "config", text))

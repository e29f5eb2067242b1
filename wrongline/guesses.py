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

import ast
import builtins
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from types import SimpleNamespace
from typing import Any

from torch import nn

# What published code calls the width, the number of heads, and so on.
NAMES = {
    # The width of a position and, where only one is named, of what goes in and comes out.
    "d_model": "d_model embed_dim n_embd emb_dim embed_size hidden_size dim d_embed embedding_dim "
    "embd_dim d_in d_out in_dim out_dim input_dim output_dim width model_dim num_hiddens emb k d c",
    # Heads, and the width of one of them.
    "heads": "heads n_heads num_heads n_head nhead num_attention_heads nheads h",
    # Heads may share their keys and values.
    "key_heads": "key_heads n_kv_heads kv_heads num_kv_heads num_key_value_heads n_kv_head "
    "num_kv_groups",
    "d_k": "d_k d_v d_head head_dim head_size dim_head dim_k dim_v",
    # The greatest length of a text, for which masks are made in advance.
    "seq_len": "seq_len block_size context_length max_len max_seq_len n_ctx max_length "
    "context_size sequence_length max_position_embeddings n_positions t",
    # What only whole models have.
    "n_vocab": "n_vocab vocab_size vocab n_tokens num_tokens ntoken tgt_vocab_size",
    "n_layers": "n_layers n_layer num_layers num_hidden_layers depth n_blocks layers nlayers",
    "d_ff": "d_ff ff_dim hidden_dim ffn_dim mlp_dim d_hidden d_hid dim_feedforward "
    "intermediate_size",
    # How far a token sees, or how many are read together.
    "window": "window window_size sliding_window sliding_window_size attention_window "
    "attn_window local_window local_window_size local_attn_window_size window_len chunk_size "
    "chunk_length chunk_len attention_chunk_size attn_chunk_size",
    # What is added before a root is taken.
    "eps": "eps norm_eps layer_norm_eps rms_norm_eps layernorm_eps layer_norm_epsilon ln_eps",
    "bias": "bias qkv_bias use_bias",
    # A switch, and not the mask itself.
    "causal": "causal is_causal mask masked use_mask autoregressive",
}

# Three heads of width 8: axes of different lengths can't change places unseen.
SIZES: dict[str, Any] = {
    "d_model": 24,
    "heads": 3,
    "key_heads": 1,
    "d_k": 8,
    # Longer than the text of the tests, as most masks are.
    "seq_len": 16,
    # A tiny model is as right or wrong as a large one.
    "n_vocab": 19,
    "n_layers": 2,
    "d_ff": 32,
    # Shorter than the text of the tests, so that a mistake at its edge shows.
    "window": 4,
    "eps": 1e-5,
    "bias": True,
    "causal": True,
}

# With one key head, those that heads share in turns are those that they share in groups.
GROUPED = {"heads": 6, "key_heads": 2, "d_k": 4}

# Arguments that hold many others.
CONFIGS = ("config", "cfg", "args", "hparams", "params", "conf")

# What the class of a configuration is called.
CONFIG_CLASS = r"(?i)(config|cfg|args|params|settings|options)$"
NOTHING = inspect.Parameter.empty


def meaning(name: str) -> str:
    r"""
    ## What an argument is

    Empty, if its name says nothing.
    """
    # Any kind of dropout has the word in its name.
    if "drop" in name.lower():
        return "dropout"

    # Capitals make no difference: some write “T” and “C”.
    return next((one for one, names in NAMES.items() if name.lower() in names.split()), "")


def size_for(name: str, default: Any, sizes: dict[str, Any]) -> Any:
    r"""
    ## The size of the test for a name

    A window is no longer than that of the test. One that is off, or said in another way, stays. So
    does a switch whose name has the word of a size in it, such as `drop_mask=False`.
    """
    size = sizes[meaning(name)]
    if isinstance(default, bool) and not isinstance(size, bool):
        return default
    if meaning(name) == "eps" and default is not NOTHING:
        return default
    if meaning(name) != "window" or default is NOTHING:
        return size
    return min(size, default) if type(default) is int else default


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


def is_yes_or_no(annotation: Any) -> bool:
    r"""
    ## Is an annotation that of a switch?
    """
    return annotation in (bool, "bool")


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
            setattr(made, name, size_for(name, value, sizes))
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


def config_of(makes: Callable[..., Any], name: str, text: str) -> Config:
    r"""
    ## Make a configuration

    Of what is read from it, wherever in the text: `config.n_head` or `cfg["n_head"]`.
    """
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
    found = {one: value for one, value in (defaults | known).items() if one in read}
    # A class that can be made knows more: what it computes.
    if name in inspect.signature(maker(makes)).parameters:
        for kind in reversed(classes_of_configs(makes, name, others)):
            made = of_its_class(kind)
            # Layers may read it by another name, such as `a.n_head`: a class that the argument is
            # annotated with has all of that.
            annotation = inspect.signature(maker(makes)).parameters[name].annotation
            said = [*getattr(made, "__dict__", {})] if annotation in (kind, kind.__name__) else []
            found |= read_from(made, [*read, *said])
    return Config(**found)


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
        # A default that can be typed is shown, too.
        elif isinstance(default, int | float | str | None):
            found[name] = default
        # A switch is off, if nobody says that it is on.
        elif default is parameter.empty and is_yes_or_no(parameter.annotation):
            found[name] = False
        # Without a default, it has to be said.
        elif default is parameter.empty:
            unknown.append(name)
    return found, unknown


def guess_constants(names: dict[str, Any]) -> dict[str, int]:
    r"""
    ## Guess the sizes that a text has above its classes

    From the names of the text, such as `n_embd = 384`, to what they become.
    """
    # One or two letters may be anything there. What is no whole number is no size.
    sizes = {name for name, one in names.items() if type(one) is int and len(name) > 2}
    return {name: SIZES[meaning(name)] for name in sizes if meaning(name) in SIZES}


def guess_undefined(text: str, names: dict[str, Any]) -> dict[str, Any]:
    r"""
    ## Guess what a text reads and nobody has defined

    Most people copy a class without the sizes that stand above it.
    """
    read: set[str] = set()
    bound = {*names, *vars(builtins)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
    sizes = SIZES | {"dropout": 0.1}
    found = {name: sizes[meaning(name)] for name in sorted(read - bound) if meaning(name) in sizes}
    # One or two letters may be anything here, too.
    found = {name: one for name, one in found.items() if len(name) > 2}
    return found | ({"device": "cpu"} if "device" in read - bound else {})


def share_heads(*said: dict[str, Any]) -> None:
    r"""
    ## More heads, where some share their keys

    Two key heads for six heads of the same width in all, also in a configuration.
    """
    configs = [one for values in said for one in values.values() if isinstance(one, Config)]
    holders = [*said, *map(vars, configs)]
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
            within = vars(value) if isinstance(value, Config) else {name: value}
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

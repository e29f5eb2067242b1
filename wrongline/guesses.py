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
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

# What published code calls the width, the number of heads, and so on.
NAMES = {
    # The width of a position and, where only one is named, of what goes in and comes out.
    "d_model": "d_model embed_dim n_embd emb_dim embed_size hidden_size dim d_embed embedding_dim "
    "embd_dim d_in d_out in_dim out_dim input_dim output_dim width model_dim num_hiddens emb k d c "
    "hidden n_embed embed emb_size d_emb hid_dim query_dim key_size query_size value_size "
    "in_features hidden_features model_size d_hidn num_embed n_state feature_dim embedding_size "
    "dmodel",
    # Heads, and the width of one of them.
    "heads": "heads n_heads num_heads n_head nhead num_attention_heads nheads h attn_heads "
    "num_attn_heads attention_heads head_num n_attention_heads",
    # Heads may share their keys and values.
    "key_heads": "key_heads n_kv_heads kv_heads num_kv_heads num_key_value_heads n_kv_head "
    "num_kv_groups n_kv_groups",
    "d_k": "d_k d_v d_head head_dim head_size dim_head dim_k dim_v dim_heads",
    # The greatest length of a text, for which masks are made in advance.
    "seq_len": "seq_len block_size context_length max_len max_seq_len n_ctx max_length "
    "context_size sequence_length max_position_embeddings n_positions t max_seq_length "
    "num_positions maxlen seq_length ctx_len n_seq num_steps context_window",
    # Sequences of a batch, for code that is told how many there are.
    "batch": "batch_size bs bsz",
    # What only whole models have.
    "n_vocab": "n_vocab vocab_size vocab n_tokens num_tokens ntoken tgt_vocab_size src_vocab_size "
    "src_vocab tgt_vocab trg_vocab n_src_vocab n_trg_vocab n_tgt_vocab trg_vocab_size enc_voc_size "
    "dec_voc_size num_embeddings voc_size",
    # Classes of images or texts.
    "n_classes": "n_classes num_classes n_class num_labels nb_classes",
    "n_layers": "n_layers n_layer num_layers num_hidden_layers depth n_blocks layers nlayers "
    "num_blks num_blocks",
    "d_ff": "d_ff ff_dim hidden_dim ffn_dim mlp_dim d_hidden d_hid dim_feedforward d_inner "
    "intermediate_size ffn_num_hiddens ffn_hidden feed_forward_hidden pf_dim dim_ff d_inner_hid "
    "mlp_hidden_dim filter_size",
    # Images, the patches that they are cut into, and their channels.
    "image": "image_size img_size img_dim input_resolution image_dim",
    "patch": "patch_size patch_dim patch",
    "channels": "channels in_channels in_chans num_channels n_channels in_channel img_channels",
    # Networks of which a token gets a few.
    "experts": "num_experts n_experts num_local_experts n_routed_experts",
    "experts_per_token": "num_experts_per_tok num_experts_per_token experts_per_token top_k topk",
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
    "batch": 5,
    "experts": 6,
    "experts_per_token": 2,
    "n_classes": 13,
    # Patches of three colours, in rows of five.
    "image": 20,
    "patch": 4,
    "channels": 3,
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
CONFIG_CLASS = r"(?i)(config|cfg|cfgnode|args|params|settings|options|namespace)$"
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
    known = next((one for one, names in NAMES.items() if name.lower() in names.split()), "")
    # Images are cut into patches in several ways at once, and must fit all of them.
    parts = re.search(r"(?i)_(patch|image|img)_size$", name)
    return known or ("" if not parts else "patch" if parts[1].lower() == "patch" else "image")


# How names end that say what they are, with something before it: `cls_depth`, `i_vocab_size`.
ENDS = (
    (r"vocab(_size)?$|n_token$|_tokens$", "n_vocab"),
    (r"kv_?heads$", "key_heads"),
    (r"heads?$", "heads"),
    (r"depth$|layers?$|blocks$", "n_layers"),
    (r"patch_size$", "patch"),
    (r"(img|image)_size$", "image"),
    (r"head_(dim|size)$|dim_head$", "d_k"),
    (r"(ff|ffn|mlp|inner)_?(dim|hidden|size)\w*$", "d_ff"),
    (r"max_\w*len\w*$|_len$", "seq_len"),
    (r"classes$", "n_classes"),
    (r"(^|_)(dim|dimension|size|width|hidden|channels|features|embed|embd|units)$", "d_model"),
    (r"^dim_", "d_model"),
    (r"window", "window"),
    # How many of something: a few.
    (r"^(num|n)_|mult$|ratio$|factor$|expansion$|bands$|freq$|^max_", "n_layers"),
)


# What published code calls the precision of its numbers.
PRECISIONS = ("dtype", "param_dtype", "torch_dtype")


def likely(name: str) -> Any:
    r"""
    ## What an argument must be that has no default

    By the end of its name; or an index of a special token, a place or a type. None, if nothing says
    so.
    """
    if name == "device":
        return "cpu"
    if name in PRECISIONS:
        return torch.float32
    # No text of a test has this token.
    if re.search(r"(?i)(idx|_id|_token|_index)$|^(pad|bos|eos|sos)$", name):
        return 0
    what = next((one for end, one in ENDS if re.search(end, name.lower())), "")
    return SIZES.get(what)


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


def size_for(name: str, default: Any, sizes: dict[str, Any]) -> Any:
    r"""
    ## The size of the test for a name

    A window is no longer than that of the test. One that is off, or said in another way, stays. So
    does a switch whose name has the word of a size in it, such as `drop_mask=False`.
    """
    size = sizes[meaning(name)]
    # One for each axis, or for each stage.
    if isinstance(default, tuple | list) and default and type(default[0]) is int:
        return type(default)([size] * len(default))
    if isinstance(default, bool) and not isinstance(size, bool):
        return default
    # What is zero by default is off, such as the classes of a head.
    if default == 0 and type(default) is int or meaning(name) == "eps" and default is not NOTHING:
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


def is_switch(name: str) -> bool:
    r"""
    ## Is a name that of a switch?

    As `use_flash` or `return_dict`. What nobody has turned on is off.
    """
    return bool(
        re.match(r"(use|is|has|with|enable|output|return|do|tie|add)_|gradient_check", name)
    )


# What gives a configuration to those who ask its class for one.
GIVES = r"(?i)config|default|hparams|args|params|settings"


def given_by(makes: Callable[..., Any]) -> Iterator[Any]:
    r"""
    ## Configurations that a class gives itself

    By a static method, or one of the class, that needs nothing, as `GPT.get_default_config()`.
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
        if isinstance(made, dict):
            made[name] = new
        else:
            setattr(made, name, new)
    return made


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
        elif default is parameter.empty and (is_yes_or_no(parameter.annotation) or is_switch(name)):
            found[name] = False
        # Without a default, the end of its name may say what it is, or it has to be said.
        elif default is parameter.empty and likely(name) is not None:
            found[name] = likely(name)
        elif default is parameter.empty:
            around = getattr(maker(makes), "__globals__", {})
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
            known = meaning(name)
            found[name] = size_for(name, NOTHING, sizes) if known else likely(name)
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


def missing_in(error: AttributeError, config: Config, text: str) -> list[str]:
    r"""
    ## What a configuration lacks

    The name that the error is about, and what else the text reads from one and nobody can guess.
    """
    known = dir(config)
    # Other names may hold the options of a program.
    read = [names_read(name, text, {}) for name in CONFIGS]
    read = [names for names in read if error.name in names]
    lacks = [one for names in read for one in names if one not in known]
    return list(dict.fromkeys([str(error.name), *lacks]))


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

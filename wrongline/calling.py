r"""
---
title: Call Somebody's Model
summary: What a model is given beside its tokens, and where its logits are.
---

Every language model turns tokens into logits, and each in its own way. The logits are a tensor, a
field, a part of a pair or of a dictionary. nanoGPT gives all of them only with targets. Some must
be told to be causal, or at which position the text begins.

**In:** a model and tokens. **Out:** what its arguments are, and what is in its result; [the
logits](logits.py) come by that. [Masks and documents](hidden_tokens.py) have a page of their own,
and so have [caches](read_parts.py).
"""

import inspect
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.batches import TARGETS, as_batch
from wrongline.in_place import borrowed
from wrongline.sizes import NAMES, is_off
from wrongline.verdicts import SaidError
from wrongline.words import SEES_ALL, words_of

# What published code calls a switch for the mask, the place where a text begins, and the text of a
# decoder that has an encoder.
SWITCH = (
    r"^(is_|use_|apply_)?(causal|causal_mask|causal_attention|autoregressive|unidirectional)$"
    r"|^is_decoder$"
)
BEGINNING = r"^(start|input|cur)_?pos$|^start_?pos|^offset$|^pos$"
SECOND_TEXT = r"^(tgt|trg|target_ids|dec(oder)?_(input|ids|tokens|x$))"

# What it calls the longest text. A model, or its configuration, knows it.
LENGTHS = (
    "block_size context_length max_seq_len max_len max_position_embeddings n_positions n_ctx "
    "seq_len max_seq_length max_sequence_length context_size sequence_length max_positions"
).split()
HOLDERS = ("config", "cfg", "args", "params", "hparams", "conf", "configuration")

# What gives a module room for a cache, and what it calls rows and tokens.
SET_UP = r"^(set|setup|set_up|init|make|build|allocate|enable)_(kv_)?caches?$"
ROWS = r"batch|bsz"
LENGTH = r"len|size|ctx"

# No text of a test is longer. A leak within a chunk of 64 or of 128 tokens shows.
LONGEST = 256


class OtherCallError(SaidError):
    r"""
    ## It must be said how to call it
    """


def arguments_of(model: nn.Module) -> Mapping[str, inspect.Parameter]:
    r"""
    ## The arguments of `forward`, by their names
    """
    # What was compiled from a script has no signature of Python's.
    try:
        return inspect.signature(model.forward).parameters
    except (ValueError, TypeError):
        return {}


def is_needed(parameter: inspect.Parameter) -> bool:
    r"""
    ## Must it be given?
    """
    open_end = (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.default is parameter.empty and parameter.kind not in open_end


def switches(model: nn.Module) -> dict[str, Any]:
    r"""
    ## Switches that make it causal

    They are off by default, as in PyTorch's kernel; or on, if they let everything be seen. Some are
    [words](words.py).
    """
    given = arguments_of(model).items()
    found = {name: True for name, one in given if is_off(one) and re.search(SWITCH, name)}
    on = [name for name, one in given if one.default is True and re.search(SEES_ALL, name)]
    found |= dict.fromkeys(on, False)
    kind: Any = type(model)
    return found | words_of(kind)


def beside(model: nn.Module, tokens: Tensor) -> dict[str, Any]:
    r"""
    ## What it is given beside its tokens
    """
    given: dict[str, Any] = dict(switches(model))
    for name, one in list(arguments_of(model).items())[1:]:
        # It begins at the beginning.
        if is_needed(one) and re.search(BEGINNING, name):
            given[name] = 0
        # The tokens are their own targets. Nothing is trained: it only asks for all logits.
        elif is_needed(one) and re.search(TARGETS, name):
            given[name] = tokens
    return given


def has_room(model: nn.Module) -> bool:
    r"""
    ## Has it a method that gives it room for a cache?
    """
    return any(re.search(SET_UP, name) for name in dir(type(model)))


def set_up(model: nn.Module, rows: int, length: int) -> bool:
    r"""
    ## Give a module room for a cache

    True, if it has a method for that, which wants to know no more than two sizes.
    """
    for name in filter(partial(re.search, SET_UP), dir(type(model))):
        method = getattr(model, name)
        sizes: dict[str, int] = {}
        for one in filter(is_needed, inspect.signature(method).parameters.values()):
            if re.search(ROWS, one.name):
                sizes[one.name] = rows
            elif re.search(LENGTH, one.name):
                sizes[one.name] = length
        method(**sizes)
        return True
    return False


def with_room(model: nn.Module, tokens: Tensor) -> Any:
    r"""
    ## Call a model that runs with a cache only

    It gets room for the text, and is told where all tokens stand. Afterwards, the room is gone.
    """
    names = [name for name in [*arguments_of(model)][1:] if re.search(BEGINNING, name)]
    places = torch.arange(tokens.shape[1], device=tokens.device)
    with borrowed(model):
        set_up(model, *tokens.shape)
        return called_with(model, tokens, **(beside(model, tokens) | dict.fromkeys(names, places)))


def called_with(model: nn.Module, tokens: Tensor, **given: Any) -> Any:
    r"""
    ## Give it its tokens

    A copy of them, which comes first, or by name, if `forward` takes names only. It may be [in a
    dictionary](batches.py).
    """
    first = next(iter(arguments_of(model).values()), None)
    # Some write on what they are given, and the next call needs the same text.
    batch = as_batch(model, tokens.clone())
    if first is not None and first.kind is first.KEYWORD_ONLY:
        return model(**{first.name: batch}, **given)
    return model(batch, **given)


def wants_more(model: nn.Module, given: dict[str, Any]) -> str:
    r"""
    ## What else must be given, and how to say it

    An empty sentence, if `forward` has all that it needs.
    """
    taken = arguments_of(model)
    missing = [name for name, one in [*taken.items()][1:] if is_needed(one) and name not in given]
    if not missing:
        return ""
    named = "".join(f", {name}=..." for name in missing)
    first = next(iter(taken.values()))
    tokens = f"{first.name}=tokens" if first.kind is first.KEYWORD_ONLY else "tokens"
    return (
        f"`forward` also wants {', '.join(missing)}: say predict=lambda model, tokens: "
        f"model({tokens}{named}), which must give the logits"
    )


def refuse_two_texts(model: nn.Module) -> None:
    r"""
    ## An encoder and a decoder have two texts

    With one for both, a decoder seems to see the future.
    """
    taken = arguments_of(model)
    second = [name for name in taken if re.search(SECOND_TEXT, name)]
    both = getattr(getattr(model, "config", None), "is_encoder_decoder", None)
    needed = [name for name in second if is_needed(taken[name])]
    if both or needed:
        raise OtherCallError(
            "it has an encoder and a decoder: say which text the encoder reads, the same for all "
            f"sequences, as in {wrapped(model, (second or ['decoder_input_ids'])[0], bool(both))}"
        )


def wrapped(model: nn.Module, second: str, has_field: bool) -> str:
    r"""
    ## How two texts are given

    The encoder's text is the first argument that isn't the decoder's. What else must be given is
    left open, as dots. A model with a field for its logits is one of the transformers library.
    """
    taken = arguments_of(model)
    others = [name for name in taken if name != second]
    first = others[0] if others else ""
    source = "source[:1].expand(len(tokens), -1)"
    if first and [*taken].index(first) > [*taken].index(second):
        source = f"{first}={source}"
        given = [f"{second}=tokens", source]
    else:
        given = [source, f"{second}=tokens"]
    given += [f"{name}=..." for name in others[1:] if is_needed(taken[name])]
    call = f"predict=lambda model, tokens: model({', '.join(given)})"
    if has_field:
        return f"{call}.logits"
    return f"{call}, which must give the logits"


def find_logits(output: Any) -> Any:
    r"""
    ## Find the logits in a result

    As they are, in a field, in a dictionary, or the first tensor with three axes of a tuple: beside
    them is a loss, which has none, or a cache.
    """
    # In a field of that name: so do the models of the transformers library.
    found = getattr(output, "logits", output)

    # Or in a dictionary.
    if isinstance(found, dict):
        found = found["logits"] if "logits" in found else [*found.values()]

    # nanoGPT gives a pair: logits and loss. Others give the loss first.
    if isinstance(found, tuple | list) and found:
        fits = [one for one in found if isinstance(one, Tensor) and one.dim() == 3]
        found = [*fits, found[0]][0]
    return found


def shaped(found: Any, tokens: Tensor) -> Any:
    r"""
    ## Logits in their usual shape

    For a loss, some models put all positions into one row.
    """
    if isinstance(found, Tensor) and found.dim() == 2 and len(found) == tokens.numel() > 0:
        return found.view(*tokens.shape, -1)
    return found


def said_length(model: nn.Module) -> int | None:
    r"""
    ## The longest text, as the model or its configuration says it
    """
    for part in model.modules():
        holders = [part, *(getattr(part, name, None) for name in HOLDERS)]
        # A configuration is an object or a dictionary.
        for holder in holders:
            known = holder if isinstance(holder, dict) else getattr(holder, "__dict__", {})
            found = [known.get(name) for name in LENGTHS]
            lengths = [one for one in found if type(one) is int and one > 1]
            if lengths:
                return min(lengths)
    return None


def unseen_window(model: nn.Module, length: int) -> tuple[str, int] | None:
    r"""
    ## A window that a text of some length doesn't fill

    Its name and its size, if longer texts are possible: what is beyond it can't be seen then.
    """
    longest = said_length(model)
    for part in model.modules():
        for holder in [part, *(getattr(part, name, None) for name in HOLDERS)]:
            known = holder if isinstance(holder, dict) else getattr(holder, "__dict__", {})
            for name in NAMES["window"].split():
                size = known.get(name)
                if type(size) is int and length < size and (longest is None or size < longest):
                    return name, size
    return None


def own_lengths(model: nn.Module) -> list[int]:
    r"""
    ## Lengths to try, the longest first
    """
    most = min(said_length(model) or LONGEST, LONGEST)
    return [most, *(one for one in (192, 128, 96, 64, 48, 32, 24, 16) if one < most)]


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> tuple[Tensor, int | None]:
    r"""
    ## Example

    A table of what follows what, and a pair. No longest text is said.

    ### Exercises

    ??? question "Your model returns `(loss, logits)`. What do you say?"
        Nothing: the first tensor with three axes has the logits.
    """
    tokens = torch.randint(n_vocab, (batch_size, seq_len))
    model = nn.Embedding(n_vocab, n_vocab)
    return find_logits((None, called_with(model, tokens))), said_length(model)

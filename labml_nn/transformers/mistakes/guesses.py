r"""
---
title: Guess How a Module Is Called
summary: The names of arguments say what they are; where they don't, every way is tried.
---

Nobody who pastes an attention wants to fill in a form first. But to call it with 24 and 3 is a
guess: which argument is the width, is the batch first, does true hide or show? Most of it stands in
the names. For the rest we try all ways, and take the one in which the attention does best: an
attention that is right under one reading of its mask is not to be called wrong under another.

**In:** a class that somebody else has written. **Out:** its arguments, and a
[way](guesses.py#Way) to call it. Each guess is shown, and can be corrected on [the next
page](pasted.py).
"""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

# What published code calls the width, the number of heads, and so on.
NAMES = {
    # The width of a position and, where only one is named, of what goes in and comes out.
    "d_model": "d_model embed_dim n_embd emb_dim embed_size hidden_size dim d_embed embedding_dim "
    "embd_dim d_in d_out in_dim out_dim input_dim output_dim width model_dim emb k d c",
    # Heads, and the width of one of them.
    "heads": "heads n_heads num_heads n_head nhead num_attention_heads nheads h",
    "d_k": "d_k d_v d_head head_dim head_size dim_head dim_k dim_v",
    # The greatest length of a text, for which masks are made in advance.
    "seq_len": "seq_len block_size context_length max_len max_seq_len n_ctx max_length "
    "context_size sequence_length max_position_embeddings n_positions t",
    # What only whole models have.
    "n_vocab": "n_vocab vocab_size vocab n_tokens num_tokens ntoken tgt_vocab_size",
    "n_layers": "n_layers n_layer num_layers num_hidden_layers depth n_blocks layers nlayers",
    "d_ff": "d_ff ff_dim hidden_dim ffn_dim mlp_dim d_hidden d_hid dim_feedforward "
    "intermediate_size",
    "bias": "bias qkv_bias use_bias",
}

# Three heads of width 8: axes of different lengths can't change places unseen.
SIZES: dict[str, Any] = {
    "d_model": 24,
    "heads": 3,
    "d_k": 8,
    # Longer than the text of the tests, as most masks are.
    "seq_len": 16,
    # A tiny model is as right or wrong as a large one.
    "n_vocab": 19,
    "n_layers": 2,
    "d_ff": 32,
    "bias": True,
}

# Arguments that hold many others.
CONFIGS = ("config", "cfg", "args", "hparams", "params", "conf")


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


def guess_arguments(cls: type, text: str) -> tuple[dict[str, Any], list[str]]:
    r"""
    ## Guess the arguments of a class

    And those that have no default and can't be guessed. `text` is the source, because a
    configuration is known only by what is read from it: `config.n_head`.
    """
    # Dropout is on: some mistakes are there with dropout only.
    sizes = SIZES | {"dropout": 0.1}
    found: dict[str, Any] = {}
    unknown = []
    # `self` is no argument, and `*args` takes nothing that we know.
    for name, parameter in list(inspect.signature(cls.__init__).parameters.items())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        # Everything that is read from a configuration, wherever in the text.
        if name in CONFIGS:
            read = dict.fromkeys(re.findall(rf"\b{name}\.(\w+)", text))
            # (A dictionary keeps the order, and each name once.)
            known = {one: sizes[meaning(one)] for one in read if meaning(one)}
            found[name] = SimpleNamespace(**known)
        # A name that says what it is. What has a default keeps it, but for the sizes of the test.
        elif meaning(name):
            found[name] = sizes[meaning(name)]
        # Without a default, it has to be said.
        elif parameter.default is parameter.empty:
            unknown.append(name)
    return found, unknown


@dataclass(frozen=True)
class Way:
    r"""
    ## A way to call an attention

    * `layout` is the order of axes, “batch first” or “sequence first”
    * `inputs` is how often the input is passed: three times as query, key and value
    * `mask` says what its mask means: “none” is passed, “true shows”, “true hides”, or “added” to
      the scores
    * `shape` is that of the mask; `name` is what the argument is called
    """

    layout: str = "batch first"
    inputs: int = 1
    mask: str = "none"
    shape: str = "T, T"
    name: str = ""

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
        # The same numbers; only the order of the axes changes.
        turned = x.transpose(0, 1) if self.layout == "sequence first" else x
        # An attention with a mask of its own has no argument for one.
        mask = {} if self.mask == "none" else {self.name: self.causal_mask(x.shape[1])}
        # Query, key and value are the same input: self-attention.
        output = attention(*[turned] * self.inputs, **mask)

        # Weights or a cache may come with the result, which is the first.
        output = output[0] if isinstance(output, tuple | list) else output
        # Back again, so that nobody else needs to know.
        return output.transpose(0, 1) if self.layout == "sequence first" else output


# What a mask can mean, and the shapes that it can have.
MEANINGS = ("true shows", "true hides", "added")
SHAPES = ("T, T", "1, T, T", "1, 1, T, T", "T, T, 1")
LAYOUTS = ("batch first", "sequence first")


def ways(forward: Callable, answers: dict[str, Any]) -> Iterator[Way]:
    r"""
    ## All ways to call it

    `answers` are what somebody has said, by the names of [Way](guesses.py#Way).
    """
    # Every mask has the word in its name.
    parameters = inspect.signature(forward).parameters
    masks = [name for name in parameters if "mask" in name.lower()]
    # What must be given, and is no mask, is an input. What has a default isn't needed.
    named = [
        name
        for name, one in parameters.items()
        if name not in masks and one.default is one.empty and one.kind is not one.VAR_KEYWORD
    ]
    # An attention that builds its own mask has no argument for one.
    meanings = (*MEANINGS, "none") if masks else ("none",)
    # For each part of a way, all that it can be. The likelier ones come first.
    every = {
        "layout": LAYOUTS,
        "inputs": [max(1, len(named))],
        # Without a mask there is one shape as good as any.
        "mask": meanings,
        "shape": SHAPES if masks else SHAPES[:1],
        "name": masks[:1] or [""],
    }
    # What was said is no longer tried.
    every |= {key: [value] for key, value in answers.items() if key in every}
    # Each with each: at most 32 ways.
    for values in product(*every.values()):
        yield Way(**dict(zip(every, values, strict=True)))


def example(batch_size: int = 5, seq_len: int = 7) -> dict[str, Any]:
    r"""
    ## Example

    PyTorch's own attention, from its names alone.

    ### Exercises

    ??? question "Why is an attention tried with both meanings of its mask?"
        Nothing in its signature says which it is, and the wrong one looks like a mask that is
        upside down.

    ??? question "Why three heads and not four?"
        With four heads of width 4, code that exchanges heads and features gives the same shapes.

    ??? question "When may two ways be equally good?"
        If the batch were as long as the text, “batch first” and “sequence first” would both run,
        and only the mixing of sequences would tell them apart.
    """
    # Its first two arguments are known by their names; the others have defaults.
    arguments, unknown = guess_arguments(nn.MultiheadAttention, "")
    attention = nn.MultiheadAttention(**arguments, batch_first=True).eval()

    # One of all ways: there true hides, and the input is passed three times.
    way = Way(inputs=3, mask="true hides", name="attn_mask")
    output = way(attention, torch.randn(batch_size, seq_len, SIZES["d_model"]))
    return {"arguments": arguments, "unknown": unknown, "output": output}

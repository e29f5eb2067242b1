r"""
---
title: A Batch in a Dictionary
summary: A model that reads its tokens out of a dictionary is given one, with those keys.
know: words.py
---

Some models are called with a whole batch, as a training loop has it. `forward(self, batch)` reads
`batch["input_ids"]`, and perhaps targets and a mask. Its code says which keys it reads.

**In:** the class of a model. **Out:** the dictionary that it is given, or the tokens themselves.
"""

import ast
import inspect
import re
import textwrap
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

# What tokens, targets and masks are called, as keys of a batch. Targets are called so as arguments,
# too.
TOKENS = r"^(input_ids|tokens|token_ids|idx|ids|x|inputs?|input_tokens|src|text)$"
TARGETS = r"target|label|^y$"
MASK = r"mask$"


@lru_cache(maxsize=64)
def keys_read(kind: Any) -> tuple[str, ...]:
    r"""
    ## Keys that `forward` reads from its first argument

    Empty, if it reads none, or if nobody can read its code. A key must be written out, as in
    `batch["input_ids"]`.
    """
    # What `exec` has made has no source. The lines of a method are indented, and Python reads none
    # that are, so they are moved to the left.
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind.forward)))
    except (OSError, TypeError, SyntaxError):
        return ()
    function = tree.body[0]
    if not isinstance(function, ast.FunctionDef) or len(function.args.args) < 2:
        return ()
    # The argument after `self`.
    name = function.args.args[1].arg
    return tuple(
        node.slice.value
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    )


def as_batch(model: nn.Module, tokens: Tensor) -> Any:
    r"""
    ## What a model is given for its tokens

    A dictionary, if it reads exactly one key for tokens; else the tokens themselves. Keys with
    other names than those above are left out.
    """
    kind: Any = type(model)
    # Each key once, however often it is read.
    keys = [*dict.fromkeys(keys_read(kind))]
    if len([one for one in keys if re.search(TOKENS, one)]) != 1:
        return tokens
    batch = {}
    for key in keys:
        # A mask that hides nothing: 1 for each token.
        if re.search(MASK, key):
            batch[key] = torch.ones_like(tokens)
        # The tokens are their own targets, since nothing is trained.
        elif re.search(f"{TOKENS}|{TARGETS}", key):
            batch[key] = tokens
    return batch


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> Any:
    r"""
    ## Example

    A table in a model that reads a batch.

    ### Exercises

    ??? question "It also reads “batch['speaker']”. What is it given?"
        A dictionary without that key, since nobody knows what a speaker is. The call fails, and
        “KeyError: 'speaker'” is told, with the line of the model.
    """

    class Batched(nn.Embedding):
        def forward(self, batch: Any) -> Tensor:
            r"""
            From tokens in a dictionary to rows.
            """
            return super().forward(batch["input_ids"])

    model = Batched(n_vocab, n_vocab)
    return model(as_batch(model, torch.randint(n_vocab, (batch_size, seq_len))))

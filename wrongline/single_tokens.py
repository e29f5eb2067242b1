r"""
---
title: Models That Read Single Tokens
summary: A model that refuses a text is given one token after the other, if it says so itself.
know: calling.py
---

Some models only write: a call takes one token of each text and the position where it stands, and
the keys of those before are kept in the module. With a whole text there is an assertion, in the
model's own words. Then its logits for a text are those of successive calls.

An error of any other kind is no such refusal. A mask that doesn't fit a text fails as well, and is
told as it is.

**In:** a model and tokens. **Out:** the logits, or None if it reads whole texts.
"""

import re
import traceback
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.calling import (
    BEGINNING,
    TARGETS,
    arguments_of,
    beside,
    called_with,
    find_logits,
)
from wrongline.in_place import borrowed
from wrongline.verdicts import is_inside

# A model that is called for each token.
ONE_TOKEN = (
    "a call reads one token of each text, and remembers those before: say by `predict` a function "
    "of the model and tokens that calls it for one after the other, and gives "
    "torch.stack(logits, dim=1)"
)


def place_of_a_token(model: nn.Module) -> str:
    r"""
    ## The argument that says where a token stands
    """
    return next((name for name in [*arguments_of(model)][1:] if re.search(BEGINNING, name)), "")


def refuses(error: BaseException) -> bool:
    r"""
    ## Does the model refuse a text itself?

    By `assert` or by `raise`, in a line of its own.
    """
    lines = traceback.extract_tb(error.__traceback__)
    return (
        bool(lines)
        and not is_inside(lines[-1])
        and bool(re.match(r"assert\b|raise\b", lines[-1].line or ""))
    )


def refuses_texts(model: nn.Module, tokens: Tensor) -> bool:
    r"""
    ## Does it read single tokens only, and know where each stands?
    """
    if not place_of_a_token(model) or tokens.dim() != 2 or tokens.shape[1] < 2:
        return False
    try:
        with torch.no_grad(), borrowed(model):
            called_with(model, tokens, **beside(model, tokens))
    except Exception as error:
        if not refuses(error):
            return False
    else:
        return False
    try:
        with torch.no_grad():
            one_by_one(model, tokens[:, :2])
    except Exception:
        return False
    return True


def one_by_one(model: nn.Module, tokens: Tensor, is_new: bool = True) -> Tensor:
    r"""
    ## Read a text token by token

    With the cache as it is before; afterwards, it is that again if the text `is_new`.
    """
    if is_new:
        with borrowed(model):
            return one_by_one(model, tokens, False)
    name = place_of_a_token(model)
    found = []
    # A cache is written in place, and gradients need what was there. (The browser's torch has no
    # such hooks, and asks for no gradient here.)
    graph = getattr(torch.autograd, "graph", None)
    keeps = graph.saved_tensors_hooks(Tensor.clone, lambda kept: kept) if graph else nullcontext()
    with keeps:
        for position, column in enumerate(tokens.split(1, dim=1)):
            given = beside(model, column) | {name: position}
            logits = find_logits(called_with(model, column.contiguous(), **given))
            found.append(logits.unsqueeze(1) if logits.dim() == 2 else logits)
    together = torch.cat(found, dim=1)
    if together.dim() != 3 or together.shape[:2] != tokens.shape:
        raise ValueError(f"token by token, the logits are {list(together.shape)}")
    return together


def two_calls(model: nn.Module, columns: list[Tensor]) -> list[Tensor]:
    r"""
    ## Give it a token of each text, and another one

    What comes back beside the logits goes into the next call.
    """
    optional = [name for name, one in arguments_of(model).items() if one.default is None]
    found = []
    held: dict[str, Any] = {}
    for position, column in enumerate(columns):
        given = beside(model, column)
        # Switches are true, and a whole number is where the text begins.
        begins = {name: position for name, one in given.items() if type(one) is int}
        result = called_with(model, column, **{**given, **begins, **held})
        if isinstance(result, tuple | list):
            result, *rest = result
            names = [name for name in optional if not re.search(TARGETS, name)]
            held = {name: one for name, one in zip(names, rest, strict=False) if one is not None}
        found.append(find_logits(result))
    return found


def reads_single_tokens(model: nn.Module, tokens: Tensor, logits: Tensor | None = None) -> bool:
    r"""
    ## Does a call read one token of each text?

    It says something about each of them alone, and the next call remembers. `logits` are those of
    a call with whole texts: if they are the same, it reads these as well.
    """
    if tokens.dim() != 2 or tokens.is_floating_point() or tokens.shape[1] < 2:
        return False
    # Two texts at least. In the second reading, the first token of the first is another one.
    texts = torch.cat([tokens, tokens.roll(1, dims=1)])
    others = texts[texts != texts[0, 0]]
    if not len(others):
        return False
    changed = torch.cat([others[:1], texts[1:, 0]])
    found = []
    for first in (texts[:, 0], changed):
        try:
            with borrowed(model):
                found.append(two_calls(model, [first, texts[:, 1]]))
        # Most want whole texts.
        except Exception:
            return False
    for one, other in zip(*found, strict=True):
        if not all(isinstance(x, Tensor) and x.dim() == 2 for x in (one, other)):
            return False
        # The first text gets other logits, and no other one does.
        same = torch.isclose(one, other, 1e-3, 1e-5).all(-1).tolist()
        if one.shape != other.shape or same != [False] + [True] * (len(texts) - 1):
            return False
    second = found[0][1][: len(tokens)]
    return logits is None or not torch.allclose(logits[:, 1], second, 1e-3, 1e-5)


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> tuple[bool, Tensor]:
    r"""
    ## Example

    A table that is asked for one token at a time, and refuses more.

    ### Exercises

    ??? question "A model fails with two tokens, since its mask has the wrong shape. Is it refused?"
        No: that error comes from PyTorch, and is told as it is.

    ??? question "What can't be found in a model that reads single tokens only?"
        That its positions are off: there is no whole text to compare with.
    """

    class Single(nn.Embedding):
        def forward(self, token: Tensor, start_pos: int) -> Tensor:  # type: ignore[override]
            r"""
            From one token of each text, `[batch_size, 1]`, to a row for each.
            """
            assert token.shape[1] == 1, "one token at a time"
            return super().forward(token)

    tokens = torch.randint(n_vocab, (batch_size, seq_len))
    model = Single(n_vocab, n_vocab)
    return refuses_texts(model, tokens), one_by_one(model, tokens)

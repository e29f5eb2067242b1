r"""
---
title: Models That Read Single Tokens
summary: A model that refuses a whole text, in its own words, is given one token after the other.
know: calling.py
---

Some models can only write. A call takes one token of each text, `[batch_size, 1]`, and its
position; the module keeps the keys of the tokens before. Given a whole text, such a model stops
with an `assert` or a `raise` of its own. So we call it once for each token of the text, and put the
logits together. Any other error, such as that of a mask that doesn't fit the text, is no refusal,
and is told as it is.

Other models have no axis for the sequence at all: tokens are one number for each text, and what a
call returns beside the logits goes into the next call. [These models are
recognised](single_tokens.py#reads_single_tokens), and their author is asked for a `predict`.

**In:** a model and tokens. **Out:** whether it reads single tokens, and its logits for a text.
"""

import re
import traceback
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.batches import TARGETS
from wrongline.calling import (
    BEGINNING,
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

    By `assert` or by `raise`, in a line of its own code: the last line of the traceback.
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
    # It may have refused for another reason, and then refuses two single tokens, too.
    try:
        with torch.no_grad():
            one_by_one(model, tokens[:, :2])
    except Exception:
        return False
    return True


def one_by_one(model: nn.Module, tokens: Tensor) -> Tensor:
    r"""
    ## Read a text token by token

    Afterwards the cache is what it was before.
    """
    with borrowed(model):
        return read_on(model, tokens)


def read_on(model: nn.Module, tokens: Tensor) -> Tensor:
    r"""
    ### Read it, and leave it in the cache
    """
    name = place_of_a_token(model)
    found = []
    # The next call writes into the cache in place, and the backward pass needs what was there
    # before: so autograd keeps copies. (In the browser, torch has no such hooks, and no gradient
    # is needed.)
    graph = getattr(torch.autograd, "graph", None)
    keeps = graph.saved_tensors_hooks(Tensor.clone, lambda kept: kept) if graph else nullcontext()
    with keeps:
        for position, column in enumerate(tokens.split(1, dim=1)):
            given = beside(model, column) | {name: position}
            logits = find_logits(called_with(model, column.contiguous(), **given))
            # Some leave out the axis of the sequence, since it has a length of 1.
            found.append(logits.unsqueeze(1) if logits.dim() == 2 else logits)
    together = torch.cat(found, dim=1)
    if together.dim() != 3 or together.shape[:2] != tokens.shape:
        raise ValueError(f"token by token, the logits are {list(together.shape)}")
    return together


def two_calls(model: nn.Module, columns: list[Tensor]) -> list[Tensor]:
    r"""
    ## Give it a token of each text, and then another one

    Each of the `columns` has one number for each text. What a call returns beside the logits goes
    into the next call, into the arguments that are None by default, in their order.
    """
    optional = [name for name, one in arguments_of(model).items() if one.default is None]
    found = []
    held: dict[str, Any] = {}
    for position, column in enumerate(columns):
        given = beside(model, column)
        # A whole number among them is the position where the text begins. (A switch is True, which
        # `isinstance` would take for a whole number.)
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
    ## Does a call take tokens without an axis for the sequence?

    If another first token of one text changes the logits of that text in both calls, and of no
    other text, a call reads each token by itself and the next call remembers it. `logits` are those
    of a call with whole texts. If the second call gives the same as they have at position 1, the
    model reads whole texts as well, and the answer is no.
    """
    if tokens.dim() != 2 or tokens.is_floating_point() or tokens.shape[1] < 2:
        return False
    # At least two texts. They are read twice, the second time with another first token of the
    # first text.
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
        # Only the first text has other logits.
        same = torch.isclose(one, other, 1e-3, 1e-5).all(-1).tolist()
        if one.shape != other.shape or same != [False] + [True] * (len(texts) - 1):
            return False
    second = found[0][1][: len(tokens)]
    return logits is None or not torch.allclose(logits[:, 1], second, 1e-3, 1e-5)


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> tuple[bool, Tensor]:
    r"""
    ## Example

    A table that takes one token at a time, and refuses more.

    ### Exercises

    ??? question "A model fails with two tokens, its mask has a wrong shape. Is that a refusal?"
        No: that error comes from PyTorch, and is told as it is.

    ??? question "What can't be found in a model that reads single tokens only?"
        That all its positions are off by one: there is no whole text to compare with.
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

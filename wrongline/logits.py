r"""
---
title: The Logits of Somebody's Model
summary: A model is called as its code asks for; if that fails, a sentence says how to call it.
know: calling.py
---

A model is given its tokens and [what it needs beside them](calling.py). If the call fails, the
model may need room for a cache, [one token after the other](single_tokens.py), or one text at a
time. The first two are tried here; the last is told, with a `predict` that works.

**In:** a model and tokens. **Out:** the logits, or an error that says how to call it.
"""

from typing import Any

import torch
from torch import Tensor, nn

from wrongline.calling import (
    OtherCallError,
    beside,
    called_with,
    find_logits,
    has_room,
    refuse_two_texts,
    shaped,
    wants_more,
    with_room,
)
from wrongline.single_tokens import (
    ONE_TOKEN,
    one_by_one,
    place_of_a_token,
    reads_single_tokens,
    refuses,
)

# A model without an axis for the batch.
ONE_TEXT = (
    "it takes one text at a time, without an axis for the batch: say predict=lambda model, tokens: "
    "torch.stack([model(one) for one in tokens])"
)


def takes_one_text(model: nn.Module, tokens: Tensor) -> bool:
    r"""
    ## Does it take a text without an axis for the batch?
    """
    if tokens.dim() != 2 or not len(tokens):
        return False
    try:
        found = find_logits(called_with(model, tokens[0], **beside(model, tokens[0])))
    except Exception:
        return False
    return isinstance(found, Tensor) and found.dim() == 2 and len(found) == tokens.shape[1]


def read_singly(model: nn.Module, tokens: Tensor, error: Exception) -> Tensor:
    r"""
    ## Token by token, if that runs

    Else the error that the model raised for the whole text is told.
    """
    try:
        return one_by_one(model, tokens)
    except Exception:
        raise error from None


def refuse_lists(result: Any, tokens: Tensor) -> None:
    r"""
    ## A list of logits is no tensor

    It has a tensor for each sequence, or for each position; or Python's numbers.
    """
    if type(result) is not list or not result:
        return
    how = "torch.tensor(model(tokens))"
    if all(isinstance(one, Tensor) for one in result):
        # Logits of one sequence have two axes, and so have those of one position.
        if result[0].dim() != 2:
            return
        # One for each sequence, with a row for each position; else one for each position.
        axis = 0 if len(result) == len(tokens) and len(result[0]) == tokens.shape[1] else 1
        how = f"torch.stack(model(tokens), dim={axis})"
    raise OtherCallError(
        f"it gives a list of {len(result)}, not one tensor: say predict=lambda model, tokens: {how}"
    )


def logits_of(model: nn.Module, tokens: Tensor) -> Tensor:
    r"""
    ## Call the model

    Tokens are `[batch_size, seq_len]`, and logits `[batch_size, seq_len, n_vocab]`.
    """
    refuse_two_texts(model)
    # Some models call `view` on their tokens. It fails on a part of a longer text, whose rows have
    # gaps between them in memory.
    tokens = tokens.contiguous()
    given = beside(model, tokens)
    try:
        try:
            result = called_with(model, tokens, **given)
        # A cache that must be made first is no fault of the model.
        except Exception:
            if not has_room(model):
                raise
            result = with_room(model, tokens)
    # Other ways to read the tokens, and else what `forward` lacks.
    except Exception as error:
        if reads_single_tokens(model, tokens):
            raise OtherCallError(ONE_TOKEN) from error
        if refuses(error) and place_of_a_token(model):
            return read_singly(model, tokens, error)
        if takes_one_text(model, tokens):
            raise OtherCallError(ONE_TEXT) from error
        more = wants_more(model, given)
        if more and isinstance(error, TypeError):
            raise OtherCallError(more) from error
        raise
    found = shaped(find_logits(result), tokens)

    # Without targets, nanoGPT computes the logits of the last position alone. It takes them second.
    if isinstance(found, Tensor) and found.dim() == 3 and found.shape[1] == 1 < tokens.shape[1]:
        found = shaped(find_logits(model(tokens.clone(), tokens.clone(), **given)), tokens)

    # Of anything else the author must say how to get the logits.
    if not isinstance(found, Tensor) or found.dim() != 3 or found.shape[:2] != tokens.shape:
        refuse_lists(result, tokens)
        has = list(found.shape) if isinstance(found, Tensor) else type(found).__name__
        wanted = f"[{tokens.shape[0]}, {tokens.shape[1]}, n_vocab]"
        raise OtherCallError(
            f"the logits are {has}, not {wanted}: say by `predict` how to get them"
        )
    return found


def sequence_first(model: nn.Module, tokens: Tensor) -> Tensor:
    r"""
    ## Call it with the sequence first

    The caller's tokens and logits have the batch first all the same. Another page finds out [which
    axis a model wants first](layouts.py).
    """
    return logits_of(model, tokens.t()).transpose(0, 1)


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A table with the logits of the next token, and a model that returns a pair.

    ### Exercises

    ??? question "Your model takes one text, without an axis for the batch. What do you say?"
        `predict=lambda model, tokens: torch.stack([model(one) for one in tokens])`. The error names
        it.

    ??? question "Why is a model with an encoder and a decoder refused?"
        It has two texts. If both are the same, the encoder reads the whole of it, so each logit
        depends on later tokens, as it should; and a test would say that the model sees the future.
    """
    tokens = torch.randint(n_vocab, (batch_size, seq_len))

    class Pair(nn.Embedding):
        def forward(self, tokens: Tensor) -> tuple[None, Tensor]:
            r"""
            From tokens, `[batch_size, seq_len]`, to a row of the table for each.
            """
            return None, super().forward(tokens)

    # The pair has None in the place of a loss.
    models = [nn.Embedding(n_vocab, n_vocab), Pair(n_vocab, n_vocab)]
    return logits_of(models[0], tokens), logits_of(models[1], tokens)

r"""
---
title: Read a Text in Parts
summary: How any model with a cache is given a text piece by piece, as when it writes.
---

**In:** a model, and how many tokens each part of the text has. **Out:** logits of all tokens, as if
the text had been read at once. The [tests of a cache](cache_tests.py) compare the two.

Models of the transformers library take what they remember as an argument, and give it back with the
logits. All that do so can be read here without knowing more about them.
"""

import inspect

import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes.whole import Whole, find_logits

# What a cache is called, as an argument and as a field of the result. (Release 5.24 of the library
# says `cache` where it said `past_key_values` or `cache_params`, and still understands both.)
CACHES = ("cache", "past_key_values", "cache_params", "state")


def read_parts(model: nn.Module, parts: list[Tensor]) -> Tensor | None:
    r"""
    ## Read with a cache

    Logits of all tokens, or None if the model has no cache.
    """
    # A result may have one cache under several names. First come those that the model takes.
    taken = inspect.signature(model.forward).parameters
    names = sorted(CACHES, key=lambda name: name not in taken)

    # What the last call gave, under the name that the next call wants.
    cache: dict[str, object] = {}
    said = []
    for part in parts:
        # The first call is given no cache, and makes one.
        output = model(part, use_cache=True, **cache)
        given = [name for name in names if getattr(output, name, None) is not None]

        # A model without one would be told each part alone.
        if not given:
            return None
        # (Given under two names at once, it could be refused.)
        cache = {given[0]: getattr(output, given[0])}

        # Logits of this part alone.
        said.append(find_logits(output))

    # Side by side, they are logits of the whole text.
    return torch.cat(said, dim=1)


def read_by(whole: Whole, model: nn.Module, lengths: list[int]) -> Tensor | None:
    r"""
    ## Read parts of given lengths
    """
    # The text is cut along its second axis.
    parts = list(whole.inputs.split(lengths, dim=1))

    # You know how your model is called.
    if whole.read:
        return whole.read(model, parts)

    # A model that can't read so, and says it by an error, does no harm.
    try:
        return read_parts(model, parts)
    except Exception:
        return None


class Counts(nn.Embedding):
    r"""
    ## A model with a cache

    It adds up the rows of all tokens so far. What it remembers is the sum.
    """

    def forward(
        self, tokens: Tensor, use_cache: bool = False, state: Tensor | None = None
    ) -> "Counts.Output":
        r"""
        ### Logits and a cache

        From tokens, `[batch_size, seq_len]`, to a row of logits for each, and the sum of all rows,
        which is for the next call.
        """
        sums = super().forward(tokens).cumsum(dim=1)

        # What was read before counts, too.
        if state is not None:
            sums = sums + state
        return Counts.Output(sums, sums[:, -1:])

    class Output:
        r"""
        ### Both together
        """

        def __init__(self, logits: Tensor, state: Tensor) -> None:
            r"""
            * `logits` are for the next tokens, and `state` is for the next call
            """
            # By these names they are found.
            self.logits = logits
            self.state = state


def example(batch_size: int = 3, seq_len: int = 7, n_vocab: int = 11) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    In parts of two tokens and of five, and at once. Both give the same logits.

    ### Exercises

    ??? question "Why is an error in reading no failure of the test?"
        A model that refuses several tokens at once says so, loudly. The mistakes here are silent.
    """
    # Random tokens: what counts is that both ways agree.
    tokens = torch.randint(n_vocab, (batch_size, seq_len))
    whole = Whole(Counts(n_vocab, n_vocab), tokens, tokens)

    # The cache goes from the first call into the second.
    found = read_by(whole, whole.model, [2, seq_len - 2])
    # None would mean that there is no cache.
    assert found is not None

    # Nothing was read before.
    at_once = whole.model(tokens).logits
    return found, at_once

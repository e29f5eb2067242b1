r"""
---
title: Find a Leak in Your Own Model
summary: Change a token, and no logit before it may change. Two calls show a leak.
know: masks.py
---

Does your model see the future? You can ask it, and needn't look inside. Change one token, call the
model again, and compare: the logits before that token must stay as they were. A model without a
mask prints a loss of [0.044](../../../results/mistakes.json#tables.mistakes.MaskUnused.printed),
and two calls show why.

**In:** a model that gives logits, and tokens, `[batch_size, seq_len]`. **Out:** the positions that
see what comes later.

A leak can hide: within a chunk of 64 tokens, in training only, behind a cache, or in one expert's
choice. So there is a [package](../../../wrongline/__init__.py) that asks in all these ways, tests
the [training step](../../../wrongline/training_tests.py) as well, and names the mistake in [an
attention](../../../wrongline/attention_tests.py). This museum is what it is tried on.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from labml_nn.transformers.mistakes.masks import MaskUnused
from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.right_model import RightModel
from wrongline import (
    check_attention,
    check_language_model,
    check_training_step,
    find_in_language_model,
    find_mistakes,
)

# What this page hands on, by the names that the museum has given it.
__all__ = [
    "check_attention",
    "check_language_model",
    "check_training_step",
    "find_in_language_model",
    "find_mistakes",
]

# How far an earlier position may move by rounding, as a share of the move at the changed place.
# Weaker leaks go unnoticed. One is a [mask after the softmax](masks.py#MaskAfterSoftmax) in the
# small model below: before training, its queries and keys are small, so that the hidden keys hardly
# matter. The package notices it, because it makes the matrices larger first.
ROUNDING = 1e-4


def sees_later(model: Callable[[Tensor], Tensor], tokens: Tensor, place: int) -> list[int]:
    r"""
    ## Which positions see a later one?

    `tokens` are `[batch_size, seq_len]`, and the token at `place` is changed in all sequences.
    """
    logits = model(tokens)

    # Any other token will do in most models. The remainder keeps it in the vocabulary.
    changed = tokens.clone()
    changed[:, place] = (changed[:, place] + 1) % logits.shape[-1]

    # How far the logits of each position have moved, over all sequences and tokens.
    moved = (model(changed) - logits).abs().amax(dim=(0, 2))

    # The position itself has read another token, so it moves: that is the scale. Earlier ones may
    # move by rounding alone.
    earlier = moved[:place] > ROUNDING * moved[place]
    return earlier.nonzero().flatten().tolist()


def example(
    batch_size: int = 3, seq_len: int = 7, heads: int = 2, d_k: int = 5, n_vocab: int = 11
) -> tuple[list[int], list[int], dict[str, str]]:
    r"""
    ## Example

    The last token changes. In the right model nothing before it moves, and without a mask
    everything does. The package says it in a sentence.

    ### Exercises

    ??? question "Why is the *last* token changed?"
        All other positions come before it, so one comparison asks all of them. It asks whether they
        see *this* token. With chunks of 3 tokens, the last of 7 has a chunk for itself, and no
        other position sees it, though position 3 sees position 5. Change other tokens, too.

    ??? question "Dropout is on. What do the two calls say?"
        Nearly every position moves, because each call drops other elements. Call `eval()` first.
        The package tests training as well, without dropout.

    ??? question "Of two experts, each chooses the tokens that it likes best. Is that a leak?"
        Yes: whether an expert takes a token depends on later ones. No gradient shows it, since a
        choice has none. Two calls show it if the changed token makes an expert choose otherwise. It
        often does, but not always, so ask with several tokens.
    """
    tokens = torch.randint(n_vocab, (batch_size, seq_len))

    # The same model twice: only one line of its attention differs.
    sizes = {"n_vocab": n_vocab, "d_model": heads * d_k, "n_layers": 1, "seq_len": seq_len}
    right = RightModel(**sizes, attention=lambda: RightAttention(heads, heads * d_k)).eval()
    leaky = RightModel(**sizes, attention=lambda: MaskUnused.make()(heads, heads * d_k)).eval()

    # Two calls for each.
    seen_by_right = sees_later(right, tokens, seq_len - 1)
    seen_by_leaky = sees_later(leaky, tokens, seq_len - 1)

    # All tests of the package: from the names of those that fail to sentences.
    return seen_by_right, seen_by_leaky, find_in_language_model(leaky, tokens)

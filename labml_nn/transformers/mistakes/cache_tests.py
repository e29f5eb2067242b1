r"""
---
title: Tests of a Cache and of Positions
summary: A model that reads piece by piece must say what it says about the whole.
---

With a [cache](../kv_cache.py), a model reads the prompt in one call and each new token in another.
Nothing of that is tried in training, so a model with a perfect loss can write nonsense. These tests
read one text in three ways: token by token, a prompt and then token by token, and a prompt and then
several tokens at once. What is said must be what the model says about the same text without a
cache. Which of the three ways fails tells [the mistake](caches.py).

**In:** [what is tested](whole.py#Whole). **Out:** a sentence that says what is wrong, or nothing.
Models of the transformers library, and all that take and return a `cache` or `past_key_values` as
they do, need nothing more. Any other model says by `read` how it reads the parts of a text.
"""

from collections.abc import Callable

import torch

from labml_nn.transformers.mistakes.caches import OffsetJumps, RightCache
from labml_nn.transformers.mistakes.comparison import NEAR, off
from labml_nn.transformers.mistakes.model_tests import place_of
from labml_nn.transformers.mistakes.read_parts import read_by
from labml_nn.transformers.mistakes.whole import Whole


def cache_agrees(whole: Whole) -> str:
    r"""
    ## With the cache as without
    """
    # Weights of some size: small ones would hide a difference.
    model = whole.rough()
    inputs = whole.inputs
    length = inputs.shape[1]

    # Half of the text is the prompt, and the rest comes one by one, or in two parts. Or there is no
    # prompt, and everything comes one by one. (With an odd rest, the first of its two parts is the
    # longer one.)
    n = max(1, length // 2)
    rest = length - n
    ways = {
        "a prompt": [n] + [1] * rest,
        "single tokens": [1] * length,
        "several": [n, rest - rest // 2, rest // 2],
    }

    # Where the first difference is, for each way that has one.
    wrong: dict[str, tuple[int, int]] = {}
    for way, lengths in ways.items():
        # Parts without a token are none.
        lengths = [one for one in lengths if one]
        found = read_by(whole, model, lengths)

        # A model without a cache can't be wrong about it.
        if found is None:
            continue

        # Without a cache, the model reads all that was read so far, each time.
        # Each part ends where the next one begins.
        ends = [sum(lengths[: i + 1]) for i in range(len(lengths))]
        # Of each reading, what was said about the tokens of the part.
        expected = torch.cat(
            [
                whole.predict(model, inputs[:, :end])[:, end - one :]
                for end, one in zip(ends, lengths, strict=True)
            ],
            dim=1,
        )

        # The first sequence that differs, and the first position in it. A NaN is a difference.
        place = place_of(found, expected)
        if place:
            wrong[way] = place

        # The prompt by itself: nothing was in the cache yet.
        # (It is the first of the parts, so the first logits are its own.)
        if way == "a prompt" and place_of(found[:, :n], expected[:, :n]):
            return (
                f"the logits of a prompt of {n} tokens are others when a cache is filled: that "
                "call has another mask, or none"
            )

    # Which of the three ways are wrong tells where to look.
    return blame(wrong, n)


def blame(wrong: dict[str, tuple[int, int]], n: int) -> str:
    r"""
    ## Which part of the cache it is
    """
    # Here each part was a single token, and no prompt could be to blame. Left are the mask of a new
    # token, its position, and what is in the cache.
    if "single tokens" in wrong:
        return (
            f"token by token, the logits at position {wrong['single tokens'][1]} are others than "
            "without a cache: look at the mask of a new token, at its position, and at whether it "
            "is in the cache itself"
        )

    # Only with a prompt of several tokens: something is counted in calls or in prompts.
    # (With a prompt of one token, the way above would have failed.)
    if "a prompt" in wrong:
        return (
            f"after a prompt of {n} tokens the logits at position {wrong['a prompt'][1]} are "
            "others than without a cache, and from a prompt of one token they aren't: positions "
            "jump with the length of the prompt"
        )

    # Only when a part has several tokens, and something was read before it.
    # A single token may see everything, several may not.
    if "several" in wrong:
        return (
            f"with a cache and several new tokens, the logits at position {wrong['several'][1]} "
            "are others than without: look at the mask of such a part (the lower right corner), or "
            "at the state that it begins with"
        )

    # All three ways give what the model says without a cache.
    # A model that has none comes here as well.
    return ""


def shift_changes_nothing(whole: Whole) -> str:
    r"""
    ## The whole text, some positions later

    Rotary and other relative positions know distances only. So when all positions are larger by
    the same number, nothing may change.
    """
    # Not every model is meant to be relative.
    if whole.shifted is None:
        return ""

    # Far enough for the slowest of the rotations to be seen.
    by = 1000

    # The same tokens and the same model, from position 0 and from position 1,000 on. A table of
    # positions must be long enough for that.
    model = whole.rough()
    first = whole.shifted(model, whole.inputs, 0)
    moved = whole.shifted(model, whole.inputs, by)

    # Sines of large numbers are rounded more coarsely.
    if off(moved, first) < 30 * NEAR:
        return ""

    # The sentence names the mistake that is in print most often.
    return (
        f"with all positions larger by {by} the logits are others: what is added or turned isn't "
        "relative (are the pairs of features those of the table?)"
    )


# Both need no gradient. They work with tokens and, as in the example, with vectors.
CACHE_TESTS: tuple[Callable[[Whole], str], ...] = (cache_agrees, shift_changes_nothing)


def example(batch_size: int = 3, heads: int = 5, d_k: int = 2, seq_len: int = 7) -> list[str]:
    r"""
    ## Example

    The right cache passes. The [other one](caches.py#OffsetJumps) is right token by token, and
    wrong after a prompt.

    ### Exercises

    ??? question "Why is the prompt looked at by itself?"
        Nothing is in the cache yet, so positions and offsets can't be wrong. If its logits differ,
        the call that fills the cache has another mask.

    ??? question "A model passes token by token and fails after a prompt of six. What is counted?"
        Something that grows with the prompt once too often, such as an offset that is added for
        each call. With a prompt of one token it grows by one, as it should.

    ??? question "Which of the three ways does writing with a model use?"
        A prompt, then token by token. Several at once come in speculative decoding, and when a
        chat goes on.
    """
    # Vectors take the place of tokens: the tests don't mind.
    width = 2 * heads * d_k
    x = torch.randn(batch_size, seq_len, width)
    said = []
    for kind in (RightCache, OffsetJumps.make()):
        # Each has weights of its own: a model is compared with itself.
        # How the whole is read, and how parts are.
        whole = Whole(
            kind(heads, width),
            x,
            x,
            predict=lambda attention, x: attention(x),
            read=lambda attention, parts: attention.read(parts),
        )
        said.append(cache_agrees(whole))
    return said

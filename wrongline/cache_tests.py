r"""
---
title: Tests of a Cache and of Positions
summary: A model that reads piece by piece must say what it says about the whole.
---

With a [cache](../labml_nn/transformers/kv_cache.py), a model reads the prompt in one call and each
new token in another. Nothing of that is tried in training, so a model with a perfect loss can write
nonsense. These tests read one text in three ways: token by token, a prompt and then token by token,
and a prompt and then several tokens at once. What is said must be what the model says about the
same text without a cache. Which of the three ways fail, and from which position on, tells [the
mistake](../labml_nn/transformers/mistakes/caches.py).

**In:** [what is tested](whole.py#Whole). **Out:** a sentence that says what is wrong, or nothing.
Most models need nothing more: [the ways to read](read_parts.py) are known by the names of their
arguments. Any other model says by `read` how it reads the parts of a text.
"""

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.cache_classes import how_to_read
from wrongline.cache_names import by_each_name
from wrongline.comparison import NEAR, off
from wrongline.made_caches import NoCacheError
from wrongline.model_tests import SHORT
from wrongline.read_parts import (
    Counts,
    LaterCallError,
    likely_names,
    told_positions,
    way_of,
    ways_to_read,
)
from wrongline.single_token_tests import reads_single_tokens_well
from wrongline.single_tokens import refuses_texts
from wrongline.verdicts import NotTried, told
from wrongline.whole import Whole

# Of a long text, only a few tokens come one by one.
FEW = 4

# By such an attribute a model says whether it has a cache.
SAYS = r"^(can|supports?)_.*(cache|kv)$"

# A method that reads a token, beside `forward`.
STEP = r"^((decode|forward|inference|recurrent|generate)_)?(step|cached)$|^decode$"


def parts_of(length: int) -> dict[str, list[int]]:
    r"""
    ## Three ways to cut a text

    Half of the text is the prompt, and the rest comes one by one, or in two parts. Or there is no
    prompt, and everything comes one by one. Of a long text only a few tokens do.
    """
    n = max(1, length // 2)
    rest = length - n
    few = length if length <= SHORT else FEW
    ways = {
        "a prompt": [n] + [1] * min(rest, few),
        "single tokens": [1] * few,
        # (With an odd rest, the first of its two parts is the longer one.)
        "several": [n, rest - rest // 2, rest // 2],
    }
    # Parts without a token are none.
    return {way: [one for one in lengths if one] for way, lengths in ways.items()}


def first_difference(whole: Whole, model: nn.Module, said: list[Tensor], lengths: list[int]) -> Any:
    r"""
    ## Where parts differ from the whole

    The first sequence, the first position in it, and the number of the part; or None.
    """
    logits = whole.logits(model)
    end = 0
    for number, (part, length) in enumerate(zip(said, lengths, strict=True)):
        end += length
        # With a cache, some give the logits of the last token alone.
        known = slice(end - part.shape[1], end)
        place = whole.place_of(model, part, logits[:, known])
        if place:
            # Without a cache, the model reads all that was read so far, each time.
            alone = whole.predict(model, whole.inputs[:, :end])[:, known]
            place = whole.place_of(model, part, alone)
        if place:
            return place[0], place[1] + known.start, number
    return None


def disagreement(whole: Whole, read: Callable[[nn.Module, list[Tensor]], list[Tensor]]) -> str:
    r"""
    ## One way to read, compared
    """
    length = whole.inputs.shape[1]
    n = max(1, length // 2)
    wrong: dict[str, tuple[int, int]] = {}
    refused = ""
    for way, lengths in parts_of(length).items():
        used = whole.inputs[:, : sum(lengths)]
        parts = [part.contiguous() for part in used.split(lengths, dim=1)]
        # Each reading begins with an empty cache, also in a module.
        with whole.rough() as model:
            try:
                said = read(model, parts)
            # A model that refuses several tokens at once says so, loudly.
            except Exception as error:
                if way != "several" or len(lengths) < 3:
                    raise
                refused = told(error.__cause__ or error)
                continue
            place = first_difference(whole, model, said, lengths)
        if not place:
            continue
        # It may have read the last of them alone.
        if way == "several" and 1 in [part.shape[1] for part in said[1:]]:
            refused = "of several new ones, the model gives the logits of the last"
            continue
        wrong[way] = place[:2]

        # The prompt by itself: nothing was in the cache yet.
        # (It is the first of the parts, so the first logits are its own.)
        if way == "a prompt" and place[2] == 0:
            return (
                f"the logits of a prompt of {n} tokens are others when a cache is filled: that "
                "call has another mask, or none"
            )

    # Which of the three ways are wrong tells where to look.
    sentence = blame(wrong, n)
    if refused and not sentence:
        return NotTried(f"several new tokens at once: {refused}")
    return sentence


def said_by(whole: Whole) -> Callable[[nn.Module, list[Tensor]], list[Tensor]]:
    r"""
    ## The way that somebody has said
    """

    def read(model: nn.Module, parts: list[Tensor]) -> list[Tensor]:
        assert whole.read is not None
        found = whole.read(model, parts)
        return list(found.split([part.shape[1] for part in parts], dim=1))

    return read


def cache_agrees(whole: Whole) -> str:
    r"""
    ## With the cache as without

    In each way that the model may be read. It is wrong if it is right in none of them.
    """
    if whole.read:
        return disagreement(whole, said_by(whole))
    if not whole.is_called_as_usual:
        return NotTried("nobody has said by `read` how it reads with a cache")
    if refuses_texts(whole.model, whole.inputs):
        return reads_single_tokens_well(whole)
    reason = ""
    said_so = says_it_has_none(whole.model)
    if said_so:
        return NotTried(f"`{said_so}` of the model says that it has no cache")
    said = ""
    failed: Exception | None = None
    for read in ways_to_read(whole.model):
        try:
            found = disagreement(whole, read)
        except NoCacheError as error:
            reason = reason or told(error)
            continue
        # The likeliest way comes first, and how it fails tells.
        except Exception as error:
            failed = failed or error
            continue
        # One way in which it is right is enough, for each name that its cache has.
        if not found or isinstance(found, NotTried):
            whole.known["cache's way"] = f"a cache {way_of(read)}"
            return by_another_name(whole) or found
        said = said or found
    if said:
        return said + only_with_positions(whole)
    # A call with its own cache fails: that is said in its words.
    if isinstance(failed, LaterCallError):
        assert failed.__cause__ is not None
        raise failed.__cause__
    # Or a call with an empty one does, or nothing comes back.
    reason = reason or (told(failed) if failed else "")
    if how := how_to_read(whole.model, likely_names(whole.model)[0]):
        return NotTried(how)
    if reason:
        return NotTried(f"no cache comes to light: {reason}")
    step = next((name for name in dir(whole.model) if re.search(STEP, name)), "")
    how = f": say by `read` how `{step}` reads a text" if step else ""
    return NotTried(f"no argument of `forward` looks like a cache{how}")


def by_another_name(whole: Whole) -> str:
    r"""
    ## Is it wrong by one of its cache's names?

    Nothing is said if it has one name, or isn't called by another one.
    """
    try:
        ways = [*by_each_name(whole.model, whole.inputs)]
    except Exception:
        return ""
    for name, read in ways:
        try:
            found = disagreement(whole, read)
        except Exception:
            continue
        if found and not isinstance(found, NotTried):
            return f"with its cache as `{name}`, {found}"
    return ""


def says_it_has_none(model: nn.Module) -> str:
    r"""
    ## Does it say that it has no cache?

    The name of its attribute that says so.
    """
    names = [name for name in vars(model) if re.search(SAYS, name) and vars(model)[name] is False]
    return next(iter(names), "")


def only_with_positions(whole: Whole) -> str:
    r"""
    ## Is it right if it is told the positions?

    A loop that writes a text may pass them, and then all is well. Who calls the model without them
    isn't told that they are others.
    """
    for read in told_positions(whole.model):
        try:
            if not disagreement(whole, read):
                return (
                    ". If each part is told its positions, they agree, so what is wrong are the "
                    "positions that the model takes by default"
                )
        # It takes no such positions.
        except Exception:
            continue
    return ""


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
        return NotTried("nobody has said by `shifted` how positions are moved")

    # Far enough for the slowest of the rotations to be seen.
    by = 1000

    # The same tokens and the same model, from position 0 and from position 1,000 on. A table of
    # positions must be long enough for that.
    with whole.rough() as model:
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


def example(batch_size: int = 3, seq_len: int = 7, n_vocab: int = 11) -> list[str]:
    r"""
    ## Example

    A model that adds up rows, and keeps the sum. Then one that keeps what it has read last only.

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

    class Forgets(Counts):
        def forward(
            self, tokens: Tensor, use_cache: bool = False, state: Tensor | None = None
        ) -> Counts.Output:
            r"""
            The shapes are those of the right one.
            """
            output = super().forward(tokens, use_cache, state)
            output.state = self.weight[tokens[:, -1:]]
            return output

    tokens = torch.randint(n_vocab, (batch_size, seq_len))
    models = [Counts(n_vocab, n_vocab), Forgets(n_vocab, n_vocab)]
    return [cache_agrees(Whole(model, tokens, tokens)) for model in models]

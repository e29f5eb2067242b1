r"""
---
title: Paste Your Attention
summary: Which mistake is it? Paste a class; it is tested in your browser, and nothing is sent.
know: attention_tests.py
---

Paste an attention, or a whole model, into the field. It runs in your browser, in a Python that is
fetched when you ask for it; nothing of what you paste is sent anywhere. The page says what it
assumes of your code, and you can correct that. Then it runs [the tests of this
museum](attention_tests.py), names the mistake, and the line that it is likely in.

**In:** a text. **Out:** what was assumed, and what was found.

With a mask that is never used, the printed loss is
[0.044](../../../results/mistakes.json#tables.mistakes.MaskUnused.printed), which looks wonderful.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes.attention_tests import find_mistakes
from labml_nn.transformers.mistakes.guesses import SIZES, Way, guess_arguments, ways
from labml_nn.transformers.mistakes.model_tests import MODEL_TESTS
from labml_nn.transformers.mistakes.pasted_text import (
    COPIED,
    classes_in,
    failed_line,
    line_of,
    run_text,
    value_of,
)
from labml_nn.transformers.mistakes.properties import (
    nothing_from_the_future,
    same_twice,
    sequences_apart,
)
from labml_nn.transformers.mistakes.whole import Whole, find_logits, run_tests


def badness(attention: nn.Module, way: Way, x: Tensor) -> int:
    r"""
    ## How many quick tests fail in a way to call it
    """
    # Three quick tests tell the ways apart: what is read along the wrong axis fails one of them.
    tests = (same_twice, nothing_from_the_future, sequences_apart)
    return sum(bool(test(attention, lambda x: way(attention, x), x)) for test in tests)


def best_way(
    attention: nn.Module, answers: dict[str, Any], d_model: int = SIZES["d_model"]
) -> tuple[Way | None, str]:
    r"""
    ## The way in which it does best

    And the error of the first way, if it runs in none.
    """
    # The same input for all ways: 5 sequences of 7 tokens. If there were as many sequences as
    # tokens, a mask would fit along both axes.
    torch.manual_seed(1)
    x = torch.randn(5, 7, d_model)
    # Nothing is found yet, and anything is better than that.
    best, fewest, failed = None, math.inf, ""
    for way in ways(attention.forward, answers):
        # Most ways don't run, and that is how we know that they are none.
        try:
            output = way(attention.eval(), x)
            # Some run, and give something else.
            if list(output.shape) != list(x.shape):
                failed = failed or f"an input of {list(x.shape)} gives {list(output.shape)}"
                continue
            wrong = badness(attention, way, x)
        except Exception as error:
            # The first error is that of the likeliest way.
            failed = failed or f"{type(error).__name__}: {error}"
            continue
        # The first of equally good ones: batch first, and a mask that is used.
        if wrong < fewest:
            best, fewest = way, wrong
    return best, failed


def is_model(module: nn.Module) -> bool:
    r"""
    ## An attention, or a whole model?

    What has a table of tokens reads tokens.
    """
    # The table is somewhere within it. (One for positions counts, too, and then the text says by
    # an error that it wants vectors.)
    return any(isinstance(one, nn.Embedding) for one in module.modules())


def findings(module: nn.Module, way: Way | None) -> dict[str, str]:
    r"""
    ## Run the tests
    """
    # An attention is called in the way that was found. Padding and a cache are not tried, since
    # nobody has said how.
    if way:
        return find_mistakes(module, SIZES["d_model"], SIZES["heads"], way)

    # A model gets a text of tokens, and gives logits for each, alone or first of several results.
    # Nothing is trained here, so the targets don't matter.
    tokens = torch.randint(SIZES["n_vocab"], (3, 8))
    predict = lambda model, tokens: find_logits(model(tokens))  # noqa: E731
    return run_tests(MODEL_TESTS, Whole(module, tokens[:, :-1], tokens[:, 1:], predict=predict))


def shown(value: Any) -> str:
    r"""
    ## An argument as it is shown
    """
    # A configuration by what is in it. It would show nothing but its address otherwise.
    # Anything else as it would be typed.
    return (
        ", ".join(f"{k}={v}" for k, v in vars(value).items())
        if hasattr(value, "__dict__")
        else repr(value)
    )


def check(text: str, answers: dict[str, Any]) -> Iterator[dict[str, Any]]:
    r"""
    ## Check it

    First what is assumed, then what was found. `answers` are what the reader has corrected: the
    `class`, its `arguments` as texts, and the parts of the [way](guesses.py#Way).
    """
    try:
        # Errors of the text itself are told below, with their line.
        names = run_text(text)
        classes = classes_in(names)
        if not classes:
            yield {"failed": "There is no class here that inherits from nn.Module."}
            return

        # What was said goes before what was guessed.
        # The first class is the likeliest one.
        chosen = answers.get("class", classes[0])
        # (A class that is no longer in the text can't be tested.)
        chosen = chosen if chosen in classes else classes[0]

        # An empty field of the form says nothing.
        arguments, unknown = guess_arguments(names[chosen], text)
        said = answers.get("arguments", {})
        arguments |= {name: value_of(one) for name, one in said.items() if one != ""}

        # All of it is told, so that it can be corrected.
        assumed = {"classes": classes, "class": chosen}
        assumed["arguments"] = {name: shown(value) for name, value in arguments.items()}
        # These have no default and a name that says nothing.
        assumed["unknown"] = [name for name in unknown if name not in arguments]

        # Without an argument that nobody knows, nothing can be made.
        if assumed["unknown"]:
            yield {"assumed": assumed}
            return

        # Dropout is on, since some mistakes are there with dropout only.
        torch.manual_seed(1)
        module = names[chosen](**arguments)

        # Only an attention has more than one way.
        way, failed = None, ""
        if not is_model(module):
            way, failed = best_way(module, answers)

        # What is assumed comes before the tests, which take longer.
        assumed["way"] = way and vars(way)
        yield {"assumed": assumed}
        # It may be an attention to something else, with two inputs that differ.
        if failed and not way:
            yield {"failed": f"It runs in no way that we know. In the first: {failed}"}
            return

        # Each sentence with the line that it is likely about.
        found = findings(module, way).items()
        yield {"found": [{"test": t, "sentence": s, "line": line_of(s, text)} for t, s in found]}
    except Exception as error:
        # Whatever goes wrong in the reader's code is an answer, too.
        yield {"failed": f"{type(error).__name__}: {error}", "line": failed_line(error)}


def example(batch_size: int = 3, seq_len: int = 7) -> tuple[Tensor, list[dict[str, Any]]]:
    r"""
    ## Example

    Code as it is copied: both mistakes are named, with their line.

    ### Exercises

    ??? question "The page assumes the wrong class. What happens?"
        The tests run on that one. Choose another in the form, and the test runs again.

    ??? question "Of two ways to call it, one fails two quick tests and the other one. Which is it?"
        The second. An attention with a mistake is tested as it is meant to be called, so that the
        mistake alone is told.
    """
    # It is called in the way that is found for it.
    attention = run_text(COPIED)["SelfAttention"](SIZES["d_model"], SIZES["heads"])
    way, _ = best_way(attention, {})
    # One that runs: the batch first, without a mask.
    assert way is not None
    output = way(attention, torch.randn(batch_size, seq_len, SIZES["d_model"]))

    # The output has the right shape, and two things are wrong.
    return output, list(check(COPIED, {}))

r"""
---
title: Paste Your Attention
summary: Which mistake is it? Paste a class; it is tested in your browser, and nothing is sent.
know: attention_tests.py
---

Paste an attention, or a whole model, into the field. It runs in your browser, in a Python that is
fetched when you ask for it; nothing of what you paste is sent anywhere. The page says what it
assumes of your code, and you can correct that. Then it runs [all
tests](attention_tests.py), names the mistake, and the line that it is likely in. A [whole
model](pasted_models.py) gets tokens, and has tests of its own; a cache is read in parts.

**In:** a text. **Out:** what was assumed, and what was found.

With a mask that is never used, the printed loss is
[0.044](../results/mistakes.json#tables.mistakes.MaskUnused.printed), which looks wonderful.
"""

import re
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.attention_tests import find_mistakes
from wrongline.cache_tests import CACHE_TESTS
from wrongline.guesses import (
    SIZES,
    guess_arguments,
    guess_constants,
    guess_undefined,
    share_heads,
    sizes_in,
)
from wrongline.model_tests import MODEL_TESTS
from wrongline.orders import named_weights, orders
from wrongline.pasted_models import (
    ModelWay,
    badness,
    best_way,
    is_model,
    model_ways,
    reader,
    texts,
)
from wrongline.pasted_text import (
    COPIED,
    classes_in,
    failed_line,
    line_of,
    shown,
    value_of,
)
from wrongline.run_pasted import run_text, without_prompts
from wrongline.verdicts import Findings
from wrongline.ways_to_call import Way, best_of
from wrongline.whole import Whole, run_tests


def findings(
    module: nn.Module, way: Way, read: Any, heads: int, d_model: int
) -> Iterator[tuple[Findings, str]]:
    r"""
    ## Run the tests

    With `read` the cache is tested as well. Padding is not tried, since nobody has said how. If
    nobody has said how many heads there are, `heads` is 0. Beside what is found stands whether the
    result was compared with the formula's: “yes”, “no” or “soon”.
    """
    # A model's text is the one for which the way was found.
    if isinstance(way, ModelWay):
        tokens = texts()
        # (The tests of the cache read it in parts, and compare. Without one they have nothing to
        # say.)
        tests = (*MODEL_TESTS, *CACHE_TESTS)
        with torch.no_grad():
            yield run_tests(tests, Whole(module, tokens, tokens, predict=way, read=read)), "no"
        return

    # An attention is called in its way, too. The comparison comes last: to look for the name of a
    # mistake takes seconds, and what the other tests say needn't wait.
    likely = heads or 1
    comparable = orders(named_weights(module, d_model), likely, d_model)
    found = find_mistakes(module, likely, d_model, way, weights=None, read=read)
    yield found, "soon" if comparable else "no"

    # With other weights than the formula's there is nothing to compare it with.
    if comparable:
        found = find_mistakes(module, likely, d_model, way, read=read)
        # Another number of heads than one is no mistake, unless somebody has said a number.
        other = re.search(r"there are (\d+) heads", found.get("comparison", ""))
        if other and not heads:
            found = find_mistakes(module, int(other[1]), d_model, way, read=read)
        yield found, "yes"


def check(text: str, answers: dict[str, Any]) -> Iterator[dict[str, Any]]:
    r"""
    ## Check it

    First what is assumed, then what was found. `answers` are what the reader has corrected: the
    `class`, its `arguments` and the `constants` of the text as texts, and the parts of the
    [way](ways_to_call.py#Way).
    """
    try:
        # Errors of the text itself are told below, with their line.
        # It runs as a module would when it is imported.
        text = without_prompts(text)
        names = run_text(text)
        classes = classes_in(names, text)
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

        # Sizes may stand above the classes, or not have been copied. A class looks there when it is
        # made, so they can be those of the test.
        constants = guess_constants(names) | guess_undefined(text, names)
        share_heads(arguments, constants)

        # What was said goes first.
        said = answers.get("arguments", {})
        arguments |= {name: value_of(one) for name, one in said.items() if one != ""}
        said = answers.get("constants", {})
        constants |= {name: value_of(one) for name, one in said.items() if one != ""}
        names |= constants

        # All of it is told, so that it can be corrected.
        # (The page has a field for each.)
        assumed = {"classes": classes, "class": chosen}
        assumed["arguments"] = {name: shown(value) for name, value in arguments.items()}
        assumed["constants"] = {name: shown(value) for name, value in constants.items()}
        # These have no default and a name that says nothing.
        assumed["unknown"] = [name for name in unknown if name not in arguments]

        # Without an argument that nobody knows, nothing can be made. With a wrong guess it fails,
        # so the guesses are told before.
        yield {"assumed": assumed}
        if assumed["unknown"]:
            return

        # Dropout is on, since some mistakes are there with dropout only.
        torch.manual_seed(1)
        module = names[chosen](**arguments)
        # What runs on vectors is an attention. (One may have a table of positions.) Of the rest,
        # what has a table reads tokens.
        # The sizes are those that it was made with, in one way or another.
        sizes = sizes_in(module, constants, arguments)
        d_model = sizes["d_model"]
        way, failed, line = best_way(module, answers, d_model)
        if way is None and is_model(module):
            every = model_ways(module.forward, answers)
            way, failed, line = best_of(module, every, texts(), badness)

        # It may be an attention to something else, with two inputs that differ.
        if way is None:
            yield {"assumed": assumed | {"way": None}}
            # The likeliest way is the first.
            said = f"It runs in no way that we know. In the first: {failed}"
            yield {"failed": said, "line": line}
            return

        # What is assumed comes before the tests, which take longer.
        # A cache is known by the name of its argument, and by a result that holds it.
        model = isinstance(way, ModelWay)
        cache, read = reader(module, way, texts(0 if model else d_model), answers.get("cache", ""))
        assumed |= {"way": vars(way), "model": model, "cache": cache}
        yield {"assumed": assumed}

        # The text itself is needed once more, for its lines.
        # Each sentence with the line that it is likely about.
        for said, compared in findings(module, way, read, sizes["heads"], d_model):
            found = [{"test": t, "sentence": s, "line": line_of(s, text)} for t, s in said.items()]
            # What can be meant is told beside what is wrong, or one would take it for the
            # formula's.
            if compared == "yes":
                found += [
                    {"test": t, "sentence": s, "line": line_of(s, text), "unusual": True}
                    for t, s in said.unusual.items()
                ]
            # Without a comparison, “all tests pass” says less.
            yield {"found": found, "compared": compared}
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
    way, _, _ = best_way(attention, {})
    # One that runs: the batch first, without a mask.
    assert way is not None
    output = way(attention, torch.randn(batch_size, seq_len, SIZES["d_model"]))

    # The output has the right shape, and two things are wrong.
    return output, list(check(COPIED, {}))

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

import ast
import linecache
import math
import re
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes.attention_tests import find_mistakes
from labml_nn.transformers.mistakes.guesses import SIZES, Way, guess_arguments, ways
from labml_nn.transformers.mistakes.model_tests import MODEL_TESTS, Whole
from labml_nn.transformers.mistakes.properties import (
    nothing_from_the_future,
    same_twice,
    sequences_apart,
)

# What the text is called in error messages.
FILE = "pasted.py"

# Words of a finding, and what its line looks like: the likeliest first.
PLACES = (
    (r"divided|scale|multiplied", (r"sqrt|\*\*\s*-?\(?\s*0?\.5", r"scale")),
    (r"softmax is over", (r"softmax",)),
    (r"dropout", (r"F\.dropout", r"dropout\w*\(")),
    (r"after the softmax|hidden scores", (r"masked_fill|where\(", r"\* *mask")),
    (r"split by a view|heads, not", (r"\.(view|reshape)\(",)),
    (r"merged by a view", (r"\.(view|reshape)\(",)),
    (r"one projection", (r"\b(q|k|v|query|keys?|values?)\w*\s*=\s*self\.",)),
    (r"mask|later inputs|future|see itself", (r"masked_fill|\+ *mask", r"mask *=", r"softmax")),
    (r"NaN|infinite", (r"-?inf\b", r"softmax", r"exp\(")),
)


def run_text(text: str) -> dict[str, Any]:
    r"""
    ## Run what was pasted

    What most such code imports is there already. The classes that it defines are those of a module.
    """
    # Tests copy the module, and errors show its lines: both look here for the text.
    linecache.cache[FILE] = len(text), None, text.splitlines(keepends=True), FILE
    names = {"__name__": "pasted", "torch": torch, "nn": nn, "F": nn.functional}
    names |= {"math": math, "Tensor": Tensor}
    exec(compile(text, FILE, "exec", dont_inherit=True), names)
    return names


def classes_in(names: dict[str, Any]) -> list[str]:
    r"""
    ## The modules that it defines

    The one to test comes first: an attention by its name, else the last, which most often puts the
    others together.
    """
    found = [
        name
        for name, one in names.items()
        if isinstance(one, type) and issubclass(one, nn.Module) and one.__module__ == "pasted"
    ]
    # The sort keeps the order otherwise.
    return sorted(reversed(found), key=lambda name: "attention" not in name.lower())


def value_of(text: str) -> Any:
    r"""
    ## What somebody typed for an argument

    A number, true or false; anything else is a text.
    """
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def best_way(attention: nn.Module, answers: dict[str, Any]) -> tuple[Way | None, str]:
    r"""
    ## The way in which it does best

    And the error of the first way, if it runs in none.
    """
    torch.manual_seed(1)
    x = torch.randn(5, 7, SIZES["d_model"])
    best, fewest, failed = None, math.inf, ""
    for way in ways(attention.forward, answers):
        # Most ways don't run, and that is how we know that they are none.
        try:
            output = way(attention.eval(), x)
            if list(output.shape) != list(x.shape):
                failed = failed or f"an input of {list(x.shape)} gives {list(output.shape)}"
                continue
            # Three quick tests tell the ways apart.
            tests = (same_twice, nothing_from_the_future, sequences_apart)
            wrong = sum(
                bool(test(attention, lambda x, w=way: w(attention, x), x)) for test in tests
            )
        except Exception as error:
            failed = failed or f"{type(error).__name__}: {error}"
            continue
        # The first of equally good ones: batch first, and a mask that is used.
        if wrong < fewest:
            best, fewest = way, wrong
    return best, failed


def line_of(sentence: str, text: str) -> int | None:
    r"""
    ## The line that it is likely in

    None, if nothing in the text looks like it.
    """
    lines = [line.partition("#")[0] for line in text.split("\n")]
    # A matrix that is never used has a name, and a line that makes it.
    if unused := re.search(r"no gradient comes to (?:\w+\.)*?(\w+)\.weight", sentence):
        patterns: tuple[str, ...] = (rf"self\.{unused[1]}\s*=",)
    else:
        patterns = next((one for words, one in PLACES if re.search(words, sentence)), ())
    # Of several lines the last one: a constructor comes before `forward`.
    for pattern in patterns:
        fits = [at for at, line in enumerate(lines, 1) if re.search(pattern, line)]
        if fits:
            return fits[-1]
    return None


def is_model(module: nn.Module) -> bool:
    r"""
    ## An attention, or a whole model?

    What has a table of tokens reads tokens.
    """
    return any(isinstance(one, nn.Embedding) for one in module.modules())


def findings(module: nn.Module, way: Way | None) -> dict[str, str]:
    r"""
    ## Run the tests
    """
    if way:
        return find_mistakes(module, SIZES["d_model"], SIZES["heads"], way)

    # A text of tokens, and logits for each, alone or first of several results.
    tokens = torch.randint(SIZES["n_vocab"], (3, 8))

    def predict(model: nn.Module, tokens: Tensor) -> Tensor:
        output = model(tokens)
        return output[0] if isinstance(output, tuple | list) else output

    # Nothing is trained here, so the targets don't matter.
    whole = Whole(module, tokens[:, :-1], tokens[:, 1:], predict=predict)
    said = {test.__name__: test(whole) for test in MODEL_TESTS}
    return {name: sentence for name, sentence in said.items() if sentence}


def check(text: str, answers: dict[str, Any]) -> Iterator[dict[str, Any]]:
    r"""
    ## Check it

    First what is assumed, then what was found. `answers` are what the reader has corrected: the
    `class`, its `arguments` as texts, and the parts of the [way](guesses.py#Way).
    """
    try:
        names = run_text(text)
        classes = classes_in(names)
        if not classes:
            yield {"failed": "There is no class here that inherits from nn.Module."}
            return
        # What was said goes before what was guessed.
        chosen = answers.get("class", classes[0])
        chosen = chosen if chosen in classes else classes[0]
        arguments, unknown = guess_arguments(names[chosen], text)
        said = answers.get("arguments", {})
        arguments |= {name: value_of(one) for name, one in said.items() if one != ""}
        assumed = {"classes": classes, "class": chosen}
        assumed["arguments"] = {name: shown(value) for name, value in arguments.items()}
        assumed["unknown"] = [name for name in unknown if name not in arguments]
        # Without an argument that nobody knows, nothing can be made.
        if assumed["unknown"]:
            yield {"assumed": assumed}
            return

        # Dropout is on, since some mistakes are there with dropout only.
        torch.manual_seed(1)
        module = names[chosen](**arguments)
        way, failed = None, ""
        if not is_model(module):
            way, failed = best_way(module, answers)
        assumed["way"] = way and vars(way)
        yield {"assumed": assumed}
        if failed and not way:
            yield {"failed": f"It runs in no way that we know. In the first: {failed}"}
            return
        found = findings(module, way).items()
        lines = [{"test": t, "sentence": s, "line": line_of(s, text)} for t, s in found]
        yield {"found": lines}
    except Exception as error:
        yield {"failed": f"{type(error).__name__}: {error}", "line": failed_line(error)}


def shown(value: Any) -> str:
    r"""
    ## An argument as it is shown
    """
    # A configuration by what is in it.
    return (
        ", ".join(f"{k}={v}" for k, v in vars(value).items())
        if hasattr(value, "__dict__")
        else repr(value)
    )


def failed_line(error: BaseException) -> int | None:
    r"""
    ## The line of an error

    The innermost one of what was pasted.
    """
    if isinstance(error, SyntaxError):
        return error.lineno
    lines, trace = [], error.__traceback__
    while trace:
        # Other files have lines, too.
        if trace.tb_frame.f_code.co_filename == FILE:
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return lines[-1] if lines else None


# Two mistakes that are often copied together: no mask, and the root of the whole width.
COPIED = """
class SelfAttention(nn.Module):
    def __init__(self, embed_size, heads):
        super().__init__()
        self.heads = heads
        self.embed_size = embed_size
        self.queries = nn.Linear(embed_size, embed_size)
        self.keys = nn.Linear(embed_size, embed_size)
        self.values = nn.Linear(embed_size, embed_size)
        self.fc_out = nn.Linear(embed_size, embed_size)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (f(x).view(b, t, self.heads, -1) for f in (self.queries, self.keys, self.values))
        energy = torch.einsum("nqhd,nkhd->nhqk", q, k)
        attention = torch.softmax(energy / self.embed_size ** 0.5, dim=3)
        return self.fc_out(torch.einsum("nhql,nlhd->nqhd", attention, v).flatten(2))
"""


def example() -> list[dict[str, Any]]:
    r"""
    ## Example

    Code as it is copied: both mistakes are named, with their line.

    ### Exercises

    ??? question "Why does the pasted class not need its imports?"
        Most people copy a class without the first lines of its file, so they are there already.

    ??? question "The page assumes the wrong class. What happens?"
        The tests run on that one. Choose another in the form, and the test runs again.

    ??? question "Why is a line only “likely”?"
        A mistake is found by its numbers. That its line has a square root in it is a guess.
    """
    return list(check(COPIED, {}))

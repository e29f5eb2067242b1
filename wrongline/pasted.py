r"""
---
title: Paste Your Attention
summary: Which mistake is it? Paste a class; it is tested in your browser, and nothing is sent.
know: attention_tests.py
---

Paste an attention, or a whole model, into the field: a class, a function, a file or a notebook. It
runs in your browser, in a Python that is fetched when you ask for it; nothing of what you paste is
sent anywhere. The page says what it assumes of your code, and you can correct that. Then it runs
[all tests](attention_tests.py), names the mistake, and the line that it is likely in. A [whole
model](pasted_models.py) gets tokens, and has tests of its own; a cache is read in parts.

An encoder sees the whole text on purpose. So if yours sees what comes later, and nothing says
whether it [may](may_see.py), you are asked before anything is called wrong.

**In:** a text. **Out:** what was assumed, what was found, and what wasn't tried.

With a mask that is never used, the printed loss is
[0.044](../results/mistakes.json#tables.mistakes.MaskUnused.printed), which looks wonderful.
"""

import ast
import re
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import torch
from torch import Tensor

from wrongline.attempts import Attempt, width_of
from wrongline.code_in import code_in
from wrongline.configurations import Config, missing_in
from wrongline.definitions import LeftOut, makes_no_model, run_definitions
from wrongline.guesses import guess_arguments, guess_constants, share_heads
from wrongline.making import Failed, Made, made_of
from wrongline.may_see import ASK, PAST, Definitions, may_see, speaks_of_encoders
from wrongline.pasted_models import (
    ModelWay,
    best_way,
    reader,
    texts,
)
from wrongline.pasted_text import (
    COPIED,
    classes_in,
    failed_line,
    in_words,
    lines_about,
    shown,
    value_of,
)
from wrongline.run_pasted import FILE, run_text, usual_names
from wrongline.sizes import SIZES
from wrongline.telling import findings, sees_future, told
from wrongline.undefined import globals_read, guess_for, letters_read, undefined


def run_pasted(text: str, said: dict[str, Any]) -> tuple[dict[str, Any], dict[str, LeftOut]]:
    r"""
    ## Run the text

    Its [definitions](definitions.py) alone, with what was `said` of its constants. The names, and
    what couldn't be defined.
    """
    names = usual_names(text)
    names |= said
    runs = makes_no_model(names)
    return names, run_definitions(text, FILE, names, runs, said)


def not_defined(error: Exception) -> str:
    r"""
    ## The name that is missing, if one is
    """
    found = re.search(r"NameError: name '(\w+)'", f"{type(error).__name__}: {error}")
    return found[1] if found else ""


def unguessed(error: BaseException, text: str) -> str:
    r"""
    ## What is missing of a configuration
    """
    found = getattr(error, "obj", None)
    if isinstance(error, AttributeError) and isinstance(found, Config):
        missing = missing_in(error, found, text)
        named = ", ".join(f"{one}=..." for one in missing)
        return f"nobody can guess `{error.name}` of the configuration: add {named} below"
    return ""


def check(text: str, answers: dict[str, Any]) -> Iterator[dict[str, Any]]:
    r"""
    ## Check it

    First what is assumed, then what was found. `answers` are what the reader has corrected: the
    `class`, its `arguments` and the `constants` of the text as texts, whether it `sees` the past
    alone, and the parts of the [way](ways_to_call.py#Way).
    """
    left_out: dict[str, LeftOut] = {}
    others: list[str] = []
    try:
        # Errors of the text itself are told below, with their line.
        # Its sizes may stand above the classes, or not have been copied.
        text = code_in(text)
        names, left_out = run_pasted(text, {})
        classes = classes_in(names, text)
        if not classes:
            yield {"failed": nothing_here(left_out), "line": first_line(left_out)}
            return

        # What was said goes before what was guessed.
        # The first class is the likeliest one. (One that is no longer in the text can't be tested.)
        chosen = answers.get("class", classes[0])
        chosen = chosen if chosen in classes else classes[0]
        others = [one for one in classes if one != chosen]

        # Names that a class reads, with what they are in the test.
        within = {chosen, *Definitions(text).parts(chosen)}
        lacks = undefined(text, names, within)
        asks = globals_read(text, within) | globals_read(text, None, outermost=True)
        constants = {k: v for k, v in guess_constants(names).items() if k in asks}
        constants |= letters_read(text, names, within)
        constants |= {one: guess_for(one) for one in lacks if guess_for(one) is not None}
        asked = [one for one in lacks if one not in constants]

        # What was said goes first. (An empty field of the form says nothing.)
        own = {k: value_of(v) for k, v in answers.get("constants", {}).items() if v != ""}
        constants |= own
        share_heads(constants)
        constants |= own
        names, left_out = run_pasted(text, constants)
        kind = names[chosen]

        # Functions have a module made for them.
        arguments: dict[str, Any] = {}
        unknown: list[str] = []
        if not isinstance(kind, FunctionType):
            arguments, unknown = guess_arguments(kind, text)
        share_heads(arguments, constants)
        said = {k: value_of(v) for k, v in answers.get("arguments", {}).items() if v != ""}
        arguments |= said
        constants |= own
        names |= constants

        # What is imported from this site isn't what somebody else has under that name.
        notes = [*imported_from_here(text, names, within), *classes_left_out(text, left_out)]

        # All of it is told, so that it can be corrected.
        # (The page has a field for each.)
        guess, why = may_see(text, chosen)
        sees = answers.get("sees", guess)
        assumed: dict[str, Any] = {"classes": classes, "class": chosen, "notes": notes}
        assumed["arguments"] = {name: shown(value) for name, value in arguments.items()}
        assumed["constants"] = {name: shown(value) for name, value in constants.items()}
        assumed["constants"] |= {name: "" for name in asked if name not in constants}
        # These have no default and a name that says nothing.
        assumed["unknown"] = [name for name in unknown if name not in arguments]

        # Without an argument that nobody knows, nothing can be made. With a wrong guess it fails,
        # so the guesses are told before.
        yield {"assumed": assumed}
        if assumed["unknown"]:
            return

        # The sizes are those that it was made with, in one way or another.
        width = answers.get("width") or width_of(said, arguments, own, constants)
        first = Attempt(arguments, constants, int(width or SIZES["d_model"]))
        known = {*said, *own, *(["width"] if "width" in answers else [])}
        how = answers | ({"other": True} if re.search("Cross", chosen) else {})
        try:
            made, tried = made_of(text, kind, how | answers, first, known)
        except Exception as error:
            # It may be called in no way, and then no way is told.
            if isinstance(error, Failed):
                yield {"assumed": assumed | {"way": None}}
            raise refusal(error, text, chosen, left_out) from error

        # What comes before the tests is told before them, since they take longer.
        # A cache is known by the name of its argument, and by a result that holds it.
        model = isinstance(made.way, ModelWay)
        x = texts(0 if model else made.width)
        cache, read = ("", None)
        if made.way is not None:
            cache, read = reader(made.module, made.way, x, answers.get("cache", ""))
        # A guess matters only if it sees what comes later.
        leaks = made.way is not None and sees != PAST and sees_future(made)
        if leaks and sees == ASK and "sees" not in answers:
            sees, why = when_it_leaks(made, text, why)
        changed = {k: shown(v) for k, v in tried.arguments.items()}
        assumed |= {"arguments": changed, "model": model, "cache": cache}
        assumed |= {
            "constants": assumed["constants"] | {k: shown(v) for k, v in tried.constants.items()}
        }
        assumed |= {"way": vars(made.way) if made.way else None}
        angles = getattr(made.way, "angles", ())
        if angles:
            turned = " and ".join(f"`{one}`" for one in angles)
            assumed["notes"] = [*notes, f"With 0 for the angles or places of {turned}"]
        assumed |= {"pictures": list(made.shape) if made.shape else None, "width": made.width}
        assumed |= {"sees": sees, "why": "you said so" if "sees" in answers else why}
        assumed |= {"leaks": leaks, "function": isinstance(kind, FunctionType)}
        yield {"assumed": assumed}

        # The text itself is needed once more, for its lines.
        about = lines_about(chosen, text)
        for found, compared in findings(made, read, sees if leaks else PAST):
            # Without a comparison, “all tests pass” says less.
            yield told(found, compared, about)
    except Failed as error:
        yield {"failed": str(error), "line": error.line, "others": others}
    except Exception as error:
        # Whatever goes wrong in the reader's code is an answer, too.
        yield {"failed": in_words(error), "line": failed_line(error), "others": others}


def refusal(error: Exception, text: str, chosen: str, left_out: dict[str, LeftOut]) -> Exception:
    r"""
    ## Why it couldn't be made or called

    With what the reader can do about it.
    """
    missing = not_defined(error)
    if missing and missing in left_out:
        why = left_out[missing]
        return Failed(f"`{missing}` is not defined ({why}): say it below", why.line)
    if missing:
        # What is called can't be said in a field.
        is_called = re.search(rf"\b{missing}\s*\(", text)
        remedy = "paste what defines it" if is_called else "say it below"
        return Failed(f"`{missing}` is not defined: {remedy}", line_of_error(error))
    line = failed_line(error)
    if said := unguessed(error, text):
        return Failed(said, line)
    if isinstance(error, Failed | ImportError | NotImplementedError):
        return error
    remedy = f"it can't be made so: say below what {chosen} is made with"
    return Failed(f"{in_words(error)} ({remedy})", line)


# The package of the lessons: what readers paste may import it, and a browser finds ours.
OURS = "labml_nn"


def classes_left_out(text: str, left_out: dict[str, LeftOut]) -> list[str]:
    r"""
    ## Classes that couldn't be defined

    A sentence with the first reason, if there are any. One of them may be the one that is meant.
    """
    classes = [one.name for one in ast.parse(text).body if isinstance(one, ast.ClassDef)]
    lost = [one for one in classes if one in left_out]
    # The reason is most often a line above them.
    why = next((one for one in left_out.values() if one.line), None)
    if not lost or why is None:
        return []
    named = ", ".join(f"`{one}`" for one in lost)
    left = "it can't be tested" if len(lost) == 1 else "they can't be tested"
    return [f"{named}: {left}, because of {why}"]


def imported_from_here(text: str, names: dict[str, Any], within: set[str]) -> list[str]:
    r"""
    ## What comes from this site

    A sentence, if something that is read does; `within` are the definitions that are tested. Other
    packages have the same name.
    """
    read = globals_read(text, within) | globals_read(text, None, outermost=True)
    origins = {
        name: getattr(names[name], "__module__", None) or getattr(names[name], "__name__", "")
        for name in sorted(read & {*names})
    }
    found = [name for name, one in origins.items() if str(one).partition(".")[0] == OURS]
    if not found:
        return []
    named = " and ".join(f"`{one}`" for one in found)
    comes = "comes" if len(found) == 1 else "come"
    return [
        f"{named} {comes} from this site's {OURS}: if you mean another one, paste its code above"
    ]


def when_it_leaks(made: Made, text: str, why: str) -> tuple[str, str]:
    r"""
    ## May it see what comes later, if nothing in its code says so?

    “past” where it was called as what writes is called, else “ask”; and the reason.
    """
    if made.way is not None and made.way.mask != "none":
        return PAST, "it was given a causal mask"
    # What scores each token of a vocabulary writes, unless something here speaks of encoders.
    if isinstance(made.way, ModelWay) and not speaks_of_encoders(text):
        return PAST, "it scores the tokens of a vocabulary"
    return ASK, why


def line_of_error(error: Exception) -> int | None:
    r"""
    ## The line of an error

    One that was told before knows it.
    """
    return error.line if isinstance(error, Failed) else failed_line(error)


def nothing_here(left_out: dict[str, LeftOut]) -> str:
    r"""
    ## Why there is nothing to test
    """
    errors = [one for one in left_out.values() if one.line]
    if errors:
        return f"There is nothing to test here: {errors[0]}"
    return (
        "There is no class here that inherits from nn.Module, and no function of queries, keys and "
        "values: paste one, with what it calls"
    )


def first_line(left_out: dict[str, LeftOut]) -> int | None:
    r"""
    ## And the line
    """
    return next((one.line for one in left_out.values() if one.line), None)


def example(batch_size: int = 3, seq_len: int = 7) -> tuple[Tensor, list[dict[str, Any]]]:
    r"""
    ## Example

    Code as it is copied. Nothing in it says that it mustn't see what comes later. Once somebody has
    said so, both mistakes are named, with their line.

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

    # The output has the right shape, and two things are wrong: it was meant to see the past alone.
    return output, list(check(COPIED, {"sees": PAST}))

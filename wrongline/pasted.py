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
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.attempts import Attempt, others, width_of
from wrongline.attention_tests import find_mistakes
from wrongline.cache_tests import CACHE_TESTS
from wrongline.code_in import code_in
from wrongline.comparison import NEAR, off, roughen
from wrongline.definitions import LeftOut, makes_no_model, run_definitions
from wrongline.functions import ROLES, OfFunction, modules_of, roles_of
from wrongline.guesses import (
    SIZES,
    Config,
    guess_arguments,
    guess_constants,
    missing_in,
    share_heads,
    sizes_in,
)
from wrongline.in_place import borrowed
from wrongline.may_see import ALL, ASK, PAST, Definitions, may_see, speaks_of_encoders
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
from wrongline.pictures import find_in_pictures, shape_of, takes_pictures
from wrongline.properties import gradient, nothing_from_the_future
from wrongline.run_pasted import FILE, run_text, usual_names
from wrongline.undefined import globals_read, guess_for, letters_read, undefined
from wrongline.verdicts import (
    ERROR,
    NOT_TRIED,
    RIGHT,
    UNASKED,
    UNUSUAL,
    WRONG,
    Findings,
    Verdict,
)
from wrongline.ways_to_call import Way, best_of
from wrongline.whole import Whole, run_tests

# Tests whose question is whether something later is seen.
FUTURE = ("nothing_from_the_future", "model_prefix")

# Why they say nothing, if it may, or if nobody knows.
WHY = {
    ALL: "it may see everything, and it does",
    ASK: "it sees what comes later, and nobody has said whether it may",
}

# Tests of randomness, and what else than dropout may be random.
TWICE = ("same_twice", "model_twice")
DIFFER = "two calls in evaluation differ"
MADE_ANEW = "is made anew in each call of `forward`, so its weights are random and never trained"

# What this page has no field for.
UNASKED_HERE = {
    "padding_hides": "only you know how yours is told what is padding",
    "cache_agrees": "no argument for a cache was found, or it can't be read with one",
    "shift_changes_nothing": "only for one that knows distances alone, which nobody has said",
}

# So many other sizes are tried after an error.
ATTEMPTS = 6


@dataclass(frozen=True)
class Made:
    r"""
    ## What is tested, and how

    * `module` was made, and is called in a `way`; that is None for a model of pictures
    * `heads` is 0 if nobody has said how many there are
    * `width` is that of the input
    * `shape` is that of pictures
    """

    module: nn.Module
    way: Way | None
    heads: int
    width: int
    shape: tuple[int, int, int] | None = None


class Failed(Exception):
    r"""
    ## Why nothing was tested

    A sentence, with its line.
    """

    def __init__(self, sentence: str, line: int | None = None) -> None:
        r"""
        * `sentence` says what to do, if anybody knows
        """
        super().__init__(sentence)
        self.line = line


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


def make(text: str, kind: Any, tried: Attempt) -> Iterator[nn.Module]:
    r"""
    ## Make it

    One module of a class, or a few of a function.
    """
    # The same random numbers each time. Dropout is on, since some mistakes are there with dropout
    # only.
    torch.manual_seed(1)
    if isinstance(kind, FunctionType):
        yield from modules_of(kind, text)
        return
    module = kind(**tried.arguments)
    # One without weights is a function of queries, keys and values.
    is_bare = isinstance(module, nn.Module) and not [*module.parameters()]
    if is_bare and roles_of(module.forward, ROLES):
        yield from modules_of(module.forward, text)
    else:
        yield module


def call_it(module: nn.Module, answers: dict[str, Any], tried: Attempt) -> tuple[Made | None, str]:
    r"""
    ## Find out what it is, and how it is called

    The error, if it can't be called, has its line as an attribute.
    """
    # What runs on vectors is an attention. (One may have a table of positions.) Of the rest, what
    # has a table reads tokens.
    heads = sizes_in(module, tried.constants, tried.arguments)["heads"]
    heads = 1 if getattr(module, "heads", "") == "no heads" else heads
    way, failed, line = best_way(module, answers, tried.width)
    if way is None and is_model(module):
        every = model_ways(module.forward, answers)
        model_way, failed, line = best_of(module, every, texts(), badness)
        way = model_way
    if way is not None:
        return Made(module, way, heads, tried.width), ""

    # Of what reads neither, the first convolution or patch reads pictures.
    shape = shape_of({**tried.constants, **tried.arguments})
    error = None if is_model(module) else takes_pictures(module, shape)
    if not is_model(module) and error is None:
        return Made(module, None, heads, tried.width, shape), ""
    # What has a convolution over two axes was meant for them.
    if error is not None and any(one.dim() == 4 for one in module.parameters()):
        failed, line = f"{type(error).__name__}: {error}", failed_line(error)
    sentence = LeftOut(failed)
    sentence.line = line
    return None, sentence


def sees_past(made: Made) -> bool:
    r"""
    ## Does a position see those before it?

    Where heads are taken for positions, everything runs, and no position sees another.
    """
    module, way = made.module, made.way
    if not isinstance(module, OfFunction) or way is None:
        return True
    x = texts(made.width)
    with borrowed(module):
        found = gradient(lambda x: way(module.eval(), x), x, (0, -1))
    return bool((found[0, :-1].abs() > NEAR * found.abs().max()).any())


def made_of(
    text: str, kind: Any, answers: dict[str, Any], first: Attempt, said: set[str]
) -> tuple[Made, Attempt]:
    r"""
    ## Make it and call it

    With [other sizes](attempts.py), if an error names them.
    """
    waiting = [first]
    failed: LeftOut | None = None
    first_error: Exception | None = None
    for _ in range(ATTEMPTS):
        if not waiting:
            break
        tried = waiting.pop(0)
        likely: list[Made] = []
        try:
            for module in make(text, kind, tried):
                made, why = call_it(module, answers, tried)
                # Of a function, the layout in which the past matters.
                if made:
                    likely += [made]
                    if sees_past(made):
                        return made, tried
                    continue
                assert isinstance(why, LeftOut)
                failed = failed or why
                waiting += [one for one in others(why, tried, said) if one not in waiting]
        # It can't be made with these.
        except Exception as error:
            first_error = first_error or error
            waiting += [one for one in others(str(error), tried, said) if one not in waiting]
        if likely:
            return likely[0], tried
    if failed is None:
        assert first_error is not None
        raise first_error
    raise Failed(
        f"It runs in no way that we know. In the first: {failed}. Say below what it is made with, "
        "or test another of its classes",
        failed.line,
    )


def sees_future(made: Made) -> bool:
    r"""
    ## Does it see what comes later?
    """
    module, way = made.module, made.way
    if isinstance(way, ModelWay):
        with torch.no_grad():
            tokens = texts()
            tests = [one for one in MODEL_TESTS if one.__name__ == "model_prefix"]
            return bool(run_tests(tests, Whole(module, tokens, tokens, predict=way)))
    if way is None:
        return False
    x = texts(made.width)
    return any(
        one.kind == WRONG
        for one in find_mistakes(
            module, 1, made.width, way, weights=None, only=[nothing_from_the_future.__name__]
        ).verdicts
    ) or not len(x)


def unused_context(made: Made) -> str:
    r"""
    ## Is the other text used?
    """
    module, way = made.module, made.way
    assert way is not None
    x = texts(made.width)
    with torch.no_grad(), borrowed(module):
        roughen(module).eval()
        first = way(module, x)
        second = replace(way, offset=1.0)(module, x)
    if off(second, first) >= NEAR:
        return ""
    return "another text as its context changes nothing: keys and values are made of something else"


def allowed(findings: Findings, sees: str) -> Findings:
    r"""
    ## Nobody is accused of what may be meant

    What was said about the future becomes *not tried*, unless it may see the past alone.
    """
    if sees == PAST:
        return findings
    verdicts = [
        replace(one, kind=NOT_TRIED, sentence=WHY[sees])
        if one.test in FUTURE and one.kind in (WRONG, NOT_TRIED)
        else one
        for one in findings.verdicts
    ]
    return Findings(verdicts, findings.tried_on)


def findings(made: Made, read: Any, sees: str) -> Iterator[tuple[Findings, str]]:
    r"""
    ## Run the tests

    With `read` the cache is tested as well. Padding is not tried, since nobody has said how.
    `sees` is “past”, unless it was seen to see more. Beside what is found stands whether the result
    was compared with the formula's: “yes”, “no” or “soon”.
    """
    module, way = made.module, made.way
    if way is None:
        assert made.shape is not None
        yield find_in_pictures(module, made.shape), "no"
        return

    # A model's text is the one for which the way was found.
    if isinstance(way, ModelWay):
        tokens = texts()
        # (The tests of the cache read it in parts, and compare. Without one they have nothing to
        # say.)
        tests = (*MODEL_TESTS, *CACHE_TESTS)
        with torch.no_grad():
            found = run_tests(tests, Whole(module, tokens, tokens, predict=way, read=read))
        yield allowed(found, sees), "no"
        return

    # An attention is called in its way, too. The comparison comes last: to look for the name of a
    # mistake takes seconds, and what the other tests say needn't wait.
    likely = made.heads or 1
    how: dict[str, Any] = {"read": read, "sees_all": sees != PAST}
    if way.other:
        how["context"] = way.context(5, made.width)
        if said := unused_context(made):
            yield Findings([Verdict("context_is_used", WRONG, said)]), "no"
            return
    comparable = orders(named_weights(module, made.width), likely, made.width)
    found = find_mistakes(module, likely, made.width, way, weights=None, **how)
    yield allowed(found, sees), "soon" if comparable else "no"

    # With other weights than the formula's there is nothing to compare it with.
    if comparable:
        found = find_mistakes(module, likely, made.width, way, **how)
        # Another number of heads than one is no mistake, unless somebody has said a number.
        other = re.search(r"there are (\d+) heads", found.get("comparison", ""))
        if other and not made.heads:
            found = find_mistakes(module, int(other[1]), made.width, way, **how)
        yield allowed(found, sees), "yes"


def made_in_forward(text: str) -> tuple[str, int] | None:
    r"""
    ## A layer that is made anew in each call

    Its name and its line. Its weights are random each time, and nobody trains them.
    """
    for kind in ast.walk(ast.parse(text)):
        for body in kind.body if isinstance(kind, ast.ClassDef) else ():
            if not isinstance(body, ast.FunctionDef) or body.name != "forward":
                continue
            for call in ast.walk(body):
                if not isinstance(call, ast.Call):
                    continue
                name = ast.unparse(call.func)
                if re.fullmatch(r"nn\.(Linear|LayerNorm|Embedding|Conv\dd|Parameter)", name):
                    return f"`{name}`", call.lineno
    return None


def line_in(one: Verdict, text: str) -> int | None:
    r"""
    ## The line of a verdict

    An error knows its own, and that of a mistake is a guess.
    """
    place = re.fullmatch(rf"{re.escape(FILE)}:(\d+)", one.place)
    if one.kind == ERROR:
        return int(place[1]) if place else None
    made = made_in_forward(text) if one.test in TWICE else None
    if made:
        return made[1]
    return line_of(one.sentence, text)


def told(found: Findings, compared: str, text: str) -> dict[str, Any]:
    r"""
    ## What is told

    Each sentence with the line that it is likely about, and beside it what wasn't tried.
    """
    # What can be meant is told beside what is wrong, or one would take it for the formula's.
    rows = [one for one in found.verdicts if one.kind in (WRONG, ERROR)]
    rows += [one for one in found.verdicts if one.kind == UNUSUAL and compared != "soon"]
    # A number is what all others compare.
    told = []
    for one in rows:
        if one.test in TWICE and (made := made_in_forward(text)):
            one = replace(one, sentence=f"{DIFFER}: {made[0]} {MADE_ANEW}")
        row = {"test": one.test, "sentence": one.sentence, "line": line_in(one, text)}
        if one.kind in (ERROR, UNUSUAL):
            row |= {one.kind: True}
        told.append(row)
    left = [
        replace(one, sentence=UNASKED_HERE.get(one.test, one.sentence))
        if one.sentence.startswith("nobody has said by")
        else one
        for one in found.verdicts
        if one.kind == NOT_TRIED and one.sentence != UNASKED
    ]
    if compared == "soon":
        left = [one for one in left if one.test != "comparison"]
    missing = [{"test": one.test, "sentence": one.sentence} for one in left]
    right = [one.test for one in found.verdicts if one.kind == RIGHT]
    return {"found": told, "compared": compared, "not_tried": missing, "right": right}


def not_defined(error: Exception, left_out: dict[str, LeftOut]) -> str:
    r"""
    ## The name that is missing, if one is

    And why, if the text has tried to define it.
    """
    found = re.search(r"NameError: name '(\w+)'", f"{type(error).__name__}: {error}") or re.search(
        r"NameError: name '(\w+)'", str(error)
    )
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

        # Names that a class reads, with what they are in the test.
        within = {chosen, *Definitions(text).parts(chosen)}
        lacks = undefined(text, names, within)
        read = globals_read(text, within) | globals_read(text, None, outermost=True)
        constants = {k: v for k, v in guess_constants(names).items() if k in read}
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

        # All of it is told, so that it can be corrected.
        # (The page has a field for each.)
        guess, why = may_see(text, chosen)
        sees = answers.get("sees", guess)
        assumed: dict[str, Any] = {"classes": classes, "class": chosen}
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
            missing = not_defined(error, left_out)
            if missing and missing in left_out:
                raise Failed(
                    f"`{missing}` is not defined ({left_out[missing]}): say it below",
                    left_out[missing].line,
                ) from error
            if missing:
                # What is called can't be said in a field.
                is_called = re.search(rf"\b{missing}\s*\(", text)
                how_to = "paste what defines it" if is_called else "say it below"
                raise Failed(
                    f"`{missing}` is not defined: {how_to}", line_of_error(error)
                ) from error
            if said_of := unguessed(error, text):
                raise Failed(said_of, failed_line(error)) from error
            # An `assert` without a message says what it wants itself.
            line = failed_line(error)
            if isinstance(error, AssertionError) and not str(error) and line:
                raise Failed(f"this fails: {text.splitlines()[line - 1].strip()}", line) from error
            if isinstance(error, Failed | ImportError | NotImplementedError):
                raise
            raise Failed(
                f"{type(error).__name__}: {error} (it can't be made so: say below what {chosen} is "
                "made with)",
                line,
            ) from error

        # What comes before the tests is told before them, since they take longer.
        # A cache is known by the name of its argument, and by a result that holds it.
        model = isinstance(made.way, ModelWay)
        x = texts(0 if model else made.width)
        cache, read = ("", None)
        if made.way is not None:
            cache, read = reader(made.module, made.way, x, answers.get("cache", ""))
        # A guess matters only if it sees what comes later.
        leaks = made.way is not None and sees != PAST and sees_future(made)
        if leaks and sees == ASK and made.way is not None and made.way.mask != "none":
            sees, why = PAST, "it was given a causal mask"
        # What scores each token of a vocabulary writes, unless something here speaks of encoders.
        if (
            model
            and leaks
            and "sees" not in answers
            and sees == ASK
            and not speaks_of_encoders(text)
        ):
            sees, why = PAST, "it scores the tokens of a vocabulary"
        changed = {k: shown(v) for k, v in tried.arguments.items()}
        assumed |= {"arguments": changed, "model": model, "cache": cache}
        assumed |= {
            "constants": assumed["constants"] | {k: shown(v) for k, v in tried.constants.items()}
        }
        assumed |= {"way": vars(made.way) if made.way else None}
        assumed |= {"pictures": list(made.shape) if made.shape else None, "width": made.width}
        assumed |= {"sees": sees, "why": "you said so" if "sees" in answers else why}
        assumed |= {"leaks": leaks, "function": isinstance(kind, FunctionType)}
        yield {"assumed": assumed}

        # The text itself is needed once more, for its lines.
        for found, compared in findings(made, read, sees if leaks else PAST):
            # Without a comparison, “all tests pass” says less.
            yield told(found, compared, text)
    except Failed as error:
        yield {"failed": str(error), "line": error.line}
    except Exception as error:
        # Whatever goes wrong in the reader's code is an answer, too.
        yield {"failed": f"{type(error).__name__}: {error}", "line": failed_line(error)}


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
    way, _, _ = best_way(attention, {})
    # One that runs: the batch first, without a mask.
    assert way is not None
    output = way(attention, torch.randn(batch_size, seq_len, SIZES["d_model"]))

    # The output has the right shape, and two things are wrong: it was meant to see the past alone.
    return output, list(check(COPIED, {"sees": PAST}))

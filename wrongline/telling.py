r"""
---
title: Test What Was Pasted
summary: The tests are run, and each sentence is told with its line, beside what wasn't tried.
know: making.py
---

**In:** a module that was made of a text, and whether it may see everything. **Out:** for the page:
what was found, each sentence with its line, what was right, and what wasn't tried, with the reason.

Nothing about the future is called wrong, unless it [may see](may_see.py) the past alone.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from wrongline.attention_tests import find_mistakes
from wrongline.cache_tests import CACHE_TESTS
from wrongline.comparison import NEAR, off, roughen
from wrongline.in_place import borrowed
from wrongline.making import Made
from wrongline.may_see import ALL, ASK, PAST
from wrongline.model_tests import MODEL_TESTS
from wrongline.orders import named_weights, orders
from wrongline.pasted_models import (
    ModelWay,
    texts,
)
from wrongline.pasted_text import line_of, unread_mask
from wrongline.pictures import find_in_pictures
from wrongline.properties import nothing_from_the_future
from wrongline.run_pasted import FILE
from wrongline.sizes import SIZES
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
from wrongline.ways_to_call import Way
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
    only = [nothing_from_the_future.__name__]
    found = find_mistakes(module, 1, made.width, way, weights=None, only=only)
    return any(one.kind == WRONG for one in found.verdicts)


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
        mask = unread_mask(text) if "no causal mask" in one.sentence else None
        if mask:
            one = replace(
                one, sentence=f"{one.sentence}: `{mask[0]}` is never read (line {mask[1]})"
            )
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


def example() -> dict[str, Any]:
    r"""
    ## Example

    An attention without a mask, and nobody has said whether it may see everything.

    ### Exercises

    ??? question "Nothing is said about the future. Has the test passed?"
        No: it stands among those that weren't tried.
    """
    module = nn.MultiheadAttention(SIZES["d_model"], SIZES["heads"], batch_first=True)
    made = Made(module, Way(inputs=3), SIZES["heads"], SIZES["d_model"])
    *_, (found, compared) = findings(made, None, ASK)
    return told(found, compared, "")

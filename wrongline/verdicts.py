r"""
---
title: Four Verdicts
summary: What a test can say of somebody else's model, and how everything that it says is listed.
---

A test that says nothing can mean two things: all is right, or nothing was tried. A model whose
cached call always fails used to pass, because the test of the cache had swallowed the error. And an
attention with half of its features turned, as in GPT-NeoX, used to fail, because it isn't the
formula's. So each test gives one of these, and all of them are listed, always:

| verdict | what it means |
| --- | --- |
| *right* | it was tried, and nothing is wrong |
| *wrong* | a mistake, with its place |
| *unusual* | another model than the formula's, which may be a good one |
| *not tried* | and the reason |
| *error* | the model's own exception, in its own words, with its line |

**In:** tests, and what they are about. **Out:** a mapping from the names of the tests with the
verdict *wrong* or *error* to their sentences. It is empty if there are none. Its `table` has the
other verdicts as well.

What is tested is known to [one object](whole.py), which also knows how the model is called. The
tests work [in place](in_place.py): your model is the one that runs, and everything of it is put
back. Nothing here knows an exhibit of the museum.
"""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass
from xml.sax.saxutils import quoteattr

RIGHT = "right"
WRONG = "wrong"
UNUSUAL = "unusual"
NOT_TRIED = "not tried"
ERROR = "error"

# Why a test that was skipped wasn't tried.
UNASKED = "nobody asked for it"

# What a program is told by the exit status.
STATUS = {RIGHT: 0, WRONG: 1, ERROR: 1, "the model can't be run": 2, NOT_TRIED: 3}

# From these seconds on, one sees which test runs.
PATIENCE = 2.0


class Unusual(str):
    r"""
    ## A sentence about another model than the formula's

    A test gives a sentence. Its class is the verdict: a plain `str` says what is wrong, and an
    empty one that nothing is.
    """


class NotTried(str):
    r"""
    ## The reason why something wasn't tried
    """


@dataclass(frozen=True)
class Verdict:
    r"""
    ## What one test says

    `test` is its name, and `place` the file and the line of an error, if it has them.
    """

    test: str
    kind: str
    sentence: str = ""
    place: str = ""

    def line(self) -> str:
        r"""
        ### As a line of the table
        """
        # A star is what fails.
        mark = "*" if self.kind in (WRONG, ERROR) else "-"
        sentence = f": {self.sentence}" if self.sentence else ""
        return f"{mark} {self.kind}: {self.test}{sentence}"


class Findings(dict[str, str]):
    r"""
    ## What all tests say

    A mapping from each test that is wrong, or has met an error, to its sentence.
    """

    def __init__(self, verdicts: Iterable[Verdict], tried_on: str = "") -> None:
        r"""
        * `verdicts` are those of all tests, also of those that weren't tried
        * `tried_on` says which texts the model was tried on
        """
        self.verdicts = list(verdicts)
        self.tried_on = tried_on
        failing = [one for one in self.verdicts if one.kind in (WRONG, ERROR)]
        super().__init__({one.test: one.sentence for one in failing})

    @property
    def unusual(self) -> dict[str, str]:
        r"""
        ### What can be meant

        From the names of the tests to their sentences.
        """
        return {one.test: one.sentence for one in self.verdicts if one.kind == UNUSUAL}

    @property
    def table(self) -> str:
        r"""
        ### All of them

        What fails comes first, and the rest in the order of the tests.
        """
        lines = [one.line() for one in sorted(self.verdicts, key=lambda one: one.test not in self)]
        return "\n".join([*lines, self.tried_on] if self.tried_on else lines)

    @property
    def summary(self) -> str:
        r"""
        ### All of it in a line
        """
        left = sum(one.kind == NOT_TRIED for one in self.verdicts)
        what = f"{len(self)} of the tests fail" if self else "nothing is wrong"
        return f"{what}, {left} of {len(self.verdicts)} weren't tried"

    def status(self, strict: bool = False) -> int:
        r"""
        ### The exit status of a command

        0 if nothing is wrong, 1 if something is, 2 if the model can't be run, and 3 if something
        that was asked for wasn't tried and one is `strict`.
        """
        kinds = {one.kind for one in self.verdicts}
        if any(one.kind == ERROR and one.test == "runs" for one in self.verdicts):
            return 2
        if kinds & {WRONG, ERROR}:
            return 1
        left = [one for one in self.verdicts if one.kind == NOT_TRIED and one.sentence != UNASKED]
        return 3 if strict and left else 0

    def as_json(self) -> str:
        r"""
        ### For programs
        """
        told = {"tried_on": self.tried_on, "verdicts": [asdict(one) for one in self.verdicts]}
        return json.dumps(told, ensure_ascii=False, indent=1)

    def as_junit(self, name: str) -> str:
        r"""
        ### As JUnit's XML

        Most services that run tests read it. *wrong* is a failure there, *not tried* is skipped,
        and *unusual* is what a right test has printed.
        """
        tags = {WRONG: "failure", ERROR: "error", NOT_TRIED: "skipped"}
        lines = []
        for one in self.verdicts:
            said = quoteattr(one.sentence)
            inner = f"<{tags[one.kind]} message={said}/>" if one.kind in tags else ""
            if one.kind == UNUSUAL:
                inner = f"<system-out>{said[1:-1]}</system-out>"
            case = f"<testcase classname={quoteattr(name)} name={quoteattr(one.test)}>"
            lines.append(f"  {case}{inner}</testcase>")
        count = {kind: sum(one.kind == kind for one in self.verdicts) for kind in tags}
        head = (
            f'<testsuite name={quoteattr(name)} tests="{len(lines)}" failures="{count[WRONG]}" '
            f'errors="{count[ERROR]}" skipped="{count[NOT_TRIED]}">'
        )
        return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', head, *lines, "</testsuite>"])

    def as_markdown(self, name: str) -> str:
        r"""
        ### As Markdown, for a comment
        """

        def cell(text: str) -> str:
            # A line of a table has no ends of lines, and what looks like HTML is none.
            text = text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
            return " ".join(text.split())

        # What fails comes first, and then what wasn't tried.
        order = {WRONG: 0, ERROR: 0, NOT_TRIED: 1, UNUSUAL: 2, RIGHT: 3}
        rows = [
            f"| {one.kind} | `{one.test}` | {cell(one.sentence)} |"
            for one in sorted(self.verdicts, key=lambda one: order[one.kind])
        ]
        head = [f"**`{name}`**: {self.summary}", "", "| verdict | test | |", "| --- | --- | --- |"]
        end = ["", self.tried_on] if self.tried_on else []
        return "\n".join([*head, *rows, *end, ""])


def complain(found: Findings) -> None:
    r"""
    ## Raise what is wrong

    With the table, so that one sees what wasn't tried as well.
    """
    if found:
        # An assertion is a test for any framework as it stands.
        count = len(found)
        raise AssertionError(f"{count} of the tests fail:\n{found.table}")


class SaidError(ValueError):
    r"""
    ## An error that is a sentence of its own

    The tests themselves ask for something that a model can't do, and say what is to be done.
    """


def is_inside(line: traceback.FrameSummary) -> bool:
    r"""
    ## Is a line one of PyTorch's or of these tests?
    """
    # Or one that PyTorch calls for [every function](undisturbed.py#No16Bits).
    return f"{os.sep}torch{os.sep}" in line.filename or line.name == "__torch_function__"


def place_in(error: BaseException) -> tuple[str, int, str] | None:
    r"""
    ## Where an error comes from

    The innermost line that isn't PyTorch's is most often that of the model: its file, its number
    and its text.
    """
    lines = [one for one in traceback.extract_tb(error.__traceback__) if not is_inside(one)]
    if not lines:
        return None
    last = lines[-1]
    return last.filename, last.lineno or 0, last.line or ""


def told(error: BaseException) -> str:
    r"""
    ## An error in its own words, with its line
    """
    if isinstance(error, SaidError):
        return str(error)
    sentence = f"{type(error).__name__}: {error}"
    place = place_in(error)
    # A line of these tests tells nobody anything.
    if place is None or os.path.dirname(place[0]) == os.path.dirname(told.__code__.co_filename):
        return sentence
    return f"{sentence} ({os.path.basename(place[0])}, line {place[1]}: {place[2]})"


def verdict_of(name: str, test: Callable[[], str]) -> Verdict:
    r"""
    ## Run one test
    """
    try:
        said = test()
    # Whatever it is, it is told like any other finding, and the next test runs.
    except Exception as error:
        place = place_in(error)
        where = f"{place[0]}:{place[1]}" if place else ""
        return Verdict(name, ERROR, told(error), where)
    if isinstance(said, Unusual):
        return Verdict(name, UNUSUAL, str(said))
    if isinstance(said, NotTried):
        return Verdict(name, NOT_TRIED, str(said))
    return Verdict(name, WRONG if said else RIGHT, said)


def run_all(
    tests: Iterable[tuple[str, Callable[[], str]]],
    gates: Collection[str] = (),
    skip: Collection[str] = (),
    only: Collection[str] = (),
    tried_on: Callable[[], str] = lambda: "",
) -> Findings:
    r"""
    ## Run some tests

    * `tests` are their names, and functions that give a sentence
    * `gates` are tests without which the others make no sense: the logits of a model that gives NaN
      differ from themselves
    * `skip` and `only` are names of tests
    * `tried_on` says at the end what the model was tried on
    """
    found: list[Verdict] = []
    closed = ""
    errors: dict[str, str] = {}
    begun = time.monotonic()
    for name, test in tests:
        asked = name in gates or name not in skip and (not only or name in only)
        if not asked or closed:
            found.append(Verdict(name, NOT_TRIED, closed if asked else UNASKED))
            continue
        if time.monotonic() - begun > PATIENCE:
            print(f"{time.monotonic() - begun:.0f} s, {name} ...", file=sys.stderr, flush=True)
        one = verdict_of(name, test)
        # The same error is told once.
        if one.kind == ERROR and one.sentence in errors:
            one = Verdict(name, NOT_TRIED, f"it fails as {errors[one.sentence]} does")
        if one.kind == ERROR:
            errors[one.sentence] = name
        if name in gates and one.kind in (WRONG, ERROR):
            closed = f"{name} comes first"
        found.append(one)
    return Findings(found, tried_on())


def example() -> tuple[dict[str, str], str, int]:
    r"""
    ## Example

    Five tests, one for each verdict.

    ### Exercises

    ??? question "A cache can't be found. Why isn't that a pass?"
        The cache may be wrong, and nobody has looked. If you rely on it, you should know that.

    ??? question "Why is an error no mistake?"
        The test may have called the model in a way that isn't its own. The model's own words tell.
    """

    def fails() -> str:
        raise ValueError("a mask of 6x6 for 6x7 scores")

    found = run_all(
        [
            ("numbers", lambda: ""),
            ("future", lambda: "the logits change with later tokens"),
            ("formula", lambda: Unusual("another result than the formula's")),
            ("padding", lambda: NotTried("nobody has said how the mask is given")),
            ("cache", fails),
        ]
    )
    # Two of the five are in the mapping, and the exit status says that something is wrong.
    return dict(found), found.table, found.status()

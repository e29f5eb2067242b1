r"""
---
title: Exercises
summary: A line of the page is left out, or has a bug; page and notebook judge what is written.
---

The file that `exercises` in the [settings](../settings.py) names has a list for each page:

```toml
[["my_package/layers.py"]]
of = "Layer.forward"
line = "x = self.norm("
["my_package/layers.py".wrong]
"the stream isn't scaled" = { "self.norm(x)" = "x" }

[["my_package/layers.py"]]
of = "Layer.forward"
line = "return x +"
bug = "the branch is subtracted"
["my_package/layers.py".wrong]
"the branch is subtracted" = { "x +" = "x -" }
```

`line` is how a statement of the page begins: the statement itself stands in the page alone. Each
mistake is a change of it, from what it says to what it would say; or a text that takes its place.
Without a `bug` the reader writes the line. With one, the function has that mistake, and the reader
finds and mends it. With `shape = "[seq_len, batch_size]"` the reader is told what the line has to
make, and nothing of how. An entry with `assemble = true` has [lines to be put in
order](assembly.py).

What is wrong with an exercise is told with its line in this file, where it is mended; that it
[judges wrongly](judged.py), too.

Two cells of the notebook come of each. The first has the function, under another name, so that the
notebook runs on without an answer. The second runs the example with it, [compares all
results](../../page_runner/edit/judging.py) with those of the page, and tells a mistake by its
results.
"""

import ast
import json
import re
import textwrap
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from literate.measuring import claims
from literate.measuring.measure import Measurement
from literate.problems import LiterateError, Problem
from literate.python.scopes import bindings
from literate.python.statements import Piece, first_line
from literate.reading.source import Source, parse
from literate.settings import Settings
from literate.takeaway.notebook_cells import (
    EXAMPLE,
    HIDDEN,
    Cell,
    code_cell,
    defines,
    text_cell,
)
from literate.takeaway.snippet import without
from page_runner.edit import judging

WRITE = """## Write a line yourself

Below, a line is missing. Put yours in the place of `YOUR_LINE`, run the cell, and then the next
one: it runs the example with your line and with the lesson's, and compares all results."""
MEND = """## Mend a bug

The function below has a bug: one line of it is wrong. Mend it, run the cell, and then the next
one."""
SHAPE = """## Make a shape

Below, a line is missing, and you are told the shape that it makes. Put yours in the place of
`YOUR_LINE`, run the cell, and then the next one. The right shape alone is not enough: the axes and
the numbers in them are compared as well."""
TASKS = {"write": WRITE, "shape": SHAPE, "mend": MEND}
HOLE = "YOUR_LINE"
# The first line of an exercise, with the page that it is about.
_BEGINS = re.compile(r'\[\["(.*)"\]\]\s*(?:#.*)?$')
# A question with answers to choose from that asks for a reason.
_WHY = re.compile(r'\?\?\? question "[^"]*\b(?:Why|What)\b[^"]*"\n +- \[[ x]\]')
_PRACTICE = {"line": "line to write", "bug": "bug to mend", "question": "question why"}


@dataclass(frozen=True)
class Asked:
    r"""
    ## An exercise as its file has it

    * `of`, `line`, `wrong`, `bug`, `shape` and `assemble` are what the file says
    * `file` is its path, `text` all of it, and `first` the number of the line that begins the
      exercise
    """

    of: str
    line: str
    wrong: Mapping[str, Any]
    file: str
    text: str = field(repr=False)
    first: int
    bug: str = ""
    shape: str = ""
    assemble: bool = False

    def problem(self, sentence: str, begins: str) -> Problem:
        r"""
        ### What is wrong with it

        In the line of the exercise that begins so.
        """
        lines = self.text.split("\n")[self.first - 1 :]
        after = (number for number, line in enumerate(lines) if line.startswith(begins))
        return Problem(self.file, self.first + next(after, 0), sentence)


@cache
def _read(text: str, name: str) -> Mapping[str, Sequence[Asked]]:
    r"""
    The same text is read once for all pages.
    """
    try:
        asked = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LiterateError([Problem(name, 1, f"is not TOML: {error}.")]) from None
    places: dict[str, list[int]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if begins := _BEGINS.match(line):
            places.setdefault(begins[1], []).append(number)
    read: dict[str, list[Asked]] = {}
    for path, entries in asked.items():
        lines = chain(places.get(path, ()), repeat(1))
        for entry, first in zip(entries, lines, strict=False):
            for key in ("of", "line", "wrong"):
                if key not in entry:
                    sentence = f"an exercise of `{path}` has no `{key}`."
                    raise LiterateError([Problem(name, first, sentence)])
            given = Asked(**entry, file=name, text=text, first=first)
            read.setdefault(path, []).append(given)
    return read


@dataclass(frozen=True)
class Exercise:
    r"""
    ## An exercise, with the line of the page that it is about

    * `of` is the function, and `first` and `last` are the lines of the statement in the text
    * `right` is the statement, and `asked` what stands there for the reader: a hole, or the bug
    * `wrong` are statements in its place, by what is wrong with them; the bug is the first
    * `bound` are the names that the statement binds, and `shape` is that of the tensor it makes
    """

    of: str
    first: int
    last: int
    right: str
    asked: str
    wrong: Mapping[str, str]
    bound: tuple[str, ...]
    is_bug: bool
    shape: str = ""

    @property
    def kind(self) -> str:
        r"""
        ### What the reader does
        """
        if self.is_bug:
            return "mend"
        return "shape" if self.shape else "write"

    @property
    def made(self) -> str:
        r"""
        ### What the line makes, in words
        """
        return f"`{self.bound[0]}`" if self.bound else "what it returns"

    def lines(self, text: str, statement: str) -> list[str]:
        r"""
        ### The lines of the text with another statement
        """
        lines = text.splitlines()
        old = lines[self.first - 1]
        indent = old[: len(old) - len(old.lstrip())]
        lines[self.first - 1 : self.last] = (indent + statement).splitlines()
        return lines


def exercises(settings: Settings, path: str) -> Sequence[Asked]:
    r"""
    ## What the file has about a page

    A line to write, or a bug to mend.
    """
    return [asked for asked in _all(settings).get(path, ()) if not asked.assemble]


def to_assemble(settings: Settings, path: str) -> Sequence[Asked]:
    r"""
    ## Functions of a page whose lines are shuffled
    """
    return [asked for asked in _all(settings).get(path, ()) if asked.assemble]


def _all(settings: Settings) -> Mapping[str, Sequence[Asked]]:
    name = settings.exercises
    return _read((settings.root / name).read_text("utf-8"), name) if name else {}


def problems(
    settings: Settings, source: Source, measurement: Measurement | None
) -> Iterator[Problem]:
    r"""
    ## What is wrong with the exercises of a page

    A page that the settings name as `practised` has a line to write, a bug to mend and a question,
    by which its readers find out what they have understood.
    """
    kinds = set()
    listed = exercises(settings, source.path)
    if listed and not is_judged(settings, source):
        yield listed[0].problem(_unjudged(settings, source, listed[0].of), "[[")
    for asked in listed:
        kinds.add("bug" if asked.bug else "line")
        try:
            exercise = located(source.text, asked, source.path)
        except LiterateError as error:
            yield from error.problems
            continue
        if exercise.right in asked.text:
            at = asked.text[: asked.text.index(exercise.right)].count("\n") + 1
            sentence = (
                f"`{exercise.right}` is the whole line that readers write, and would be kept "
                'twice; name a part of it, as in `"b + c" = "b - c"` of `a = b + c`.'
            )
            yield Problem(asked.file, at, sentence)
        if exercise.shape and measurement:
            yield from _shape(exercise, asked, measurement)
    if source.path in settings.lessons.get("practised", ()):
        kinds |= {"question"} if _WHY.search(source.text) else set()
        missing = [what for kind, what in _PRACTICE.items() if kind not in kinds]
        if missing:
            sentence = f"a reader of this page practises: it has no {' and no '.join(missing)}."
            yield Problem(source.path, 1, sentence)


def is_judged(settings: Settings, source: Source) -> bool:
    r"""
    ## Can the exercises of a page be judged?

    By its example, where the settings let it run.
    """
    return settings.runs(source.path) and defines(source, EXAMPLE)


def _unjudged(settings: Settings, source: Source, of: str) -> str:
    if settings.runs(source.path):
        return f"nothing judges it: {source.path} has no function `example` that calls `{of}`."
    return f"nothing judges it: `examples` in `tool.literate` doesn't name {source.path}."


def _shape(exercise: Exercise, asked: Asked, measurement: Measurement) -> Iterator[Problem]:
    r"""
    The shape that a reader is told is that of the example.
    """
    claim = claims.parse(exercise.shape)
    if claim is None:
        yield asked.problem(f"`{exercise.shape}` is no list of axes.", "shape")
        return
    made = exercise.bound[:1] or ("return",)
    there = measurement.lines.get(exercise.first, ())
    tensors = [tensor for tensor in there if tensor.name in made]
    sentence = claims.check(claim, tensors, measurement.axes)
    if sentence:
        yield asked.problem(sentence.replace("the note", "the exercise", 1), "shape")


def left_over(settings: Settings, paths: Container[str]) -> Iterator[Problem]:
    r"""
    ## Exercises of no page
    """
    for path, listed in _all(settings).items():
        if path not in paths:
            yield listed[0].problem(f"has an exercise of `{path}`, which is no page.", "[[")


def located(text: str, asked: Asked, path: str, with_wrong: bool = True) -> Exercise:
    r"""
    ## Find the line of an exercise

    In the text of a page, or in a part of one; `with_wrong` says that its mistakes are those of
    this line. Raises a
    [LiterateError](../problems.py#LiterateError) where the exercise and the page don't fit.
    """
    of, begins = asked.of, asked.line
    source = _parsed(text, path)
    places = [
        node
        for definition in source.definitions
        if definition.name == of
        for node in ast.walk(definition.node)
        if isinstance(node, ast.stmt) and _said(source, node).startswith(begins)
    ]
    if len(places) != 1:
        sentence = f"`{of}` in {path} doesn't have once a line that begins `{begins}`."
        raise LiterateError([asked.problem(sentence, "line")])
    (node,) = places
    if hasattr(node, "body"):
        sentence = f"`{begins}` begins a block; an exercise is about a statement without one."
        raise LiterateError([asked.problem(sentence, "line")])
    right = _said(source, node)
    known = asked.wrong if with_wrong else {}
    wrong = {name: changed(right, change, name, asked) for name, change in known.items()}
    bug = asked.bug
    if bug:
        if bug not in wrong:
            sentence = f"the bug “{bug}” of `{of}` is none of its wrong lines."
            raise LiterateError([asked.problem(sentence, "bug")])
        wrong = {bug: wrong.pop(bug), **wrong}
    bound = tuple(bindings([node]))
    last = node.end_lineno or node.lineno
    shown = wrong[bug] if bug else _hole(source, node)
    return Exercise(of, node.lineno, last, right, shown, wrong, bound, bool(bug), asked.shape)


@lru_cache(maxsize=8)
def _parsed(text: str, path: str = "<text>") -> Source:
    r"""
    The same text for each of its exercises.
    """
    return parse(text, path)


def _said(source: Source, node: ast.stmt | ast.expr) -> str:
    r"""
    The text of a node. That of `ast` takes the whole file apart for each.
    """
    last = node.end_lineno or node.lineno
    lines = [line.text for line in source.lines[node.lineno - 1 : last]]
    lines[-1] = lines[-1][: source.characters(last, node.end_col_offset or 0)]
    lines[0] = lines[0][source.characters(node.lineno, node.col_offset) :]
    return "".join(lines)


def _hole(source: Source, node: Any) -> str:
    r"""
    The statement without its value.
    """
    value = getattr(node, "value", None)
    if value is None:
        return HOLE
    said = _said(source, value)
    whole = _said(source, node)
    before = whole[: whole.rindex(said)]
    # What stands in parentheses leaves them.
    return before.rstrip("( \n") + " " * bool(before.strip("( \n")) + HOLE


def changed(right: str, change: Any, name: str, asked: Asked) -> str:
    r"""
    ## A line with a mistake

    What is changed has to be there once; else it raises a
    [LiterateError](../problems.py#LiterateError).
    """
    if isinstance(change, str):
        return change
    for old, new in change.items():
        if right.count(old) != 1:
            sentence = f"the mistake “{name}” changes `{old}`: not once in `{right}`."
            raise LiterateError([asked.problem(sentence, json.dumps(name, ensure_ascii=False))])
        right = right.replace(old, new)
    return right


def told(settings: Settings, source: Source) -> list[dict[str, Any]]:
    r"""
    ## What the editor of a page gets
    """
    return [told_to_editor(source, each) for each in exercises(settings, source.path)]


def told_to_editor(source: Source, asked: Asked) -> dict[str, Any]:
    r"""
    ## The same of one exercise

    Raises a [LiterateError](../problems.py#LiterateError) where it doesn't fit the page.
    """
    exercise = located(source.text, asked, source.path)
    return {
        "kind": exercise.kind,
        "of": exercise.of,
        "first": exercise.first,
        "text": "\n".join(exercise.lines(source.text, exercise.asked)) + "\n",
        "bound": exercise.bound,
        "shape": exercise.shape and f"{exercise.made.strip('`')} has the shape {exercise.shape}",
        "wrong": {
            name: "\n".join(exercise.lines(source.text, line)) + "\n"
            for name, line in exercise.wrong.items()
        },
    }


@cache
def judge_runs() -> str:
    r"""
    ## The function that judges, for notebooks
    """
    text = Path(judging.__file__).read_text("utf-8")
    judge = _node(text, "judge_runs")
    return without(ast.get_source_segment(text, judge) or "", "docstring").rstrip()


def _node(
    text: str, name: str, line: int = 0
) -> ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef:
    r"""
    The definition of a name; of a property and its setter, the one with the line.
    """
    named = (each for each in _parsed(text).definitions if each.name == name)
    return next(each.node for each in named if not line or each.first <= line <= each.last)


def cells(pieces: Iterable[Piece], asked: Sequence[Asked], path: str) -> Iterator[Cell]:
    r"""
    ## The cells of a page's exercises
    """
    known = {name: without(piece.text, "docstring") for piece in pieces for name in piece.names}
    before = ""
    for number, entry in enumerate(asked, 1):
        text = known.get(entry.of.partition(".")[0], "")
        exercise = located(text, entry, path)
        # What to do is said once for each kind of exercise.
        if exercise.kind != before:
            yield text_cell(TASKS[exercise.kind])
        before = exercise.kind
        yield from _cells_of(text, exercise, number)


def _cells_of(text: str, exercise: Exercise, number: int) -> Iterator[Cell]:
    function = _node(text, exercise.of, exercise.first)
    name, above = exercise.of.rpartition(".")[2], first_line(function) - 1
    lines = exercise.lines(text, exercise.asked)
    # The other statement may have more lines, or fewer.
    end = (function.end_lineno or 0) + len(lines) - len(text.splitlines())
    mine = f"my_{name}_{number}"
    code = textwrap.dedent("\n".join(lines[above:end])).replace(f"def {name}(", f"def {mine}(", 1)
    about = "with a bug" if exercise.is_bug else "with a hole"
    makes = f" With your line, {exercise.made} has the shape\n# `{exercise.shape}`."
    yield code_cell(f"# `{exercise.of}`, {about}.{makes if exercise.shape else ''}\n{code}")
    place = exercise.first - above, exercise.last - above
    wrong = json.dumps(exercise.wrong, ensure_ascii=False, indent=4)
    given = f"{exercise.of}, {mine}, {EXAMPLE}, {place}, {[*exercise.bound]}, {wrong}"
    bug = ", bug=True" if exercise.is_bug else ""
    title = "Is the bug gone?" if exercise.is_bug else "Is the line right?"
    yield code_cell(f"#@title {title}\njudge_line({given}{bug})", HIDDEN)

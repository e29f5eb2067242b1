r"""
---
title: Lines to Assemble
summary: The lines of a function, shuffled among wrong ones, to be put in order and judged.
---

In the file of the [exercises](exercises.py) an entry with `assemble = true` names a function, and
the statement with which its shuffled part begins:

```toml
[["my_package/layers.py"]]
of = "Layer.forward"
line = "x = self.norm("
assemble = true
["my_package/layers.py".wrong]
"the stream isn't scaled" = { "self.norm(x)" = "x" }
```

That statement and all that follow it in its block are the pieces; what stands above them is given.
A piece is a whole statement, so an `if` brings its body along. Among the pieces lie wrong ones:
each of `wrong` is a change of the one piece that has this text, and the mistakes of the page's
other exercises that are in the museum come with them.

The notebook has the pieces as a comment above the function, and judges what is written below.
Several orders can be right. The [judge](../../page_runner/edit/judging.py) compares results, so it
takes any of them.
"""

import ast
import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from literate.problems import LiterateError, Problem
from literate.python.scopes import bindings
from literate.python.statements import Piece, first_line
from literate.reading.source import Source, parse
from literate.settings import Settings
from literate.takeaway import exercises
from literate.takeaway.exercises import HOLE, Asked
from literate.takeaway.notebook_cells import EXAMPLE, HIDDEN, Cell, code_cell, text_cell
from literate.takeaway.snippet import without

TASK = """## Put lines in order

Some of the lines below belong to the function, the others are mistakes. Put the right ones in the
place of `YOUR_LINE`, in an order that works, run the cell, and then the next one."""

# With more of them nobody reads all pieces.
MOST_WRONG = 4
# What is shuffled has at least so many pieces.
FEWEST = 2
_MUSEUM = "(in the museum: "


@dataclass(frozen=True)
class Assembly:
    r"""
    ## A function whose lines are shuffled

    * `of` is the function, and `first` and `last` are the lines of the page that its pieces take
    * `head` is the code of the function above them, and `tail` that below
    * `pieces` are the right ones in their order, and `wrong` the others by their mistakes: the
      number of the piece that each stands for, from 0, and its text
    * `bound` are the names that the pieces bind
    """

    of: str
    first: int
    last: int
    head: str
    tail: str
    pieces: tuple[str, ...]
    wrong: Mapping[str, tuple[int, str]]
    bound: tuple[str, ...]

    def page(self, text: str, pieces: Sequence[str]) -> str:
        r"""
        ### The text of the page with these pieces, in this order
        """
        lines = text.splitlines()
        lines[self.first - 1 : self.last] = pieces
        return "\n".join(lines) + "\n"

    def with_mistake(self, name: str) -> list[str]:
        r"""
        ### The pieces in order, with one of the mistakes among them
        """
        place, wrong = self.wrong[name]
        return [*self.pieces[:place], wrong, *self.pieces[place + 1 :]]


def assemblies(settings: Settings, source: Source) -> list[Assembly]:
    r"""
    ## Those of a page

    Raises a [LiterateError](../problems.py#LiterateError) where the file and the page don't fit.
    """
    asked = exercises.to_assemble(settings, source.path)
    others = exercises.exercises(settings, source.path)
    return [located(source, one, others) for one in asked]


def problems(settings: Settings, source: Source) -> Iterator[Problem]:
    r"""
    ## What is wrong with them
    """
    try:
        assemblies(settings, source)
    except LiterateError as error:
        yield from error.problems


def located(source: Source, asked: Asked, others: Sequence[Asked]) -> Assembly:
    r"""
    ## Find the pieces on the page
    """
    found = exercises.located(source.text, asked, source.path, with_wrong=False)
    (function,) = (one.node for one in source.definitions if one.name == asked.of)
    block = _block(function, found.first)
    if len(block) < FEWEST:
        sentence = f"`{asked.of}` has no two statements from `{asked.line}` on, to be put in order."
        raise LiterateError([asked.problem(sentence, "line")])
    lines = source.text.splitlines()
    pieces = [_bare(lines[node.lineno - 1 : _end(node)]) for node in block]
    wrong = {**_own(asked, pieces), **_of_museum(source, block, asked, others)}
    start, last = first_line(function) - 1, _end(block[-1])
    indent = " " * block[0].col_offset
    # A block without a statement is no Python.
    above = _bare([*lines[start : found.first - 1], f"{indent}pass"]).splitlines()[:-1]
    return Assembly(
        of=asked.of,
        first=found.first,
        last=last,
        head="\n".join(above),
        tail=_bare(lines[last : _end(function)]),
        pieces=tuple(pieces),
        wrong=wrong,
        bound=tuple(dict.fromkeys(bindings(block))),
    )


def _end(node: Any) -> int:
    return int(node.end_lineno or node.lineno)


def _block(function: ast.AST, first: int) -> list[ast.stmt]:
    r"""
    The statement of a line, and those that follow it in its block.
    """
    for node in ast.walk(function):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, ())
            for at, one in enumerate(block if isinstance(block, list) else ()):
                if one.lineno == first:
                    return list(block[at:])
    return []


def _bare(lines: Sequence[str]) -> str:
    r"""
    Lines of code without their notes, as far to the right as they stand.
    """
    text = "\n".join(lines)
    dedented = textwrap.dedent(text)
    indent = next((one[: len(one) - len(one.lstrip())] for one in lines if one.strip()), "")
    kept = without(dedented, "docstring", "comment").splitlines()
    return "\n".join(indent + line for line in kept if line.strip())


def _own(asked: Asked, pieces: Sequence[str]) -> dict[str, tuple[int, str]]:
    wrong = {}
    for name, change in asked.wrong.items():
        old = next(iter(change)) if isinstance(change, Mapping) else ""
        places = [at for at, piece in enumerate(pieces) if old and old in piece]
        if len(places) != 1:
            sentence = f"the mistake “{name}” changes `{old}`, which isn't in one of the pieces."
            raise LiterateError([asked.problem(sentence, json.dumps(name, ensure_ascii=False))])
        (place,) = places
        wrong[name] = place, exercises.changed(pieces[place], change, name, asked)
    return wrong


def _of_museum(
    source: Source, block: Sequence[ast.stmt], asked: Asked, others: Sequence[Asked]
) -> dict[str, tuple[int, str]]:
    r"""
    The mistakes of other exercises that are in the museum, and in a line of a piece.
    """
    wrong: dict[str, tuple[int, str]] = {}
    count = len(source.text.splitlines())
    for other in others:
        if other.of != asked.of:
            continue
        exercise = exercises.located(source.text, other, source.path)
        places = [at for at, one in enumerate(block) if one.lineno <= exercise.first <= _end(one)]
        for name, statement in exercise.wrong.items():
            if not places or _MUSEUM not in name:
                continue
            lines = exercise.lines(source.text, statement)
            node = block[places[0]]
            end = _end(node) + len(lines) - count
            wrong.setdefault(name, (places[0], _bare(lines[node.lineno - 1 : end])))
    return wrong


def shuffled(assembly: Assembly) -> list[dict[str, str]]:
    r"""
    ## Pieces and mistakes, shuffled

    The same way in each build. A mistake that leaves a piece out is no line; the judge knows it.
    """
    shown = {name: one for name, one in assembly.wrong.items() if one[1].strip() != "pass"}
    # First one for each piece that has one: a second for the same piece gives the first away.
    turns: dict[int, int] = {}
    order = {}
    for name, (place, _) in shown.items():
        turns[place] = order[name] = turns.get(place, -1) + 1
    chosen = sorted(shown, key=order.__getitem__)[:MOST_WRONG]
    lines = [{"text": piece, "wrong": ""} for piece in assembly.pieces]
    lines += [{"text": shown[name][1], "wrong": name} for name in chosen]
    return sorted(lines, key=lambda line: sha256(line["text"].encode()).digest())


def for_page(settings: Settings, source: Source) -> str:
    r"""
    ## What the page gets, as JSON

    With its other exercises. Empty, if it has none.
    """
    all_told = [*exercises.told(settings, source), *told(settings, source)]
    return json.dumps(all_told, ensure_ascii=False) if all_told else ""


def told(settings: Settings, source: Source) -> list[dict[str, Any]]:
    r"""
    ## What the page gets of what is assembled
    """
    return [
        {
            "kind": "assemble",
            "of": one.of,
            "first": one.first,
            "head": one.head,
            "tail": one.tail,
            "before": one.page(source.text, []).splitlines()[: one.first - 1],
            "after": source.text.splitlines()[one.last :],
            "lines": shuffled(one),
            "bound": one.bound,
            "wrong": {name: one.page(source.text, one.with_mistake(name)) for name in one.wrong},
        }
        for one in assemblies(settings, source)
    ]


def cells(pieces: Iterable[Piece], settings: Settings, path: str) -> Iterator[Cell]:
    r"""
    ## The cells of a notebook
    """
    known = {name: without(piece.text, "docstring") for piece in pieces for name in piece.names}
    others = exercises.exercises(settings, path)
    # What readers write has the numbers after those of the other exercises.
    for number, asked in enumerate(exercises.to_assemble(settings, path), 1 + len(others)):
        text = known.get(asked.of.partition(".")[0], "")
        source = parse(text)
        yield text_cell(TASK)
        yield from _cells_of(source, located(source, asked, others), number)


def _cells_of(source: Source, one: Assembly, number: int) -> Iterator[Cell]:
    (function,) = (each.node for each in source.definitions if each.name == one.of)
    above = first_line(function) - 1
    name = one.of.rpartition(".")[2]
    mine = f"my_{name}_{number}"
    head = _outdented(one.head, function).replace(f"def {name}(", f"def {mine}(", 1)
    shuffled_lines = "\n".join(line["text"] for line in shuffled(one))
    shown = textwrap.indent(textwrap.dedent(shuffled_lines), "#     ")
    inside = len(one.pieces[0]) - len(one.pieces[0].lstrip()) - function.col_offset
    parts = [head, " " * inside + HOLE, _outdented(one.tail, function)]
    code = "\n".join(part for part in parts if part)
    yield code_cell(f"# The lines of `{one.of}`, among wrong ones:\n#\n{shown}\n{code}")
    place = one.first - above, one.last - above
    blocks = {
        name: _outdented("\n".join(one.with_mistake(name)), function).lstrip() for name in one.wrong
    }
    wrong = json.dumps(blocks, ensure_ascii=False, indent=4)
    given = f"{one.of}, {mine}, {EXAMPLE}, {place}, {[*one.bound]}, {wrong}"
    yield code_cell(f"#@title Are the lines right?\njudge_line({given})", HIDDEN)


def _outdented(text: str, function: ast.AST) -> str:
    r"""
    A part of a method, as far to the left as a function stands.
    """
    blanks = " " * getattr(function, "col_offset", 0)
    return "\n".join(line.removeprefix(blanks) for line in text.splitlines())

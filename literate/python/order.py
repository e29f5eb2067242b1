r"""
---
title: Order
summary: An order in which copied definitions can run.
---

A base class has to be there before its subclass, a decorator before what it decorates, and whatever
a constant is computed by before the constant. Python has an order that works: an `import` runs the
whole module that it names, unless that has begun to run already, and only then the line behind
it. The copy follows it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from literate.problems import LiterateError, Problem
from literate.python.scopes import Use
from literate.python.statements import Import, Module, Piece

Found = Piece | Import
Needs = Mapping[Piece, Sequence[tuple[Use, Sequence[Found]]]]


def in_order(
    needs: Needs, reading: Sequence[str], root: str, module: Callable[[str], Module]
) -> list[Piece]:
    r"""
    ## Put pieces in order

    * `needs` gives each piece its uses of names, and what they stand for
    * `reading` are all modules of the package in reading order, which is kept where the imports
      allow it
    * `root` is the module that is wanted, `module` takes one apart

    Raises a [LiterateError](../problems.py#LiterateError) if modules import each other in a way
    that Python can't run either.
    """
    having = {piece.module for piece in needs}
    in_reading_order = [name for name in reading if name in having]
    wrong: tuple[Piece, Piece] | None = None
    # Where modules import each other, it can matter which of them is imported first.
    for first in (in_reading_order, [root, *in_reading_order]):
        order = _as_imported(first, needs, set(reading), module)
        wrong = next(_too_early(needs, order), None)
        if wrong is None:
            return order
    assert wrong is not None
    needing, needed = wrong
    there = f"{module(needed.module).source.path}:{needed.line}"
    sentence = (
        f"`{needing.names[0]}` needs `{needed.names[0]}` ({there}), which is not defined yet when "
        "the modules import each other; break the circle."
    )
    raise LiterateError([Problem(module(needing.module).source.path, needing.line, sentence)])


def _as_imported(
    names: Iterable[str], needs: Needs, package: set[str], module: Callable[[str], Module]
) -> list[Piece]:
    r"""
    The order in which Python would run the pieces, if it imported modules by these names.
    """
    order: list[Piece] = []
    begun: set[str] = set()

    def run(name: str) -> None:
        if name not in package:
            return
        # A package comes before the modules in it, and may have imported this one.
        run(name.rpartition(".")[0])
        if name in begun:
            return
        begun.add(name)
        imports = [statement for them in module(name).imports.values() for statement in them]
        steps: list[Found] = [statement for statement in imports if not statement.typing_only]
        steps += [piece for piece in needs if piece.module == name]
        for step in sorted(steps, key=_line_of):
            if isinstance(step, Piece):
                order.append(step)
            else:
                run(step.module)

    for name in names:
        run(name)
    return order


def _line_of(step: Found) -> tuple[int, tuple[str, ...]]:
    r"""
    A new name for a piece has the line of that piece, and comes behind it.
    """
    return step.line, step.names if isinstance(step, Piece) and step.renames else ()


def _too_early(needs: Needs, order: Sequence[Piece]) -> Iterator[tuple[Piece, Piece]]:
    position = {piece: number for number, piece in enumerate(order)}
    for piece in order:
        for use, meanings in needs[piece]:
            others = [
                meaning for meaning in meanings if isinstance(meaning, Piece) and meaning != piece
            ]
            if use.now and others and len(others) == len(meanings):
                first = min(others, key=position.__getitem__)
                if position[first] > position[piece]:
                    yield piece, first

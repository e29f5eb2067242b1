r"""
---
title: Places in a Source
summary: A line is kept as a place in the tree of the code, so that a longer note moves nothing.
---

A [graph](exporter.py) knows the line of each operation. When an author writes a longer docstring,
all lines below it move, and the code is still the same. To export twenty models again for that
would take a minute. So an exported graph is kept with *places*: the number of a node in the tree of
the code, without its docstrings. Formatting and notes don't change that number, and the tree of
today's source gives today's line.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Stacks = Sequence[Sequence[Sequence[int]]]


def lines_of(source: str) -> list[int]:
    r"""
    ## The line of each place

    Entry $n$ is the line on which node $n$ of the tree begins.
    """
    return [node.lineno for node in _nodes(ast.parse(source)) if hasattr(node, "lineno")]


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Expr(value=ast.Constant(value=str())):
                continue
        yield from _nodes(child)


def to_places(stacks: Stacks, files: Sequence[str], sources: Mapping[str, str]) -> list[Any]:
    r"""
    ## Lines become places

    `stacks` are lists of a file's number and a line, `files` are their paths, and `sources` the
    texts of the files by path. The place of a line is the first node that begins on it.
    """
    places = [_first_places(lines_of(sources[path])) for path in files]
    return [[[file, places[file][line]] for file, line in stack] for stack in stacks]


def _first_places(lines: Sequence[int]) -> dict[int, int]:
    return {line: place for place, line in reversed([*enumerate(lines)])}


def to_lines(stacks: Stacks, files: Sequence[str], sources: Mapping[str, str]) -> list[Any]:
    r"""
    ## Places become lines

    The opposite, with the sources as they are now.
    """
    lines = [lines_of(sources[path]) for path in files]
    return [[[file, lines[file][place]] for file, place in stack] for stack in stacks]

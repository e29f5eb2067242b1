r"""
---
title: Trees
summary: Syntax trees are walked through in half the time.
---

Names, references, places and snippets all look through the syntax trees of all sources. Python's
own `ast.walk` and `ast.NodeVisitor` ask each node for all its fields by name, and stop at each sign
that only says whether a name is read or written. Here they look at what can hold something: the
same walk takes half the time.
"""

import ast
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from literate.reading.source import Source

# Fields that never hold a node with something in it. The kind of a constant is not looked at.
_LEAVES = frozenset(
    {"arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "level", "module"}
    | {"op", "ops", "rest", "simple", "tag", "type_comment", "type_ignores"}
)


@cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    if issubclass(kind, ast.Constant):
        return ()
    return tuple(name for name in kind._fields if name not in _LEAVES)


def children(node: ast.AST) -> Iterator[ast.AST]:
    r"""
    ## What a node consists of

    In the order of its fields, as `ast.iter_child_nodes` has it, without operators and without the
    `ctx` of names.
    """
    for name in _fields(type(node)):
        inside = getattr(node, name, None)
        if isinstance(inside, list):
            for one in inside:
                if isinstance(one, ast.AST):
                    yield one
        elif isinstance(inside, ast.AST):
            yield inside


def nodes(tree: ast.AST) -> list[ast.AST]:
    r"""
    ## A node and all that it consists of

    In the order of `ast.walk`: what is nearer to the top comes first.
    """
    found = [tree]
    for node in found:
        found.extend(children(node))
    return found


def all_nodes(source: Source) -> list[ast.AST]:
    r"""
    ## All nodes of a source
    """
    return nodes(source.tree)


class Visitor:
    r"""
    ## Visitor

    For a node of the kind `Name` its method `visit_Name` is called, if there is one; else all that
    the node consists of is visited.
    """

    def visit(self, node: ast.AST) -> None:
        r"""
        ### Visit a node
        """
        method = _method(type(self), type(node))
        if method is not None:
            method(self, node)
            return
        for child in children(node):
            self.visit(child)


@cache
def _method(visitor: type[Visitor], kind: type[ast.AST]) -> Callable[[Any, Any], None] | None:
    return getattr(visitor, f"visit_{kind.__name__}", None)

r"""
---
title: Places
summary: Where each name of a file stands, with namesakes kept apart.
---

A reader who clicks on `x` in one function wants to see where that `x` is used, and not the `x` of
the next function, which is another variable. So the names of a file are grouped by what they
*stand for*: the scope that binds them, by the rules of Python.

[Names](names.py) asks the other question: what a statement takes from its module.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

from literate.python.names import Comprehension, Function, arguments_of, bindings
from literate.python.trees import Visitor, children
from literate.reading.source import Source

_WORD = re.compile(r"\w+")

# The line, and the column in characters.
Place = tuple[int, int]


@dataclass
class _Scope:
    kind: str
    bound: set[str]
    places: dict[str, set[Place]]


def places(source: Source) -> dict[str, list[list[Place]]]:
    r"""
    ## The places of all names

    For each name the groups of its places, each group in order: the places in one group stand for
    one thing. `self.scale` is a name of its own, which belongs to its class.
    """
    walker = _Walker(source)
    walker.scoped("module", set(), source.tree.body)
    found: dict[str, list[list[Place]]] = {}
    for scope in walker.all:
        for name, group in scope.places.items():
            found.setdefault(name, []).append(sorted(group))
    return {name: sorted(groups) for name, groups in sorted(found.items())}


class _Walker(Visitor):
    def __init__(self, source: Source) -> None:
        self.source = source
        self.all: list[_Scope] = []
        self.stack: list[_Scope] = []

    def scoped(self, kind: str, bound: set[str], nodes: Iterable[ast.AST]) -> None:
        scope = _Scope(kind, bound, {})
        self.all.append(scope)
        self.stack.append(scope)
        self.each(nodes)
        self.stack.pop()

    def each(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def put(self, name: str, line: int, column: int, scope: _Scope | None = None) -> None:
        r"""
        The column is one of `ast`, which counts bytes.
        """
        start = self.source.characters(line, column)
        shown = name.removeprefix("self.")
        text = self.source.lines[line - 1].text
        # Python normalises names, and before 3.12 it lost its way in strings with braces.
        found = _WORD.match(text, start)
        if found and found[0] == shown and not _WORD.match(text[:start][-1:]):
            owner = scope or self.owner(name)
            owner.places.setdefault(name, set()).add((line, start))

    def owner(self, name: str) -> _Scope:
        innermost = len(self.stack) - 1
        for depth in range(innermost, 0, -1):
            scope = self.stack[depth]
            # Methods don't see the names of their class.
            if name in scope.bound and (scope.kind != "class" or depth == innermost):
                return scope
        return self.stack[0]

    def visit_Name(self, node: ast.Name) -> None:
        self.put(node.id, node.lineno, node.col_offset)

    def visit_arg(self, node: ast.arg) -> None:
        self.put(node.arg, node.lineno, node.col_offset)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.visit(node.value)
        classes = [scope for scope in self.stack if scope.kind == "class"]
        match node.value:
            case ast.Name(id="self") if classes:
                column = (node.end_col_offset or 0) - len(node.attr.encode())
                line = node.end_lineno or node.lineno
                self.put(f"self.{node.attr}", line, column, classes[-1])

    def visit_alias(self, node: ast.alias) -> None:
        name = node.asname or node.name
        if "." not in name and name != "*":
            column = (node.end_col_offset or 0) - len(name.encode())
            self.put(name, node.end_lineno or node.lineno, column)

    def visit_FunctionDef(self, node: Function) -> None:
        arguments = node.args
        keyword = "async def " if isinstance(node, ast.AsyncFunctionDef) else "def "
        self.put(node.name, node.lineno, node.col_offset + len(keyword))
        every = arguments_of(arguments)
        annotations = [one.annotation for one in every]
        defaults = [*arguments.defaults, *arguments.kw_defaults]
        self.each([*node.decorator_list, *defaults, *annotations, node.returns])
        self.function(every, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.each([*node.args.defaults, *node.args.kw_defaults])
        self.function(arguments_of(node.args), [node.body])

    def function(self, arguments: list[ast.arg], body: list[ast.stmt] | list[ast.expr]) -> None:
        outside = {
            name
            for node in _own(body)
            if isinstance(node, ast.Global | ast.Nonlocal)
            for name in node.names
        }
        bound = {one.arg for one in arguments} | (set(bindings(body)) - outside)
        self.scoped("function", bound, [*arguments, *body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.put(node.name, node.lineno, node.col_offset + len("class "))
        self.each([*node.decorator_list, *node.bases, *node.keywords])
        self.scoped("class", set(bindings(node.body)), node.body)

    def visit_ListComp(self, node: Comprehension) -> None:
        targets = [generator.target for generator in node.generators]
        results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        # The first iterable is evaluated outside.
        first = node.generators[0]
        self.visit(first.iter)
        inside = [*targets, *first.ifs]
        for generator in node.generators[1:]:
            inside += [generator.iter, *generator.ifs]
        self.scoped("comprehension", set(bindings(targets)), [*inside, *results])

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp


def _own(nodes: Iterable[ast.AST]) -> Iterable[ast.AST]:
    r"""
    The nodes of a body without those of the functions and classes in it.
    """
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            waiting.extend(children(node))

r"""
---
title: Scopes
summary: What each name in code stands for, by the rules of Python.
---

To copy a definition one has to know what it needs, and that is a question about *names*. In

```python
def scale(x):
    factor = math.sqrt(x)
    return x / factor
```

`x` and `factor` are the function's own, `math` is the module's. This page tells them apart by the
rules of Python: functions see the names of the functions around them, but not those of a class
around them; a comprehension has a scope of its own; decorators, defaults and base classes belong to
the scope outside.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from literate.reading.source import Source

Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

# The line, and the column in characters.
Place = tuple[int, int]

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Use:
    r"""
    ## A name that a statement takes from its module

    * `line` is where it stands, and `column` the byte of the line, or -1 inside a string
    * `now` tells that the name is read while the module runs, as a base class is; else it is read
      later, when a function is called
    """

    name: str
    line: int
    now: bool
    column: int = field(default=-1, compare=False)


def uses(statement: ast.stmt, lazy_annotations: bool = False) -> list[Use]:
    r"""
    ## The names that a top-level statement takes from its module

    Built-in names are among them, because a module may define a name that is also built in. With
    `lazy_annotations`, which `from __future__ import annotations` switches on, annotations are not
    read now. Annotations that are strings never are, but the names in them are found, too.
    """
    walker = _Walker(lazy_annotations)
    walker.visit(statement)
    return walker.used


def places(source: Source) -> dict[str, list[list[Place]]]:
    r"""
    ## The places of all names

    For each name the groups of its places, each group in order: the places in one group stand for
    one thing. `self.scale` is a name of its own, which belongs to its class.
    """
    walker = _Walker()
    walker.each(source.tree.body)
    groups: dict[tuple[str, int], set[Place]] = {}
    for name, line, column, scope in walker.seen:
        start = source.characters(line, column)
        text = source.lines[line - 1].text
        # Python normalises names, and before 3.12 it lost its way in strings with braces.
        word = _WORD.match(text, start)
        whole = word and not _WORD.match(text[:start][-1:])
        if word and whole and word[0] == name.removeprefix("self."):
            groups.setdefault((name, id(scope)), set()).add((line, start))
    by_name: dict[str, list[list[Place]]] = {}
    for (name, _), group in groups.items():
        by_name.setdefault(name, []).append(sorted(group))
    return {name: sorted(by_name[name]) for name in sorted(by_name)}


def bindings(statements: Iterable[ast.AST]) -> Iterator[str]:
    r"""
    ## The names that statements bind in their own scope

    Not the names inside the functions and classes among them.
    """
    for node in _own(statements):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.MatchMapping(rest=str(name)):
                yield name
            case ast.Import() | ast.ImportFrom():
                yield from (bound_by_import(alias) for alias in node.names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar() if node.name:
                yield node.name


def _own(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    r"""
    The nodes of a scope, without those of the scopes in it. `:=` in a comprehension binds outside.
    """
    for node in nodes:
        yield node
        if isinstance(node, Comprehension):
            yield from (
                inner.target for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr)
            )
        elif not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            yield from _own(ast.iter_child_nodes(node))


def imports_in(statements: Iterable[ast.AST]) -> Iterator[ast.Import | ast.ImportFrom]:
    r"""
    ## The imports of statements, and of the branches in them

    Not those in functions and classes.
    """
    yield from (node for node in _own(statements) if isinstance(node, ast.Import | ast.ImportFrom))


def bound_by_import(alias: ast.alias) -> str:
    r"""
    ## The name that an import binds

    `import torch.nn` binds `torch`; with `as`, it is the name behind it.
    """
    return alias.asname or alias.name.partition(".")[0]


def origin_of(statement: ast.ImportFrom, package: str) -> str:
    r"""
    ## The module that a `from` names

    `from .mha import f`, in the package `labml_nn.transformers` or one of its modules, names
    `labml_nn.transformers.mha`. `package` is the one that the statement stands in.
    """
    above = package.split(".")
    above = above[: len(above) - statement.level + 1] if statement.level else []
    return ".".join([*above, *([statement.module] if statement.module else [])])


@dataclass
class _Scope:
    r"""
    `bound` are the names that it binds, `of_module` those that `global` gives to the module.
    """

    kind: Literal["module", "function", "class", "comprehension"]
    bound: set[str] = field(default_factory=set)
    of_module: set[str] = field(default_factory=set)


class _Walker(ast.NodeVisitor):
    r"""
    Walks through code as Python evaluates it, with the scopes around the current place on a stack.
    `used` is what is taken from the module; `seen` are all names with line, column and scope.
    """

    def __init__(self, lazy_annotations: bool = False) -> None:
        self.lazy_annotations = lazy_annotations
        self.scopes = [_Scope("module")]
        self.now, self.in_annotation = True, False
        self.used: list[Use] = []
        self.seen: list[tuple[str, int, int, _Scope]] = []

    def owner(self, name: str) -> _Scope:
        module, *inner = self.scopes
        for scope in reversed(inner):
            if name in scope.of_module:
                return module
            # Methods don't see the names of their class.
            if name in scope.bound and (scope.kind != "class" or scope is inner[-1]):
                return scope
        return module

    def use(self, name: str, line: int, column: int) -> None:
        if self.owner(name) is self.scopes[0]:
            self.used.append(Use(name, line, self.now, column))

    def see(self, name: str, line: int, column: int) -> None:
        if column >= 0:
            self.seen.append((name, line, column, self.owner(name)))

    def bind(self, name: str) -> None:
        # The body of a class runs from top to bottom: before `x = x` the name is the module's,
        # behind it the class's. A function knows all its names from the start.
        if self.scopes[-1].kind == "class":
            self.scopes[-1].bound.add(name)

    def each(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def later(self, *nodes: ast.AST) -> None:
        now, self.now = self.now, False
        self.each(nodes)
        self.now = now

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.use(node.id, node.lineno, node.col_offset)
        else:
            self.bind(node.id)
        self.see(node.id, node.lineno, node.col_offset)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.visit(node.value)
        classes = [scope for scope in self.scopes if scope.kind == "class"]
        match node.value:
            case ast.Name(id="self", col_offset=column) if classes and column >= 0:
                line, column = node.end_lineno or 0, node.end_col_offset or 0
                place = line, column - len(node.attr.encode())
                self.seen.append((f"self.{node.attr}", *place, classes[-1]))

    def visit_alias(self, node: ast.alias) -> None:
        self.bind(bound_by_import(node))
        name = node.asname or node.name
        if name.isidentifier():
            self.see(name, node.end_lineno or 0, (node.end_col_offset or 0) - len(name.encode()))

    def visit_Global(self, node: ast.Global) -> None:
        # What a scope does with the name after this, it does with the module's.
        self.used += [Use(name, node.lineno, self.now) for name in node.names]

    # Python evaluates the right side first.

    def visit_Assign(self, node: ast.Assign) -> None:
        self.each([node.value, *node.targets])

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.use(node.target.id, node.lineno, node.target.col_offset)
        self.each([node.value, node.target])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.annotation(node.annotation)
        self.each([node.value, node.target])

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.each([node.value, node.target])

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.each([node.iter, node.target, *node.body, *node.orelse])

    visit_AsyncFor = visit_For

    def visit_FunctionDef(self, node: Function) -> None:
        self.each([*node.decorator_list, *node.args.defaults, *node.args.kw_defaults])
        outside = len(self.scopes)
        self.type_parameters(node)
        arguments = _arguments(node.args)
        for argument in arguments:
            self.annotation(argument.annotation)
        self.annotation(node.returns)
        self.function(arguments, node.body)
        del self.scopes[outside:]
        keyword = "async def " if isinstance(node, ast.AsyncFunctionDef) else "def "
        self.defined(node, keyword)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.each([*node.args.defaults, *node.args.kw_defaults])
        self.function(_arguments(node.args), [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.each(node.decorator_list)
        outside = len(self.scopes)
        self.type_parameters(node)
        self.each([*node.bases, *node.keywords])
        self.scopes.append(_Scope("class"))
        self.each(node.body)
        del self.scopes[outside:]
        self.defined(node, "class ")

    def visit_TypeAlias(self, node: ast.AST) -> None:
        # `type Pair = tuple[Item, Item]`, since Python 3.12, is evaluated when it is asked for.
        outside = len(self.scopes)
        self.type_parameters(node)
        self.later(node.value)  # type: ignore[attr-defined]
        del self.scopes[outside:]
        self.visit(node.name)  # type: ignore[attr-defined]

    def visit_ListComp(self, node: Comprehension) -> None:
        # The first iterable is evaluated outside, which in a class makes a difference.
        self.visit(node.generators[0].iter)
        targets = [generator.target for generator in node.generators]
        self.scopes.append(_Scope("comprehension", set(bindings(targets))))
        for number, generator in enumerate(node.generators):
            self.each([generator.iter] if number else [])
            self.each([generator.target, *generator.ifs])
        self.each([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        self.scopes.pop()

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def defined(self, node: Function | ast.ClassDef, keyword: str) -> None:
        self.bind(node.name)
        self.see(node.name, node.lineno, node.col_offset + len(keyword))

    def function(self, arguments: list[ast.arg], body: list[ast.stmt] | list[ast.expr]) -> None:
        scope = _Scope("function", {argument.arg for argument in arguments} | set(bindings(body)))
        for node in _own(body):
            if isinstance(node, ast.Global | ast.Nonlocal):
                scope.bound -= set(node.names)
            if isinstance(node, ast.Global):
                scope.of_module |= set(node.names)
        self.scopes.append(scope)
        for argument in arguments:
            self.see(argument.arg, argument.lineno, argument.col_offset)
        self.later(*body)
        self.scopes.pop()

    def type_parameters(self, node: ast.AST) -> None:
        r"""
        `def first[T](items: list[T])`, since Python 3.12, has a scope for its `T`.
        """
        parameters = getattr(node, "type_params", [])
        if parameters:
            self.scopes.append(_Scope("function", {parameter.name for parameter in parameters}))
            self.later(*(child for each in parameters for child in ast.iter_child_nodes(each)))

    def annotation(self, node: ast.expr | None) -> None:
        if node is not None:
            before, self.in_annotation = self.in_annotation, True
            (self.later if self.lazy_annotations else self.visit)(node)
            self.in_annotation = before

    def visit_Constant(self, node: ast.Constant) -> None:
        if not self.in_annotation or not isinstance(node.value, str):
            return
        # A string in an annotation is an annotation.
        try:
            inside = ast.parse(node.value.strip(), mode="eval").body
        except SyntaxError:
            return
        for child in ast.walk(inside):
            if isinstance(child, ast.expr):
                child.lineno, child.col_offset = node.lineno, -1
        self.later(inside)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        # But `Literal["sum"]` has a string, and so may what follows the type in `Annotated`.
        self.visit(node.value)
        called = getattr(node.value, "id", "") or getattr(node.value, "attr", "")
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        types = {"Literal": 0, "Annotated": 1}.get(called, len(parts))
        before = self.in_annotation
        for number, part in enumerate(parts):
            self.in_annotation = before and number < types
            self.visit(part)
        self.in_annotation = before


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    r"""
    The arguments of a function; those with a star come last.
    """
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [*named, *(argument for argument in (arguments.vararg, arguments.kwarg) if argument)]

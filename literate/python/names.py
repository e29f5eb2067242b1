r"""
---
title: Names
summary: Which names a statement takes from its module, and when it takes them.
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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from literate.python.trees import Visitor, children, nodes

Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


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
    reader = _Reader(lazy_annotations)
    reader.visit(statement)
    return reader.found


def bindings(statements: Iterable[ast.AST]) -> Iterator[str]:
    r"""
    ## The names that statements bind in their own scope

    Not the names inside the functions and classes among them.
    """
    waiting = list(statements)
    while waiting:
        node = waiting.pop(0)
        yield from _bound_by(node)
        if isinstance(node, Comprehension):
            # Its own names stay inside, but `:=` binds in the scope around it.
            inner = (one.target for one in nodes(node) if isinstance(one, ast.NamedExpr))
            waiting[:0] = inner
        elif not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            waiting[:0] = children(node)


def _bound_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Import() | ast.ImportFrom():
            yield from (bound_by_import(alias) for alias in node.names)
        case ast.ExceptHandler(name=str(name)):
            yield name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name


def bound_by_import(alias: ast.alias) -> str:
    r"""
    ## The name that an import binds

    `import torch.nn` binds `torch`; with `as`, it is the name behind it.
    """
    return alias.asname or alias.name.partition(".")[0]


@dataclass
class _Scope:
    kind: Literal["function", "class", "comprehension"]
    bound: set[str]


class _Reader(Visitor):
    r"""
    Walks through a statement in the order in which Python evaluates it, with the scopes around the
    current place on a stack. The module itself is no scope on it: what is found in none of them is
    the module's.
    """

    def __init__(self, lazy_annotations: bool) -> None:
        self.lazy_annotations = lazy_annotations
        self.scopes: list[_Scope] = []
        self.now = True
        self.found: list[Use] = []

    def use(self, name: str, line: int, column: int) -> None:
        innermost = len(self.scopes) - 1
        for depth in range(innermost, -1, -1):
            scope = self.scopes[depth]
            # Methods don't see the names of their class.
            if name in scope.bound and (scope.kind != "class" or depth == innermost):
                return
        self.found.append(Use(name, line, self.now, column))

    def bind(self, *names: str) -> None:
        # The body of a class runs from top to bottom: before `x = x` the name is the module's,
        # behind it the class's. A function knows all its names from the start.
        if self.scopes and self.scopes[-1].kind == "class":
            self.scopes[-1].bound.update(names)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.use(node.id, node.lineno, node.col_offset)
        else:
            self.bind(node.id)

    def visit_Global(self, node: ast.Global) -> None:
        # What a scope does with the name after this, it does with the module's.
        self.found += [Use(name, node.lineno, self.now) for name in node.names]

    # Python evaluates the right side first.

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        self.each(node.targets)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.use(node.target.id, node.lineno, node.target.col_offset)
        self.visit(node.value)
        self.visit(node.target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.annotation(node.annotation)
        if node.value is not None:
            self.visit(node.value)
        self.visit(node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.visit(node.target)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        self.visit(node.target)
        self.each([*node.body, *node.orelse])

    visit_AsyncFor = visit_For

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        self.bind(*bindings([node]))

    visit_ImportFrom = visit_Import

    def visit_FunctionDef(self, node: Function) -> None:
        self.each(node.decorator_list)
        self.defaults(node.args)
        with_parameters = self.type_parameters(node)
        arguments = arguments_of(node.args)
        for argument in arguments:
            self.annotation(argument.annotation)
        self.annotation(node.returns)
        self.function(arguments, node.body)
        self.scopes = self.scopes[: len(self.scopes) - with_parameters]
        self.bind(node.name)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.defaults(node.args)
        self.function(arguments_of(node.args), [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.each(node.decorator_list)
        with_parameters = self.type_parameters(node)
        self.each([*node.bases, *node.keywords])
        self.scopes.append(_Scope("class", set()))
        self.each(node.body)
        self.scopes = self.scopes[: len(self.scopes) - 1 - with_parameters]
        self.bind(node.name)

    def visit_TypeAlias(self, node: ast.AST) -> None:
        # `type Pair = tuple[Item, Item]`, since Python 3.12, is evaluated when it is asked for.
        with_parameters = self.type_parameters(node)
        self.later(node.value)  # type: ignore[attr-defined]
        self.scopes = self.scopes[: len(self.scopes) - with_parameters]
        self.visit(node.name)  # type: ignore[attr-defined]

    def visit_ListComp(self, node: Comprehension) -> None:
        # The first iterable is evaluated outside, which in a class makes a difference.
        first, *others = node.generators
        self.visit(first.iter)
        targets = [generator.target for generator in node.generators]
        self.scopes.append(_Scope("comprehension", set(bindings(targets))))
        self.each(first.ifs)
        for generator in others:
            self.each([generator.iter, *generator.ifs])
        self.each([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        self.scopes.pop()

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def each(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def later(self, node: ast.AST) -> None:
        now, self.now = self.now, False
        self.visit(node)
        self.now = now

    def defaults(self, arguments: ast.arguments) -> None:
        self.each([*arguments.defaults, *(one for one in arguments.kw_defaults if one)])

    def function(self, arguments: list[ast.arg], body: list[ast.stmt] | list[ast.expr]) -> None:
        bound = {one.arg for one in arguments} | set(bindings(body))
        outer, self.now = self.now, False
        self.scopes.append(_Scope("function", bound))
        self.each(body)
        self.scopes.pop()
        self.now = outer

    def type_parameters(self, node: ast.AST) -> int:
        r"""
        `def first[T](items: list[T])`, since Python 3.12, has a scope for its `T`. Returns the
        number of scopes that were opened.
        """
        parameters = getattr(node, "type_params", [])
        if not parameters:
            return 0
        self.scopes.append(_Scope("function", {one.name for one in parameters}))
        for parameter in parameters:
            for inside in children(parameter):
                self.later(inside)
        return 1

    def annotation(self, node: ast.expr | None) -> None:
        r"""
        A string in an annotation is an annotation, but in `Literal["sum"]` it is a string.
        """
        match node:
            case None:
                return
            case ast.Constant(value=str(text)):
                self.string_annotation(text, node.lineno)
            case ast.Subscript(value=ast.Name(id="Literal") | ast.Attribute(attr="Literal")):
                self.plain_annotation(node.value)
            case ast.Subscript(
                value=ast.Name(id="Annotated") | ast.Attribute(attr="Annotated"),
                slice=ast.Tuple(elts=[first, *metadata]),
            ):
                self.plain_annotation(node.value)
                self.annotation(first)
                for one in metadata:
                    self.plain_annotation(one)
            case ast.Subscript(value=value, slice=inner):
                self.plain_annotation(value)
                self.annotation(inner)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for element in elements:
                    self.annotation(element)
            case ast.BinOp(left=left, right=right):
                self.annotation(left)
                self.annotation(right)
            case _:
                self.plain_annotation(node)

    def plain_annotation(self, node: ast.expr) -> None:
        if self.lazy_annotations:
            self.later(node)
        else:
            self.visit(node)

    def string_annotation(self, text: str, line: int) -> None:
        try:
            inside = ast.parse(text.strip(), mode="eval").body
        except SyntaxError:
            return
        for node in nodes(inside):
            if isinstance(node, ast.expr):
                node.lineno, node.col_offset = line, -1
        now, self.now = self.now, False
        self.annotation(inside)
        self.now = now


def arguments_of(arguments: ast.arguments) -> list[ast.arg]:
    r"""
    ## The arguments of a function

    Those with a star come last.
    """
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [*named, *(one for one in (arguments.vararg, arguments.kwarg) if one)]

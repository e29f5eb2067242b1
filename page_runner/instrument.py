r"""
---
title: Instrumented code
summary: A module is compiled so that every tensor it binds or returns is handed to a recorder.
---

How does one see the tensors on each line of a module? A trace function is told when a line
*starts*, and has to guess what the lines before it did: a `for` is visited once more after its
last pass, a `with` when it ends, and a walrus that was skipped leaves an old value behind.

So nothing is guessed here. The module is compiled with one more statement after each one that
binds a name, and with the same call around each value that is returned:

```python
x = self.norm(x)
__literate__(57, None, "x", x)
return __literate__(58, "Encoder.forward", "return", x)
```

A statement that raises an exception doesn't record what it would have bound, and all lines keep
their numbers. What a loop goes through is handed over as well, so that the recorder knows [which
pass](calls.py) a line is in.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any, Literal

# The name by which the code calls the recorder. Python doesn't mangle it inside a class.
HOOK = "__literate__"


def instrument(text: str, filename: str) -> CodeType:
    r"""
    ## Compile a module with its calls

    The code expects a global `__literate__` that is called with a line, a qualified name or None,
    the name of a value and the value, and that returns the value. Its method `axis` is called with
    the names and values that `example` assigns.

    Its method `enter` is called with the qualified name of each function that begins, and `passes`
    with the name of what a loop binds and with what it goes through, in whose place it stands.

    * The line is the first one of the statement, and for an argument its own
    * The qualified name tells what the value is part of: for an argument or a result the function,
      for something set on `self` or in the body of a class the class, else None
    """
    tree = Instrument().visit(ast.parse(text, filename))
    return compile(ast.fix_missing_locations(tree), filename, "exec", dont_inherit=True)


@dataclass(frozen=True)
class Scope:
    r"""
    ## A class or function around the code

    `name` is the qualified name; that of the module is empty.
    """

    kind: Literal["module", "class", "function"]
    name: str
    outer: "Scope | None" = None

    def owner_of(self, name: str) -> str | None:
        r"""
        ### The class that a bound name belongs to

        What a class binds in its body belongs to it, and what its methods set on `self`.
        """
        around = self.outer if name.startswith("self.") and self.kind == "function" else self
        return around.name if around and around.kind == "class" else None


class Instrument(ast.NodeTransformer):
    r"""
    ## Add the calls to a tree

    Lambdas are left alone, and of a comprehension all but its loops.
    """

    def __init__(self) -> None:
        self.scope = Scope("module", "")
        self.line = 0

    def visit(self, node: ast.AST) -> Any:
        r"""
        ### Any node

        While the parts of a statement are visited, `line` is the line on which it starts.
        """
        outer = self.line
        self.line = node.lineno if isinstance(node, ast.stmt) else outer
        changed = super().visit(node)
        self.line = outer
        return changed

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        r"""
        ### Functions without a name
        """
        return node

    def visit_ListComp(self, node: Any) -> Any:
        r"""
        ### Expressions with loops inside
        """
        for one in node.generators:
            if not one.is_async:
                one.iter = self._passes(one.target, one.iter)
        return node

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        r"""
        ### Classes
        """
        self._visit_body(node, "class")
        return node

    def visit_FunctionDef(self, node: Any) -> Any:
        r"""
        ### Functions have arguments

        They are recorded first of all, but below the docstring, which has to stay one.
        """
        inside = self._visit_body(node, "function")
        every = node.args
        names = [*every.posonlyargs, *every.args, every.vararg, *every.kwonlyargs, every.kwarg]
        calls = []
        for one in filter(None, names):
            call = self._call(one.arg, _read(one.arg), inside.name)
            call.args[0] = ast.Constant(one.lineno)
            calls.append(call)
        calls.insert(0, self._told("enter", ast.Constant(inside.name)))
        start = 1 if _is_docstring(node.body[0]) else 0
        node.body[start:start] = [self._statement(call) for call in calls]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Return(self, node: Any) -> Any:
        r"""
        ### Functions have a result, and generators have many
        """
        self.generic_visit(node)
        if node.value is not None:
            node.value = self._call(type(node).__name__.lower(), node.value, self.scope.name)
        return node

    visit_Yield = visit_Return

    def visit_Assign(self, node: Any) -> list[ast.stmt]:
        r"""
        ### Assignments bind

        An annotation without a value does not.
        """
        self.generic_visit(node)
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [node, *self._assigned(*targets)] if node.value else [node]

    visit_AugAssign = visit_AnnAssign = visit_Assign

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        r"""
        ### So do those inside an expression
        """
        self.generic_visit(node)
        return self._call(node.target.id, node)

    def visit_For(self, node: ast.For) -> ast.For:
        r"""
        ### A loop binds before each pass
        """
        self.visit_AsyncFor(node)
        node.iter = self._passes(node.target, node.iter)
        return node

    def visit_AsyncFor(self, node: Any) -> Any:
        r"""
        ### So does one that waits
        """
        self.generic_visit(node)
        node.body[:0] = self._bound(node.target)
        return node

    def visit_With(self, node: Any) -> Any:
        r"""
        ### A `with` binds before its body
        """
        self.generic_visit(node)
        node.body[:0] = self._bound(*[one.optional_vars for one in node.items if one.optional_vars])
        return node

    visit_AsyncWith = visit_With

    def visit_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        r"""
        ### A module is handed a buffer

        `self.register_buffer("positions", …)` binds `self.positions`.
        """
        self.generic_visit(node)
        match node.value:
            case ast.Call(
                func=ast.Attribute(value=module, attr="register_buffer" | "register_parameter"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                return [node, *self._bound(ast.Attribute(module, name, ast.Store()))]
        return [node]

    def _visit_body(self, node: Any, kind: Literal["class", "function"]) -> Scope:
        r"""
        Decorators, defaults and base classes are left alone.
        """
        outer = self.scope
        self.scope = inside = Scope(kind, f"{outer.name}.{node.name}".lstrip("."), outer)
        # The visitor changes the list of statements in its place.
        self.generic_visit(ast.Module(node.body, []))
        self.scope = outer
        return inside

    def _assigned(self, *targets: ast.expr) -> list[ast.stmt]:
        r"""
        What `example` computes from its parameters, such as `d_model`, may name an axis. A loop
        variable may not, nor may a name that is not meant to be read.
        """
        bound = self._bound(*targets)
        if self.scope.name != "example":
            return bound
        names = [name for target in targets for name, _ in _places(target)]
        return bound + [
            self._statement(self._told("axis", ast.Constant(name), _read(name)))
            for name in names
            if name.isidentifier() and not name.startswith("_")
        ]

    def _bound(self, *targets: ast.expr) -> list[ast.stmt]:
        return [
            self._statement(self._call(name, value, self.scope.owner_of(name)))
            for target in targets
            for name, value in _places(target)
        ]

    def _call(self, name: str, value: ast.expr, owner: str | None = None) -> ast.Call:
        told = [ast.Constant(self.line), ast.Constant(owner), ast.Constant(name)]
        return ast.Call(_read(HOOK), [*told, value], [])

    def _passes(self, target: ast.expr, things: ast.expr) -> ast.expr:
        names = [name for name, _ in _places(target)]
        call = self._told("passes", ast.Constant(names[0] if names else "_"), things)
        return ast.copy_location(call, things)

    def _told(self, method: str, *arguments: ast.expr) -> ast.Call:
        return ast.Call(ast.Attribute(_read(HOOK), method, ast.Load()), [*arguments], [])

    def _statement(self, call: ast.Call) -> ast.stmt:
        line = self.line
        return ast.Expr(call, lineno=line, col_offset=0, end_lineno=line, end_col_offset=0)


def _read(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)


def _places(target: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    r"""
    The names and dotted names in a target, each with the expression that reads it. An element,
    `x[0]`, has no name of its own.
    """
    match target:
        case ast.Name(id=name):
            yield name, _read(name)
        case ast.Attribute(value=owner, attr=attribute):
            for name, value in _places(owner):
                yield f"{name}.{attribute}", ast.Attribute(value, attribute, ast.Load())
        case ast.Starred(value=inner):
            yield from _places(inner)
        case ast.Tuple(elts=several) | ast.List(elts=several):
            for one in several:
                yield from _places(one)

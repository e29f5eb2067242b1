r"""
---
title: Shapes
summary: What a statement does, without how it is written down.
---

Two statements have one *shape* if they differ in nothing that a run could tell: in comments,
formatting, docstrings, annotations that nobody reads, the names of local variables, and the order
of methods. A hash of the shape says whether a measured definition is still what it was.

Names of parameters stay: callers may write them. So do those of nested functions, which errors and
labels show, and all names of a definition that looks at its own names, as `locals()` does.
"""

import ast
from collections.abc import Iterable
from typing import Any

from literate.python.scopes import Comprehension, Function, bindings, bound_by_import

# What makes a local name visible.
LOOKS_AT_NAMES = frozenset({"locals", "vars", "dir", "eval", "exec", "f_locals", "co_varnames"})
# Decorators that do nothing but wrap, and read no annotation.
PLAIN_DECORATORS = frozenset(
    "abstractmethod cache cached_property classmethod contextmanager dataclass inference_mode "
    "lru_cache no_grad override overload property setter staticmethod total_ordering".split()
)
# In the place of a name: no identifier begins so.
LOCAL = "§"

Scope = dict[str, str]


def last_name(node: ast.expr) -> str:
    r"""
    ## The last part of what is called

    `no_grad` of `@torch.no_grad()`.
    """
    node = node.func if isinstance(node, ast.Call) else node
    return getattr(node, "attr", "") or getattr(node, "id", "")


def is_plain(node: Function | ast.ClassDef) -> bool:
    r"""
    ## Whether all decorators are known to do nothing when the module runs
    """
    return all(last_name(one) in PLAIN_DECORATORS for one in node.decorator_list)


def is_text(node: Any) -> bool:
    r"""
    ## Whether it is a docstring, or a text that stands alone
    """
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str)


class _Bare(ast.NodeTransformer):
    r"""Takes away what no run reads: texts, and annotations outside of the bodies of classes."""

    def __init__(self, annotations: bool, texts: bool) -> None:
        self.annotations, self.texts = annotations, texts
        self.in_class = False

    def visit_FunctionDef(self, node: Any) -> Any:
        before, self.in_class = self.in_class, False
        if is_plain(node) and not self.annotations:
            node.returns = None
            for one in ast.walk(node.args):
                if isinstance(one, ast.arg):
                    one.annotation = None
        self.generic_visit(node)
        self.in_class = before
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        before, self.in_class = self.in_class, True
        self.generic_visit(node)
        self.in_class = before
        node.body = _sorted(node.body)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        self.generic_visit(node)
        # In a class, a dataclass reads it.
        if self.in_class or self.annotations:
            return node
        if node.value is None:
            return None
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        return None if is_text(node) and not self.texts else self.generic_visit(node)


def bare(statement: ast.stmt, annotations: bool = False, texts: bool = False) -> ast.stmt:
    r"""
    ## A copy without texts, and without annotations that nobody reads

    Unless somebody reads them: then `annotations` or `texts` stay.
    """
    (copy,) = ast.parse(ast.unparse(ast.Module([statement], []))).body
    return _Bare(annotations, texts).visit(copy)


def _sorted(body: list[ast.stmt]) -> list[ast.stmt]:
    r"""
    Methods by their names, behind all else of the class, if none of it needs another order.
    """
    methods = [one for one in body if isinstance(one, Function)]
    others = [one for one in body if not isinstance(one, Function)]
    names = {one.name for one in methods}
    bound = names | set(bindings(others))
    now: list[ast.AST] = list(others)
    for one in methods:
        # What is evaluated when the class is made.
        now += [*one.decorator_list, *one.args.defaults, *filter(None, one.args.kw_defaults)]
    nodes = [node for part in now for node in ast.walk(part) if isinstance(node, ast.Name)]
    read = {node.id for node in nodes if isinstance(node.ctx, ast.Load)}
    twice = len(names) < len(methods) or names & set(bindings(others))
    if twice or read & bound or not all(is_plain(one) for one in methods):
        return body
    return [*others, *sorted(methods, key=lambda one: one.name)]


def shape(statement: ast.stmt, names_matter: bool = False) -> Any:
    r"""
    ## The shape of a bare statement

    Nested tuples. With `names_matter`, local variables keep their names.
    """
    looked_at = any(
        getattr(node, "id", getattr(node, "attr", "")) in LOOKS_AT_NAMES
        for node in ast.walk(statement)
    )
    return _Shape(names_matter or looked_at).of(statement)


class _Shape:
    r"""Numbers the local variables of a definition in the order in which they come."""

    def __init__(self, names_matter: bool) -> None:
        self.names_matter = names_matter
        self.scopes: list[tuple[bool, Scope]] = []
        self.count = 0

    def name(self, name: str | None) -> str | None:
        for at, (is_class, scope) in enumerate(reversed(self.scopes)):
            # Methods don't see the names of their class.
            if name in scope and (not is_class or at == 0):
                if scope[name] == LOCAL:
                    self.count += 1
                    scope[name] = f"{LOCAL}{self.count}"
                return scope[name]
        return name

    def inside(self, nodes: Any, scope: Scope, is_class: bool = False) -> Any:
        self.scopes.append((is_class, scope))
        found = self.of(nodes)
        self.scopes.pop()
        return found

    def of_function(self, node: Any, body: list[Any]) -> Any:
        arguments = [one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)]
        scope = {} if self.names_matter else dict.fromkeys(bindings(body), LOCAL)
        own = list(_own(body))
        for one in own:
            if isinstance(one, Function | ast.ClassDef):
                scope[one.name] = one.name
            if isinstance(one, ast.Nonlocal):
                for name in one.names:
                    scope.pop(name, None)
        for one in own:
            if isinstance(one, ast.Global):
                scope |= {name: name for name in one.names}
        return self.inside(body, scope | {name: name for name in arguments})

    def of(self, node: Any) -> Any:
        r"""Of a node, of a list of them, or of what stands in their fields."""
        if isinstance(node, list):
            return tuple(self.of(one) for one in node)
        if not isinstance(node, ast.AST):
            return node if not isinstance(node, float | complex | bytes) else repr(node)
        kind = type(node).__name__
        match node:
            case ast.Name():
                return kind, self.name(node.id), type(node.ctx).__name__
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                body = [node.body] if isinstance(node, ast.Lambda) else node.body
                outside = [getattr(node, "decorator_list", []), getattr(node, "returns", None)]
                seen = (self.of(node.args), *map(self.of, outside))
                return kind, getattr(node, "name", ""), *seen, self.of_function(node, body)
            case ast.ClassDef():
                outside = self.of([*node.bases, *node.keywords, *node.decorator_list])
                scope = {name: name for name in bindings(node.body)}
                return kind, node.name, outside, self.inside(node.body, scope, True)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return kind, *self.of_comprehension(node)
            case ast.alias():
                bound = bound_by_import(node)
                return kind, node.name, self.name(bound), bool(node.asname and "." in node.name)
            case ast.Nonlocal():
                return kind, *map(self.name, node.names)
            case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar() | ast.MatchMapping():
                named = self.name(getattr(node, "name", None) or getattr(node, "rest", None))
                return kind, named, *self.fields(node, ("name", "rest"))
            case ast.Constant():
                return kind, type(node.value).__name__, repr(node.value)
        return kind, *self.fields(node)

    def fields(self, node: ast.AST, without: Iterable[str] = ()) -> list[Any]:
        r"""Those that say something: newer Pythons have more that are empty."""
        found = [(name, self.of(value)) for name, value in ast.iter_fields(node)]
        return [
            (name, value)
            for name, value in found
            if value not in (None, ()) and name not in (*without, "ctx", "type_comment", "kind")
        ]

    def of_comprehension(self, node: Comprehension) -> list[Any]:
        # The first iterable is evaluated outside.
        first = self.of(node.generators[0].iter)
        targets = [one.target for one in node.generators]
        scope = {} if self.names_matter else dict.fromkeys(bindings(targets), LOCAL)
        parts: list[Any] = []
        for number, one in enumerate(node.generators):
            parts += [one.iter] if number else []
            parts += [one.target, *one.ifs, "if" if one.ifs else "", str(one.is_async)]
        values = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        return [first, self.inside([*parts, *values], scope)]


def _own(nodes: Iterable[ast.AST]) -> Iterable[ast.AST]:
    r"""All nodes of a scope, without those of the functions and classes in it."""
    for node in nodes:
        yield node
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            yield from _own(ast.iter_child_nodes(node))

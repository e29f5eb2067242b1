r"""
---
title: Pieces
summary: A module becomes the imports and the definitions that can be copied out of it.
---

A *piece* is what stands or moves together: a top-level statement that binds names, with the comment
above it. Classes and functions are pieces, so are constants and aliases of types, and so is a
whole `if` or `try` that defines something one way or another.

A copy of some pieces does what the module does only if nothing else happens at the module's top
level. What else happens is a problem for everybody who wants a piece of the module.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from literate.problems import Problem
from literate.python.scopes import (
    Function,
    Use,
    bindings,
    bound_by_import,
    imports_in,
    origin_of,
    uses,
)
from literate.reading.import_folders import module_name
from literate.reading.source import Source


@dataclass(frozen=True, order=True)
class Import:
    r"""
    ## One imported name

    `from torch import nn as layers` has the module `torch`, the name `nn` and the alias `layers`;
    in `import torch.nn` the name is empty. `typing_only` tells that it stands below
    `if TYPE_CHECKING:`.
    """

    module: str
    name: str
    alias: str
    typing_only: bool = False
    line: int = field(default=0, compare=False)

    @property
    def binds(self) -> str:
        r"""
        ### The name that it binds
        """
        return self.alias or self.name or self.module.partition(".")[0]

    @property
    def means(self) -> str:
        r"""
        ### What the name stands for

        The same for `import torch.nn as nn` and `from torch import nn`.
        """
        if self.name:
            return f"{self.module}.{self.name}"
        return self.module if self.alias else self.binds


@dataclass(frozen=True)
class Piece:
    r"""
    ## What is copied as one

    * `module` and `line` are where it stands
    * `names` are the names that it binds
    * `note` is the comment above it, `text` the statement itself, decorators and all
    * `renames` is the name that it gives another name to, for `from module import name as other`
    * `statements` are its syntax trees, and `uses` the names that they take from the module
    """

    module: str
    line: int
    names: tuple[str, ...]
    note: str
    text: str
    renames: str = ""
    statements: tuple[ast.stmt, ...] = field(default=(), repr=False, compare=False)
    uses: tuple[Use, ...] = field(default=(), repr=False, compare=False)

    @property
    def definition(self) -> Function | ast.ClassDef | None:
        r"""
        ### The class or function that it is, if it is one
        """
        first = self.statements[0]
        return first if isinstance(first, Function | ast.ClassDef) else None


@dataclass(frozen=True)
class Module:
    r"""
    ## A module taken apart

    * `name` is its full name, `labml_nn.transformers.mha`
    * `imports` and `defined` are what the names of the module stand for
    * `uses` are all names that its statements take from it
    * `lazy_annotations` tells that it has `from __future__ import annotations`
    * `problems` are what a copy of its pieces would miss
    """

    name: str
    source: Source
    pieces: tuple[Piece, ...]
    imports: Mapping[str, tuple[Import, ...]]
    uses: tuple[Use, ...]
    lazy_annotations: bool
    problems: tuple[Problem, ...]

    @cached_property
    def defined(self) -> Mapping[str, tuple[Piece, ...]]:
        r"""
        ### The pieces by the names that they bind

        A name can have several: the overloads of a function, or a constant and what is added to it.
        """
        by_name: dict[str, tuple[Piece, ...]] = {}
        for piece in self.pieces:
            for name in piece.names:
                by_name[name] = (*by_name.get(name, ()), piece)
        return by_name


class Modules(dict[str, Source]):
    r"""
    ## Sources by the names of their modules

    They stay the same as long as there are `Modules`. So what follows from all of them is kept, in
    `known`.
    """

    known: Any = None


def by_module(sources: Iterable[Source]) -> Modules:
    r"""
    ## Find the names of the modules
    """
    return Modules({source.module: source for source in sources})


def module_at(path: str, modules: Mapping[str, Source]) -> str | None:
    r"""
    ## The name of the module that has a path

    `modules` are sources by their names. Of these only the ones are looked into that the path may
    be: `src/part.py` is “src.part” or “part”.
    """
    parts = path.split("/")
    names = (module_name("/".join(parts[start:])) for start in range(len(parts)))
    return next((name for name in names if name in modules and modules[name].path == path), None)


def package_of(source: Source) -> str:
    r"""
    ## The package that a file lies in, or is
    """
    name = source.module
    return name if source.path.endswith("__init__.py") else name.rpartition(".")[0]


def take_apart(source: Source) -> Module:
    r"""
    ## Take a module apart
    """
    name = source.module
    imports: dict[str, tuple[Import, ...]] = {}
    problems: list[Problem] = []
    pieces: list[Piece] = []
    taken: list[Use] = []
    lazy_annotations = False
    for together in _statements(source.tree):
        alone = together[0] if len(together) == 1 else None
        if isinstance(alone, ast.ImportFrom) and alone.module == "__future__":
            lazy_annotations |= any(alias.name == "annotations" for alias in alone.names)
            continue
        own = [use for each in together for use in uses(each, lazy_annotations)]
        taken += own
        imported = None if alone is None else list(_imports(alone, source))
        if imported:
            for each in imported:
                imports[each.binds] = (*imports.get(each.binds, ()), each)
                if each.name == "*":
                    sentence = (
                        f"imports every name of {each.module}, so nobody can tell which are "
                        "needed; import them by name."
                    )
                    problems.append(Problem(source.path, each.line, sentence))
            continue
        if is_main_guard(alone):
            continue
        for effect in _effects(together):
            sentence = (
                "does something when the module is imported, which a copy of its definitions "
                "would not do; move it into a function."
            )
            problems.append(Problem(source.path, effect.lineno, sentence))
        if any(True for _ in bindings(together)):
            pieces.append(_piece(name, source, together, own))
    kept = tuple(pieces), imports, tuple(taken)
    return Module(name, source, *kept, lazy_annotations, tuple(problems))


def _statements(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    r"""
    Statements that share a line, as in `a = 1; b = 2`, can't be copied one by one.
    """
    together: list[ast.stmt] = []
    for statement in tree.body:
        if together and first_line(statement) > _last_line(together[-1]):
            yield together
            together = []
        together.append(statement)
    if together:
        yield together


def first_line(statement: ast.stmt) -> int:
    r"""
    ## The first line of a statement

    That of its first decorator, if it has one.
    """
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _last_line(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _imports(statement: ast.stmt, source: Source) -> Iterator[Import]:
    r"""
    The imports of a statement that does nothing else: an import, or `if TYPE_CHECKING:` above
    imports. Names that are imported in one of several branches belong to a piece.
    """
    if isinstance(statement, ast.If) and _is_type_checking(statement.test):
        inside = [list(_imports(inner, source)) for inner in statement.body]
        if all(inside) and not statement.orelse:
            for imported in (name for names in inside for name in names):
                yield Import(imported.module, imported.name, imported.alias, True, imported.line)
    elif isinstance(statement, ast.Import):
        for alias in statement.names:
            yield Import(alias.name, "", alias.asname or "", line=statement.lineno)
    elif isinstance(statement, ast.ImportFrom):
        place = origin_of(statement, package_of(source))
        for alias in statement.names:
            bound = bound_by_import(alias)
            given = bound if bound != alias.name else ""
            yield Import(place, alias.name, given, line=statement.lineno)


def imported_in_branches(source: Source) -> Mapping[str, str]:
    r"""
    ## The full names of what is imported in some branch

    By the names of the module. Each stands for one thing, wherever it is bound at all.
    """
    count = Counter(bindings(source.tree.body))
    found: dict[str, list[str]] = {}
    for node in imports_in(source.tree.body):
        for one in _imports(node, source):
            found.setdefault(one.binds, []).append(one.means)
    return {
        name: means[0]
        for name, means in found.items()
        if len(set(means)) == 1 and len(means) == count[name]
    }


def _is_type_checking(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", ""))


def is_main_guard(statement: ast.stmt | None) -> bool:
    r"""
    ## Is it `if __name__ == "__main__":`?
    """
    match statement:
        case ast.If(
            test=ast.Compare(
                left=ast.Name(id="__name__"),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value="__main__")],
            ),
            orelse=[],
        ):
            return True
    return False


def _effects(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    r"""
    Statements that do more than bind names. A string that stands alone is a note.
    """
    for statement in statements:
        match statement:
            case ast.If() | ast.Try() | ast.TryStar() if any(True for _ in bindings([statement])):
                # An error that one branch raises is copied with the others.
                inside = _effects(_branches(statement))
                yield from (branch for branch in inside if not isinstance(branch, ast.Raise))
            case ast.Assign(targets=targets):
                if not all(_is_plain_target(target) for target in targets):
                    yield statement
            case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
                if not _is_plain_target(target):
                    yield statement
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                pass
            case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case _:
                if type(statement).__name__ != "TypeAlias":
                    yield statement


def _branches(statement: ast.If | ast.Try | ast.TryStar) -> list[ast.stmt]:
    if isinstance(statement, ast.If):
        return [*statement.body, *statement.orelse]
    handled = [inner for handler in statement.handlers for inner in handler.body]
    return [*statement.body, *handled, *statement.orelse, *statement.finalbody]


def _is_plain_target(target: ast.expr) -> bool:
    return not any(isinstance(node, ast.Attribute | ast.Subscript) for node in ast.walk(target))


def _piece(module: str, source: Source, statements: list[ast.stmt], own: list[Use]) -> Piece:
    lines = source.lines
    first = first_line(statements[0])
    last = _last_line(statements[-1])
    # A comment that is indented like the body belongs to it, also behind its last statement.
    after = last
    while after < len(lines) and lines[after].kind in ("comment", "blank"):
        if lines[after].kind == "comment":
            if not lines[after].text.startswith((" ", "\t")):
                break
            last = after + 1
        after += 1
    before = first - 1
    while before and lines[before - 1].kind in ("comment", "blank"):
        if lines[before - 1].text.startswith((" ", "\t")) and lines[before - 1].text.strip():
            break
        before -= 1
    note = "".join(_ended(line.text) for line in lines[before : first - 1]).strip("\n")
    text = "".join(_ended(line.text) for line in lines[first - 1 : last])
    names = tuple(dict.fromkeys(bindings(statements)))
    kept = tuple(statements), tuple(own)
    return Piece(module, first, names, note, text, "", *kept)


def _ended(text: str) -> str:
    return text.rstrip("\r\n") + "\n"


def third_party(modules: Iterable[str]) -> list[str]:
    r"""
    ## The packages among modules that are not Python's own
    """
    packages = {module.partition(".")[0] for module in modules}
    return sorted(packages - sys.stdlib_module_names)

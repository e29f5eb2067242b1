r"""
---
title: Closure
summary: What a definition needs, from everywhere in its package, in an order that runs.
---

A copy of `MultiHeadAttention` in a file of your own also needs what it calls, what that
calls, and the imports of all of them. This page follows the [names](scopes.py) from
[piece](statements.py) to piece, through the imports of the package, until nothing is missing.

The copy has to mean what the original means. Where one file can't mean the same, because two
modules give one name to different things or a module is imported by a computed name, that is an
error. What only a run could tell, such as `globals()["name"]` or a subclass that registers itself,
is not found.
"""

import ast
import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from literate.problems import LiterateError, Problem
from literate.python.order import Found, Needs, in_order
from literate.python.scopes import Use, origin_of
from literate.python.seen import Watched
from literate.python.statements import Import, Module, Modules, Piece, package_of, take_apart
from literate.reading.source import Source

# What these say depends on the file that asks.
OF_THE_FILE = frozenset(
    {"__doc__", "__file__", "__loader__", "__package__", "__path__", "__spec__"}
)

# A module, and a name of it.
Wanted = tuple[str, str]
AS_IT_IS: Mapping[Wanted, Wanted] = {}


@dataclass(frozen=True)
class Closure:
    r"""
    ## Everything that is needed

    * `pieces` are in an order in which they can run: modules after those they import, and inside a
      module the order of the file
    * `imports` are what the pieces need from outside the package, sorted, each once
    * `lazy_annotations` tells that one of the modules has `from __future__ import annotations`
    * `outside` are all modules from outside that the pieces import, also inside functions
    * `reads` are the names that the pieces take from anywhere but themselves: from each other, from
      imports and from what is built in
    """

    pieces: tuple[Piece, ...]
    imports: tuple[Import, ...]
    lazy_annotations: bool
    outside: frozenset[str]
    reads: frozenset[str]


def closure(
    sources: Mapping[str, Source],
    module: str,
    names: Iterable[str],
    also: Iterable[Wanted] = (),
    instead: Mapping[Wanted, Wanted] = AS_IT_IS,
) -> Closure:
    r"""
    ## The closure of definitions

    * `sources` are all modules of the package, in reading order
    * `names` are the top-level names of the `module` that are wanted
    * `also` are wanted names of other modules
    * `instead` gives names another meaning: in the copy, one stands for the other

    Raises a [LiterateError](../problems.py#LiterateError) for a name that is not there, and for
    whatever a copy in one file can't do.
    """
    package = _package(sources, instead)
    if module not in sources:
        raise LiterateError([Problem(module, 1, "is not a module of the package.")])
    own = [piece for name in names for piece in package.pieces(module, name)]
    others = [piece for where, name in also for piece in package.pieces(where, name)]
    needs = package.follow([*own, *others])
    _check_names(package, needs)
    pieces = in_order(needs, list(sources), module, package.module)
    imports = _merged(
        meaning for piece in pieces for _, meanings in needs[piece] for meaning in meanings
    )
    inside = {module_name for piece in needs for module_name in package.outside.get(piece, ())}
    return Closure(
        pieces=tuple(pieces),
        imports=tuple(imports),
        lazy_annotations=any(package.module(piece.module).lazy_annotations for piece in pieces),
        outside=frozenset(inside | {statement.module for statement in imports}),
        reads=frozenset(use.name for piece in pieces for use, _ in needs[piece]),
    )


def _package(sources: Mapping[str, Source], instead: Mapping[Wanted, Wanted]) -> "_Package":
    if instead or not isinstance(sources, Modules | Watched):
        return _Package(sources, instead)
    sources.known = sources.known or _Package(sources, instead)
    return sources.known


def _unknown(package: "_Package", module: str, name: str) -> LiterateError:
    known = list(package.module(module).defined)
    whole = name.partition(".")[0]
    if whole in known:
        sentence = f"`{name}` can't be taken out of `{whole}`; take the whole `{whole}`."
    else:
        near = [f"`{other}`" for other in difflib.get_close_matches(name, known, cutoff=0.5)]
        hint = f"; near it are {', '.join(near)}." if near else "."
        sentence = f"defines no `{name}`{hint}"
    return package.error(module, 1, sentence)


class _Package:
    r"""
    The modules of a package. What a piece needs, it needs for all who ask.
    """

    def __init__(self, sources: Mapping[str, Source], instead: Mapping[Wanted, Wanted]) -> None:
        self.sources = sources
        self.instead = instead
        self.tops = {name.partition(".")[0] for name in sources}
        self.needs: dict[Piece, list[tuple[Use, list[Found]]]] = {}
        self.outside: dict[Piece, set[str]] = {}

    def module(self, name: str) -> Module:
        return self.sources[name].once(take_apart)

    def owns(self, module: str) -> bool:
        return module.partition(".")[0] in self.tops

    def pieces(self, module: str, name: str) -> list[Piece]:
        pieces = [
            meaning for meaning in self.resolve(module, name, 1) if isinstance(meaning, Piece)
        ]
        if not pieces:
            raise _unknown(self, module, name)
        return pieces

    def error(self, module: str, line: int, sentence: str) -> LiterateError:
        return LiterateError([Problem(self.sources[module].path, line, sentence)])

    def place(self, piece: Piece, line: int = 0) -> str:
        return f"{self.sources[piece.module].path}:{line or piece.line}"

    def follow(self, wanted: Iterable[Piece]) -> dict[Piece, list[tuple[Use, list[Found]]]]:
        r"""
        All pieces that the wanted ones need, each with its uses of names and what these stand for.
        """
        needs: dict[Piece, list[tuple[Use, list[Found]]]] = {}
        waiting = list(wanted)
        while waiting or (waiting := self.registered_elsewhere(needs)):
            piece = waiting.pop()
            if piece in needs:
                continue
            if piece not in self.needs:
                self.needs[piece] = self.needs_of(piece)
            needs[piece] = self.needs[piece]
            meanings = (meaning for _, them in needs[piece] for meaning in them)
            waiting += [meaning for meaning in meanings if isinstance(meaning, Piece)]
            waiting += self.registered_with(piece)
        return needs

    def needs_of(self, piece: Piece) -> list[tuple[Use, list[Found]]]:
        if piece.renames:
            use = Use(piece.renames, piece.line, True)
            return [(use, self.resolve(piece.module, piece.renames, piece.line))]
        self.look_inside(piece)
        needs = []
        for use in piece.uses:
            meanings = self.resolve(piece.module, use.name, use.line)
            if not meanings and use.name in OF_THE_FILE:
                sentence = (
                    f"reads `{use.name}`, which is not the same in a copy; pass it the value."
                )
                raise self.error(piece.module, use.line, sentence)
            needs.append((use, meanings))
        return needs

    def registered_with(self, piece: Piece) -> list[Piece]:
        r"""
        Definitions that are decorated with `@piece.something`, as are the variants of a
        `functools.singledispatch`: nobody names them, and the piece is not whole without them.
        """
        pieces = self.module(piece.module).pieces
        return [other for other in pieces if {*_registers_with(other)} & {*piece.names}]

    def registered_elsewhere(self, needs: Mapping[Piece, object]) -> list[Piece]:
        r"""
        What a module of needed pieces registers with a needed piece of another module.
        """
        needed = {name for piece in needs for name in piece.names}
        return [
            other
            for module in dict.fromkeys(piece.module for piece in needs)
            for other in self.module(module).pieces
            if other not in needs
            for name in _registers_with(other)
            if name in needed
            and any(meaning in needs for meaning in self.resolve(module, name, other.line))
        ]

    def resolve(
        self, module: str, name: str, line: int, seen: frozenset[tuple[str, str]] = frozenset()
    ) -> list[Found]:
        r"""
        What a name of a module stands for: pieces, wherever in the package they are, or an import
        from outside. Nothing, if the module neither defines nor imports it. `line` is where the
        module uses the name.
        """
        module, name = self.instead.get((module, name), (module, name))
        taken = self.module(module)
        if taken.problems:
            raise LiterateError(taken.problems)
        meanings: list[Found] = list(taken.defined.get(name, ()))
        for statement in taken.imports.get(name, ()):
            if not self.owns(statement.module):
                meanings.append(statement)
            elif (module, name) in seen:
                sentence = f"imports `{name}` in a circle: no module defines it."
                raise self.error(module, statement.line, sentence)
            else:
                meanings += self.resolve_import(module, statement, line, seen | {(module, name)})
        return meanings

    def resolve_import(
        self, module: str, statement: Import, line: int, seen: frozenset[tuple[str, str]]
    ) -> list[Found]:
        meanings: list[Found] = []
        if statement.name and statement.module in self.sources:
            meanings = self.resolve(statement.module, statement.name, 0, seen)
        if meanings:
            return [self.renamed(statement, meanings)] if statement.alias else meanings
        whole = f"{statement.module}.{statement.name}" if statement.name else statement.module
        if whole in self.sources:
            sentence = (
                f"`{statement.alias or statement.name or whole}` is a module, and a copy has no "
                f"modules; write `from {whole} import` and the names that are needed."
            )
            raise self.error(module, line or statement.line, sentence)
        if statement.module in self.sources:
            sentence = (
                f"imports `{statement.name}` from {statement.module}, which does not define it."
            )
        else:
            sentence = f"imports {statement.module}, which is not among the sources."
        raise self.error(module, statement.line, sentence)

    def renamed(self, statement: Import, meanings: Iterable[Found]) -> Piece:
        r"""
        `from module import name as other` is copied as `other = name`, behind what defines the
        name, or at the end of a module that passes it on.
        """
        pieces = [x for x in meanings if isinstance(x, Piece) and x.module == statement.module]
        end = len(self.sources[statement.module].lines) + 1
        line = max((x.line for x in pieces), default=end)
        text = f"{statement.alias} = {statement.name}\n"
        tree = tuple(ast.parse(text).body)
        return Piece(statement.module, line, (statement.alias,), "", text, statement.name, tree)

    def look_inside(self, piece: Piece) -> None:
        r"""
        Keeps the outside modules that are imported inside a piece, but for those that it can do
        without. Those of the package can't be: the copy would have to change the inside.
        """
        imported: list[tuple[str, int]] = []
        nodes = [node for statement in piece.statements for node in ast.walk(statement)]
        spared = {line for node in nodes if isinstance(node, ast.Try) for line in _tried(node)}
        for node in nodes:
            match node:
                case ast.Import():
                    imported += [(alias.name, node.lineno) for alias in node.names]
                case ast.ImportFrom():
                    place = origin_of(node, package_of(self.sources[piece.module]))
                    imported.append((place, node.lineno))
                case ast.Call():
                    self.check_call(piece, node)
        for name, line in imported:
            if self.owns(name):
                sentence = (
                    f"imports {name} inside `{piece.names[0]}`, which a copy can't; "
                    "import it at the top of the file."
                )
                raise self.error(piece.module, line, sentence)
        self.outside[piece] = {name for name, line in imported if line not in spared}

    def check_call(self, piece: Piece, call: ast.Call) -> None:
        r"""
        A module whose name is computed may be one of the package, for all that can be told.
        """
        called = getattr(call.func, "attr", "") or getattr(call.func, "id", "")
        for statement in self.module(piece.module).imports.get(called, ()):
            called = statement.name or called
        if called not in ("__import__", "import_module"):
            return
        match call.args[:1]:
            case [ast.Constant(value=str(name))] if not name.startswith("."):
                if not self.owns(name):
                    return
        sentence = (
            f"`{called}` imports a module while the code runs, so nobody can tell what a copy "
            "needs; use an `import` at the top of the file."
        )
        raise self.error(piece.module, call.lineno, sentence)


def _registers_with(piece: Piece) -> list[str]:
    r"""
    The names in decorators such as `@size.register` and `@size.register(list)`.
    """
    names = []
    for decorator in piece.definition.decorator_list if piece.definition else ():
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        match called:
            case ast.Attribute(value=ast.Name(id=name)):
                names.append(name)
    return names


def _meaning(meaning: Found, name: str) -> tuple[str, str]:
    r"""
    Two things with the same meaning can share a name.
    """
    if isinstance(meaning, Import):
        return "import", meaning.means
    return meaning.module, meaning.renames or name


def _check_names(package: _Package, needs: Needs) -> None:
    r"""
    In the one file of the copy a name has to mean to everybody what it meant in their own module.
    """
    owners: dict[str, tuple[Found, str]] = {}
    everything: list[tuple[Found, str]] = [(piece, package.place(piece)) for piece in needs]
    for piece, uses_found in needs.items():
        for use, meanings in uses_found:
            place = package.place(piece, use.line)
            everything += [(meaning, place) for meaning in meanings if isinstance(meaning, Import)]
    for thing, place in everything:
        for name in thing.names if isinstance(thing, Piece) else (thing.binds,):
            owner, there = owners.setdefault(name, (thing, place))
            if _meaning(owner, name) != _meaning(thing, name):
                raise _collision(place, there, name)
    for piece, uses_found in needs.items():
        for use, meanings in uses_found:
            if not meanings and use.name in owners:
                raise _collision(package.place(piece, use.line), owners[use.name][1], use.name)


def _collision(place: str, other: str, name: str) -> LiterateError:
    path, _, line = place.rpartition(":")
    sentence = (
        f"`{name}` is one thing here and another at {other}, and a copy in one file has one name "
        "for one thing; rename one of them."
    )
    return LiterateError([Problem(path, int(line), sentence)])


def _merged(meanings: Iterable[Found]) -> list[Import]:
    r"""
    Each import once, although several modules have it or have it in two spellings. One that any of
    them needs when it runs is not for type checkers only.
    """
    imports = {meaning for meaning in meanings if isinstance(meaning, Import)}
    kept: dict[tuple[str, str, str], Import] = {}
    for statement in sorted(imports, key=lambda statement: (statement.typing_only, statement)):
        # `import a.b` and `import a.c` bind the same name, and both are needed.
        dotted = "" if statement.name or statement.alias else statement.module
        kept.setdefault((statement.binds, statement.means, dotted), statement)
    return sorted(kept.values())


def _tried(node: ast.Try) -> Iterator[int]:
    r"""
    The lines of imports that may fail: who catches the error does without.
    """
    caught = {
        name.id
        for handler in node.handlers
        for name in ast.walk(handler.type or ast.Name("ImportError"))
        if isinstance(name, ast.Name)
    }
    if caught & {"ImportError", "ModuleNotFoundError", "Exception"}:
        for statement in node.body:
            yield from range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)

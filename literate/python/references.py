r"""
---
title: References
summary: A name in code leads to what it stands for, found by scopes and imports, not by its text.
---

Where the code of a page uses something that this or another page defines, the name becomes a link
to the definition. Which names these are is a question of [scopes](scopes.py#uses): a local variable
that happens to have the name of a class is no reference to it.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from literate.python.scopes import bindings, bound_by_import, origin_of
from literate.python.statements import by_module, module_name, package_of, take_apart
from literate.reading.on_demand import OnDemand
from literate.reading.source import Source, nodes

# The file and the qualified name of a definition; no name is the file as a whole.
Target = tuple[str, str]


@dataclass(frozen=True, order=True)
class Reference:
    r"""
    ## A name that stands for a definition

    * `line` and `column` are where it begins, the column counted in characters from zero
    * `name` is the name as it stands there
    * `path` and `target` are the file and the qualified name of the definition
    """

    line: int
    column: int
    name: str
    path: str
    target: str


@dataclass(frozen=True)
class Network:
    r"""
    ## The references of all pages

    * `references` are those in each file
    * `used` are, for each target, the references that lead to it, each with the file that it stands
      in; what is only imported, or stands in the definition itself, is not used
    * `modules` are all sources by the names of their modules
    """

    references: Mapping[str, tuple[Reference, ...]]
    used: Mapping[Target, tuple[tuple[str, Reference], ...]]
    modules: Mapping[str, Source]


def network(sources: Iterable[Source]) -> Network:
    r"""
    ## Find the references of all pages
    """
    pages = list(sources)
    modules = by_module(pages)
    by_page = {source.path: tuple(references(source, modules)) for source in pages}
    used: dict[Target, list[tuple[str, Reference]]] = {}
    for source in pages:
        imports = {
            line
            for node in source.once(_imports)
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        for reference in by_page[source.path]:
            within = source.definition_at(reference.line)
            name = within.name if within else ""
            itself = reference.path == source.path and f"{name}.".startswith(f"{reference.target}.")
            if reference.line not in imports and not itself:
                used.setdefault((reference.path, reference.target), []).append(
                    (source.path, reference)
                )
    return Network(by_page, {target: tuple(uses) for target, uses in used.items()}, modules)


def on_demand(sources: Mapping[str, Source]) -> Network:
    r"""
    ## The references of a page when they are asked for

    Without what is used where: that only all pages together can tell.
    """
    modules = modules_on_demand(sources)
    of_page = OnDemand(sources, lambda path: tuple(references(sources[path], modules)))
    return Network(of_page, {}, modules)


def modules_on_demand(sources: Mapping[str, Source]) -> Mapping[str, Source]:
    r"""
    ## Sources by the names of their modules
    """
    paths = {module_name(path): path for path in sources}
    return OnDemand(paths, lambda module: sources[paths[module]])


def _imports(source: Source) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in source.once(nodes) if isinstance(node, ast.Import | ast.ImportFrom)]


def references(source: Source, modules: Mapping[str, Source]) -> list[Reference]:
    r"""
    ## The references in a source

    `modules` are all sources by the names of their modules. A name that a module binds more than
    once stands for different things at different times, and is left alone.
    """
    known = _known(source, modules)
    places: list[tuple[int, int, str, Target]] = []
    for use in source.once(take_apart).uses:
        if use.name in known and use.column >= 0:
            places.append((use.line, use.column, use.name, known[use.name]))
    # The name in the import itself.
    for _, alias, target in _from_imports(source, modules):
        places.append((alias.lineno, alias.col_offset, alias.name, target))
    places += source.once(_methods)
    placed = {
        Reference(line, source.characters(line, column), name, *target)
        for line, column, name, target in places
    }
    return sorted(placed)


def _known(source: Source, modules: Mapping[str, Source]) -> dict[str, Target]:
    r"""
    What the names of a module stand for, where that is a definition of one of the modules.
    """
    count = Counter(bindings(source.tree.body))
    known = {
        definition.name: (source.path, definition.name)
        for definition in source.definitions
        if not definition.depth
    }
    for statement, alias, target in _from_imports(source, modules):
        if statement in source.tree.body:
            known[bound_by_import(alias)] = target
    return {name: target for name, target in known.items() if count[name] == 1}


def _from_imports(
    source: Source, modules: Mapping[str, Source]
) -> Iterator[tuple[ast.ImportFrom, ast.alias, Target]]:
    r"""
    Each `from … import name` of a definition or of a module of ours.
    """
    for node in source.once(_imports):
        if not isinstance(node, ast.ImportFrom):
            continue
        origin = origin_of(node, package_of(source))
        for alias in node.names:
            inside = modules.get(origin)
            submodule = modules.get(f"{origin}.{alias.name}")
            defined = inside.definitions if inside else ()
            if inside and any(definition.name == alias.name for definition in defined):
                yield node, alias, (inside.path, alias.name)
            elif submodule:
                yield node, alias, (submodule.path, "")


def _methods(source: Source) -> list[tuple[int, int, str, Target]]:
    r"""
    `self.forward`, inside the class that defines `forward`.
    """
    places = []
    names = {definition.name for definition in source.definitions}
    for definition in source.definitions:
        if definition.kind != "class":
            continue
        for node in ast.walk(definition.node):
            match node:
                case ast.Attribute(value=ast.Name(id="self"), attr=attribute):
                    target = f"{definition.name}.{attribute}"
                    if target in names:
                        column = (node.end_col_offset or 0) - len(attribute.encode())
                        place = node.end_lineno or node.lineno, column
                        places.append((*place, attribute, (source.path, target)))
    return places

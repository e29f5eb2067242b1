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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from literate.python.scopes import bindings, bound_by_import, imports_in, origin_of
from literate.python.statements import (
    by_module,
    imported_in_branches,
    package_of,
    take_apart,
)
from literate.reading.import_folders import module_name
from literate.reading.on_demand import OnDemand
from literate.reading.source import Source, nodes

# The file and the qualified name of a definition; no name is the file as a whole.
Target = tuple[str, str]

# So many imports of imports are followed.
MOST_STEPS = 6


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

    @cached_property
    def short_names(self) -> dict[str, str]:
        r"""
        ### The names of the modules, with as little around them as tells them apart

        “schedulers.base” and “triggers.base”, if both lie in one package.
        """
        ends = {name: _ends(name) for name in self.modules}
        count = Counter(end for each in ends.values() for end in each)
        return {
            name: next((end for end in each if count[end] == 1), name)
            for name, each in ends.items()
        }


def _ends(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[start:]) for start in reversed(range(len(parts)))]


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


def on_demand(sources: Mapping[str, Source], folders: Mapping[str, str]) -> Network:
    r"""
    ## The references of a page when they are asked for

    Without what is used where: that only all pages together can tell. `folders` are the [import
    folders](../reading/import_folders.py) of the sources.
    """
    modules = modules_on_demand(sources, folders)
    of_page = OnDemand(sources, lambda path: tuple(references(sources[path], modules)))
    return Network(of_page, {}, modules)


def modules_on_demand(
    sources: Mapping[str, Source], folders: Mapping[str, str]
) -> Mapping[str, Source]:
    r"""
    ## Sources by the names of their modules
    """
    paths = {module_name(path, folders[path]): path for path in sources}
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
    for node, name in source.once(_chains):
        defined = _defined(name, modules)
        if defined:
            column = (node.end_col_offset or 0) - len(node.attr.encode())
            places.append((node.end_lineno or node.lineno, column, node.attr, defined))
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
    own = set(imports_in(source.tree.body))
    for statement, alias, target in _from_imports(source, modules):
        if statement in own:
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
            name = f"{origin}.{alias.name}"
            submodule = modules.get(name)
            defined = _defined(name, modules)
            if defined:
                yield node, alias, defined
            elif submodule:
                yield node, alias, (submodule.path, "")


def _chains(source: Source) -> list[tuple[ast.Attribute, str]]:
    r"""
    Dotted names that begin with an import of the module, each with its full name: behind
    `import pkg.b as b`, “b.norm” is “pkg.b.norm”. A variable that is called like it begins none.
    """
    module = source.once(take_apart)
    roots = {(use.line, use.column): use.name for use in module.uses}
    found: list[tuple[ast.Attribute, str]] = []
    for node in source.once(nodes):
        parts: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            parts.insert(0, inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name) or not isinstance(node, ast.Attribute):
            continue
        root = roots.get((inner.lineno, inner.col_offset), "")
        meant = {one.means for one in module.imports.get(root, ())}
        if len(meant) == 1 and root not in module.defined:
            found.append((node, ".".join([*meant, *parts])))
    return found


def _defined(name: str, modules: Mapping[str, Source], steps: int = 0) -> Target | None:
    r"""
    The definition with a full name, or the one that a module hands on under it.
    """
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        source = modules.get(".".join(parts[:end]))
        if source is None:
            continue
        inside, first = ".".join(parts[end:]), parts[end]
        if any(one.name == inside and not one.in_function for one in source.definitions):
            return source.path, inside
        module = source.once(take_apart)
        meant = {one.means for one in module.imports.get(first, ())}
        if first in module.defined:
            meant = {source.once(imported_in_branches).get(first, "")} - {""}
        elif not meant and not first.startswith("_"):
            return _starred(source, parts[end:], modules, steps)
        if len(meant) != 1 or steps == MOST_STEPS:
            return None
        other = ".".join([*meant, *parts[end + 1 :]])
        return _defined(other, modules, steps + 1) if other != name else None
    return None


def _starred(
    source: Source, parts: Sequence[str], modules: Mapping[str, Source], steps: int
) -> Target | None:
    r"""
    The same in the modules of which a module imports all names, if one of them alone has it. Nobody
    knows what one has that isn't read.
    """
    stars = {one.module for one in source.once(take_apart).imports.get("*", ())}
    if steps == MOST_STEPS or any(star not in modules for star in stars):
        return None
    given = [star for star in sorted(stars) if _has(modules[star], parts[0], modules, steps + 1)]
    if len(given) != 1:
        return None
    return _defined(".".join([*given, *parts]), modules, steps + 1)


def _has(source: Source, name: str, modules: Mapping[str, Source], steps: int) -> bool:
    module = source.once(take_apart)
    is_own = name in module.imports or name in module.defined
    return is_own or _starred(source, [name], modules, steps) is not None


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

r"""
---
title: Meanings of names in notes
summary: What a name between backticks stands for, found by the scopes and imports of its file.
---

A note that speaks of “Hand.take” means the method, and a reader wants to go there. In code, a name
means what [its scope](references.py) says. In a note it may also be an argument, a word of another
language, or made up. So a name has a meaning here only where nothing else can be meant:

* “self.take” is of the class that the note stands in, or of one that it inherits from
* a name by itself, “take” or “take()”, is a definition or an import of its file, or of the class
  around the note, and nothing in that file has the same name: no argument, no variable, no keyword;
  what `from cards import *` brings counts, too, if `cards` is read
* so is a constant or an attribute that a comment `#:` or a string documents: it is its line
* a dotted name begins with such a name, or with the full name of a module
* a name like “Hand” that its file doesn't know is one that the package hands out at its top

What is not of these sources is told by its full name, as “numpy.mean” for “np.mean”; whether that
is documented anywhere, others know.
"""

import ast
import builtins
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from literate.python.references import Target
from literate.python.statements import (
    Module,
    imported_in_branches,
    module_at,
    take_apart,
)
from literate.reading.source import Definition, Source, nodes

_NAME = re.compile(r"@?(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)(?P<call>\(\))?")
_LIKE_A_CLASS = re.compile(r"[A-Z]\w*[a-z]\w*")
# So many imports of imports are followed.
MOST_STEPS = 6


@dataclass(frozen=True)
class Meanings:
    r"""
    ## What the names in the notes of a site mean

    `modules` are all sources by the names of their modules.
    """

    modules: Mapping[str, Source]

    def of(self, code: str, source: Source, within: Definition | None) -> Target | str | None:
        r"""
        ### What inline code means

        `within` is the definition that the note is about, or stands in. The answer is a definition
        of one of the sources, or the full name of something else, or None.
        """
        match = _NAME.fullmatch(code)
        if match is None or source.unread:
            return None
        parts = match["name"].split(".")
        root, rest = parts[0], parts[1:]
        around = source.once(_by_line)
        at = within.first if within else 0
        scopes = [one for one in around if one.first <= at <= one.last]
        classes = [one for one in reversed(scopes) if one.kind == "class"]
        if root in ("self", "cls"):
            return self._member(classes[0], rest[0], source) if classes and len(rest) == 1 else None
        if root in source.once(taken_otherwise):
            return None
        is_call = match["call"] is not None
        member = self._member(classes[0], root, source) if classes and not rest else None
        if member:
            is_asked_of_others = root in source.once(attributes_of_others)
            return member if is_call or not is_asked_of_others else None
        known = self._known(source, root)
        if known is not None:
            found = self._find(".".join([known, *rest]))
            # A package may hold a module of its own name, which the file imports.
            is_full = found is None and rest and root in self.roots
            return self._find(match["name"]) if is_full else found
        if target := _documented(source, match["name"]):
            return target
        if root in source.once(take_apart).defined:
            return None
        if rest:
            full = match["name"]
            return self._find(full) if root in self.roots else self._foreign(full, source)
        if root in dir(builtins):
            is_meant = is_call or _LIKE_A_CLASS.fullmatch(root) or root in source.once(names_read)
            return root if is_meant else None
        if _LIKE_A_CLASS.fullmatch(root):
            top = source.module.partition(".")[0]
            found = self._find(f"{top}.{root}") if top in self.modules else None
            return found if isinstance(found, tuple) else None
        return None

    def ending_with(self, name: str) -> Target | None:
        r"""
        ### The definition whose full name ends so, if there is one
        """
        last = name.rpartition(".")[2]
        found = [
            target
            for full, target in self._by_last_part.get(last, ())
            if f".{full}".endswith(f".{name}")
        ]
        return found[0] if len(found) == 1 else None

    def full_name(self, name: str, source: Source) -> str | None:
        r"""
        ### The full name of what a name of a module stands for, if that is one thing
        """
        return self._known(source, name)

    @cached_property
    def _by_last_part(self) -> Mapping[str, Sequence[tuple[str, Target]]]:
        found: dict[str, list[tuple[str, Target]]] = {}
        for module, source in self.modules.items():
            named = {one.name: one.name for one in source.definitions if not one.in_function}
            for name, anchor in {**source.once(documented_lines), **named}.items():
                known = f"{module}.{name}", (source.path, anchor)
                found.setdefault(name.rpartition(".")[2], []).append(known)
        return found

    @cached_property
    def roots(self) -> frozenset[str]:
        r"""
        ### The packages
        """
        return frozenset(name.partition(".")[0] for name in self.modules)

    def _foreign(self, full: str, source: Source) -> str | None:
        r"""
        A full name whose first part is no name of the file. A module of Python may be called like a
        word: so it counts where the file imports it.
        """
        root = full.partition(".")[0]
        if root not in sys.stdlib_module_names:
            return full
        imports = source.once(take_apart).imports.values()
        modules = {one.module.partition(".")[0] for each in imports for one in each}
        return full if root in modules else None

    def _known(self, source: Source, name: str, steps: int = 0) -> str | None:
        r"""
        The full name of what a name of a module stands for, if that is one thing.
        """
        module = source.once(take_apart)
        defined = [one for one in source.definitions if one.name == name]
        imports = module.imports.get(name, ())
        if defined and not imports and len(module.defined.get(name, ())) == 1:
            return f"{module.name}.{name}"
        meant: set[str | None] = {one.means for one in imports}
        if not meant and name not in module.defined:
            meant = self._handed_on(module, name, steps)
        if name in module.defined:
            return source.once(imported_in_branches).get(name)
        return meant.pop() if len(meant) == 1 else None

    def _handed_on(self, module: Module, name: str, steps: int) -> set[str | None]:
        r"""
        What a name stands for in the modules of which all names are imported. Nothing, where one of
        them can't be read.
        """
        stars = {one.module for one in module.imports.get("*", ())}
        if steps == MOST_STEPS or not stars <= self.modules.keys():
            return set()
        giving = [star for star in sorted(stars) if self._gives(star, name, steps + 1)]
        return {self._known(self.modules[star], name, steps + 1) for star in giving}

    def _gives(self, star: str, name: str, steps: int) -> bool:
        r"""
        Whether a module has a name for those who import all of its names.
        """
        module = self.modules[star].once(take_apart)
        listed = module.source.once(_listed)
        is_given = not name.startswith("_") if listed is None else name in listed
        is_own = name in module.imports or name in module.defined
        return is_given and (is_own or bool(self._handed_on(module, name, steps)))

    def _find(self, full: str, steps: int = 0) -> Target | str | None:
        r"""
        A definition of the sources by its full name, or by one under which a module hands it on.
        """
        if full in self.modules:
            return self.modules[full].path, ""
        if full.partition(".")[0] not in self.roots:
            return full
        parts = full.split(".")
        for end in range(len(parts) - 1, 0, -1):
            source = self.modules.get(".".join(parts[:end]))
            if source is None:
                continue
            name, first, rest = ".".join(parts[end:]), parts[end], parts[end + 1 :]
            if target := _definition(source, name) or _documented(source, name):
                return target
            if rest and (holder := _class(source, ".".join(parts[end:-1]))):
                return self._member(holder, parts[-1], source, steps)
            known = self._known(source, first)
            is_other = known is not None and known != ".".join(parts[: end + 1])
            if known is None or not is_other or steps == MOST_STEPS:
                return None
            return self._find(".".join([known, *rest]), steps + 1)
        return None

    def _member(
        self, holder: Definition, name: str, source: Source, steps: int = 0
    ) -> Target | None:
        r"""
        A method or an attribute of a class, its own or that of a base.
        """
        full = f"{holder.name}.{name}"
        if target := _definition(source, full) or _documented(source, full):
            return target
        bases = getattr(holder.node, "bases", ())
        for base in bases if steps < MOST_STEPS else ():
            root, *rest = ast.unparse(base).partition("[")[0].split(".")
            known = self._known(source, root)
            found = self._find(".".join([known, *rest]), steps + 1) if known else None
            if not isinstance(found, tuple):
                # It may have the method, and nobody here knows.
                return None
            other = self.modules[module_at(found[0], self.modules) or ""]
            inherited = _class(other, found[1])
            if inherited and (target := self._member(inherited, name, other, steps + 1)):
                return target
        return None


def _definition(source: Source, name: str) -> Target | None:
    is_there = any(one.name == name and not one.in_function for one in source.definitions)
    return (source.path, name) if is_there else None


def _documented(source: Source, name: str) -> Target | None:
    line = source.once(documented_lines).get(name)
    return (source.path, line) if line else None


def documented_lines(source: Source) -> Mapping[str, str]:
    r"""
    ## Where constants and attributes with a text of their own are set

    The anchors of their lines, by their names. The text is a string below, or a comment that begins
    with `#:` above or behind. What is set in several such places has none.
    """
    holders: list[tuple[str, ast.AST]] = [("", source.tree)]
    for one in source.definitions:
        owner, _, last = one.name.rpartition(".")
        if one.kind == "class":
            holders.append((f"{one.name}.", one.node))
        elif last == "__init__" and owner:
            holders.append((f"{owner}.", one.node))
    found: dict[str, set[int]] = {}
    for prefix, holder in holders:
        for statement in getattr(holder, "body", ()):
            match statement:
                case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
                    is_own = isinstance(target, ast.Attribute) == isinstance(
                        holder, ast.FunctionDef
                    )
                    name = ast.unparse(target).removeprefix("self.")
                    if is_own and _has_text(source, statement):
                        found.setdefault(prefix + name, set()).add(statement.lineno)
    return {name: f"L{lines.pop()}" for name, lines in found.items() if len(lines) == 1}


def _has_text(source: Source, statement: ast.stmt) -> bool:
    above = source.lines[statement.lineno - 2].text if statement.lineno > 1 else ""
    last = source.lines[(statement.end_lineno or statement.lineno) - 1].text
    is_behind = re.search(r"\s#: ?[^\"']*$", last) is not None
    is_above = above.lstrip().startswith("#:")
    return statement.lineno in source.of_attributes or is_above or is_behind


def _listed(source: Source) -> frozenset[str] | None:
    r"""
    The names in `__all__`, if they are written there one by one.
    """
    values = [
        one.value
        for one in source.tree.body
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "__all__"
    ]
    try:
        return frozenset(ast.literal_eval(values[0])) if len(values) == 1 else None
    except (ValueError, TypeError):
        return None


def _class(source: Source, name: str) -> Definition | None:
    named = (one for one in source.definitions if one.name == name and one.kind == "class")
    return next((one for one in named if not one.in_function), None)


def _by_line(source: Source) -> list[Definition]:
    return sorted(source.definitions, key=lambda one: (one.first, -one.last))


def taken_otherwise(source: Source) -> frozenset[str]:
    r"""
    ## Names that stand for something beside a definition

    Arguments, variables, attributes that are set, and keywords of calls.
    """
    return frozenset(_taken(source.tree))


def names_read(source: Source) -> frozenset[str]:
    r"""
    ## Names that the code of a file uses
    """
    names = (node for node in source.once(nodes) if isinstance(node, ast.Name))
    return frozenset(node.id for node in names if isinstance(node.ctx, ast.Load))


def attributes_of_others(source: Source) -> frozenset[str]:
    r"""
    ## What the code of a file asks other things than `self` for

    A note that says `shape` means that of a tensor, even in a class that has a shape itself.
    """
    return frozenset(
        node.attr
        for node in source.once(nodes)
        if isinstance(node, ast.Attribute)
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    )


def _taken(tree: ast.Module) -> Iterator[str]:
    plain = [one for one in tree.body if isinstance(one, ast.Assign | ast.AnnAssign)]
    at_top = {id(node) for statement in plain for node in ast.walk(statement)}
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=name) | ast.keyword(arg=str(name)) | ast.ExceptHandler(name=str(name)):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) if id(node) not in at_top:
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name

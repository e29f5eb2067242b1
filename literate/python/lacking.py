r"""
---
title: Names that roles give
summary: A role of Sphinx names something that isn't there, and nobody can doubt it.
---

`` :class:`pkg.cards.Hand` `` says of itself that it names a class. If `pkg.cards` is read here and
gives the name to nothing, the author has misspelt it, or has renamed the class since. That is told
only where it is certain: not of a module that takes all names from another or makes some while it
runs, not of a class with a base that isn't read here, and not of a folder that may have files in
another language. Of Python's own modules, those on another system have other names. So there, one
that is nearly the same has to be in the module.
"""

import ast
import builtins
import importlib
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from literate.problems import Problem
from literate.python.meanings import Meanings
from literate.python.names_in_notes import ACTIVE, NOTE
from literate.python.scopes import bindings
from literate.reading.inline_marks import names_of_roles
from literate.reading.source import Source, nodes

# How near another name must be in a module of Python; and in one that is read, to be told.
NEAR = 0.8
# What makes names while it runs.
_MAKES_NAMES = re.compile(
    r"\b(?:globals|locals|vars|setattr|exec|__getattr__|__dict__)\b|import \*"
)
# What gives a class nothing that a note may name.
_PLAIN_BASES = {"object", "ABC", "abc.ABC", "Generic", "typing.Generic", "Protocol"}
_PLAIN_BASES |= {"typing.Protocol"}
MOST_STEPS = 6
# How a problem begins.
REFERENCE = "the reference names"


# Where a name isn't, the name, and the names that are there.
_Lack = tuple[str, str, frozenset[str]]


@dataclass(frozen=True)
class Lacking:
    r"""
    ## What roles name in vain

    `root` is the folder that the paths of the sources begin in.
    """

    meanings: Meanings
    root: Path

    def problems(self, source: Source) -> Iterator[Problem]:
        r"""
        ### The roles of a source that name nothing
        """
        documented = [source.docstring, *(one.docstring for one in source.definitions)]
        for docstring in [*documented, *source.of_attributes.values()]:
            if docstring is None or source.style == "markdown" or source.unread:
                continue
            for at, name in names_of_roles(docstring.shown.split("\n")):
                holder, last, others = self._lacks(name, source) or ("", "", ())
                if not last:
                    continue
                near = next(iter(get_close_matches(last, sorted(others), 1, NEAR)), "")
                hint = f"; is `{near}` meant?" if near else "."
                sentence = f"{REFERENCE} `{name}`, but `{holder}` has no `{last}`{hint}"
                yield Problem(source.path, docstring.first + at, sentence)

    def _lacks(self, name: str, source: Source) -> _Lack | None:
        root, *rest = name.split(".")
        if not rest:
            return None
        top = source.module.partition(".")[0]
        if any(".".join([top, *rest_of]) in self.meanings.modules for rest_of in _beginnings(name)):
            # By Sphinx, a name can begin in the package that the file says it is in.
            return self._of_ours(f"{top}.{name}")
        known = self.meanings.full_name(root, source)
        if known:
            lack = self._of_ours(".".join([known, *rest]))
            # Sphinx finds a full name as well, where the file has something else of its first part.
            is_full = root in self.meanings.roots and self._of_ours(name) is None
            return None if is_full else lack
        if root in source.once(_bound):
            return None
        if root in self.meanings.roots:
            return self._of_ours(name)
        return _of_python(name) if root in sys.stdlib_module_names - ACTIVE else None

    def _of_ours(self, full: str, steps: int = 0) -> _Lack | None:
        parts = full.split(".")
        modules = self.meanings.modules
        inside = (end for end in range(len(parts) - 1, 0, -1) if ".".join(parts[:end]) in modules)
        end = next(inside, 0)
        if not end or full in modules or steps == MOST_STEPS:
            return None
        holder, name, rest = ".".join(parts[:end]), parts[end], parts[end + 1 :]
        source = modules[holder]
        bound = source.once(_bound)
        if name not in bound:
            is_open = source.unread or _MAKES_NAMES.search(source.text)
            if is_open or self._is_file(source, name):
                return None
            names = (one for one in modules if one.startswith(f"{holder}."))
            below = {one.removeprefix(f"{holder}.").partition(".")[0] for one in names}
            return holder, name, bound | below
        if len(rest) != 1:
            return None
        known = self.meanings.full_name(name, source)
        if known is None or known != f"{holder}.{name}":
            return self._of_ours(".".join([known, *rest]), steps + 1) if known else None
        attributes = self._attributes(source, name)
        if attributes is None or rest[0] in attributes:
            return None
        return f"{holder}.{name}", rest[0], attributes

    def _is_file(self, source: Source, name: str) -> bool:
        r"""
        Whether a package may have a module that isn't read.
        """
        path = self.root / source.path
        return path.name == "__init__.py" and any(path.parent.glob(f"{name}*"))

    def _attributes(self, source: Source, name: str, steps: int = 0) -> frozenset[str] | None:
        r"""
        All that a class has, or None, where nobody can tell.
        """
        named = [one for one in source.definitions if one.name == name]
        node = named[0].node if len(named) == 1 else None
        if not isinstance(node, ast.ClassDef) or node.keywords or node.decorator_list:
            return None
        if _MAKES_NAMES.search(source.text) or steps == MOST_STEPS:
            return None
        found = set(bindings(node.body)) | source.once(_stored) | set(dir(object))
        for base in node.bases:
            written = ast.unparse(base).partition("[")[0]
            root, *rest = written.split(".")
            known = self.meanings.full_name(root, source)
            if known is None and not rest and root not in source.once(_bound):
                thing = getattr(builtins, root, None)
                if not isinstance(thing, type):
                    return None
                found |= set(dir(thing))
                continue
            full = ".".join([known or root, *rest])
            if full in _PLAIN_BASES:
                continue
            module, _, last = full.rpartition(".")
            if module not in self.meanings.modules:
                return None
            more = self._attributes(self.meanings.modules[module], last, steps + 1)
            if more is None:
                return None
            found |= more
        return frozenset(found)


def told_once(problems: Iterable[Problem]) -> list[Problem]:
    r"""
    ## A name is told once

    The names in notes are [looked up](names_in_notes.py) without a look at what a role leads to. Of
    a name that a role gives, what is said of the role says more.
    """
    found = list(problems)
    of_roles: dict[tuple[str, int], list[str]] = {}
    for one in found:
        if one.sentence.startswith(f"{REFERENCE} `"):
            of_roles.setdefault((one.path, one.line), []).append(_named(one))
    return [
        one
        for one in found
        if not one.sentence.startswith(f"{NOTE} `")
        or not any(
            f".{name}".endswith(f".{_named(one)}")
            for name in of_roles.get((one.path, one.line), ())
        )
    ]


def _named(problem: Problem) -> str:
    return problem.sentence.split("`")[1]


def _bound(source: Source) -> frozenset[str]:
    r"""
    All names that a module gives to something, be it in a function.
    """
    given = {
        name for node in source.once(nodes) if isinstance(node, ast.Global) for name in node.names
    }
    return frozenset(given | set(bindings(source.tree.body)))


def _stored(source: Source) -> frozenset[str]:
    r"""
    Attributes that a file sets, of whatever it may be, and single words, such as those of
    `__slots__`.
    """
    found = set()
    for node in source.once(nodes):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Constant(value=str(name)):
                found.add(name)
    return frozenset(found)


def _beginnings(name: str) -> Iterator[list[str]]:
    r"""
    The first parts of a dotted name, two at least.
    """
    parts = name.split(".")
    return (parts[:end] for end in range(2, len(parts) + 1))


def _of_python(name: str) -> _Lack | None:
    r"""
    What a module of Python lacks, if it has one that is nearly the same.
    """
    root, *parts = name.split(".")
    holder = root
    try:
        thing = importlib.import_module(root)
    except ImportError:
        return None
    for part in parts:
        if not hasattr(thing, part):
            names = frozenset(dir(thing))
            is_module = hasattr(thing, "__path__") and find_spec(f"{thing.__name__}.{part}")
            is_near = get_close_matches(part, names, 1, NEAR)
            return (holder, part, names) if is_near and not is_module else None
        thing = getattr(thing, part)
        holder = f"{holder}.{part}"
        if not isinstance(thing, ModuleType):
            return None
    return None

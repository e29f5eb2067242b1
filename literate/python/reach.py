r"""
---
title: Reach
summary: Which definitions of our packages a run can come by, each with the hash of what it does.
---

A measured number must not outlive the code that has made it. This page starts from names, such as
`measure` of an experiment, and follows what they use, through all modules that are ours, until
nothing is new. What it finds is an upper bound: all that a run can call, and more than it does.

* A class counts as a whole, with all of its methods, and so do its bases. So nobody has to know
  which object a method is called of: somebody who is reached has made it, and names its class.
* A module that is imported runs: what it does beyond binding names counts, under the name “import”.
* A module whose name is computed is one of those that fit the fixed part of the name, with the rest
  from a text that is reached. Of a module that is passed on as a value, all names count that
  anybody reads as an attribute.
* A text that is the path of a file of ours makes that file count.

What is fetched otherwise isn't found, as from `gc`, out of a pickle, or by a computed name of a
module that is an argument: a run asks `unseen`.
"""

import ast
import hashlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from literate.python.scopes import Function, bindings, bound_by_import, origin_of, uses
from literate.python.shapes import bare, is_plain, is_text, last_name, shape
from literate.python.statements import is_main_guard

# A module and a name of it: EFFECTS is what the module does beyond binding names, when it is
# imported; GUARD what it does as a program; WHOLE the module itself, as a value.
Unit = tuple[str, str]
EFFECTS, GUARD, WHOLE = "import", "__main__", "*"

# Calls that change nothing but what they return.
PURE = frozenset(
    "Path TypeVar namedtuple partial field compile range len dict list set tuple frozenset sorted "
    "reversed zip map filter enumerate min max sum abs round str int float bool fromkeys split "
    "strip join replace format items values keys resolve joinpath getLogger literal removeprefix "
    "removesuffix lower upper encode sqrt log exp asdict Fraction timedelta itemgetter attrgetter "
    "NewType MappingProxyType repr any all type ParamSpec with_suffix as_posix".split()
)
IMPORTERS = {"import_module", "__import__"}
# Code that looks at how other code is written: then the names of local variables and annotations
# count, too, or texts do.
READS_CODE = frozenset(
    "getsource getsourcelines __annotations__ get_type_hints get_annotations return_annotation "
    "annotation script co_varnames f_locals".split()
)
READS_TEXTS = frozenset({"__doc__", "getdoc"})
HOLE = "\0"
# The hash of each name, by files.
Prints = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Facts:
    r"""
    ## What a unit says, without its surroundings

    * `names` are those that it takes from its module, and `chains` those with attributes behind
    * `attributes` are all names behind a dot, `texts` all its texts; a computed part is a HOLE
    * `inside` are imports inside of functions, `computed` the names of modules that are imported
    * `looks` is whether it reads names of code, or texts; `everything` whether it can take any name
      of its module, `members` any of something else
    """

    names: frozenset[str]
    chains: frozenset[tuple[str, ...]]
    attributes: frozenset[str]
    texts: frozenset[str]
    inside: tuple[tuple[str, str], ...]
    computed: tuple[str, ...]
    looks: tuple[bool, bool]
    everything: bool
    members: bool
    statements: tuple[ast.stmt, ...] = field(repr=False)
    known: dict[tuple[bool, bool], str] = field(default_factory=dict, repr=False)

    def shape(self, looks: tuple[bool, bool]) -> str:
        r"""
        ### What it does, if somebody looks at names, or at texts
        """
        if looks not in self.known:
            plain = [bare(one, *looks) for one in self.statements]
            self.known[looks] = repr([shape(one, looks[0]) for one in plain if one is not None])
        return self.known[looks]


class Part:
    r"""
    ## A module, taken apart
    """

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.path = name, path
        self.package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        self.statements: dict[str, list[ast.stmt]] = {}
        self.imports: dict[str, list[tuple[str, str]]] = {}
        self.stars: list[str] = []
        # The modules that run when this one does.
        self.runs: set[str] = set()
        self.known: dict[str, Facts] = {}
        for statement in ast.parse(path.read_bytes()).body:
            self.take(statement)

    def take(self, statement: ast.stmt) -> None:
        if is_text(statement) or _is_for_types(statement):
            # For type checkers alone; a name of it can stand in an annotation.
            return
        if is_main_guard(statement):
            self.statements.setdefault(GUARD, []).append(statement)
            return
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for bound, module, name in self.imported(statement):
                self.runs |= {module, f"{module}.{name}"}
                if name == "*":
                    self.stars.append(module)
                else:
                    self.imports.setdefault(bound, []).append((module, name))
            return
        for node in _at_once([statement]):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for _, module, name in self.imported(node):
                    self.runs |= {module, f"{module}.{name}"}
        for name in {*bindings([statement])}:
            self.statements.setdefault(name, []).append(statement)
        if _has_effect(statement):
            self.statements.setdefault(EFFECTS, []).append(statement)

    def imported(self, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str, str]]:
        r"""The name that is bound, the module, and its name there."""
        for alias in node.names:
            if isinstance(node, ast.Import):
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                self.runs.add(alias.name)
                yield bound_by_import(alias), whole, ""
            else:
                yield bound_by_import(alias), origin_of(node, self.package), alias.name

    def facts(self, name: str) -> Facts:
        if name not in self.known:
            self.known[name] = self._facts(self.statements[name])
        return self.known[name]

    def _facts(self, statements: list[ast.stmt]) -> Facts:
        plain = [one for one in map(bare, statements) if one is not None]
        names: set[str] = set()
        chains: set[tuple[str, ...]] = set()
        attributes: set[str] = set()
        texts: set[str] = set()
        inside: list[tuple[str, str]] = []
        computed: list[str] = []
        bound: set[str] = set()
        everything = members = False
        for statement in plain:
            chained: dict[tuple[int, int], tuple[str, ...]] = {}
            behind: set[int] = set()
            for node in ast.walk(statement):
                if isinstance(node, ast.Attribute):
                    attributes.add(node.attr)
                    if id(node) not in behind:
                        start, *after = _chain(node, behind)
                        if isinstance(start, ast.Name):
                            chained[start.lineno, start.col_offset] = (start.id, *after)
                    members |= node.attr == "__dict__"
                elif isinstance(node, ast.Import):
                    # `import a.b` binds `a`, and `b` is an attribute of it.
                    inside += [(alias.name, "") for alias in node.names]
                    bound |= {bound_by_import(alias) for alias in node.names if not alias.asname}
                elif isinstance(node, ast.ImportFrom):
                    inside += [(module, name) for _, module, name in self.imported(node)]
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    texts.add(node.value)
                elif isinstance(node, ast.JoinedStr | ast.BinOp):
                    texts.add(_pattern(node))
                elif isinstance(node, ast.Call) and last_name(node) in IMPORTERS:
                    computed.append(_pattern(node.args[0]) if node.args else HOLE)
                elif isinstance(node, ast.Call):
                    called, given = last_name(node), [*map(_pattern, node.args[:2])]
                    everything |= called == "globals" or (called == "vars" and not given)
                    if called in ("getattr", "setattr", "hasattr") and len(given) == 2:
                        attributes.add(given[1])
                        members |= HOLE in given[1]
                    members |= called in ("vars", "getmembers")
            for use in uses(statement):
                chain = chained.get((use.line, use.column))
                if chain:
                    chains.add(chain)
                else:
                    names.add(use.name)
            # With `import a.b` inside, `a.c` may be another module.
            inside += [(one[0], one[1]) for one in chained.values() if one[0] in bound]
        return Facts(
            names=frozenset(names),
            chains=frozenset(chains),
            attributes=frozenset(attributes),
            texts=frozenset(texts),
            inside=tuple(inside),
            computed=tuple(computed),
            # `__doc__` without a dot is the text of the module itself, which describes a command.
            looks=(
                bool(READS_CODE & (attributes | names)),
                bool(READS_TEXTS & (attributes | names - {"__doc__"})),
            ),
            everything=everything,
            members=members,
            statements=tuple(statements),
        )


def _chain(node: ast.Attribute, behind: set[int]) -> list[Any]:
    r"""What `a.b.c` begins with, and the attributes behind it."""
    names: list[str] = []
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        names.append(inner.attr)
        behind.add(id(inner))
        inner = inner.value
    return [inner, *reversed(names)]


def _pattern(node: ast.expr) -> str:
    r"""A text with holes for what is computed."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(_pattern, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _pattern(left) + _pattern(right)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return f"{_pattern(left)}/{_pattern(right)}"
    return HOLE


def _is_for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING"


def _at_once(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    r"""What runs when a module does: not the bodies of functions."""
    for node in nodes:
        yield node
        if isinstance(node, Function):
            defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            yield from _at_once([*node.decorator_list, *defaults])
        elif isinstance(node, ast.Lambda):
            yield from _at_once([*node.args.defaults, *filter(None, node.args.kw_defaults)])
        else:
            yield from _at_once(ast.iter_child_nodes(node))


def _has_effect(statement: ast.stmt) -> bool:
    r"""Whether a statement may do more than bind names, as far as can be told."""
    if isinstance(statement, ast.Expr | ast.Assert | ast.Delete | ast.Raise):
        return True
    if "EXPERIMENT" in {*bindings([statement])}:
        # The runner's.
        return False
    for node in _at_once([statement]):
        if isinstance(node, Function | ast.ClassDef) and not is_plain(node):
            return True
        if isinstance(node, ast.ClassDef) and node.keywords:
            return True
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, ast.Call) and last_name(node) not in PURE:
            if not _wraps(node, statement):
                return True
    return False


def _wraps(call: ast.Call, statement: ast.stmt) -> bool:
    r"""Whether a call is a decorator: these are judged by themselves."""
    decorators = [
        one for node in _at_once([statement]) for one in getattr(node, "decorator_list", [])
    ]
    return call in decorators


@cache
def _part(name: str, path: Path, changed: int) -> Part:
    return Part(name, path)


class Ours:
    r"""
    ## The packages that are ours

    * `tops` are their names, and `beside` modules of them that no result is about
    """

    def __init__(self, root: Path, tops: Iterable[str], beside: Iterable[str] = ()) -> None:
        self.root, self.tops, self.beside = root, frozenset(tops), frozenset(beside)
        self.paths: dict[str, Path | None] = {}
        self.modules = {
            ".".join(p.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            for top in self.tops
            for p in (root / top).rglob("*.py")
        }
        self.files = {
            p.relative_to(root).as_posix()
            for top in [*self.tops, "results"]
            for p in (root / top).rglob("*.*")
            if p.is_file() and p.suffix not in (".py", ".pyc") and "node_modules" not in p.parts
        }

    def part(self, module: str) -> Part | None:
        if module not in self.modules or module in self.beside:
            return None
        place = self.root / module.replace(".", "/")
        path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if not path.is_file():
            return None
        return _part(module, path, path.stat().st_mtime_ns)

    def parts(self) -> Iterator[Part]:
        r"""
        ### All modules
        """
        yield from filter(None, map(self.part, sorted(self.modules)))

    def resolve(self, module: str, name: str, seen: frozenset[Unit] = frozenset()) -> list[Unit]:
        r"""What a name of a module stands for: units of ours, or what is from outside."""
        part = self.part(module)
        if (module, name) in seen:
            return []
        if part is None:
            # Where a module of the runner stands decides nothing.
            place = "" if module in self.beside else f"{module}."
            return [(f"{place}{name}" if name else module, "outside")] if module else []
        seen = seen | {(module, name)}
        found: list[Unit] = [(module, name)] if name in part.statements else []
        for origin, inner in part.imports.get(name, ()):
            found += self.target(origin, inner, seen)
        if not found:
            for star in part.stars:
                if self.part(star):
                    found += self.resolve(star, name, seen)
        if not found and self.part(f"{module}.{name}"):
            found = [(f"{module}.{name}", WHOLE)]
        if not found and "__getattr__" in part.statements:
            found = [(module, "__getattr__")]
        return found

    def target(self, origin: str, inner: str, seen: frozenset[Unit] = frozenset()) -> list[Unit]:
        r"""What `from origin import inner` means, or `import origin`."""
        if not inner:
            return [(origin, WHOLE)] if self.part(origin) else self.resolve(origin, "")
        return self.resolve(origin, inner, seen)


@dataclass
class Reach:
    r"""
    ## What is reached

    * `units` are definitions, each with what its names stand for
    * `data` are the paths of files, `runs` all modules that run
    * `looks` tells that some of the code looks at names of other code
    * `texts` are the packages that look at texts, of definitions of their own
    """

    ours: Ours
    units: dict[Unit, list[tuple[str, Unit]]] = field(default_factory=dict)
    data: set[str] = field(default_factory=set)
    runs: set[str] = field(default_factory=set)
    looks: bool = False
    texts: set[str] = field(default_factory=set)
    computed: set[str] = field(default_factory=set)

    def prints(self) -> dict[str, dict[str, str]]:
        r"""
        ### The hash of each definition, by files

        It is made of the shape and of what the names stand for. A definition that another module
        takes over is the same, unless two that are reached have its name.
        """
        found: dict[str, dict[str, str]] = {}
        times: dict[str, set[str]] = {}
        for module, name in self.units:
            times.setdefault(name, set()).add(module)
        for (module, name), meanings in sorted(self.units.items()):
            part = self.ours.part(module)
            if name == WHOLE or part is None:
                continue
            means = sorted(
                {
                    (used, inner if len(times.get(inner, "12")) == 1 else f"{where}:{inner}")
                    for used, (where, inner) in meanings
                }
            )
            looks = self.looks, _top(module) in self.texts
            text = repr((part.facts(name).shape(looks), means))
            path = part.path.relative_to(self.ours.root).as_posix()
            found.setdefault(path, {})[name] = hashlib.sha256(text.encode()).hexdigest()[:8]
        return found

    def outside(self) -> list[str]:
        r"""
        ### The packages of others that are used
        """
        named = {
            where
            for them in self.units.values()
            for _, (where, inner) in them
            if inner == "outside"
        }
        return sorted({name.partition(".")[0] for name in named} - sys.stdlib_module_names)


def reach(ours: Ours, roots: Iterable[Unit], said: Iterable[str] = ()) -> Reach:
    r"""
    ## Follow the names

    From `roots` on, and from the names of files among the texts that are `said`.
    """
    found = Reach(ours)
    waiting = [*roots]
    values: set[str] = set()
    # Modules of which a computed name is asked for, and patterns of such modules.
    open_to_all: set[str] = set()
    open_patterns: set[str] = set()
    read: set[str] = set()
    texts: set[str] = {*said}
    for module in {module for module, _ in waiting}:
        waiting += _runs(found, module)
    while waiting:
        while waiting:
            unit = waiting.pop()
            if unit in found.units:
                continue
            module, name = unit
            part = ours.part(module)
            if part is None:
                continue
            waiting += _runs(found, module)
            if name == WHOLE:
                found.units[unit] = []
                values.add(module)
                continue
            if name not in part.statements:
                continue
            facts = part.facts(name)
            meant = list(meanings(ours, module, facts))
            found.units[unit] = meant
            found.looks |= facts.looks[0]
            found.texts |= {_top(module)} if facts.looks[1] else set()
            found.computed |= set(facts.computed)
            waiting += [meaning for _, meaning in meant]
            inside = [unit for one in facts.inside for unit in ours.target(*one)]
            waiting += inside
            for origin, _ in facts.inside:
                waiting += _runs(found, origin)
            if facts.everything:
                waiting += [(module, one) for one in part.statements if one != GUARD]
            if facts.members:
                asked = [*inside, *(meaning for _, meaning in meant)]
                open_to_all |= {where for where, inner in asked if inner == WHOLE}
                open_patterns |= {*facts.computed}
            read |= facts.attributes
            texts |= facts.texts
        # All texts are known now.
        for pattern in open_patterns:
            open_to_all |= {*_fitting(pattern, ours.modules, texts)}
        waiting = [
            unit
            for module in values
            for name in _names(ours, module)
            if name in read or module in open_to_all
            for unit in ours.resolve(module, name)
            if unit not in found.units and ours.part(unit[0])
        ]
        waiting += _named(found, texts)
    return found


def _names(ours: Ours, module: str) -> set[str]:
    r"""All that a module binds."""
    part = ours.part(module)
    return {*part.statements, *part.imports} if part else set()


def _top(module: str) -> str:
    return module.partition(".")[0]


def meanings(ours: Ours, module: str, facts: Facts) -> Iterator[tuple[str, Unit]]:
    r"""
    ## What the names of a unit stand for
    """
    for name in facts.names:
        for meaning in ours.resolve(module, name):
            yield name, meaning
    for chain in facts.chains:
        for meaning in ours.resolve(module, chain[0]):
            at = 1
            # `package.module.name` is the name of that module.
            while meaning[1] == WHOLE and at < len(chain):
                inner = ours.resolve(meaning[0], chain[at])
                meaning = inner[0] if inner else (f"{meaning[0]}.{chain[at]}", "outside")
                at += 1
            if meaning[1] == "outside":
                meaning = (".".join([meaning[0], *chain[at:]]), "outside")
            yield ".".join(chain), meaning


def _runs(found: Reach, module: str) -> list[Unit]:
    r"""What runs with a module: itself, the packages around it, and what these import."""
    effects: list[Unit] = []
    waiting = [module]
    while waiting:
        name = waiting.pop()
        while name:
            part = found.ours.part(name)
            if part is not None and name not in found.runs:
                found.runs.add(name)
                waiting += part.runs
                effects += [(name, EFFECTS)] if EFFECTS in part.statements else []
            name = name.rpartition(".")[0]
    return effects


def _named(found: Reach, texts: set[str]) -> list[Unit]:
    r"""Modules and files whose names stand in texts."""
    ours = found.ours
    units: set[Unit] = set()
    tops = "|".join(ours.tops)
    for text in texts:
        if HOLE not in text:
            # Behind the name of a module, a colon names a part of it.
            for name in re.findall(rf"\b(?:{tops})(?:\.\w+)+(?![\w:])(?!\.\w)", text):
                units |= _program(ours, name)
    for pattern in found.computed:
        units |= {(name, WHOLE) for name in _fitting(pattern, ours.modules, texts)}
    folders = {unit[0].replace(".", "/").rpartition("/")[0] for unit in found.units}
    last = {path.rpartition("/")[2]: path for path in ours.files}
    for text in texts:
        if HOLE in text:
            whole = text.removeprefix(f"{HOLE}/")
            if whole.partition("/")[0] in {*ours.tops, "results"}:
                found.data |= set(_fitting(whole, ours.files, texts))
        elif text in ours.files:
            found.data.add(text)
        elif re.fullmatch(r"\.\w+", text):
            # As in `Path(__file__).with_suffix(".json")`.
            beside = {f"{unit[0].replace('.', '/')}{text}" for unit in found.units}
            found.data |= beside & ours.files
        elif text in last and last[text].rpartition("/")[0] in {*folders, "results"}:
            found.data.add(last[text])
    return [unit for unit in units if unit not in found.units]


def _program(ours: Ours, name: str) -> set[Unit]:
    r"""A module that a text names may be run as a program."""
    found: set[Unit] = set()
    for module in (name, f"{name}.__main__"):
        part = ours.part(module)
        if part is not None:
            found |= {(module, WHOLE)}
            found |= {(module, GUARD)} if GUARD in part.statements else set()
    return found


def _fitting(pattern: str, known: Iterable[str], texts: Iterable[str]) -> Iterator[str]:
    r"""
    What fits a pattern whose holes are texts; everything that fits if no text does.

    Of a text that is computed itself, such as `f"memory/{page}"`, the folder counts.
    """
    if not pattern.replace(HOLE, ""):
        return
    expression = re.compile(re.escape(pattern).replace(re.escape(HOLE), "(.+)"))
    fits = {name: match.groups() for name in known if (match := expression.fullmatch(name))}
    said = {text.replace("/", ".") for text in texts} | set(texts)
    begun = {text.partition(HOLE)[0] for text in said if HOLE in text}
    folders = tuple(one for one in begun if re.fullmatch(r"(\w+[./])+", one))
    named = [
        name
        for name, holes in fits.items()
        if all(hole in said or hole.startswith(folders) for hole in holes)
    ]
    yield from named or fits


def unseen(found: Reach, modules: Iterable[str], files: Iterable[str]) -> list[str]:
    r"""
    ## What a run has come by that isn't in its reach

    * `modules` are those that were imported, `files` the paths of those that were opened
    """
    strange = [one for one in modules if found.ours.part(one) and one not in found.runs]
    return sorted(strange) + sorted(set(files) - found.data)


def differing(known: Prints, today: Prints) -> list[str]:
    r"""
    ## Which definitions have changed

    One that stands in another file now is the same, if only one has its name.
    """

    def flat(prints: Prints) -> dict[str, list[tuple[str, str]]]:
        by_name: dict[str, list[tuple[str, str]]] = {}
        for path, names in prints.items():
            for name, one in names.items():
                by_name.setdefault(name, []).append((path, one))
        return by_name

    before, after = flat(known), flat(today)
    found = []
    for name in sorted(before | after):
        old, new = before.get(name, []), after.get(name, [])
        moved = len(old) == len(new) == 1 and name != EFFECTS and old[0][1] == new[0][1]
        if not moved:
            found += sorted(f"{path}:{name}" for path, _ in {*old} ^ {*new})
    return list(dict.fromkeys(found))

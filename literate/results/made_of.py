r"""
---
title: What a Result Is Made of
summary: The definitions that a measurement can come by, and the files that it reads.
---

Nobody types the sources of a [result](records.py). The module that measures defines `EXPERIMENT`,
or has a function that measures; from there the names are [followed](../python/reach.py). A result
keeps, by files, the names that were reached when it was measured, each with the hash of what it
does:

```json
"of": "benchmarks.counting",
"sources": {"labml_nn/training/counting.py": "BackOff:cd2405e5 count_letters:36e96268"}
```

So a result is stale when something that its run came by does something else, and not when a
comment, a docstring or the name of a local variable has changed. A file that is read and is no code
has its [fingerprint](fingerprints.py) there. A program that measures the text of files, and nothing
that it calls, names no module: its sources are these files, each with its fingerprint, or with all
that it [defines](#definitions).

A function that measures is named with its module, as in “benchmarks.gpu:main”. What it comes by and
its code doesn't name, such as the scripts of a page in a browser, stands in a constant `ALSO`
beside it.
"""

import ast
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from literate.python.reach import Ours, Part, Prints, Reach, Unit, differing, meanings, reach
from literate.python.scopes import uses
from literate.python.shapes import shape
from literate.reading.source import Source
from literate.results.fingerprints import fingerprint, of_source
from literate.results.records import Result

# Names of a module that measures.
EXPERIMENT, ALSO = "EXPERIMENT", "ALSO"
# In the place of a name: what a file takes from others.
IMPORTS = "from"
# What decides the numbers of an experiment. Its title and its small values change none.
MEASURES = ("measure", "reads", "threads")
REPORTS = ("report",)


@dataclass(frozen=True)
class Code:
    r"""
    ## The code that results are made of

    * `root` is the folder of the project
    * `packages` are the names of those that a measurement may come by
    * `runner` are modules of them that run experiments and decide no number
    """

    root: Path
    packages: Sequence[str] = ()
    runner: Sequence[str] = ()
    found: dict[str, list[str]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def ours(self) -> Ours:
        r"""
        ### Its modules
        """
        return Ours(self.root, self.packages, self.runner)

    def reached(self, of: str, keywords: Iterable[str] = MEASURES) -> Reach:
        r"""
        ### What a measurement can come by

        Or its report, by other `keywords`.
        """
        module, _, name = of.partition(":")
        part = self.ours.part(module)
        if part is None:
            return reach(self.ours, [])
        if not name:
            return reach(self.ours, roots(part, keywords))
        begin, said = [(module, name)], frozenset[str]()
        if ALSO in part.statements:
            facts = part.facts(ALSO)
            begin += [unit for _, unit in meanings(self.ours, module, facts)]
            said = facts.texts
        return reach(self.ours, begin, said)

    def sources(self, of: str) -> dict[str, str]:
        r"""
        ### What a result keeps

        For each file the names that are reached, with their hashes; for a file that is no code its
        fingerprint.
        """
        part = self.ours.part(of.partition(":")[0])
        if part is None:
            return {}
        reported, measured = (self.reached(of, one) for one in (REPORTS, MEASURES))
        return self._told([reported, measured], {} if ":" in of else self._settings(part))

    def sources_of(self, *units: Unit) -> dict[str, str]:
        r"""
        ### The same for some definitions

        Each by its module and its name.
        """
        return self._told([reach(self.ours, units)], {})

    def today(self, known: Mapping[str, str]) -> dict[str, str]:
        r"""
        ### The names of some sources, as they are today

        Each with its hash, or with none if it is gone.
        """
        names = by_names(known)
        modules = {path: path.removesuffix(".py").replace("/", ".") for path in names}
        parts = {path: self.ours.part(module) for path, module in modules.items()}
        units = [
            (modules[path], name)
            for path, part in parts.items()
            for name in names[path]
            if part is not None and name in part.statements
        ]
        found = by_names(self.sources_of(*units))
        return {
            path: line({name: found.get(path, {}).get(name, "") for name in names[path]})
            for path in names
        }

    def _told(self, reaches: Sequence[Reach], more: Prints) -> dict[str, str]:
        found: dict[str, dict[str, str]] = {}
        for prints in (*(one.prints() for one in reaches), more):
            for path, names in prints.items():
                found.setdefault(path, {}).update(names)
        lines = {path: line(one) for path, one in found.items()}
        data = {path for one in reaches for path in one.data}
        return dict(sorted((lines | {one: fingerprint(self.root / one) for one in data}).items()))

    def _settings(self, part: Part) -> dict[str, dict[str, str]]:
        r"""How the experiment is run: what its definition says for what decides numbers."""
        said = [
            (one.arg, shape(ast.Expr(one.value)))
            for one in keywords_of(part)
            if one.arg in (*MEASURES, *REPORTS)
        ]
        path = part.path.relative_to(self.root).as_posix()
        digest = hashlib.sha256(repr(sorted(said, key=str)).encode()).hexdigest()[:8]
        return {path: {EXPERIMENT: digest}} if said else {}

    def changed(self, result: Result, pages: Mapping[str, Source] = {}) -> list[str]:
        r"""
        ### What is no longer as it was measured

        Definitions, as `training/data.py:prepare`, and files. `pages` are sources that were read.
        The answer is kept: the code is that of one moment.
        """
        if result.path not in self.found:
            self.found[result.path] = (
                self.differing(result.sources, self.sources(result.of))
                if result.of
                else self._files(result.sources, pages)
            )
        return self.found[result.path]

    def differing(self, known: Mapping[str, str], today: Mapping[str, str]) -> list[str]:
        r"""
        ### What differs between the sources of two moments
        """
        if known == today:
            return []
        data = {
            path
            for path in known.keys() | today.keys()
            if ":" not in known.get(path, "") + today.get(path, "")
            and known.get(path) != today.get(path)
        }
        return [*differing(by_names(known), by_names(today)), *sorted(data)]

    def _files(self, known: Mapping[str, str], pages: Mapping[str, Source]) -> list[str]:
        def now(path: str) -> str:
            file = self.root / path
            if ":" in known[path]:
                return definitions(file) if file.is_file() else ""
            if path in pages:
                return pages[path].once(of_source)
            return fingerprint(file) if file.is_file() else ""

        today = {path: now(path) for path in known}
        files = [path for path, one in known.items() if ":" not in one and today[path] != one]
        return [*differing(by_names(known), by_names(today)), *files]


def definitions(file: Path) -> str:
    r"""
    ## All that a file defines

    For a program that changes the code of whole files, such as one that breaks them line by line:
    each name with the hash of what it does, and the imports, on one line.
    """
    part = Part(file.stem, file)
    said = {name: part.facts(name).shape((False, False)) for name in part.statements}
    said[IMPORTS] = repr((sorted(part.imports.items()), sorted(part.stars)))
    return line({name: hashlib.sha256(one.encode()).hexdigest()[:8] for name, one in said.items()})


def keywords_of(part: Part) -> list[ast.keyword]:
    r"""
    ## What the definition of an experiment says
    """
    statements = part.statements.get(EXPERIMENT, ())
    return [one for each in statements for one in ast.walk(each) if isinstance(one, ast.keyword)]


def roots(part: Part, keywords: Iterable[str]) -> list[Unit]:
    r"""
    ## Where an experiment begins

    With the names in its definition.
    """
    wanted = [one for one in keywords_of(part) if one.arg in {*keywords}]
    return [(part.name, use.name) for one in wanted for use in uses(ast.Expr(one.value))]


def line(names: Mapping[str, str]) -> str:
    r"""
    ## Names with their hashes, on one line
    """
    return " ".join(f"{name}:{one}" for name, one in sorted(names.items()))


def by_names(sources: Mapping[str, str]) -> dict[str, dict[str, str]]:
    r"""
    ## The hash of each name, by files

    Without the files that are no code.
    """
    return {
        path: {name: one for name, _, one in (word.partition(":") for word in said.split())}
        for path, said in sources.items()
        if ":" in said
    }

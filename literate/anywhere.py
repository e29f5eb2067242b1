r"""
---
title: Anywhere
summary: The sources of a package that knows nothing of this tool.
---

Whoever has annotated modules of their own can have notebooks of them without any settings, from the
path of a package, of a module, or of both.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from literate.body import has_notebook
from literate.pieces import module_name
from literate.problems import LiterateError, Problem
from literate.source import Source
from literate.source import read as read_file


@dataclass(frozen=True)
class Found:
    r"""
    ## What there is at some paths

    * `sources` are the modules of all packages that the paths lie in
    * `chosen` are the names of those below the paths that have a notebook
    * `files` are the files of the sources, by the paths that the sources are known by
    """

    sources: dict[str, Source]
    chosen: list[str]
    files: dict[str, str]

    def placed(self, error: LiterateError) -> LiterateError:
        r"""
        ### Name the files as they are from here

        A source is known by its path from the folder that its package lies in.
        """
        return LiterateError(
            replace(one, path=self.files.get(one.path, one.path)) for one in error.problems
        )


def read(paths: Iterable[str]) -> Found:
    r"""
    ## Read packages

    Raises a [LiterateError](problems.py#LiterateError) for a path that is not there, for one
    without a notebook, and for a module that can't be parsed.
    """
    found = Found({}, [], {})
    problems: list[Problem] = []
    for path in paths:
        try:
            _package(Path(path), found)
        except LiterateError as error:
            problems += error.problems
    if problems:
        raise found.placed(LiterateError(problems))
    return found


def _package(path: Path, found: Found) -> None:
    if not path.is_dir() and (path.suffix != ".py" or not path.is_file()):
        raise LiterateError([Problem(str(path), 1, "is neither a folder nor a Python file.")])
    full = path.resolve()
    top = full if full.is_dir() else full.parent
    while (top.parent / "__init__.py").is_file():
        top = top.parent
    # A file that is in no package can import the files beside it.
    is_package = full.is_dir() or (top / "__init__.py").is_file()
    root = top.parent if is_package else top
    chosen: list[str] = []
    problems: list[Problem] = []
    for file in sorted(top.rglob("*.py") if is_package else top.glob("*.py")):
        name = file.relative_to(root).as_posix()
        found.files[name] = os.path.relpath(file)
        try:
            source = read_file(file, name)
        except LiterateError as error:
            problems += error.problems
            continue
        found.sources[module_name(name)] = source
        if has_notebook(source) and file.is_relative_to(full):
            chosen.append(module_name(name))
    if problems:
        raise LiterateError(problems)
    if not chosen:
        sentence = "has no notebook: nothing in it defines a function `example` or `notebook`."
        raise LiterateError([Problem(str(path), 1, sentence)])
    found.chosen.extend(name for name in chosen if name not in found.chosen)

r"""
---
title: Python files
summary: Which files of a folder are sources, and which page each of them gets.
---

The folder of a project holds more than its author has written: environments, what was built, and
the site itself. None of it becomes a page. A folder is left out if

* its name begins with a dot, or it is called like one that programs write, `build` or `venv`, and
  is no package
* it is an environment, which has a file `pyvenv.cfg`, or a site that this tool has built
* it holds other things by the [settings](../settings.py): documents, notebooks, results
* git ignores it, or `exclude` of the settings names it

What the settings name as a package is always read, wherever it lies.
"""

import os
import posixpath
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from literate.problems import Problem, line_of
from literate.settings import Settings

# What is said of patterns together.
IDLE = "patterns exclude nothing"
# Folders that programs write. Somebody's package can be called so, too.
WRITTEN = {"__pypackages__", "_build", "build", "dist", "node_modules", "site-packages", "venv"}
# What lies in an environment, and in a site of this tool, but not among its own sources.
MARKS = ("pyvenv.cfg", "assets/katex/katex.min.css")


def python_files(settings: Settings) -> dict[str, str]:
    r"""
    ## The sources of a project

    The paths of all files, in their order, with the page that each would have.
    """
    found: dict[str, str] = {}
    for package, prefix in settings.sources.items():
        folder = settings.root / package
        for path in _of_package(settings, folder):
            name = path.relative_to(settings.root).as_posix()
            found[name] = uri(path.relative_to(folder).as_posix(), prefix)
    return found


def uri(relative: str, prefix: str) -> str:
    r"""
    ## The page of a file

    `relative` is the path of the file in its package, `prefix` the folder that the package goes to.
    """
    folder, file = posixpath.split(relative)
    stem = file.removesuffix(".py")
    name = "index" if stem == "__init__" else stem
    return posixpath.normpath(posixpath.join(prefix, folder, f"{name}.md"))


def _of_package(settings: Settings, package: Path) -> list[Path]:
    others = {settings.docs, settings.notebooks, settings.results, settings.store}
    apart = {(settings.root / name).resolve() for name in others}
    found: list[Path] = []
    for place, folders, files in os.walk(package):
        here = Path(place)
        # What is taken out of this list is not walked through.
        folders[:] = [
            name
            for name in folders
            if not _is_left_out(here / name)
            and (here / name).resolve() not in apart
            and not _is_excluded(here / name, settings)
        ]
        found += [
            here / name
            for name in files
            if name.endswith(".py")
            and not name.startswith(".")
            and not _is_excluded(here / name, settings)
        ]
    return sorted(set(found) - _ignored(package, found))


def _is_left_out(folder: Path) -> bool:
    is_written = folder.name in WRITTEN and not (folder / "__init__.py").exists()
    is_hidden = folder.name.startswith((".", "__pycache__"))
    return is_hidden or is_written or any((folder / mark).exists() for mark in MARKS)


def _is_excluded(path: Path, settings: Settings) -> bool:
    name = path.relative_to(settings.root).as_posix()
    return any(fnmatch(name, pattern.rstrip("/")) for pattern in settings.exclude)


def idle(settings: Settings) -> Iterator[Problem]:
    r"""
    ## Patterns that exclude nothing

    Most often because paths begin in the folder of the settings, and the pattern doesn't.
    """
    if not settings.exclude:
        return
    files = python_files(replace(settings, exclude=()))
    known = {*files, *(one.as_posix() for path in files for one in PurePosixPath(path).parents)}
    text = (settings.root / "pyproject.toml").read_text("utf-8")
    for pattern in settings.exclude:
        if not any(fnmatch(one, pattern.rstrip("/")) for one in known):
            sentence = f"`exclude` names `{pattern}`, but no file or folder of a package matches it"
            deeper = f"*/{pattern.rstrip('/')}"
            is_meant = any(fnmatch(one, deeper) for one in known)
            hint = f"; is `{deeper}` meant?" if is_meant else "."
            yield Problem("pyproject.toml", line_of(f'"{pattern}"', text), sentence + hint, IDLE)


def _ignored(package: Path, found: Iterable[Path]) -> set[Path]:
    r"""
    Those that git ignores; none, if it ignores the package itself, or if there is no git here.
    """
    names = [".", *(os.path.relpath(path, package) for path in found)]
    command = ["git", "check-ignore", "-z", "--stdin"]
    try:
        asked = subprocess.run(
            command, cwd=package, input="\0".join(names).encode(), capture_output=True, check=False
        )
    except OSError:
        return set()
    said = asked.stdout.decode().split("\0") if asked.returncode == 0 else []
    return set() if "." in said else {package / name for name in said if name}


def placed(
    wanted: Mapping[str, str], others: Mapping[str, str], settings: Settings
) -> tuple[dict[str, str], list[Problem]]:
    r"""
    ## One page for each

    `wanted` are the pages of the sources, and `others` those of documents and results, by the paths
    of their files. Where two want the same, it is that of the other, or of the package, and a
    module gets one beside it. That is said, with what to do about it.
    """
    taken = {_key(page): name for name, page in others.items()}
    spoken_for = {*taken, *map(_key, wanted.values())}
    pages: dict[str, str] = {}
    problems: list[Problem] = []
    for name in sorted(wanted, key=lambda name: not name.endswith("__init__.py")):
        page = wanted[name]
        owner = taken.get(_key(page))
        if owner is not None:
            free = next(one for one in _beside(name, page) if _key(one) not in spoken_for)
            spoken_for.add(_key(free))
            other, at = (name, owner) if owner in others else (owner, name)
            remedy = "rename it, or name it in `exclude`"
            if owner in others:
                remedy = f"move it, or give the package its folder: {_own_folder(settings)}"
            sentence = f"would be the page `{page}`, which is that of `{other}`; {remedy}."
            if not settings.strict:
                sentence = f"{sentence.removesuffix('.')}. Until then, `{name}` is `{free}`."
            problems.append(Problem(at, 1, sentence))
            page = free
        taken[_key(page)] = name
        pages[name] = page
    return {name: pages[name] for name in wanted}, problems


def _key(page: str) -> str:
    r"""
    For an engine, the file README of a folder is the index of it.
    """
    folder, file = posixpath.split(page)
    return posixpath.join(folder, "index.md" if file == "README.md" else file)


def _beside(name: str, page: str) -> Iterator[str]:
    folder, file = posixpath.split(page)
    stem = file.removesuffix(".md")
    if name.endswith("__init__.py"):
        stem = posixpath.basename(posixpath.dirname(name)) or stem
        yield posixpath.join(folder, f"{stem}.md")
    while True:
        stem += "_py"
        yield posixpath.join(folder, f"{stem}.md")


def _own_folder(settings: Settings) -> str:
    package = next(iter(settings.sources))
    name = "code" if package == "." else posixpath.basename(package)
    return f'`sources = {{ "{package}" = "{name}" }}`'

r"""
---
title: Import folders
summary: The folder that Python imports a package from, which need not be that of the project.
---

`src/marshmallow/fields.py` is imported as `marshmallow.fields`, and in other projects
`src/models/net.py` is imported as `src.models.net`. Nothing in these paths tells which.

A module is called as the imports in the files call it; where none tells, its name begins with the
outermost folder that has an `__init__.py`, or with the path from the project's folder if the
settings name a folder that has none, but modules of its own.

This is decided once for each folder that the settings name: all modules in it are imported from one
folder. The imports in the files beside it count, too, such as those of `train.py` beside `src`.
"""

import posixpath
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import accumulate
from pathlib import Path, PurePosixPath

# An import statement; in a doctest, too.
_IMPORT = re.compile(
    r"^[ \t]*(?:>>> )?(?:from[ \t]+(?P<module>\w[\w.]*)[ \t]+import[ \t]+\(?\s*(?P<name>\w+)"
    r"|import[ \t]+(?P<whole>\w[\w.]*))",
    re.MULTILINE,
)


def import_folders(root: Path, packages: Iterable[str], files: Iterable[str]) -> dict[str, str]:
    r"""
    ## The import folder of each file

    `packages` are those that the settings name, and `files` the paths of all their files, from the
    folder `root`. Where two modules would have one name, all in their folders have their paths from
    `root` for names.
    """
    paths = list(files)
    folders = dict.fromkeys(paths, "")
    for package in packages:
        place = PurePosixPath(package).as_posix()
        inside = [path for path in paths if place == "." or path.startswith(f"{place}/")]
        folders |= dict.fromkeys(inside, _import_folder(root, place, inside))
    named = Counter(module_name(path, folder) for path, folder in folders.items())
    shared = {one for path, one in folders.items() if named[module_name(path, one)] > 1}
    return {path: "" if folder in shared else folder for path, folder in folders.items()}


def module_name(path: str, folder: str = "") -> str:
    r"""
    ## The module that a file is

    `labml_nn/transformers/__init__.py` is `labml_nn.transformers`, and in the import folder `src`,
    `src/marshmallow/fields.py` is `marshmallow.fields`.
    """
    parts = posixpath.relpath(path, folder or ".").removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _import_folder(root: Path, package: str, files: Collection[str]) -> str:
    parts = [] if package == "." else package.split("/")
    around = list(accumulate(parts, posixpath.join))
    has_init = [(root / folder / "__init__.py").is_file() for folder in around]
    # A folder in a package is no import folder, nor is the package itself.
    possible = ["", *around][: (*has_init, True).index(True) + 1]
    if len(possible) == 1:
        return ""
    beside = [path for folder in possible for path in (root / folder).glob("*.py")]
    read = {*beside, *(root / path for path in files)}
    imported = {name for path in read if path.is_file() for name in _imported(path)}
    for folder in possible:
        if any(_leads(folder, name, files) for name in imported):
            return folder
    innermost = possible[-1]
    own = any(posixpath.dirname(path) == innermost for path in files)
    held = {posixpath.dirname(path) for path in files if path.endswith("/__init__.py")}
    holds_packages = innermost in map(posixpath.dirname, held)
    return innermost if any(has_init) or (holds_packages and not own) else ""


def _imported(file: Path) -> Iterator[str]:
    r"""
    The names that a file imports; `from a import b` may import `a.b`.
    """
    text = file.read_bytes().decode(errors="ignore")
    for match in _IMPORT.finditer(text):
        name = match["whole"] or f"{match['module']}.{match['name']}"
        if name.partition(".")[0] not in sys.stdlib_module_names:
            yield name


def _leads(folder: str, name: str, files: Collection[str]) -> bool:
    r"""
    Whether a name, imported from a folder, begins with a module that is one of the files.
    """
    stems = accumulate(name.split("."), posixpath.join, initial=folder)
    return any(f"{stem}{end}" in files for stem in stems for end in (".py", "/__init__.py"))

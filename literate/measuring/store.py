r"""
---
title: Store
summary: What was measured is kept until something that could change it changes.
---

Nobody waits twice for the same measurement. It is kept in a file for each module, together with a
key, a hash of all that the measurement depends on. While the key is the same, nothing is run.
"""

import ast
import contextlib
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import warnings
from collections.abc import Sequence
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

from literate.problems import LiterateError, Problem


class Store:
    r"""
    ## A folder of measurements

    * `folder` is where the files lie; it is made when there is something to keep
    * `root` is the folder whose packages are followed through their imports
    * `tools` are the files that measure: with another tool, nothing that was kept is right
    """

    def __init__(self, folder: Path, root: Path, tools: Sequence[Path]) -> None:
        self.folder = folder
        self.root = root
        versions = [platform.python_version(), _installed("torch")]
        self.outside = [*(version.encode() for version in versions), *map(Path.read_bytes, tools)]
        self.files: dict[str, tuple[bytes, frozenset[str]] | None] = {}
        self.others: dict[Path, Store] = {}

    def of_folder(self, root: Path) -> "Store":
        r"""
        ### The same store for modules that are imported from another folder
        """
        if root == self.root:
            return self
        if root not in self.others:
            self.others[root] = copy(self)
            self.others[root].root, self.others[root].files = root, {}
        return self.others[root]

    def look_again(self) -> None:
        r"""
        ### Files may have changed

        A store looks at each file once; after this, once more.
        """
        self.files = {}
        for other in self.others.values():
            other.files = {}

    def key(self, module: str, text: str) -> str:
        r"""
        ### The key of a module

        A hash of its text, of all the modules under the root that it imports, and that these
        import, of Python, of PyTorch and of the tool.
        """
        digest = hashlib.sha256()
        parts = [*self.outside, text.encode()]
        for name in sorted(self._closure(module)):
            file = self._file(name)
            parts += [name.encode(), file[0]] if file else []
        # With its length before each part, no two lists of parts give the same bytes.
        for part in parts:
            digest.update(b"%d\n" % len(part))
            digest.update(part)
        return digest.hexdigest()

    def needs(self, module: str, package: str) -> bool:
        r"""
        ### Does a module import a package?

        It does if one of the modules under the root does that it imports.
        """
        files = map(self._file, self._closure(module))
        names = (name for file in files if file for name in file[1])
        return any(name.partition(".")[0] == package for name in names)

    def load(self, module: str, key: str) -> Any:
        r"""
        ### What is kept for a module

        None if that is nothing, or was measured under another key, or can't be read.
        """
        try:
            kept = json.loads(self._path(module).read_bytes())
            return kept["measured"] if kept["key"] == key else None
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def save(self, module: str, key: str, measured: Any) -> None:
        r"""
        ### Keep a measurement

        It takes the place of what was kept for the module. The file is written beside its place
        and then moved there, so that nobody ever reads half of one. Raises a
        [LiterateError](../problems.py#LiterateError) if that is impossible.
        """
        path = self._path(module)
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            beside.write_text(json.dumps({"key": key, "measured": measured}), encoding="utf-8")
            beside.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                beside.unlink()
            sentence = f"can't keep what was measured: {error.strerror}."
            raise LiterateError([Problem(str(path), 1, sentence)]) from None

    def _path(self, module: str) -> Path:
        return self.folder / f"{module}.json"

    def _closure(self, module: str) -> set[str]:
        r"""
        All modules under the root that are imported with this one, itself among them.
        """
        modules: set[str] = set()
        waiting = [module]
        while waiting:
            name = waiting.pop()
            # Importing `a.b` runs `a` first.
            outer = name.rpartition(".")[0]
            file = self._file(name)
            if name not in modules and file is not None:
                modules.add(name)
                waiting += file[1]
            if outer and outer not in modules:
                waiting.append(outer)
        return modules

    def _file(self, module: str) -> tuple[bytes, frozenset[str]] | None:
        r"""
        The bytes of a module and the names that it may import; None if it isn't under the root.
        """
        if module not in self.files:
            self.files[module] = None
            stem = self.root.joinpath(*module.split("."))
            for path in (stem / "__init__.py", stem.with_name(f"{stem.name}.py")):
                if path.is_file():
                    data = path.read_bytes()
                    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
                    self.files[module] = data, _imports(data, package)
                    break
        return self.files[module]


@cache
def _imports(data: bytes, package: str) -> frozenset[str]:
    r"""
    Every name that an import statement mentions, wherever it stands. `from a import b` gives
    `a` and `a.b`, because `b` may be a module. A text that can't be read imports nothing: where it
    is needed, its import raises the error.
    """
    names: set[str] = set()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            with contextlib.suppress(ImportError):
                name = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
                names.update([name, *(f"{name}.{alias.name}" for alias in node.names)])
    return frozenset(names)


def _installed(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""

r"""
What the result of a function depends on: its own statements, and all that these reach.

A number that is kept must not outlive the code that has made it. The code is found from the
function on: the statements of its module that bind the names it uses, the names that those use, and
so on. In a module of this package only the statements that are reached count, so a new title of a
table makes no run stale. A module of the lessons counts as a whole, with all that it imports and
with the files beside it that it names, such as the text that is learned.
"""

import ast
import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from literate.results.fingerprints import fingerprint

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "benchmarks"
LESSONS = ("labml_nn", "page_runner")


def dependencies(function: Callable, also: Iterable[str] = (), root: Path = ROOT) -> dict[str, str]:
    r"""
    What a function depends on, each with its fingerprint: files of lessons, and for modules of this
    package `PATH:NAMES` with the statements that are reached.

    * `also` names further files, such as those that the function imports by a computed name
    """
    module = function.__module__
    reached: dict[str, set[str]] = {}
    files = set(also)
    _reach(module, function.__qualname__.partition(".")[0], root, reached, files)
    found = {path: fingerprint(root / path) for path in sorted(files)}
    for path, names in sorted(reached.items()):
        found[f"{path}:reached"] = _fingerprint_of(root / path, names)
    return found


def files_of(module: str, root: Path = ROOT) -> list[str]:
    r"""The file of a module, those of all our modules that it imports, and the data they name."""
    files: set[str] = set()
    _add_lesson(module, root, files)
    return sorted(files)


def _reach(
    module: str, name: str, root: Path, reached: dict[str, set[str]], files: set[str]
) -> None:
    r"""Add the statements that bind a name, and follow the names in them."""
    path = _path(module, root)
    if path is None or name in reached.setdefault(path, set()):
        return
    reached[path].add(name)
    statements = _bindings(root / path)
    # What stands in a module for its effect alone counts in any case.
    for statement in [*statements.get(name, []), *statements.get("", [])]:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for other, inner in _imported(statement, name, root):
                if other.partition(".")[0] in LESSONS:
                    _add_lesson(other, root, files)
                elif inner is None:
                    # A module of this package as a whole.
                    for each in list(_bindings(root / str(_path(other, root)))):
                        _reach(other, each, root, reached, files)
                else:
                    _reach(other, inner, root, reached, files)
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id in statements and node.id != name:
                _reach(module, node.id, root, reached, files)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                for alias in node.names:
                    for other, inner in _imported(node, alias.asname or alias.name, root):
                        if other.partition(".")[0] in LESSONS:
                            _add_lesson(other, root, files)
                        elif inner is not None:
                            _reach(other, inner, root, reached, files)


def _imported(
    statement: ast.Import | ast.ImportFrom, name: str, root: Path
) -> Iterator[tuple[str, str | None]]:
    r"""The module of ours that a name is imported from, and its name there; none if it is one."""
    for alias in statement.names:
        if (alias.asname or alias.name.partition(".")[0]) != name and alias.name != name:
            continue
        if isinstance(statement, ast.Import):
            whole, inner = alias.name, None
        elif _path(f"{statement.module}.{alias.name}", root):
            whole, inner = f"{statement.module}.{alias.name}", None
        else:
            whole, inner = str(statement.module), alias.name
        if whole.partition(".")[0] in (*LESSONS, PACKAGE) and _path(whole, root):
            yield whole, inner


def _add_lesson(module: str, root: Path, files: set[str]) -> None:
    r"""Add the file of a module, and those of all modules that it imports."""
    path = _path(module, root)
    if path is None or path in files:
        return
    files.add(path)
    beside = (root / path).parent
    data = {one.name for one in beside.iterdir() if one.suffix not in ("", ".py")}
    for node in ast.walk(_tree(root / path)):
        if isinstance(node, ast.Constant) and node.value in data:
            files.add((beside / str(node.value)).relative_to(root).as_posix())
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                for other, _ in _imported(node, alias.asname or alias.name, root):
                    _add_lesson(other, root, files)


def _path(module: str, root: Path) -> str | None:
    r"""The file of a module, relative to the root; none if it isn't one of ours."""
    place = module.replace(".", "/")
    if place.partition("/")[0] not in (*LESSONS, PACKAGE):
        return None
    for path in (f"{place}.py", f"{place}/__init__.py"):
        if (root / path).is_file():
            return path
    return None


@cache
def _tree_of(path: Path, changed: int) -> ast.Module:
    return ast.parse(path.read_bytes())


def _tree(path: Path) -> ast.Module:
    r"""The tree of a file, parsed again when it has changed."""
    return _tree_of(path, path.stat().st_mtime_ns)


def _bindings(path: Path) -> dict[str, list[ast.stmt]]:
    r"""The top statements of a module by the names that they bind; under "" those without one."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in _tree(path).body:
        if _is_docstring(statement):
            continue
        for name in _bound(statement) or {""}:
            found.setdefault(name, []).append(statement)
    return found


def _bound(statement: ast.stmt) -> set[str]:
    r"""The names that a statement of a module binds or changes."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
    if isinstance(statement, ast.If | ast.For | ast.With | ast.Try | ast.While):
        parts = [one for one in ast.iter_child_nodes(statement) if isinstance(one, ast.stmt)]
        return set().union(*(_bound(one) for one in parts))
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        # `TABLE["row"] = …` changes what `TABLE` is.
        nodes = [node for target in targets for node in ast.walk(target)]
        return {node.id for node in nodes if isinstance(node, ast.Name)}
    return set()


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _fingerprint_of(path: Path, names: set[str]) -> str:
    r"""A hash of the statements that bind these names, without their docstrings."""
    statements = _bindings(path)
    chosen = [one for name in sorted({*names, ""}) for one in statements.get(name, [])]
    texts = []
    for statement in dict.fromkeys(chosen):
        copy = ast.parse(ast.unparse(statement))
        for node in ast.walk(copy):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and _is_docstring(body[0]):
                node.body = body[1:]
        texts.append(ast.dump(copy))
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]

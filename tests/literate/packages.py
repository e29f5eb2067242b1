r"""Small packages for the tests of what is copied out of one."""

import ast
from pathlib import Path
from textwrap import dedent

from literate.python.statements import by_module
from literate.reading.source import Source, parse, read


def package(files: dict[str, str]) -> dict[str, Source]:
    r"""The sources of a package, by module, from the texts of its files."""
    return by_module(parse(dedent(text).lstrip("\n"), path) for path, text in files.items())


def run(text: str) -> dict[str, object]:
    r"""The names that a copy defines, when it is run with nothing but itself."""
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(text, "copy.py", "exec", dont_inherit=True), names)
    return names


def own_sources(repository: Path) -> dict[str, Source]:
    r"""The modules of this repository's own packages, of which some import others."""
    paths = sorted(
        one for top in ("labml_nn", "wrongline") for one in (repository / top).rglob("*.py")
    )
    return by_module(read(path, path.relative_to(repository).as_posix()) for path in paths)


def program(tree: ast.AST) -> str:
    r"""A syntax tree as text, with `pass` for a body that was nothing but a docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            kept = node.body[ast.get_docstring(node) is not None :]
            node.body = kept or [ast.Pass()]
    return ast.dump(tree)

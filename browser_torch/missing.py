r"""Which names of PyTorch a package uses, and which of them the stand-in lacks."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent


def used_names(folder: Path, without: tuple[str, ...] = ()) -> dict[str, list[str]]:
    r"""`torch.nn.Linear` and the like, each with the places `path:line` where it is used."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        if name.startswith(without):
            continue
        for used, line in _names_of(ast.parse(path.read_bytes())):
            found.setdefault(used, []).append(f"{folder.name}/{name}:{line}")
    return found


def _names_of(tree: ast.Module) -> Iterator[tuple[str, int]]:
    r"""The names below torch that a module uses, with their lines."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.name.partition(".")[0] == "torch":
                    aliases[one.asname or "torch"] = one.name if one.asname else "torch"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "torch":
            for one in node.names:
                aliases[one.asname or one.name] = f"{node.module}.{one.name}"
                yield f"{node.module}.{one.name}", node.lineno
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            full = _full_name(node, aliases)
            if full:
                yield full, node.lineno


def _full_name(node: ast.expr, aliases: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return aliases.get(node.id)
    if isinstance(node, ast.Attribute):
        before = _full_name(node.value, aliases)
        return f"{before}.{node.attr}" if before else None
    return None


# Asks the stand-in, in a process where it is `torch`.
_LACKS = """
import importlib, json, sys
import torch
def lacks(name):
    parts = name.split(".")
    value = torch
    for place, part in enumerate(parts[1:], 2):
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(".".join(parts[:place]))
            except ImportError:
                return True
    return False
print(json.dumps([name for name in json.load(sys.stdin) if lacks(name)]))
"""


def missing_names(
    folder: Path, kernels: Path, without: tuple[str, ...] = ()
) -> dict[str, list[str]]:
    r"""Those names that the stand-in lacks."""
    used = used_names(folder, without)
    answer = subprocess.run(
        [sys.executable, "-c", _LACKS],
        input=json.dumps(sorted(used)),
        env={**os.environ, "PYTHONPATH": str(HERE), "BROWSER_TORCH_KERNELS": str(kernels)},
        capture_output=True,
        text=True,
        check=True,
    )
    return {name: used[name] for name in json.loads(answer.stdout)}

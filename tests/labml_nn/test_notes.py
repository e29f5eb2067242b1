r"""
What every lesson owes its reader: a short introduction, what the arguments of a constructor are
and one order of them, the shapes of a forward pass, and a comment for about every three lines of
code.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from literate.reading.count import count, limits_of, words_before
from literate.reading.source import read

ROOT = Path(__file__).resolve().parents[2]
MACHINERY = ("labml_nn/training/engine/", "labml_nn/page_models/")
# The machinery behind the lessons is no lesson.
PAGES = sorted(
    path
    for path in (one.relative_to(ROOT).as_posix() for one in (ROOT / "labml_nn").rglob("*.py"))
    if not path.startswith(MACHINERY)
)

# The greatest number of words before the first class or function. Two columns of them, with a
# picture and the imports, leave room for that class on a screen of 900 pixels.
INTRODUCTION = 250

# The order of arguments, everywhere. Each constructor leaves out what it doesn't have.
OF_ATTENTION = ("heads", "d_model", "dropout_prob", "bias")
OF_PROJECTION = ("d_model", "heads", "d_k", "bias")
OF_MODEL = ("n_vocab", "d_model", "heads", "n_layers", "d_ff", "seq_len", "dropout_prob")

# Lines that stand for two or three, because an exhibit of the museum changes the whole of each.
CHANGED_BY_EXHIBITS = {
    "labml_nn/transformers/mistakes/caches.py": 3,
    "labml_nn/transformers/mistakes/decoding.py": 1,
    "labml_nn/transformers/mistakes/right_attention.py": 2,
}


def methods(path: str, name: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    r"""The methods of this name in all classes of a page, with the names of the classes."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    for kind in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for method in kind.body:
            if isinstance(method, ast.FunctionDef) and method.name == name:
                yield f"{path}: {kind.name}", method


def arguments(method: ast.FunctionDef) -> list[str]:
    r"""The names of the arguments, without the object itself."""
    listed = method.args
    one_by_one = [*listed.posonlyargs, *listed.args, *listed.kwonlyargs]
    several = [one for one in (listed.vararg, listed.kwarg) if one is not None]
    return [one.arg for one in (*one_by_one, *several)][1:]


def unexplained(path: str) -> Iterator[str]:
    r"""
    Arguments of constructors of which the docstring says nothing. It may say of all others that
    they are those of another page.
    """
    for name, method in methods(path, "__init__"):
        note = ast.get_docstring(method) or ""
        inherits = re.search(r"(?i)\b(other )?arguments\b", note) is not None
        missing = [one for one in arguments(method) if f"`{one}`" not in note]
        if missing and not inherits:
            yield f"{name}: {missing}"


def without_shapes(path: str) -> Iterator[str]:
    r"""Forward passes whose docstring has neither a shape nor a page that has the same shapes."""
    for name, method in methods(path, "forward"):
        note = ast.get_docstring(method) or ""
        if not re.search(r"`\[[^`]*\]`|\bshapes? (?:is|are) th|keeps its shape", note):
            yield name


def out_of_order(path: str) -> Iterator[str]:
    r"""Constructors whose arguments have another order than those of other pages."""
    for name, method in methods(path, "__init__"):
        given = [one.arg for one in method.args.args]
        if "heads" not in given:
            continue
        if "n_layers" in given:
            order = OF_MODEL
        elif name.endswith("Projection") or "d_k" in given:
            order = OF_PROJECTION
        else:
            order = OF_ATTENTION
        known = [one for one in given if one in order]
        if known != sorted(known, key=order.index):
            yield f"{name}: {known}"


def joined(path: Path) -> list[str]:
    r"""Lines that give several names several values; two that change places are one idea."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Tuple):
            continue
        several = isinstance(node.value, ast.Tuple | ast.GeneratorExp | ast.ListComp)
        names = ast.unparse(node.targets[0]).strip("()").split(", ")
        values = ast.unparse(node.value).strip("()").split(", ")
        if several and sorted(names) != sorted(values):
            found.append(f"{path.name}:{node.lineno}")
    return found


@pytest.mark.parametrize("path", PAGES)
def test_a_constructor_explains_its_arguments_and_forward_its_shapes(path: str) -> None:
    assert [*unexplained(path), *without_shapes(path)] == []


def test_a_line_of_code_has_one_idea() -> None:
    programs = [f"docs/course/{path.name}" for path in (ROOT / "docs/course").glob("*.py")]
    found = {path: joined(ROOT / path) for path in [*PAGES, *programs]}
    numbers = {path: len(lines) for path, lines in found.items() if lines}
    assert numbers == CHANGED_BY_EXHIBITS, found


def test_arguments_have_one_order_on_all_pages() -> None:
    assert [one for path in PAGES for one in out_of_order(path)] == []


def test_an_introduction_has_at_most_250_words_before_the_first_class() -> None:
    counted = {path: words_before(read(ROOT / path, path)) for path in PAGES}
    assert {path: words for path, words in counted.items() if words > INTRODUCTION} == {}


def test_pages_are_within_their_limits() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    beyond = {}
    for path in PAGES:
        limits = limits_of(path, settings["tool"]["literate"]["limits"])
        found = count(read(ROOT / path, path))
        beyond[path] = [
            f"{name} {found[name]:.4g}, not {limit}"
            for name, limit in limits.items()
            if name in found
            if (found[name] < limit if name == "ratio" else found[name] > limit)
        ]
    assert {path: what for path, what in beyond.items() if what} == {}


def test_what_did_not_help_is_a_list_of_runs_that_pages_lead_to() -> None:
    text = (ROOT / "docs/what_did_not_help.md").read_text(encoding="utf-8")
    entries = re.split(r"(?m)^\d+\. ", text)[1:]
    assert len(entries) >= 20
    assert [one for one in entries if "../results/" not in one] == []
    pages = {path: (ROOT / path).read_text(encoding="utf-8") for path in PAGES}
    linking = [path for path, page in pages.items() if "docs/what_did_not_help.md" in page]
    assert len(linking) >= 10
    # A page that says to be in the list is in it.
    said = [path for path, page in pages.items() if "These are entries of [a list]" in page]
    assert [path for path in said if f"{path})" not in text and f"{path}#" not in text] == []

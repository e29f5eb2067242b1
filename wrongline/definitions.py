r"""
---
title: The Definitions of a Script
summary: A script that trains when it is imported is asked for its model, and nothing is trained.
---

Many models stand in the file that trains them, `train.py`. To import that file is to train. So if a
file trains at its outermost level, or with `--definitions`, only these of its lines are run:
imports, functions, classes, and values for which nothing has to be called, such as `n_layers = 12`.
A library that isn't installed is missed only where it is called. What needs a line that was left
out is left out, too. Only a size, such as `vocab_size = len(chars)`, [is guessed](guesses.py) then.

Of a text that is [pasted](pasted.py), values are run for which something else is called, too, such
as `mask = torch.tril(torch.ones(8, 8))`. But no model of the text is made, and no function of it is
called.

**In:** the text of a script. **Out:** the names that it defines, and for the others the reason.
"""

import __future__

import ast
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from torch import nn

from wrongline.run_pasted import without_missing
from wrongline.sizes import SIZES, meaning

# They train nothing, fetch nothing and write nothing.
HARMLESS = set("bool dict float getattr int len list max min range round set str tuple".split())
HARMLESS |= {"os.environ.get", "torch.cuda.is_available"}

# Why most names of a script aren't there.
NOT_RUN = "it stands in a part that isn't run"


def calls_nothing(node: ast.AST) -> bool:
    r"""
    ## Can it be run without doing anything?

    `dataclass(…)` and the like, above a class, are no such calls.
    """
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    return all(ast.unparse(one.func) in HARMLESS for one in calls)


def trains(text: str) -> bool:
    r"""
    ## Does a script train when it is imported?

    Then a call of `backward` stands neither in a function nor below `if __name__ == ...`.
    """
    waiting: list[ast.AST] = [*ast.parse(text).body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and is_main(node):
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "backward":
                return True
        waiting += ast.iter_child_nodes(node)
    return False


def is_main(node: ast.If) -> bool:
    r"""
    ## Is it the part that runs as a script alone?
    """
    return "__name__" in ast.unparse(node.test)


def flags_of(tree: ast.Module) -> int:
    r"""
    ## How its statements are compiled

    With `from __future__ import annotations`, no annotation is evaluated.
    """
    asked = [one for one in tree.body if isinstance(one, ast.ImportFrom)]
    named = {name.name for one in asked if one.module == "__future__" for name in one.names}
    return sum(getattr(__future__, one).compiler_flag for one in named)


def guess_sizes(node: ast.stmt, names: dict[str, Any]) -> None:
    r"""
    ## What a statement that was left out says about sizes

    A name that says that it is one gets the size of the tests.
    """
    if not isinstance(node, ast.Assign | ast.AnnAssign):
        return
    for name in names_of(node):
        # A letter says too little.
        if len(name) > 1 and type(SIZES.get(meaning(name))) is int:
            names.setdefault(name, SIZES[meaning(name)])


def is_definition(node: ast.stmt, runs: Callable[[ast.AST], bool] = calls_nothing) -> bool:
    r"""
    ## Is a statement run?

    `runs` tells it of a value.
    """
    # The bodies of functions don't run here.
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return True
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    # An import with another way out.
    if isinstance(node, ast.Try):
        inner = [*node.body, *node.orelse, *(one for way in node.handlers for one in way.body)]
        return all(isinstance(one, ast.Pass) or is_definition(one, runs) for one in inner)
    is_value = isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
    return is_value and runs(node)


def makes_no_model(names: Mapping[str, Any]) -> Callable[[ast.AST], bool]:
    r"""
    ## Does a value need no model of the text?

    And none of its functions, which may train. `names` has what is defined so far.
    """

    def runs(node: ast.AST) -> bool:
        for call in ast.walk(node):
            if not isinstance(call, ast.Call):
                continue
            root = ast.unparse(call.func).partition(".")[0]
            made = names.get(root)
            if (
                isinstance(made, FunctionType)
                or isinstance(made, type)
                and issubclass(made, nn.Module)
            ):
                return False
        return True

    return runs


class LeftOut(str):
    r"""
    ## Why a name isn't defined

    A sentence; after an error, it knows the line.
    """

    line: int | None = None


def names_of(node: ast.stmt) -> list[str]:
    r"""
    ## What a statement would have defined
    """
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    stored = (one for one in ast.walk(node) if isinstance(one, ast.Name))
    return [one.id for one in stored if isinstance(one.ctx, ast.Store)]


def run_one(node: ast.stmt, file: str, names: dict[str, Any], flags: int) -> None:
    r"""
    ## Run one of them

    Its annotations may name what isn't here, and nobody needs them.
    """

    def run(flags: int) -> None:
        exec(compile(ast.Module([node], []), file, "exec", flags), names)

    try:
        run(flags)
    except (NameError, TypeError):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            raise
        run(flags | __future__.annotations.compiler_flag)


def run_definitions(
    text: str,
    file: str,
    names: dict[str, Any],
    runs: Callable[[ast.AST], bool] = calls_nothing,
    said: Mapping[str, Any] | None = None,
) -> dict[str, LeftOut]:
    r"""
    ## Run the definitions

    They come to `names`, which has those of a module already, and so do sizes that are guessed. The
    result has the names that couldn't be defined, and why. `file` is told in errors, and is where
    Python looks up the lines. `runs` tells which values are computed, and what is `said` of a name
    goes before what the text says.
    """
    tree, missing = without_missing(text)
    names |= missing
    said = said or {}
    flags = flags_of(tree)
    left_out: dict[str, LeftOut] = {}
    waiting = [*tree.body]
    while waiting:
        node = waiting.pop(0)
        # Sizes stand in the main part of some scripts.
        if isinstance(node, ast.If) and runs is not calls_nothing and is_main(node):
            values = [
                one for one in node.body if isinstance(one, ast.Assign) and calls_nothing(one)
            ]
            waiting = [*values, *waiting]
            continue
        # A condition at the outermost level: of what follows it, the definitions are run.
        if isinstance(node, ast.If) and runs is not calls_nothing and runs(node.test):
            try:
                is_so = eval(compile(ast.Expression(node.test), file, "eval"), names)
                waiting = [*(node.body if is_so else node.orelse), *waiting]
                continue
            except Exception:
                is_so = False
        if not is_definition(node, runs):
            left_out |= dict.fromkeys(names_of(node), LeftOut(NOT_RUN))
            guess_sizes(node, names)
            continue
        try:
            run_one(node, file, names, flags)
        # It needs what was left out, or fails by itself.
        except Exception as error:
            why = LeftOut(f"line {node.lineno}: {type(error).__name__}: {error}")
            why.line = node.lineno
            left_out |= dict.fromkeys(names_of(node), why)
            guess_sizes(node, names)
        names |= {name: said[name] for name in names_of(node) if name in said}
    return left_out


def example() -> tuple[list[str], dict[str, LeftOut]]:
    r"""
    ## Example

    A script that would train for hours.

    ### Exercises

    ??? question "Why is `n_layers = 2 * 6` run, and `model = Model()` not?"
        Nothing is called for the first. What a call does can't be seen: it may train.

    ??? question "The class has a decorator that compiles it. Is it run?"
        Yes. Decorators are run with what they are above, or it would be another class.
    """
    text = """
import torch
from no_such_library import plot

n_layers = 2 * 6

class Model(torch.nn.Identity):
    layers = n_layers

model = Model()
plot(train(model))
"""
    names: dict[str, Any] = {"__name__": "train"}
    left_out = run_definitions(text, "train.py", names)

    # What was defined, and what was left out.
    return [name for name in names if not name.startswith("__")], left_out

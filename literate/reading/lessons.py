r"""
---
title: Lessons
summary: What a page that teaches owes its reader, as far as its code and docstrings tell.
---

A package can have lessons among its pages. The [settings](../settings.py) say which pages these
are and what they keep to; programs, the `machinery` of the settings, owe none of it:

```toml
[tool.literate.lessons]
pages = ["my_package/*"]
```

Each rule has a reason, which stands beside it here.
"""

import ast
import posixpath
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any

from literate.problems import Problem
from literate.reading.front_matter import of_source, title_of
from literate.reading.source import Definition, Source, nodes
from literate.settings import Settings

# What a page runs by, to be measured or as a notebook.
_RUN = {"example", "notebook"}
# How a docstring says that other arguments, or shapes, are those of another page.
_OTHER_ARGUMENTS = re.compile(r"(?i)\b(other )?arguments\b")
_SHAPE = re.compile(r"`\[[^`]*\]`|\bshapes? (?:is|are) th|keeps its shape")


@dataclass(frozen=True)
class Lessons:
    r"""
    ## Which pages are lessons

    * `pages` are patterns of their paths, and `machinery` those of programs, which are none
    * `orders` are orders of arguments; the first that is for a constructor counts: `of` is a
      pattern of the name of its class, and `has` are arguments that it has
    * `joined` are statements that may give several names several values
    * `imports` has, for patterns of paths, the packages that a page may import beside Python's own
    * `unmeasured` are lessons that have no example
    * `oracles` is a file with the reasons of lessons that have no [oracle](oracles.py)
    * `equivalents` is a file that [quotes lines](oracles.py#gone) of lessons
    * `practised` are lessons with [exercises](../takeaway/exercises.py#problems) of each kind
    """

    pages: Sequence[str] = ()
    machinery: Sequence[str] = ()
    orders: Sequence[Mapping[str, Any]] = ()
    joined: Sequence[str] = ()
    imports: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unmeasured: Sequence[str] = ()
    oracles: str = ""
    equivalents: str = ""
    practised: Sequence[str] = ()

    def has(self, path: str) -> bool:
        r"""
        ### Is it the path of a lesson?
        """
        return _fits(path, self.pages) and not _fits(path, self.machinery)


def of_project(settings: Settings) -> Lessons:
    r"""
    ## The lessons of a project
    """
    return Lessons(machinery=settings.machinery, **settings.lessons)


def _fits(path: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(path, pattern) for pattern in patterns)


def problems(source: Source, lessons: Lessons) -> Iterator[Problem]:
    r"""
    ## What a lesson owes

    Nothing, if the page is none. Only what it may import holds for machinery, too.
    """
    if not _fits(source.path, lessons.pages):
        return
    yield from _imported(source, lessons)
    if not lessons.has(source.path):
        return
    for definition in source.definitions:
        class_name, _, name = definition.name.rpartition(".")
        if not class_name:
            continue
        if name == "__init__":
            yield from _unexplained(source.path, definition)
            yield from _out_of_order(source.path, definition, class_name, lessons)
        if name == "forward":
            yield from _without_shapes(source.path, definition)
    for line in joined(source.tree, lessons.joined):
        sentence = "several names get several values; a line that is read beside a note has one."
        yield Problem(source.path, line, sentence)
    yield from _without_example(source, lessons)


def _note(definition: Definition) -> str:
    return definition.docstring.text if definition.docstring else ""


def _arguments(function: Definition) -> ast.arguments:
    assert not isinstance(function.node, ast.ClassDef)
    return function.node.args


def _unexplained(path: str, constructor: Definition) -> Iterator[Problem]:
    r"""
    Who makes a module has its arguments in hand, and nothing else. The docstring of the constructor
    explains each, or says that the other arguments are those of another page.
    """
    listed = _arguments(constructor)
    several = [one for one in (listed.vararg, listed.kwarg) if one is not None]
    arguments = [*listed.posonlyargs, *listed.args, *listed.kwonlyargs, *several][1:]
    note = _note(constructor)
    missing = [one.arg for one in arguments if f"`{one.arg}`" not in note]
    if missing and not _OTHER_ARGUMENTS.search(note):
        names = ", ".join(f"`{name}`" for name in missing)
        sentence = f"the docstring of `{constructor.name}` doesn't explain {names}."
        yield Problem(path, constructor.line, sentence)


def _without_shapes(path: str, forward: Definition) -> Iterator[Problem]:
    r"""
    Most mistakes with tensors are mistakes of shapes.
    """
    if not _SHAPE.search(_note(forward)):
        sentence = (
            f"the docstring of `{forward.name}` gives no shape: say which go in and come out, such "
            "as `[seq_len, batch_size, d_model]`, or that the shapes are those of another page."
        )
        yield Problem(path, forward.line, sentence)


def _out_of_order(
    path: str, constructor: Definition, class_name: str, lessons: Lessons
) -> Iterator[Problem]:
    r"""
    What can take the place of something else takes its arguments in the same order.
    """
    given = [argument.arg for argument in _arguments(constructor).args]
    short_name = class_name.rpartition(".")[2]
    fitting = (
        entry["order"]
        for entry in lessons.orders
        if fnmatch(short_name, entry.get("of", "*")) and {*entry.get("has", ())} <= {*given}
    )
    order: list[str] = next(fitting, [])
    known = [name for name in given if name in order]
    right = sorted(known, key=order.index)
    if known != right:
        sentence = f"the arguments of `{constructor.name}` have the order {', '.join(right)} here."
        yield Problem(path, constructor.line, sentence)


def joined(tree: ast.AST, allowed: Sequence[str] = ()) -> Iterator[int]:
    r"""
    ## Lines with more than one idea

    A note stands beside the line that it is about. Where one line gives several names several
    values, no note is about it. Two names that change places are one idea.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Tuple):
            continue
        if isinstance(node.value, ast.Tuple):
            names = sorted(map(ast.unparse, node.targets[0].elts))
            is_joined = names != sorted(map(ast.unparse, node.value.elts))
        else:
            is_joined = isinstance(node.value, ast.GeneratorExp | ast.ListComp)
        if is_joined and ast.unparse(node) not in allowed:
            yield node.lineno


def _imported(source: Source, lessons: Lessons) -> Iterator[Problem]:
    r"""
    A reader who copies a lesson needs all that it imports, so that is little. And no lesson imports
    machinery, but for what the table allows: nobody should have to read a program to understand it.
    """
    own = source.path.partition("/")[0]
    allowed = set()
    for pattern, packages in lessons.imports.items():
        allowed |= {*packages} if fnmatch(source.path, pattern) else set()
    for node in source.once(nodes):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        modules = _modules(node)
        strange = [
            module
            for module in modules
            if module.partition(".")[0] not in allowed | {own} | sys.stdlib_module_names
        ]
        if lessons.imports and strange:
            more = ", ".join(f"`{package}`" for package in sorted(allowed))
            sentence = f"imports `{strange[0]}`; beside Python and `{own}`, this page has {more}."
            yield Problem(source.path, node.lineno, sentence)
        programs = [
            one
            for one in modules
            if _is_machinery_elsewhere(one, source.path, lessons)
            and one.partition(".")[0] not in allowed
        ]
        if lessons.has(source.path) and programs:
            sentence = f"imports `{programs[0]}`, which is machinery; a lesson does without it."
            yield Problem(source.path, node.lineno, sentence)


def _modules(node: ast.AST) -> list[str]:
    r"""
    What a statement imports; `from a import b` may import `a.b`.
    """
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def _is_machinery_elsewhere(module: str, importer: str, lessons: Lessons) -> bool:
    r"""
    A page that starts a program lies beside it.
    """
    stem = module.replace(".", "/")
    return any(
        _fits(file, lessons.machinery) and posixpath.dirname(file) != posixpath.dirname(importer)
        for file in (f"{stem}.py", f"{stem}/__init__.py")
    )


def _without_example(source: Source, lessons: Lessons) -> Iterator[Problem]:
    r"""
    Without an example no shape is measured, so no reader sees any and no claim is checked.
    """
    names = {definition.name for definition in source.definitions}
    is_about_tensors = any("Tensor" in line for line in source.names.values())
    if is_about_tensors and not names & _RUN and source.path not in lessons.unmeasured:
        sentence = "has tensors and no `example` that makes some, so no shape is measured."
        yield Problem(source.path, 1, sentence)


def called_the_same(sources: Iterable[Source], lessons: Lessons) -> Iterator[Problem]:
    r"""
    ## Lessons with one title, or one summary

    A reader who searches sees these two, and has to choose.
    """
    first: dict[str, str] = {}
    for source in sources:
        if not _fits(source.path, lessons.pages):
            continue
        for said in (title_of(source), of_source(source)[0].summary):
            other = first.setdefault(said, source.path)
            if said and other != source.path:
                yield Problem(source.path, 1, f"says “{said}” of itself, as {other} does.")

r"""
---
title: Snippet
summary: A definition and all that it needs, in one file that runs by itself.
---

The pieces of the [closure](../python/closure.py) below their imports, as they stand in their files:
what a reader copies is what the page shows. The notes are those of this page; what comes from other
pages is there as code, and the first lines say from where. Without notes it is the same program,
for a project that has notes of its own.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import packages_distributions
from itertools import groupby

from literate.problems import LiterateError, Problem
from literate.python.closure import closure
from literate.python.statements import Import, Piece, take_apart, third_party
from literate.reading.source import Kind, Source, parse
from literate.takeaway.licence import of_file

WIDTH = 100
# The first version of Python that snippets are run on.
PYTHON = "3.11"
# What pip calls the packages that Python imports, of those that are installed.
DISTRIBUTIONS = cache(packages_distributions)
NOTHING: Mapping[str, str] = {}
# How a definition starts.
STARTS = ("@", "async def ", "class ", "def ")


def snippets(
    sources: Mapping[str, Source],
    module: str,
    name: str | None = None,
    licence: str = "",
    installed: Mapping[str, str] = NOTHING,
) -> tuple[str, str]:
    r"""
    ## Write a snippet, with notes and without

    * `sources` are all modules of the package, in reading order
    * `name` is the definition that is wanted; all of the module, if there is none
    * `licence` is that of the [package](licence.py), if that is known
    * `installed` are packages that are [installed by themselves](alone.py#installed)

    Notes are docstrings and comments of the module itself. Raises a
    [LiterateError](../problems.py#LiterateError) where a copy can't do what the original does.
    """
    names = [name] if name else _all_names(sources, module)
    needed = closure(sources, module, names)
    blocks = [
        _script(third_party(needed.outside), installed),
        _header(needed.pieces, sources, module, name, licence),
        import_lines(needed.imports, needed.lazy_annotations),
    ]
    head = "\n".join(block for block in blocks if block)
    noted, bare = [head], [head]
    before: Piece | None = None
    for piece in needed.pieces:
        gap = "\n" * _blank_lines(before, piece, sources)
        code = without(piece.text, "docstring", "comment")
        bare += [gap, code]
        if piece.module == module:
            gap, code = gap + (f"{piece.note}\n" if piece.note else ""), piece.text
        noted += [gap, code]
        before = piece
    return "".join(noted), "".join(bare)


def _all_names(sources: Mapping[str, Source], module: str) -> list[str]:
    if module not in sources:
        return []
    names = list(sources[module].once(take_apart).defined)
    if not names:
        raise LiterateError([Problem(sources[module].path, 1, "defines nothing to copy.")])
    return names


def path_of(module: str, source: Source) -> str:
    r"""
    ## The path of a module from the folder that its package lies in
    """
    folder = module.replace(".", "/")
    return f"{folder}/__init__.py" if source.path.endswith("__init__.py") else f"{folder}.py"


def _script(packages: Iterable[str], installed: Mapping[str, str]) -> str:
    r"""
    What `uv run` and `pipx run` read, in the form of PEP 723: the packages that the file needs. The
    versions of Python are those that this tool runs on itself.
    """
    known = {name: min(DISTRIBUTIONS().get(name, [name])) for name in packages}
    needed = sorted({installed.get(name, one) for name, one in known.items()})
    listed = ", ".join(f'"{name}"' for name in needed)
    lines = ["# /// script", f'# requires-python = ">={PYTHON}"', f"# dependencies = [{listed}]"]
    return "\n".join([*lines, "# ///", ""])


def _header(
    pieces: Iterable[Piece],
    sources: Mapping[str, Source],
    module: str,
    name: str | None,
    licence: str,
) -> str:
    own = path_of(module, sources[module])
    others = dict.fromkeys(piece.module for piece in pieces if piece.module != module)
    paths = [path_of(other, sources[other]) for other in others]
    lines = [f"# {name or 'Everything'} from {own}"]
    lines += [f"# with code from {path}, where its notes are" for path in paths]
    lines += [f"# Licence: {licence}"] if licence else []
    for each in (module, *others):
        rights = of_file(sources[each])
        # Files of one package often say the same.
        if rights and not "\n".join(lines).endswith("\n".join(rights)):
            lines += ["#", *rights]
    return "\n".join([*lines, ""])


def _blank_lines(before: Piece | None, piece: Piece, sources: Mapping[str, Source]) -> int:
    r"""
    Constants that stand together in the file stay together.
    """
    if before is None or before.definition or piece.definition:
        return 2 if before or piece.definition else 1
    lines = sources[piece.module].lines[: piece.line - 1]
    above = lines[-1].kind if lines and not piece.note else "blank"
    return 0 if before.module == piece.module and above == "code" else 1


def import_lines(imports: Iterable[Import], lazy_annotations: bool = False) -> str:
    r"""
    ## Write imports

    Python's own modules first, then the others; in each group whole modules before names, and
    constants before classes before functions. What only type checkers need stays below
    `if TYPE_CHECKING:`.
    """
    wanted = list(imports)
    typing_only = [statement for statement in wanted if statement.typing_only]
    running = {statement for statement in wanted if not statement.typing_only}
    if typing_only:
        running.add(Import("typing", "TYPE_CHECKING", ""))
    groups = ["from __future__ import annotations\n"] if lazy_annotations else []
    for standard in (True, False):
        group = [
            statement
            for statement in sorted(running)
            if (statement.module.partition(".")[0] in sys.stdlib_module_names) == standard
        ]
        groups.append("".join(_import_statements(group)))
    if typing_only:
        inside = "".join(_import_statements(sorted(typing_only))).splitlines(keepends=True)
        groups.append("if TYPE_CHECKING:\n" + "".join(f"    {line}" for line in inside))
    return "\n".join(group for group in groups if group)


def _import_statements(imports: Sequence[Import]) -> Iterator[str]:
    for statement in imports:
        if not statement.name:
            yield f"import {statement.module}" + (
                f" as {statement.alias}\n" if statement.alias else "\n"
            )
    for module, group in groupby(
        (statement for statement in imports if statement.name), lambda statement: statement.module
    ):
        by_kind = sorted(
            group,
            key=lambda statement: (
                not statement.name.isupper(),
                statement.name.islower(),
                statement.name,
            ),
        )
        names = [
            statement.name + (f" as {statement.alias}" if statement.alias else "")
            for statement in by_kind
        ]
        line = f"from {module} import {', '.join(names)}\n"
        if len(line) > WIDTH:
            line = f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")\n"
        yield line


@cache
def without(text: str, *kinds: Kind) -> str:
    r"""
    ## Remove docstrings or comments

    That is, lines of these `kinds`; a comment behind code is a part of its line. What documents an
    assignment goes with the comments. The program stays
    the same: a body that was nothing but its docstring becomes `pass`. Blank lines around a note go
    as well, unless what follows is a definition or stands at the margin.
    """
    source = parse(text)
    documented = [range(one.first, one.last + 1) for one in source.of_attributes.values()]
    stays = set() if "comment" in kinds else {number for lines in documented for number in lines}
    alone = {
        definition.docstring.first
        for definition in source.definitions
        if definition.docstring and len(definition.node.body) == 1
    }
    kept: list[str] = []
    gone: set[Kind] = set()
    for line in source.lines:
        before = kept[-1] if kept else ""
        if line.kind not in kinds or line.number in stays:
            if gone and before == "\n" and line.text.startswith(" "):
                if not line.text.lstrip().startswith(STARTS):
                    kept.pop()
            if line.kind != "blank" or not gone or (before.strip() and "docstring" not in gone):
                kept.append(line.text)
                gone = set()
            continue
        if line.number in alone and line.kind == "docstring":
            kept.append(line.text[: len(line.text) - len(line.text.lstrip())] + "pass\n")
        # What continues a line behind a backslash has to be there, if empty.
        elif before.endswith("\\\n"):
            kept.append("\n")
        gone.add(line.kind)
    return "".join(kept).rstrip("\n") + "\n"

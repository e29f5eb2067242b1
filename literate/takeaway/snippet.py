r"""
---
title: Snippet
summary: A definition and all that it needs, in one file that runs by itself.
---

The pieces of the [closure](../python/closure.py) below their imports, as they stand in their files:
what a reader copies is what the page shows. Without notes it is the same program, for a project
that has notes of its own.
"""

import ast
import io
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from literate.problems import LiterateError, Problem
from literate.python.closure import closure
from literate.python.scopes import Function
from literate.python.statements import Import, Piece, first_line, take_apart
from literate.reading.source import Source

LICENCE = "MIT"
WIDTH = 100


def snippets(
    sources: Mapping[str, Source], module: str, name: str | None = None
) -> tuple[str, str]:
    r"""
    ## Write a snippet, with notes and without

    * `sources` are all modules of the package, in reading order
    * `name` is the definition that is wanted; all of the module, if there is none

    Notes are docstrings and comments. Raises a [LiterateError](../problems.py#LiterateError) where
    a copy can't do what the original does.
    """
    names = [name] if name else _all_names(sources, module)
    found = closure(sources, module, names)
    blocks = [
        _header(found.pieces, sources, module, name),
        import_lines(found.imports, found.lazy_annotations),
    ]
    head = "\n".join(block for block in blocks if block)
    noted, bare = [head], [head]
    before: Piece | None = None
    for piece in found.pieces:
        gap = "\n" * _blank_lines(before, piece, sources)
        noted += [gap, f"{piece.note}\n" if piece.note else "", piece.text]
        bare += [gap, without_notes(piece.text)]
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


def _header(
    pieces: Iterable[Piece], sources: Mapping[str, Source], module: str, name: str | None
) -> str:
    own = path_of(module, sources[module])
    others = dict.fromkeys(piece.module for piece in pieces if piece.module != module)
    lines = [f"# {name or 'Everything'} from {own}"]
    lines += [f"# with what it needs from {path_of(one, sources[one])}" for one in others]
    return "\n".join([*lines, f"# Licence: {LICENCE}", ""])


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
    typing_only = [one for one in wanted if one.typing_only]
    running = {one for one in wanted if not one.typing_only}
    if typing_only:
        running.add(Import("typing", "TYPE_CHECKING", ""))
    groups = ["from __future__ import annotations\n"] if lazy_annotations else []
    for standard in (True, False):
        group = [
            one
            for one in sorted(running)
            if (one.module.partition(".")[0] in sys.stdlib_module_names) == standard
        ]
        groups.append("".join(_import_statements(group)))
    if typing_only:
        inside = "".join(_import_statements(sorted(typing_only))).splitlines(keepends=True)
        groups.append("if TYPE_CHECKING:\n" + "".join(f"    {line}" for line in inside))
    return "\n".join(group for group in groups if group)


def _import_statements(imports: Sequence[Import]) -> Iterator[str]:
    for one in imports:
        if not one.name:
            yield f"import {one.module}" + (f" as {one.alias}\n" if one.alias else "\n")
    for module, group in groupby((one for one in imports if one.name), lambda one: one.module):
        by_kind = sorted(
            group, key=lambda one: (not one.name.isupper(), one.name.islower(), one.name)
        )
        names = [one.name + (f" as {one.alias}" if one.alias else "") for one in by_kind]
        line = f"from {module} import {', '.join(names)}\n"
        if len(line) > WIDTH:
            line = f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")\n"
        yield line


@cache
def without_notes(text: str) -> str:
    r"""
    ## Remove docstrings and comments

    The rest keeps its formatting, and the program stays the same: a body that was nothing but its
    docstring becomes `pass`.
    """
    return _cut(text, [*_docstrings(text), *_comments(text)])


def without_docstrings(text: str) -> str:
    r"""
    ## Remove docstrings

    The comments stay.
    """
    return _cut(text, _docstrings(text))


Position = tuple[int, int]


@dataclass(frozen=True, order=True)
class _Edit:
    r"""
    From a place to a place, each a line and a column in characters, there is something else.
    `is_docstring` tells that what goes had blank lines of its own behind it.
    """

    start: Position
    end: Position
    instead: str
    is_docstring: bool


def _docstrings(text: str) -> Iterator[_Edit]:
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, Function | ast.ClassDef) or ast.get_docstring(node) is None:
            continue
        first, *others = node.body
        start = _position(lines, first.lineno, first.col_offset)
        end = _position(lines, first.end_lineno or 0, first.end_col_offset or 0)
        # In `"""One."""; x = 1` the semicolon goes, too.
        if others and others[0].lineno == end[0]:
            end = _position(lines, first_line(others[0]), others[0].col_offset)
        yield _Edit(start, end, "" if others else "pass", True)


def _position(lines: Sequence[str], line: int, column: int) -> Position:
    r"""
    `ast` counts columns in bytes of UTF-8.
    """
    return line, len(lines[line - 1].encode()[:column].decode())


def _comments(text: str) -> Iterator[_Edit]:
    in_strings = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        # Since Python 3.12 an f-string can have comments, and `{x = # like this` shows them.
        kind = tokenize.tok_name[token.type]
        in_strings += kind.endswith("STRING_START") - kind.endswith("STRING_END")
        if token.type == tokenize.COMMENT and not in_strings:
            yield _Edit(token.start, token.end, "", False)


def _cut(text: str, edits: Iterable[_Edit]) -> str:
    r"""
    A line that is left with nothing goes. So do the blank lines behind it, where blank lines before
    it do their work, and those behind a docstring.
    """
    lines = text.split("\n")
    gone: dict[int, bool] = {}
    # From the end, so that the places of the edits before stay right.
    for edit in sorted(edits, reverse=True):
        (first, start), (last, end) = edit.start, edit.end
        line = (lines[first - 1][:start] + edit.instead + lines[last - 1][end:]).rstrip()
        lines[first - 1] = line
        gone.update(dict.fromkeys(range(first + 1, last + 1), edit.is_docstring))
        # What continues a line behind a backslash has to be there, if empty.
        if not line and not (first > 1 and lines[first - 2].endswith("\\")):
            gone[first] = edit.is_docstring
    kept: list[str] = []
    after_gap = after_docstring = False
    for number, line in enumerate(lines, start=1):
        if number in gone:
            after_gap = True
            after_docstring |= gone[number]
        elif line or not after_gap or (kept and kept[-1] and not after_docstring):
            kept.append(line)
            after_gap = after_docstring = False
    return "\n".join(kept).rstrip("\n") + "\n"

r"""
---
title: Namesakes
summary: Two classes or functions of one name, from two modules, get two names in a copy.
---

Everybody calls attention `MultiHeadAttention`. In a package that is no trouble: each module has
its own, and whoever wants both imports one under another name. In a copy there are no modules, and
a name stands for one thing. So one of the classes keeps its name, and the other is called after its
module as well: “MultiHeadAttention_of_mha”. Functions likewise.

The new name stands wherever the code means that definition, and nothing else changes: no line is
added, and notes stay as they are. Where a name can't be exchanged, because it stands in a string or
in a `global`, it stays, and the [closure](closure.py) says that the two can't be copied.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from literate.names import Use
from literate.order import Found, Needs
from literate.pieces import Piece

# A module and the name of a definition in it, and the name that it gets.
NewNames = dict[tuple[str, str], str]


def told_apart(needs: Needs, rank: Callable[[Piece], Any]) -> Needs:
    r"""
    ## Give namesakes names of their own

    Of several definitions with one name that keeps it whose `rank` is the lowest. Returns the same
    needs, in which names and texts are the new ones.
    """
    new = _new_names(needs, rank)
    for piece, uses_found in needs.items():
        for use, found in uses_found:
            there = [_key(one) in new for one in found]
            if any(there) and not (all(there) and _can_exchange(piece, use)):
                for one in found:
                    new.pop(_key(one), None)
    if not new:
        return needs

    changed = {piece: _renamed(piece, needs, new) for piece in needs}
    return {
        changed[piece]: [
            (
                replace(use, name=new.get(_key(found[0]) if found else ("", ""), use.name)),
                [changed[one] if isinstance(one, Piece) else one for one in found],
            )
            for use, found in uses_found
        ]
        for piece, uses_found in needs.items()
    }


def _new_names(needs: Needs, rank: Callable[[Piece], Any]) -> NewNames:
    owners: dict[str, str] = {}
    new: NewNames = {}
    for piece in sorted((one for one in needs if _has_name_of_its_own(one)), key=rank):
        (name,) = piece.names
        if owners.setdefault(name, piece.module) == piece.module:
            continue
        better = f"{name}_of_{piece.module.rpartition('.')[2]}"
        free = all(better not in one.text for one in needs) and better not in new.values()
        again = [one for one in needs if one.module == piece.module and name in one.names]
        if free and again == [piece] and _place_of_name(piece) is not None:
            new[piece.module, name] = better
    return new


def _has_name_of_its_own(piece: Piece) -> bool:
    return isinstance(piece.definition, ast.ClassDef | ast.FunctionDef)


def _key(found: Found) -> tuple[str, str]:
    return (found.module, found.names[0]) if isinstance(found, Piece) else ("", "")


def _renamed(piece: Piece, needs: Needs, new: Mapping[tuple[str, str], str]) -> Piece:
    uses = ((use, new.get(_key(found[0]))) for use, found in needs[piece] if found)
    exchanged = [(use, name) for use, name in uses if name]
    if piece.renames:
        for _, name in exchanged:
            text = f"{piece.names[0]} = {name}\n"
            return replace(piece, renames=name, text=text, statements=tuple(ast.parse(text).body))
        return piece
    edits = {(use.line - piece.line, use.column, use.name, name) for use, name in exchanged}
    names = piece.names
    place = _place_of_name(piece) if _key(piece) in new else None
    if place is not None:
        edits.add((*place, piece.names[0], new[_key(piece)]))
        names = (new[_key(piece)],)
    return replace(piece, names=names, text=_edited(piece.text, edits)) if edits else piece


def _place_of_name(piece: Piece) -> tuple[int, int] | None:
    r"""
    Where a definition has its name: the row of the text, and the byte of the row. Nowhere, if the
    name is not on the line of the word `class` or `def`.
    """
    assert piece.definition is not None
    row = piece.definition.lineno - piece.line
    line = piece.text.encode().split(b"\n")[row]
    column = line.find(piece.names[0].encode(), line.find(b" ") + 1)
    return (row, column) if column > 0 else None


def _can_exchange(piece: Piece, use: Use) -> bool:
    if piece.renames:
        return True
    line = piece.text.encode().split(b"\n")[use.line - piece.line]
    return use.column >= 0 and line[use.column :].startswith(use.name.encode())


def _edited(text: str, edits: Iterable[tuple[int, int, str, str]]) -> str:
    lines = text.encode().split(b"\n")
    for row, column, old, new in sorted(edits, reverse=True):
        line = lines[row]
        lines[row] = line[:column] + new.encode() + line[column + len(old.encode()) :]
    return b"\n".join(lines).decode()

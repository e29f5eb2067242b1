r"""
---
title: Shapes of lines
summary: What stands at the end of a line of code, and what a reader who points at it is told.
---

The end of a line has room for a few letters. So a shape stands there once: a line whose name had
the same shape before shows nothing. A line that had three shapes, in a loop or in several calls,
shows the first one and `(+2)`. A line that made more tensors than it has room for ends in “…”.
Point at it to read all of them, with the full names of their axes and what the sign means; a screen
reader reads that too.

The shape of attention scores has four axes: `seq_len_q`, `seq_len_k`, `batch_size` and `heads`. In
full it is longer than most lines of code. In letters it is `i j b h`, and fits at the end of the
line. The letters are those that people write in an `einsum`; a legend on the page has their names.
Where the page has an `einsum` of its own, its letters are shown: scores of a sequence with itself
are `i j b h` there, too, though both axes are `seq_len`.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from string import ascii_lowercase

from literate.measuring.measure import Measurement
from literate.reading.source import Source

# So many characters of code, with two blanks and a shape, fit the column of code.
WIDTH = 90
# A longer line is broken. So much of its first line may then be taken by a shape.
BROKEN = 24

_NAME = re.compile(r"[^\W\d]\w*")

# The letters that most papers and programs use. Where a name isn't here, its own letters are tried.
USUAL = {
    "seq_len": "i",
    "seq_len_q": "i",
    "seq_len_k": "j",
    "batch_size": "b",
    "heads": "h",
    "d_k": "d",
    "d_model": "m",
    "n_vocab": "v",
}

# The axes of a tensor in all that a line was seen to do.
Shapes = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Written:
    r"""
    ## The letters of a result, as the code of its line has them

    One letter for each of its axes. An axis without a name is its length: `3` says more.
    """

    letters: str
    axes: tuple[str, ...]

    @property
    def names(self) -> dict[str, str]:
        r"""
        ### What the letters stand for
        """
        pairs = zip(self.letters, self.axes, strict=True)
        return {letter: axis for letter, axis in pairs if _NAME.fullmatch(axis)}


@dataclass(frozen=True)
class Shape:
    r"""
    ## What a line shows

    * `short` stands at its end, in letters; it is empty if there is no room at all
    * `full` has every shape with the names of its axes, one tensor a line, and what the signs mean
    """

    short: str
    full: str


class PageShapes:
    r"""
    ## The shapes of a page

    * `lines` holds what each line shows, if it shows anything
    * `legend` has the letters in them with the names that they stand for. Two letters may stand for
      one name
    """

    def __init__(self, source: Source, measurement: Measurement) -> None:
        self._source = source
        # What was last shown of each name, by the definition that it stands in.
        self._known: dict[tuple[str, str], Shapes] = {}
        new = dict(self._new(measurement))
        shown = {
            name
            for tensors in new.values()
            for shapes in tensors.values()
            for shape in shapes
            for axis in shape
            for name in _NAME.findall(axis)
        }
        self._written = dict(_written(source.tree, new))
        # The letters by the names that they stand for. Only the line of an einsum may have others.
        self._letters = letters(
            (name for name in measurement.axes if name in shown), self._written.values()
        )
        self.legend = {letter: name for name, letter in self._letters.items()}
        self.lines = {number: self._shape(number, tensors) for number, tensors in new.items()}

    def _new(self, measurement: Measurement) -> Iterator[tuple[int, dict[str, Shapes]]]:
        r"""
        The lines with a shape that is new there.
        """
        returned = _returned(self._source.tree)
        for number, tensors in sorted(measurement.lines.items()):
            definition = self._source.definition_at(number)
            scope = definition.name if definition else ""
            by_name: dict[str, list[tuple[str, ...]]] = {}
            for tensor in tensors:
                by_name.setdefault(tensor.name, []).append(tensor.axes)
            new = {}
            for name, axes in by_name.items():
                shapes = tuple(dict.fromkeys(axes))
                # What is returned may be a variable whose shape has been told.
                place = (scope, returned.get(number, name))
                if not set(shapes) <= set(self._known.get(place, ())):
                    new[name] = self._known[place] = shapes
            if new:
                yield number, new

    def _shape(self, number: int, tensors: dict[str, Shapes]) -> Shape:
        r"""
        A line that begins with the name of its one tensor need not name it again. A result has an
        arrow. Of several tensors, those that there is no room for are left out.
        """
        code = self._source.lines[number - 1].text.strip("\r\n")
        groups: dict[Shapes, list[str]] = {}
        for name, shapes in tensors.items():
            groups.setdefault(shapes, []).append(name)
        parts = []
        for shapes, names in groups.items():
            more = f" (+{len(shapes) - 1})" if len(shapes) > 1 else ""
            shape = f"{self._in_letters(number, shapes[0])}{more}"
            labels = ", ".join(map(_label, names))
            alone = len(tensors) == 1 and code.strip().startswith(labels)
            parts.append(shape if alone else f"{labels} {shape}")
        # One that just fits must not be broken for its shape.
        room = WIDTH - len(code) - 2
        room = BROKEN if room < -2 else room
        for kept in range(len(parts), -1, -1):
            shown = " · ".join([*parts[:kept], *(["…"] if kept < len(parts) else [])])
            if len(shown) <= room:
                return Shape(shown, "\n".join([_full(tensors), *_signs(shown)]))
        return Shape("", _full(tensors))

    def _in_letters(self, number: int, shape: tuple[str, ...]) -> str:
        r"""
        The letters of an einsum are shown on its line, unless one of them stands for another name.
        """
        written = self._written.get(number)
        if written and written.axes == shape:
            names = written.names
            if all(self.legend.get(letter, name) == name for letter, name in names.items()):
                self.legend |= names
                return " ".join(
                    letter if letter in names else short([axis], self._letters)
                    for letter, axis in zip(written.letters, shape, strict=True)
                )
        return short(shape, self._letters)


def _label(name: str) -> str:
    for result in ("return", "yield"):
        if name == result or name.startswith((f"{result}[", f"{result}.")):
            return f"→{name.removeprefix(result)}"
    return name


def _full(tensors: dict[str, Shapes]) -> str:
    return "\n".join(
        f"{name}: " + " or ".join(f"[{', '.join(shape)}]" for shape in shapes)
        for name, shapes in tensors.items()
    )


def _signs(shown: str) -> Iterator[str]:
    r"""
    What the signs in a shape mean, a sentence each.
    """
    for more in sorted(set(re.findall(r"\(\+(\d+)\)", shown)), key=int):
        shapes = "one more shape" if more == "1" else f"{more} more shapes"
        yield f"(+{more}): in other calls, or other rounds of a loop, there was {shapes}."
    if "…" in shown:
        yield "…: the line made more tensors than there is room for."


def _returned(tree: ast.Module) -> dict[int, str]:
    r"""
    The names that are returned just so, by line.
    """
    return {
        node.lineno: node.value.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Name)
    }


def _written(
    tree: ast.Module, lines: Mapping[int, Mapping[str, Shapes]]
) -> Iterator[tuple[int, Written]]:
    r"""
    What each line says that is one einsum: `x = einsum("ij,jk->ik", a, b)`, or that is returned; it
    may be scaled.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign | ast.Return) or len(lines.get(node.lineno, ())) != 1:
            continue
        match node.value.left if isinstance(node.value, ast.BinOp) else node.value:
            case ast.Call(
                func=ast.Attribute(attr="einsum") | ast.Name(id="einsum"),
                args=[ast.Constant(value=str(equation)), *_],
            ):
                result = equation.partition("->")[2].strip()
                ((axes, *_),) = lines[node.lineno].values()
                if len(result) == len(axes):
                    yield node.lineno, Written(result, axes)


def letters(names: Iterable[str], written: Iterable[Written] = ()) -> dict[str, str]:
    r"""
    ## A letter for each name

    Earlier names choose first. A name that is one letter keeps it. When the alphabet is used up, a
    name stands for itself. Letters that are `written` on the page are for the names that they stand
    for there.
    """
    names = list(names)
    letters = {name: name for name in names if len(name) == 1}
    taken: dict[str, str] = {}
    for one in written:
        if all(taken.get(letter, name) == name for letter, name in one.names.items()):
            taken |= one.names
    # The usual letters come before any other choice: `d_model` must not take the letter of `d_k`.
    usual = [(name, USUAL[name]) for name in names if name in USUAL]
    for name, letter in [*usual, *((name, letter) for letter, name in taken.items())]:
        if letter not in letters.values() and taken.get(letter, name) == name and name in names:
            letters.setdefault(name, letter)
    for name in names:
        # The first letters of its words, its other letters, any letter.
        initials = "".join(word[:1] for word in name.split("_"))
        choices = [*(initials + name).lower(), *ascii_lowercase]
        free = (
            choice
            for choice in choices
            if choice in ascii_lowercase and choice not in {*letters.values(), *taken}
        )
        letters.setdefault(name, next(free, name))
    return {name: letters[name] for name in names}


def short(axes: Iterable[str], known: Mapping[str, str]) -> str:
    r"""
    ## A shape in letters

    The axes `seq_len`, `2*d_k` and `3` are `i 2d 3`. A tensor without axes is called a scalar.
    """
    shape = [_NAME.sub(lambda name: known[name[0]], axis).replace("*", "") for axis in axes]
    return " ".join(shape) or "scalar"

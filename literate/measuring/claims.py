r"""
---
title: Claims
summary: A shape that a note speaks of must be a shape that was measured.
---

Inline code that is a list of axes is a *claim*: here is a tensor of this shape.

```
[seq_len, batch_size, heads * d_k]
```

It is compared with what was [measured](measure.py) by its sizes in all runs, so it may be written
in any way that comes to the same.

What it is compared with depends on where it stands. A comment speaks of the code beside it, a
docstring of what goes into a function and comes out.
"""

import ast
import operator
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import EllipsisType

from literate.measuring.axes import Sizes, example_of
from literate.measuring.measure import Measurement, Tensor
from literate.problems import Problem
from literate.reading.rows import Row
from literate.reading.source import Source

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}

# The kind of a problem: a list of names in a note may be no shape at all.
UNMEASURED = "shapes in notes are not measured"
# A sentence that tells more shapes than this tells nothing.
MOST_SHAPES = 3


@dataclass(frozen=True)
class Claim:
    r"""
    ## A claim

    * `text` is the list, on one line
    * `axes` are its elements; an ellipsis stands for any number of axes
    """

    text: str
    axes: tuple[ast.expr | EllipsisType, ...] = field(repr=False, compare=False)

    @property
    def names(self) -> list[str]:
        r"""
        ### The names in it, each once
        """
        nodes = [node for axis in self.axes if axis is not ... for node in ast.walk(axis)]
        return list(dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name)))


class Claims:
    r"""
    ## The claims of a page

    `problems` are those that turned out wrong so far. If the example has `failed`, that is told
    already, and nothing is known of them.
    """

    def __init__(
        self, source: Source, measurement: Measurement | None, failed: bool = False
    ) -> None:
        self._source, self._measurement, self._failed = source, measurement, failed
        self.problems: list[Problem] = []

    def holds(self, code: str, line: int, row: Row) -> bool | None:
        r"""
        ### Does inline code hold?

        It stands in a line of the note of a row. None, if it is no claim.
        """
        claim = parse(code)
        if claim is None:
            return None
        measured, kind = self._measurement, ""
        if measured is None and self._failed:
            return False
        if measured is None:
            why = "the module has no example() to measure it by."
            if self._source.once(example_of):
                why = "its example() was not run: `examples` in tool.literate must name the page, "
                why += "and PyTorch must be installed."
            wrong: str | None = f"the note says {code}, but {why}"
            kind = UNMEASURED
        else:
            tensors = tensors_for(row, self._source, measured)
            wrong = check(claim, tensors, measured.axes)
        if wrong is not None:
            self.problems.append(Problem(self._source.path, line, wrong, kind))
        return wrong is None


def parse(code: str) -> Claim | None:
    r"""
    ## Is this inline code a claim?

    It is if it is a list with at least one name, and otherwise only names, whole numbers, `+`, `-`,
    `*`, `//` and `...`; else the result is None. Nothing is evaluated.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code.strip(), mode="eval").body
        if not isinstance(tree, ast.List) or not all(map(_is_axis, tree.elts)):
            return None
        axes = tuple(... if _is_ellipsis(element) else element for element in tree.elts)
        claim = Claim(" ".join(code.split()), axes)
        # A lone word with a capital, such as [CLS] or [SetPosition], is a token.
        is_token = claim.text[1].isupper() and len(axes) == 1
        return claim if claim.names and not is_token else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def check(claim: Claim, tensors: Sequence[Tensor], axes: Mapping[str, Sizes]) -> str | None:
    r"""
    ## What is wrong with a claim

    `tensors` are those that the claim may speak of, and `axes` the sizes of the names in it. The
    result is None if one of the tensors has this shape, and otherwise a sentence that says what
    was measured instead, the most similar first.
    """
    says = f"the note says {claim.text}"
    unknown = [f"`{name}`" for name in claim.names if name not in axes]
    if unknown:
        known = ", ".join(f"`{name}`" for name in axes) or "none"
        are = "is no axis" if len(unknown) == 1 else "are no axes"
        return f"{says}: {' and '.join(unknown)} {are} of example(); its axes are {known}."
    if not tensors:
        return f"{says}, but no tensor is bound or returned in its row; does example() run it?"
    try:
        wanted = [axis if axis is ... else _sizes(axis, axes) for axis in claim.axes]
    except (ArithmeticError, RecursionError) as error:
        return f"{says}, which can't be computed: {error}."
    if any(_fits(wanted, list(zip(*tensor.sizes, strict=True))) for tensor in tensors):
        return None
    return f"{says}, measured {_most_similar(wanted, tensors)}."


def tensors_for(row: Row, source: Source, measurement: Measurement) -> tuple[Tensor, ...]:
    r"""
    ## What a note may speak of

    * a comment of what the code of its row binds and returns, and of the arguments of a `def` in it
    * the docstring of a function of its arguments and results, and that of `__init__` also of what
      the class has
    * the docstring of a class of what the class has, and of arguments and results of its methods
    * the docstring of the module of everything
    """
    if row.note is None:
        return ()
    lines, functions = measurement.lines, measurement.functions
    if row.note.kind == "comment":
        return _distinct(lines.get(line.number, ()) for line in row.code)
    if row.documents is None:
        return _distinct([*lines.values(), *functions.values()])
    name = row.documents.name
    if row.documents.kind == "class":
        inside = [inner for inner in functions if f"{inner}.".startswith(f"{name}.")]
        return _distinct(functions[inner] for inner in inside)
    owner, _, last = name.rpartition(".")
    spoken_of = [name, owner] if last == "__init__" else [name]
    return _distinct(functions.get(spoken, ()) for spoken in spoken_of)


def _is_axis(node: ast.expr) -> bool:
    return _is_ellipsis(node) or _is_arithmetic(node)


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _is_arithmetic(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return type(op) in OPERATORS and _is_arithmetic(left) and _is_arithmetic(right)
        case ast.Constant(value=value):
            # True is an int, too.
            return type(value) is int
    return isinstance(node, ast.Name)


def _sizes(node: ast.expr, axes: Mapping[str, Sizes]) -> Sizes:
    r"""
    What an axis comes to, in each run.
    """
    if isinstance(node, ast.BinOp):
        compute = OPERATORS[type(node.op)]
        left, right = _sizes(node.left, axes), _sizes(node.right, axes)
        return tuple(map(compute, left, right))
    if isinstance(node, ast.Name):
        return axes[node.id]
    assert isinstance(node, ast.Constant) and isinstance(node.value, int)
    # A claim has at least one name, and so there is at least one axis.
    return (node.value,) * len(next(iter(axes.values())))


def _fits(wanted: Sequence[Sizes | EllipsisType], sizes: Sequence[Sizes]) -> bool:
    if not wanted:
        return not sizes
    first, *others = wanted
    if first is ...:
        return any(_fits(others, sizes[start:]) for start in range(len(sizes) + 1))
    return bool(sizes) and first == sizes[0] and _fits(others, sizes[1:])


def _most_similar(wanted: Sequence[Sizes | EllipsisType], tensors: Iterable[Tensor]) -> str:
    r"""
    The shapes that were measured: first those with the right number of axes, and of these those
    with the fewest wrong ones.
    """
    fixed = [size for size in wanted if size is not ...]
    is_open = len(fixed) < len(wanted)

    def difference(tensor: Tensor) -> tuple[int, int]:
        sizes = list(zip(*tensor.sizes, strict=True))
        missing = len(fixed) - len(sizes)
        wrong = Counter(fixed) - Counter(sizes)
        return max(missing, 0) if is_open else abs(missing), wrong.total()

    shapes: dict[str, str] = {}
    for tensor in sorted(tensors, key=difference):
        shapes.setdefault(f"[{', '.join(tensor.axes)}]", tensor.name)
    return ", ".join(f"{shape} ({name})" for shape, name in list(shapes.items())[:MOST_SHAPES])


def _distinct(groups: Iterable[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    return tuple(dict.fromkeys(tensor for group in groups for tensor in group))

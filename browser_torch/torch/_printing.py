r"""Tensors as text, as PyTorch prints them."""

import math
from typing import Any

from torch._dtypes import COMPLEX, FLOATING, Default, bool_, float32, int64
from torch._raw import numbers
from torch._tensor import Tensor, alias_of


class _Options:
    precision = 4
    threshold = 1000
    edge_items = 3
    line_width = 80
    scientific: bool | None = None


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    r"""How tensors are printed from now on."""
    _Options.precision = _Options.precision if precision is None else precision
    _Options.threshold = _Options.threshold if threshold is None else threshold
    _Options.edge_items = _Options.edge_items if edgeitems is None else edgeitems
    _Options.line_width = _Options.line_width if linewidth is None else linewidth
    _Options.scientific = sci_mode


class _Format:
    r"""How wide a number is, and in which of three ways all of them are written."""

    def __init__(self, values: list[Any], floating: bool) -> None:
        self.floating, self.whole, self.scientific = floating, False, False
        self.width = 1
        if not floating:
            self.width = max((len(str(value)) for value in values), default=1)
            return
        sizes = [abs(value) for value in values if value and math.isfinite(value)]
        if not sizes:
            self.whole = True
            return
        largest, smallest = max(sizes), min(sizes)
        self.whole = all(size == math.ceil(size) for size in sizes)
        ratio = largest / smallest
        if self.whole:
            self.scientific = ratio > 1000 or largest > 1e8
        else:
            self.scientific = ratio > 1000 or largest > 1e8 or smallest < 1e-4
        if _Options.scientific is not None:
            self.scientific = _Options.scientific
        finite = [value for value in values if value and math.isfinite(value)]
        self.width = max(len(self.text(value)) for value in finite)

    def text(self, value: Any) -> str:
        r"""One number."""
        if not self.floating:
            return str(value)
        if not math.isfinite(value):
            return str(value)
        if self.scientific:
            return f"{value:.{_Options.precision}e}"
        if self.whole:
            return f"{value:.0f}."
        return f"{value:.{_Options.precision}f}"

    def padded(self, value: Any) -> str:
        r"""One number, as wide as the widest."""
        return self.text(value).rjust(self.width)


def _shown(tensor: Tensor) -> list[Any]:
    r"""The elements that are printed, which decide how."""
    part = tensor
    if tensor.numel() > _Options.threshold:
        for axis, size in enumerate(tensor.shape):
            if size > 2 * _Options.edge_items:
                head = part.narrow(axis, 0, _Options.edge_items)
                tail = part.narrow(axis, size - _Options.edge_items, _Options.edge_items)
                from torch._joining import cat

                part = cat([head, tail], axis)
    return numbers(part)


def _rows(tensor: Tensor, indent: int, how: _Format, summarise: bool) -> str:
    if not tensor.shape:
        return how.padded(numbers(tensor)[0])
    edge, size = _Options.edge_items, tensor.shape[0]
    short = summarise and size > 2 * edge
    if len(tensor.shape) == 1:
        return _row(numbers(tensor), indent, how, short)
    places = [*range(edge), None, *range(size - edge, size)] if short else list(range(size))
    parts = [
        "..." if place is None else _rows(tensor[place], indent + 1, how, summarise)
        for place in places
    ]
    between = "," + "\n" * (len(tensor.shape) - 1) + " " * (indent + 1)
    return "[" + between.join(parts) + "]"


def _row(values: list[Any], indent: int, how: _Format, short: bool) -> str:
    edge = _Options.edge_items
    shown: list[str]
    if short:
        shown = [how.padded(one) for one in values[:edge]]
        shown += [" ..."] + [how.padded(one) for one in values[-edge:]]
    else:
        shown = [how.padded(one) for one in values]
    per_line = max(1, (_Options.line_width - indent) // (how.width + 2))
    lines = [", ".join(shown[start : start + per_line]) for start in range(0, len(shown), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


class _ComplexFormat:
    r"""The real and the imaginary part, each in its own way."""

    def __init__(self, values: list[complex]) -> None:
        self.real = _Format([value.real for value in values], floating=True)
        self.imaginary = _Format([value.imag for value in values], floating=True)
        self.width = self.real.width + self.imaginary.width + 1

    def padded(self, value: complex) -> str:
        r"""One number, as wide as the widest."""
        imaginary = self.imaginary.text(value.imag)
        sign = "" if imaginary[0] in "+-" else "+"
        return f"{self.real.padded(value.real)}{sign}{imaginary}j"


def text_of(tensor: Tensor) -> str:
    r"""`tensor([…])`, with whatever is not as usual."""
    prefix, plain = "tensor(", alias_of(tensor)
    d = tensor.dtype
    more = []
    if not plain.numel():
        body = "[]"
        if len(tensor.shape) != 1:
            more.append(f"size={tuple(tensor.shape)}")
    else:
        if d.kind == FLOATING and d.work is not d:
            plain = plain.to(d.work)
        summarise = plain.numel() > _Options.threshold
        shown = _shown(plain)
        how: Any = (
            _ComplexFormat(shown) if d.kind == COMPLEX else _Format(shown, d.kind == FLOATING)
        )
        body = _rows(plain, len(prefix), how, summarise)
    usual = d in (Default.dtype, int64, bool_) or d.name == "complex64" and Default.dtype is float32
    if not usual or not plain.numel() and d is not Default.dtype:
        more.append(f"dtype={d}")
    if tensor._node is not None:
        more.append(f"grad_fn=<{tensor._node.name()}>")
    elif tensor.requires_grad:
        more.append("requires_grad=True")
    return _with_more(prefix + body, more, len(prefix)) + ")"


def _with_more(text: str, more: list[str], indent: int) -> str:
    r"""What is not as usual, on a line of its own if there is no room."""
    length = len(text) - text.rfind("\n") + 1
    for one in more:
        if length + len(one) + 2 > _Options.line_width:
            text += ",\n" + " " * indent + one
            length = indent + len(one)
        else:
            text += ", " + one
            length += len(one) + 2
    return text


def _format(self: Tensor, spec: str) -> str:
    if not self.shape and spec:
        return format(self.item(), spec)
    if not self.shape and self.__class__ is Tensor:
        return str(self.item())
    if spec:
        raise TypeError("unsupported format string passed to Tensor.__format__")
    return repr(self)


Tensor.__repr__, Tensor.__format__ = text_of, _format

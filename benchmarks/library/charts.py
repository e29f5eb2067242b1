r"""Charts and pictures, as `record.write` takes them: they are drawn when a page shows them."""

from collections.abc import Iterable, Sequence
from typing import Any

Axis = dict[str, Any]
Line = dict[str, Any]
Figure = dict[str, Any]


def axis(
    title: str,
    unit: str | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
    scale: str | None = None,
) -> Axis:
    r"""
    An axis of a chart.

    * `title` stands beside it, and `unit` in parentheses after that
    * `low` and `high` are its ends; without them, those of the lines
    * `scale` is "linear", if it isn't given, or "log"
    """
    given = {"title": title, "unit": unit, "low": low, "high": high, "scale": scale}
    return {name: value for name, value in given.items() if value is not None}


def line(name: str, points: Iterable[Sequence[float]]) -> Line:
    r"""A line through points, each of which is a pair of x and y."""
    return {"name": name, "points": [list(one) for one in points]}


def line_chart(title: str, *, x: Axis, y: Axis, lines: Iterable[Line]) -> Figure:
    r"""Lines over two axes."""
    return {"title": title, "x": x, "y": y, "lines": list(lines)}


def picture(title: str, drawing: str) -> Figure:
    r"""A drawing that has no numbers: the text of an SVG file."""
    return {"title": title, "picture": drawing}

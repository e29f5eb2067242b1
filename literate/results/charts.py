r"""
---
title: Charts
summary: The lines of a result, drawn over two axes from the numbers that its file has.
---

A chart is drawn when a page is written, with [Matplotlib](drawing.py): its file holds nothing but
numbers, so a change of how charts look changes no result.
"""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import cycle
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from literate.results.drawing import DASHES, INK, LINES, MARKS, new, svg

# Of the names of lines, so many rows have room, and each further one takes so many inches.
FEW_ROWS = 5
HEIGHT_OF_ROW = 0.25
# So many powers of ten stand beside each other, with all their zeros.
MOST_POWERS = 7


def chart(figure: Mapping[str, Any], name: str) -> str:
    r"""
    ## Draw a chart

    The SVG of a figure's `lines` over its axes `x` and `y`, as a [file](files.py) has them. `name`
    makes its ids its own.
    """
    drawn, (axes,) = new(6.4, 4.2)
    _draw_lines(axes, figure["lines"])
    for side in "xy":
        values = [point["xy".index(side)] for line in figure["lines"] for point in line["points"]]
        _draw_axis(axes, side, figure[side], sorted(set(values)))
    axes.tick_params(labelsize=12)
    axes.grid(color=INK, alpha=0.12, linewidth=0.8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    _mark_what_lies_beyond(axes, figure["lines"])
    if len(figure["lines"]) > 1:
        _name_lines(drawn)
    return svg(drawn, name).replace(">", f"><desc>{escape(_described(figure))}</desc>", 1)


def _draw_lines(axes: Axes, lines: Sequence[Mapping[str, Any]]) -> None:
    looks = zip(cycle(LINES), cycle(DASHES), cycle(MARKS), strict=False)
    for line, (colour, dashes, mark) in zip(lines, looks, strict=False):
        # A line of many points is marked at a few of them, and dashes would be lost in it.
        many = len(line["points"]) > 200
        axes.plot(
            *zip(*line["points"], strict=True),
            color=colour,
            label=line["name"],
            linestyle="-" if many else dashes,
            linewidth=1.0 if many else 1.6,
            marker=mark,
            markersize=4.5,
            markevery=max(1, len(line["points"]) // 16),
        )


def _draw_axis(axes: Axes, side: str, axis: Mapping[str, Any], measured: Sequence[float]) -> None:
    r"""
    Its title, its ends and the numbers at it, by the values that were `measured`.
    """
    title = f"{axis['title']} ({axis['unit']})" if axis.get("unit") else axis["title"]
    getattr(axes, f"set_{side}label")(title, fontsize=12)
    getattr(axes, f"set_{side}scale")(axis.get("scale", "linear"))
    getattr(axes, f"set_{side}lim")(axis.get("low"), axis.get("high"))
    ticks = getattr(axes, f"{side}axis")
    if axis.get("scale") == "log":
        # Powers have small exponents, which nobody reads on a phone: plain numbers instead.
        ticks.set_major_locator(LogLocator(numticks=MOST_POWERS))
        ticks.set_major_formatter(lambda value, _: plain(value))
        ticks.set_minor_formatter("")
        if len(measured) <= 6:
            ticks.set_ticks(measured)
    elif all(isinstance(one, int) for one in measured):
        # There is no layer 2.5.
        ticks.get_major_locator().set_params(integer=True)
        ticks.set_major_formatter(lambda value, _: plain(value))


def _name_lines(drawn: Figure) -> None:
    r"""
    The names of the lines, in two columns where both fit beside each other.
    """
    for columns in (2, 1):
        names = drawn.legend(loc="outside upper left", frameon=False, fontsize=12, ncols=columns)
        if names.get_window_extent().width <= drawn.bbox.width:
            break
        if columns == 2:
            names.remove()
    # A long list leaves the lines as much room as a short one.
    rows = -(-len(names.get_texts()) // columns)
    drawn.set_figheight(drawn.get_figheight() + HEIGHT_OF_ROW * max(0, rows - FEW_ROWS))


def plain(value: float) -> str:
    r"""
    ## A number as people write it

    Thousands stand apart, and of a measured number there are four digits. Only what is smaller than
    a ten-thousandth has a power of ten, as a program writes it: zeros are hard to count.
    """
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if value and abs(value) < 0.9999e-4:
        digits, power = f"{value:.3e}".split("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    return f"{float(f'{value:.4g}'):.8f}".rstrip("0").rstrip(".")


def _mark_what_lies_beyond(axes: Axes, lines: Sequence[Mapping[str, Any]]) -> None:
    r"""
    An arrow at the edge, with the value, for each point that lies above or below the ends that a
    figure gives its axis: a point that is left out in silence looks as if it weren't there.
    """
    low, high = axes.get_ylim()
    for line, colour in zip(lines, cycle(LINES), strict=False):
        for x, y in line["points"]:
            if low <= y <= high:
                continue
            above = y > high
            edge, arrow = (high, "^") if above else (low, "v")
            axes.plot([x], [edge], arrow, color=colour, markersize=8, clip_on=False)
            axes.annotate(
                plain(float(f"{y:.4g}")),
                (x, edge),
                (0, 8 if above else -8),
                textcoords="offset points",
                fontsize=11,
                ha="center",
                va="bottom" if above else "top",
            )


def _described(figure: Mapping[str, Any]) -> str:
    r"""
    The lines in words: where each begins and ends.
    """
    ways = []
    for line in figure["lines"]:
        (first, begin), (last, end) = line["points"][0], line["points"][-1]
        ways.append(f"{line['name']}: from {begin:.4g} at {first:.4g} to {end:.4g} at {last:.4g}.")
    return f"{figure['y']['title']} against {figure['x']['title']}. {' '.join(ways)}"

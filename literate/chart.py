r"""
---
title: Charts
summary: Lines on two scales, drawn when the site is built.
---

A chart of measurements needs little: two scales, some lines, and their names. Drawn as SVG in the
page itself, it needs no script, takes its colours from the style sheet, in the dark too, and stays
sharp on any screen. So this module draws it, and nothing has to be installed.

Lines differ by colour, by dashes and by the marks on them: any one of these is enough.
"""

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from literate.highlight import told
from literate.results import Axis, Figure, Line

# In units of the drawing, which is as wide as its place on the page. On a narrow screen the style
# sheet makes letters of this size; room is kept for those.
WIDTH, HEIGHT, LETTER = 480, 300, 14
# The classes of the style sheet: so many colours there are. The other two take turns of their own.
COLOURS = 8
_DASHES = ("", "7 3", "2 3", "10 3 2 3", "5 2")
# Each mark as a path around its place.
_MARKS = (
    "m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0z",
    "m-2.8-2.8h5.6v5.6h-5.6z",
    "m0-3.8l3.6 6.4h-7.2z",
    "m0-4l4 4l-4 4l-4-4z",
    "m0 3.8l3.6-6.4h-7.2z",
    "m-3-3l6 6m0-6l-6 6",
    "m-3.6 0h7.2m-3.6-3.6v7.2",
)
# A line with more points than this is marked at a few of them only, and one with many more is
# drawn finer and without dashes, which would be lost in it.
_MOST_MARKS, _FEW_MARKS, _DENSE = 16, 4, 200
Place = tuple[float, float]
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Scale:
    r"""
    ## A scale

    From `low` to `high`, with numbers at the `ticks`.
    """

    low: float
    high: float
    ticks: tuple[float, ...]
    is_log: bool = False

    def at(self, value: float) -> float:
        r"""
        ### Where a value stands

        0 is the beginning of the scale, 1 its end.
        """
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def scale(values: Iterable[float], kind: str, most: int, fits: bool) -> Scale:
    r"""
    ## Choose a scale

    With at most about `most` ticks. Where it `fits`, it ends at the values themselves, else at a
    tick beyond them. A linear scale begins at zero if that is not far.
    """
    found = sorted(set(values))
    low, high = found[0], found[-1]
    if kind == "log":
        return _log_scale(found, most, fits)
    if low == high:
        low, high = (low - abs(low) / 10, high + abs(high) / 10) if low else (-1.0, 1.0)
    if not fits and 0 < low < 0.25 * high:
        low = 0.0
    elif not fits and 0.25 * low < high < 0:
        high = 0.0
    step = _step((high - low) / most)
    first, last = low / step, high / step
    if not fits:
        first, last = math.floor(first + 1e-9), math.ceil(last - 1e-9)
        low, high = min(low, first * step), max(high, last * step)
    numbers = range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
    return Scale(low, high, tuple(float(f"{number * step:.12g}") for number in numbers))


def _step(at_least: float) -> float:
    power = 10.0 ** math.floor(math.log10(at_least))
    return next(one * power for one in (1, 2, 5, 10) if one * power >= at_least * (1 - 1e-9))


def _log_scale(found: Sequence[float], most: int, fits: bool) -> Scale:
    r"""
    A few values, as sizes that were tried often are, are the best ticks themselves. Else there are
    powers of ten, with 2 and 5 between them if there is room; and if the scale is too short for
    those, the ticks of a linear one.
    """
    low, high = found[0], found[-1]
    if low == high:
        low, high = low / 2, high * 2
    if not fits:
        margin = (high / low) ** 0.04
        low, high = low / margin, high * margin
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    tens = [10.0**power for power in powers]
    fine = [float(f"{one * ten:.12g}") for ten in tens for one in (1, 2, 5)]
    every = -(-len(tens) // most)
    choices = [
        found if fits and len(found) <= most else [],
        fine,
        tens,
        [ten for power, ten in zip(powers, tens, strict=True) if power % every == 0],
        scale([low, high], "linear", most, True).ticks,
    ]
    inside = [[one for one in ticks if low <= one <= high] for ticks in choices]
    ticks = next((one for one in inside if 3 <= len(one) <= most), inside[-1])
    return Scale(low, high, tuple(ticks), True)


def labels(scale: Scale) -> list[str]:
    r"""
    ## The numbers at the ticks

    All in one manner: thousands as “k” or “M” where all of them are, powers of ten where the
    numbers would be long, and with as many digits behind the point on a linear scale.
    """
    ticks = scale.ticks
    largest = max(map(abs, ticks), default=0)
    smallest = min((abs(one) for one in ticks if one), default=1)
    if largest >= 1e9 or smallest < 1e-4:
        return [_power(one) for one in ticks]
    for size, letter in ((1e6, "M"), (1e3, "k")):
        short = all(f"{one / size:.6g}" == f"{one / size:.3g}" for one in ticks)
        if short and largest >= 10 * size and smallest >= size:
            return [f"{one / size:.3g}{letter}" if one else "0" for one in ticks]
    shown = [number(one) for one in ticks]
    if scale.is_log:
        return shown
    digits = max((len(one.partition(".")[2]) for one in shown), default=0)
    return [number(one, digits) for one in ticks]


def _power(value: float) -> str:
    if not value:
        return "0"
    digits, _, power = f"{value:.2e}".partition("e")
    digits = digits.rstrip("0").rstrip(".")
    ten = f"10{str(int(power)).translate(_SUPERSCRIPTS)}"
    if digits in ("1", "-1"):
        return f"{digits[:-1]}{ten}".replace("-", "−", 1)
    return f"{digits}·{ten}".replace("-", "−", 1)


def number(value: float, digits: int | None = None) -> str:
    r"""
    ## A number as a reader wants it

    With `digits` behind the point, or else with as many as it has; thousands stand apart.
    """
    if digits is not None:
        # What is rounded to zero has no sign.
        return f"{value:z,.{digits}f}".replace("-", "−")
    if isinstance(value, int) or (value == int(value) and abs(value) < 1e15):
        return f"{int(value):,}".replace("-", "−")
    if not 1e-4 <= abs(value) < 1e15:
        return _power(value)
    text = f"{value:,.{max(0, 5 - math.floor(math.log10(abs(value))))}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", "−")


def chart(figure: Figure, name: str) -> str:
    r"""
    ## Draw a figure

    As HTML without its caption, on one line: the names of the lines, if they don't fit at the ends
    of these, and the SVG. `name` is what it is called where it can't be seen.
    """
    points = [point for line in figure.lines for point in line.points]
    x = scale(_within([one for one, _ in points], figure.x), figure.x.scale, 7, True)
    y = scale(_within([one for _, one in points], figure.y), figure.y.scale, 6, False)
    plot = _Plot(figure, x, y)
    named = plot.names()
    legend = "" if named else _legend(figure.lines)
    parts = [
        f"<title>{_text(name)}</title><desc>{_text(description(figure))}</desc>",
        *plot.grid(),
        *(plot.line(index, line) for index, line in enumerate(figure.lines)),
        *named,
    ]
    box = f"0 0 {WIDTH} {HEIGHT}"
    return f'{legend}<svg class="plot" viewBox="{box}" role="img">{"".join(parts)}</svg>'


def _within(values: Iterable[float], axis: Axis) -> list[float]:
    r"""
    The values that are shown, and the ends of the axis that are given.
    """
    low = -math.inf if axis.low is None else axis.low
    high = math.inf if axis.high is None else axis.high
    inside = [one for one in values if low <= one <= high]
    ends = [one for one in (axis.low, axis.high) if one is not None]
    return [*inside, *ends] or [1.0]


def description(figure: Figure) -> str:
    r"""
    ## The figure in words
    """
    axes = f"{with_unit(figure.y)} against {with_unit(figure.x)}."
    ways = []
    for line in figure.lines:
        (first, begin), (last, end) = line.points[0], line.points[-1]
        way = f"{number(begin)} at {number(first)}"
        if len(line.points) > 1:
            way = f"from {way} to {number(end)} at {number(last)}"
        ways.append(f"{line.name}: {way}.")
    return " ".join([axes, *ways])


def with_unit(axis: Axis) -> str:
    r"""
    ## The title of an axis, with its unit
    """
    return f"{axis.title} ({axis.unit})" if axis.unit else axis.title


class _Plot:
    r"""
    The parts of a drawing, as SVG.
    """

    def __init__(self, figure: Figure, x: Scale, y: Scale) -> None:
        self.figure, self.x, self.y = figure, x, y
        self.labels = labels(y)
        self.ends = self._ends()
        longest = max((_width(line.name) for line in figure.lines), default=0)
        self.left = max(map(_width, self.labels), default=0) + 8
        self.right = WIDTH - (longest + 18 if self.ends else _width(labels(x)[-1]) / 2 + 2)
        self.top, self.bottom = 30.0, HEIGHT - 42.0

    def across(self, value: float) -> float:
        return self.left + self.x.at(value) * (self.right - self.left)

    def down(self, value: float) -> float:
        return self.bottom - self.y.at(value) * (self.bottom - self.top)

    def grid(self) -> Iterable[str]:
        left, right, bottom = _short(self.left), _short(self.right), _short(self.bottom)
        path = "".join(f"M{left} {_short(self.down(one))}H{right}" for one in self.y.ticks)
        yield f'<path class="grid" d="{path}"/>'
        for tick, label in zip(self.y.ticks, self.labels, strict=True):
            place = f'x="{_short(self.left - 6)}" y="{_short(self.down(tick) + 4.5)}"'
            yield f'<text class="end" {place}>{_text(label)}</text>'
        yield f'<text x="0" y="14">{_text(with_unit(self.figure.y))}</text>'
        shown = self._apart(list(zip(self.x.ticks, labels(self.x), strict=True)))
        path = "".join(f"M{_short(self.across(one))} {bottom}v5" for one, _ in shown)
        yield f'<path class="axis" d="M{left} {bottom}H{right}{path}"/>'
        for tick, label in shown:
            place = f'x="{_short(self.across(tick))}" y="{_short(self.bottom + 19)}"'
            yield f'<text class="middle" {place}>{_text(label)}</text>'
        title = _text(with_unit(self.figure.x))
        middle = _short((self.left + self.right) / 2)
        yield f'<text class="middle" x="{middle}" y="{HEIGHT - 5}">{title}</text>'

    def _apart(self, ticks: list[tuple[float, str]]) -> list[tuple[float, str]]:
        r"""
        Those whose numbers leave room between them, every second or third if need be.
        """
        for every in range(1, len(ticks)):
            kept = ticks[::every]
            room = (
                self.across(two) - self.across(one) - (_width(before) + _width(after)) / 2
                for (one, before), (two, after) in pairwise(kept)
            )
            if min(room, default=10) >= 8:
                return kept
        return ticks[:1]

    def line(self, index: int, line: Line) -> str:
        places = [(self.x.at(x), self.y.at(y)) for x, y in line.points]
        path = "".join(
            f"M{'L'.join(f'{_short(x)} {_short(y)}' for x, y in _thinned(map(self.place, run)))}"
            for run in _runs(places)
        )
        style = "drawn" if len(places) <= _DENSE else "drawn dense"
        dashes = _dashes(index) if len(places) <= _DENSE else ""
        drawn = f'<path class="{style}" d="{path}"{dashes}/>'
        some = [one for one in places if _is_inside(one)]
        if len(some) > _MOST_MARKS:
            # Each line at other places, where lines lie on each other.
            offset = (index + 0.5) / len(self.figure.lines)
            at = [(one + offset) / _FEW_MARKS * len(some) for one in range(_FEW_MARKS)]
            some = [some[int(one)] for one in at]
        marks = "".join(f"M{_short(x)} {_short(y)}{_mark(index)}" for x, y in map(self.place, some))
        return f'<g class="{_class(index)}">{drawn}<path d="{marks}"/></g>'

    def place(self, where: Place) -> Place:
        x, y = where
        across, down = self.right - self.left, self.bottom - self.top
        return self.left + x * across, self.bottom - y * down

    def _ends(self) -> list[tuple[float, int]] | None:
        r"""
        The lines in the order of their ends, if all end at the right and the names are short.
        """
        lines = self.figure.lines
        ends = [(self.x.at(x), self.y.at(y)) for x, y in (line.points[-1] for line in lines)]
        near = all(x > 0.97 and _is_inside((x, y)) for x, y in ends)
        short = max(_width(line.name) for line in lines) <= 0.3 * WIDTH
        if len(lines) > 8 or not near or not short or len(lines[0].points) < 2:
            return None
        return sorted((y, index) for index, (_, y) in enumerate(ends))

    def names(self) -> list[str]:
        r"""
        The names at the ends of their lines, pushed apart where they would touch.
        """
        if self.ends is None:
            return []
        order = [index for _, index in reversed(self.ends)]
        wanted = [self.place((0, y))[1] for y, _ in reversed(self.ends)]
        heights = spread(wanted, LETTER, self.top, self.bottom)
        found = []
        for index, end, height in zip(order, wanted, heights, strict=True):
            right = self.right
            lead = f"M{_short(right + 4)} {_short(end)}L{_short(right + 11)} {_short(height)}"
            line = f'<path class="lead" d="{lead}"/>' if abs(end - height) > 3 else ""
            place = f'x="{_short(right + 14)}" y="{_short(height + 4.5)}"'
            name = _text(self.figure.lines[index].name)
            found.append(f'<g class="{_class(index)}">{line}<text {place}>{name}</text></g>')
        return found


def spread(wanted: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    r"""
    ## Keep heights apart

    As near to the wanted ones, which are in order, as can be. Those that would touch become a
    group, `apart` from each other, with its middle where theirs was.
    """
    groups: list[tuple[float, int]] = []
    for at, height in enumerate(wanted):
        mean, size = height - at * apart, 1
        while groups and groups[-1][0] > mean:
            above, count = groups.pop()
            mean, size = (above * count + mean * size) / (count + size), count + size
        groups.append((mean, size))
    last = high - (len(wanted) - 1) * apart
    means = [min(max(mean, low), last) for mean, size in groups for _ in range(size)]
    return [mean + at * apart for at, mean in enumerate(means)]


def _legend(lines: Sequence[Line]) -> str:
    r"""
    The names in HTML, where they find lines of their own; in the order in which the lines end.
    """
    order = sorted(range(len(lines)), key=lambda index: -lines[index].points[-1][1])
    entries = []
    for index in order:
        stroke = f'<path class="drawn" d="M0 6H32"{_dashes(index)}/>'
        sample = f'<g class="{_class(index)}">{stroke}<path d="M16 6{_mark(index)}"/></g>'
        drawn = f'<svg viewBox="0 0 32 12" aria-hidden="true">{sample}</svg>'
        entries.append(f"<li>{drawn}{_text(lines[index].name)}</li>")
    return f'<ul class="legend">{"".join(entries)}</ul>'


def _class(index: int) -> str:
    return f"line-{index % COLOURS + 1}"


def _dashes(index: int) -> str:
    dashes = _DASHES[index % len(_DASHES)]
    return f' stroke-dasharray="{dashes}"' if dashes else ""


def _mark(index: int) -> str:
    return _MARKS[index % len(_MARKS)]


def _is_inside(place: Place) -> bool:
    return all(-1e-9 <= one <= 1 + 1e-9 for one in place)


def _runs(places: Sequence[Place]) -> list[list[Place]]:
    r"""
    The parts of a line that lie on the scales, from 0 to 1, cut where it leaves them.
    """
    runs: list[list[Place]] = []
    for one, two in pairwise(places):
        piece = _cut(one, two)
        if piece is None:
            continue
        if runs and runs[-1][-1] == piece[0]:
            runs[-1].append(piece[1])
        else:
            runs.append(list(piece))
    return runs


def _cut(one: Place, two: Place) -> tuple[Place, Place] | None:
    begin, end = 0.0, 1.0
    for start, way in zip(one, (two[0] - one[0], two[1] - one[1]), strict=True):
        if not way:
            if not 0 <= start <= 1:
                return None
            continue
        at = sorted((-start / way, (1 - start) / way))
        begin, end = max(begin, at[0]), min(end, at[1])
    if begin > end:
        return None

    def between(part: float) -> Place:
        if part in (0, 1):
            return two if part else one
        return one[0] + part * (two[0] - one[0]), one[1] + part * (two[1] - one[1])

    return between(begin), between(end)


def _thinned(places: Iterable[Place]) -> list[Place]:
    r"""
    Of the points above each other, within one unit, the first, the last, and the outermost.
    """
    kept: list[Place] = []
    for _, group in groupby(places, lambda place: round(place[0])):
        column = list(group)
        heights = [height for _, height in column]
        outermost = {heights.index(min(heights)), heights.index(max(heights))}
        kept += [column[at] for at in sorted(outermost | {0, len(column) - 1})]
    return kept


def _width(text: str) -> float:
    r"""
    About the width of a text in the largest letters that it can have.
    """
    return 0.57 * LETTER * len(text)


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(text: str) -> str:
    return html.escape(told(text))

r"""
---
title: Drawing
summary: The part of pyplot that a lesson needs, as SVG, where there is no matplotlib.
---

Matplotlib is larger than all else that the reader's browser fetches for a run. What somebody draws
while trying out a line is a curve, some points, some bars or a map of attention weights. This
module draws those. Its names are those of `matplotlib.pyplot`, with the arguments that a lesson
uses; others are ignored, and a function that is not here says so.
"""

import importlib.util
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

COLOURS = ("#17577f", "#a8261b", "#22692f", "#8a2a85", "#9a3c06", "#655f54")
WIDTH, HEIGHT = 440, 280
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 26, 40
MOST_CELLS = 128 * 128
MOST_POINTS = 5_000

# A figure has at most so many pictures; the others are left out.
MOST_PARTS = 24


class Axes:
    r"""
    ## One picture with its axes
    """

    def __init__(self) -> None:
        self.marks: list[tuple[str, list[float], list[float], str, str]] = []
        self.cells: list[list[float]] = []
        self.limits: tuple[float | None, float | None] = (None, None)
        self.names = {"title": "", "xlabel": "", "ylabel": ""}
        self.logs = {"x": False, "y": False}
        self.named = False

    def plot(self, *given: Any, label: str = "", color: str = "", **style: Any) -> None:
        r"""
        ### Curves

        `plot(y)`, `plot(x, y)`, either with a format such as `".-"`.
        """
        lists = [one for one in given if not isinstance(one, str)]
        form = "".join(one for one in given if isinstance(one, str)) + str(style.get("marker", ""))
        x, y = lists[:2] if len(lists) > 1 else ([], *lists)
        kind = "points" if set(form) & set(".ox+*") and "-" not in form else "curve"
        self._mark(kind, x, y, label, color)

    def scatter(
        self, x: Any, y: Any, label: str = "", color: str = "", c: Any = "", **style: Any
    ) -> None:
        r"""
        ### Points
        """
        self._mark("points", x, y, label, color or (c if isinstance(c, str) else ""))

    def bar(self, x: Any, height: Any, label: str = "", color: str = "", **style: Any) -> None:
        r"""
        ### Bars

        They stand at whole numbers; names are not written.
        """
        heights = numbers(height)
        self._mark("bars", range(len(heights)), heights, label, color)

    def imshow(
        self, values: Any, vmin: float | None = None, vmax: float | None = None, **style: Any
    ) -> None:
        r"""
        ### A map of numbers
        """
        rows = [numbers(row) for row in listed(values)]
        if sum(map(len, rows)) > MOST_CELLS:
            raise ValueError(f"a map here has at most {MOST_CELLS} cells; show a slice of it.")
        self.cells, self.limits = rows, (vmin, vmax)

    matshow = imshow

    def axhline(self, y: float = 0, label: str = "", color: str = "", **style: Any) -> None:
        r"""
        ### A level
        """
        self._mark("level", [], [float(y)], label, color)

    def legend(self, *given: Any, **style: Any) -> None:
        r"""
        ### Names of the curves
        """
        self.named = True

    def set(self, **names: Any) -> None:
        r"""
        ### Names of the axes, and the title
        """
        for name, value in names.items():
            if name in self.names:
                self.names[name] = str(value)
            elif name in ("xscale", "yscale"):
                self.logs[name[0]] = value == "log"

    def set_title(self, text: str, **style: Any) -> None:
        r"""
        ### Its title
        """
        self.set(title=text)

    def set_xlabel(self, text: str, **style: Any) -> None:
        r"""
        ### What is from left to right
        """
        self.set(xlabel=text)

    def set_ylabel(self, text: str, **style: Any) -> None:
        r"""
        ### What is from bottom to top
        """
        self.set(ylabel=text)

    def set_xscale(self, scale: str, **style: Any) -> None:
        r"""
        ### Linear, or “log”
        """
        self.set(xscale=scale)

    def set_yscale(self, scale: str, **style: Any) -> None:
        r"""
        ### Linear, or “log”
        """
        self.set(yscale=scale)

    def __getattr__(self, name: str) -> Callable[..., None]:
        r"""
        ### What only changes the look

        Ticks, limits and grids are accepted, and left out.
        """
        if name.startswith(("set_", "tick", "grid", "margins", "invert", "axis", "label_")):
            return lambda *given, **style: None
        known = "plot, scatter, bar, imshow and axhline"
        raise AttributeError(f"{name} can't be drawn here: there are {known}.")

    def _mark(self, kind: str, x: Any, y: Any, label: str, color: str) -> None:
        ys = numbers(y)
        xs = numbers(x) if len(listed(x)) else list(map(float, range(len(ys))))
        if kind != "level" and len(xs) != len(ys):
            shapes = f"({len(xs)},) and ({len(ys)},)"
            raise ValueError(f"x and y must have same first dimension, but have shapes {shapes}")
        step = max(1, len(ys) // MOST_POINTS)
        colour = color if color.startswith("#") else COLOURS[len(self.marks) % len(COLOURS)]
        self.marks.append((kind, xs[::step], ys[::step], label, colour))

    def svg(self) -> str:
        r"""
        ### The picture
        """
        title, x, y = (escaped(self.names[name]) for name in ("title", "xlabel", "ylabel"))
        centre, middle = WIDTH / 2, (TOP + HEIGHT - BOTTOM) / 2
        return (
            (self._map() if self.cells else self._chart())
            + f'<g text-anchor="middle"><text x="{centre}" y="16" font-weight="600">{title}</text>'
            + f'<text x="{centre}" y="{HEIGHT - 6}">{x}</text>'
            + f'<text transform="translate(12 {middle}) rotate(-90)">{y}</text></g>'
        )

    def _map(self) -> str:
        flat = [one for row in self.cells for one in row if math.isfinite(one)]
        low, high = (
            given if given is not None else found(flat, default=0.0)
            for given, found in zip(self.limits, (min, max), strict=True)
        )
        rows = len(self.cells)
        columns = max((len(row) for row in self.cells), default=1)
        side = min((WIDTH - LEFT - RIGHT) / columns, (HEIGHT - TOP - BOTTOM) / rows)
        parts = []
        for down, row in enumerate(self.cells):
            for across, value in enumerate(row):
                share = (value - low) / ((high - low) or 1) if math.isfinite(value) else 0
                light = 97 - 67 * min(1, max(0, share))
                place = f'x="{LEFT + across * side:.1f}" y="{TOP + down * side:.1f}"'
                size = f'width="{side:.1f}" height="{side:.1f}"'
                parts.append(f'<rect {place} {size} fill="hsl(205 60% {light:.0f}%)"/>')
        told = f"{short(low)} is white, {short(high)} dark"
        return "".join(parts) + f'<text x="{LEFT}" y="{HEIGHT - 22}">{told}</text>'

    def _chart(self) -> str:
        along = self._scale("x", LEFT, WIDTH - RIGHT)
        up = self._scale("y", HEIGHT - BOTTOM, TOP)
        parts = [
            f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="#888"/>'
        ]
        for value in along.ticks:
            place = f'x="{along(value):.1f}" y="{HEIGHT - BOTTOM + 14}"'
            parts.append(f'<text {place} text-anchor="middle">{short(value)}</text>')
        for value in up.ticks:
            place = f'x="{LEFT - 5}" y="{up(value) + 4:.1f}"'
            parts.append(f'<text {place} text-anchor="end">{short(value)}</text>')
        for kind, xs, ys, _, colour in self.marks:
            pairs = zip(xs if kind != "level" else ys, ys, strict=True)
            found = [(0.0 if kind == "level" else along(x), up(y)) for x, y in pairs]
            # What has no place, as zero on a logarithmic scale, isn't drawn.
            places = [(x, y) for x, y in found if math.isfinite(x) and math.isfinite(y)]
            ground = HEIGHT - BOTTOM if self.logs["y"] else up(0.0)
            parts.append(drawn(kind, places, colour, ground))
        for index, (_, _, _, label, colour) in enumerate(self.marks if self.named else ()):
            place = f'x="{WIDTH - RIGHT - 4}" y="{TOP + 12 + 14 * index}" text-anchor="end"'
            parts.append(f'<text {place} fill="{colour}">{escaped(str(label))}</text>')
        return "".join(parts)

    def _scale(self, name: str, start: float, end: float) -> "Scale":
        values: list[float] = []
        for kind, xs, ys, *_ in self.marks:
            if name == "y":
                values += ys
            elif kind != "level":
                values += xs
        if name == "y" and any(kind == "bars" for kind, *_ in self.marks):
            values.append(0.0)
        return Scale(values, start, end, self.logs[name])


class Scale:
    r"""
    ## From numbers to places
    """

    def __init__(self, values: Iterable[float], start: float, end: float, is_log: bool) -> None:
        self.is_log = is_log
        kept = [one for one in values if math.isfinite(one) and (one > 0 or not is_log)] or [0.1, 1]
        low, high = self._by(min(kept)), self._by(max(kept))
        if low == high:
            # Beside a large number, a half is nothing.
            half = max(0.5, abs(low) / 1000)
            low, high = low - half, high + half
        self.low, self.high, self.start, self.end = low, high, start, end
        step = 10.0 ** math.floor(math.log10((high - low) / 2))
        step = next(step * n for n in (1, 2, 5, 10) if (high - low) / (step * n) <= 5)
        first = math.ceil(low / step)
        places = [step * at for at in range(first, math.floor(high / step + 1e-9) + 1)]
        self.ticks = [10.0**one if is_log else one for one in places]

    def _by(self, value: float) -> float:
        return math.log10(value) if self.is_log else value

    def __call__(self, value: float) -> float:
        r"""
        ### The place of a number

        Not a number, if it has none.
        """
        if not math.isfinite(value) or (self.is_log and value <= 0):
            return math.nan
        share = (self._by(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def drawn(
    kind: str, places: Sequence[tuple[float, float]], colour: str, ground: float = HEIGHT - BOTTOM
) -> str:
    r"""
    ## One curve, or what is in its place

    Bars stand on the `ground`, or hang from it.
    """
    if kind == "points":
        return "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in places
        )
    if kind == "bars":
        width = 0.7 * (WIDTH - LEFT - RIGHT) / max(1, len(places))
        bars = "".join(f"M{x:.1f} {ground:.1f}V{y:.1f}" for x, y in places)
        return f'<path d="{bars}" stroke="{colour}" stroke-width="{width:.1f}"/>'
    if kind == "level":
        return "".join(
            f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{colour}" stroke-dasharray="4"/>'
            for _, y in places
        )
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def escaped(text: str) -> str:
    r"""
    ## A text in XML

    Python's own function for this would bring a list of two thousand names along.
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def listed(values: Any) -> Any:
    r"""
    ## A list of what was given

    Tensors and their like have `tolist`.
    """
    return values.tolist() if hasattr(values, "tolist") else list(values)


def numbers(values: Any) -> list[float]:
    r"""
    ## Numbers of what was given

    Names, as bars have them, are counted.
    """
    found = listed(values)
    return [
        float(at if isinstance(one, str) else getattr(one, "item", lambda one=one: one)())
        for at, one in enumerate(found)
    ]


def short(value: float) -> str:
    r"""
    ## A number at an axis
    """
    return f"{value:.3g}".replace("e-0", "e-").replace("e+0", "e")


class Figure:
    r"""
    ## Pictures side by side
    """

    def __init__(self, rows: int = 1, columns: int = 1) -> None:
        self.columns = columns
        self.parts = [Axes() for _ in range(min(MOST_PARTS, rows * columns))]

    def svg(self) -> str:
        r"""
        ### The drawing as a text
        """
        rows = -(-len(self.parts) // self.columns)
        width, height = WIDTH * self.columns, HEIGHT * rows
        inside = ""
        for at, part in enumerate(self.parts):
            down, across = divmod(at, self.columns)
            place = f"translate({WIDTH * across} {HEIGHT * down})"
            inside += f'<g transform="{place}">{part.svg()}</g>'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11" fill="#333">'
            f'<rect width="100%" height="100%" fill="#fff"/>{inside}</svg>'
        )

    def __getattr__(self, name: str) -> Callable[..., None]:
        r"""
        ### What only changes the look
        """
        if name in ("tight_layout", "suptitle", "colorbar", "subplots_adjust", "autofmt_xdate"):
            return lambda *given, **style: None
        raise AttributeError(f"a figure here has no {name}.")


class Pyplot(ModuleType):
    r"""
    ## The module

    `draw` is called with the SVG of each figure that is shown.
    """

    def __init__(self, draw: Callable[[str], Any]) -> None:
        super().__init__("matplotlib.pyplot")
        self._draw = draw
        self._figure: Figure | None = None

    def figure(self, *given: Any, **style: Any) -> Figure:
        r"""
        ### A new figure
        """
        self.show()
        self._figure = Figure()
        return self._figure

    def subplots(self, nrows: int = 1, ncols: int = 1, **style: Any) -> tuple[Figure, Any]:
        r"""
        ### Several pictures
        """
        self.show()
        self._figure = Figure(nrows, ncols)
        parts = self._figure.parts
        if nrows == ncols == 1:
            return self._figure, parts[0]
        if 1 in (nrows, ncols):
            return self._figure, parts
        rows = [parts[at : at + ncols] for at in range(0, len(parts), ncols)]
        return self._figure, rows

    def gca(self) -> Axes:
        r"""
        ### The picture that is drawn on
        """
        if self._figure is None:
            self._figure = Figure()
        return self._figure.parts[-1]

    def show(self, *given: Any, **style: Any) -> None:
        r"""
        ### Show what was drawn
        """
        figure, self._figure = self._figure, None
        if figure is not None:
            self._draw(figure.svg())

    def close(self, *given: Any) -> None:
        r"""
        ### Drop what was drawn
        """
        self._figure = None

    def title(self, text: str, **style: Any) -> None:
        r"""
        ### The title of the picture
        """
        self.gca().set(title=text)

    def __getattr__(self, name: str) -> Any:
        r"""
        ### All else is asked of the picture
        """
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("tight_layout", "colorbar", "suptitle"):
            return lambda *given, **style: None
        if name in ("xlabel", "ylabel", "xscale", "yscale"):
            return lambda text, **style: self.gca().set(**{name: text})
        return getattr(self.gca(), name)


def offer_figures(draw: Callable[[str], Any]) -> None:
    r"""
    ## Let programs draw

    Where matplotlib is installed, that is what they get.
    """
    if importlib.util.find_spec("matplotlib") is None:
        package = ModuleType("matplotlib")
        package.__path__ = []
        pyplot: Any = Pyplot(draw)
        vars(package)["pyplot"] = pyplot
        sys.modules |= {"matplotlib": package, "matplotlib.pyplot": pyplot}


def show_what_is_left() -> None:
    r"""
    ## A figure that was drawn and not shown

    It is shown at the end of the program.
    """
    pyplot = sys.modules.get("matplotlib.pyplot")
    if isinstance(pyplot, Pyplot):
        pyplot.show()

r"""
Pictures for results: matplotlib draws them, and the page's style sheet gives them their colours.

`svg` turns a figure of matplotlib into a text for `record.write`. Letters stay letters, whatever is
black takes the colour of the text around it, and `ACCENT` the accent colour of the theme; so one
picture serves light and dark pages.
"""

import io
import re
from collections.abc import Mapping, Sequence
from html import escape
from itertools import cycle
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import LogLocator

# Colours that stand for those of the page. The style sheet has a class for filling and one for
# lines of the last two.
INK, ACCENT, SECOND = "#000000", "#123456", "#654321"
# The lines of a chart, up to eight, differ by colour, dashes and marks: one of these is enough.
LINES = [f"#10000{at}" for at in range(1, 9)]
DASHES, MARKS = ("-", "--", ":", "-."), "os^Dv*P"
# So many letters fit beside each other, in the names of two lines.
MOST_LETTERS = 64
# So many powers of ten stand beside each other, with all their zeros.
MOST_POWERS = 7
CLASSES = {ACCENT: "accent", SECOND: "second"} | {
    colour: f"line-{at}" for at, colour in enumerate(LINES, 1)
}


def new(width: float, height: float, columns: int = 1) -> tuple[Figure, list[Axes]]:
    r"""A figure of so many inches, with axes side by side."""
    figure = Figure((width, height), layout="constrained")
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def heat_map(
    axes: Axes,
    cells: Sequence[Sequence[float]],
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    numbers: bool = False,
) -> None:
    r"""
    One square for each number: the larger, the darker. Negative numbers have the second colour.
    With `numbers`, they stand in the squares.
    """
    most = max(abs(value) for row in cells for value in row) or 1.0
    alike: dict[tuple[str, float], list[Path]] = {}
    for i, row in enumerate(cells):
        for j, value in enumerate(row):
            colour, share = (ACCENT if value >= 0 else SECOND), round(20 * abs(value) / most) / 20
            square = [(j, i), (j + 1, i), (j + 1, i + 1), (j, i + 1), (j, i)]
            alike.setdefault((colour, share), []).append(Path(square, closed=True))
            if numbers and value:
                text = f"{value:.2f}".replace("0.", ".", 1)
                axes.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=7)

    # Squares of one shade are one path: the picture is a tenth as large.
    for (colour, share), squares in alike.items():
        path = Path.make_compound_path(*squares)
        axes.add_patch(PathPatch(path, color=colour, alpha=share, linewidth=0, clip_on=False))
    axes.set(xlim=(0, len(cells[0])), ylim=(len(cells), 0), aspect="equal")
    if rows:
        axes.set_yticks([i + 0.5 for i in range(len(rows))], rows, family="monospace")
    if columns:
        axes.set_xticks([j + 0.5 for j in range(len(columns))], columns, family="monospace")
    axes.tick_params(length=0)


def chart(figure: Mapping[str, Any], name: str) -> str:
    r"""The lines of a figure as `record.write` takes them, drawn over its two axes."""
    drawn, (axes,) = new(6.4, 4.2)
    looks = zip(cycle(LINES), cycle(DASHES), cycle(MARKS), strict=False)
    for line, (colour, dashes, mark) in zip(figure["lines"], looks, strict=False):
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
    for side in "xy":
        axis = figure[side]
        title = f"{axis['title']} ({axis['unit']})" if axis.get("unit") else axis["title"]
        ends = {end: axis[key] for end, key in (("low", "low"), ("high", "high")) if key in axis}
        getattr(axes, f"set_{side}label")(title, fontsize=12)
        getattr(axes, f"set_{side}scale")(axis.get("scale", "linear"))
        getattr(axes, f"set_{side}lim")(ends.get("low"), ends.get("high"))
        ticks = getattr(axes, f"{side}axis")
        points = [point for line in figure["lines"] for point in line["points"]]
        measured = sorted({point["xy".index(side)] for point in points})
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
    axes.tick_params(labelsize=12)
    axes.grid(color=INK, alpha=0.12, linewidth=0.8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    mark_what_lies_beyond(axes, figure)
    if len(figure["lines"]) > 1:
        names = [line["name"] for line in figure["lines"]]
        half = (len(names) + 1) // 2
        width = max(map(len, names[:half])) + max(map(len, names[half:]))
        columns = 2 if width <= MOST_LETTERS else 1
        drawn.legend(loc="outside upper left", frameon=False, fontsize=12, ncols=columns)
    return svg(drawn, name).replace(">", f"><desc>{escape(described(figure))}</desc>", 1)


def plain(value: float) -> str:
    r"""
    A number as people write it: thousands apart, and of a measured one four digits. Only what is
    smaller than a ten-thousandth has a power of ten, as a program writes it: zeros are hard to
    count.
    """
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if value and abs(value) < 0.9999e-4:
        digits, power = f"{value:.3e}".split("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    return f"{float(f'{value:.4g}'):.8f}".rstrip("0").rstrip(".")


def mark_what_lies_beyond(axes: Axes, figure: Mapping[str, Any]) -> None:
    r"""
    An arrow at the edge, with the value, for each point that lies above or below the ends that a
    figure gives its axis: a point that is left out in silence looks as if it weren't there.
    """
    low, high = axes.get_ylim()
    for line, colour in zip(figure["lines"], cycle(LINES), strict=False):
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


def described(figure: Mapping[str, Any]) -> str:
    r"""The lines in words: where each begins and ends."""
    ways = []
    for line in figure["lines"]:
        (first, begin), (last, end) = line["points"][0], line["points"][-1]
        ways.append(f"{line['name']}: from {begin:.4g} at {first:.4g} to {end:.4g} at {last:.4g}.")
    return f"{figure['y']['title']} against {figure['x']['title']}. {' '.join(ways)}"


def with_pictures(name: str, figures: Mapping[str, Any]) -> dict[str, Any]:
    r"""The figures of the result `name`, each with its picture."""
    return {
        key: one if "picture" in one else {**one, "picture": chart(one, f"{name}-{key}")}
        for key, one in figures.items()
    }


def svg(figure: Figure, name: str) -> str:
    r"""The figure as the text of an SVG, the same bytes each time; `name` makes its ids its own."""
    settings = {"svg.fonttype": "none", "svg.hashsalt": name, "path.simplify": True}
    written = io.StringIO()
    with matplotlib.rc_context(settings):
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    text = written.getvalue()
    text = text[text.index("<svg ") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", text, flags=re.S)

    # Matplotlib makes some ids from addresses in memory. Numbered, they are the same each time; and
    # with the name before them, several pictures can stand on one page. Most ids lead nowhere.
    text = text.replace("xlink:href", "href")
    used = dict.fromkeys(re.findall(r'(?:href="|url\()#([^")]*)', text))
    ids = {old: f"{name}-{n}" for n, old in enumerate(used)}
    text = re.sub(r' id="([^"]*)"', lambda m: f' id="{ids[m[1]]}"' if m[1] in ids else "", text)
    text = re.sub(r'(href="|url\()#([^")]*)', lambda m: f"{m[1]}#{ids[m[2]]}", text)
    text = text.replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "")

    # The size on the page is the style sheet's business, and so is the family of the letters.
    head, rest = text.split(">", 1)
    text = re.sub(r' (width|height)="[^"]*"', "", head) + ">" + rest
    text = re.sub(r'style="([^"]*)"', lambda m: attributes(m[1]), text)

    # A tenth of a point is finer than a screen. What is written keeps its digits.
    text = re.sub(r"<[^>]*>", lambda m: re.sub(r'(?<!opacity=")(\d+\.\d)\d+', r"\1", m[0]), text)
    return re.sub(r"\s*\n\s*", " ", text).strip()


def attributes(style: str) -> str:
    r"""What matplotlib says in a style, as attributes and classes, which a page may restyle."""
    said, classes = [], []
    for name, _, value in (one.strip().partition(": ") for one in style.split(";")):
        if value in CLASSES:
            classes.append(f"{name}-{CLASSES[value]}")
        elif name == "font":
            said.append(f'font-size="{value.split()[0]}"')
        elif name == "font-family":
            said += ['font-family="monospace"'] if "monospace" in value else []
        elif name:
            said.append(f'{name}="{"currentColor" if value == INK else value}"')
    if classes:
        said.append(f'class="{" ".join(classes)}"')
    return " ".join(said)

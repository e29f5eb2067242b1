r"""
---
title: Drawing charts
summary: A figure of Matplotlib becomes an SVG, and the page's style sheet gives it its colours.
---

Letters stay letters, whatever is black takes the colour of the text around it, and `ACCENT` the
accent colour of the theme; so one picture serves light and dark pages. The [charts](charts.py) of
results are drawn with it, and so is a picture that a program draws of its own.
"""

import io
import re

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Colours that stand for those of the page. The style sheet has a class for filling and one for
# lines of the last two.
INK, ACCENT, SECOND = "#000000", "#123456", "#654321"
# The lines of a chart, up to eight, differ by colour, dashes and marks: one of these is enough.
LINES = [f"#10000{at}" for at in range(1, 9)]
DASHES, MARKS = ("-", "--", ":", "-."), "os^Dv*P"
CLASSES = {ACCENT: "accent", SECOND: "second"} | {
    colour: f"line-{at}" for at, colour in enumerate(LINES, 1)
}


def new(width: float, height: float, columns: int = 1) -> tuple[Figure, list[Axes]]:
    r"""
    ## A new figure

    It has so many inches, and its axes stand side by side in so many `columns`.
    """
    figure = Figure((width, height), layout="constrained")
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def svg(figure: Figure, name: str) -> str:
    r"""
    ## A figure as an SVG

    Its text, which is the same bytes each time; `name` makes its ids its own.
    """
    written = io.StringIO()
    with matplotlib.rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": name, "path.simplify": True}
    ):
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
    text = re.sub(r'style="([^"]*)"', lambda m: _attributes(m[1]), text)

    # A tenth of a point is finer than a screen. What is written keeps its digits.
    text = re.sub(r"<[^>]*>", lambda m: re.sub(r'(?<!opacity=")(\d+\.\d)\d+', r"\1", m[0]), text)
    return re.sub(r"\s*\n\s*", " ", text).strip()


def _attributes(style: str) -> str:
    r"""
    What Matplotlib says in a style, as attributes and classes, which a page may restyle.
    """
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

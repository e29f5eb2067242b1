r"""
---
title: Data Flow
summary: The steps of a page as a drawing, from the graph and not by hand.
---

A page tells its steps one below the other. Which step reads what, and how large it is, is in the
[graph](exporter.py), so it can be drawn. A box is a line of the page, in the order in which the
lines run. What a line binds goes down to the lines that read it: straight to the next box, and in a
lane at the side to a later one. The wider a line, the more numbers it has.

**In:** a graph with the [steps](steps.py) of a page. **Out:** an SVG, 360 units wide, which takes
its colours from the text around it, so it fits any theme. Each box is a link to its line.

Of the layers of a model, the first is drawn. The others are one box, if something comes after them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import prod, sqrt
from pathlib import PurePosixPath
from typing import Any

WIDTH, BOX, HEIGHT, GAP, LANE = 360, 270, 38, 34, 13
# Of the text in a box: more would be cut off at its edge.
LETTERS = 37


@dataclass
class Box:
    r"""
    ## A box

    `nodes` are the numbers of its nodes, and `step` is the number of its step, if it has one.
    """

    text: str
    small: str
    nodes: set[int]
    step: int | None = None
    line: int | None = None
    module: bool = False
    top: int = 0


@dataclass
class Edge:
    r"""
    ## A tensor on its way from one box to another
    """

    source: Box
    target: Box
    shape: Sequence[str]
    size: int
    lane: int = field(default=0)


def shortened(text: str) -> str:
    r"""
    ## What fits into a box
    """
    text = " ".join(text.split())
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"


def boxes(graph: Mapping[str, Any], source: str) -> list[Box]:
    r"""
    ## The boxes of a page
    """
    lines = source.splitlines()
    steps = list(enumerate(graph["steps"]))
    layers = sorted({step["layer"] for _, step in steps if step["layer"] is not None})
    first = layers[0] if layers else None
    others = [step for _, step in steps if step["layer"] not in (None, first)]
    found: list[Box] = []
    for number, step in steps:
        if step["layer"] not in (None, first):
            continue
        if others and step["nodes"][0] > others[-1]["nodes"][-1]:
            count = len(layers) - 1
            text = f"{count} more layer{'s' * (count > 1)}"
            nodes = {index for one in others for index in one["nodes"]}
            # What lies between two of its lines belongs to the layer as well.
            found.append(Box(text, "", set(range(min(nodes), max(nodes) + 1)), module=True))
            others = []
        stack = graph["stacks"][graph["nodes"][step["nodes"][0]][4]]
        calls = [line for file, line in stack if graph["files"][file] == graph["page"]]
        ends = {graph["files"][graph["stacks"][graph["nodes"][i][4]][-1][0]] for i in step["nodes"]}
        found.append(
            Box(
                text=shortened(lines[step["line"] - 1]),
                small=shortened(lines[calls[-2] - 1]) if len(calls) > 1 else "",
                nodes=set(step["nodes"]),
                step=number,
                line=step["line"],
                module=ends != {graph["page"]},
            )
        )
    return found


def edges(graph: Mapping[str, Any], found: list[Box]) -> list[Edge]:
    r"""
    ## Who reads what

    What comes from elsewhere comes from a box of its own, which is put before all others.
    """
    number = {node[0]: index for index, node in enumerate(graph["nodes"])}
    inputs = {entry["name"] for entry in graph["inputs"]}
    owner = {index: box for box in found for index in box.nodes}
    outside: dict[str, Box] = {}
    result: dict[tuple[int, int, tuple[str, ...]], Edge] = {}
    for box in found:
        for index in sorted(box.nodes):
            _, _, arguments, options, *_ = graph["nodes"][index]
            for name in re.findall(r"%(\w+)", f"{arguments}{options}"):
                if name in number and number[name] in box.nodes:
                    continue
                # Weights and constants are no data that flows.
                if name not in number and name not in inputs:
                    continue
                start = owner.get(number.get(name, -1))
                if start is None:
                    start = outside.setdefault(name, elsewhere(graph, name, number))
                shape = axes_of(graph, name, number)
                key = (id(start), id(box), tuple(shape))
                result.setdefault(key, Edge(start, box, shape, size_of(graph, shape)))
    found[:0] = outside.values()
    return list(result.values())


def elsewhere(graph: Mapping[str, Any], name: str, number: Mapping[str, int]) -> Box:
    r"""
    ## What comes from another page
    """
    if name not in number:
        return Box(name, "", set())
    file, line = graph["stacks"][graph["nodes"][number[name]][4]][-1]
    path = PurePosixPath(graph["files"][file])
    return Box(f"from {path.name}, line {line}", "", set())


def axes_of(graph: Mapping[str, Any], name: str, number: Mapping[str, int]) -> list[str]:
    r"""
    ## The names of a tensor's axes

    An axis of size 1 says nothing.
    """
    if name in number:
        axes = graph["axes"][graph["nodes"][number[name]][6]] or []
    else:
        axes = ["seq_len"]
    return [axis for axis in axes if axis != "1"]


def size_of(graph: Mapping[str, Any], shape: Sequence[str]) -> int:
    r"""
    ## How many numbers a tensor has

    For a text as long as the longer one of the export.
    """
    sizes = graph["sizes"]
    return prod(int(axis) if axis.isdigit() else sizes.get(axis, 1) for axis in shape)


def put(found: Sequence[Box], arrows: Sequence[Edge]) -> int:
    r"""
    ## Put everything in its place

    Boxes one below the other, and each edge that passes a box in the first lane that is free.
    Returns the height.
    """
    for index, box in enumerate(found):
        box.top = 8 + index * (HEIGHT + GAP)
    free: list[int] = []
    for edge in sorted(arrows, key=lambda edge: (edge.source.top, edge.target.top)):
        if edge.target.top - edge.source.top == HEIGHT + GAP:
            edge.lane = 0
            continue
        lane = next((n for n, until in enumerate(free) if until <= edge.source.top), len(free))
        free[lane : lane + 1] = [edge.target.top]
        edge.lane = lane + 1
    return len(found) * (HEIGHT + GAP) + 8


def draw(graph: Mapping[str, Any], source: str) -> str:
    r"""
    ## Draw
    """
    found = boxes(graph, source)
    if len(found) < 2:
        return ""
    arrows = edges(graph, found)
    height = put(found, arrows)
    lanes = max((edge.lane for edge in arrows), default=0)
    width = max(WIDTH, BOX + 12 + LANE * (lanes + 1))
    parts = [
        f'<svg class="flow" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="group" aria-labelledby="flow-title flow-text" font-size="11" '
        'style="max-width:100%;height:auto">',
        '<title id="flow-title">The data flow of this page</title>',
        f'<desc id="flow-text">{escape(told(arrows))}</desc>',
        '<g fill="none" stroke="currentColor" stroke-opacity="0.35">',
        *(line(edge) for edge in arrows),
        "</g>",
        *(label(box, arrows) for box in found),
        *(drawn(box) for box in found),
        "</svg>",
    ]
    return "".join(parts)


def line(edge: Edge) -> str:
    r"""
    ### An edge
    """
    stroke = f'stroke-width="{max(1.5, min(9, sqrt(edge.size) / 10)):.1f}"'
    start, end = edge.source.top + HEIGHT, edge.target.top
    if not edge.lane:
        return f'<path d="M24 {start}V{end}" {stroke}/>'
    # Out at the side of the box, down its lane, and in at the side of the other.
    x, out, into = BOX + LANE * edge.lane, start - 9, end + 9
    return f'<path d="M{BOX} {out}H{x - 5}q5 0 5 5V{into - 5}q0 5 -5 5H{BOX}" {stroke}/>'


def label(box: Box, arrows: Sequence[Edge]) -> str:
    r"""
    ### The shapes of what leaves a box

    Each once, below one another.
    """
    found = dict.fromkeys(" × ".join(edge.shape) for edge in arrows if edge.source is box)
    shapes = [shape for shape in found if shape]
    first = box.top + HEIGHT + GAP // 2 + 4 - 6 * (len(shapes) - 1)
    return "".join(
        f'<text x="36" y="{first + 12 * index}" fill="currentColor">{escape(shape)}</text>'
        for index, shape in enumerate(shapes)
    )


def drawn(box: Box) -> str:
    r"""
    ### A box

    That of a submodule, or of a function of another page, has round ends.
    """
    radius = HEIGHT // 2 if box.module else 3
    middle = box.top + (17 if box.small else 23)
    shape = (
        f'<rect x="1" y="{box.top}" width="{BOX - 1}" height="{HEIGHT}" rx="{radius}" '
        'fill="currentColor" fill-opacity="0.06" stroke="currentColor" stroke-opacity="0.5"/>'
        f'<text x="14" y="{middle}" fill="currentColor" font-family="monospace">'
        f"{escape(box.text)}</text>"
    )
    if box.small:
        shape += (
            f'<text x="14" y="{box.top + 31}" fill="currentColor" font-family="monospace" '
            f'font-size="9">{escape(box.small)}</text>'
        )
    if box.step is None:
        return shape
    name = f"Line {box.line}: {box.text}"
    return f'<a href="#L{box.line}" data-step="{box.step}" aria-label="{escape(name)}">{shape}</a>'


def told(arrows: Sequence[Edge]) -> str:
    r"""
    ## The same in words
    """

    def name(box: Box) -> str:
        return f"line {box.line}" if box.line else box.text

    return "; ".join(
        f"{name(edge.source)} to {name(edge.target)}: {' by '.join(edge.shape) or 'one number'}"
        for edge in arrows
    )

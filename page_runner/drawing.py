r"""
---
title: Drawing of the Data Flow
summary: Boxes in rows and the lines between them, on one screen of a phone.
---

**In:** the boxes and edges of a [data flow](dataflow.py). **Out:** an SVG, 360 units wide, which
takes its colours from the text around it, so it fits any theme. Each box is a link to its line.

A box stands in the row below the last one that it reads; three side by side are the most, beside
what comes from outside. A line never crosses a box: it leaves at the bottom, turns in the gap
below, and enters at the top. One that has to pass a row does so in a lane at the side. Text is
broken where there is no room, never cut.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

# In units of the drawing: its width; the width of a character of a name, and of a smaller one.
WIDTH = 360
LETTER = 6.7
SMALL = 6.05

# Heights of a name, of a smaller line, of what is above and below, and between two tracks of lines.
NAME = 13
LINE = 12
PAD = 5
TRACK = 5

# Widths of a lane for an arrow, and between two boxes; and how many boxes are side by side at most.
LANE = 7
GAP = 8
MOST_WIDE = 3

# A page has no more boxes than that, unless it has more lines that call nothing.
MOST_BOXES = 13


@dataclass(eq=False)
class Box:
    r"""
    ## A box

    * `name` is what the line binds or the submodule that does it, and `told` what it does
    * `nodes` are the numbers of its nodes in the graph
    * `step` is the number of its first step, and `line` that of its line
    * `module` is whether it is a submodule, `more` whether it stands for several that are the same,
      and `outside` whether it comes from outside
    * `group` is the frame around it: “head 1 of 4”
    * `shapes` are those of what leaves it
    """

    name: str
    told: str
    nodes: set[int]
    step: int | None = None
    line: int | None = None
    module: bool = False
    more: bool = False
    outside: bool = False
    group: str = ""
    shapes: list[str] = field(default_factory=list)
    # Where it is drawn.
    row: int = 0
    left: float = 0
    width: float = 0
    top: float = 0
    height: float = 0
    lines: list[str] = field(default_factory=list)

    @property
    def middle(self) -> float:
        return self.left + self.width / 2


@dataclass(eq=False)
class Edge:
    r"""
    ## A line from a box to one that reads it

    `lane` is the number of its lane at the side, from 1; 0 if it goes down to the next row.
    """

    source: Box
    target: Box
    shapes: list[str]
    lane: int = 0
    leaves: float = 0
    turns: float = 0
    enters: float = 0


def draw(boxes: Sequence[Box], edges: Sequence[Edge]) -> str:
    r"""
    ## Draw
    """
    rows = in_rows(boxes, edges)
    lanes = in_lanes(edges)
    room = WIDTH - 2 - LANE * lanes
    for row in rows:
        spread(row, rows, room)
    height = below_one_another(rows, edges)
    frames = [frame(boxes, name) for name in dict.fromkeys(box.group for box in boxes) if name]
    return "".join([
        f'<svg class="flow" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" role="group" aria-labelledby="flow-title flow-text" '
        'font-size="11" style="max-width:100%;height:auto">',
        '<title id="flow-title">The data flow of this page</title>',
        f'<desc id="flow-text">{escape(told(edges))}</desc>',
        *frames,
        '<g fill="none" stroke="currentColor" stroke-opacity="0.45">',
        *(line(edge) for edge in edges),
        "</g>",
        *(drawn(box) for box in boxes),
        "</svg>",
    ])  # fmt: skip


def in_rows(boxes: Sequence[Box], edges: Sequence[Edge]) -> list[list[Box]]:
    r"""
    ## Each box below all that it reads

    What is read by one box alone stands just above it, if all that it reads itself comes from
    outside and is read by nobody else, as a mask is. A row that is full sends the next box down.
    """
    for box in boxes:
        box.row = lowest(box, edges) + 1
    least = {id(box): 0 for box in boxes}
    for box in reversed(boxes):
        readers = [edge.target for edge in edges if edge.source is box]
        sources = [edge.source for edge in edges if edge.target is box]
        alone = all(
            source.outside and sum(edge.source is source for edge in edges) == 1
            for source in sources
        )
        if readers and alone:
            least[id(box)] = min(max(one.row, least[id(one)]) for one in readers) - 1
    count: dict[int, int] = {}
    for box in boxes:
        box.row = max(lowest(box, edges) + 1, least[id(box)])
        while not box.outside and count.get(box.row, 0) == MOST_WIDE:
            box.row += 1
        count[box.row] = count.get(box.row, 0) + (not box.outside)
    # Rows that have become empty are none.
    used = sorted({box.row for box in boxes})
    for box in boxes:
        box.row = used.index(box.row)
    rows = [[box for box in boxes if box.row == row] for row in range(len(used))]
    # What is in a frame stands left of what isn't, and what stands for others at the right.
    return [sorted(row, key=lambda box: (not box.group, box.more)) for row in rows]


def lowest(box: Box, edges: Sequence[Edge]) -> int:
    r"""
    ## The row of the lowest box that another one reads

    -1 if it reads none.
    """
    return max((edge.source.row for edge in edges if edge.target is box), default=-1)


def in_lanes(edges: Sequence[Edge]) -> int:
    r"""
    ## A lane for each edge that passes a row

    Edges of one box share a lane, as they carry the same. The result is the number of lanes.
    """
    until: list[int] = []
    lane_of: dict[int, int] = {}
    for edge in sorted(edges, key=lambda edge: (edge.source.row, -edge.target.row)):
        if edge.target.row - edge.source.row == 1:
            continue
        key = id(edge.source)
        if key not in lane_of:
            free = (n for n, end in enumerate(until) if end < edge.source.row)
            lane = next(free, len(until))
            until[lane : lane + 1] = [edge.target.row]
            lane_of[key] = lane + 1
        edge.lane = lane_of[key]
    return len(until)


def spread(row: Sequence[Box], rows: Sequence[Sequence[Box]], room: float) -> None:
    r"""
    ## Boxes of a row side by side

    Each as wide as its text, or as its share of the room. Beside a frame there is a third of the
    room for the others.
    """
    framed = [box for box in row if box.group]
    group = framed[0].group if framed else ""
    rows_of_group = [one for one in rows if any(box.group == group for box in one)] if group else []
    shared = any(not box.group for one in rows_of_group for box in one)
    inner = room * 0.68 if shared else room
    parts = [(framed, 6.0, inner - 12), ([box for box in row if not box.group], 1.0, room)]
    if framed:
        parts[1] = (parts[1][0], inner + 4, room - inner - 4)
    for boxes, left, wide in parts:
        share = (wide - GAP * (len(boxes) - 1)) / max(1, len(boxes))
        for box in boxes:
            write(box, share)
        used = sum(box.width for box in boxes) + GAP * (len(boxes) - 1)
        at = left + (wide - used) / 2
        for box in boxes:
            box.left = at
            at += box.width + GAP


def write(box: Box, room: float) -> None:
    r"""
    ## The text of a box

    What it does and the shape of what leaves it are on one line if that fits, else on several.
    """
    most = max(1, int((room - 16) / SMALL))
    parts = [box.told, *box.shapes]
    joined = " · ".join(part for part in parts if part)
    box.lines = [joined] if len(joined) <= most else []
    for part in [] if box.lines else parts:
        box.lines += broken(part, most)
    box.lines = [one for one in box.lines if one]
    names = broken(heading(box), max(1, int((room - 16) / LETTER)))
    letters = max(len(one) for one in names) * LETTER
    small = max([len(one) for one in box.lines], default=0) * SMALL
    box.width = min(room, max(letters, small) + 16)
    box.height = PAD + NAME * len(names) + LINE * len(box.lines) + PAD
    box.lines = [*names, "", *box.lines]


def heading(box: Box) -> str:
    return f"{box.name} {box.line}" if box.line else box.name


def broken(text: str, most: int) -> list[str]:
    r"""
    ## A text on lines of so many characters

    It is broken at blanks, and a word that is longer than a line behind one of its underscores, if
    it has some.
    """
    found = [""]
    for word in text.split():
        joined = f"{found[-1]} {word}".strip()
        if len(joined) <= most:
            found[-1] = joined
            continue
        pieces = cut(word, most)
        found += pieces if found[-1] else []
        found = found if len(found) > 1 or found[-1] else pieces
    return found


def cut(word: str, most: int) -> list[str]:
    r"""
    ## A word in pieces of at most so many characters
    """
    pieces = []
    while len(word) > most:
        at = word.rfind("_", 1, most) + 1 or most
        pieces.append(word[:at])
        word = word[at:]
    return [*pieces, word]


def below_one_another(rows: Sequence[Sequence[Box]], edges: Sequence[Edge]) -> float:
    r"""
    ## Rows, and the gaps between them

    A gap has a track for each box above that is read further down, and one for each lane that comes
    in. The result is the height.
    """
    top = 2.0
    for number, row in enumerate(rows):
        starts = {box.group for box in row if box.group}
        starts -= {box.group for box in (rows[number - 1] if number else []) if box.group}
        # The name of a frame stands above its first row.
        top += 16 if starts else 0
        tall = max(box.height for box in row)
        for box in row:
            box.top = top + (tall - box.height) / 2
            arriving = sorted(
                (edge for edge in edges if edge.target is box),
                key=lambda edge: (bool(edge.lane), edge.source.middle),
            )
            for place, edge in enumerate(arriving, start=1):
                edge.enters = box.left + box.width * place / (len(arriving) + 1)
        bottom = top + tall
        tracks = 0
        for box in row:
            leaving = [edge for edge in edges if edge.source is box]
            tracks += bool(leaving)
            for edge in leaving:
                edge.leaves = bottom + 3 + TRACK * tracks
        lanes = sorted({
            edge.lane
            for edge in edges
            if edge.lane and number + 1 < len(rows) and edge.target.row == number + 1
        })  # fmt: skip
        for edge in edges:
            if edge.target.row == number + 1:
                place = tracks + 1 + lanes.index(edge.lane) if edge.lane else 0
                edge.turns = bottom + 3 + TRACK * place if edge.lane else edge.leaves
        tracks += len(lanes)
        top = bottom + 3 + TRACK * (tracks + 1) + 2
        if number + 1 == len(rows):
            top = bottom + 3
    return top


def line(edge: Edge) -> str:
    r"""
    ### An edge
    """
    source, target = edge.source, edge.target
    start, end = source.top + source.height, target.top
    if not edge.lane:
        return (
            f'<path d="M{source.middle:.1f} {start:.1f}V{edge.leaves:.1f}'
            f'H{edge.enters:.1f}V{end:.1f}"/>'
        )
    side = WIDTH - 2 - LANE * (edge.lane - 1)
    return (
        f'<path d="M{source.middle:.1f} {start:.1f}V{edge.leaves:.1f}H{side}V{edge.turns:.1f}'
        f'H{edge.enters:.1f}V{end:.1f}"/>'
    )


def frame(boxes: Sequence[Box], name: str) -> str:
    r"""
    ### A frame around the boxes of one head or layer, with its name
    """
    found = [box for box in boxes if box.group == name]
    left = min(box.left for box in found) - 5
    right = max(box.left + box.width for box in found) + 5
    top = min(box.top for box in found) - 19
    bottom = max(box.top + box.height for box in found) + 5
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
        f'height="{bottom - top:.1f}" rx="6" fill="currentColor" fill-opacity="0.04" '
        'stroke="currentColor" stroke-opacity="0.35" stroke-dasharray="3 3"/>'
        f'<text x="{left + 6:.1f}" y="{top + 12:.1f}" fill="currentColor" font-size="10">'
        f"{escape(name)}</text>"
    )


def drawn(box: Box) -> str:
    r"""
    ### A box

    That of a submodule has round ends. What comes from outside has no ground, and what stands for
    several that are the same has a dashed edge.
    """
    radius = min(12, box.height / 2) if box.module else 3
    dashes = ' stroke-dasharray="2 2"' if box.more else ""
    rect = (
        f'<rect x="{box.left:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="{radius:.0f}" fill="currentColor" '
        f'fill-opacity="{0 if box.outside else 0.07}" stroke="currentColor" '
        f'stroke-opacity="0.55"{dashes}/>'
    )
    text, y, small = [], box.top + PAD + 10, False
    for one in box.lines:
        if not one:
            small, y = True, y - 1
            continue
        size = "10" if small else "11"
        text.append(
            f'<text x="{box.middle:.1f}" y="{y:.1f}" fill="currentColor" text-anchor="middle" '
            f'font-family="monospace" font-size="{size}">{escape(one)}</text>'
        )
        y += LINE if small else NAME
    shape = rect + "".join(text)
    if box.step is None:
        return shape
    name = escape(f"Line {box.line}: {box.name}")
    return f'<a href="#L{box.line}" data-step="{box.step}" aria-label="{name}">{shape}</a>'


def told(edges: Sequence[Edge]) -> str:
    r"""
    ## The same in words
    """

    def name(box: Box) -> str:
        return f"{box.name} (line {box.line})" if box.line else box.name

    return "; ".join(
        f"{name(edge.source)} to {name(edge.target)}: "
        + (" and ".join(edge.shapes).replace(" × ", " by ") or "one number")
        for edge in edges
    )

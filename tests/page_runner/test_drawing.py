r"""The drawing of a data flow: nothing is cut, nothing overlaps, and no line crosses a box."""

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from page_runner.drawing import MOST_WIDE, WIDTH, Box, Edge, broken, draw

SHAPE = "seq_len × batch_size × heads × d_k"

Flow = tuple[list[Box], list[Edge]]


def flow(reads: list[list[int]], **options: str) -> Flow:
    r"""Boxes, each with the numbers of those that it reads."""
    boxes = [
        Box(f"name_{n}", "einsum, softmax", {n}, n, 100 + n, n % 2 == 0, shapes=[SHAPE])
        for n in range(len(reads))
    ]
    edges = [Edge(boxes[a], boxes[b], [SHAPE]) for b, found in enumerate(reads) for a in found]
    return boxes, edges


def attention() -> Flow:
    r"""As the page of attention draws it."""
    names = "query,key,value mask mask query key value scores hidden attn x output".split()
    reads = [[], [], [1], [0], [0], [0], [3, 4], [2, 6], [7], [8, 5], [9]]
    boxes, edges = flow(reads)
    for box, name in zip(boxes, names, strict=True):
        box.name = name
    for box in boxes[:2]:
        box.outside, box.line, box.step = True, None, None
    return boxes, edges


def heads() -> Flow:
    boxes, edges = flow([[], [0], [1], [2, 1], [0], [3, 4]])
    boxes[0].outside = boxes[4].more = True
    for box in boxes[1:4]:
        box.group = "head 1 of 4"
    boxes[4].step = boxes[4].line = None
    return boxes, edges


@st.composite
def any_flow(draw_from: st.DrawFn) -> Flow:
    count = draw_from(st.integers(2, 12))
    return flow([
        sorted(draw_from(st.sets(st.integers(0, n - 1), max_size=4))) if n else []
        for n in range(count)
    ])  # fmt: skip


def segments(path: str) -> list[tuple[float, float, float, float]]:
    r"""The straight pieces of a path of M, V and H."""
    found, x, y = [], 0.0, 0.0
    for letter, number in re.findall(r"([MVH])([\d. ]+)", path):
        if letter == "M":
            x, y = map(float, number.split())
            continue
        to = (float(number), y) if letter == "H" else (x, float(number))
        found.append((min(x, to[0]), min(y, to[1]), max(x, to[0]), max(y, to[1])))
        x, y = to
    return found


def check(boxes: list[Box], edges: list[Edge]) -> ElementTree.Element:
    svg = ElementTree.fromstring(draw(boxes, edges))
    height = float(svg.get("height", "0"))
    for box in boxes:
        assert box.left >= 0 and box.left + box.width <= WIDTH
        assert 0 <= box.top and box.top + box.height <= height
    for one, other in combinations(boxes, 2):
        apart_in_x = one.left + one.width < other.left or other.left + other.width < one.left
        apart_in_y = one.top + one.height < other.top or other.top + other.height < one.top
        assert apart_in_x or apart_in_y, (one.name, other.name)
    # A line touches no box but the two that it belongs to, and these at their edges.
    paths = [one.get("d", "") for one in svg.iter("path")]
    for edge, path in zip(edges, paths, strict=True):
        assert edge.source.row < edge.target.row
        for left, top, right, bottom in segments(path):
            assert 0 <= left and right <= WIDTH
            for box in boxes:
                inside_x = box.left + 0.1 < right and left < box.left + box.width - 0.1
                inside_y = box.top + 0.1 < bottom and top < box.top + box.height - 0.1
                assert not (inside_x and inside_y), (edge.source.name, edge.target.name, box.name)
    # All of the text is there, within its box.
    texts = [one for one in svg.iter("text") if one.get("text-anchor")]
    for one in texts:
        width = len(one.text or "") * 0.602 * float(one.get("font-size", "0"))
        at = float(one.get("x", "0"))
        around = [box for box in boxes if abs(box.middle - at) < 0.06]
        assert any(width <= box.width for box in around)
    shown = "".join("".join(one.text or "" for one in texts).split())
    for box in boxes:
        for part in (box.name, box.told, *box.shapes):
            assert "".join(part.split()) in shown
    return svg


@pytest.mark.parametrize("made", [attention, heads])
def test_nothing_is_cut_nothing_overlaps_and_no_line_crosses_a_box(made: object) -> None:
    svg = check(*made())
    assert float(svg.get("width", "0")) == 360 and float(svg.get("height", "0")) < 600


@given(any_flow())
def test_so_it_is_for_any_flow(made: Flow) -> None:
    check(*made)
    rows = [box.row for box in made[0]]
    assert max(map(rows.count, rows)) <= MOST_WIDE
    assert set(rows) == set(range(max(rows) + 1))


def test_a_mask_stands_above_what_reads_it_and_the_input_above_all() -> None:
    boxes, edges = attention()
    draw(boxes, edges)
    assert [box.row for box in boxes] == [0, 1, 2, 1, 1, 1, 2, 3, 4, 5, 6]


def test_a_frame_is_around_its_boxes_and_no_others() -> None:
    boxes, edges = heads()
    svg = ElementTree.fromstring(draw(boxes, edges))
    rect = next(one for one in svg.iter("rect"))
    left, top, width, height = (float(rect.get(one, "")) for one in ("x", "y", "width", "height"))
    for box in boxes:
        middle = box.top + box.height / 2
        is_inside = left < box.middle < left + width and top < middle < top + height
        assert is_inside == bool(box.group)
    texts = [one.text for one in svg.iter("text")]
    assert texts[0] == "head 1 of 4"


def test_it_is_svg_with_links_titles_and_no_colour_of_its_own() -> None:
    boxes, edges = attention()
    text = draw(boxes, edges)
    svg = ElementTree.fromstring(text)
    links = list(svg.iter("a"))
    assert [one.get("href") for one in links] == [f"#L{n}" for n in range(102, 111)]
    assert [one.get("data-step") for one in links] == [str(n) for n in range(2, 11)]
    assert links[0].get("aria-label") == "Line 102: mask"
    said = svg.findtext("desc") or ""
    assert "query (line 103) to scores (line 106): seq_len by batch_size by heads by d_k" in said
    assert set(re.findall(r'(?:fill|stroke)="([^"]*)"', text)) == {"none", "currentColor"}


@given(st.text("ab_ ", max_size=60), st.integers(2, 20))
def test_text_is_broken_and_stays_whole(text: str, most: int) -> None:
    lines = broken(text, most)
    assert all(len(one) <= most for one in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_a_long_word_is_broken_behind_an_underscore() -> None:
    assert broken("linalg_vector_norm, div", 14) == ["linalg_vector_", "norm, div"]
    assert broken("abcdefgh", 3) == ["abc", "def", "gh"]

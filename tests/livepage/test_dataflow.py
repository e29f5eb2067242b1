r"""The drawing of a page's data flow."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from livepage.dataflow import boxes, draw, edges, put

SOURCE = """\
def forward(self, x):
    query = self.query(x)
    key = self.key(x)
    scores = query @ key.mT < 3
    x = self.other(scores, "a text that is far too long for a box, and is cut")
    return self.norm(x)
"""


def node(name: str, arguments: list[Any], stack: int, axes: int, module: int = 0) -> list[Any]:
    return [name, name, arguments, {}, stack, module, axes, "float32"]


@pytest.fixture
def graph() -> dict[str, Any]:
    layer = [
        node("query", ["%start", "%p_weight"], 1, 1),
        node("key", ["%start"], 2, 1),
        node("product", ["%query", "%key"], 3, 2),
        node("less", ["%product", 3], 3, 2),
        node("other", ["%less"], 4, 1),
        node("narrow", ["%other", "%query"], 4, 1),
    ]
    again = [[f"{name}_1", *rest[:4], 1, *rest[5:]] for name, *rest in layer]
    return {
        "page": "p/page.py",
        "files": ["p/page.py", "p/other.py"],
        "stacks": [[[1, 7]], [[0, 2]], [[0, 3]], [[0, 4]], [[0, 5], [1, 9]], [[0, 6]]],
        "modules": ["layers.0", "layers.1", ""],
        "axes": [["seq_len", "1"], ["seq_len", "1", "d"], ["seq_len", "seq_len"]],
        "sizes": {"seq_len": 44, "d": 10},
        "inputs": [{"name": "tokens", "shape": ["@0+1"]}],
        "nodes": [
            node("start", ["%tokens"], 0, 1, module=2),
            *layer,
            *again,
            node("norm", ["%narrow_1"], 5, 1, module=2),
        ],
        "outputs": ["%norm"],
        "steps": [
            {"line": 2, "bound": "query", "layer": 0, "nodes": [1], "shown": [1]},
            {"line": 3, "bound": "key", "layer": 0, "nodes": [2], "shown": [2]},
            {"line": 4, "bound": "scores", "layer": 0, "nodes": [3, 4], "shown": [4]},
            {"line": 5, "bound": "x", "layer": 0, "nodes": [5, 6], "shown": [6]},
            {"line": 2, "bound": "query", "layer": 1, "nodes": [7], "shown": [7]},
            {"line": 5, "bound": "x", "layer": 1, "nodes": [11, 12], "shown": [12]},
            {"line": 6, "bound": "return", "layer": None, "nodes": [13], "shown": [13]},
        ],
    }


def test_boxes_are_the_lines_of_the_first_layer_and_one_for_the_others(
    graph: dict[str, Any],
) -> None:
    found = boxes(graph, SOURCE)
    assert [box.line for box in found] == [2, 3, 4, 5, None, 6]
    assert found[4].text == "1 more layer" and found[4].nodes == set(range(7, 13))
    assert found[3].text.endswith("…") and len(found[3].text) < 40
    # What ends in another file is a submodule.
    assert [box.module for box in found] == [False, False, False, True, True, False]


def test_edges_are_what_a_line_reads_with_names_and_sizes(graph: dict[str, Any]) -> None:
    found = boxes(graph, SOURCE)
    seen = {
        (edge.source.line or edge.source.text, edge.target.line, tuple(edge.shape), edge.size)
        for edge in edges(graph, found)
        if edge.target.line
    }
    start, wide = "from other.py, line 7", ("seq_len", "d")
    assert seen == {
        (start, 2, wide, 440),
        (start, 3, wide, 440),
        (2, 4, wide, 440),
        (3, 4, wide, 440),
        (4, 5, ("seq_len", "seq_len"), 44 * 44),
        (2, 5, wide, 440),
        ("1 more layer", 6, wide, 440),
    }
    assert found[0].text == start


def test_edges_that_pass_a_box_have_lanes_of_their_own(graph: dict[str, Any]) -> None:
    found = boxes(graph, SOURCE)
    arrows = edges(graph, found)
    put(found, arrows)
    for one in arrows:
        for other in arrows:
            overlap = one.source.top < other.target.top and other.source.top < one.target.top
            assert one is other or not one.lane or one.lane != other.lane or not overlap


def test_the_drawing_is_svg_with_links_titles_and_no_colour_of_its_own(
    graph: dict[str, Any],
) -> None:
    text = draw(graph, SOURCE)
    svg = ElementTree.fromstring(text)
    links = [one for one in svg.iter("a")]
    assert [one.get("href") for one in links] == ["#L2", "#L3", "#L4", "#L5", "#L6"]
    assert [one.get("data-step") for one in links] == ["0", "1", "2", "3", "6"]
    assert all("line" in one.get("aria-label", "").lower() for one in links)
    assert "line 4 to line 5: seq_len by seq_len" in (svg.findtext("desc") or "")
    colours = set(re.findall(r'(?:fill|stroke)="([^"]*)"', text))
    assert colours == {"none", "currentColor"}
    assert int(svg.get("width", "0")) <= 400
    # The wider line is the larger tensor.
    assert sorted(re.findall(r'stroke-width="([\d.]+)"', text)) == ["2.1"] * 10 + ["4.4"] * 2


def test_a_page_of_one_step_needs_no_drawing(graph: dict[str, Any]) -> None:
    graph["steps"] = graph["steps"][-1:]
    assert draw(graph, SOURCE) == ""

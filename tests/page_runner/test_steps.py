r"""Nodes become steps of a page."""

from typing import Any

from page_runner.steps import layer_of, statements, steps

SOURCE = """\
def forward(self, x):
    q, k = self.query(x), self.key(x)
    scores = self.get_scores(
        q / 2,
        k,
    )
    scores += 1
    return [scores
            for layer in self.layers]
"""


def test_each_line_of_a_statement_belongs_to_its_first() -> None:
    found = statements(SOURCE)
    assert found[2] == (2, "q, k")
    assert {found[line] for line in (3, 4, 5, 6)} == {(3, "scores")}
    assert found[7] == (7, "scores")
    assert found[8] == found[9] == (8, "return")


def test_the_layer_is_the_first_number_in_the_path_of_a_module() -> None:
    assert layer_of("encoder.layers.2.self_attn.heads.3") == 2
    assert layer_of("layers.11") == 11
    assert layer_of("embedding") is None
    assert layer_of("layer1.x2") is None


def node(name: str, arguments: list[str], stack: int, module: int = 0) -> dict[str, Any]:
    place = {"stack": stack, "module": module, "axes": 0, "dtype": "float32"}
    return {"name": name, "operation": name, "arguments": arguments, "options": {}, **place}


GRAPH = {
    "files": ["p/page.py", "p/other.py"],
    # Line 2; line 3, and from there a line of another file; only that file; line 7.
    "stacks": [[[0, 2]], [[0, 3], [1, 9]], [[1, 5]], [[0, 7]]],
    "modules": ["layers.0", "layers.1"],
    "nodes": [
        node("query", ["%x"], 0),
        node("key", ["%x"], 0),
        node("half", ["%query"], 1),
        node("product", ["%half", "%key"], 1),
        node("mask", ["%product"], 2),
        node("more", ["%mask"], 3),
        node("again", ["%more"], 3, module=1),
    ],
    "outputs": ["%again"],
}


def test_a_step_is_what_a_line_does_in_a_layer() -> None:
    found = steps(GRAPH, "p/page.py", SOURCE)
    keys = [(step["line"], step["bound"], step["layer"], step["nodes"]) for step in found]
    assert keys == [
        (2, "q, k", 0, [0, 1]),
        (3, "scores", 0, [2, 3]),
        (7, "scores", 0, [5]),
        (7, "scores", 1, [6]),
    ]


def test_what_other_lines_read_is_shown() -> None:
    assert [step["shown"] for step in steps(GRAPH, "p/page.py", SOURCE)] == [[0, 1], [3], [5], [6]]
    other = steps(GRAPH, "p/other.py", "\n" * 4 + "x = 1\n" + "\n" * 3 + "y = 2\n")
    assert [(step["line"], step["bound"], step["nodes"]) for step in other] == [
        (9, "y", [2, 3]),
        (5, "x", [4]),
    ]


def test_a_line_has_bound_nothing_before_the_function_of_the_page_that_it_calls() -> None:
    graph = {**GRAPH, "stacks": [[[0, 3]], [[0, 3], [0, 7]], [[0, 7]]]}
    graph["nodes"] = [node("half", ["%x"], 0), node("sum", ["%half"], 1), node("out", ["%sum"], 2)]
    found = [(step["line"], step["bound"]) for step in steps(graph, "p/page.py", SOURCE)]
    assert found == [(3, "on the way to scores"), (7, "scores"), (7, "scores")]

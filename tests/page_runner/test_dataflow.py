r"""Which box of a page's data flow reads which, and how they are called."""

from typing import Any

import pytest

from page_runner.dataflow import Flow, common, drawing, inside, single

SOURCE = """\
def mask_of(n: int) -> Tensor:
    return ones(n)


class Head:
    def forward(self, x: Tensor) -> Tensor:
        return attend(self.query(x), self.key(x))


class Attention:
    def forward(self, query: Tensor, memory: Tensor, mask: Tensor, bias: float) -> Tensor:
        mask = self.prepare(mask, memory.shape)
        query = self.cut(query)
        scores = query * bias + memory
        answers = cat([head(x) for head in self.heads])
        y = normalise(answers)
        return self.output(answers + y)

    def cut(self, x: Tensor) -> Tensor:
        x = self.linear(x)
        return x.view(2)

    def prepare(self, mask: Tensor, shape: list[int]) -> Tensor:
        return mask.unsqueeze(0)
"""


def line_of(text: str) -> int:
    return SOURCE[: SOURCE.index(text)].count("\n") + 1


FORWARD = {
    name: line_of(text)
    for name, text in {
        "mask": "mask = self",
        "query": "query = self",
        "scores": "scores =",
        "answers": "answers =",
        "y": "y = norm",
        "return": "return self.out",
        "linear": "x = self.lin",
        "view": "return x.view",
        "unsqueeze": "return mask.un",
        "attend": "return attend",
    }.items()
}


class Graph:
    r"""A graph, written node by node."""

    def __init__(self) -> None:
        self.made: dict[str, Any] = {
            "page": "p/page.py",
            "files": ["p/page.py", "p/outside.py", "p/norm.py"],
            "stacks": [],
            "modules": [],
            "axes": [["seq_len", "1", "d"]],
            "inputs": [{"name": "tokens", "shape": ["@0+1"]}],
            "nodes": [],
            "outputs": [],
            "steps": [],
        }

    def add(
        self,
        name: str,
        reads: str,
        lines: str = "",
        module: str = "layers.0.attention",
        operation: str = "",
        layer: int | None = 0,
        bound: str = "",
        file: str = "",
        dtype: str = "float32",
    ) -> None:
        r"""A node; a step of the page too, if it has lines."""
        stack = [[1, 7], *([0, FORWARD[one]] for one in lines.split())]
        stack += [[self.made["files"].index(file), 3]] if file else []
        self.made["stacks"].append(stack)
        self.made["modules"].append(module)
        at = len(self.made["nodes"])
        self.made["nodes"].append(
            {
                "name": name,
                "operation": operation or name,
                "arguments": [f"%{one}" for one in reads.split()],
                "options": {},
                "stack": at,
                "module": at,
                "axes": 0,
                "dtype": dtype,
            }
        )
        if lines:
            step = {"line": stack[-1][1], "bound": bound, "layer": layer, "nodes": [at]}
            self.made["steps"].append(step | {"shown": [at]})


def attention(graph: Graph, layer: int, start: str) -> None:
    r"""The attention of a layer, with three heads."""
    module, n = f"layers.{layer}.attention", f"_{layer}"
    at = {"layer": layer}
    graph.add(f"hidden{n}", "outer_mask", "mask unsqueeze", module, "unsqueeze", **at)
    graph.add(f"linear{n}", start, "query linear", f"{module}.linear", "linear", **at)
    graph.add(f"view{n}", f"linear{n}", "query view", module, "view", **at)
    graph.add(f"scores{n}", f"view{n} other", "scores", module, "mul", **at)
    for head in range(3):
        inner, name = f"{module}.heads.{head}", f"head{n}{head}"
        given = {"bound": "on the way to return", **at}
        graph.add(f"{name}q", f"scores{n}", "answers attend", f"{inner}.query", "linear", **given)
        graph.add(f"{name}s", f"{name}q", "answers attend linear", inner, "softmax", **at)
        graph.add(f"{name}d", f"{name}s", "answers attend unsqueeze", inner, "dropout", **at)
        graph.add(f"{name}a", f"{name}d", "answers attend view", inner, "matmul", **at)
    heads = " ".join(f"head{n}{head}a" for head in range(3))
    graph.add(f"cat{n}", heads, "answers", module, "cat", **at)
    graph.add(f"norm{n}", f"cat{n}", "y", module, "mean", file="p/norm.py", **at)
    graph.add(f"add{n}", f"cat{n} norm{n}", "return", module, "add", **at)
    graph.add(f"output{n}", f"add{n} p_weight hidden{n}", "", f"{module}.output", "linear")
    graph.made["steps"][-1]["nodes"].append(len(graph.made["nodes"]) - 1)


@pytest.fixture
def graph() -> dict[str, Any]:
    one = Graph()
    one.add("start", "tokens", module="embed")
    one.add("other", "tokens", module="embed")
    one.add("outer_mask", "", module="", dtype="bool")
    attention(one, 0, "start")
    attention(one, 1, "output_0")
    return one.made


def told(flow: Flow) -> list[tuple[str, str, int | None]]:
    return [(box.name, box.told, box.line) for box in flow.boxes]


def test_boxes_are_lines_of_the_function_and_what_comes_again_is_one_box(
    graph: dict[str, Any],
) -> None:
    flow = Flow(graph, SOURCE)
    assert told(flow) == [
        *(("mask", "", None), ("query", "", None), ("memory", "", None)),
        # What a helper does in two lines belongs to the line that calls it.
        ("mask", "", FORWARD["mask"]),
        ("query", "linear", FORWARD["query"]),
        ("scores", "mul", FORWARD["scores"]),
        # The arguments of a call, and its result.
        ("query", "", FORWARD["attend"]),
        ("x", "softmax", FORWARD["linear"]),
        ("result", "dropout", FORWARD["unsqueeze"]),
        ("result", "matmul", FORWARD["view"]),
        ("heads 2 to 3", "the same", None),
        ("answers", "cat", FORWARD["answers"]),
        # What a function of another page does, and a submodule at the end.
        ("y", "norm", FORWARD["y"]),
        ("output", "add", FORWARD["return"]),
    ]
    assert [box.group for box in flow.boxes if box.group] == ["head 1 of 3"] * 4
    assert [box.step for box in flow.boxes][3:11] == [0, 1, 3, 4, 5, 6, 7, None]
    # The second layer is another call of the page, and is left out.
    assert all(max(box.nodes, default=0) < 24 for box in flow.boxes)


def test_edges_are_what_a_line_reads(graph: dict[str, Any]) -> None:
    flow = Flow(graph, SOURCE)
    seen = {(one.source.name, one.source.line or 0, one.target.name) for one in flow.edges}
    assert seen == {
        ("mask", 0, "mask"),
        ("query", 0, "query"),
        ("memory", 0, "scores"),
        ("query", FORWARD["query"], "scores"),
        ("scores", FORWARD["scores"], "query"),
        ("query", FORWARD["attend"], "x"),
        ("x", FORWARD["linear"], "result"),
        ("result", FORWARD["unsqueeze"], "result"),
        ("scores", FORWARD["scores"], "heads 2 to 3"),
        ("result", FORWARD["view"], "answers"),
        ("heads 2 to 3", 0, "answers"),
        ("answers", FORWARD["answers"], "y"),
        ("answers", FORWARD["answers"], "output"),
        ("y", FORWARD["y"], "output"),
        ("mask", FORWARD["mask"], "output"),
    }
    assert {shape for edge in flow.edges for shape in edge.shapes} == {"seq_len × d"}


def test_the_tokens_have_the_axis_of_the_batch_if_the_page_has_one(graph: dict[str, Any]) -> None:
    assert Flow(graph, SOURCE)._axes("tokens") == "seq_len"
    graph["axes"] = [["seq_len", "batch_size", "d"]]
    assert Flow(graph, SOURCE)._axes("tokens") == "seq_len × batch_size"


def test_what_is_read_and_returned_as_well_has_a_box_at_its_end(graph: dict[str, Any]) -> None:
    own = {(one.source.line, one.target.name) for one in Flow(graph, SOURCE).edges}
    more = SOURCE.replace(
        "return self.output(answers + y)", "return self.output(answers + y), answers"
    )
    flow = Flow(graph, more)
    found = {(one.source.line, one.target.name) for one in flow.edges}
    assert found - own == {(FORWARD["answers"], "answers, returned")} and own < found
    assert flow.boxes[-1].outside and flow.boxes[-1].line is None


def test_layers_in_a_loop_of_the_page_are_one_box() -> None:
    graph = Graph()
    before = "tokens"
    for layer in range(4):
        for line in ("linear", "view", "unsqueeze", "attend"):
            name = f"{line}_{layer}"
            graph.add(name, before, f"answers {line}", f"layers.{layer}", line, layer)
            before = name
    graph.add("norm", before, "y", "norm", layer=None)
    flow = Flow(graph.made, SOURCE)
    expected = ["query", "x", "answers", "answers", "answers", "layers 2 to 4", "norm"]
    assert [box.name for box in flow.boxes][1:] == expected[1:]
    assert [edge.source.name for edge in flow.edges if edge.target.name == "norm"] == expected[5:6]
    assert {box.group for box in flow.boxes[1:5]} == {"layer 1 of 4"}


def test_a_page_of_one_step_needs_no_drawing(graph: dict[str, Any]) -> None:
    assert drawing(graph, SOURCE).startswith("<svg")
    graph["steps"] = graph["steps"][:1]
    assert drawing(graph, SOURCE) == ""


def test_modules_in_modules() -> None:
    assert common(["a.b.c", "a.b.d", "a.b"]) == "a.b"
    assert common(["a", "b"]) == ""
    assert common(["a.0.b"]) == "a.0.b"
    found = [inside("a.b.c", "a"), inside("a", "a"), inside("b.c", ""), inside("ab.c", "a")]
    assert found == ["b", "", "b", ""]
    assert [single("heads"), single("bias"), single("part")] == ["head", "bia", "part"]

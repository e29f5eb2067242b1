r"""
---
title: Steps of a Page
summary: The nodes of a graph, gathered by the line of the page that asked for them.
---

A line like `scores = self.get_scores(query / math.sqrt(self.d_k), key)` is two operations in the
graph, a division and an einsum. A reader steps through *lines*. And a reader of one page steps
through the lines of that page: what a function of another page does is part of the step of the line
that calls it.

**In:** a [graph](exporter.py) and the source of a page. **Out:** a list of steps.
"""

import ast
import re
from collections.abc import Mapping
from typing import Any


def statements(source: str) -> dict[int, tuple[int, str]]:
    r"""
    ## What each line binds

    For each line the first line of its statement, and the names that it binds: `x` for `x = x + y`.
    A statement that binds nothing says what it is: `return`.
    """
    found = {}
    for node in ast.walk(ast.parse(source)):
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        bound = ", ".join(_spelled(target) for target in targets if target is not None)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return | ast.Expr):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                found[line] = (node.lineno, bound or "return")

        # Only the head of a loop belongs to it; the lines inside are statements themselves.
        elif isinstance(node, ast.For | ast.comprehension) and hasattr(node, "lineno"):
            found[node.lineno] = (node.lineno, bound)
    return found


def _spelled(target: ast.expr) -> str:
    r"""
    Several names need no parentheses around them.
    """
    if isinstance(target, ast.Tuple):
        return ", ".join(map(ast.unparse, target.elts))
    return ast.unparse(target)


def layer_of(module: str) -> int | None:
    r"""
    ## Layer

    The first number in the path of a module: 2 in `encoder.layers.2.self_attn`.
    """
    number = re.search(r"\.(\d+)(\.|$)", module)
    return int(number[1]) if number else None


def steps(graph: Mapping[str, Any], page: str, source: str) -> list[dict[str, Any]]:
    r"""
    ## Steps

    Each has its `line`, the names that are `bound` there, the `layer`, its `nodes`, and, of those,
    the ones to be `shown`.
    """
    lines = statements(source)
    found: list[dict[str, Any]] = []
    before = None
    for index, node in enumerate(graph["nodes"]):
        # The calls on this page that led here, the last of which is the line itself.
        calls = [
            line for file, line in graph["stacks"][node["stack"]] if graph["files"][file] == page
        ]
        if not calls:
            continue

        # The same line in another layer, or called from another line, is another step.
        key = (calls, layer := layer_of(graph["modules"][node["module"]]))
        if key != before:
            # A line that goes on to call a function of this page has bound nothing yet: what it has
            # made are arguments. The result is that of the function.
            if before and calls[:-1][: len(before[0])] == before[0]:
                found[-1]["bound"] = f"on the way to {found[-1]['bound']}"
            line, bound = lines.get(calls[-1], (calls[-1], ""))
            found.append({"line": line, "bound": bound, "layer": layer, "nodes": []})
        found[-1]["nodes"].append(index)
        before = key

    # What a line binds is what other lines read. The rest is on the way to it.
    readers: dict[str, set[int]] = {}
    read = [f"{node['arguments']}{node['options']}" for node in graph["nodes"]]
    for index, arguments in [*enumerate(read), (-1, f"{graph['outputs']}")]:
        for name in re.findall(r"%(\w+)", arguments):
            readers.setdefault(name, set()).add(index)
    for step in found:
        inside = set(step["nodes"])
        shown = [i for i in step["nodes"] if readers.get(graph["nodes"][i]["name"], set()) - inside]
        step["shown"] = shown or step["nodes"][-1:]
    return found

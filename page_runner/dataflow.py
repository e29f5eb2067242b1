r"""
---
title: Data Flow
summary: Which line of a page reads what, worked out from the graph and not by hand.
---

A page tells its steps one below the other. Which step reads what is in the [graph](exporter.py). So
it can be worked out, and [drawn](drawing.py).

**In:** a graph with the [steps](steps.py) of a page. **Out:** boxes and the edges between them.

A box is a line of the function that the page is about. What a helper or a small submodule does in
two or three lines belongs to the box of the line that calls it. What comes again, in another head,
another layer or another call, is drawn once: “heads 2 to 4, the same”. The first box is the input
of the module, with the name that it has there.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Any

from page_runner.drawing import MOST_BOXES, Box, Edge, draw
from page_runner.steps import statements

# A function that does no more than that has no boxes of its own.
FEW = 3

# So many operations of one box are told by their names.
MOST_PARTS = 5

# Operations that only arrange what there is.
ARRANGING = {
    *("view", "permute", "transpose", "unsqueeze", "squeeze", "expand", "slice", "select"),
    *("getitem", "split", "split_with_sizes", "_to_copy", "clone", "bitwise_not", "clamp_min"),
}


@dataclass(frozen=True)
class Step:
    r"""
    ## A step of the page

    `calls` are the lines of the page that led to it, the last of which is its own.
    """

    number: int
    calls: tuple[int, ...]
    nodes: tuple[int, ...]
    module: str
    layer: int | None


class Flow:
    r"""
    ## The data flow of a page
    """

    def __init__(self, graph: Mapping[str, Any], source: str) -> None:
        self.graph = graph
        self.number = {node["name"]: index for index, node in enumerate(graph["nodes"])}
        self.inputs = {entry["name"] for entry in graph["inputs"]}
        self.bound = statements(source)
        self.tree = ast.parse(source)
        nodes = [*ast.walk(self.tree)]
        self.functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
        self.simple = [
            node for node in nodes if isinstance(node, ast.stmt) and not hasattr(node, "body")
        ]
        self.steps = [self._step(number, one) for number, one in enumerate(graph["steps"])]
        self.kept, self.again = self._repeats()
        self.boxes = self._boxes()
        self.edges = self._edges()

    def _step(self, number: int, step: Mapping[str, Any]) -> Step:
        nodes = tuple(step["nodes"])
        calls: list[int] = []
        for file, line in self._stack(nodes[0]):
            # A comprehension has a frame of its own, on the line that it is on.
            if file == self.graph["page"] and [line] != calls[-1:]:
                calls.append(line)
        module = common(self._module(one) for one in nodes)
        return Step(number, tuple(calls), nodes, module, step["layer"])

    def _stack(self, node: int) -> list[tuple[str, int]]:
        stack = self.graph["stacks"][self.graph["nodes"][node]["stack"]]
        return [(self.graph["files"][file], line) for file, line in stack]

    def _module(self, node: int) -> str:
        return self.graph["modules"][self.graph["nodes"][node]["module"]]

    def _function(self, line: int) -> ast.FunctionDef | None:
        r"""
        The innermost function around a line.
        """
        around = [node for node in self.functions if _holds(node, line)]
        return max(around, key=lambda node: node.lineno, default=None)

    def _repeats(self) -> tuple[list[Step], dict[int, list[Step]]]:
        r"""
        ### What comes again

        The steps that are drawn; and those that repeat some of them, by the number of the step that
        follows. Of several layers, the first of those with the most lines is drawn. What repeats
        the end of the flow, in the next layer say, is followed by nothing.
        """
        lines: dict[int, set[tuple[int, ...]]] = {}
        for step in self.steps:
            if step.layer is not None:
                lines.setdefault(step.layer, set()).add(step.calls)
        chosen = max(sorted(lines), key=lambda layer: len(lines[layer]), default=None)
        kept: list[Step] = []
        again: dict[int, list[Step]] = {}
        waiting: list[Step] = []
        before: tuple[int, ...] = ()
        for step in self.steps:
            # One line may do several layers, one after the other.
            goes_on = step.calls == before
            seen = any(step.calls == one.calls for one in kept)
            if not goes_on and (seen or step.layer not in (None, chosen)):
                waiting += [step] if kept else []
                before = ()
                continue
            if waiting and (step.layer is None or waiting[0].layer == step.layer):
                again[step.number] = waiting
            waiting = []
            kept.append(step)
            before = step.calls
        return kept, again

    def _boxes(self) -> list[Box]:
        r"""
        ### The boxes

        First one for each line that calls nothing here, or little; then, if these are too many, one
        for each line that calls the fewest of them, and so on.
        """
        keys = [step.calls for step in self.kept]
        for length in range(max(map(len, keys), default=0) - 1, 0, -1):
            for prefix in {key[:length] for key in keys}:
                pairs = [*zip(self.kept, keys, strict=True)]
                within = [step for step, key in pairs if key[:length] == prefix]
                # What is repeated in between has to have a place.
                loops = any(step.number in self.again for step in within[1:])
                if len(within) <= FEW and not loops:
                    keys = [prefix if key[:length] == prefix else key for key in keys]
        while len(dict.fromkeys(keys)) + len(self.again) >= MOST_BOXES:
            prefixes = {key[:-1] for key in keys if len(key) > 1}
            if not prefixes:
                break
            longest = max(map(len, prefixes))
            size = {
                prefix: len({key for key in keys if key[: len(prefix)] == prefix})
                for prefix in prefixes
                if len(prefix) == longest
            }
            prefix = min(sorted(size), key=size.__getitem__)
            keys = [prefix if key[: len(prefix)] == prefix else key for key in keys]
        found: list[Box] = []
        places: dict[tuple[int, ...], Box] = {}
        for step, key in zip(self.kept, keys, strict=True):
            if step.number in self.again:
                found.append(self._others(self.again[step.number]))
            if key not in places:
                its_steps = [one for one, its in zip(self.kept, keys, strict=True) if its == key]
                places[key] = self._box(key, its_steps, keys)
                found.append(places[key])
        self._frame(found)
        return found

    def _box(
        self, key: tuple[int, ...], steps: Sequence[Step], keys: Sequence[tuple[int, ...]]
    ) -> Box:
        nodes = [node for step in steps for node in step.nodes]
        own = self._own(key)
        name, parts = self._bound(key, keys), self._parts(nodes, own)
        inner = inside(common(self._module(node) for node in nodes), own)
        foreign = {self._stack(node)[-1][0] for node in nodes} - {self.graph["page"]}
        here = any(self._stack(node)[-1][0] == self.graph["page"] for node in nodes)
        # What calls a function of the page may have made no more than its arguments.
        if len(steps) == 1 and self.graph["steps"][steps[0].number]["bound"].startswith("on the"):
            name, parts = ", ".join(parts) or name, []
        # What is done by one submodule has its name; and so has what ends with one.
        elif inner:
            name, parts = inner, [part for part in parts if part != inner]
        elif name == "result" and parts and self._is_inner(nodes[-1], own):
            name = parts[-1]
        elif name == "result" and len(parts) == 1 == len(foreign) and not here:
            name = parts[0]
        line, _ = self.bound.get(key[-1], (key[-1], ""))
        parts = [part for part in parts if part != name]
        told = ", ".join(parts) if len(parts) <= MOST_PARTS else f"{len(parts)} operations"
        return Box(name, told, {*nodes}, steps[0].number, line, bool(inner))

    def _is_inner(self, node: int, own: str) -> bool:
        return bool(inside(self._module(node), own))

    def _bound(self, key: tuple[int, ...], keys: Sequence[tuple[int, ...]]) -> str:
        r"""
        What the line binds. What it returns is what the line that called it binds, if that has no
        box of its own.
        """
        for length in range(len(key), 0, -1):
            _, name = self.bound.get(key[length - 1], (0, "return"))
            if length < len(key) and key[:length] in keys:
                return "result"
            if name != "return":
                return name
        return "result"

    def _own(self, key: tuple[int, ...]) -> str:
        r"""
        The module that the function of a line belongs to: the one that all its steps are inside of.
        """
        at = len(key) - 1
        function = self._function(key[-1])
        steps = [
            step
            for step in self.kept
            if step.calls[:at] == key[:-1]
            and len(step.calls) > at
            and self._function(step.calls[at]) is function
        ]
        own = common(step.module for step in steps)
        # All of them may be inside of one submodule, whose name stands on the line.
        called = {name for step in steps for name in self._called(step.calls[at])}
        return own.rpartition(".")[0] if last(own) in called else own

    def _called(self, line: int) -> set[str]:
        r"""
        The submodules that the statement on a line names: `self.output`.
        """
        return {
            node.attr
            for one in self._statements(line)
            for node in ast.walk(one)
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"
        }

    def _statements(self, line: int) -> list[ast.stmt]:
        return [node for node in self.simple if _holds(node, line)]

    def _parts(self, nodes: Sequence[int], own: str) -> list[str]:
        r"""
        What the nodes do, one after the other: submodules, functions of other pages, operations.
        """
        found: list[str] = []
        for node in nodes:
            file = self._stack(node)[-1][0]
            inner = inside(self._module(node), own)
            operation = self.graph["nodes"][node]["operation"]
            if inner:
                part = inner
            elif file != self.graph["page"]:
                part = PurePosixPath(file).stem
            elif operation in ARRANGING:
                continue
            else:
                part = operation
            if part not in found:
                found.append(part)
        return found

    def _others(self, steps: Sequence[Step]) -> Box:
        r"""
        ### What is the same
        """
        nodes = [node for step in steps for node in step.nodes]
        kept = {node for step in self.kept for node in step.nodes}
        # What lies between two of its lines belongs to it as well.
        every = {node for node in range(min(nodes), max(nodes) + 1) if node not in kept}
        name, places = self._places(steps)
        numbers = {int(one) for one in places if one.isdigit()}
        if not places:
            return Box("the same again", "", every, more=True)
        if not numbers:
            return Box(", ".join(places), "the same", every, more=True)
        first, final = min(numbers) + 1, max(numbers) + 1
        which = f"{single(name)} {first}" if first == final else f"{name} {first} to {final}"
        return Box(which, "the same", every, more=True)

    def _places(self, steps: Sequence[Step]) -> tuple[str, list[str]]:
        r"""
        In which module they are, and where there: in `heads` at 1, 2, 3, say, or at `key`, `value`.
        It is the module in which the same steps were somewhere else before.
        """
        first = {step.calls: step.module for step in self.kept}
        found: dict[str, list[str]] = {}
        for step in steps:
            before = first.get(step.calls, step.module)
            outer = common([step.module, before])
            place = inside(step.module, outer)
            if place and place not in found.setdefault(outer, []):
                found[outer].append(place)
        if len(found) != 1:
            return "", []
        ((outer, places),) = found.items()
        return last(outer), places

    def _frame(self, found: list[Box]) -> None:
        r"""
        Boxes of the first head, or of the first layer, say so.
        """
        for steps in self.again.values():
            name, places = self._places(steps)
            numbers = [int(one) for one in places if one.isdigit()]
            if not numbers:
                continue
            first = re.compile(rf"(^|\.){re.escape(name)}\.0(\.|$)")
            for box in found:
                if not box.more and first.search(common(map(self._module, box.nodes))):
                    box.group = f"{single(name)} 1 of {max(numbers) + 1}"

    def _edges(self) -> list[Edge]:
        r"""
        ### Who reads what

        What comes from outside comes from a box of its own, which is put before all others.
        """
        owner = {index: box for box in self.boxes for index in box.nodes}
        outside: dict[str, list[set[str]]] = {}
        read: dict[tuple[int, int], Edge] = {}
        coming: list[tuple[str, Box]] = []
        for box, name in self._read():
            start = owner.get(self.number.get(name, -1))
            if start is box:
                continue
            shape = self._axes(name)
            if start is None:
                outside.setdefault(name, []).extend(self._arguments(box, name))
                coming.append((name, box))
            else:
                edge = read.setdefault((id(start), id(box)), Edge(start, box, []))
                edge.shapes += [shape] if shape not in edge.shapes else []
        made: dict[str, Box] = {}
        for name, label in self._labels(outside).items():
            made.setdefault(label, Box(label, "", set(), outside=True))
            for one, box in coming:
                if one == name:
                    start, shape = made[label], self._axes(name)
                    edge = read.setdefault((id(start), id(box)), Edge(start, box, []))
                    edge.shapes += [shape] if shape not in edge.shapes else []
        self.boxes[:0] = made.values()
        for name, box in self._also_returned([edge.source for edge in read.values()]):
            end = Box(f"{name}, returned", "", set(), outside=True)
            shape = self._axes(self.graph["nodes"][max(box.nodes)]["name"])
            read[id(box), id(end)] = Edge(box, end, [shape])
            self.boxes.append(end)
        results = [box for box in self.boxes if not any(e.source is box for e in read.values())]
        for box in results:
            box.shapes = (
                [self._axes(self.graph["nodes"][max(box.nodes)]["name"])] if box.nodes else []
            )
        for edge in read.values():
            edge.source.shapes += [one for one in edge.shapes if one not in edge.source.shapes]
        return list(read.values())

    def _also_returned(self, read: Sequence[Box]) -> list[tuple[str, Box]]:
        r"""
        Boxes that are read here and returned as well, each with its name: `return x, value`. What
        takes the result is on another page, so no node tells of it.
        """
        results = [
            box.line for box in self.boxes if box.line and not any(one is box for one in read)
        ]
        function = self._function(results[-1]) if results else None
        ends = (
            [one for one in ast.walk(function) if isinstance(one, ast.Return)] if function else []
        )
        value = max(ends, key=lambda end: end.lineno).value if ends else None
        names = [one.id for one in getattr(value, "elts", []) if isinstance(one, ast.Name)]
        found = []
        for name in names:
            bound = [
                box
                for box in self.boxes
                if name in box.name.split(", ")
                and box.line
                and self._function(box.line) is function
            ]
            last_one = max(bound, key=lambda box: box.line or 0, default=None)
            if last_one is not None and any(one is last_one for one in read):
                found.append((name, last_one))
        return found

    def _read(self) -> Iterator[tuple[Box, str]]:
        r"""
        The names of tensors that the nodes of each box read. Weights and constants are no data that
        flows.
        """
        for box in self.boxes:
            for index in sorted(box.nodes):
                node = self.graph["nodes"][index]
                for name in re.findall(r"%(\w+)", f"{node['arguments']}{node['options']}"):
                    if name in self.number or name in self.inputs:
                        yield box, name

    def _labels(self, outside: Mapping[str, list[set[str]]]) -> dict[str, str]:
        r"""
        What the page calls each tensor that comes from outside. Where a line reads several
        arguments, those that are known to be another tensor are none of it.
        """
        names = {
            name: {one for names in found if len(names) == 1 for one in names}
            for name, found in outside.items()
        }
        taken = set().union(*names.values())
        for name, found in outside.items():
            if not names[name]:
                left = set().union(*found[:1]) - taken
                masks = {one for one in left if one.endswith("mask")}
                # A tensor of truth values is the mask, and no other is.
                names[name] = (masks or left) if self._is_bool(name) else left - masks
        order = [node.arg for node in ast.walk(self.tree) if isinstance(node, ast.arg)]
        return {
            name: ", ".join(sorted(found, key=order.index)) or "input"
            for name, found in names.items()
        }

    def _is_bool(self, name: str) -> bool:
        return name in self.number and self.graph["nodes"][self.number[name]]["dtype"] == "bool"

    def _arguments(self, box: Box, name: str) -> list[set[str]]:
        r"""
        The arguments that are read on each line which was called with a tensor from outside: those
        of the outermost line that reads one alone, or else of the outermost.
        """
        found = []
        for step in self.kept:
            if not {*step.nodes} <= box.nodes or not self._reads(step, name):
                continue
            read = [self._read_on(line) for line in step.calls]
            several = [names for names in read if names]
            alone = [names for names in several if len(names) == 1]
            if several:
                found.append((alone or several)[0])
        return found

    def _reads(self, step: Step, name: str) -> bool:
        nodes = (self.graph["nodes"][index] for index in step.nodes)
        return any(
            name in re.findall(r"%(\w+)", f"{one['arguments']}{one['options']}") for one in nodes
        )

    def _read_on(self, line: int) -> set[str]:
        r"""
        The arguments that a line reads. If the function says which of its arguments are tensors, it
        is one of them; what is only asked for its shape isn't read.
        """
        function = self._function(line)
        every = [*function.args.args, *function.args.kwonlyargs] if function else []
        tensors = [
            one for one in every if one.annotation and "Tensor" in ast.unparse(one.annotation)
        ]
        wanted = {one.arg for one in tensors or every if one.arg != "self"}
        read = set()
        for one in self._statements(line):
            asked = {
                id(node.value)
                for node in ast.walk(one)
                if isinstance(node, ast.Attribute) and node.attr in ("shape", "dtype", "device")
            }
            read |= {
                node.id
                for node in ast.walk(one)
                if isinstance(node, ast.Name) and id(node) not in asked
            }
        return wanted & read

    def _axes(self, name: str) -> str:
        r"""
        The shape of a tensor, in names. An axis of size 1 says nothing.

        The graph reads one text, and the page a batch of them, if its other tensors have that axis.
        """
        batched = any("batch_size" in (axes or []) for axes in self.graph["axes"])
        axes = ["seq_len", "batch_size" if batched else "1"]
        if name in self.number:
            axes = self.graph["axes"][self.graph["nodes"][self.number[name]]["axes"]] or []
        return " × ".join(axis for axis in axes if axis != "1")


def common(paths: Iterable[str]) -> str:
    r"""
    ## The module that several are inside of
    """
    parts = [path.split(".") for path in paths]
    same = takewhile(lambda column: len({*column}) == 1, zip(*parts, strict=False))
    return ".".join(column[0] for column in same)


def inside(path: str, outer: str) -> str:
    r"""
    ## The part of a module that another one is inside of

    `query` for `attention.query.linear` in `attention`; empty if it isn't inside.
    """
    rest = path.removeprefix(f"{outer}.") if outer else path
    return "" if path == outer or (outer and rest == path) else rest.split(".")[0]


def last(path: str) -> str:
    r"""
    ## The name of a module
    """
    return path.rpartition(".")[2]


def single(name: str) -> str:
    r"""
    ## One of them

    A head of `heads`.
    """
    return name.removesuffix("s") if name.endswith("s") else name


def drawing(graph: Mapping[str, Any], source: str) -> str:
    r"""
    ## The drawing

    Empty for a page with fewer than two boxes of its own.
    """
    flow = Flow(graph, source)
    own = [box for box in flow.boxes if not box.outside]
    return draw(flow.boxes, flow.edges) if len(own) > 1 else ""


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)

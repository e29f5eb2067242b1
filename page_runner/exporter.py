r"""
---
title: From a Module to a Graph
summary: torch.export traces a module, and each operation keeps its line of the source.
---

A browser has no Python and no PyTorch. What a module does to one text is a list of a
hundred operations on tensors or more, of some twenty kinds, and `torch.export` writes that list
down: it calls the module with tensors that have a shape and no numbers, and notes each operation.
It also notes *where in the source* the operation was called. So a page can show the line that is at
work.

**In:** a module, and a function that makes inputs of any length. **Out:** the graph as what JSON
can hold, and the constants that it needs. A node of the graph:

```text
{
  "name": "softmax_0", "operation": "softmax", "arguments": ["%masked_fill_0", 1], "options": {},
  "stack": 14, "module": 3, "axes": 7, "dtype": "float32"
}
```

`%masked_fill_0` is the result of the node of that name. Stacks, modules and axes are numbers of
entries in tables, because they repeat.

## Any length, from two

`torch.export` can leave a length open. Then the module's own code must not ask for it as a number,
and `len(x)`, a set of sizes or a check does. So the module is exported twice with lengths that are
fixed, 13 and 44, and with one sequence and seven. The two graphs have the same nodes. A number that
is the same in both is a constant. One that grew by 31 is the length plus something, `@0+1` for $0 +
1 \cdot n$; one that grew by 62 is twice the length. One that is seven times as large counts
sequences. 31 is a prime that no width of a model is a multiple of, so no two of these can be
confused.

The same comparison names the axes. Where the sizes differ, the axis is the length, or the
sequences; where they don't, the size itself is looked up in a table that the caller gives.
"""

import contextlib
import re
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.fx.proxy import TracerBase

# Two lengths and two numbers of sequences. A table of positions must be longer than the lengths.
LENGTHS, SEQUENCES = (13, 44), (1, 7)

# Operations that do nothing to the numbers: their result is their argument. In evaluation, dropout
# becomes a `clone`.
SAME = {"clone", "contiguous", "alias", "detach", "lift_fresh_copy", "to", "_to_copy"}

# What says where numbers are, and not what they are.
PLACES = {"device", "layout", "pin_memory", "memory_format", "dtype"}


def spelled_out(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    r"""
    ## Attention in plain operations

    PyTorch's kernel is a single operation, which has scores and weights inside and shows neither.
    While a module is exported, this function takes its place.
    """
    # The kernel's own default is the root of the width of a head.
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = torch.matmul(query * scale, key.transpose(-2, -1))
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf)
    return torch.matmul(scores.softmax(dim=-1), value)


@contextlib.contextmanager
def prepared() -> Iterator[None]:
    r"""
    ## While exporting

    Four functions are others for as long as a module is exported.
    """
    changes = [
        # Of the calls that led to an operation, torch keeps those of functions called `forward`. A
        # page may be made of functions of other names, so all are kept.
        (TracerBase, "_filter_traceback_frames", lambda _, calls: traceback.StackSummary(calls)),
        (F, "scaled_dot_product_attention", spelled_out),
        # The answer to `torch.equal` is in the numbers, and there are none. Modules ask it to
        # refuse arguments, and the arguments of an export are right.
        (torch, "equal", lambda one, other: True),
        (Tensor, "equal", lambda one, other: True),
    ]
    before = [getattr(owner, name) for owner, name, _ in changes]
    for owner, name, value in changes:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for (owner, name, _), value in zip(changes, before, strict=True):
            setattr(owner, name, value)


class Table:
    r"""
    ## Tables of what repeats
    """

    def __init__(self) -> None:
        self.entries: list[Any] = []

    def number(self, entry: Any) -> int:
        r"""
        ### The number of an entry, which is new or known
        """
        if entry not in self.entries:
            self.entries.append(entry)
        return self.entries.index(entry)


class Export:
    r"""
    ## One export

    With inputs of one length.
    """

    def __init__(self, module: nn.Module, inputs: tuple[Tensor, ...], package: Path) -> None:
        r"""
        * `package` is the folder of the annotated package: other files have no lines to show
        """
        self.package = package.resolve()
        with prepared(), torch.no_grad(), warnings.catch_warnings():
            # Modules keep attention weights in an attribute. The graph has no place for those.
            warnings.simplefilter("ignore")
            program = torch.export.export(module.eval(), inputs, strict=False)

            # Without a table of decompositions, `linear` or `softmax` stay whole, as they are in
            # the source. All that this call still does: no operation writes into its argument.
            program = program.run_decompositions({})

        # Placeholders of the graph are parameters, other constants, and the inputs.
        signature = program.graph_signature
        self.parameters = dict(signature.inputs_to_parameters)
        held = {**signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants}
        tensors = {**program.constants, **program.state_dict}
        self.constants = {name: tensors[held[name]] for name in held}
        self.inputs: list[tuple[str, list[int]]] = []

        # From torch's name to the one in the graph, which may be that of an earlier node.
        self.alias: dict[str, str] = {}
        self.join_equal_constants()
        self.files, self.stacks, self.modules = Table(), Table(), Table()
        self.nodes: list[dict[str, Any]] = []
        for node in program.graph_module.graph.nodes:
            self.add(node)

        # What nobody reads is left out: weights that are only kept, arguments of checks.
        changed = len(signature.buffers_to_mutate)
        self.outputs = self.encode(list(program.graph.output_node().args[0]))[changed:]
        self.drop_unused()

    def join_equal_constants(self) -> None:
        r"""
        ### Each content once

        Each layer may have a mask or a table of its own, with the same numbers.
        """
        first: dict[bytes, str] = {}
        for name, tensor in list(self.constants.items()):
            content = f"{tensor.dtype}{tensor.shape}".encode() + tensor.numpy(force=True).tobytes()
            self.alias[name] = first.setdefault(sha256(content).digest(), name)
            if self.alias[name] != name:
                del self.constants[name]

    def add(self, node: torch.fx.Node) -> None:
        r"""
        ### A node of the graph
        """
        value: Any = node.meta.get("val")
        first: Any = node.args[0] if node.args else None
        if node.op == "placeholder" and node.name not in {*self.parameters, *self.alias}:
            self.inputs.append((node.name, list(value.shape)))
        if node.op != "call_function":
            return

        # “aten.softmax.int” is the operation `softmax`, whichever of its forms it is.
        operation = getattr(node.target, "__name__", str(node.target)).split(".")[0]
        operation = {"_unsafe_view": "view", "reshape": "view"}.get(operation, operation)
        if operation in SAME and first.meta["val"].dtype == value.dtype:
            self.alias[node.name] = self.encode(first)[1:]
            return

        # A node that gives no tensor is a check, and all of those hold.
        if value is None:
            return

        # Names of our own: torch's depend on what was left out.
        name = f"{operation}_{sum(node['operation'] == operation for node in self.nodes)}"
        self.alias[node.name] = name
        options = {name: one for name, one in node.kwargs.items() if name not in PLACES}
        owners = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
        calls = re.findall(r'File "(.*?)", line (\d+)', node.meta.get("stack_trace") or "")
        lines = [(Path(file), int(line)) for file, line in calls]
        stack = [
            [self.files.number(file.relative_to(self.package.parent).as_posix()), line]
            for file, line in lines
            if file.is_relative_to(self.package)
        ]
        is_tensor = isinstance(value, Tensor)
        self.nodes.append(
            {
                "name": name,
                "operation": operation,
                "arguments": self.encode(list(node.args)),
                "options": self.encode(options),
                "stack": self.stacks.number(stack),
                "module": self.modules.number(owners[-1] if owners else ""),
                "shape": list(value.shape) if is_tensor else None,
                "dtype": str(value.dtype).removeprefix("torch.") if is_tensor else None,
            }
        )

    def encode(self, value: Any) -> Any:
        r"""
        ### An argument as JSON can hold it
        """
        if isinstance(value, torch.fx.Node):
            return f"%{self.alias.get(value.name, value.name)}"
        if isinstance(value, list | tuple):
            return [self.encode(one) for one in value]
        if isinstance(value, dict):
            return {name: self.encode(one) for name, one in value.items() if one is not None}

        # JSON has no infinity.
        if isinstance(value, float) and value in (torch.inf, -torch.inf):
            return f"#{value}"
        return value if value is None or isinstance(value, bool | int | float) else str(value)

    def drop_unused(self) -> None:
        r"""
        ### Leave out what nobody reads
        """
        used = names_in(self.outputs)
        for node in reversed(self.nodes):
            if node["name"] in used:
                used |= names_in(node["arguments"]) | names_in(node["options"])
        self.nodes = [node for node in self.nodes if node["name"] in used]
        self.parameters = {name: path for name, path in self.parameters.items() if name in used}
        self.constants = {name: one for name, one in self.constants.items() if name in used}


def names_in(value: Any) -> set[str]:
    r"""
    ## The nodes that an argument refers to
    """
    return set(re.findall(r"%(\w+)", str(value)))


def common(one: Any, other: Any) -> Any:
    r"""
    ## One argument from those of two lengths
    """
    if type(one) is not type(other):
        raise ValueError(f"{one} at one length is {other} at another")
    if isinstance(one, list) and len(one) == len(other):
        return [common(*pair) for pair in zip(one, other, strict=True)]
    if isinstance(one, dict) and one.keys() == other.keys():
        return {name: common(one[name], other[name]) for name in one}
    if one == other:
        return one

    # What is counted for each sequence is counted for one.
    if isinstance(one, int):
        for number in (other, other / SEQUENCES[1]):
            factor = (number - one) / (LENGTHS[1] - LENGTHS[0])
            if factor == int(factor):
                start = one - int(factor) * LENGTHS[0]
                return f"@{start}+{int(factor)}" if factor else one
    raise ValueError(f"{one} at a length of {LENGTHS[0]} and {other} at {LENGTHS[1]} have no rule")


def axis_name(one: int, other: int, names: Mapping[int, str], varies: str) -> str:
    r"""
    ## The name of an axis, from its two sizes
    """
    if one == other:
        return names.get(one, str(one))
    rule = common(one, other)
    if rule == "@0+1":
        return varies
    return "batch_size" if rule == 1 else varies + " …"


def export(
    module: nn.Module,
    inputs: Callable[[int, int], tuple[Tensor, ...]],
    package: Path,
    names: Mapping[int, str] | None = None,
    varies: str = "seq_len",
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    r"""
    ## Export

    * `inputs` makes those of a length and a number of sequences
    * `package` is the folder of the annotated package
    * `names` are those of axes, by their sizes
    * `varies` is the name of the length

    The results are the graph and its constants.
    """
    first, second = (
        Export(module, inputs(*sizes), package) for sizes in zip(LENGTHS, SEQUENCES, strict=True)
    )
    operations = [[node["operation"] for node in one.nodes] for one in (first, second)]
    if operations[0] != operations[1]:
        raise ValueError("another length has other operations: a loop over positions can't be live")
    axes, nodes = Table(), []
    for node, other in zip(first.nodes, second.nodes, strict=True):
        sizes = zip(node["shape"] or (), other["shape"] or (), strict=True)
        named = [axis_name(*pair, names or {}, varies) for pair in sizes]
        nodes.append(
            {
                "name": node["name"],
                "operation": node["operation"],
                "arguments": common(node["arguments"], other["arguments"]),
                "options": common(node["options"], other["options"]),
                "stack": node["stack"],
                "module": node["module"],
                "axes": axes.number(None if node["shape"] is None else named),
                "dtype": node["dtype"],
            }
        )
    graph = {
        "inputs": [
            {"name": name, "shape": common(shape, other)}
            for (name, shape), (_, other) in zip(first.inputs, second.inputs, strict=True)
        ],
        "nodes": nodes,
        "outputs": first.outputs,
        "parameters": first.parameters,
        "files": first.files.entries,
        "stacks": first.stacks.entries,
        "modules": first.modules.entries,
        "axes": axes.entries,
        "sizes": {name: size for size, name in (names or {}).items()} | {varies: LENGTHS[1]},
    }
    return graph, first.constants

r"""
---
title: The Process That Exports
summary: PyTorch runs in a process of its own, which ends when the graphs are written.
---

A build imports no PyTorch and runs no code of a page. It starts this program, which does both.

**In**, as JSON on standard input: a list of exports. **Out:** for each of them a graph, with
[places](places.py) instead of lines, and its constants, in the files that the list names.
"""

import json
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from page_runner.exporter import export
from page_runner.places import to_places
from page_runner.weights import to_file

# The names of sizes.
SIZES = re.compile(r"[dn]_\w+|\w*heads")


def sizes_of(module: nn.Module, package: str) -> dict[int, str]:
    r"""
    ## What the sizes of axes are called

    A module of the package that has `self.heads = 4` calls an axis of size 4 `heads`. A window of 4
    positions isn't the size of an axis, so only names such as `d_k`, `n_pairs` and `key_heads`
    count. Where two of them have one size, neither is right for all axes, and there is none. An
    axis of 2 may be anything: heads, halves, a pair.
    """
    names: dict[int, set[str]] = {}
    for one in module.modules():
        if type(one).__module__.split(".")[0] == package:
            for name, size in vars(one).items():
                if type(size) is int and size > 2 and SIZES.fullmatch(name):
                    names.setdefault(size, set()).add(name)
    return {size: found.pop() for size, found in names.items() if len(found) == 1}


def tokens(length: int, sequences: int) -> tuple[Tensor, ...]:
    r"""
    ## The input of a language model
    """
    return (torch.zeros(length, sequences, dtype=torch.long),)


def run(request: Mapping[str, Any]) -> None:
    r"""
    ## One export

    * `maker` is `module:function`, which makes a module from its `name` and the `n_vocab` tokens
      (A module that doesn't take tokens has a method `inputs`, which makes what it takes.)
    * `package` is the folder of the annotated package
    * `graph` and `constants` are the files to be written
    """
    module_name, _, function = request["maker"].partition(":")
    maker = import_module(module_name)
    module = getattr(maker, function)(request["name"], request["n_vocab"])
    package = Path(request["package"])
    names = sizes_of(module, package.name) | {
        size: name for name, size in request["config"].items() if name.startswith(("n_v", "d_"))
    }
    inputs = getattr(module, "inputs", tokens)
    graph, constants = export(module, inputs, package, names)
    # The graph outlives longer notes, and with them all lines move.
    files = graph["files"]
    sources = {file: (package.parent / file).read_text(encoding="utf-8") for file in files}
    graph["stacks"] = to_places(graph["stacks"], files, sources)
    for key, content in (
        ("constants", to_file(constants)),
        ("graph", json.dumps(graph, separators=(",", ":")).encode()),
    ):
        path = Path(request[key])
        beside = path.with_name(f"{path.name}.part")
        beside.write_bytes(content)
        beside.replace(path)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for one in json.load(sys.stdin):
        run(one)

r"""
---
title: A State as Tensors and JSON
summary: Take tensors out of nested containers, write the rest as text, and put them back together.
---

What an optimizer remembers is a container of containers: dictionaries with numbers for keys,
lists, tuples, and tensors somewhere inside. Python's own way to save such things, “pickle”, also
saves *which functions to call* when the file is read, so to read a file is to run its code.

Here the tensors go to one side, under names, for a file that holds nothing else. What is left is
text that anybody can read, in which a name stands for each tensor. Neither can run anything.
"""

import math
from typing import Any

import torch


def pack(value: Any, name: str, tensors: dict[str, torch.Tensor]) -> Any:
    r"""
    ## Take apart

    Returns `value` as JSON can hold it. Each tensor goes into `tensors`, under a name that
    begins with `name` and tells where it was.

    A dictionary with other keys than strings becomes a list of pairs, a tuple a list with a
    label, and infinity a word, because JSON has none of them. What it cannot hold at all is a
    `TypeError`.
    """
    if isinstance(value, torch.Tensor):
        # A copy of its own, on the CPU: two names may share their memory, a file may not.
        tensors[name] = value.detach().to("cpu", copy=True).contiguous()
        return {"tensor": name}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: pack(one, f"{name}.{key}", tensors) for key, one in value.items()}}
    if isinstance(value, dict):
        return {"pairs": [[key, pack(one, f"{name}.{key}", tensors)] for key, one in value.items()]}
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [pack(one, f"{name}.{i}", tensors) for i, one in enumerate(value)]}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{name} is of type {type(value).__name__}, which a checkpoint cannot hold")


def unpack(value: Any, tensors: dict[str, torch.Tensor]) -> Any:
    r"""
    ## Put together

    The inverse of `pack`. A number comes back with the same bits: Python writes as many digits
    as it takes.
    """
    if not isinstance(value, dict):
        return value

    # A container is a dictionary with one label and what the label is about.
    ((label, content),) = value.items()
    if label == "tensor":
        return tensors[content]
    if label == "float":
        return float(content)
    if label == "dict":
        return {key: unpack(one, tensors) for key, one in content.items()}
    if label == "pairs":
        return {key: unpack(one, tensors) for key, one in content}
    parts = [unpack(one, tensors) for one in content]
    return tuple(parts) if label == "tuple" else parts


def example(rows: int = 3, columns: int = 5) -> dict[str, torch.Tensor]:
    r"""
    ## Example

    What AdamW remembers of one matrix.
    """
    weight = torch.zeros(rows, columns, requires_grad=True)
    weight.sum().backward()
    optimizer = torch.optim.AdamW([weight])
    optimizer.step()

    tensors: dict[str, torch.Tensor] = {}
    text = pack(optimizer.state_dict(), "optimizer", tensors)
    average = unpack(text, tensors)["state"][0]["exp_avg"]
    assert average.equal(optimizer.state[weight]["exp_avg"])
    return tensors

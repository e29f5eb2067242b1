r"""
---
title: Beginning
summary: The recorded run begins with the first numbers of the page, not with its input or a mask.
---

The [record](recording.py) begins in the first function that was given a tensor. That is often the
one that makes a mask ready. Where the page gives no function of its own a tensor, the record begins
with the random input of its example. No reader came for either. The page begins behind them.
"""

import ast
from collections.abc import Container, Mapping
from typing import Any

# What makes numbers up. Tokens of a text that needn't mean anything are often counted.
_MAKES_UP = {"rand", "randn", "randint", "randperm", "arange"}


def begun(record: Mapping[str, Any], inputs: Container[int] = ()) -> Mapping[str, Any]:
    r"""
    ## A record that begins behind what comes first

    That is masks, and the lines `inputs`. Where nothing else follows, it begins as it did.
    """
    if not record:
        return record
    steps, tensors, start = record["steps"], record["tensors"], record["start"]

    def is_before(at: int) -> bool:
        line, parts, *_ = steps[at]
        return line in inputs or {tensors[index][2] for _, _, index in parts} == {"bool"}

    behind = (at for at in range(start, len(steps)) if not is_before(at))
    return {**record, "start": next(behind, start)}


def inputs_of(tree: ast.AST) -> set[int]:
    r"""
    ## The lines on which the example of a page makes its input up

    Its function is called `example`.
    """
    examples = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "example"
    ]
    return {
        line
        for example in examples
        for statement in example.body
        if isinstance(statement, ast.Assign)
        and any(
            isinstance(node, ast.Attribute) and node.attr in _MAKES_UP
            for node in ast.walk(statement)
        )
        for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    }

r"""
---
title: Look Inside a Call
summary: One call of a function is watched, and each tensor that a line binds becomes a picture.
---

`scores = query @ key.T` says what is computed, and nothing of what comes out. In a notebook a
reader can see it: the numbers of `scores`, for a sentence of their own, below the line that made
them.

These three functions stand in [notebooks](looks.py) as copies of their text. So they name nothing
of this module but each other, and import what they need.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def tensors_of_lines(
    function: "Callable[..., Any]", call: "Callable[[], Any]"
) -> "list[tuple[list[str], Any, str]]":
    r"""
    ## What each line binds

    The first call of the `function`, while `call` runs. For each tensor its names, a copy, and the
    statement that made it, which is empty for an argument.
    """
    import ast
    import inspect
    import sys
    import textwrap

    function = inspect.unwrap(function)
    code = function.__code__
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    statements = {
        line - 1 + code.co_firstlineno: ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and not hasattr(node, "body")
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    found: list[tuple[list[str], Any, str]] = []
    # The tensors themselves: one that lives on keeps its identity to itself.
    kept: list[Any] = []
    watched: list[Any] = []
    last = 0

    def keep(name: str, value: "Any", statement: str) -> None:
        if isinstance(value, tuple):
            for number, one in enumerate(value):
                keep(f"{name}[{number}]", one, statement)
        elif hasattr(value, "detach"):
            known = [at for at, one in enumerate(kept) if one is value]
            if not known:
                kept.append(value)
                found.append(([name], value.detach().cpu().clone(), statement))
            elif name not in found[known[0]][0]:
                found[known[0]][0].append(name)

    def before_line(frame: "Any", event: str, returned: "Any") -> "Any":
        # What is new has been made by the line before.
        nonlocal last
        for name, value in list(frame.f_locals.items()):
            keep(name, value, statements.get(last, ""))
        last = frame.f_lineno
        if event == "return":
            keep("result", returned, statements.get(last, ""))
        return before_line

    def on_call(frame: "Any", event: str, _: "Any") -> "Any":
        if frame.f_code is not code or watched:
            return None
        watched.append(frame)
        return before_line

    # A debugger gets its own back.
    others = sys.gettrace()
    sys.settrace(on_call)
    try:
        call()
    finally:
        sys.settrace(others)
    return found


def as_squares(tensor: "Any", labels: "Sequence[Sequence[str]]") -> "list[Any]":
    r"""
    ## A tensor as matrices

    Axes of length one are left out. Where two axes are positions, whatever else there is gives a
    matrix each, as heads do; else it is put side by side.
    """
    flat = tensor.squeeze() if tensor.dim() > 2 else tensor
    if flat.dim() > 2 and flat.shape[0] == flat.shape[1] in map(len, labels):
        return [*flat.flatten(2).unbind(2)][:4]
    return [flat.flatten(1) if flat.dim() > 1 else flat.reshape(1, -1)]


def look_inside(
    function: "Callable[..., Any]",
    call: "Callable[[], Any]",
    *labels: "Sequence[str]",
    letters: "Mapping[str, Sequence[str]] | None" = None,
) -> None:
    r"""
    ## Draw what the lines of a function make

    * `call` calls the `function`, whose first call is drawn
    * `labels` are names of positions or of tokens: an axis that has as many gets them
    * `letters` are what numbers stand for, for the names of tensors
    """
    import math
    import textwrap

    import matplotlib.pyplot as plt

    pictures = []
    for names, tensor, statement in tensors_of_lines(function, call):
        title = f"{', '.join(names)}: {list(tensor.shape)}"
        # A single number needs no picture, and a tensor without numbers has none.
        if tensor.numel() <= 1:
            value = f", {tensor.item():.4g}" if tensor.numel() else ""
            print(f"{title}{value}    {statement}")
            continue
        squares = as_squares(tensor, labels)
        for number, square in enumerate(squares, 1):
            which = f", {number} of {len(squares)}" if len(squares) > 1 else ""
            text = "\n".join([title + which, *textwrap.wrap(statement, 42)])
            # Among too many squares for words, colours are still there.
            meant = (letters or {}).get(names[0]) if max(square.shape) <= 14 else None
            pictures.append((text, square, meant))

    if not pictures:
        return
    columns = min(4, len(pictures))
    rows = math.ceil(len(pictures) / columns)
    size = (3.5 * columns, 3.7 * rows)
    _, all_axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for axes in all_axes.flat:
        axes.axis("off")
    for axes, (text, square, meant) in zip(all_axes.flat, pictures, strict=False):
        # What a mask hides is white. Numbers that stand for letters have no more and no less.
        numbers = square.double()
        numbers = numbers.masked_fill(numbers < -1e30, math.nan) * (0 if meant else 1)
        end = numbers.abs().nan_to_num().max().item() or 1.0
        # Blue is above zero, and red is below it.
        axes.imshow(numbers.tolist(), "RdBu", aspect="auto", vmin=-end, vmax=end)
        axes.axis("on")
        axes.set_title(text, fontsize=9)
        of_rows, of_columns = (
            next((one for one in labels if len(one) == length), ()) for length in square.shape
        )
        axes.set_yticks(range(len(of_rows)), [*of_rows])
        turned = 60 if any(len(one) > 1 for one in of_columns) else 0
        axes.set_xticks(range(len(of_columns)), [*of_columns], rotation=turned)
        if max(square.shape) > 14:
            continue
        for row, line in enumerate(square.tolist()):
            for column, number in enumerate(line):
                digits = 1 if square.is_floating_point() else 0
                # A small number below zero would be −0.0.
                shown = f"{round(number, digits) + 0:.{digits}f}".replace("-", "−")
                color = "white" if abs(numbers[row, column].item()) > 0.6 * end else "black"
                if number > -1e30:
                    how = {"ha": "center", "va": "center", "fontsize": 7, "color": color}
                    axes.text(column, row, meant[number] if meant else shown, **how)
    plt.show()

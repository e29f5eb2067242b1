r"""
---
title: Exercises
summary: A line of the page is left out in its notebook, and the notebook judges what is written.
---

The file that `exercises` in the [settings](../settings.py) names has a list of holes for each page:

```toml
[["my_package/layers.py"]]
of = "Layer.forward"
right = "x = self.norm(x)"
["my_package/layers.py".wrong]
"nothing is normalised" = "pass"
```

Two cells come of each. The first has the function without the value of the line `right`, under
another name, so that the notebook runs on without an answer. The second runs the example with it,
compares all results with those of the page, and tells a mistake among `wrong` by its results.
"""

import ast
import json
import textwrap
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from literate.problems import LiterateError, Problem
from literate.python.scopes import bindings
from literate.python.statements import Piece, first_line
from literate.reading.source import parse
from literate.settings import Settings
from literate.takeaway.notebook_cells import EXAMPLE, HIDDEN, Cell, code_cell, text_cell
from literate.takeaway.snippet import without

TEXT = """## Write a line yourself

Below, a line is missing. Put yours in the place of `YOUR_LINE`, run the cell, and then the next
one: it runs the example with your line and with the lesson's, and compares all results."""

# The same text is read once for all pages.
_read = cache(tomllib.loads)


def exercises(settings: Settings, path: str) -> Sequence[Mapping[str, Any]]:
    r"""
    ## The exercises of a page
    """
    name = settings.exercises
    return _read((settings.root / name).read_text("utf-8")).get(path, ()) if name else ()


def cells(pieces: Iterable[Piece], holes: Sequence[Mapping[str, Any]], path: str) -> Iterator[Cell]:
    r"""
    ## The cells of a page's exercises
    """
    if holes:
        yield text_cell(TEXT)
    known = {name: without(piece.text, "docstring") for piece in pieces for name in piece.names}
    for number, hole in enumerate(holes, 1):
        text = known.get(hole["of"].partition(".")[0], "")
        right = ast.dump(ast.parse(hole["right"]).body[0])
        places = [
            (each.node, line)
            for each in parse(text).definitions
            if each.name == hole["of"]
            for line in ast.walk(each.node)
            if isinstance(line, ast.stmt) and ast.dump(line) == right
        ]
        if len(places) != 1:
            sentence = f"`{hole['of']}` has an exercise, and not once the line `{hole['right']}`."
            raise LiterateError([Problem(path, 1, sentence)])
        yield from _hole(text, *places[0], hole, number)


def _hole(
    text: str, function: ast.stmt, line: Any, exercise: Mapping[str, Any], number: int
) -> Iterator[Cell]:
    name, above = exercise["of"].rpartition(".")[2], first_line(function) - 1
    mine, lines = f"my_{name}_{number}", text.splitlines()[above : function.end_lineno]
    bound, place = [*bindings([line])], (line.lineno - above, line.end_lineno - above)
    line.value = ast.Name("YOUR_LINE")
    lines[place[0] - 1 : place[1]] = [" " * line.col_offset + ast.unparse(line)]
    code = textwrap.dedent("\n".join(lines)).replace(f"def {name}(", f"def {mine}(", 1)
    yield code_cell(f"# `{exercise['of']}`, with a hole.\n{code}")
    wrong = json.dumps(exercise["wrong"], ensure_ascii=False, indent=4)
    call = f"judge_line({exercise['of']}, {mine}, {EXAMPLE}, {place}, {bound}, {wrong})"
    yield code_cell(f"#@title Is the line right?\n{call}", HIDDEN)

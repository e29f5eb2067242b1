r"""
---
title: Cells That Look Inside
summary: A cell of the notebook draws what the lines of a function make of a real sentence.
---

A class is read line by line, and a notebook can show what each line gives. The file that `looks` in
the [settings](../settings.py) names has a cell for a page:

```toml
["my_package/layers.py"]
title = "See what a layer does"
about = "Equal words have equal vectors. What does the layer make of them?"
knobs = { sentence = "to be or not to be", width = 4 }
code = '''
words = sentence.split()
layer = Layer(width)
look_inside(Layer.forward, lambda: layer(vectors(words, width)), words)
'''
```

`knobs` become fields of a form, with the values that they have at first. The cell stands after the
last definition of the page that it uses. What is wrong with an entry is told with its line.

[`look_inside`](look_inside.py) watches one call of a function, and draws every tensor that a line
binds.
"""

import ast
import json
import re
import tomllib
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from literate.problems import LiterateError, Problem
from literate.python.scopes import bindings
from literate.settings import Settings
from literate.takeaway import look_inside
from literate.takeaway.notebook_cells import FIELDS, HIDDEN, Cell, code_cell, text_cell
from literate.takeaway.snippet import without


@dataclass(frozen=True)
class Look:
    r"""
    ## A cell to play with

    * `title` and `about` stand above it
    * `knobs` are names and their first values
    * `code` ends in a call of `look_inside`
    """

    title: str
    about: str
    knobs: Mapping[str, Any]
    code: str

    @property
    def names(self) -> set[str]:
        r"""
        ### The names that it looks up
        """
        tree = ast.parse(self.code)
        return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}

    @property
    def bound(self) -> set[str]:
        r"""
        ### The names that become global
        """
        return {*self.knobs, *bindings(ast.parse(self.code).body)}

    def cells(self) -> Iterator[Cell]:
        r"""
        ### Its cells

        What draws is folded.
        """
        yield text_cell(f"## {self.title}\n\n{self.about.strip()}")
        yield code_cell(f"#@title Draws what lines make\n{helper()}", HIDDEN)
        form = [
            f'{name} = {_said(value)}  #@param {{type:"{FIELDS[type(value)]}"}}'
            for name, value in self.knobs.items()
        ]
        yield code_cell("\n".join([*form, "", self.code.strip()]))


def _said(value: Any) -> str:
    r"""
    As the formatter would write it.
    """
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


@cache
def _read(text: str, name: str) -> Mapping[str, Look]:
    try:
        asked = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LiterateError([Problem(name, 1, f"is not TOML: {error}.")]) from None
    read = {}
    for path, entry in asked.items():
        missing = [key for key in ("title", "about", "knobs", "code") if key not in entry]
        if missing:
            sentence = f"the cell of `{path}` has no `{missing[0]}`."
            raise LiterateError([Problem(name, _line(text, path), sentence)])
        try:
            ast.parse(entry["code"])
        except SyntaxError as error:
            sentence = f"the cell of `{path}` is not Python: {error.msg}."
            raise LiterateError([Problem(name, _line(text, path), sentence)]) from None
        read[path] = Look(entry["title"], entry["about"], entry["knobs"], entry["code"])
    return read


def _line(text: str, path: str) -> int:
    before = re.split(rf'(?m)^\["{re.escape(path)}"\]', text)[0]
    return before.count("\n") + 1


def _all(settings: Settings) -> Mapping[str, Look]:
    name = settings.looks
    return _read((settings.root / name).read_text("utf-8"), name) if name else {}


def look(settings: Settings, path: str) -> Look | None:
    r"""
    ## The cell of a page, if it has one
    """
    return _all(settings).get(path)


def left_over(settings: Settings, paths: Container[str]) -> Iterator[Problem]:
    r"""
    ## Cells of no page
    """
    for path in _all(settings):
        if path not in paths:
            line = _line((settings.root / settings.looks).read_text("utf-8"), path)
            yield Problem(settings.looks, line, f"has a cell of `{path}`, which is no page.")


@cache
def helper() -> str:
    r"""
    ## What draws, for notebooks
    """
    text = Path(look_inside.__file__).read_text("utf-8")
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    parts = [ast.get_source_segment(text, node) or "" for node in functions]
    return "\n\n\n".join(without(part, "docstring").rstrip() for part in parts)

r"""
---
title: Body
summary: The body of a function becomes the cells of a notebook.
---

A page says what its notebook does in a function, because a function can be tested:

```python
def notebook(steps: int = 2000):
    # Train for a few minutes.
    model = train(steps)
    # What has it learned?
    print(sample(model))
```

Its parameters become a form, each comment between its statements becomes a note, and the code under
the comment becomes a cell. So what is local to the function is global to the notebook.
"""

import ast
import io
import json
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TypeGuard

from literate.names import Function, bindings
from literate.pieces import Piece, first_line
from literate.problems import LiterateError, Problem
from literate.rows import Note
from literate.source import Source, parse
from literate.trees import children

# The function whose body becomes the end of a notebook, and the one that is called before it.
ENTRY = "notebook"
EXAMPLE = "example"
# The kinds of fields in a form of Colab.
FIELDS = {bool: "boolean", int: "integer", float: "number", str: "string"}


@dataclass(frozen=True)
class Body:
    r"""
    ## What is inside a function

    * `form` assigns the parameters their defaults, empty if there are none
    * `cells` are the notes and the code under each
    * `names` are the names that become global, with their lines
    """

    form: str
    cells: tuple[tuple[Note | None, str], ...]
    names: Mapping[str, int]


def has_notebook(source: Source, machinery: Iterable[str] = ()) -> bool:
    r"""
    ## Whether a page has a notebook

    It has one if there is something to run: an example, or a function `notebook`. What fits one of
    the patterns in `machinery` has none.
    """
    if any(fnmatch(source.path, pattern) for pattern in machinery):
        return False
    return defines(source, ENTRY) or defines(source, EXAMPLE)


def defines(source: Source, name: str) -> bool:
    r"""
    ## Whether a page defines a function
    """
    return any(one.name == name and one.kind == "function" for one in source.definitions)


def take_body(piece: Piece, path: str) -> Body:
    r"""
    ## Take the body out of a function

    `path` is the file in problems. Raises a [LiterateError](problems.py#LiterateError) for what
    works only in a function: a parameter without a literal default, a `return`.
    """
    source = parse(piece.text)
    (function,) = source.tree.body
    above = piece.line - 1

    def error(line: int, sentence: str) -> LiterateError:
        return LiterateError([Problem(path, above + line, sentence)])

    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        sentence = "`notebook` has to be a function without decorators, and not asynchronous."
        raise error(function.lineno, sentence)
    form = []
    for parameter, default in _parameters(function.args):
        if not _is_literal(default):
            sentence = f"the parameter `{parameter.arg}` of `notebook` needs a literal as default."
            raise error(parameter.lineno, sentence)
        value = " ".join((ast.get_source_segment(piece.text, default) or "").split())
        form.append(f"{parameter.arg} = {value}  #@param {_field(parameter, default)}\n")
    for node in _same_scope(function.body):
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Await | ast.Nonlocal):
            sentence = "a cell of a notebook has no {}: the body of `notebook` becomes cells."
            raise error(node.lineno, sentence.format(type(node).__name__.lower()))

    docstring = source.definitions[0].docstring
    statements = function.body[1:] if docstring else function.body
    for one in statements[:1]:
        if source.lines[one.lineno - 1].text[: one.col_offset].strip():
            raise error(one.lineno, "the body of `notebook` has to begin on a line of its own.")
    names = {name: above + one.lineno for one in statements for name in bindings([one])}
    names |= {one.arg: above + one.lineno for one, _ in _parameters(function.args)}
    return Body("".join(form), tuple(_cells(source, statements, above)), names)


def _parameters(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    without = [None] * (len(positional) - len(arguments.defaults))
    yield from zip(positional, [*without, *arguments.defaults], strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    yield from ((one, None) for one in (arguments.vararg, arguments.kwarg) if one)


def _is_literal(default: ast.expr | None) -> TypeGuard[ast.expr]:
    try:
        ast.literal_eval(default)  # type: ignore[arg-type]
    except ValueError:
        return False
    return True


def _field(parameter: ast.arg, default: ast.expr) -> str:
    r"""
    Colab shows a field of the right kind; a `Literal` of strings is a list to choose from.
    """
    match parameter.annotation:
        case ast.Subscript(
            value=ast.Name(id="Literal") | ast.Attribute(attr="Literal"), slice=choices
        ):
            options = ast.literal_eval(choices)
            if isinstance(options, tuple) and all(isinstance(one, str) for one in options):
                return json.dumps(options, ensure_ascii=False)
    kind = FIELDS.get(type(ast.literal_eval(default)), "raw")
    return f'{{type:"{kind}"}}'


def _same_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        yield node
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            yield from _same_scope(children(node))


def _cells(
    source: Source, statements: Sequence[ast.stmt], above: int
) -> Iterator[tuple[Note | None, str]]:
    r"""
    Only a comment between statements is a note: one inside a statement, also above an `else:`,
    stays in the code.
    """
    if not statements:
        return
    lines = source.lines
    first = first_line(statements[0])
    while lines[first - 2].kind in ("comment", "blank"):
        first -= 1
    indent = statements[0].col_offset
    inside = {
        number
        for one in statements
        for number in range(first_line(one), (one.end_lineno or one.lineno) + 1)
    }
    in_strings = _lines_in_strings(source.text)
    note: Note | None = None
    code: list[str] = []
    for line in lines[first - 1 :]:
        deep = line.text[:indent].strip() == "" and line.text[indent : indent + 1] == "#"
        if line.kind == "comment" and deep and line.number not in inside:
            if any(one.strip() for one in code):
                yield note, "".join(code).strip("\n") + "\n"
                note = None
            gap = tuple("" for _ in code) if note else ()
            at, texts = (note.first, note.texts) if note else (above + line.number, ())
            note = Note("comment", at, (*texts, *gap, line.text.strip()[1:].removeprefix(" ")))
            code = []
        else:
            code.append(line.text if line.number in in_strings else _dedented(line.text, indent))
    yield note, "".join(code).strip("\n") + "\n"


def _lines_in_strings(text: str) -> set[int]:
    r"""
    The lines that begin inside a string: their indentation is part of it.
    """
    found: set[int] = set()
    begins: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "STRING":
            found.update(range(token.start[0] + 1, token.end[0] + 1))
        elif kind.endswith("STRING_START"):
            # Since Python 3.12 an f-string is several tokens.
            begins.append(token.start[0])
        elif kind.endswith("STRING_END"):
            found.update(range(begins.pop() + 1, token.end[0] + 1))
    return found


def _dedented(text: str, indent: int) -> str:
    if not text.strip():
        return "\n"
    return text.lstrip() if text[:indent].strip() else text[indent:]

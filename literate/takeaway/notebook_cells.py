r"""
---
title: Notebook Cells
summary: Definitions, notes and the body of a function become the cells of a notebook.
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

The cells are written as a script in the percent format, and jupytext makes the notebook of it.
"""

import ast
import hashlib
import io
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from literate.problems import LiterateError, Problem
from literate.python.scopes import Function, bindings
from literate.python.statements import Piece, first_line
from literate.reading.notes import Note
from literate.reading.plain import readable
from literate.reading.rows import all_uncommented, uncommented
from literate.reading.source import Source, parse
from literate.results.records import Result
from literate.settings import Settings
from literate.takeaway.carried import pictures_apart

if TYPE_CHECKING:
    from nbformat import NotebookNode

# The function whose body becomes the end of a notebook, and the one that is called before it.
ENTRY = "notebook"
EXAMPLE = "example"
# The kinds of fields in a form of Colab.
FIELDS = {bool: "boolean", int: "integer", float: "number", str: "string"}

# In a comment: code, a formula, a link.
_MARKED = re.compile(
    r"`[^`\n]*`(?!\]\()"
    r"|(?<![\w$\\])\$(?![\s$])(?P<tex>(?:[^$\n]|\n[ \t]*# )+?)(?<![\s\\])\$(?![\d$])"
    r"|\[(?P<words>(?:[^\[\]]|\n[ \t]*# )+?)\]\([^)\s]+\)"
)

# A number of a note, and its per cent on the next line.
_NEXT_LINE = re.compile(r"(?<=[\d)])\n[ \t]*(?=%(?![%\w]))")

Cell: TypeAlias = "NotebookNode"
Metadata = Mapping[str, Any]
NO_METADATA: Metadata = {}
HIDDEN: Metadata = {"cellView": "form", "jupyter": {"source_hidden": True}}
# The format of the script, and what of the notebook is kept in it: all but the version of jupytext.
PERCENT = "py:percent"
PAIRED: Metadata = {
    "cell_metadata_filter": "all",
    "formats": f"ipynb,{PERCENT}",
    "notebook_metadata_filter": "accelerator,colab,literate,jupytext,-jupytext.text_representation",
}


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

    @property
    def settings(self) -> list[str]:
        r"""
        ### The names in the form
        """
        return re.findall(r"(?m)^(\w+) = .*#@param", self.form)


def has_notebook(source: Source, settings: Settings) -> bool:
    r"""
    ## Whether a page has a notebook

    It has one if there is something to run: an example, or a function `notebook`, on a page that
    the [settings](../settings.py) name among the `examples`. What fits one of the patterns in
    `machinery` has none. Nor has a page with a form of its own: its notes say how to use the form,
    and a notebook doesn't have it. (A form that another page's function runs is only beside what
    the page is about.)
    """
    if not settings.runs(source.path):
        return False
    form = (settings.edit or {}).get("forms", {}).get(source.path, {})
    if form.get("target", "").partition(":")[0] == source.module:
        return False
    if any(fnmatch(source.path, pattern) for pattern in settings.machinery):
        return False
    return defines(source, ENTRY) or defines(source, EXAMPLE)


def defines(source: Source, name: str) -> bool:
    r"""
    ## Whether a page defines a function
    """
    return any(
        definition.name == name and definition.kind == "function"
        for definition in source.definitions
    )


def text_cell(source: str, metadata: Metadata = NO_METADATA) -> Cell:
    r"""
    ## A cell of Markdown

    No line begins with a per cent sign: marimo would take it for a command, and throw it away.
    """
    from nbformat.v4 import new_markdown_cell

    return new_markdown_cell(_NEXT_LINE.sub(" ", source), metadata=metadata)


def text_cells(source: str, results: Mapping[str, Result]) -> Iterator[Cell]:
    r"""
    ## Cells of Markdown

    One, or several where the note has figures. Each of these says which it is, and by a digest of
    which numbers.
    """
    for part, figure in pictures_apart(source):
        if figure:
            path, _, dotted = figure.partition("#")
            numbers = results[path].find(dotted)[1].digest
            yield text_cell(part, {"figure": figure, "numbers": numbers})
        elif part:
            yield text_cell(part)


def code_cell(source: str, metadata: Metadata = NO_METADATA) -> Cell:
    r"""
    ## A cell of code
    """
    from nbformat.v4 import new_code_cell

    return new_code_cell(source.rstrip(), metadata=metadata)


def comment(piece: Piece) -> Note | None:
    r"""
    ## The comment above a piece, as a note
    """
    if not piece.note:
        return None
    texts = all_uncommented(piece.note.split("\n"))
    return Note("comment", piece.line - len(texts), texts)


def _as_read(code: str) -> str:
    r"""
    In a cell, a comment is not rendered: of a link its words are left, and of a formula what can be
    read without TeX. What is code stays as it is.
    """
    block = r"(?m)^[ \t]*#.*\n(?:[ \t]*#.*\n)*"
    code = re.sub(block, lambda match: _MARKED.sub(_without_marks, match[0]), f"{code}\n")
    return code[:-1]


def _without_marks(match: re.Match[str]) -> str:
    if match["tex"] is not None:
        # A formula may go on in the next line of the comment.
        lines = re.split(r"(\n[ \t]*# ?)", match["tex"])
        return "".join([readable(line) if at % 2 == 0 else line for at, line in enumerate(lines)])
    return _MARKED.sub(_without_marks, match["words"]) if match["words"] else match[0]


def together(pieces: Iterable[Piece]) -> str:
    r"""
    ## Pieces in one cell

    Constants stand below the ones before them.
    """
    text, before = "", None
    for piece in pieces:
        if before and (before.definition or piece.definition or piece.note):
            text += "\n"
        text += piece.text
        before = piece
    return text


def take_body(piece: Piece, path: str) -> Body:
    r"""
    ## Take the body out of a function

    `path` is the file in problems. Raises a [LiterateError](../problems.py#LiterateError) for what
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
        form.append(f"{parameter.arg} = {value}  #@param {_field(default)}\n")
    for node in _same_scope(function.body):
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Await | ast.Nonlocal):
            sentence = "a cell of a notebook has no {}: the body of `notebook` becomes cells."
            raise error(node.lineno, sentence.format(type(node).__name__.lower()))

    docstring = source.definitions[0].docstring
    statements = function.body[1:] if docstring else function.body
    for statement in statements[:1]:
        if source.lines[statement.lineno - 1].text[: statement.col_offset].strip():
            raise error(
                statement.lineno, "the body of `notebook` has to begin on a line of its own."
            )
    names = {
        name: above + statement.lineno for statement in statements for name in bindings([statement])
    }
    names |= {argument.arg: above + argument.lineno for argument, _ in _parameters(function.args)}
    return Body("".join(form), tuple(_cells(source, statements, above)), names)


def _parameters(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    without = [None] * (len(positional) - len(arguments.defaults))
    yield from zip(positional, [*without, *arguments.defaults], strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    yield from ((argument, None) for argument in (arguments.vararg, arguments.kwarg) if argument)


def _is_literal(default: ast.expr | None) -> TypeGuard[ast.expr]:
    try:
        ast.literal_eval(default)  # type: ignore[arg-type]
    except ValueError:
        return False
    return True


def _field(default: ast.expr) -> str:
    r"""
    Colab shows a field of the right kind.
    """
    kind = FIELDS.get(type(ast.literal_eval(default)), "raw")
    return f'{{type:"{kind}"}}'


def _same_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        yield node
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            yield from _same_scope(ast.iter_child_nodes(node))


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
        for statement in statements
        for number in range(first_line(statement), (statement.end_lineno or statement.lineno) + 1)
    }
    in_strings = _lines_in_strings(source.text)
    note: Note | None = None
    code: list[str] = []
    for line in lines[first - 1 :]:
        deep = line.text[:indent].strip() == "" and line.text[indent : indent + 1] == "#"
        if line.kind == "comment" and deep and line.number not in inside:
            if any(line.strip() for line in code):
                yield note, "".join(code).strip("\n") + "\n"
                note = None
            gap = tuple("" for _ in code) if note else ()
            at, texts = (note.first, note.texts) if note else (above + line.number, ())
            note = Note("comment", at, (*texts, *gap, uncommented(line.text)))
            code = []
        else:
            code.append(line.text if line.number in in_strings else _dedented(line.text, indent))
    yield note, "".join(code).strip("\n") + "\n"


def _lines_in_strings(text: str) -> set[int]:
    r"""
    The lines that begin inside a string: their indentation is part of it. Since Python 3.12 an
    f-string is several tokens.
    """
    return {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if tokenize.tok_name[token.type] in ("STRING", "FSTRING_MIDDLE")
        for line in range(token.start[0] + 1, token.end[0] + 1)
    }


def _dedented(text: str, indent: int) -> str:
    if not text.strip():
        return "\n"
    return text.lstrip() if text[:indent].strip() else text[indent:]


def no_png(figure: str) -> str:
    r"""
    ## A notebook without the bytes of its figures

    As a check compares it.
    """
    return ""


def script(cells: list[Cell], told: Mapping[str, str] = NO_METADATA, on_gpu: bool = False) -> str:
    r"""
    ## A notebook as a script

    In the percent format of jupytext: it can be read, compared and opened in an editor. Its header
    says that the two belong together, so `jupytext --sync` carries changes from one to the other.
    `told` are the addresses that its links have. `on_gpu` says whether Colab should offer a GPU:
    one that isn't used is counted all the same.
    """
    metadata: dict[str, Any] = {
        **({"accelerator": "GPU"} if on_gpu else {}),
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "jupytext": PAIRED,
    }
    for cell in cells:
        if cell.cell_type == "code":
            cell.source = _as_read(cell.source)
    if told:
        metadata["literate"] = dict(told)
    folded = [cell.metadata.id for cell in cells if "id" in cell.metadata]
    if folded:
        metadata["colab"] = {"collapsed_sections": folded}
    # They take a quarter of a second to load, and a check of a page does without.
    import jupytext
    from nbformat.v4 import new_notebook

    return jupytext.writes(new_notebook(cells=cells, metadata=metadata), PERCENT)


def written(text: str, png: Callable[[str], str] = no_png) -> str:
    r"""
    ## The notebook of a script

    The bytes of a notebook depend on its script, and on the pictures that `png` gives, in base 64,
    for the names of figures. Each cell's id comes from what is in it.
    """
    import jupytext
    import nbformat

    notebook = jupytext.reads(text, PERCENT)
    # It would change with the version of jupytext, and nothing needs it.
    notebook.metadata.jupytext.pop("text_representation", None)
    notebook.metadata.language_info = {"name": "python"}
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
        seen[digest] += 1
        number = f"-{seen[digest]}" if seen[digest] > 1 else ""
        cell.id = cell.metadata.get("id", digest + number)
        if "figure" in cell.metadata:
            data = f"(data:image/png;base64,{png(cell.metadata.figure)})"
            cell.source = cell.source.replace(f"({cell.metadata.figure})", data, 1)
    return nbformat.writes(notebook) + "\n"


def script_of(text: str) -> str:
    r"""
    ## The script of a notebook that is written

    With the bytes of its figures, for those who edit the two as a pair.
    """
    import jupytext

    return jupytext.writes(jupytext.reads(text, "ipynb"), PERCENT)

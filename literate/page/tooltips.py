r"""
---
title: About a page
summary: What a page tells when it is asked, kept beside it until then.
---

Where a name is used, what a definition takes and is for, which numbers a tensor held: a reader
asks for a little of that, and not at once. So it isn't in the page but in a file beside it,
`about.json`, which the browser fetches when the reader first points at something.
"""

import ast
import json
import re

from literate.measuring.measure import Measurement, Tensor
from literate.python.scopes import places
from literate.reading.notes import Note
from literate.reading.page_source import PageSource
from literate.reading.plain import plain
from literate.reading.source import Definition

_SENTENCE = re.compile(r".*?[.:!?](?=\s+[A-Z`\[]|$)")


def about(page: PageSource, measurement: Measurement | None) -> str:
    r"""
    ## What there is to know about a page

    A text of JSON with

    * `names`: the [places](../python/scopes.py#places) of each name, group by group; a group is a
      list of numbers, line and column in turns
    * `definitions`: by its name, how each is called and the first sentence about it; the empty name
      is the page itself
    * `tensors`: by the line, those measured there, each with name, axes, sizes, and place among
      those of the [recorded run](../../page_runner/recording.py), which has the numbers
    """
    lines = measurement.lines if measurement else {}
    content = {
        "names": {
            name: [[number for place in group for number in place] for group in groups]
            for name, groups in page.source.once(places).items()
        },
        "definitions": {"": [page.title, page.matter.summary], **_definitions(page)},
        "tensors": {
            line: [_tensor(tensor) for tensor in tensors] for line, tensors in lines.items()
        },
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"


def signature(definition: Definition) -> str:
    r"""
    ## How a definition is called

    A class is called as its `__init__` is, or with the fields of a dataclass.
    """
    node = definition.node
    name = definition.name.rpartition(".")[2]
    if not isinstance(node, ast.ClassDef):
        result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return f"{name}({_arguments(node.args, bool(definition.depth))}){result}"
    for inside in node.body:
        if isinstance(inside, ast.FunctionDef) and inside.name == "__init__":
            return f"{name}({_arguments(inside.args, True)})"
    if any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
        fields = [
            ast.unparse(statement)
            for statement in node.body
            if isinstance(statement, ast.AnnAssign)
        ]
        return f"{name}({', '.join(fields)})"
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    return f"class {name}({bases})" if bases else f"class {name}"


def _arguments(arguments: ast.arguments, is_method: bool) -> str:
    text = ast.unparse(arguments)
    return re.sub(r"^(?:self|cls)(?:, |$)", "", text) if is_method else text


def _definitions(page: PageSource) -> dict[str, list[str]]:
    notes = {row.documents.name: row.note for row in page.rows if row.documents and row.note}
    return {
        definition.name: [signature(definition), _first_sentence(notes.get(definition.name))]
        for definition in page.source.definitions
    }


def _first_sentence(note: Note | None) -> str:
    r"""
    The sentence as it is read, without the marks of Markdown. A text that begins with a formula, a
    list or a block of code has none.
    """
    blocks = note.parsed.blocks if note else ()
    first = next((block for block in blocks if block.kind != "heading"), None)
    if first is None or first.kind != "paragraph":
        return ""
    paragraph = " ".join(first.text.split())
    sentence = _SENTENCE.match(paragraph)
    return plain(Note("comment", 1, (sentence[0] if sentence else paragraph,))).removesuffix(":")


def _tensor(tensor: Tensor) -> list[object]:
    return [tensor.name, list(tensor.axes), list(tensor.sizes[0]), tensor.index]

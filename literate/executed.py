r"""
---
title: Executed
summary: What a notebook has put out is kept, and shown in the notebook and on its page.
---

A notebook that was [executed](execute.py) has outputs: what its cells have printed, and their
pictures. They are kept in a file for each notebook, with a key, and shown as long as the key is the
same. The notebook of the site has them; the one in the repository has none, because what a machine
puts out is not made from the sources.

The notebook is executed with values for its form that end soon. Wherever its outputs are seen, a
sentence says which values these were. The cells stay as they are.

Two runs put out the same, but for how fast the machine was. So a progress bar is left out, as is
all that goes to the stream of errors; a number of things per second becomes “…”, and addresses in
memory go. What remains of chance, in the last digits of a loss on another processor, is kept
with the outputs: who has the same store builds the same bytes.
"""

import hashlib
import json
import platform
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode, from_dict

from literate.outcome import Outcome, Part, sentence
from literate.plain import plain
from literate.rows import Note
from literate.set_up import SET_UP_NAME
from literate.store import Store

# The first line of the cell that holds the form, and a field of it: name, value and kind.
FORM = "#@title Settings\n"
_FIELD = re.compile(r"(?m)^(?P<name>\w+) = (?P<value>.*?)(?P<kind>  #@param .*)$")
# The kinds of output that a page can show.
PICTURE, TEXT = "image/png", "text/plain"
# “1,234 tokens a second”, and the place of something in the memory.
_RATE = re.compile(r"\d[\d.,]*(?= ?\w+(?:/s| (?:a|per) second)\b)")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+\b")
# When one of these changes, everything is executed again.
TOOLS = [Path(__file__).with_name(f"{name}.py") for name in ("executed", "execute")]

Output = Mapping[str, Any]


class Shelf:
    r"""
    ## Where outputs are kept

    * `store` is the folder of all that is kept
    * `values` are those for the forms; a form takes those that it has
    """

    def __init__(self, store: Path, values: Mapping[str, object]) -> None:
        self.values = values
        self._kept = Store(store / "executed", store, ())

    def fill_in(self, text: str) -> NotebookNode:
        r"""
        ### The notebook to execute

        It differs from `text` in the values of its form.
        """
        notebook = nbformat.reads(text, as_version=4)
        self._fill_in(notebook)
        return notebook

    def _fill_in(self, notebook: NotebookNode) -> None:
        for cell in notebook.cells:
            if cell.source.startswith(FORM):
                cell.source = _FIELD.sub(self._filled, cell.source)

    def _filled(self, field: re.Match[str]) -> str:
        if field["name"] not in self.values:
            return field[0]
        value = self.values[field["name"]]
        written = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
        return f"{field['name']} = {written}{field['kind']}"

    def has(self, module: str, text: str) -> bool:
        r"""
        ### Is there something for exactly this notebook?
        """
        return self._load(module, self.fill_in(text)) is not None

    def keep(self, module: str, notebook: NotebookNode) -> None:
        r"""
        ### Keep the outputs of an executed notebook

        Of the one that was [filled in](#Shelf.fill_in).
        """
        outputs = [list(tidy(cell.outputs)) for cell in _code(notebook)]
        self._kept.save(module, key(notebook), outputs)

    def look_up(self, module: str, text: str) -> tuple[str, Outcome] | None:
        r"""
        ### The notebook with its outputs, and the outcome

        None if it was not executed as it is. The [outcome](outcome.py#Outcome) is what the cells
        below the form have put out, from the first picture on: what comes before says how the run
        is set up.
        """
        notebook = nbformat.reads(text, as_version=4)
        code = _code(notebook)
        written = [cell.source for cell in code]
        self._fill_in(notebook)
        outputs = self._load(module, notebook)
        if outputs is None:
            return None
        form = tuple(_form(notebook))
        notebook.cells[0].source += f"\n\n{sentence(form)}"
        for number, (cell, source, found) in enumerate(zip(code, written, outputs, strict=True), 1):
            cell.source = source
            cell.execution_count = number
            cell.outputs = [from_dict(one) for one in found]
        parts = list(_parts(notebook))
        first = next((at for at, one in enumerate(parts) if one.pictures), 0)
        return nbformat.writes(notebook) + "\n", Outcome(form, tuple(parts[first:]))

    def _load(self, module: str, filled: NotebookNode) -> list[list[Output]] | None:
        found = self._kept.load(module, key(filled))
        return found if isinstance(found, list) and len(found) == len(_code(filled)) else None


def key(notebook: NotebookNode) -> str:
    r"""
    ## The key of a notebook

    A hash of its code, with the values of the form, of the versions of Python and of the packages
    that its first cell asks for, and of the tool. Its notes may change: nothing runs in them.
    """
    code = [cell.source for cell in _code(notebook)]
    needed = [name for text in code for name in _needed(text)]
    versions = [platform.python_version(), *map(_installed, needed)]
    parts = [code, needed, versions, [path.read_text(encoding="utf-8") for path in TOOLS]]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _needed(text: str) -> list[str]:
    call = text.rpartition(f"\n{SET_UP_NAME}(")[2]
    return list(json.loads(call.removesuffix(")")).values()) if call != text else []


# Finding out takes a while, and no version changes while the program runs.
@cache
def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def tidy(outputs: Iterable[Output]) -> Iterator[dict[str, Any]]:
    r"""
    ## What is worth keeping of outputs

    Texts and pictures, without what differs between two runs. Pieces of one text, which come as
    they happen to, become one.
    """
    printed = ""
    for one in outputs:
        if one["output_type"] == "stream":
            printed += one["text"] if one["name"] == "stdout" else ""
            continue
        yield from _stream(printed)
        printed = ""
        data = {
            kind: _steady(value) if kind == TEXT else value
            for kind, value in one.get("data", {}).items()
            if kind in (PICTURE, TEXT)
        }
        if data:
            yield {"output_type": "display_data", "data": data, "metadata": {}}
    yield from _stream(printed)


def _stream(text: str) -> Iterator[dict[str, Any]]:
    if text:
        yield {"output_type": "stream", "name": "stdout", "text": _steady(text)}


def _steady(text: str) -> str:
    return _ADDRESS.sub("", _RATE.sub("…", text))


def _code(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _form(notebook: NotebookNode) -> Iterator[str]:
    r"""
    The fields of the form, without those that are left empty.
    """
    for cell in notebook.cells:
        if cell.source.startswith(FORM):
            for field in _FIELD.finditer(cell.source):
                if field["value"] not in ('""', "''"):
                    yield f"{field['name']} = {field['value']}"


def _parts(notebook: NotebookNode) -> Iterator[Part]:
    below, title, note = False, "", ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            first, _, rest = cell.source.partition("\n")
            if first.startswith("#"):
                title, note = _words(first), _words(rest)
            else:
                note = _words(cell.source)
        elif below and cell.outputs:
            yield Part(title, note, _printed(cell), tuple(_pictures(cell)))
        below = below or cell.source.startswith(FORM)


def _words(text: str) -> str:
    return plain(Note("comment", 1, tuple(text.split("\n"))))


def _printed(cell: NotebookNode) -> str:
    return "".join(one.text for one in cell.outputs if one.output_type == "stream").strip("\n")


def _pictures(cell: NotebookNode) -> Iterator[bytes]:
    for one in cell.outputs:
        if PICTURE in one.get("data", {}):
            yield b64decode(one.data[PICTURE])

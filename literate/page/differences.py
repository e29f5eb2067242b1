r"""
---
title: Differences
summary: A class that names a line of another one, and what replaces it, is shown as the change.
---

Some modules are made from the source of another one, with one line replaced. The class of such a
module has two texts, and says of which class they are:

```python
class Doubled(Mistake):
    of = RightAttention
    right = "return self.output(x)"
    wrong = "return self.output(2 * x)"
```

A reader wants to see the line where it belongs. The settings name the base class, `Mistake` here,
and the attributes; whatever is a subclass of it is found, on whatever page.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from literate.python.references import Network, Reference
from literate.reading.notes import Note
from literate.reading.on_demand import OnDemand
from literate.reading.rows import rows
from literate.reading.source import Definition, Source


@dataclass(frozen=True)
class Difference:
    r"""
    ## One line replaced

    * `source` is the page of the class that is so named, `definition` the class
    * `of` is the source with the line, `within` its definition around it, `first` and `last` are
      the numbers of the lines that are replaced
    * `before` and `after` are these lines, and what stands in their place
    * `title` is the heading of the class, and `published` are the addresses outside that its
      docstring links to
    * `attributes` says which line of the class has which of the two texts
    """

    source: Source
    definition: Definition
    of: Source
    within: Definition
    first: int
    last: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    title: str
    published: tuple[str, ...]
    attributes: Mapping[int, str]


def find(
    pages: Mapping[str, Source],
    network: Network,
    setting: Mapping[str, Any],
    among: Iterable[str] | None = None,
) -> dict[tuple[str, str], Difference]:
    r"""
    ## The differences of a project

    By the path of the page and the name of the class; none, where the settings name no base. They
    are looked for `among` some pages, or on all.
    """
    if not setting:
        return {}
    path, _, name = setting["base"].partition(":")

    def places(path: str) -> Mapping[tuple[int, int], Reference]:
        return {(one.line, one.column): one for one in network.references[path]}

    meant = OnDemand(pages, places)
    base = pages[path].definition_named(name) if path in pages else None
    usual = _assigned(base).get(setting["of"]) if base else None
    default = _target(usual, pages[path], meant[path]) if usual else None
    differences = {}
    for source in map(pages.__getitem__, pages if among is None else among):
        for definition in source.definitions:
            if not isinstance(definition.node, ast.ClassDef):
                continue
            bases = [_target(base, source, meant[source.path]) for base in definition.node.bases]
            if (path, name) in bases:
                difference = _difference(
                    source, definition, pages, meant[source.path], setting, default
                )
                if difference is not None:
                    differences[source.path, definition.name] = difference
    return differences


def _target(
    node: ast.expr, source: Source, meant: Mapping[tuple[int, int], Reference]
) -> tuple[str, str] | None:
    r"""
    What a name in code stands for.
    """
    place = node.lineno, source.characters(node.lineno, node.col_offset)
    return (meant[place].path, meant[place].target) if place in meant else None


def _assigned(definition: Definition) -> dict[str, ast.expr]:
    r"""
    The values of the attributes of a class.
    """
    values = {}
    for statement in definition.node.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name), *_], value=value):
                values[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                values[name] = value
    return values


def _difference(
    source: Source,
    definition: Definition,
    pages: Mapping[str, Source],
    meant: Mapping[tuple[int, int], Reference],
    setting: Mapping[str, Any],
    default: tuple[str, str] | None,
) -> Difference | None:
    r"""
    None, if the line isn't there exactly once, or if the class has no docstring whose heading could
    name the change: then the class is shown as it is.
    """
    values = _assigned(definition)
    old, new = (_text(values.get(setting[key])) for key in ("before", "after"))
    if old is None or new is None:
        return None
    named = values.get(setting["of"])
    path, name = (_target(named, source, meant) if named else default) or ("", "")
    of = pages.get(path)
    whole = of.definition_named(name) if of else None
    places = [*_places(of, whole, old)] if of and whole and old else []
    docstring = next((row for row in rows(source) if row.documents == definition), None)
    if not of or len(places) != 1 or docstring is None:
        return None
    first, last, text, at = places[0]
    within = of.definition_at(first)
    assert within is not None
    after = text[:at] + new + text[at + len(old) :]
    return Difference(
        source,
        definition,
        of,
        within,
        first,
        last,
        tuple(text.split("\n")),
        tuple(after.split("\n")) if after.strip() else (),
        _heading(docstring.note),
        tuple(_published(docstring.note)),
        {values[setting[key]].lineno: key for key in ("before", "after")},
    )


def _text(node: ast.expr | None) -> str | None:
    r"""
    The text that an expression is, if it is nothing else.
    """
    match node:
        case ast.Constant(value=str(text)):
            return text
    return None


def _places(of: Source, whole: Definition, old: str) -> Iterator[tuple[int, int, str, int]]:
    r"""
    Where a text is in the methods of a class: the first and the last of its lines, these lines, and
    where it begins in them.
    """
    for method in whole.node.body:
        if not isinstance(method, ast.FunctionDef):
            continue
        start = min([method.lineno, *(decorator.lineno for decorator in method.decorator_list)])
        lines = [line.text.rstrip("\r\n") for line in of.lines[start - 1 : method.end_lineno]]
        text, at = "\n".join(lines), -1
        while (at := text.find(old, at + 1)) >= 0:
            begin, end = text.count("\n", 0, at), text.count("\n", 0, at + len(old))
            column = at - (text.rfind("\n", 0, at) + 1)
            yield start + begin, start + end, "\n".join(lines[begin : end + 1]), column


def _heading(note: Note | None) -> str:
    return next((heading.text for heading in note.parsed.headings), "") if note else ""


def _published(note: Note | None) -> Iterator[str]:
    for target in note.parsed.targets if note else ():
        if target.text.startswith("https://"):
            yield target.text


def parted(first: str, second: str) -> tuple[int, int]:
    r"""
    ## Where two lines differ

    How many letters are the same at their beginnings, and how many at their ends. A word that
    differs does so as a whole.
    """
    shorter = min(len(first), len(second))
    begin = next((at for at in range(shorter) if first[at] != second[at]), shorter)
    left = shorter - begin
    end = next((at for at in range(left) if first[-1 - at] != second[-1 - at]), left)
    while (
        begin
        and _is_word(first[begin - 1])
        and any(_is_word(x[begin : begin + 1]) for x in (first, second))
    ):
        begin -= 1
    while (
        end and _is_word(first[-end]) and any(_is_word(x[-end - 1 : -end]) for x in (first, second))
    ):
        end -= 1
    return begin, end


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def label(address: str) -> str:
    r"""
    ## Where something was published, in a few words

    The host; of a repository its name, and what of it is meant.
    """
    host, *path = address.removeprefix("https://").rstrip("/").split("/")
    kinds = {"issues": "issue", "pull": "pull request"}
    if host == "github.com" and len(path) >= 2:
        more = f", {kinds[path[2]]} {path[3]}" if len(path) > 3 and path[2] in kinds else ""
        return f"{path[0]}/{path[1]}{more}"
    return host.removeprefix("www.")

r"""
---
title: Front matter
summary: What a page says about itself before it begins.
---

The docstring of a module begins with a few lines of YAML between two lines of `---`. They name the
page: its title is the page's one first-level heading, its summary stands in search results. A
docstring that begins with a heading of the first level needs none: that heading is the title, and
the first sentence below it the summary.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import yaml

from literate.problems import Problem
from literate.reading.rows import Note, rows
from literate.reading.source import Source

REQUIRED = ("title", "summary")
# Mappings, with their keys; the terms have any.
MAPPINGS = {"paper": ("title", "authors", "year", "link"), "terms": ()}
OPTIONAL = ("know", *MAPPINGS)

_HEADING = re.compile(r"# +(.*?)(?: +#+)? *$")


@dataclass(frozen=True)
class FrontMatter:
    r"""
    ## The front matter of a page

    `paper` is empty where a page has none; else it has exactly the keys title, authors, year and
    link. `terms` are those that the page explains, each with a sentence. `know` has the paths of
    pages that should be read before, with commas between them.
    """

    title: str = ""
    summary: str = ""
    know: str = ""
    paper: dict[str, str] = field(default_factory=dict)
    terms: dict[str, str] = field(default_factory=dict)


@lru_cache(maxsize=1024)
def split(note: Note, path: str) -> tuple[FrontMatter, Note, tuple[Problem, ...]]:
    r"""
    ## Split a note into front matter and the rest

    The rest keeps its line numbers. What is wrong with the front matter comes back as problems,
    and what can be used of it is used all the same: a page can be shown while it is being written.
    All who tell of a page ask for it, and YAML takes long to read.
    """
    texts = note.texts
    opening = next((index for index, text in enumerate(texts) if text.strip()), None)
    if opening is None or texts[opening].strip() != "---":
        if opening is not None and _HEADING.match(texts[opening]):
            title, summary = introduction(texts)
            return FrontMatter(title, summary), _below_heading(note), ()
        sentence = (
            "the module's docstring begins with neither front matter nor a heading; "
            "write `title:` and `summary:` between two lines of `---`."
        )
        return FrontMatter(), note, (Problem(path, note.first, sentence),)
    closing = next(
        (at for at in range(opening + 1, len(texts)) if texts[at].strip() == "---"), None
    )
    first = note.first + opening
    if closing is None:
        sentence = "the front matter is opened by `---` and never closed."
        return FrontMatter(), note, (Problem(path, first, sentence),)
    rest = _below_heading(Note(note.kind, note.first + closing + 1, texts[closing + 1 :]))
    try:
        node = yaml.compose("\n".join(texts[opening + 1 : closing]), Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        sentence = f"the front matter is not YAML: {getattr(error, 'problem', error)}."
        line = first + 1 + (mark.line if mark else 0)
        return FrontMatter(), rest, (Problem(path, line, sentence),)
    reader = _Reader(path, first)
    values = reader.mapping(node, "", REQUIRED + OPTIONAL)
    inside = {
        name: reader.texts(reader.mapping(values.pop(name), f"{name}: ", keys), f"{name}: ")
        for name, keys in MAPPINGS.items()
        if name in values
    }
    matter = FrontMatter(**reader.texts(values, ""), **inside)
    return matter, rest, tuple(reader.problems)


def _below_heading(note: Note) -> Note:
    r"""
    The note without the heading that it begins with: the page has its title already.
    """
    first = next((at for at, text in enumerate(note.texts) if text.strip()), 0)
    if not note.texts or not _HEADING.match(note.texts[first]):
        return note
    return Note(note.kind, note.first + first + 1, note.texts[first + 1 :])


def introduction(lines: Sequence[str]) -> tuple[str, str]:
    r"""
    ## How a text introduces itself

    The first heading of the first level, and the first sentence of the paragraph after it. Both
    are empty where there is no such heading.
    """
    found = next((at for at, line in enumerate(lines) if _HEADING.match(line)), None)
    if found is None:
        return "", ""
    heading = _HEADING.match(lines[found])
    below = "\n".join(lines[found + 1 :]).lstrip("\n")
    paragraph = _plain(" ".join(below.partition("\n\n")[0].split()))
    sentence = re.match(r".*?[.!?](?= |$)", paragraph)
    opened = re.match(r"[#>|`~<*+-]", below) is not None
    title = _plain(heading[1]) if heading else ""
    return title, "" if opened else (sentence or [paragraph])[0]


def _plain(text: str) -> str:
    r"""
    Markdown without its marks.
    """
    return re.sub(r"[`*]", "", re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)).strip()


def of_source(source: Source) -> tuple[FrontMatter, Note, tuple[Problem, ...]]:
    r"""
    ## The front matter of a source

    And the rest of the docstring of the module.
    """
    for row in rows(source):
        if row.note is not None and row.note.kind == "docstring" and row.documents is None:
            return split(row.note, source.path)
    sentence = "the module has no docstring; a page begins with one, and a title."
    return FrontMatter(), Note("docstring", 1, ()), (Problem(source.path, 1, sentence),)


class _Reader:
    r"""
    Reads the nodes of YAML, which know their lines; `yaml.safe_load` would drop them.
    """

    def __init__(self, path: str, first: int) -> None:
        self.path = path
        self.first = first
        self.problems: list[Problem] = []

    def wrong(self, node: yaml.Node | None, sentence: str) -> None:
        line = self.first if node is None else self.first + 1 + node.start_mark.line
        self.problems.append(Problem(self.path, line, sentence))

    def mapping(
        self, node: yaml.Node | None, where: str, allowed: Sequence[str] = ()
    ) -> dict[str, yaml.Node]:
        r"""
        The values of a mapping. Where no keys are `allowed`, any key is.
        """
        keys = ", ".join(f"`{one}`" for one in allowed or ["term"])
        values: dict[str, yaml.Node] = {}
        if not isinstance(node, yaml.MappingNode):
            self.wrong(node, f"{where or 'the front matter '}needs the keys {keys}.")
            return values
        for key, value in node.value:
            name = f"{where}{key.value}"
            if allowed and key.value not in allowed:
                self.wrong(key, f"the front matter has an unknown key `{name}`; known: {keys}.")
            elif key.value in values:
                self.wrong(key, f"the key `{name}` stands here twice.")
            else:
                values[key.value] = value
        for name in allowed:
            if name not in values and name not in OPTIONAL:
                parent = node if where else None
                self.wrong(parent, f"the front matter has no `{where}{name}`.")
        return values

    def texts(self, values: Mapping[str, yaml.Node], where: str) -> dict[str, str]:
        r"""
        The values that are texts, as all have to be.
        """
        flat: dict[str, str] = {}
        for key, value in values.items():
            if isinstance(value, yaml.ScalarNode) and value.value.strip():
                flat[key] = value.value.strip()
            else:
                self.wrong(value, f"`{where}{key}` needs a text.")
        return flat

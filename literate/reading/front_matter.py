r"""
---
title: Front matter
summary: What a page says about itself before it begins.
---

The docstring of a module begins with a few lines of YAML between two lines of `---`. They name the
page: its title is the page's one first-level heading, its summary stands in search results. A
docstring that begins with a heading of the first level needs none: that heading is the title, and
the first sentence below it the summary. So does a file without a docstring if such a heading stands
in a comment above its code, as in a notebook that is kept as a script.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath

import yaml

from literate.problems import Problem, mismatches
from literate.reading.notes import Note
from literate.reading.plain import seen
from literate.reading.rows import Row, rows
from literate.reading.scripts import told_by_header
from literate.reading.source import Source

UNTITLED = "modules have no title"
SCHEMA = Path(__file__).with_suffix(".json")
# The layout of a page that begins a site, and shows no code.
FRONT = "front"

# Pictures, each perhaps in a link.
_BADGES = re.compile(r"(?:\[?!\[[^\[\]]*\]\([^()]*\)(?:\]\([^()]*\))?\s*)+")


@dataclass(frozen=True)
class FrontMatter:
    r"""
    ## The front matter of a page

    `paper` is empty where a page has none; else it has exactly the keys title, authors, year and
    link. `terms` are those that the page explains, each with a sentence. `know` has the paths of
    pages that should be read before, with commas between them. `layout` is that of a page which
    leads to others, and shows what is there. `is_written` tells whether there is a front matter; a
    title and a summary can also be taken from a heading.
    """

    title: str = ""
    summary: str = ""
    know: str = ""
    layout: str = ""
    paper: dict[str, str] = field(default_factory=dict)
    terms: dict[str, str] = field(default_factory=dict)
    is_written: bool = False


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
        if _is_titled(note):
            title, summary = introduction(texts)
            return FrontMatter(title, summary), _below_title(note), ()
        sentence = (
            "the module's docstring begins with neither front matter nor a heading; "
            "write `# Title`, underline a title as for Sphinx, or write `title:` and `summary:` "
            "between two lines of `---`."
        )
        return FrontMatter(), note, (Problem(path, note.first, sentence, UNTITLED),)
    closing = next(
        (at for at in range(opening + 1, len(texts)) if texts[at].strip() == "---"), None
    )
    first = note.line(opening)
    if closing is None:
        sentence = "the front matter is opened by `---` and never closed."
        return FrontMatter(), note, (Problem(path, first, sentence),)
    rest = _below_title(note.part(closing + 1))
    try:
        node = yaml.compose("\n".join(texts[opening + 1 : closing]), Loader=yaml.SafeLoader)
        content = yaml.BaseLoader("").construct_document(node) if node else {}
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        sentence = f"the front matter is not YAML: {getattr(error, 'problem', error)}."
        line = first + 1 + (mark.line if mark else 0)
        return FrontMatter(), rest, (Problem(path, line, sentence),)
    wrong = mismatches(content, SCHEMA, "front matter")
    problems = [Problem(path, first + _line(node, where), sentence) for where, sentence in wrong]
    left_out = {name for where, _ in wrong for name in where[:1]}
    values = content if isinstance(content, dict) else {}
    values = {name: value for name, value in values.items() if name not in left_out}
    return FrontMatter(**values, is_written=True), rest, tuple(problems)


def _line(node: yaml.Node | None, where: Sequence[str | int]) -> int:
    r"""
    The line of a key in YAML, where the one above it is zero: for that above all keys, too.
    """
    line = 0
    for name in where:
        pairs = node.value if isinstance(node, yaml.MappingNode) else ()
        for key, value in pairs:
            if key.value == name:
                line, node = key.start_mark.line + 1, value
    return line


def _is_titled(note: Note) -> bool:
    r"""
    Whether a note begins with a heading of the first level.
    """
    title = note.parsed.title
    return title is not None and title.level == 1


def _below_title(note: Note) -> Note:
    r"""
    The note without the title that it begins with: the page has one already.
    """
    title = note.parsed.title
    if title is None or title.level != 1:
        return note
    return note.part(title.last)


def introduction(lines: Sequence[str]) -> tuple[str, str]:
    r"""
    ## How a text introduces itself

    The first heading of the first level, and the first sentence of the paragraph after it. Both
    are empty where there is no such heading. A paragraph of nothing but pictures says nothing.
    """
    blocks = Note("docstring", 1, tuple(lines)).parsed.blocks
    heading = next((block for block in blocks if block.level == 1), None)
    if heading is None:
        return "", ""
    following = (block for block in blocks if block.first >= heading.last)
    below = next((block for block in following if not _BADGES.fullmatch(block.text)), None)
    # HTML has no sentence.
    is_text = below is not None and below.kind == "paragraph" and not below.text.startswith("<")
    paragraph = seen(below.words) if below and is_text else ""
    # Not after “e.g.” and “i.e.”.
    sentence = re.match(r".*?(?<!e\.g)(?<!i\.e)[.!?](?= |$)", paragraph)
    return seen(heading.words), (sentence or [paragraph])[0]


def opening(source: Source) -> Row | None:
    r"""
    ## The row that introduces a page

    That of the module's docstring; else the first comment that begins with a title, if no code
    stands above it.
    """
    return source.once(_opening)


def _opening(source: Source) -> Row | None:
    for row in rows(source) if source.docstring else ():
        if row.note is not None and row.note.kind == "docstring" and row.documents is None:
            return row
    for row in rows(source):
        if row.note and _is_titled(row.note):
            return row
        # What is said to other programs may stand first.
        if any(not line.text.startswith("#") for line in row.code if line.kind == "code"):
            return None
    return None


def title_of(source: Source) -> str:
    r"""
    ## The title of a page

    Its own, or else the name of its file; of a package, that of its folder.
    """
    path = PurePosixPath(source.path)
    name = path.parent.name if path.stem == "__init__" else path.stem
    return of_source(source)[0].title or name or path.stem


def of_source(source: Source) -> tuple[FrontMatter, Note, tuple[Problem, ...]]:
    r"""
    ## The front matter of a source

    And the rest of the docstring of the module, or of the comment that stands for it.
    """
    if source.unread:
        return FrontMatter(), Note("docstring", 1, ()), (source.unread,)
    first = opening(source)
    told = told_by_header([line.text for line in source.lines])
    if first is not None and first.note is not None:
        matter, rest, problems = split(first.note, source.path)
        if not told or matter.title:
            return matter, rest, problems
        titled = replace(matter, title=told.get("title", ""), summary=told.get("summary", ""))
        return titled, rest, tuple(one for one in problems if one.kind != UNTITLED)
    if told:
        return (
            FrontMatter(told.get("title", ""), told.get("summary", "")),
            Note("docstring", 1, ()),
            (),
        )
    sentence = "the module has no docstring; a page begins with one, and a title."
    return FrontMatter(), Note("docstring", 1, ()), (Problem(source.path, 1, sentence, UNTITLED),)

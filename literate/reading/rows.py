r"""
---
title: Rows
summary: A note and the code under it, until the next note.
---

A *note* is a docstring or a run of comment lines. A *row* is a note with the code that follows it;
the page sets them side by side. The rows of a file, put together, are the file.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from literate.reading.docstrings import as_markdown, joined_types, others_named
from literate.reading.inline_marks import names_meant
from literate.reading.nested import nested
from literate.reading.notes import ANCHOR, Note, is_code
from literate.reading.restructured import LISTED, with_roles, with_statement, without_indent
from literate.reading.scripts import CELL, cell_title
from literate.reading.source import Definition, Docstring, Line, Source
from literate.reading.text_lines import TextLine

# What Sphinx takes for the docstring of what stands below.
_DOCUMENTS = re.compile(r"\s*#:")
_TITLE = re.compile(r"^(?:# )+(?=\S)")
_RULE_OF_SIGNS = re.compile(r"# #{3,}")
_FRAME = re.compile(r"^#{3,} (?=\S)")
# What Markdown may take for a heading, or for the line below one.
_HEADED = re.compile(r"(?m)^ *(?:#{1,6}(?: |$)|[=-]+ *$)")
_BETWEEN = re.compile(r"#{2,} +(?P<words>.*\S) +#{2,}")
_RULED = re.compile(r"(?:#+ *)?([-=~*_+])\1{2,} *(?P<words>\w(?:.*?\w)?) *\1{3,} *#*")
# What only sets off a line, or the lines around it.
_BANNER = re.compile(
    r"^([=~*_+-])\1{3,}(?:\s+|$)|^([=~*_+-])\2\2\s+(?=\w)|\s+([=~*_+-])\3{3,}(?:\s*#+)?$"
    r"|^(?:# ){2,}"
)
# A line of a frame, and one that is closed on its right.
_RULE = re.compile(r"[=~*_/#-]{4,}|[=~*_/+#\s-]*#")
_CLOSED = re.compile(r"[=~*_/+\s-]{3,}#")
_CLOSING = re.compile(r"\s#$")


@dataclass(frozen=True)
class Row:
    r"""
    ## A row

    * `note` is None where code has no note
    * `lines` are all lines of the row, those of the note among them
    * `documents` is the definition that the note is the docstring of
    * `within` is the innermost definition that the row stands in
    * `begins` are the definitions that begin in it
    """

    note: Note | None
    lines: tuple[Line, ...]
    documents: Definition | None
    within: Definition | None
    begins: tuple[Definition, ...] = ()

    @property
    def code(self) -> tuple[Line, ...]:
        r"""
        ### The code of the row

        Blank lines between two lines of code belong to it, blank lines around it don't.
        """
        kept = [line for line in self.lines if line.kind in ("code", "blank")]
        while kept and kept[0].kind == "blank":
            kept.pop(0)
        while kept and kept[-1].kind == "blank":
            kept.pop()
        return tuple(kept)


def rows(source: Source) -> Iterator[Row]:
    r"""
    ## The rows of a source

    Each is made when it is asked for first: of most pages, others need no more than the title.
    """
    return iter(source.once(_Rows))


class _Rows:
    def __init__(self, source: Source) -> None:
        self.made: list[Row] = []
        self.others = _rows(source)

    def __iter__(self) -> Iterator[Row]:
        at = 0
        while True:
            if at == len(self.made):
                row = next(self.others, None)
                if row is None:
                    return
                self.made.append(row)
            yield self.made[at]
            at += 1


def _rows(source: Source) -> Iterator[Row]:
    # A definition starts a row: its header stands beside its docstring. The inside of a function is
    # cut at notes only, so a nested function starts a row only if it has a docstring.
    starts = {
        definition.first: definition
        for definition in source.definitions
        if definition.docstring or not definition.in_function
    }
    documented = [source.docstring, *source.texts, *source.of_attributes.values()]
    documented += [definition.docstring for definition in source.definitions]
    docstrings = {docstring.first for docstring in documented if docstring is not None}
    # What documents an assignment stands below it, and has nothing to do with what follows.
    ends = {docstring.last for docstring in source.of_attributes.values()}
    row: list[Line] = []
    for line in source.lines:
        before = row[-1] if row else None
        # Below a comment, a definition without a docstring stays with that comment.
        explained = before is not None and before.kind == "comment"
        definition = starts.get(line.number)
        at_definition = definition is not None and not (explained and not definition.docstring)
        at_attribute = line.number in source.of_attributes and not explained
        at_next = before is not None and before.number in ends
        # A row has one note, so a docstring below another note begins a row: below a licence, or
        # below a comment in the signature.
        noted = any(line.kind in ("comment", "docstring") for line in row)
        at_docstring = noted and line.number in docstrings
        begins = at_definition or at_docstring or at_attribute or at_next
        if row and (begins or _starts_comment(line, before)):
            yield _row(source, row)
            row = []
        row.append(line)
    if row:
        yield _row(source, row)


def _starts_comment(line: Line, before: Line | None) -> bool:
    r"""
    A blank line or another indentation ends a run of comments, and so does a new cell.
    """
    if line.kind != "comment":
        return False
    if before is None or before.kind != "comment" or CELL.match(line.text):
        return True
    return _indent(line.text) != _indent(before.text)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _row(source: Source, lines: list[Line]) -> Row:
    first = lines[0]
    within = source.definition_at(first.number)
    documented = [
        (definition, definition.docstring)
        for definition in source.definitions
        if definition.docstring and first.number <= definition.docstring.first <= lines[-1].number
    ]
    documents, docstring = documented[0] if documented else (None, None)
    module = source.docstring
    here = range(first.number, lines[-1].number + 1)
    texts_alone = (*source.texts, *source.of_attributes.values())
    text = next((one for one in texts_alone if one.first in here), None)
    note = None
    if first.kind == "comment":
        texts = [line.text for line in lines if line.kind == "comment"]
        if CELL.match(first.text):
            # A cell of text may be written for Sphinx, as its gallery of examples is.
            below = (text.strip()[1:].removeprefix(" ") for text in texts[1:])
            uncovered = (uncommented(texts[0]), *below)
            made = as_markdown(uncovered, style=source.style)
        else:
            uncovered = all_uncommented(texts)
            if within is not None:
                # A title would be that of the page: a remark in what somebody has put out of use.
                uncovered = tuple(_TITLE.sub("", text) for text in uncovered)
                if within.kind == "class":
                    # Only the steps of a function can have titles in comments.
                    uncovered = tuple(_FRAME.sub("", text) for text in uncovered)
            uncovered = tuple(_remark(uncovered, at) for at in range(len(uncovered)))
            lined = [TextLine(text, at) for at, text in enumerate(uncovered)]
            made = with_statement(without_indent(lined))
            made = nested(with_roles(made) if source.style in ("", "sphinx") else made)
            if all(map(_DOCUMENTS.match, texts)):
                made = as_markdown(uncovered, style=source.style)
        note = _without_inner_headings(_note("comment", first.number, uncovered, made))
        note = _meaning(note, uncovered, source.style)
    elif docstring is not None:
        level = 2 + documents.depth if documents else 1
        note = _levelled(_docstring_note(docstring, source.style), level)
    elif text is not None and text != module:
        note = _docstring_note(text, source.style)
    elif module is not None and first.number <= module.first <= lines[-1].number:
        note = _levelled(_docstring_note(module, source.style, is_module=True), 1)
    begins = tuple(one for one in source.definitions if one.line in here)
    return Row(note, tuple(lines), documents, within, begins)


def uncommented(text: str) -> str:
    r"""
    ## The text of a comment line

    Signs that only draw a frame around a comment are no text: Markdown would make headings of them.
    The line that begins a cell of a notebook has nothing to read but its title.
    """
    text = text.strip()
    title = cell_title(text)
    if title is not None:
        return f"**{title}**" if title else ""
    framed = text.startswith("##")
    inner = text.lstrip("#").removeprefix(":") if framed else text[1:].removeprefix(":")
    inner = inner[1:] if inner.startswith(" ") else inner
    inner = inner.rstrip("#").rstrip() if framed else inner
    between = _BETWEEN.fullmatch(inner) or _RULED.fullmatch(inner)
    inner = between["words"] if between else inner
    return "" if _RULE.fullmatch(inner) else _BANNER.sub("", inner)


def all_uncommented(texts: Sequence[str]) -> tuple[str, ...]:
    r"""
    ## The texts of the lines of one comment

    Where a frame has a sign at the right end of its rules, so have the lines between them.
    """
    is_boxed = any(_CLOSED.fullmatch(text.strip()[1:]) for text in texts)
    uncovered = [uncommented(text) for text in texts]
    if any(_RULE_OF_SIGNS.fullmatch(text.strip()) for text in texts):
        # A frame has signs of its own before its words.
        uncovered = [_TITLE.sub("", text) for text in uncovered]
    return tuple(_CLOSING.sub("", text).rstrip() if is_boxed else text for text in uncovered)


def _remark(texts: Sequence[str], at: int) -> str:
    r"""
    A line of a comment. It is no title of a page if it stands among others: somebody has put a
    comment out of use.
    """
    text = texts[at]
    above, below = texts[max(at - 1, 0) : at], texts[at + 1 : at + 2]
    is_in_list = text.startswith("#") and any(map(LISTED.match, above))
    is_among = is_in_list or (
        text.startswith("# ") and any(one.strip() for one in (*above, *below))
    )
    return f"\\{text}" if is_among and not is_code("\n".join(texts)) else text


def _docstring_note(docstring: Docstring, style: str, is_module: bool = False) -> Note:
    r"""
    The first line stands behind the quotes; the indentation of the others is that of the code. What
    is written in [another style](docstrings.py) becomes Markdown.
    """
    first, *others = docstring.shown.expandtabs().split("\n")
    indent = min((_indent(line) for line in others if line.strip()), default=0)
    texts = (first.strip(), *(line[indent:].rstrip() for line in others))
    note = _note("docstring", docstring.first, texts, as_markdown(texts, is_module, style))
    return _meaning(note, texts, style)


def _levelled(note: Note, level: int) -> Note:
    r"""
    A docstring whose headings begin one level below that of what it documents, or below the heading
    that it begins with: what its author types is a size. Front matter is YAML.
    """
    text = "\n".join(note.texts)
    if not _HEADED.search(text) or text.lstrip().startswith("---"):
        return note
    blocks = [one for one in note.parsed.blocks if not ANCHOR.fullmatch(one.text)]
    title = blocks[0] if blocks and blocks[0].kind == "heading" else None
    inside = [one for one in note.parsed.headings if not one.depth and one is not title]
    most = (title.level if title else level) + 1 - min((one.level for one in inside), default=9)
    if not inside or not most or (title and most > 0):
        return note
    texts = [*note.texts]
    for one in inside:
        words = " ".join(one.text.split("\n"))
        below = [""] * (one.last - one.first - 1)
        texts[one.first : one.last] = [f"{'#' * min(one.level + most, 6)} {words}", *below]
    return replace(note, texts=tuple(texts))


def _without_inner_headings(note: Note) -> Note:
    r"""
    A comment in whose lists no heading stands: a remark in an item is out of use.
    """
    if not _HEADED.search("\n".join(note.texts)):
        return note
    inner = {one.first for one in note.parsed.headings if one.depth}
    texts = (text.replace("#", "\\#", at in inner) for at, text in enumerate(note.texts))
    return replace(note, texts=tuple(texts)) if inner else note


def _meaning(note: Note, texts: tuple[str, ...], style: str) -> Note:
    r"""
    A note with the names that are shown otherwise in its texts.
    """
    if style == "markdown":
        return note
    known = [*names_meant(texts), *others_named(texts)]
    if known:
        # What is said of the type of an argument has joined the argument.
        joined = dict(joined_types(texts))
        known += [(joined[at], words, name) for at, words, name in known if at in joined]
    meant = tuple((note.first + at, words, name) for at, words, name in known)
    return replace(note, meant=meant) if meant else note


def _note(
    kind: Literal["docstring", "comment"],
    first: int,
    texts: tuple[str, ...],
    lines: Sequence[TextLine],
) -> Note:
    r"""
    A note whose `texts` have become the `lines`, if they have.
    """
    shown = tuple(line.text for line in lines)
    numbers = () if shown == texts else tuple(first + line.at for line in lines)
    return Note(kind, first, shown, numbers)

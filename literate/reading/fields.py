r"""
---
title: Fields
summary: Which fields Sphinx knows, and those that are nearly written as it wants them.
---

In the style of Sphinx, an argument is a field, “:param int count: how many”. One sign is easily
forgotten: “:rtype int” or “:raises ValueError” has no colon at its end, and “:params count:” is no
field that Sphinx knows; nor is “.. note:” a directive. It shows such a line as it is typed, or not
at all, and says nothing. Here it is read as what it nearly is, where nothing else can be meant, and
the author is [told](#misread).
"""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from literate.reading.restructured import DIRECTIVES, end_of_fence
from literate.reading.text_lines import TextLine

# The fields of Sphinx and of epytext, and the names of the sections that they make.
FIELDS = {
    **dict.fromkeys(
        ("arg", "argument", "key", "keyword", "kwarg", "kwparam", "param", "parameter", "type"),
        "Arguments",
    ),
    **dict.fromkeys(("attribute", "cvar", "ivar", "var", "vartype"), "Attributes"),
    **dict.fromkeys(("return", "returns", "returntype", "rtype"), "Returns"),
    **dict.fromkeys(("yield", "yields", "ytype"), "Yields"),
    **dict.fromkeys(("except", "exception", "raise", "raises"), "Raises"),
}
TYPES = {"type", "vartype", "rtype", "ytype", "returntype"}
# What epytext says of something as a whole, with “@”.
_OF_EPYTEXT = {
    "attention", "author", "authors", "bug", "change", "changed", "changelog", "contact",
    "copyright", "deprecated", "group", "invariant", "license", "note", "organization",
    "postcondition", "precondition", "require", "requires", "see", "seealso", "since", "sort",
    "status", "summary", "todo", "undocumented", "version", "warn", "warning",
}  # fmt: skip

# How near the name of a field must be to one that is known.
NEAR = 0.8
_BEGUN = re.compile(r"(?P<blanks>\s*):(?P<kind>[a-z]+)\s+(?P<of>[^:`\s][^:`]*)$")
_FIELD = re.compile(r"(?P<blanks>\s*):(?P<kind>[a-z]+)(?P<of>(?:\s+[^:`]+?)?)\s*:(?=\s|$)")
_ERRORS = re.compile(r"[^\W\d][\w.]*(?:\s*,\s*[^\W\d][\w.]*)*")
_NAME = re.compile(r"[^\W\d]\w*")
# A type that goes on in the next line, surely or maybe; and where it ends, with the name.
_OPEN = re.compile(r"(?:[|,\[]|\bor)$")
_TYPE = re.compile(r"[|\[.]")
_CLOSED = re.compile(r"(?P<of>[^:`]*?[^\W\d]\w*)\s*:(?P<said>\s.*)?$")
# A sign that stands twice, or is missing.
_DOUBLED = re.compile(r"(?P<blanks>\s*):(?P<kind>[a-z]+)(?P<of>(?:\s+[^:`]+?)?)::(?=\s|$)")
_DIRECTIVE = re.compile(
    r"(?P<blanks>\s*)\.\.(?P<gap>\s*)(?P<name>[a-z-]+) ?(?P<colons>:{1,3})(?P<said>(?!:).*)$"
)
_ANY = re.compile(r"(?m)^\s*(?::[a-z]+(?:\s|:)|\.\.\s*[a-z-]+ ?:)")


def is_known(kind: str, line: TextLine) -> bool:
    r"""
    ## Is there such a field?

    `line` is the one that it begins.
    """
    return kind in FIELDS or (kind in _OF_EPYTEXT and line.text.lstrip().startswith("@"))


class _Read(NamedTuple):
    r"""
    What is read in place of some lines: `end` is the line behind them, and `remark` what their
    author is told.
    """

    lines: list[TextLine]
    end: int
    remark: str = ""


def mended(lines: Sequence[TextLine]) -> list[TextLine]:
    r"""
    ## Lines with the fields that are meant
    """
    return [line for read in _all(lines) for line in read.lines]


def misread(texts: Sequence[str]) -> Iterator[tuple[int, str]]:
    r"""
    ## What an author is told of fields

    The number of the text, from 0, and a sentence.
    """
    for read in _all([TextLine(text, at) for at, text in enumerate(texts)]):
        if read.remark:
            yield read.lines[0].at, read.remark


def _all(lines: Sequence[TextLine]) -> Iterator[_Read]:
    if not _ANY.search("\n".join(line.text for line in lines)):
        yield _Read([*lines], len(lines))
        return
    at = 0
    while at < len(lines):
        end = end_of_fence(lines, at)
        read = _Read([*lines[at:end]], end) if end > at else _read(lines, at)
        yield read
        at = read.end


def _read(lines: Sequence[TextLine], at: int) -> _Read:
    line = lines[at]
    as_it_is = _Read([line], at + 1)
    begun, field = _BEGUN.match(line.text.rstrip()), _FIELD.match(line.text)
    if begun and begun["kind"] in FIELDS:
        return _without_colon(lines, at, begun)
    if field and not field["of"] and FIELDS.get(field["kind"]) in ("Arguments", "Attributes"):
        told = "" if field["kind"] in TYPES else f"“:{field['kind']}:” is followed by no name."
        return _Read([line], at + 1, told)
    directive, doubled = _DIRECTIVE.match(line.text), _DOUBLED.match(line.text)
    if directive and directive["name"] in DIRECTIVES:
        return _directive(line, directive, at)
    if doubled and doubled["kind"] in FIELDS:
        meant = f":{doubled['kind']}{doubled['of']}:"
        remark = f"“{meant}:” has a colon too many, and is no field so; write “{meant}”."
        text = f"{doubled['blanks']}{meant}{line.text[doubled.end() :]}"
        return _Read([TextLine(text, line.at)], at + 1, remark)
    if field is None or field["kind"] in FIELDS:
        return as_it_is
    kind, of = field["kind"], field["of"].strip()
    meant = next(iter(get_close_matches(kind, FIELDS, 1, NEAR)), "")
    is_of_result = FIELDS.get(meant) in ("Returns", "Yields")
    if not meant or not (of or is_of_result) or (of and is_of_result):
        return as_it_is
    opening = f":{meant} {of}".rstrip()
    remark = f"“:{kind}” is no field of Sphinx; write “{opening}:”."
    text = f"{field['blanks']}{opening}:{line.text[field.end() :]}"
    return _Read([TextLine(text, line.at)], at + 1, remark)


def _directive(line: TextLine, match: re.Match[str], at: int) -> _Read:
    r"""
    One of Sphinx has a blank behind its points, two colons, and a blank behind these.
    """
    said = match["said"]
    if match["gap"] and match["colons"] == "::" and said[:1].strip() == "":
        return _Read([line], at + 1)
    meant = f".. {match['name']}:: {said.strip()}".rstrip()
    written = line.text[: match.end("colons")].strip()
    more = " …" if said.strip() else ""
    remark = f"“{written}” isn't read as a directive; write “.. {match['name']}::{more}”."
    return _Read([TextLine(match["blanks"] + meant, line.at)], at + 1, remark)


def _without_colon(lines: Sequence[TextLine], at: int, begun: re.Match[str]) -> _Read:
    r"""
    A field whose line has no second colon: it has been forgotten, or stands in the next line, where
    a long type goes on.
    """
    line = lines[at]
    kind, of = begun["kind"], begun["of"]
    section = FIELDS[kind]
    below = lines[at + 1] if at + 1 < len(lines) else TextLine("", line.at)
    closed = _CLOSED.match(below.text.strip()) if below.indent > line.indent else None
    if closed and section in ("Arguments", "Attributes"):
        is_open = _OPEN.search(of) is not None
        if is_open or (_TYPE.search(of) and _NAME.fullmatch(closed["of"])):
            opening = f"{begun['blanks']}:{kind} {of} {closed['of']}:"
            said = (closed["said"] or "").strip()
            rest = [TextLine(" " * below.indent + said, below.at)] if said else []
            return _Read([TextLine(opening, line.at), *rest], at + 2)
    meant = ""
    if section == "Raises" and _ERRORS.fullmatch(of):
        meant = f":{kind} {of}:"
    elif section in ("Returns", "Yields"):
        meant = f":{kind}: {of}"
    elif section != "Raises" and _NAME.fullmatch(of) and kind not in TYPES:
        meant = f":{kind} {of}:"
    if not meant:
        remark = f"“:{kind} {of}” has no colon at the end of the name, and is no field so."
        return _Read([line], at + 1, remark)
    remark = f"“:{kind} {of}” lacks a colon; write “{meant}”."
    return _Read([TextLine(begun["blanks"] + meant, line.at)], at + 1, remark)

r"""
---
title: Notes on the Page
summary: A note becomes Markdown that every engine reads alike, and what it claims is checked.
---

A note is Markdown with links to sources, formulas, claims of shapes and numbers of results. On the
page, links lead to pages and formulas are set. A claim is compared with what was measured, and a
number with the file that it came from; what is wrong becomes a problem with its line.
"""

import html
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from literate.measuring import claims
from literate.measuring.measure import Measurement
from literate.page import forms, highlight
from literate.page.checked_numbers import resolved
from literate.page.escaping import literal, visible
from literate.page.exhibits_in_notes import Exhibit, parts
from literate.page.formulas import FormulaError, Formulas
from literate.page.links import Links, UnknownTarget
from literate.page.named_links import NamedLinks
from literate.page.templates import CODE
from literate.problems import Problem
from literate.python.scopes import places
from literate.reading.notes import ANCHOR, Block, Note, Span, anchors
from literate.reading.page_source import PageSource
from literate.reading.plain import seen
from literate.reading.rows import Row, rows
from literate.reading.source import Definition, Source

# The function that ends a page.
EXAMPLE = "example"

# The kind of a problem: a list of names in a note may be no shape at all.
UNMEASURED = "shapes in notes are not measured"
# A method of a class within a class has no heading of its own.
MOST_DEPTH = 3
# The contents of a page fit beside it.
MOST_ENTRIES = 12

# What stands before the names that an item of a list explains, and between them.
_ITEM = re.compile(r"(?:^|\n)[ >]*[*+-] +\**$")
_LOWER = re.compile(r"[a-z_]\w*")
_AND = (", ", " and ", ", and ", " or ", " / ")
_DEFINITION = re.compile(r"(?P<footnote>^ {0,3}\[\^[^\]\n]+\]:)|\]:", re.MULTILINE)
_IN_ADDRESS = str.maketrans({"<": "%3C", ">": "%3E", '"': "%22", "`": "%60"})
# What a licence says. It begins near the top of its file, and one with fewer lines begins with it.
_LICENCE = re.compile(
    r"\bcopyright\b|\(c\) ?\d{4}|\blicen[sc]ed under\b|\breleased under\b|\bSPDX-(?:File|License)"
    r"|\bgoverned by an? [\w-]+ licen[sc]e\b",
    re.IGNORECASE,
)
_LONG = 3
_ABOVE = 5
# A remark that nobody should read.
_REMARK = re.compile(r"<!--.*?-->", re.DOTALL)
# An anchor of the author's own, when what looks like a tag has been escaped.
_ANCHOR = re.compile(r'&lt;a id="([A-Za-z][\w.-]*)">&lt;/a>')


class ShowsExcerpts(Protocol):
    r"""
    ## What shows [parts of other pages](excerpts.py)
    """

    @property
    def forms(self) -> tuple[str, ...]:
        r"""
        ### The titles of links that ask for it
        """

    def show(self, exhibit: Exhibit, path: str, links: Links) -> str:
        r"""
        ### Show what a note asks for
        """


@dataclass(frozen=True)
class NoteView:
    r"""
    ## A note, as the template puts it down

    * `heading` is that of what it documents, as HTML, and `level` is its level; 0 without one
    * `text` is the rest as Markdown, and `note` the same as it stands in the source
    * `after` is what the example says under headings of its own: it is read after its code
    """

    heading: str
    level: int
    text: str
    note: Note | None
    after: str


def _is_licence(note: Note) -> bool:
    r"""
    Whether a note is the licence above a file. It is folded: a page begins with what it is about.
    """
    if note.kind != "comment" or note.first > _ABOVE or not note.texts:
        return False
    if len(note.texts) >= _LONG:
        return bool(_LICENCE.search("\n".join(note.texts)))
    first = _LICENCE.search(note.texts[0])
    begins = first is not None and not note.texts[0][: first.start()].strip()
    # “This module is part of a library and is released under its licence.”
    return begins or (first is not None and note.texts[0].startswith(("This ", "Use of this ")))


class Notes:
    r"""
    ## The notes of a page

    `problems` is what their author has to correct. A symbol of the formulas can be pointed at if it
    stands more than once on the page, or in its code too. `excerpts` shows
    [parts of other pages](excerpts.py), where notes may ask for them, and `named_links` knows where
    names between backticks lead.
    """

    def __init__(
        self,
        page: PageSource,
        links: Links,
        formulas: Formulas,
        measurement: Measurement | None,
        excerpts: ShowsExcerpts | None = None,
        named_links: NamedLinks | None = None,
    ) -> None:
        self.source, self.links, self.formulas = page.source, links, formulas
        self.measurement, self.excerpts = measurement, excerpts
        self.named_links = named_links
        # Where a note says a name again, it isn't a link again.
        self.led: set[tuple[int, str]] = set()
        self.contents = _in_contents(page.source)
        self.problems: list[Problem] = []
        # How often an anchor of a heading with a formula was made.
        self.slugs: Counter[str] = Counter()
        count = Counter(
            key
            for row in page.rows
            if row.note is not None
            for span in row.note.parsed.spans
            if span.kind in ("inline", "display")
            for key in formulas.keys(span.content, span.kind == "display")
        )
        names = {name.removeprefix("self.") for name in page.source.once(places)}
        self.keys = frozenset(key for key, number in count.items() if number > 1 or key in names)

    def report(self, line: int, sentence: str, kind: str = "") -> None:
        r"""
        ### Note a problem
        """
        self.problems.append(Problem(self.source.path, line, sentence, kind))

    def shown(self, row: Row, write: Callable[[Note, Row], str]) -> NoteView:
        r"""
        ### The note of a row

        `write` makes [Markdown](#Notes.markdown) of it.
        """
        heading, level, note = self.heading(row)
        after = ""
        if note and row.documents and row.documents.name == EXAMPLE:
            note, rest = self.below_heading(note)
            after = self.markdown(rest, row) if rest else ""
        text = write(note, row) if note else ""
        if note and _is_licence(note):
            text = '??? note "Licence"\n\n' + textwrap.indent(text, "    ")
        return NoteView(heading, level, text, note, after)

    def heading(self, row: Row) -> tuple[str, int, Note | None]:
        r"""
        ### The heading of a docstring

        With its level and the rest of the note. Its anchor is the name of what it documents, which
        no edit above it can move. Where an author writes no headings, it is the [name](#named).
        """
        note = row.note
        if row.documents is None:
            return *self._of_name(headed_by(row, self.source)), note
        assert note is not None
        anchor = ""
        for block in note.parsed.blocks:
            # An anchor of the author's own above the heading stays there.
            if ANCHOR.fullmatch(block.text):
                anchor = f"{self._escape(block.text)}\n\n"
                continue
            if block.kind != "heading":
                break
            words = self.markdown(block.alone(note), row, leads=False)
            name = html.escape(row.documents.name)
            if row.documents in self.contents:
                heading = CODE.heading(block.level, name, words, _label(block))
            else:
                heading = CODE.unlisted(block.level, name, words)
            rest = note.part(block.last)
            return f"{anchor}{heading}\n\n", block.level, rest
        if row.documents in self.source.once(named):
            return *self._of_name(row.documents), note
        return "", 0, note

    def _of_name(self, definition: Definition | None) -> tuple[str, int]:
        r"""
        The heading of a definition that is its name, and its level.
        """
        if definition is None:
            return "", 0
        level = 2 + definition.depth
        words = CODE.plain(literal(definition.name.rpartition(".")[2]))
        return f"{CODE.heading(level, html.escape(definition.name), words)}\n\n", level

    def below_heading(self, note: Note) -> tuple[Note, Note | None]:
        r"""
        ### Cut a note at its first heading

        What stands above it, and what begins with it.
        """
        headings = note.parsed.headings
        if not headings:
            return note, None
        at = headings[0].first
        return note.part(0, at), note.part(at)

    def markdown(self, note: Note, row: Row, leads: bool = True) -> str:
        r"""
        ### A note as Markdown

        In a heading, no name `leads` anywhere.
        """
        path = self.source.path
        pieces: list[str] = []
        excerpts = self.excerpts.forms if self.excerpts else ()
        for part in parts(note, path, self.links, excerpts):
            if isinstance(part, Note):
                pieces += self._pieces(part, row, leads)
                continue
            if part.found:
                shown = forms.show_exhibit(part, path, self.links, self._formula)
            else:
                shown = self._elsewhere(part)
            pieces.append(f"\n\n{shown}\n\n")
        return "".join(pieces).strip("\n")

    def _pieces(self, note: Note, row: Row, leads: bool) -> Iterator[str]:
        r"""
        The note, piece by piece. A heading with a formula gets its anchor and its name in the
        contents here: the engine would take both from the HTML of the formula.
        """
        begin = 0
        for block in note.parsed.headings:
            label = _label(block)
            if not label or block.depth:
                continue
            for span in note.part(begin, block.first).parsed.spans:
                yield self._span(span, row, leads)
            name = slug = re.sub(r"\W+", "-", seen(block.words).lower()).strip("-")
            self.slugs[slug] += 1
            if self.slugs[slug] > 1:
                name = f"{slug}_{self.slugs[slug] - 1}"
            words = self.markdown(block.alone(note), row, leads=False)
            yield f"\n\n{CODE.part(block.level, name, words, label)}\n\n"
            begin = block.last
        rest = note.part(begin) if begin else note
        plain = {line for block in rest.parsed.headings for line in _lines(rest, block)}
        before = "\n"
        is_listed = False
        for span in rest.parsed.spans:
            # What a list explains: an argument, even where a method has its name.
            is_listed = _ITEM.search(before) is not None or (is_listed and before in _AND)
            is_bare = _LOWER.fullmatch(span.content) is not None
            is_meant = note.name(span.line, span.content) != span.content
            is_argument = is_listed and is_bare and row.documents is not None and not is_meant
            yield self._span(span, row, leads and span.line not in plain and not is_argument)
            if span.kind == "text":
                before = span.text

    def _elsewhere(self, exhibited: Exhibit) -> str:
        assert self.excerpts is not None
        try:
            return self.excerpts.show(exhibited, self.source.path, self.links)
        except UnknownTarget as error:
            self.report(exhibited.line, str(error))
            return ""

    def _span(self, span: Span, row: Row, leads: bool) -> str:
        if span.kind == "code":
            return self._claim(span, row, leads)
        return {"text": self._text, "fence": self._fence}.get(span.kind, self._formula)(span)

    def _formula(self, span: Span) -> str:
        display = span.kind == "display"
        tex = span.content.strip()
        try:
            formula = self.formulas.render(span.content, display, self.keys)
        except FormulaError as error:
            self.report(span.line, f"the formula `{tex}` can't be set: {error}.")
            # Where a problem is a warning, readers still need what can be set, or else the TeX.
            block = CODE.block(highlight.block(tex, "")) if display else ""
            formula = error.shown or block or CODE.plain(literal(" ".join(span.text.split())))
        if not display:
            return formula
        # A display inside a paragraph isn't the end of its line.
        end = "\n" if span.text.endswith("\n") else ""
        return f"{span.before}{formula}{end}"

    def _text(self, span: Span) -> str:
        r"""
        A note is Markdown, not HTML: what looks like a tag shows as what it is.
        """
        if re.search(r"(?<!\\)\$\$", span.text):
            line = span.line + span.text.count("\n", 0, span.text.index("$$"))
            sentence = (
                "`$$` opens no formula; a display formula begins a line with `$$` and ends a line "
                "with it, and a formula in a line stands between single dollars."
            )
            self.report(line, sentence)
        pieces = []
        for before, shown, target in resolved(span, self.source.path, self.links, self.report):
            if target is None:
                pieces += [self._escape(before), shown]
                continue
            if target.is_image and shown.startswith(("http:", "https:")):
                sentence = f"the picture `{shown}` is on another machine; put it into the docs."
                self.report(span.line + span.text.count("\n", 0, target.start), sentence)
            # The marks between the words and the target stay as they are.
            words = len(before) - (target.start - target.closing)
            pieces += [self._escape(before[:words]), before[words:], shown.translate(_IN_ADDRESS)]
        return "".join(pieces)

    def _escape(self, text: str) -> str:
        r"""
        What is no code, formula or link by [our reading](../reading/notes.py#Note.parsed) must not
        be one by that of the engine: so what would begin one is spelled in another way.
        """
        escaped = _REMARK.sub("", text).replace("&", "&amp;").replace("<", "&lt;")
        escaped = re.sub(r"\\?`", "&#96;", escaped).replace("~~~", "&#126;~~")
        escaped = escaped.replace("](", "]&#40;")
        # A power of Python. Around two of them, Python-Markdown 3.11 loses letters.
        escaped = re.sub(r"(?<=\w)\*\*(?=-?\d)", "&#42;&#42;", escaped)
        escaped = _DEFINITION.sub(lambda match: match["footnote"] or "]&#58;", escaped)
        escaped = re.sub(r"&lt;(https?://[^<>\s]+)>", r"<\1>", escaped)
        known = self.source.once(anchors)
        escaped = _ANCHOR.sub(
            lambda match: CODE.anchor(match[1]) if match[1] in known else "", escaped
        )
        return visible(escaped)

    def _fence(self, span: Span) -> str:
        r"""
        A block of code, on one line and in one inline element, so that the engine can't take it
        apart.
        """
        if not span.is_closed:
            sentence = f"the block of code is opened by {span.fence} and never closed."
            self.report(span.line, sentence)
        code = highlight.block(span.content, span.language)
        # Without fences, it is indented, or all of the comment; a paragraph may follow it.
        end = "\n" if span.fence else "\n\n"
        return f"{span.before}{CODE.block(code)}{end}"

    def _claim(self, span: Span, row: Row, leads: bool) -> str:
        r"""
        Inline code that is a list of axes claims a shape, and must equal what was measured.
        """
        # On one line, or the engine might take its end for a list.
        shown = visible(literal(" ".join(span.content.split("\n"))))
        plain = CODE.plain(shown)
        claim = claims.parse(span.content)
        if claim is None:
            address = self._address(span, row) if leads and not span.is_linked else ""
            return CODE.named(shown, address) if address else plain
        measurement = self.measurement
        if measurement is None:
            self.report(
                span.line,
                f"the note says {span.content}, but the module has no example() to measure it by.",
                UNMEASURED,
            )
            return plain
        tensors = claims.tensors_for(row, self.source, measurement)
        problem = claims.check(claim, tensors, measurement.axes)
        if problem is not None:
            self.report(span.line, problem)
            return plain
        return CODE.claim(shown)

    def _address(self, span: Span, row: Row) -> str:
        r"""
        Where a name leads that a note says for the first time.
        """
        name = row.note.name(span.line, span.content) if row.note else span.content
        place = row.lines[0].number, name
        if self.named_links is None or place in self.led:
            return ""
        address = self.named_links.address(name, self.source, row)
        if address:
            self.led.add(place)
        return address


def _lines(note: Note, block: Block) -> Iterator[int]:
    return (note.line(number) for number in range(block.first, block.last))


def _label(heading: Block) -> str:
    r"""
    The words of a heading with a formula, for an attribute; empty without a formula.
    """
    has_formula = any(each.is_formula for each in heading.words)
    return html.escape(seen(heading.words)) if has_formula else ""


def is_headed(row: Row) -> bool:
    r"""
    ## Does a docstring begin with a heading?

    An anchor of the author's own may stand above it.
    """
    if row.note is None or row.documents is None:
        return False
    blocks = (block for block in row.note.parsed.blocks if not ANCHOR.fullmatch(block.text))
    first = next(blocks, None)
    return first is not None and first.kind == "heading"


def headed_by(row: Row, source: Source) -> Definition | None:
    r"""
    ## The definition whose heading stands in a row
    """
    if row.documents is None:
        return next((one for one in row.begins if one in source.once(named)), None)
    has_heading = is_headed(row) or row.documents in source.once(named)
    return row.documents if has_heading else None


def named(source: Source) -> list[Definition]:
    r"""
    ## Definitions whose heading is their name

    In a file without a single heading above a docstring, those that the contents list, and classes
    and functions without a docstring: so what is there can be found on any page. Where an author
    writes headings, they stay alone.
    """
    if any(is_headed(row) for row in rows(source)):
        return []
    first = {definition.name: definition for definition in reversed(source.definitions)}
    listed = {*_in_contents(source), *_undocumented(source)}
    return [
        one
        for one in source.definitions
        if one in listed and one.depth < MOST_DEPTH and first[one.name] is one
    ]


def _undocumented(source: Source) -> Iterator[Definition]:
    for row in rows(source):
        for one in row.begins:
            if not one.docstring and not one.depth and not one.name.startswith("_"):
                yield one


def _in_contents(source: Source) -> list[Definition]:
    r"""
    The contents of a page are short: no helpers, no examples of a class, and no methods at all
    where they would make the list too long.
    """
    listed = [
        definition
        for definition in source.definitions
        if definition.docstring and not re.search(r"(^|\.)_|\.example$", definition.name)
    ]
    if len(listed) > MOST_ENTRIES:
        listed = [definition for definition in listed if definition.depth == 0]
    return listed

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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from literate.measuring.claims import Claims
from literate.page import forms, highlight
from literate.page.checked_numbers import resolved
from literate.page.escaping import literal, visible
from literate.page.exhibits_in_notes import Exhibit, parts
from literate.page.formulas import FormulaError, Formulas
from literate.page.links import Links, UnknownTarget
from literate.page.named_links import NamesOfPage
from literate.page.templates import CODE
from literate.problems import Problem
from literate.python.scopes import places
from literate.reading.inline_marks import AFTER, BARE, IN_WORDS
from literate.reading.markdown import products
from literate.reading.notes import Note, Span, anchors
from literate.reading.page_source import PageSource
from literate.reading.pieces import Section, pieces
from literate.reading.rows import Row
from literate.reading.text_lines import APART
from literate.reading.titles import RowNote, Title
from literate.reading.types_in_notes import types_in

_DEFINITION = re.compile(r"(?P<footnote>^ {0,3}\[\^[^\]\n]+\]:)|\]:", re.MULTILINE)
_IN_ADDRESS = str.maketrans({"<": "%3C", ">": "%3E", '"': "%22", "`": "%60"})
# What a licence says. It begins near the top of its file, and one with fewer lines begins with it.
_LICENCE = re.compile(
    r"\bcopyright\b|\(c\) ?\d{4}|\blicen[sc]ed under\b|\breleased under\b|\bSPDX-(?:File|License)"
    r"|\bgoverned by an? [\w-]+ licen[sc]e\b",
    re.IGNORECASE,
)
# How the text of one begins that is a docstring, and what its last paragraph speaks of.
_TITLED = re.compile(r"(?:[\w. -]+ )?licen[sc]e\b[^.]*$|copyright\b|\(c\) ?\d{4}", re.IGNORECASE)
_LEGAL = re.compile(
    r"\b(?:licen[sc]e|permission|software|warrant(?:y|ies)|liable)\b", re.IGNORECASE
)
_LONG = 3
_ABOVE = 5
# A name that Python or a library may look for, such as `__init__`.
_SPECIAL = re.compile(r"(?<![\w\\])__[a-z]\w*?__(?!\w)")
# What should open a formula, and isn't quoted as two signs or a part of a drawing: two dollars at
# the edge of a line, or beside a word. Inside a sentence, alone, they are money or a sign.
_TWO = r"(?<![\\\"'“‘$#])\$\$(?![\"'”’$])"
_DOLLARS = re.compile(rf"(?m)^[ \t]*{_TWO}|{_TWO}(?=[\w\\{{]|\s*$)|(?<=[\w}}]){_TWO}")
# A remark that nobody should read.
_REMARK = re.compile(rf"(?!{APART})<!--.*?-->", re.DOTALL)
# Where an item of a list of arguments begins; what follows as code is another piece of the note.
_ARGUMENT = re.compile(r"(?m)^\* (?:\Z|(?=\*))")
# An address that is no link yet, and stands in no words of one.
_ADDRESS = re.compile(rf"(?<![\w/<\"'=\[]){BARE}")
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
    A docstring is one that says nothing else.
    """
    if note.first > _ABOVE or not note.texts:
        return False
    if note.kind != "comment":
        return _says_licence_alone("\n".join(note.texts).strip())
    if len(note.texts) >= _LONG:
        return bool(_LICENCE.search("\n".join(note.texts)))
    first = _LICENCE.search(note.texts[0])
    begins = first is not None and not note.texts[0][: first.start()].strip()
    # “This module is part of a library and is released under its licence.”
    return begins or (first is not None and note.texts[0].startswith(("This ", "Use of this ")))


def _says_licence_alone(text: str) -> bool:
    r"""
    Whether a docstring has the title of a licence, its words, and no other paragraph at its end.
    """
    title = text.partition("\n\n")[0]
    above, _, last = text.rpartition("\n\n")
    if not above or not _TITLED.match(title):
        return False
    return bool(_LICENCE.search(text) and _LEGAL.search(last))


def _as_link(match: re.Match[str]) -> str:
    address = match["bare"].rstrip(AFTER)
    return f"<{address}>{match['bare'][len(address) :]}"


class Notes:
    r"""
    ## The notes of a page

    `problems` is what their author has to correct. A symbol of the formulas can be pointed at if it
    stands more than once on the page, or in its code too. `claims` compares claims with what was
    measured, `excerpts` shows [parts of other pages](excerpts.py), where notes may ask for them,
    and `names` knows where names between backticks lead.
    """

    def __init__(
        self,
        page: PageSource,
        links: Links,
        formulas: Formulas,
        claims: Claims,
        excerpts: ShowsExcerpts | None = None,
        names: NamesOfPage | None = None,
    ) -> None:
        self.path, self.links, self.formulas = page.source.path, links, formulas
        self.claims, self.excerpts, self.names = claims, excerpts, names
        self.anchors = page.source.once(anchors)
        self.problems: list[Problem] = []
        # How often an anchor of a heading with a formula was made.
        self.slugs: Counter[str] = Counter()
        # How many arguments were listed so far.
        self.items = 0
        count = Counter(
            key
            for row in page.rows
            if row.note is not None
            for span in row.note.parsed.spans
            if span.kind in ("inline", "display")
            for key in formulas.keys(span.content, span.kind == "display")
        )
        names_in_code = {name.removeprefix("self.") for name in page.source.once(places)}
        self.keys = frozenset(
            key for key, number in count.items() if number > 1 or key in names_in_code
        )

    def report(self, line: int, sentence: str, kind: str = "") -> None:
        r"""
        ### Note a problem
        """
        self.problems.append(Problem(self.path, line, sentence, kind))

    def shown(self, one: RowNote, write: Callable[[Note, Row], str]) -> NoteView:
        r"""
        ### The note of a row

        `write` makes [Markdown](#Notes.markdown) of it.
        """
        note, row = one.text, one.row
        heading = self._heading(one.title, row) if one.title else ""
        after = self.markdown(one.after, row) if one.after else ""
        text = write(note, row) if note else ""
        if note and _is_licence(note):
            text = '??? note "Licence"\n\n' + textwrap.indent(text, "    ")
        return NoteView(heading, one.title.level if one.title else 0, text, note, after)

    def _heading(self, title: Title, row: Row) -> str:
        name = html.escape(title.name)
        if title.words is None:
            words = CODE.plain(literal(title.name.rpartition(".")[2]))
            made = CODE.heading if title.is_listed else CODE.unlisted
            return f"{made(title.level, name, words)}\n\n"
        anchor = f"{self._escape(title.anchor)}\n\n" if title.anchor else ""
        words = self.markdown(title.words, row, leads=False)
        if title.is_listed:
            heading = CODE.heading(title.level, name, words, html.escape(title.label))
        else:
            heading = CODE.unlisted(title.level, name, words)
        return f"{anchor}{heading}\n\n"

    def markdown(self, note: Note, row: Row, leads: bool = True) -> str:
        r"""
        ### A note as Markdown

        In a heading, no name `leads` anywhere.
        """
        written: list[str] = []
        excerpts = self.excerpts.forms if self.excerpts else ()
        for part in parts(note, self.path, self.links, excerpts):
            if isinstance(part, Exhibit):
                written.append(f"\n\n{self._exhibit(part)}\n\n")
                continue
            for piece in pieces(part, row.documents is not None):
                if isinstance(piece, Section):
                    written.append(f"\n\n{self._section(piece, row)}\n\n")
                else:
                    written.append(self._span(piece.span, row, leads and piece.leads))
        return "".join(written).strip("\n")

    def _section(self, section: Section, row: Row) -> str:
        self.slugs[section.slug] += 1
        again = self.slugs[section.slug] - 1
        name = f"{section.slug}_{again}" if again else section.slug
        words = self.markdown(section.words, row, leads=False)
        return CODE.part(section.level, name, words, html.escape(section.label))

    def _exhibit(self, exhibited: Exhibit) -> str:
        if exhibited.found:
            return forms.show_exhibit(exhibited, self.path, self.links, self._formula)
        return self._elsewhere(exhibited)

    def _elsewhere(self, exhibited: Exhibit) -> str:
        assert self.excerpts is not None
        try:
            return self.excerpts.show(exhibited, self.path, self.links)
        except UnknownTarget as error:
            self.report(exhibited.line, str(error))
            return ""

    def _span(self, span: Span, row: Row, leads: bool) -> str:
        if span.kind == "code":
            return self._claim(span, row, leads)
        if span.kind == "text":
            has_types = leads and self.names and row.note and row.note.numbers
            return self._text(span, row if has_types else None)
        return self._fence(span) if span.kind == "fence" else self._formula(span)

    def _formula(self, span: Span) -> str:
        display = span.kind == "display"
        tex = span.content.strip()
        try:
            formula = self.formulas.render(span.content, display, self.keys)
        except FormulaError as error:
            written = " ".join(tex.split())
            self.report(span.line, f"the formula `{written}` can't be set: {error}.")
            # Where a problem is a warning, readers still need what can be set, or else the TeX.
            block = CODE.block(highlight.block(tex, "")) if display else ""
            formula = error.shown or block or CODE.plain(literal(" ".join(span.text.split())))
        if not display:
            return formula
        # A display inside a paragraph isn't the end of its line.
        end = "\n" if span.text.endswith("\n") else ""
        return f"{span.before}{formula}{end}"

    def _text(self, span: Span, row: Row | None) -> str:
        r"""
        A note is Markdown, not HTML: what looks like a tag shows as what it is. `row` is that of a
        note whose lists may have types.
        """
        if opening := _DOLLARS.search(span.text):
            line = span.line_of(opening.start())
            sentence = (
                "`$$` opens no formula; a display formula begins a line with `$$` and ends a line "
                "with it, and a formula in a line stands between single dollars."
            )
            self.report(line, sentence)
        written = []
        for before, shown, target in resolved(span, self.path, self.links, self.report):
            if target is None:
                written += [self._with_types(before, row), shown]
                continue
            if target.is_image and shown.startswith(("http:", "https:")):
                sentence = f"the picture `{shown}` is on another machine; put it into the docs."
                self.report(span.line_of(target.start), sentence)
            # The marks between the words and the target stay as they are.
            words = len(before) - (target.start - target.closing)
            text = self._with_types(before[:words], row)
            written += [text, before[words:], shown.translate(_IN_ADDRESS)]
        return "".join(written)

    def _with_types(self, text: str, row: Row | None) -> str:
        begun = self.items
        self.items = begun + len(_ARGUMENT.findall(text))
        if row is None or self.names is None:
            return self._escape(text)
        written: list[str] = []
        end = 0
        for start, after, name in types_in(text):
            item = begun + len(_ARGUMENT.findall(text, 0, start))
            address = self.names.address_of_type(name, row, item)
            # Of a full name, Sphinx shows the end, if there is a tilde before it, and no point in
            # front. What leads nowhere is shown whole, or nobody could tell where it is from.
            is_short = text[start] == "~"
            told = name.removeprefix(".") if address else name
            shown = visible(literal(told.rpartition(".")[2] if is_short and address else told))
            if address or is_short:
                written += [self._escape(text[end:start]), CODE.linked(shown, address)]
                end = after
        return "".join([*written, self._escape(text[end:])])

    def _escape(self, text: str) -> str:
        r"""
        What is no code, formula or link by [our reading](../reading/notes.py#Note.parsed) must not
        be one by that of the engine: so what would begin one is spelled in another way.
        """
        text = _ADDRESS.sub(_as_link, _REMARK.sub("", text))
        escaped = text.replace("&", "&amp;").replace("<", "&lt;")
        escaped = escaped.replace(APART.replace("<", "&lt;"), APART)
        escaped = re.sub(r"\\?`", "&#96;", escaped).replace("~~~", "&#126;~~")
        escaped = escaped.replace("](", "]&#40;")
        # Around two powers, Python-Markdown 3.11 loses letters.
        for start, end in reversed(products(escaped).items()):
            escaped = escaped[:start] + "&#42;" * (end - start) + escaped[end:]
        # Where Markdown would show `__init__` in bold type, its author means the name.
        escaped = _SPECIAL.sub(lambda match: literal(match[0]), escaped)
        escaped = _DEFINITION.sub(lambda match: match["footnote"] or "]&#58;", escaped)
        escaped = re.sub(r"&lt;(https?://[^<>\s]+)>", r"<\1>", escaped)
        escaped = _ANCHOR.sub(
            lambda match: CODE.anchor(match[1]) if match[1] in self.anchors else "", escaped
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
        content = span.content
        # Between two backticks Sphinx shows what stands there.
        if self.names and not span.text.startswith("``"):
            content = self.names.words(content, row)
        shown = visible(literal(" ".join(content.split("\n"))))
        holds = self.claims.holds(span.content, span.line, row)
        if holds:
            return CODE.claim(shown)
        may_lead = holds is None and leads and not span.is_linked
        name = row.note.name(span.line, span.content) if row.note else span.content
        address = self.names.address(name, row, self.items) if self.names and may_lead else ""
        if name.startswith(IN_WORDS):
            return CODE.linked(shown, address)
        return CODE.named(shown, address) if address else CODE.plain(shown)

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
from typing import Any

from literate.measuring import claims
from literate.measuring.measure import Measurement
from literate.page import exhibit, forms, highlight
from literate.page.checked_numbers import resolved
from literate.page.formulas import FormulaError, Formulas
from literate.page.links import Links, UnknownTarget
from literate.page.templates import CODE
from literate.problems import Problem
from literate.python.scopes import places
from literate.reading.notes import ANCHOR, HEADING, Span, anchors, literal, spans
from literate.reading.rows import Note, Row, rows
from literate.reading.source import Definition, Source

# The contents of a page fit beside it.
MOST_ENTRIES = 12

_OPENING = re.compile(r"(\s*(?:[-*+] +|\d+\. +)?)(`{3,}|~{3,})\s*([\w+-]*)")
_DEFINITION = re.compile(r"(?P<footnote>^ {0,3}\[\^[^\]\n]+\]:)|\]:", re.MULTILINE)
_IN_ADDRESS = str.maketrans({"<": "%3C", ">": "%3E", '"': "%22", "`": "%60"})
# A remark that nobody should read.
_REMARK = re.compile(r"<!--.*?-->", re.DOTALL)
# An anchor of the author's own, when what looks like a tag has been escaped.
_ANCHOR = re.compile(r'&lt;a id="([A-Za-z][\w.-]*)">&lt;/a>')


class Notes:
    r"""
    ## The notes of a source

    `problems` is what their author has to correct. A symbol of the formulas can be pointed at if it
    stands more than once on the page, or in its code too. `elsewhere` shows
    [parts of other pages](elsewhere.py), where notes may ask for them.
    """

    def __init__(
        self,
        source: Source,
        links: Links,
        formulas: Formulas,
        measurement: Measurement | None,
        elsewhere: Any = None,
    ) -> None:
        self.source, self.links, self.formulas = source, links, formulas
        self.measurement, self.elsewhere = measurement, elsewhere
        self.problems: list[Problem] = []
        count = Counter(
            key
            for row in rows(source)
            if row.note is not None
            for span in spans(row.note)
            if span.kind in ("inline", "display")
            for key in formulas.keys(span.content, span.kind == "display")
        )
        names = {name.removeprefix("self.") for name in source.once(places)}
        self.keys = frozenset(key for key, number in count.items() if number > 1 or key in names)

    def report(self, line: int, sentence: str) -> None:
        r"""
        ### Note a problem
        """
        self.problems.append(Problem(self.source.path, line, sentence))

    def heading(self, note: Note | None, row: Row) -> tuple[str, Note | None]:
        r"""
        ### The heading of a docstring

        With the rest of the note. Its anchor is the name of what it documents, which no edit above
        it can move.
        """
        if note is None or row.documents is None:
            return "", note
        anchor = ""
        for index, text in enumerate(note.texts):
            # An anchor of the author's own above the heading stays there.
            if ANCHOR.fullmatch(text.strip()):
                anchor = f"{self._escape(text.strip())}\n\n"
                continue
            match = HEADING.fullmatch(text)
            if match:
                line = note.first + index
                words = self.markdown(Note(note.kind, line, (match[2],)), row)
                listed = _is_in_contents(row.documents, self.source)
                opened = CODE.heading if listed else CODE.unlisted
                heading = opened(len(match[1]), html.escape(row.documents.name), words)
                rest = Note(note.kind, line + 1, note.texts[index + 1 :])
                return f"{anchor}{heading}\n\n", rest
            if text.strip():
                break
        return "", note

    def below_heading(self, note: Note) -> tuple[Note, Note | None]:
        r"""
        ### Cut a note at its first heading

        What stands above it, and what begins with it.
        """
        blocks = {
            span.line - note.first + offset
            for span in spans(note)
            if span.kind in ("fence", "display")
            for offset in range(len(span.text.rstrip("\n").split("\n")))
        }
        for index, text in enumerate(note.texts):
            if index not in blocks and HEADING.fullmatch(text):
                above = Note(note.kind, note.first, note.texts[:index])
                return above, Note(note.kind, note.first + index, note.texts[index:])
        return note, None

    def markdown(self, note: Note, row: Row) -> str:
        r"""
        ### A note as Markdown
        """
        path, pieces = self.source.path, []
        elsewhere = self.elsewhere.forms if self.elsewhere else ()
        for part in exhibit.parts(note, path, self.links, elsewhere):
            if isinstance(part, Note):
                pieces += [self._span(span, row) for span in spans(part)]
                continue
            if part.form not in elsewhere:
                shown = forms.show_exhibit(part, path, self.links, self._formula)
            else:
                shown = self._elsewhere(part)
            pieces.append(f"\n\n{shown}\n\n")
        return "".join(pieces).strip("\n")

    def _elsewhere(self, exhibited: exhibit.Exhibit) -> str:
        try:
            return self.elsewhere.show(exhibited, self.source.path, self.links)
        except UnknownTarget as error:
            self.report(exhibited.line, str(error))
            return ""

    def _span(self, span: Span, row: Row) -> str:
        if span.kind == "code":
            return self._claim(span, row)
        return {"text": self._text, "fence": self._fence}.get(span.kind, self._formula)(span)

    def _formula(self, span: Span) -> str:
        display = span.kind == "display"
        try:
            formula = self.formulas.render(span.content, display, self.keys)
        except FormulaError as error:
            self.report(span.line, f"the formula `{span.content.strip()}` can't be set: {error}.")
            # Its words are still the author's: where a problem is a warning, they are shown.
            return self._escape(span.text)
        if not display:
            return formula
        # What stands before it on its first line: blanks, and the marks of a quotation.
        before = re.match(r"[ \t>]*", span.text)
        return f"{before[0] if before else ''}{formula}\n"

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
        replaced = resolved(span.text, span.line, self.source.path, self.links, self.report)
        line = span.line
        for before, target, is_number in replaced:
            line += before.count("\n")
            opening = None if is_number else re.search(r"(?:\]\(\s*|\]:[ \t]+)<?$", before)
            if opening is None:
                pieces += [self._escape(before), target]
                continue
            words = before[: opening.start()]
            if re.match("https?:", target) and re.search(r"!\[[^\]]*$", words):
                sentence = f"the picture `{target}` is on another machine; put it into the docs."
                self.report(line, sentence)
            pieces += [self._escape(words), opening[0], target.translate(_IN_ADDRESS)]
        return "".join(pieces)

    def _escape(self, text: str) -> str:
        r"""
        What is no code, formula or link by [our reading](../reading/notes.py#spans) must not be one
        by that of the engine: so what would begin one is spelled in another way.
        """
        escaped = _REMARK.sub("", text).replace("&", "&amp;").replace("<", "&lt;")
        escaped = re.sub(r"\\?`", "&#96;", escaped).replace("~~~", "&#126;~~")
        escaped = escaped.replace("](", "]&#40;")
        escaped = _DEFINITION.sub(lambda match: match["footnote"] or "]&#58;", escaped)
        escaped = re.sub(r"&lt;(https?://[^<>\s]+)>", r"<\1>", escaped)
        known = self.source.once(anchors)
        escaped = _ANCHOR.sub(
            lambda match: CODE.anchor(match[1]) if match[1] in known else "", escaped
        )
        return highlight.visible(escaped)

    def _fence(self, span: Span) -> str:
        r"""
        A block of code, on one line and in one inline element, so that the engine can't take it
        apart.
        """
        opening = _OPENING.match(span.text)
        lines = span.text.rstrip().split("\n")
        before, language = "", ""
        end = "\n"
        if opening is None:
            # Without fences, it is indented, or all of the comment; a paragraph may follow it.
            lines = textwrap.dedent("\n".join(lines)).split("\n")
            end = "\n\n"
        else:
            before, mark, language = opening.groups()
            closed = len(lines) > 1 and set(lines[-1].strip()) == {mark[0]}
            lines = lines[1:-1] if closed else lines[1:]
            if not closed:
                self.report(span.line, f"the block of code is opened by {mark} and never closed.")
            indent = " " * len(before)
            lines = [line.removeprefix(indent) for line in lines]
        code = highlight.block("\n".join(lines), language)
        return f"{before}{CODE.block(code)}{end}"

    def _claim(self, span: Span, row: Row) -> str:
        r"""
        Inline code that is a list of axes claims a shape, and must equal what was measured.
        """
        # On one line, or the engine might take its end for a list.
        shown = highlight.visible(literal(" ".join(span.content.split("\n"))))
        plain = CODE.plain(shown)
        claim = claims.parse(span.content)
        if claim is None:
            return plain
        measurement = self.measurement
        if measurement is None:
            self.report(
                span.line,
                f"the note says {span.content}, but the module has no example() to measure it by.",
            )
            return plain
        tensors = claims.tensors_for(row, self.source, measurement)
        problem = claims.check(claim, tensors, measurement.axes)
        if problem is not None:
            self.report(span.line, problem)
            return plain
        return CODE.claim(shown)


def _is_in_contents(definition: Definition, source: Source) -> bool:
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
    return definition in listed

r"""
---
title: Page
summary: The rows of a source become one Markdown document.
---

A page is *one* document, not one for each row: so footnotes, headings and the table of contents
belong to the engine that builds the site, and any engine that reads Markdown can build it. The HTML
in it is the wrapper of a row, the lines of code, which carry their numbers and measured shapes, and
the formulas.

While a page is written, everything that its notes claim is checked.
"""

import html
import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jinja2
from markupsafe import Markup

from literate import claims, front_matter, highlight
from literate.formulas import FormulaError, Formulas
from literate.links import Links, UnknownTarget, folder, relative, targets
from literate.measure import Measurement, Tensor
from literate.notes import Span, literal, spans
from literate.pieces import by_module
from literate.problems import Problem
from literate.references import references
from literate.rows import Note, Row, rows
from literate.source import Source

_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_TEMPLATES = jinja2.Environment(
    # The template writes Markdown; what goes into it is escaped here, where its kind is known.
    loader=jinja2.PackageLoader("literate"),
    autoescape=False,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    undefined=jinja2.StrictUndefined,
)


@dataclass(frozen=True)
class Page:
    r"""
    ## A page

    * `uri` is where it goes on the site, `transformers/mha.md`
    * `files` are texts that go with it, by where they go: its notebook, its snippets
    * `problems` is what its author has to correct; a site is built only when there are none
    """

    uri: str
    title: str
    markdown: str
    files: Mapping[str, str]
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class File:
    r"""
    ## A text that goes with a page

    `uri` is where it goes on the site.
    """

    uri: str
    text: str


@dataclass(frozen=True)
class Takeaways:
    r"""
    ## What a reader can take away

    * `notebook` is that of the page, and `colab` the address that opens it there, if the
      repository's is known
    * `snippets` are the definitions that can be copied with all that they need, by name
    """

    notebook: File | None
    colab: str | None
    snippets: Mapping[str, File]


NOTHING = Takeaways(None, None, {})


@dataclass(frozen=True)
class _Context:
    source: Source
    links: Links
    formulas: Formulas
    measurement: Measurement | None
    problems: list[Problem]

    def report(self, line: int, sentence: str) -> None:
        self.problems.append(Problem(self.source.path, line, sentence))


def page(
    source: Source,
    links: Links,
    formulas: Formulas,
    measurements: Mapping[str, Measurement],
    takeaways: Takeaways = NOTHING,
) -> Page:
    r"""
    ## Write a page
    """
    uri = links.uris[source.path]
    context = _Context(source, links, formulas, measurements.get(source.path), [])
    code = highlight.lines(source, _addresses(source, links))
    matter = front_matter.FrontMatter()
    written = []
    has_front_matter = False
    for row in rows(source):
        note = row.note
        is_module = note is not None and note.kind == "docstring" and row.documents is None
        if note is not None and is_module:
            matter, note, problems = front_matter.split(note, source.path)
            context.problems.extend(problems)
            has_front_matter = True
        wide = is_module or _is_long(row)
        heading, note = _heading(row, note)
        anchored = row.documents.name if heading and row.documents else ""
        snippet = takeaways.snippets.get(anchored)
        written.append(
            {
                "wide": wide,
                "note": heading + (_note(note, row, context) if note else ""),
                "code": _code(row, code, context, anchored),
                "snippet": _beside(uri, snippet),
            }
        )
    if not has_front_matter:
        context.report(1, "the module has no docstring; a page begins with one, and front matter.")
    title = matter.title or posixpath.splitext(posixpath.basename(source.path))[0]
    markdown = _TEMPLATES.get_template("page.md.jinja").render(
        title=json.dumps(title, ensure_ascii=False),
        summary=json.dumps(matter.summary, ensure_ascii=False),
        heading=literal(title),
        paper={key: literal(value) for key, value in matter.paper.items()},
        link=html.escape(matter.paper.get("link", "")),
        notebook=_beside(uri, takeaways.notebook),
        colab=html.escape(takeaways.colab or ""),
        rows=[row for row in written if row["note"] or row["code"]],
    )
    files = [*takeaways.snippets.values(), *([takeaways.notebook] if takeaways.notebook else [])]
    texts = {file.uri: file.text for file in files}
    return Page(uri, title, markdown, texts, tuple(context.problems))


def _beside(uri: str, file: File | None) -> str:
    r"""
    The address of a file, seen from the page.
    """
    return relative(folder(uri), file.uri) if file else ""


def _addresses(source: Source, links: Links) -> dict[tuple[int, int], str]:
    r"""
    Where the names in the code lead to, by line and column.
    """
    return {
        (one.line, one.column): links.address(source.path, one.path, one.target)
        for one in references(source, by_module(links.pages.values()))
    }


def _is_long(row: Row) -> bool:
    r"""
    A long note of a class would leave the code column empty for a screenful: below its header
    comes its first method, which has a row of its own. Such a note goes over the full width.
    """
    if row.note is None or row.documents is None or row.documents.kind != "class":
        return False
    return len(row.note.texts) > len(row.code) + 8


def _heading(row: Row, note: Note | None) -> tuple[str, Note | None]:
    r"""
    The heading of a docstring gets the name of what it documents as its anchor, which no edit
    above it can move.
    """
    if note is None or row.documents is None:
        return "", note
    for index, text in enumerate(note.texts):
        match = _HEADING.fullmatch(text)
        if match:
            level, words = len(match[1]), html.escape(match[2], quote=False)
            name = html.escape(row.documents.name)
            rest = Note(note.kind, note.first + index + 1, note.texts[index + 1 :])
            return f'<h{level} id="{name}" markdown="1">{words}</h{level}>\n\n', rest
        if text.strip():
            break
    return "", note


def _note(note: Note, row: Row, context: _Context) -> str:
    return "".join(_span(span, row, context) for span in spans(note)).strip("\n")


def _span(span: Span, row: Row, context: _Context) -> str:
    if span.kind == "text":
        return _text(span, context)
    if span.kind == "code":
        return _claim(span, row, context)
    if span.kind == "fence":
        return span.text
    display = span.kind == "display"
    try:
        rendered = context.formulas.render(span.content, display)
    except FormulaError as error:
        context.report(span.line, f"the formula `{span.content.strip()}` can't be set: {error}.")
        return ""
    if not display:
        return rendered
    indent = span.text[: len(span.text) - len(span.text.lstrip(" "))]
    return f"{indent}{rendered}\n"


def _text(span: Span, context: _Context) -> str:
    r"""
    A note is Markdown, not HTML: what looks like a tag shows as what it is.
    """
    if re.search(r"(?<!\\)\$\$", span.text):
        line = span.line + span.text.count("\n", 0, span.text.index("$$"))
        sentence = "`$$` opens no formula; a display formula stands between two lines of `$$`."
        context.report(line, sentence)
    pieces = []
    position = 0
    for target in targets(span.text):
        try:
            resolved = context.links.resolve(context.source.path, target.text)
        except UnknownTarget as error:
            context.report(span.line + span.text.count("\n", 0, target.start), str(error))
            continue
        pieces += [_escape(span.text[position : target.start]), resolved]
        position = target.end
    return "".join(pieces) + _escape(span.text[position:])


def _escape(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"&lt;(https?://[^<>\s]+)>", r"<\1>", escaped)


def _claim(span: Span, row: Row, context: _Context) -> str:
    r"""
    Inline code that is a list of axes claims a shape, and must equal what was measured.
    """
    claim = claims.parse(span.content)
    if claim is None:
        return span.text
    measurement = context.measurement
    if measurement is None:
        context.report(
            span.line,
            f"the note says {span.content}, but the module has no example() to measure it by.",
        )
        return span.text
    tensors = claims.tensors_for(row, context.source, measurement)
    problem = claims.check(claim, tensors, measurement.axes)
    if problem is not None:
        context.report(span.line, problem)
        return span.text
    shown = literal(span.content)
    return f'<code class="claim" title="measured when this page was built">{shown}</code>'


def _code(row: Row, code: Sequence[str], context: _Context, anchored: str) -> Markup:
    r"""
    Every line of code carries its number in the file. The number, like the measured shape, is an
    attribute that the style sheet shows: so neither is copied along with the code.
    """
    names = {one.line: one.name for one in context.source.definitions if one.name != anchored}
    shown = []
    for line in row.code:
        number = line.number
        if line.kind == "blank":
            shown.append('<span class="line"></span>')
            continue
        shape = _shape(context.measurement, number)
        attribute = f' data-shape="{html.escape(shape)}"' if shape else ""
        anchor = f'<a id="{html.escape(names[number])}"></a>' if number in names else ""
        link = f'<a href="#L{number}" data-line="{number}" aria-label="Line {number}"></a>'
        shown.append(
            f'<span class="line" id="L{number}"{attribute}>{anchor}{link}'
            f"<span>{code[number - 1]}</span></span>"
        )
    return Markup("\n".join(shown))


def _shape(measurement: Measurement | None, number: int) -> str:
    r"""
    One tensor needs no name, the line names it; several do. A result has an arrow.
    """
    tensors = measurement.lines.get(number, ()) if measurement else ()
    by_name: dict[str, list[str]] = {}
    for tensor in tensors:
        shapes = by_name.setdefault(tensor.name, [])
        if _axes(tensor) not in shapes:
            shapes.append(_axes(tensor))
    parts = []
    for name, shapes in by_name.items():
        label = name.replace("return", "→", 1) if name.startswith("return") else name
        alone = len(by_name) == 1 and not name.startswith("return")
        parts.append(" or ".join(shapes) if alone else f"{label} {' or '.join(shapes)}")
    return ", ".join(parts)


def _axes(tensor: Tensor) -> str:
    return f"[{', '.join(tensor.axes)}]"

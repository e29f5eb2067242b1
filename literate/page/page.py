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
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from literate.measuring import claims
from literate.measuring.measure import Measurement
from literate.page import exhibit, highlight
from literate.page.columns import columns
from literate.page.formulas import FormulaError, Formulas
from literate.page.links import Links, UnknownTarget, folder, targets
from literate.page.listing import Listing
from literate.page.templates import TEMPLATES
from literate.page.tooltips import about
from literate.problems import Problem
from literate.python.references import Network, network
from literate.python.scopes import places
from literate.reading import front_matter
from literate.reading.notes import ANCHOR, Span, anchors, literal, spans
from literate.reading.rows import Note, Row, rows
from literate.reading.source import Definition, Source

# The contents of a page fit beside it.
MOST_ENTRIES = 12

_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_OPENING = re.compile(r"(\s*(?:[-*+] +|\d+\. +)?)(`{3,}|~{3,})\s*([\w+-]*)")
_DISPLAYED = re.compile(r'<math [^>]*display="block".*?</math>')
_DEFINITION = re.compile(r"(?P<footnote>^ {0,3}\[\^[^\]\n]+\]:)|\]:", re.MULTILINE)
_IN_ADDRESS = str.maketrans({"<": "%3C", ">": "%3E", '"': "%22", "`": "%60"})
# An anchor of the author's own, when what looks like a tag has been escaped.
_ANCHOR = re.compile(r'&lt;a id="([A-Za-z][\w.-]*)">&lt;/a>')


@dataclass(frozen=True)
class Page:
    r"""
    ## A page

    * `uri` is where it goes on the site, `transformers/mha.md`
    * `files` go with it, by where they go: its notebook, its snippets, and what is
      [told about it](tooltips.py)
    * `problems` is what its author has to correct; a site is built only when there are none
    """

    uri: str
    title: str
    summary: str
    markdown: str
    files: Mapping[str, str | bytes]
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
    * `snippets` are the definitions that can be copied with all that they need, by name; the empty
      name is the whole module
    * `bare` are the same without their notes
    * `source` is the address of the file in the repository, if that is known
    """

    notebook: File | None
    colab: str | None
    snippets: Mapping[str, File]
    bare: Mapping[str, File]
    source: str | None = None


NOTHING = Takeaways(None, None, {}, {})


@dataclass(frozen=True)
class _Context:
    source: Source
    links: Links
    formulas: Formulas
    measurement: Measurement | None
    network: Network
    keys: frozenset[str]
    problems: list[Problem]

    def report(self, line: int, sentence: str) -> None:
        self.problems.append(Problem(self.source.path, line, sentence))


def page(
    source: Source,
    links: Links,
    formulas: Formulas,
    measurements: Mapping[str, Measurement],
    takeaways: Takeaways = NOTHING,
    references: Network | None = None,
) -> Page:
    r"""
    ## Write a page

    `references` are those of all pages; they are found anew if they are not given.
    """
    uri = links.uris[source.path]
    context = _Context(
        source,
        links,
        formulas,
        measurements.get(source.path),
        references or network(links.pages.values()),
        _repeated(source, formulas),
        [],
    )
    code = Listing(source, links, context.network, context.measurement)
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
        heading, note = _heading(row, note, context)
        text = _note(note, row, context) if note else ""
        taken = columns(note, len(row.code), _DISPLAYED.findall(text))
        anchored = row.documents.name if heading and row.documents else ""
        written.append(
            {
                # What a module is for is read before its first import.
                "columns": taken or ("note" if is_module else ""),
                "note": heading + text,
                "uses": code.uses(anchored) if anchored else (),
                "code": code.of(row, anchored),
                "legend": code.legend(row),
                # The empty name is that of the module.
                "snippet": anchored and _beside(links, uri, takeaways.snippets, anchored),
                "bare": anchored and _beside(links, uri, takeaways.bare, anchored),
            }
        )
    if not has_front_matter:
        context.report(1, "the module has no docstring; a page begins with one, and a title.")
    title = matter.title or posixpath.splitext(posixpath.basename(source.path))[0]
    markdown = TEMPLATES.get_template("page.md.jinja").render(
        title=stated(title),
        summary=stated(matter.summary),
        heading=literal(title),
        paper={key: literal(value) for key, value in matter.paper.items()},
        link=html.escape(_web(matter.paper.get("link", ""), context)),
        notebook=links.beside(uri, takeaways.notebook.uri) if takeaways.notebook else "",
        colab=html.escape(takeaways.colab or ""),
        module=_beside(links, uri, takeaways.snippets, ""),
        bare=_beside(links, uri, takeaways.bare, ""),
        source=html.escape(takeaways.source or ""),
        rows=[row for row in written if row["note"] or row["code"]],
    )
    files = [*takeaways.snippets.values(), *takeaways.bare.values()]
    files += [takeaways.notebook] if takeaways.notebook else []
    texts: dict[str, str | bytes] = {file.uri: file.text for file in files}
    told = posixpath.join(folder(uri), "about.json")
    texts[told] = about(source, title, context.measurement)
    problems = tuple(context.problems)
    return Page(uri, title, matter.summary, markdown, texts, problems)


def _web(address: str, context: _Context) -> str:
    if not address or re.match(r"https?://", address):
        return address
    context.report(1, f"the paper's link `{address}` does not begin with `https://`.")
    return ""


def stated(text: str) -> str:
    r"""
    ## A text for the front matter of a page

    Escaped: the templates of the engines take it for HTML. But for apostrophes, which mean nothing
    there, and which Material escapes once more where it tells a title to who can't see it. And as
    JSON, which is YAML that needs no care with colons and quotes.
    """
    return json.dumps(html.escape(text).replace("&#x27;", "'"), ensure_ascii=False)


def _beside(links: Links, uri: str, files: Mapping[str, File], name: str) -> str:
    r"""
    The address of the file that is named so, seen from the page.
    """
    return links.beside(uri, files[name].uri) if name in files else ""


def _repeated(source: Source, formulas: Formulas) -> frozenset[str]:
    r"""
    The symbols of formulas that stand more than once on the page, or in its code too.
    """
    count = Counter(
        key
        for row in rows(source)
        if row.note is not None
        for span in spans(row.note)
        if span.kind in ("inline", "display")
        for key in formulas.keys(span.content, span.kind == "display")
    )
    names = {name.removeprefix("self.") for name in source.once(places)}
    return frozenset(key for key, number in count.items() if number > 1 or key in names)


def _heading(row: Row, note: Note | None, context: _Context) -> tuple[str, Note | None]:
    r"""
    The heading of a docstring gets the name of what it documents as its anchor, which no edit
    above it can move.
    """
    if note is None or row.documents is None:
        return "", note
    anchor = ""
    for index, text in enumerate(note.texts):
        # An anchor of the author's own above the heading stays there.
        if ANCHOR.fullmatch(text.strip()):
            anchor = f"{_escape(text.strip(), context.source)}\n\n"
            continue
        match = _HEADING.fullmatch(text)
        if match:
            level = len(match[1])
            words = _note(Note(note.kind, note.first + index, (match[2],)), row, context)
            name = html.escape(row.documents.name)
            rest = Note(note.kind, note.first + index + 1, note.texts[index + 1 :])
            if _is_in_contents(row.documents, context.source):
                opened = f'<h{level} id="{name}" class="definition" markdown="1">'
                return f"{anchor}{opened}{words}</h{level}>\n\n", rest
            # A heading for readers, and none for the engine, which makes the contents.
            marks = f'class="definition level-{level}" role="heading" aria-level="{level}"'
            return f'{anchor}<div id="{name}" {marks} markdown="span">{words}</div>\n\n', rest
        if text.strip():
            break
    return "", note


def _is_in_contents(definition: Definition, source: Source) -> bool:
    r"""
    The contents of a page are short: no helpers, no examples of a class, and no methods at all
    where they would make the list too long.
    """
    listed = [
        one
        for one in source.definitions
        if one.docstring and not re.search(r"(^|\.)_|\.example$", one.name)
    ]
    if len(listed) > MOST_ENTRIES:
        listed = [one for one in listed if one.depth == 0]
    return definition in listed


def _note(note: Note, row: Row, context: _Context) -> str:
    pieces = []
    for part in exhibit.parts(note, context.source.path, context.links):
        if isinstance(part, Note):
            pieces += [_span(span, row, context) for span in spans(part)]
        else:
            shown = exhibit.show_exhibit(
                part, context.source.path, context.links, partial(_formula, context=context)
            )
            pieces.append(f"\n\n{shown}\n\n")
    return "".join(pieces).strip("\n")


def _span(span: Span, row: Row, context: _Context) -> str:
    if span.kind == "text":
        return _text(span, context)
    if span.kind == "code":
        return _claim(span, row, context)
    if span.kind == "fence":
        return _fence(span, context)
    return _formula(span, context)


def _formula(span: Span, context: _Context) -> str:
    display = span.kind == "display"
    try:
        formula = context.formulas.render(span.content, display, context.keys)
    except FormulaError as error:
        context.report(span.line, f"the formula `{span.content.strip()}` can't be set: {error}.")
        return ""
    if not display:
        return formula
    indent = span.text[: len(span.text) - len(span.text.lstrip(" "))]
    return f"{indent}{formula}\n"


def _text(span: Span, context: _Context) -> str:
    r"""
    A note is Markdown, not HTML: what looks like a tag shows as what it is.
    """
    if re.search(r"(?<!\\)\$\$", span.text):
        line = span.line + span.text.count("\n", 0, span.text.index("$$"))
        sentence = "`$$` opens no formula; a display formula begins and ends lines with `$$`."
        context.report(line, sentence)
    pieces = []
    position = 0
    for target in targets(span.text):
        try:
            number = exhibit.checked(span.text, target, context.source.path, context.links)
            if number is not None:
                before = span.text[position : number.start]
                pieces += [_escape(before, context.source), number.html]
                position = number.end
                continue
            resolved = context.links.resolve(context.source.path, target.text)
        except UnknownTarget as error:
            context.report(span.line + span.text.count("\n", 0, target.start), str(error))
            continue
        before = span.text[position : target.start]
        opening = re.search(r"(?:\]\(\s*|\]:[ \t]+)<?$", before)
        assert opening is not None
        if re.match("https?:", resolved) and re.search(r"!\[[^\]]*$", before[: opening.start()]):
            sentence = f"the picture `{resolved}` is on another machine; put it into the docs."
            context.report(span.line + span.text.count("\n", 0, target.start), sentence)
        words = _escape(before[: opening.start()], context.source)
        pieces += [words, opening[0], resolved.translate(_IN_ADDRESS)]
        position = target.end
    return "".join(pieces) + _escape(span.text[position:], context.source)


def _escape(text: str, source: Source) -> str:
    r"""
    What is no code, formula or link by [our reading](../reading/notes.py#spans) must not be one by
    that of the engine: so what would begin one is spelled in another way.
    """
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    escaped = re.sub(r"\\?`", "&#96;", escaped).replace("~~~", "&#126;~~")
    escaped = escaped.replace("](", "]&#40;")
    escaped = _DEFINITION.sub(lambda match: match["footnote"] or "]&#58;", escaped)
    escaped = re.sub(r"&lt;(https?://[^<>\s]+)>", r"<\1>", escaped)
    known = source.once(anchors)
    escaped = _ANCHOR.sub(lambda one: f'<a id="{one[1]}"></a>' if one[1] in known else "", escaped)
    return highlight.visible(escaped)


def _fence(span: Span, context: _Context) -> str:
    r"""
    A block of code, on one line and in one inline element, so that the engine can't take it apart.
    """
    opening = _OPENING.match(span.text)
    lines = span.text.rstrip().split("\n")
    before, language = "", ""
    if opening is None:
        lines = [line[4:] for line in lines]
    else:
        before, mark, language = opening.groups()
        closed = len(lines) > 1 and set(lines[-1].strip()) == {mark[0]}
        lines = lines[1:-1] if closed else lines[1:]
        if not closed:
            context.report(span.line, f"the block of code is opened by {mark} and never closed.")
        indent = " " * len(before)
        lines = [line.removeprefix(indent) for line in lines]
    code = highlight.block("\n".join(lines), language)
    return f'{before}<code class="block" tabindex="0">{code}</code>\n'


def _claim(span: Span, row: Row, context: _Context) -> str:
    r"""
    Inline code that is a list of axes claims a shape, and must equal what was measured.
    """
    # On one line, or the engine might take its end for a list.
    shown = highlight.visible(literal(" ".join(span.content.split("\n"))))
    plain = f"<code>{shown}</code>"
    claim = claims.parse(span.content)
    if claim is None:
        return plain
    measurement = context.measurement
    if measurement is None:
        context.report(
            span.line,
            f"the note says {span.content}, but the module has no example() to measure it by.",
        )
        return plain
    tensors = claims.tensors_for(row, context.source, measurement)
    problem = claims.check(claim, tensors, measurement.axes)
    if problem is not None:
        context.report(span.line, problem)
        return plain
    return f'<code class="claim" title="measured when this page was built">{shown}</code>'

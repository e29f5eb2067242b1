r"""What a browser would make of a page: elements, attributes, lines of code. For the tests that
source is data."""

import html
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import markdown

from literate.page.formulas import Formulas
from literate.page.links import Links
from literate.page.page import Page, page
from literate.reading.rows import rows
from literate.reading.source import Source
from literate.site import EXTENSIONS

ROOT = Path(__file__).resolve().parents[2]
VOID = {"br", "hr", "img"}
# What Markdown makes of a note, what this tool adds, and what KaTeX sets formulas with.
ELEMENTS = set(
    "a b bdi blockquote br code div em h1 h2 h3 h4 h5 h6 hr i img li ol p pre section span strong "
    "sup table tbody td th thead tr ul button details summary "
    "math semantics annotation mfrac mi mn mo mover mpadded mrow mspace msqrt mstyle msub msubsup "
    "msup mtable mtd mtext mtr munder munderover path svg".split()
)
ATTRIBUTES = set(
    "align alt aria-hidden aria-label class d data-line data-name data-number data-s "
    "data-shape "
    "encoding height href id role src start tabindex title type viewbox width "
    "xmlns preserveaspectratio display mathvariant stretchy fence separator accent "
    "linebreak lspace rspace columnalign rowspacing columnspacing mathsize minsize maxsize "
    "scriptlevel displaystyle mathcolor accentunder depth voffset rowlines columnlines notation "
    "symmetric".split()
)


class Shown(HTMLParser):
    r"""The text of each line of code by its number, and whatever no page may have."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.lines: dict[str, list[str]] = {}
        self.text = ""
        self.foreign: list[str] = []
        self.sections = 0
        self._open: list[tuple[str, str | None]] = []
        self.feed(text)
        self.close()
        self.foreign += [f"<{tag}> not closed" for tag, _ in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.sections += tag == "section"
        self.foreign += [f"<{tag}>"] if tag not in ELEMENTS else []
        # KaTeX sizes its spans, and Markdown aligns the cells of tables; no note can write a style.
        styled = {"style"} if tag in ("span", "svg", "th", "td") else set()
        self.foreign += [name for name in values if name not in ATTRIBUTES | styled]
        addresses = [values[name] for name in ("href", "src") if name in values]
        known = ("http:", "https:", "mailto:", "#", "..")
        self.foreign += [one for one in addresses if ":" in one and not one.startswith(known)]
        number = values.get("id") if values.get("class") == "line" else None
        self.lines.setdefault(number, []).append("") if number else None
        self._open += [(tag, number)] if tag not in VOID else []

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        matching = bool(self._open) and self._open[-1][0] == tag
        self.foreign += [] if matching else [f"</{tag}> out of place"]
        self._open = self._open[:-1]

    def handle_data(self, data: str) -> None:
        self.text += data
        for _, number in self._open:
            if number:
                self.lines[number][-1] += data

    def handle_charref(self, name: str) -> None:
        self.handle_data(chr(int(name[1:], 16) if name[0] in "xX" else int(name)))

    def handle_entityref(self, name: str) -> None:
        self.handle_data(html.unescape(f"&{name};"))

    def handle_comment(self, data: str) -> None:
        self.foreign.append(f"<!--{data}-->")

    def handle_pi(self, data: str) -> None:
        self.foreign.append(f"<?{data}>")

    def handle_decl(self, decl: str) -> None:
        self.foreign.append(f"<!{decl}>")

    def unknown_decl(self, data: str) -> None:
        self.foreign.append(f"<![{data}]>")


@cache
def extensions() -> tuple[list[str], dict[str, dict[str, object]]]:
    r"""Those of Python-Markdown that the pages need, with their options."""
    return list(EXTENSIONS), {name: dict(options) for name, options in EXTENSIONS.items()}


def written(source: Source, formulas: Formulas) -> Page:
    r"""The page of a source that is alone on its site."""
    links = Links({source.path: source}, {source.path: "case.md"}, ROOT / "no", "docs")
    return page(source, links, formulas, {})


def rendered(text: str) -> Shown:
    r"""A page as the engine's Markdown makes it."""
    names, options = extensions()
    body = text.split("\n---\n", 1)[1]
    return Shown(markdown.markdown(body, extensions=names, extension_configs=options))


def assert_only_data(source: Source, formulas: Formulas) -> Shown:
    r"""Every line of code is shown once, exactly and in order, and nothing came from the source
    but text and what Markdown makes of it."""
    shown = rendered(written(source, formulas).markdown)
    lines = [
        (f"L{line.number}", [line.text.rstrip("\r\n")])
        for line in source.lines
        if line.kind == "code"
    ]
    assert list(shown.lines.items()) == lines, source.path
    assert shown.foreign == [], source.path
    assert shown.sections <= sum(1 for row in rows(source) if row.note or row.code), source.path
    return shown

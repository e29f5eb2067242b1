r"""What a browser would make of a page: elements, attributes, lines of code."""

import html
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import markdown

from literate.page.context import context
from literate.page.formulas import Formulas
from literate.page.links import Links
from literate.page.page import Page, page
from literate.reading.rows import rows
from literate.reading.source import Source
from literate.reading.text_lines import APART
from literate.site import EXTENSIONS
from tests.literate.projects import ROOT

VOID = set("area base br col embed hr img input link meta source wbr".split())
# What Markdown makes of a note, what this tool adds, and what KaTeX sets formulas with.
ELEMENTS = set(
    "a b bdi blockquote br code div em h1 h2 h3 h4 h5 h6 hr i img li ol p pre section span strong "
    "sup table tbody td th thead tr ul button details summary "
    "math semantics annotation mfrac mi mn mo mover mpadded mrow mspace msqrt mstyle msub msubsup "
    "msup mtable mtd mtext mtr munder munderover path svg".split()
)
ATTRIBUTES = set(
    "align alt aria-hidden aria-label aria-level class d data-at data-line data-name data-number "
    "data-s data-shape "
    "encoding height href id role src start tabindex title type viewbox width "
    "xmlns preserveaspectratio display mathvariant stretchy fence separator accent "
    "linebreak lspace rspace columnalign rowspacing columnspacing mathsize minsize maxsize "
    "scriptlevel displaystyle mathcolor accentunder depth voffset rowlines columnlines notation "
    "symmetric mathbackground linethickness".split()
)


class Shown(HTMLParser):
    r"""The elements of a piece of HTML, and what no page may have."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.foreign: list[str] = []
        self._tree = ET.TreeBuilder()
        self._open = ["all"]
        self._tree.start("all", {})
        self.feed(text)
        self.close()
        self.foreign += [f"<{tag}> not closed" for tag in self._open[1:]]
        for tag in reversed(self._open):
            self._tree.end(tag)
        self.all = self._tree.close()

    def text(self, path: str = ".") -> str:
        r"""The text of the elements at a path."""
        return "".join("".join(one.itertext()) for one in self.all.iterfind(path))

    def texts(self, path: str) -> list[str]:
        r"""The text of each of the elements at a path."""
        return ["".join(one.itertext()) for one in self.all.iterfind(path)]

    def values(self, attribute: str, path: str = ".//*") -> list[str]:
        r"""The values of an attribute of the elements at a path, where they have it."""
        return [one.attrib[attribute] for one in self.all.iterfind(path) if attribute in one.attrib]

    @property
    def lines(self) -> list[tuple[str, str]]:
        r"""The lines of code, each as its anchor and its text."""
        found = self.all.iterfind(".//span[@class='line'][@id]")
        return [(one.attrib["id"], "".join(one.itertext())) for one in found]

    @property
    def links(self) -> dict[str, dict[str, str]]:
        r"""The attributes of the links, by their text."""
        return {"".join(one.itertext()): one.attrib for one in self.all.iter("a")}

    @property
    def cells(self) -> list[list[str]]:
        r"""The texts of the cells of all tables, row by row."""
        return [["".join(cell.itertext()) for cell in row] for row in self.all.iter("tr")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._tree.start(tag, values)
        self._open.append(tag)
        if tag in VOID:
            self._tree.end(self._open.pop())
        self.foreign += [f"<{tag}>"] if tag not in ELEMENTS else []
        # KaTeX sizes its spans, and Markdown aligns the cells of tables; no note can write a style.
        styled = {"style"} if tag in ("span", "svg", "th", "td") else set()
        self.foreign += [name for name in values if name not in ATTRIBUTES | styled]
        addresses = [values[name] for name in ("href", "src") if name in values]
        known = ("http:", "https:", "mailto:", "#", "..")
        self.foreign += [one for one in addresses if ":" in one and not one.startswith(known)]

    def handle_endtag(self, tag: str) -> None:
        if tag == self._open[-1]:
            self._tree.end(self._open.pop())
        elif tag not in VOID:
            self.foreign.append(f"</{tag}> out of place")

    def handle_data(self, data: str) -> None:
        self._tree.data(data)

    def handle_charref(self, name: str) -> None:
        self.handle_data(chr(int(name[1:], 16) if name[0] in "xX" else int(name)))

    def handle_entityref(self, name: str) -> None:
        self.handle_data(html.unescape(f"&{name};"))

    def handle_comment(self, data: str) -> None:
        # Without a word it stands between two lists, and the tool has put it there.
        if f"<!--{data}-->" != APART:
            self.handle_decl(data)

    def handle_decl(self, data: str) -> None:
        self.foreign.append(f"<!{data}>")

    handle_pi = unknown_decl = handle_decl


def written(source: Source, formulas: Formulas) -> Page:
    r"""The page of a source that is alone on its site."""
    links = Links({source.path: source}, {source.path: "case.md"}, ROOT / "no", "docs")
    return page(source, context(links, formulas))


def rendered(text: str) -> Shown:
    r"""A page as the engine's Markdown makes it, without what puts ready HTML aside."""
    body = text.split("\n---\n", 1)[1]
    return Shown(markdown.markdown(body, extensions=list(EXTENSIONS), extension_configs=EXTENSIONS))


def assert_only_data(source: Source, formulas: Formulas) -> Shown:
    r"""Every line of code is shown once, exactly and in order, and nothing came from the source
    but text and what Markdown makes of it."""
    shown = rendered(written(source, formulas).markdown)
    code = [one for one in source.lines if one.kind == "code"]
    expected = [(f"L{line.number}", line.text.rstrip("\r\n")) for line in code]
    assert shown.lines == expected, source.path
    assert shown.foreign == [], source.path
    sections = sum(1 for row in rows(source) if row.note or row.code)
    assert len(shown.texts(".//section")) <= sections, source.path
    return shown

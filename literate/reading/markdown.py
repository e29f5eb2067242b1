r"""
---
title: Markdown
summary: The dialect of the notes, as rules of a parser that others maintain.
---

[markdown-it](https://markdown-it-py.readthedocs.io) reads CommonMark, and keeps the lines of each
block. A page is built by Python-Markdown, whose dialect is an older one. Where the two differ, the
rules below read a note as the page shows it: a list doesn't begin in the middle of a paragraph, and
a line that defines a link can stand there. Formulas are ours.

A parser of blocks knows lines. The rules add the place in the line: each piece of code, each
formula and each link says in its `meta` where it stands in the text of its paragraph.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.helpers import parseLinkDestination, parseLinkLabel
from markdown_it.rules_block import StateBlock, code, heading, lheading, list_block, reference
from markdown_it.rules_inline import StateInline, autolink, backtick, escape, image, link
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin

from literate.reading.text_lines import APART

# The keys of what is noted about a token: its place in the text of its paragraph, the target of a
# link, and whether a block of code ends with its mark.
PLACE, TARGET, CLOSED = "place", "target", "closed"
# Whether code stands among the words of a link.
LINKED = "linked"

# What a backslash takes its meaning from, in Python-Markdown and in formulas.
_ESCAPED = frozenset("\\`*_{}[]()#+-.!~|<>$^:")

# A formula in a line, by the rules of Pandoc: no space behind its opening dollar and none before
# its closing one, and no digit follows it. So “$5 and $6” is text. So are the name of a variable in
# JSON, and a string that a shell quotes with a dollar.
_FORMULA = re.compile(
    r'(?<!#/)\$(?![ \n$\x27])(?!\w+")(?P<tex>(?:\\[\s\S]|[^\\$])++)(?<![ \n])\$(?!\d)'
)

# Displays inside a paragraph; and TeX's own brackets around a formula, `\\(…\\)` and `\\[…\\]`, of
# which the second stand at the ends of lines. In other places they are what Markdown escapes.
_DISPLAYED = re.compile(r"\$\$(?P<tex>(?:\\[\s\S]|[^\\$])++)\$\$")
_BRACKETED = re.compile(
    r"(?<![\w\\])\\\((?P<tex>(?:\\[^()\[\]]|[^\\])+?)\\\)"
    r"|(?m:^)\\\[(?P<display>(?:\\[^()\[\]]|[^\\])+?)\\\](?=[.,;:]?[ ]*(?m:$))"
)

# What TeX sets as a display by itself, the ones with numbers first: these are left out.
_ENVIRONMENT = re.compile(
    r"\\begin\{(?P<name>(?P<plain>align|alignat|eqnarray|equation|flalign|gather|multline)\*?|aligned|split)\}"
)
_LABEL = re.compile(r"\\(?:label|tag)\{[^{}]*\}|\\(?:nonumber|notag)(?![A-Za-z])")

# A line without text; and what would be the end of one.
_EMPTY = re.compile(r"(?m)^[^\S\n]+$|\r")

# A star between two factors, as in 2*n, or two of a power. Where it ends what an earlier star has
# begun at the start of a word, as in *token*s, it doesn't count.
_PRODUCT = re.compile(
    r"(?<![A-Za-z0-9_)\]*\\])(\*{1,3})(?=[^\s*])[^*]+(?<!\s)\1"
    r"|(?<=[A-Za-z0-9_)\]])(?P<product>\*{1,2})(?=-?[A-Za-z0-9_(\[])"
)

# What is no link, as in `T[n+1](a)`: it stands right behind a word, and what looks like a target
# has nothing of an address.
_SUBSCRIPT = re.compile(r"(?<=\w)\[[^\[\]\n]*\]\([^()\s./#:]*\)")

# What stands behind the marks of a fence holds none of them itself.
_FENCE = re.compile(r"(?P<mark>`{3,}(?!.*`)|~{3,}(?!.*~))(?P<info>.*)")

# A box around the text below it, or what folds that: a kind, and what is seen of it.
_DETAILS = re.compile(r'(?:\?{3}\+?|!{3}) *\w[\w -]*(?:"(?P<title>.*)")?')

_InlineRule = Callable[[StateInline, bool], bool]


@dataclass(frozen=True)
class Target:
    r"""
    ## The target of a link

    * `start` and `end` are its place in a text, without the angle brackets it may stand in
    * `text` is the target as it is written, and `title` what stands in quotation marks behind it
    * `opening` and `closing` are the places of the brackets around the words of the link
    * `after` is where the link ends, or None for the line that defines a reference
    * `is_image` says whether the link shows a picture
    """

    start: int
    end: int
    text: str
    title: str
    opening: int
    closing: int
    after: int | None
    is_image: bool = False

    def moved(self, move: Callable[[int], int]) -> "Target":
        r"""
        ### The same target, in another text

        `move` gives the place there of a place here.
        """
        return replace(
            self,
            start=move(self.start),
            end=move(self.end),
            opening=move(self.opening),
            closing=move(self.closing),
            after=None if self.after is None else move(self.after),
        )


def products(text: str) -> dict[int, int]:
    r"""
    ## The stars of a text that are products

    Most authors who write `2*n` between words mean no emphasis. For each place where such stars
    begin, the place where they end.
    """
    return {match.start(): match.end() for match in _PRODUCT.finditer(text) if match["product"]}


def tokens(text: str) -> list[Token]:
    r"""
    ## The tokens of a text

    They are those of markdown-it, for which only blanks and tabs are white space. A line of nothing
    but other white space is empty for it, too.
    """
    return _PARSER.parse(_EMPTY.sub(lambda match: " " * len(match[0]), text))


# Each star of a paragraph asks for them.
_products_of_paragraph = lru_cache(maxsize=8)(products)


def _parser() -> MarkdownIt:
    # HTML is text, and so is a reference to a character: a note is Markdown alone.
    parser = MarkdownIt("commonmark", {"html": False, "inline_definitions": True})
    parser.enable("table").disable(["entity", "fence"])
    footnote_plugin(parser, inline=False, move_to_end=False, always_match_refs=True)
    # Addresses stay as they are written; whether they may be followed is asked elsewhere.
    for name, keep in (("normalizeLink", str), ("normalizeLinkText", str), ("validateLink", bool)):
        setattr(parser, name, keep)
    between = ["paragraph", "reference", "blockquote", "list"]
    blocks, inline = parser.block.ruler, parser.inline.ruler
    blocks.before("code", "formula", _display, {"alt": between})
    blocks.before("code", "environment", _environment, {"alt": between})
    blocks.before("code", "fenced", _fenced_code, {"alt": between})
    blocks.before("code", "details", _details, {"alt": between})
    blocks.before("code", "apart", _apart)
    blocks.at("code", _indented_code)
    blocks.at("lheading", _underlined)
    blocks.at("heading", _heading, {"alt": between[:3]})
    blocks.at("list", _list, {"alt": between[:3]})
    blocks.at("reference", _definition, {"alt": between[:1]})
    inline.before("emphasis", "product", _product)
    inline.before("escape", "formula", _formula)
    inline.before("escape", "bracketed", _bracketed)
    inline.at("escape", _escape)
    inline.at("autolink", _address)
    inline.at("backticks", partial(_placed, backtick, "code_inline"))
    inline.at("link", partial(_linked, link, "link_open"))
    inline.at("image", partial(_linked, image, "image"))
    return parser


def _product(state: StateInline, silent: bool) -> bool:
    r"""
    A star that is a product is text.
    """
    if state.src[state.pos] != "*":
        return False
    end = _products_of_paragraph(state.src).get(state.pos)
    if end is None:
        return False
    if not silent:
        state.pending += state.src[state.pos : end]
    state.pos = end
    return True


def _line(state: StateBlock, number: int) -> str:
    r"""
    A line without what stands before it: blanks, the marks of a quotation or of a list.
    """
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]].rstrip()


def _display(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    r"""
    A formula between two marks `$$`. They stand alone on their lines, or begin the first line and
    end the last one of a formula without an empty line.
    """
    line = _line(state, first)
    if not line.startswith("$$"):
        return False
    last = first
    if line == "$$":
        last += 1
        while last < end and _line(state, last) != "$$":
            last += 1
    elif len(line) < 5 or not line.endswith("$$"):
        last += 1
        while last < end and _line(state, last) and not _line(state, last).endswith("$$"):
            last += 1
    if last == end or not _line(state, last):
        return False
    below = state.getLines(first + 1, last + 1, 0, False)
    tex = f"{line}\n{below}".strip()[2:-2].strip("\n")
    # Two formulas, each in its own line, with words around them.
    if "$$" in tex:
        return False
    if not silent:
        _push_display(state, first, last, _unnumbered(tex))
    state.line = last + 1
    return True


def _push_display(state: StateBlock, first: int, last: int, tex: str) -> None:
    token = state.push("display", "math", 0)
    token.map = [first, last + 1]
    token.content = tex


def _unnumbered(tex: str) -> str:
    r"""
    Nobody refers to the numbers of equations on a page.
    """
    match = _ENVIRONMENT.match(tex.lstrip())
    if match is None or not match["plain"]:
        return tex
    name = match["name"]
    plain = match["plain"]
    for mark in ("begin", "end"):
        tex = tex.replace(rf"\{mark}{{{name}}}", rf"\{mark}{{{plain}*}}")
    return "\n".join(line for line in _LABEL.sub("", tex).split("\n") if line.strip())


def _environment(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    r"""
    An environment of TeX that is a paragraph of its own is a display, as in TeX itself.
    """
    match = _ENVIRONMENT.match(_line(state, first))
    if match is None:
        return False
    closing = rf"\end{{{match['name']}}}"
    last = first
    while last < end and closing not in _line(state, last):
        last += 1
    if last == end or _line(state, last).rpartition(closing)[2].strip(" .,;"):
        return False
    if not silent:
        tex = state.getLines(first, last + 1, 0, False).strip()
        before, _, after = tex.rpartition(closing)
        # A full stop belongs to the last line of the formula.
        _push_display(state, first, last, _unnumbered(f"{before.rstrip()}{after}\n{closing}"))
    state.line = last + 1
    return True


def _indented_code(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    r"""
    Code without fences, behind four blanks; inside a list, they continue an item.
    """
    is_indented = state.src.startswith("    ", state.bMarks[first])
    return state.level == 0 and is_indented and code(state, first, end, silent)


def _fenced_code(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    r"""
    Code between two marks, however far they are indented. But in reStructuredText a line of tildes
    right below a text marks a heading: it is taken for that if it is as long as the text, or if
    there is no second mark. So is one of more backticks than a block has, without a second mark.
    """
    line = _line(state, first)
    match = _FENCE.match(line)
    above = _line(state, first - 1) if first else ""
    may_underline = above and not line.strip("~")
    if match is None or (may_underline and len(above) <= len(line) + 1):
        return False
    mark = match["mark"]
    last = first + 1
    while last < end and not _is_mark(_line(state, last), mark):
        last += 1
    may_underline = may_underline or (len(line) > len("```") + 1 and above and not line.strip("`"))
    if may_underline and last == end:
        return False
    if not silent:
        token = state.push("fence", "code", 0)
        token.markup, token.info = mark, match["info"].strip()
        token.map = [first, min(last + 1, end)]
        token.content = state.getLines(first + 1, last, state.sCount[first], True)
        token.meta[CLOSED] = last < end
    state.line = min(last + 1, end)
    return True


def _is_mark(line: str, mark: str) -> bool:
    return line.startswith(mark) and not line.strip(mark[0])


def _heading(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    r"""
    A heading begins its line, which may end a list, or stands four blanks in for each item that it
    is in.
    """
    places = (0, state.blkIndent, -(-state.blkIndent // 4) * 4)
    return state.sCount[first] in places and heading(state, first, end, silent)


def _details(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    r"""
    A text in a box, or one that is folded, with a title: all that is indented below it.
    """
    match = _DETAILS.fullmatch(_line(state, first))
    indent = state.blkIndent
    if match is None or state.sCount[first] != indent:
        return False
    if silent:
        return True
    last = first + 1
    while last < end and (state.isEmpty(last) or state.sCount[last] >= indent + 4):
        last += 1
    state.push("details_open", "details", 1).map = [first, last]
    title = state.push("inline", "", 0)
    title.content, title.map, title.children = match["title"] or "", [first, first + 1], []
    above, end_above = state.parentType, state.lineMax
    state.blkIndent, state.parentType, state.lineMax = indent + 4, "details", last
    state.md.block.tokenize(state, first + 1, last)
    state.blkIndent, state.parentType, state.lineMax = indent, above, end_above
    state.push("details_close", "details", -1)
    state.line = last
    return True


def _apart(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    r"""
    A remark without a word, with which a list ends.
    """
    if _line(state, first) != APART or state.sCount[first] != state.blkIndent:
        return False
    if not silent:
        state.push("apart", "", 0)
        state.line = first + 1
    return True


def _underlined(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    r"""
    A heading with a line below it is one line itself.
    """
    below = _line(state, first + 1) if first + 1 < end else ""
    return not below.strip("=-") and lheading(state, first, end, silent)


def _list(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    r"""
    Only inside another list a list begins in the middle of a paragraph.
    """
    inside = silent and state.parentType == "paragraph" and state.listIndent < 0
    return not inside and list_block(state, first, end, silent)


def _definition(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    r"""
    The target of `[name]: target` has a place if it stands on the line of its name. Code is none.
    """
    opened = state.src[state.bMarks[first] + state.tShift[first] : state.eMarks[first]]
    if "]: `" in opened or not reference(state, first, end, silent):
        return False
    if silent:
        return True
    token = state.tokens[-1]
    opening = state.bMarks[first] + state.tShift[first]
    closing = opening + 1 + len(token.meta["label"])
    start = state.skipSpaces(closing + 2)
    if start < state.eMarks[first]:
        title = token.meta["title"]
        token.meta[TARGET] = _target(state.src, start, title, opening, closing, None)
    return True


def _target(
    text: str, start: int, title: str, opening: int, closing: int, after: int | None
) -> Target:
    end = parseLinkDestination(text, start, len(text)).pos
    if text[start : start + 1] == "<":
        start, end = start + 1, end - 1
    return Target(start, end, text[start:end], title, opening, closing, after)


def _formula(state: StateInline, silent: bool) -> bool:
    if state.src.startswith("$$", state.pos):
        match = _DISPLAYED.match(state.src, state.pos, state.posMax)
        if match is not None and match["tex"].strip():
            return _inside(
                state, match, "formula_display", _unnumbered(match["tex"].strip()), silent
            )
        if not silent:
            state.pending += "$$"
        state.pos += 2
        return True
    match = _FORMULA.match(state.src, state.pos, state.posMax)
    if match is None or _is_between_two(state.src, match):
        return False
    return _inside(state, match, "formula", match["tex"], silent)


def _is_between_two(text: str, match: re.Match[str]) -> bool:
    r"""
    Whether two dollars belong to two things, as in `[$0], {$x}`: the second stands before a word,
    and a brace between them is left open. Or both stand before a brace, as in `${A}/${B}`.
    """
    if match["tex"].startswith("{") and text.startswith("{", match.end()):
        return True
    tex = re.sub(r"\\[{}]", "", match["tex"])
    is_before_word = text[match.end() : match.end() + 1].isalpha()
    return is_before_word and tex.count("{") != tex.count("}")


def _bracketed(state: StateInline, silent: bool) -> bool:
    r"""
    A formula between the brackets of TeX.
    """
    match = _BRACKETED.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if match["tex"]:
        return _inside(state, match, "formula", match["tex"].strip(), silent)
    return _inside(state, match, "formula_display", _unnumbered(match["display"].strip()), silent)


def _inside(state: StateInline, match: re.Match[str], kind: str, tex: str, silent: bool) -> bool:
    r"""
    A formula inside a paragraph.
    """
    if not silent:
        token = state.push(kind, "math", 0)
        token.content = tex
        token.meta[PLACE] = match.span()
    state.pos = match.end()
    return True


def _escape(state: StateInline, silent: bool) -> bool:
    return state.src[state.pos + 1 : state.pos + 2] in _ESCAPED and escape(state, silent)


def _address(state: StateInline, silent: bool) -> bool:
    r"""
    An address between angle brackets is a link if it is one of the web.
    """
    is_web = state.src.startswith(("<http://", "<https://"), state.pos)
    return is_web and autolink(state, silent)


def _placed(rule: _InlineRule, kind: str, state: StateInline, silent: bool) -> bool:
    r"""
    A rule of the library, which then notes where the token that it made stands.
    """
    start, before = state.pos, len(state.tokens)
    if not rule(state, silent):
        return False
    # Text that was pending comes first, and what is inside a link last.
    made = [] if silent else [token for token in state.tokens[before:] if token.type == kind]
    if made:
        made[0].meta[PLACE] = start, state.pos
    return True


def _linked(rule: _InlineRule, kind: str, state: StateInline, silent: bool) -> bool:
    start, before = state.pos, len(state.tokens)
    if kind == "link_open" and _SUBSCRIPT.match(state.src, start):
        return False
    if not _placed(rule, kind, state, silent):
        return False
    made = next((token for token in state.tokens[before:] if token.type == kind), None)
    if silent or made is None:
        return True
    end, opening = state.pos, start + (kind == "image")
    state.pos = start
    closing = parseLinkLabel(state, opening, kind == "link_open")
    state.pos = end
    text = state.src
    at = closing + 2
    while text[at : at + 1].isspace():
        at += 1
    # Of a reference, the target stands elsewhere.
    if text[closing + 1 : closing + 2] == "(" and at < end - 1:
        title: Any = made.attrs.get("title", "")
        target = _target(text, at, title, opening, closing, end)
        made.meta[TARGET] = replace(target, is_image=kind == "image")
    return True


_PARSER = _parser()

r"""
---
title: Notes
summary: A note is parsed once, and all that look into it read what was found there.
---

A link inside a code span is no link, a dollar sign inside a fence is no formula. Everything that
looks into a note (links, formulas, claims about shapes) therefore asks for what its
[Markdown](markdown.py) consists of. That is in three forms:

* *spans* are the note, cut into text, code and formulas; put together, they are the note again
* *blocks* are its headings, paragraphs, lists and tables, with their lines
* *words* are what a reader sees of it, without the marks of Markdown
"""

import ast
import re
import textwrap
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, groupby
from typing import Literal, NamedTuple

from markdown_it.token import Token

from literate.reading.markdown import CLOSED, LINKED, PLACE, TARGET, Target, tokens
from literate.reading.source import Source

Kind = Literal["text", "code", "fence", "inline", "display"]

# An anchor of the author's own, the one piece of HTML that a note can hold.
ANCHOR = re.compile(r'<a id="([A-Za-z][\w.-]*)"></a>')

# What Markdown would read as its own marks.
MARKS = str.maketrans({mark: f"&#{ord(mark)};" for mark in "\\`*_[]~^:@|"})

# What the parser calls our kinds of spans.
_KINDS: dict[str, Kind] = {
    "code_block": "fence",
    "code_inline": "code",
    "display": "display",
    "fence": "fence",
    "formula": "inline",
    "formula_display": "display",
}


@dataclass(frozen=True)
class Note:
    r"""
    ## A note

    `texts` are its lines without the marks of Python: one for each line of the file from `first`
    on, so that a problem in a note can name its line. A docstring in [another style](docstrings.py)
    has become Markdown, and `numbers` are the lines that its texts come from. `meant` are names
    that are shown otherwise, such as “Tensor” for “torch.Tensor”: the line of the file, what is
    shown, and the name, which may begin with a point if only its end is said.
    """

    kind: Literal["docstring", "comment"]
    first: int
    texts: tuple[str, ...]
    numbers: tuple[int, ...] = ()
    meant: tuple[tuple[int, str, str], ...] = ()

    def line(self, at: int) -> int:
        r"""
        ### The line of the file that a text stands in

        `at` is the number of the text, from 0; the one behind the last is allowed.
        """
        if not self.numbers:
            return self.first + at
        return self.numbers[at] if at < len(self.numbers) else self.numbers[-1] + 1

    def part(self, begin: int, end: int | None = None) -> "Note":
        r"""
        ### Some of its texts, as a note

        They keep their lines.
        """
        texts = self.texts[begin:end]
        numbers = self.numbers[begin:end]
        return Note(self.kind, self.line(begin), texts, numbers, self.meant)

    def name(self, line: int, shown: str) -> str:
        r"""
        ### The name that inline code means

        By its line in the file; what is shown, where nothing else is said.
        """
        found = (name for at, words, name in self.meant if (at, words) == (line, shown))
        return next(found, shown)

    @cached_property
    def parsed(self) -> "Parsed":
        r"""
        ### What it consists of

        Checks, links, columns and search all look into each note.
        """
        return _parsed(self)


@dataclass(frozen=True)
class Span:
    r"""
    ## A piece of a note

    * `text` is the piece as it stands in the note, `content` is what is inside its marks
    * `line` is the line of the file where it begins
    * `before` is what stands before a block on its first line: blanks, the marks of a quotation or
      of a list; `text` begins with it
    * `fence` are the marks of a block of code that has some, `language` is what stands behind them,
      and `is_closed` says whether they come a second time
    * `targets` are those of links that stand in a text, with their places there; the words of a
      link may begin before the text, at a negative place
    * `is_linked` says whether code stands among the words of a link
    * `lines` are those of the file that the lines of a text stand in
    """

    kind: Kind
    text: str
    content: str
    line: int
    before: str = ""
    fence: str = ""
    language: str = ""
    is_closed: bool = True
    targets: tuple[Target, ...] = ()
    is_linked: bool = False
    lines: tuple[int, ...] = ()

    def line_of(self, place: int) -> int:
        r"""
        ### The line of the file in which a place of a text stands
        """
        return self.lines[self.text.count("\n", 0, place)]


class Words(NamedTuple):
    r"""
    ## Words that a reader sees

    Or a formula between them, as TeX.
    """

    text: str
    is_formula: bool = False


@dataclass(frozen=True)
class Block:
    r"""
    ## A block of a note

    * `kind` is `heading`, `paragraph`, `list_item`, `table` or another name of markdown-it
    * `first` is its first line in the note, counted from 0, and `last` the one behind it
    * `depth` is the number of blocks around it
    * `text` is that of a heading or a paragraph, in Markdown; an item of a list, and a question,
      have the one that they begin with
    * `words` are what is seen of a heading or a paragraph
    * `level` is that of a heading
    * `link` is the target of a paragraph that is nothing but a link
    """

    kind: str
    first: int
    last: int
    depth: int
    text: str = ""
    words: tuple[Words, ...] = ()
    level: int = 0
    link: Target | None = None

    def alone(self, note: Note) -> Note:
        r"""
        ### Its text, as a note with the line that it has in the file
        """
        texts = tuple(self.text.split("\n"))
        numbers = note.numbers[self.first : self.first + len(texts)]
        return Note(note.kind, note.line(self.first), texts, numbers)


@dataclass(frozen=True)
class Parsed:
    r"""
    ## What a note consists of

    `targets` are those of all its links, with their places in the lines of the note, put together.
    """

    spans: tuple[Span, ...]
    blocks: tuple[Block, ...]
    targets: tuple[Target, ...]
    words: tuple[Words, ...]

    @property
    def headings(self) -> list[Block]:
        r"""
        ### Its headings
        """
        return [block for block in self.blocks if block.kind == "heading"]

    @property
    def title(self) -> Block | None:
        r"""
        ### The heading that it begins with
        """
        first = self.blocks[0] if self.blocks else None
        return first if first and first.kind == "heading" else None


# A page that is read again, while its author writes, has most of its notes unchanged.
@lru_cache(maxsize=1 << 15)
def _parsed(note: Note) -> Parsed:
    r"""
    A comment that is nothing but code, put out of use, is one block of code.
    """
    text = "\n".join(note.texts)
    if note.kind == "comment" and (is_code(text) or are_values(text)):
        stream = [Token("code_block", "code", 0, map=[0, len(note.texts)], content=text)]
    else:
        stream = tokens(text)
    starts = list(accumulate((len(line) + 1 for line in note.texts), initial=0))
    pieces, targets = _placed(stream, note.texts, starts)
    spans = tuple(_spans(pieces, targets, text, starts, note))
    blocks = tuple(_blocks(stream, note.texts))
    return Parsed(spans, blocks, tuple(targets), tuple(_joined(_words(stream))))


# A token with its place in a note.
_Piece = tuple[int, int, Token]


def _placed(
    stream: Sequence[Token], texts: Sequence[str], starts: Sequence[int]
) -> tuple[list[_Piece], list[Target]]:
    r"""
    Code and formulas with their places in the note, and the targets of links.
    """
    pieces: list[_Piece] = []
    targets: list[Target] = []
    # How much of each line was found already.
    ends: dict[int, int] = {}
    for token in stream:
        if token.type in _KINDS:
            first, last = token.map or (0, 0)
            pieces.append((starts[first], min(starts[last], starts[-1] - 1), token))
        elif token.type == "definition" and TARGET in token.meta:
            targets.append(token.meta[TARGET])
        elif token.type == "inline":
            depth = 0
            for child in token.children or ():
                depth += child.nesting if child.type in ("link_open", "link_close") else 0
                child.meta[LINKED] = depth > 0
            placed = [child for child in token.children or () if PLACE in child.meta]
            places = _places(token, texts, starts, ends) if placed else []
            for child in placed if places else ():
                if child.type in _KINDS:
                    start, end = child.meta[PLACE]
                    pieces.append((places[start], places[end - 1] + 1, child))
                if TARGET in child.meta:
                    targets.append(child.meta[TARGET].moved(places.__getitem__))
    # A picture can be inside the words of a link.
    return pieces, sorted(targets, key=lambda target: target.start)


def _places(
    token: Token, texts: Sequence[str], starts: Sequence[int], ends: dict[int, int]
) -> list[int]:
    r"""
    Where each character of a text stands in the note. The parser has taken away what stands before
    the text in its lines, and behind it. Of the cells of a table several stand in one line; `ends`
    is where the last one did.
    """
    places: list[int] = []
    for number, words in enumerate(token.content.split("\n"), (token.map or [0])[0]):
        line, inner = texts[number], words.strip()
        # In a cell, there is a backslash before a bar.
        spelled = inner if inner in line else inner.replace("|", r"\|")
        at = line.find(spelled, ends.get(number, 0))
        if at < 0:
            return []
        before = len(words) - len(words.lstrip())
        end = at + len(spelled)
        is_bar = spelled != inner
        shown = [i for i in range(at, end) if not is_bar or line[i : i + 2] != r"\|"]
        # Then what the parser sees behind the words: blanks, and the end of the line.
        behind = len(words) - before - len(inner) + 1
        places += [starts[number] + i for i in [*[at] * before, *shown, *[end] * behind]]
        ends[number] = end
    return places


def _spans(
    pieces: Sequence[_Piece],
    targets: Sequence[Target],
    text: str,
    starts: Sequence[int],
    note: Note,
) -> Iterator[Span]:
    position = 0
    for start, end, token in [*sorted(pieces, key=lambda piece: piece[:2]), (len(text), 0, None)]:
        if position < start:
            first = bisect_right(starts, position) - 1
            last = bisect_right(starts, start) - 1
            lines = tuple(note.line(at) for at in range(first, last + 1))
            yield _text(text[position:start], position, targets, lines)
        if token is not None and start >= position:
            yield _span(token, text[start:end], _line(starts, start, note))
            position = end


def _line(starts: Sequence[int], place: int, note: Note) -> int:
    return note.line(bisect_right(starts, place) - 1)


def _text(text: str, position: int, targets: Sequence[Target], lines: tuple[int, ...]) -> Span:
    here = [target for target in targets if position <= target.start < position + len(text)]
    moved = tuple(target.moved(lambda place: place - position) for target in here)
    return Span("text", text, text, lines[0], targets=moved, lines=lines)


def _span(token: Token, text: str, line: int) -> Span:
    kind = _KINDS[token.type]
    if kind in ("code", "inline"):
        is_linked = bool(token.meta.get(LINKED))
        return Span(kind, text, token.content.strip(), line, is_linked=is_linked)
    if token.type == "formula_display":
        return Span(kind, text, token.content, line)
    if kind == "display":
        opening = re.search(r"\$\$|\\begin", text)
        assert opening is not None
        before = text[: opening.start()]
        return Span(kind, text, token.content, line, before)
    if token.type == "code_block":
        return Span(kind, text, textwrap.dedent(token.content).rstrip(), line)
    language = next(iter(re.findall(r"^[\w+-]+", token.info.strip())), "")
    before = text[: text.index(token.markup)]
    code = token.content.removesuffix("\n")
    return Span(kind, text, code, line, before, token.markup, language, token.meta[CLOSED])


def _blocks(stream: Sequence[Token], texts: Sequence[str]) -> Iterator[Block]:
    for at, token in enumerate(stream):
        if token.map is None or token.type == "inline":
            continue
        first, last = token.map
        # For the parser, lists and questions end where the next block begins.
        while last > first + 1 and not texts[last - 1].strip():
            last -= 1
        kind = token.type.removesuffix("_open")
        inside = [other for other in stream[at + 1 : at + 3] if other.type == "inline"]
        text = inside[0].content if inside and kind in _WORDED else ""
        children = (inside[0].children or []) if inside and kind in ("heading", "paragraph") else []
        link = children[0].meta if children and kind == "paragraph" else {}
        is_link = TARGET in link and link[PLACE] == (0, len(text))
        yield Block(
            kind,
            first,
            last,
            token.level,
            text,
            tuple(_joined(_words_inside(children))),
            int(token.tag[1:]) if kind == "heading" else 0,
            link[TARGET] if is_link else None,
        )


# Blocks that begin with words.
_WORDED = ("details", "heading", "list_item", "paragraph")


def _joined(words: Iterable[Words]) -> Iterator[Words]:
    r"""
    Words between two formulas in one piece.
    """
    for is_formula, group in groupby(words, key=lambda each: each.is_formula):
        texts = [each.text for each in group]
        whole = texts if is_formula else ["".join(texts)]
        yield from (Words(text, is_formula) for text in whole)


def _words(stream: Sequence[Token]) -> Iterator[Words]:
    for token, following in zip(stream, [*stream[1:], None], strict=False):
        if token.type == "inline":
            yield from _words_inside(token.children or ())
        elif token.type in ("fence", "code_block"):
            yield Words(token.content)
        elif token.type == "list_item_open":
            yield Words(" · ")
        else:
            # There is a bar between two cells of a table, and none behind the last.
            is_cell = following is not None and following.type in ("td_open", "th_open")
            yield Words(" | " if is_cell and token.nesting < 0 else " ")


def _words_inside(tokens: Iterable[Token]) -> Iterator[Words]:
    for token in tokens:
        if token.type == "image":
            yield from _words_inside(token.children or ())
        elif token.type in ("softbreak", "hardbreak"):
            yield Words("\n")
        else:
            yield Words(token.content, token.type in ("formula", "formula_display"))


def is_code(text: str) -> bool:
    r"""
    ## Is a text code?

    It is if it is statements that do something, and not words that happen to be Python.
    """
    if not re.search(r"[=(]", text):
        return False
    text = textwrap.dedent(text)
    whole = next(filter(None, (_statements(form.format(text)) for form in _PARTS)), [])
    return bool(whole) and all(_does_something(statement) for statement in whole)


def are_values(text: str) -> bool:
    r"""
    ## Is a text nothing but values, with a comma behind each line?

    They are out of use in a list. A name may be a word.
    """
    if not all(line.rstrip().endswith(",") for line in text.split("\n")):
        return False
    values = [part for one in _statements(f"[\n{text}\n]") for part in ast.walk(one)]
    return bool(values) and not any(isinstance(one, ast.Name | ast.Attribute) for one in values)


# What is put out of use may be a part of a statement: an argument and the bracket behind it, or
# what stands between `if` and its end.
_PARTS = ("{}", "f({}\n", "if f():\n    f()\n{}", "try:\n    f()\n{}")


def _statements(text: str) -> list[ast.stmt]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _does_something(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        value = statement.value
        return isinstance(value.value if isinstance(value, ast.Await) else value, ast.Call)
    return not isinstance(statement, ast.AnnAssign)


def anchors(source: Source) -> frozenset[str]:
    r"""
    ## The anchors that the notes of a page set
    """
    names = {definition.name for definition in source.definitions}
    noted = (line.text for line in source.lines if line.kind in ("docstring", "comment"))
    return frozenset(name for text in noted for name in ANCHOR.findall(text)) - names

r"""
---
title: reStructuredText
summary: The marks of Sphinx become those of Markdown, and every line keeps its number.
---

Most docstrings of Python are written for Sphinx: a role, `` :class:`Tensor` ``, a line `.. note::`,
a block of code below two colons, an example as in a session of Python. In Markdown none of them
means anything. So each is written as the Markdown that means the same, before anything else looks
into the note. No word goes but the names of roles and directives.

A form is taken for what it is only where nothing else can be meant: in a note that is written in
Markdown nothing changes.
"""

import ast
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from string import ascii_lowercase, ascii_uppercase

from literate.reading.definitions import options, terms
from literate.reading.drawn_tables import end_of_table, set_table
from literate.reading.inline_marks import has_roles, inline
from literate.reading.notes import are_values, is_code
from literate.reading.text_lines import (
    Item,
    TextLine,
    apart,
    between_lists,
    body,
    dedented,
    escaped,
    indented,
)

# What a rule makes of the lines from one on, and the line behind the last that it took.
_Made = tuple[list[TextLine], int] | None

FENCE = re.compile(r"\s*(?P<mark>`{3,}(?!.*`)|~{3,}(?!.*~))")
_DIRECTIVE = re.compile(r"\s*\.\. +(?P<name>[A-Za-z][\w:.+-]*) ?::(?:\s+(?P<said>.*))?$")
# The same as MyST writes it.
_OF_MYST = re.compile(r"\s*(?:`{3,}|~{3,})\{(?P<name>[A-Za-z][\w:.+-]*)\}(?:[ \t]+(?P<said>.*))?$")
# A field with a name that its author chooses; a role begins alike.
_FIELD = re.compile(r"\s*:(?P<name>[A-Za-z][^:`\n]*):(?:\s+(?P<said>.*))?$")
_OPTION = re.compile(r"\s*:(?P<option>[\w-]+):(?P<value>\s.*|$)")
_CITATION = re.compile(r"\s*\.\. +\[(?P<mark>[^\]]+)\]\s+(?P<said>.*)$")
_TARGET = re.compile(
    r"\s*(?:(?:\.\. +)?__:?(?=\s+\S)|\.\. +_(?P<name>(?:\\:|[^:`])+|`[^`]+`):)"
    r"\s*(?P<address>\S*)\s*$"
)
# Where a target leads that stands in the line below it.
_ADDRESS = re.compile(r"\s*(?P<address>(?:https?:|mailto:|ftp:)\S+)\s*$")
RULE = re.compile(r"([=\-~^\"'*+#.:_])\1{2,}\s*$")
# A line that begins an item of a list.
LISTED = re.compile(r"(?P<indent>\s*)(?:[-*+]|\d+[.)])\s+\S")
# An item with a letter or a Roman number, and what follows it in its list.
_LETTERED = re.compile(r"\s*(?P<open>\(?)(?P<count>[A-Za-z]|[ivx]+|[IVX]+)(?P<end>[.)])\s+\S")
_ROMAN = "i ii iii iv v vi vii viii ix x xi xii".split()
_SERIES = (ascii_lowercase, ascii_uppercase, _ROMAN, [number.upper() for number in _ROMAN])
_REMARK = re.compile(r"\s*# ")
_STATEMENT = re.compile(r"\s*(?:async )?(?:class|def|for|if|try|while|with)\b.*:\s*$")
_HEADER = re.compile(rf"{_STATEMENT.pattern}|\s*(?:else|finally|try|except.*):$")
# What a line ends with that goes on in no other.
_ENDED = re.compile(r"(?:[.:!?]|^)\s*$")
# Eight words at least, with no sign but those of a text.
_SENTENCES = re.compile(r"(?:[\"'(]*[^\W\d_][\w'’/-]*[.,;:!?\"')]*(?:\s|$)){8,}")
_BARRED = re.compile(r"\s*\|(?:\s+[^|]+)?")
_ANSWERED = re.compile(r">>>(\s|$)")
# An argument and what is said of it, in a list that is not known as one.
_ENTRY = re.compile(r"\s*\*{0,2}`{0,2}[^\W\d][\w.]*`{0,2}\s*(?:\(.+?\)\s*)?:\s")

# Boxes, each with the kind that the site knows.
_BOXES = {
    "admonition": "note", "attention": "warning", "caution": "warning", "danger": "danger",
    "error": "danger", "hint": "tip", "important": "info", "note": "note", "seealso": "info",
    "tip": "tip", "todo": "note", "topic": "note", "warning": "warning",
}  # fmt: skip
_TITLES = {"seealso": "See also", "todo": "To do"}
_VERSIONS = {
    "deprecated": "Deprecated since version",
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
}
_CODES = {
    "code", "code-block", "doctest", "ipython", "plot", "prompt", "sourcecode", "testcleanup",
    "testcode", "testoutput", "testsetup",
}  # fmt: skip
_PICTURES = {"figure", "image"}
# What shows nothing in its place, or, as a list of contents, what a page has anyway.
_UNSEEN = {"contents", "currentmodule", "default-role", "highlight", "index", "meta", "sectnum"}
# Directives that are read, and those of Sphinx that stand in most docstrings.
DIRECTIVES = frozenset({*_BOXES, *_VERSIONS, *_CODES, *_PICTURES, "math", "rubric"})
_OBJECTS = {
    "attribute", "class", "classmethod", "data", "decorator", "describe", "envvar", "exception",
    "function", "method", "module", "option", "property", "staticmethod",
}  # fmt: skip
# Of a title, by the line below it; those of `=` and `-` are titles in Markdown, too.
_LEVELS = {"=": 2, "-": 3, "~": 3}


def blocks(lines: Sequence[TextLine]) -> list[TextLine]:
    r"""
    ## Lines as Markdown
    """
    lines = list(lines)
    made: list[TextLine] = []
    prose: list[TextLine] = []
    at = 0
    # The rule that has made the list with which the lines end, if one has.
    listing: object = None
    while at < len(lines):
        attempts = ((rule, rule(lines, at)) for rule in _RULES)
        rule, taken = next((one for one in attempts if one[1]), (None, None))
        if taken is None:
            taken = _literal(lines, at)
            # What announces code goes on with the text above it.
            prose += _announced(lines[at]) if taken else [lines[at]]
        if taken is None:
            at += 1
            continue
        block, after = taken
        if block and FENCE.match(block[0].text):
            prose = _announcing(prose)
        listing = _joined(made, _prose(prose), listing, _prose)
        listing = _joined(made, block, listing, rule)
        prose = []
        # What follows a block directly is a paragraph of its own.
        if block and after < len(lines) and not lines[after].is_blank:
            made.append(TextLine("", lines[after].at))
        if block and LISTED.match(block[0].text) and not block[0].indent:
            _move_to_margin(lines, after, lines[at].indent)
        at = after
    _joined(made, _prose(prose), listing, _prose)
    return made


def _joined(
    made: list[TextLine], below: Sequence[TextLine], listing: object, rule: object
) -> object:
    r"""
    Lines put below others. With a list there goes on only what the same rule has made.
    """
    filled = [line for line in below if not line.is_blank]
    if not filled:
        made += below
        return listing
    if listing not in (None, rule) and _is_in_list(filled[0]):
        between_lists(made, below)
    elif rule is not _prose:
        apart(made, below)
    made += below
    last = next((line for line in reversed(filled) if not line.indent), filled[0])
    return rule if _is_in_list(last) else None


def _is_in_list(line: TextLine) -> bool:
    return LISTED.match(line.text) is not None and not line.indent


def _move_to_margin(lines: list[TextLine], at: int, indent: int) -> None:
    r"""
    What stands as far in as a list that has been set at the margin is no part of its last item.
    """
    while at < len(lines) and (lines[at].is_blank or lines[at].indent >= indent):
        lines[at] = TextLine(lines[at].text[indent:], lines[at].at)
        at += 1


def targets(lines: Sequence[TextLine]) -> Iterator[tuple[str, str]]:
    r"""
    ## The addresses that a docstring gives to words

    Each with its name, in small letters; without one, if it belongs to the words that stand in
    its place among those without.
    """
    for at, line in enumerate(lines):
        match = _TARGET.match(line.text)
        if match:
            name = (match["name"] or "").replace("\\", "").strip("`")
            yield " ".join(name.split()).lower(), _address(lines, at, match)[0]


def _address(lines: Sequence[TextLine], at: int, match: re.Match[str]) -> tuple[str, int]:
    r"""
    Where a target leads, if it leads out of the docstring, and the line behind it.
    """
    below = _ADDRESS.match(lines[at + 1].text) if at + 1 < len(lines) else None
    if not match["address"] and below and lines[at + 1].indent > lines[at].indent:
        return below["address"], at + 2
    return match["address"], at + 1


def _prose(lines: Sequence[TextLine]) -> list[TextLine]:
    r"""
    Text between blocks. A list right below the sentence that announces it is a list.
    """
    made: list[TextLine] = []
    text = inline("\n".join(line.text for line in lines))
    shown_lines = text.split("\n") if lines else []
    for at in _indented_code(lines):
        shown_lines[at] = lines[at].text
    for line, shown in zip(lines, shown_lines, strict=True):
        announced = (
            made and made[-1].text.rstrip().endswith(":") and not LISTED.match(made[-1].text)
        )
        if announced and LISTED.match(shown) and line.indent <= made[-1].indent:
            made.append(TextLine("", line.at))
        made.append(TextLine(shown, line.at))
    return made


def _indented_code(lines: Sequence[TextLine]) -> Iterator[int]:
    r"""
    Lines that are code in Markdown because they are indented, in no list and no box. One with a
    backtick is a text, for its author.
    """
    begun = False
    for at, line in enumerate(lines):
        if line.indent < 4 and not line.is_blank:
            begun = False
        elif not begun and at and lines[at - 1].is_blank and not line.is_blank:
            outside = (one.text for one in reversed(lines[:at]) if one.indent < 4)
            above = next(filter(str.strip, outside), "!")
            begun = not above.startswith(("!", "?")) and not place(lines, at)
        if begun and "`" not in line.text:
            yield at


def listed(items: Iterable[Item]) -> list[TextLine]:
    r"""
    ## Items as a list
    """
    made: list[TextLine] = []
    for one in items:
        made += item(one.head, one.at, blocks(one.said))
    return made


def item(head: str, at: int, said: Sequence[TextLine]) -> list[TextLine]:
    r"""
    ## An item of a list

    What is `said` of it is Markdown.
    """
    if not said:
        return [TextLine(f"* {head}", at)]
    first, *rest = said
    is_fence = FENCE.match(first.text)
    if not head and not is_fence:
        made = [TextLine(f"* {first.text.strip()}", first.at)]
    elif first.at == at and not is_fence:
        made = [TextLine(f"* {head}: {first.text.strip()}", at)]
    else:
        made = [TextLine(f"* {head}:", at)]
        if not _is_paragraph(first):
            made.append(TextLine("", first.at))
        rest = [*said]
    made += indented(rest, "    ")
    # Between two items of which one has several paragraphs, there is an empty line.
    if any(line.is_blank for line in rest):
        made.append(TextLine("", made[-1].at))
    return made


def _is_paragraph(line: TextLine) -> bool:
    return not re.match(r"\s*(?:[-*+]\s|\d+[.)]\s|```|~~~|\$\$|!!!|\||>)", line.text)


def place(lines: Sequence[TextLine], at: int) -> str:
    r"""
    ## The blanks before a block

    It is inside an item of a list above, where the words of the item begin, or inside none.
    """
    indent = lines[at].indent
    for above in reversed(lines[:at]):
        if above.is_blank or above.indent >= indent:
            continue
        match = LISTED.match(above.text)
        if match:
            return " " * (match.end() - 1)
        indent = above.indent
    return ""


def fenced(lines: Sequence[TextLine], language: str) -> list[TextLine]:
    r"""
    ## Lines as a block of code
    """
    if not lines:
        return []
    mark = "~~~~" if any("```" in line.text for line in lines) else "```"
    first = lines[0].at
    last = lines[-1].at
    return [TextLine(f"{mark}{language}", first), *lines, TextLine(mark, last)]


def _language(lines: Sequence[TextLine]) -> str:
    r"""
    What a block of code is written in, if nobody says it.
    """
    if _ANSWERED.match(lines[0].text):
        return "pycon"
    try:
        ast.parse(textwrap.dedent("\n".join(line.text for line in lines)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return "python"


def _fence(lines: Sequence[TextLine], at: int) -> _Made:
    r"""
    A block of code in Markdown stays as it is, unless it is a directive as MyST writes it.
    """
    end = end_of_fence(lines, at)
    match = _OF_MYST.match(lines[at].text) if end > at else None
    if match is None or match["name"].lower() not in DIRECTIVES:
        return (list(lines[at:end]), end) if end > at else None
    head = TextLine(f".. {match['name']}:: {match['said'] or ''}".rstrip(), lines[at].at)
    is_closed = end - 1 > at and not lines[end - 1].text.strip().strip("`~")
    inside = dedented(lines[at + 1 : end - is_closed])
    taken = _directive([head, *indented(inside, "   ")], 0)
    return (indented(taken[0], place(lines, at)), end) if taken else None


def end_of_fence(lines: Sequence[TextLine], at: int) -> int:
    r"""
    ## The line behind a block of code

    Of one that Markdown marks, and that begins in this line; else the line itself. Tildes right
    below a text mark a title.
    """
    match = FENCE.match(lines[at].text)
    is_title = at and not lines[at - 1].is_blank and not lines[at].text.strip().strip("~")
    if match is None or is_title:
        return at
    for end in range(at + 1, len(lines)):
        text = lines[end].text.strip()
        if text.startswith(match["mark"]) and not text.strip(match["mark"][0]):
            return end + 1
    return len(lines)


def _session(lines: Sequence[TextLine], at: int) -> _Made:
    r"""
    A session of Python: up to an empty line, unless the next thing is another prompt. A comment
    right above it belongs to it, and is no title.
    """
    indent = lines[at].indent
    end = at
    while end < len(lines) and lines[end].indent == indent and _REMARK.match(lines[end].text):
        end += 1
    if end == len(lines) or not _ANSWERED.match(lines[end].text.lstrip()):
        return None
    while end < len(lines):
        after = next((i for i in range(end, len(lines)) if not lines[i].is_blank), len(lines))
        if after == len(lines) or lines[after].indent < indent:
            break
        if after > end and not _ANSWERED.match(lines[after].text.lstrip()):
            break
        end = after + 1
    return indented(fenced(dedented(lines[at:end]), "pycon"), place(lines, at)), end


def _directive(lines: Sequence[TextLine], at: int) -> _Made:
    match = _DIRECTIVE.match(lines[at].text)
    if match is None:
        return None
    inside, end = body(lines, at + 1, lines[at].indent)
    # Their case means nothing.
    domain, _, name = match["name"].lower().rpartition(":")
    said = (match["said"] or "").strip()
    first = [TextLine(said, lines[at].at)] if said else []
    options: dict[str, str] = {}
    while inside and (option := _OPTION.match(inside[0].text)):
        options[option["option"]] = option["value"].strip()
        inside = inside[1:]
    inside = inside[next((i for i, line in enumerate(inside) if not line.is_blank), 0) :]
    blanks = place(lines, at)
    if name in _PICTURES and said:
        shown = f"![{escaped(options.get('alt', ''))}]({said if ' ' not in said else f'<{said}>'})"
        shown = f"[{shown}]({options['target']})" if options.get("target") else shown
        made = [TextLine(shown, lines[at].at), TextLine("", lines[at].at), *blocks(inside)]
    elif name == "math":
        made = _formula([*first, *inside])
    elif name in _CODES:
        written = inside or first
        language = said if inside and re.fullmatch(r"[\w+-]+", said) else ""
        made = fenced(written, language or (_language(written) if written else ""))
    elif name in _VERSIONS:
        version, _, rest = said.partition(" ")
        opening = f"*{_VERSIONS[name]} {escaped(version)}{':' if rest or inside else '.'}* {rest}"
        made = blocks([TextLine(opening.rstrip(), lines[at].at), *inside])
    elif name in _BOXES:
        title = _TITLES.get(name, name.capitalize())
        if name in ("admonition", "topic") and said:
            title = said.replace('"', "'")
            first = []
        opening = f'!!! {_BOXES[name]} "{title}"'
        inner = indented(blocks([*first, *inside]), "    ")
        made = [TextLine(opening, lines[at].at), TextLine("", lines[at].at), *inner]
    elif name in ("glossary", "rubric", "table"):
        title = TextLine(f"**{inline(said)}**" if said else "", lines[at].at)
        made = [title, TextLine("", title.at), *blocks(inside)]
    elif name == "container":
        made = blocks(inside)
    elif name == "autosummary":
        items = (line.text.strip().lstrip("~") for line in inside)
        made = [
            TextLine(f"* `{one}`", line.at) for one, line in zip(items, inside, strict=True) if one
        ]
    elif name in _UNSEEN:
        made = []
    else:
        # What only Sphinx can do is shown as it is typed.
        made = fenced(dedented(lines[at:end]), "")
    return indented(made, blanks), end


def described(lines: Sequence[TextLine], at: int) -> tuple[str, list[TextLine], int] | None:
    r"""
    ## What a directive describes that Sphinx would list

    Its name or how it is called, with its type and its value; the text about it; and the line
    behind that. None, where a line begins nothing of the sort.
    """
    match = _DIRECTIVE.match(lines[at].text)
    domain, _, name = match["name"].lower().rpartition(":") if match else ("", "", "")
    said = ((match and match["said"]) or "").strip()
    if name not in _OBJECTS or domain not in ("", "py") or not said:
        return None
    inside, end = body(lines, at + 1, lines[at].indent)
    about: list[str] = []
    while inside and _OPTION.match(inside[0].text):
        _, option, value = inside[0].text.strip().split(":", 2)
        about += [f"`{value.strip()}`"] if option in ("type", "value") and value.strip() else []
        inside = inside[1:]
    code = f"`` {said} ``" if "`" in said else f"`{said}`"
    kinds = f" ({', '.join(about)})" if about else ""
    return f"**{code}**{kinds}", body(inside, 0, -1)[0], end


def _object(lines: Sequence[TextLine], at: int) -> _Made:
    found = described(lines, at)
    if found is None:
        return None
    head, inside, end = found
    return indented(listed([Item(head, lines[at].at, inside)]), place(lines, at)), end


def _list(lines: Sequence[TextLine], at: int) -> _Made:
    r"""
    A list that is indented below the sentence that announces it: for Markdown it would be code.
    """
    above = next((line for line in reversed(lines[:at]) if not line.is_blank), None)
    if above is None or above is lines[at - 1] or not LISTED.match(lines[at].text):
        return None
    is_announced = above.text.rstrip().endswith(":") and not LISTED.match(above.text)
    if not is_announced or lines[at].indent < above.indent + 4 or place(lines, at):
        return None
    inside, end = body(lines, at, above.indent)
    return indented(blocks(inside), " " * above.indent), end


def _lettered(lines: Sequence[TextLine], at: int) -> _Made:
    r"""
    A list that counts with letters, “A.” and “B.”, or with Roman numbers. Markdown has none, so the
    letters are what its items begin with. One alone may end a sentence, or begin a name.
    """
    first = _LETTERED.match(lines[at].text)
    series = next((one for one in _SERIES if first and first["count"] == one[0]), None)
    items: list[Item] = []
    end = at
    for count in series or ():
        here = next((i for i in range(end, len(lines)) if not lines[i].is_blank), len(lines))
        match = _LETTERED.match(lines[here].text) if here < len(lines) else None
        if match is None or first is None or lines[here].indent != lines[at].indent:
            break
        if match["count"] != count or match.group("open", "end") != first.group("open", "end"):
            break
        inside, end = body(lines, here + 1, lines[here].indent)
        opening = TextLine(lines[here].text.strip(), lines[here].at)
        items.append(Item("", opening.at, [opening, *inside]))
    return (indented(listed(items), place(lines, at)), end) if len(items) > 1 else None


def _fields(lines: Sequence[TextLine], at: int) -> _Made:
    r"""
    A paragraph of fields, such as “:author: Somebody”: a list of what is said of each. A word
    between two colons alone can be a sign in Markdown. What is said to Sphinx is nothing to see.
    """
    if not _FIELD.match(lines[at].text) or at and not lines[at - 1].is_blank:
        return None
    items: list[Item] = []
    end = at
    while end < len(lines):
        match = _FIELD.match(lines[end].text)
        if match is None or lines[end].indent != lines[at].indent:
            break
        opening = [TextLine(match["said"], lines[end].at)] if match["said"] else []
        name, number = match["name"], lines[end].at
        below, end = body(lines, end + 1, lines[at].indent)
        if not name.startswith("meta "):
            items.append(Item(f"**{inline(name)}**", number, opening + below))
        following = next((i for i in range(end, len(lines)) if not lines[i].is_blank), len(lines))
        if following < len(lines) and _FIELD.match(lines[following].text):
            end = following
    is_paragraph = end == len(lines) or lines[end].is_blank
    has_more = len(items) > 1 or any(len(item.said) > 1 for item in items)
    if not is_paragraph or (items and not has_more):
        return None
    return indented(listed(items), place(lines, at)), end


def _formula(lines: Sequence[TextLine]) -> list[TextLine]:
    r"""
    Lines with `&` or a double backslash are aligned, as Sphinx does.
    """
    if not lines:
        return []
    tex = "\n".join(line.text for line in lines)
    first = lines[0].at
    last = lines[-1].at
    is_aligned = ("&" in tex or "\\\\" in tex) and r"\begin" not in tex
    opening = [r"\begin{aligned}"] if is_aligned else []
    closing = [r"\end{aligned}"] if is_aligned else []
    return [
        TextLine("$$", first),
        *(TextLine(text, first) for text in opening),
        *(line for line in lines if not line.is_blank),
        *(TextLine(text, last) for text in closing),
        TextLine("$$", last),
    ]


def _citation(lines: Sequence[TextLine], at: int) -> _Made:
    r"""
    A reference at the end of a docstring.
    """
    match = _CITATION.match(lines[at].text)
    if match is None:
        return None
    inside, end = body(lines, at + 1, lines[at].indent)
    opening = TextLine(f"[{match['mark']}] {match['said']}", lines[at].at)
    return indented(blocks([opening, *inside]), place(lines, at)), end


def _target(lines: Sequence[TextLine], at: int) -> _Made:
    r"""
    A place that others link to, or an address that a word in the text leads to: nothing to see.
    """
    match = _TARGET.match(lines[at].text)
    return ([], _address(lines, at, match)[1]) if match else None


def _table(lines: Sequence[TextLine], at: int) -> _Made:
    r"""
    A table is set, or stays as it is drawn.
    """
    end = end_of_table(lines, at)
    if end == at:
        return None
    drawn = dedented(lines[at:end])
    return indented(set_table(drawn) or fenced(drawn, ""), place(lines, at)), end


def _options(lines: Sequence[TextLine], at: int) -> _Made:
    return _unmarked(options, lines, at)


def _terms(lines: Sequence[TextLine], at: int) -> _Made:
    return _unmarked(terms, lines, at)


def _unmarked(
    read: Callable[[Sequence[TextLine], int], tuple[list[Item], int] | None],
    lines: Sequence[TextLine],
    at: int,
) -> _Made:
    r"""
    A list without marks. What is indented further than its place is code in Markdown.
    """
    blanks = place(lines, at)
    is_below = at > 0 and not lines[at - 1].is_blank
    is_code = lines[at].indent >= len(blanks) + 4 and not is_below
    if lines[at].is_blank or is_code:
        return None
    found = read(lines, at)
    return (indented(listed(found[0]), blanks), found[1]) if found else None


def _literal(lines: Sequence[TextLine], at: int) -> _Made:
    r"""
    Two colons announce code, which is indented below: in an item of a list, more than its words.
    """
    text = lines[at].text.rstrip()
    if not text.endswith("::") or _DIRECTIVE.match(text):
        return None
    item = LISTED.match(text)
    below = next((line for line in lines[at + 1 :] if not line.is_blank), None)
    words = item.end() - 1 if item else 0
    indent = words if below and below.indent > words else lines[at].indent
    inside, end = body(lines, at + 1, max(indent, lines[at].indent))
    if not inside:
        return None
    # Without an empty line between them, only an example of Google's style is meant.
    if not lines[at + 1].is_blank and (item or _ENTRY.match(text)):
        return None
    first = next(i for i in range(at + 1, end) if not lines[i].is_blank)
    return indented(fenced(inside, _language(inside)), place(lines, first)), end


def _announced(line: TextLine) -> list[TextLine]:
    r"""
    A line with two colons as it is read: one of them, or none behind a blank. Nothing, if nothing
    else stands there.
    """
    text = line.text.rstrip()
    words = text.removesuffix("::")
    shown = words.rstrip() if words.endswith(" ") else f"{words}:"
    return [TextLine(shown, line.at)] if text.strip(": ") else []


def _announcing(prose: list[TextLine]) -> list[TextLine]:
    r"""
    Text above a block of code that needs no announcement, and may have one.
    """
    last = next((at for at in reversed(range(len(prose))) if not prose[at].is_blank), None)
    if last is None or not prose[last].text.rstrip().endswith("::"):
        return prose
    return [*prose[:last], *_announced(prose[last]), *prose[last + 1 :]]


def _line_block(lines: Sequence[TextLine], at: int) -> _Made:
    r"""
    A paragraph of lines with a bar before each: they end where their author ends them. What is
    indented goes on with the line above it. So far in that Markdown takes it for code, it is a
    quotation.
    """
    if not _BARRED.fullmatch(lines[at].text) or at and not lines[at - 1].is_blank:
        return None
    end = next((i for i in range(at, len(lines)) if lines[i].is_blank), len(lines))
    inside = lines[at:end]
    own = [line for line in inside if _BARRED.fullmatch(line.text)]
    more = (line for line in inside if line not in own)
    if len(own) < 2 or any(line.indent <= lines[at].indent for line in more):
        return None
    made: list[TextLine] = []
    blanks = place(lines, at)
    is_quoted = lines[at].indent >= len(blanks) + 4
    before = f"{blanks}> " if is_quoted else " " * lines[at].indent
    for line, below in zip(inside, [*inside[1:], None], strict=False):
        text = line.text.strip().removeprefix("|").strip()
        # Two blanks end a line in Markdown.
        ends = "  " if below in own else ""
        made.append(TextLine(before + text + ends, line.at))
    return _prose(made), end


def levelled(lines: Sequence[TextLine]) -> list[TextLine]:
    r"""
    ## Lines whose titles have levels

    The level of a title in reStructuredText is that of the line below it, and the lines have theirs
    in the order in which they come. The title of the page is above all of them.
    """
    made: list[TextLine] = []
    drawn: list[tuple[bool, str]] = []
    at = 0
    # The line behind the last title, where another one may begin.
    after = 0
    while at < len(lines):
        end = end_of_fence(lines, at)
        if end > at:
            made += lines[at:end]
            at = end
            continue
        is_over = bool(RULE.match(lines[at].text))
        title, below = at + is_over, at + is_over + 1
        begins_block = at == after or lines[at - 1].is_blank
        match = _underlined(lines, at, is_over) if begins_block else None
        if match is None or LISTED.match(lines[title].text):
            made.append(lines[at])
            at += 1
            continue
        kind = is_over, match[1]
        after = below + 1
        begins = is_over and all(line.is_blank for line in lines[:at])
        drawn += [] if kind in drawn or begins else [kind]
        level = 1 if begins else min(2 + drawn.index(kind), 6)
        if (kind, level) == ((False, "-"), 2):
            # So it is in Markdown, too.
            made += lines[at : below + 1]
            at = below + 1
            continue
        text = inline(lines[title].text.strip())
        made += [TextLine(f"{'#' * level} {text}", lines[title].at), TextLine("", lines[below].at)]
        at = below + 1
    return made


def is_below(rule: str, title: str) -> bool:
    r"""
    ## Is a line long enough to make a title of the text above it?

    docutils is content with four signs, and so are we where nothing else is drawn so.
    """
    length = len(rule.rstrip())
    return length >= len(title) or (length >= 4 and rule[:1] in "=-~^")


def _underlined(lines: Sequence[TextLine], at: int, is_over: bool) -> re.Match[str] | None:
    r"""
    The line below a title that begins at a line, or at the one above it.
    """
    title = at + is_over
    below = title + 1
    if below >= len(lines) or lines[title].is_blank or lines[title].indent > is_over:
        return None
    match = RULE.match(lines[below].text)
    text = lines[title].text.strip()
    if match is None or RULE.match(text) or not is_below(lines[below].text, text):
        return None
    is_same = not is_over or lines[at].text.strip() == lines[below].text.strip()
    return match if is_same and not text.startswith(("#", "|", ">")) else None


def _title(lines: Sequence[TextLine], at: int) -> _Made:
    r"""
    A title between two lines, or above one that Markdown doesn't know.
    """
    is_over = bool(RULE.match(lines[at].text))
    title = at + is_over
    below = title + 1
    match = _underlined(lines, at, is_over)
    if match is None:
        return None
    text = lines[title].text.strip()
    if not is_over and match[1] in "=-":
        return None
    begins = all(line.is_blank for line in lines[:at])
    level = (1 if begins and is_over else 2) if is_over else _LEVELS.get(match[1], 4)
    return [TextLine(f"{'#' * level} {inline(text)}", lines[title].at)], below + 1


def _statement(lines: Sequence[TextLine], at: int) -> _Made:
    r"""
    A paragraph that is a statement of Python with others inside, whose author has marked no code.
    """
    if not _STATEMENT.match(lines[at].text) or at and not lines[at - 1].is_blank:
        return None
    inside, end = body(lines, at + 1, lines[at].indent)
    written = dedented(lines[at:end])
    if not inside or not is_code("\n".join(line.text for line in written)):
        return None
    return indented(fenced(written, "python"), place(lines, at)), end


def with_statement(lines: Sequence[TextLine]) -> list[TextLine]:
    r"""
    ## A comment that ends with code

    Somebody says why code is out of use, and right below stands the code: a statement with others
    inside, statements below the end of a sentence or further in than it, or values with a comma
    behind each.
    """
    whole = "\n".join(line.text for line in lines)
    for at in range(1, 1 if is_code(whole) else len(lines)):
        if lines[at].is_blank:
            continue
        code = body(lines, at, -1)[0]
        text = "\n".join(line.text for line in code)
        above = lines[at - 1]
        margin = min(line.indent for line in lines[at:] if not line.is_blank)
        is_further_in = margin and lines[at].indent > above.indent
        is_below = is_further_in or _ENDED.search(above.text)
        is_inside = _HEADER.match(above.text)
        begins = _STATEMENT.match(lines[at].text) or (is_below and not is_inside)
        if (begins and is_code(text)) or are_values(text):
            return [*lines[:at], TextLine("", code[0].at), *fenced(code, "python")]
    return [*lines]


def with_roles(lines: Sequence[TextLine]) -> list[TextLine]:
    r"""
    ## A comment whose author writes as in docstrings

    It has roles, so that the marks inside its lines are those of Sphinx. What else docstrings have
    stands in no comment.
    """
    text = "\n".join(line.text for line in lines)
    if is_code(text) or not has_roles(text):
        return [*lines]
    made: list[TextLine] = []
    while len(made) < len(lines):
        begin = len(made)
        end = end_of_fence(lines, begin)
        part = lines[begin:end]
        if end == begin:
            after = (at for at in range(begin, len(lines)) if lines[at].is_blank)
            part = lines[begin : max(next(after, len(lines)), begin + 1)]
            # What stands further in is code.
            if part[0].indent < 4:
                shown = inline("\n".join(line.text for line in part)).split("\n")
                part = [TextLine(*each) for each in zip(shown, (x.at for x in part), strict=True)]
        made += part
    return made


def without_indent(lines: Sequence[TextLine]) -> list[TextLine]:
    r"""
    ## A comment whose paragraphs are indented

    As in many a licence. For Markdown they would be code; sentences are none.
    """
    made = [*lines]
    at = 0
    while at < len(made):
        end = next((i for i in range(at, len(made)) if made[i].is_blank), len(made))
        paragraph = made[at:end]
        words = " ".join(line.text.strip() for line in paragraph)
        is_far_in = paragraph and min(line.indent for line in paragraph) >= 4
        if is_far_in and len(paragraph) > 1 and _SENTENCES.fullmatch(words):
            made[at:end] = dedented(paragraph)
        if any(LISTED.match(line.text) for line in paragraph):
            # What stands below an item belongs to it.
            break
        at = end + 1
    return made


_RULES: Sequence[Callable[[Sequence[TextLine], int], _Made]] = (
    _fence,
    _session,
    _object,
    _directive,
    _list,
    _lettered,
    _citation,
    _target,
    _fields,
    _table,
    _line_block,
    _title,
    _statement,
    _options,
    _terms,
)

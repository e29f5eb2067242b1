r"""
---
title: Docstrings
summary: Lists of arguments in the styles of Google, NumPy and Sphinx become lists on the page.
---

A docstring in Python has one of four styles. In ours it is Markdown. Google's has sections such as
“Args:” with indented lines below, NumPy's underlines the names of its sections, and Sphinx has a
field for each argument. A section is recognised by its own form, so nobody has to say which style a
package has, and one docstring can have several. Where that is wrong, the [settings](../settings.py)
say the one style that is meant.

A section becomes its name in bold letters and a list with an item for each argument: in Markdown,
so whatever looks into notes needs to know one style only. Each line keeps the number that it has in
the file, and each word is there: what isn't understood stays as it is. That is why the sections are
read here. The best parser for them, griffe, gives no lines and leaves out items that it can't
read: in nine packages, words of 307 of 3,177 docstrings with sections were lost. It is the oracle
of our tests.
"""

import re
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import NamedTuple

from literate.reading.fields import FIELDS, TYPES, is_known, mended
from literate.reading.inline_marks import BARRED, emphasised, inline, without_stray
from literate.reading.nested import nested
from literate.reading.notes import is_code
from literate.reading.restructured import (
    LISTED,
    RULE,
    blocks,
    described,
    end_of_fence,
    fenced,
    is_below,
    item,
    levelled,
    listed,
    place,
)
from literate.reading.substitutions import substituted
from literate.reading.text_lines import (
    Item,
    TextLine,
    apart,
    between_lists,
    body,
    dedented,
    indented,
)

# What the names of sections say about their entries: names of arguments or attributes, results,
# errors, other names, or text.
_KINDS = {
    **dict.fromkeys(
        (
            "args", "arguments", "attributes", "keyword args", "keyword arguments", "kwargs",
            "other arguments", "other parameters", "parameter", "parameters", "params", "receives",
        ),
        "names",
    ),
    **dict.fromkeys(("return", "returns", "yield", "yields"), "results"),
    **dict.fromkeys(("exceptions", "raise", "raises", "warns"), "errors"),
    **dict.fromkeys(("classes", "functions", "methods", "modules", "see also"), "others"),
    **dict.fromkeys(
        (
            "example", "examples", "note", "notes", "reference", "references", "tip", "tips",
            "todo", "warning", "warnings",
        ),
        "text",
    ),
}  # fmt: skip

# Sections that list what their definition has.
OF_NAMES = frozenset(title for title, kind in _KINDS.items() if kind == "names")

_NAME = r"\*{0,2}`{0,2}\*{0,2}[^\W\d][\w.]*`{0,2}"
_GOOGLE = re.compile(r"\s{0,3}(?P<title>[A-Z][A-Za-z]*(?: [A-Za-z]+)?)\s*:\s*$")
_UNDERLINE = re.compile(r"\s*(-{3,}|={3,})\s*$")
_FIELD = re.compile(r"\s*[:@](?P<kind>[a-z]+)(?P<of>(?:\s+[^:\n]+?)?)\s*:(?:\s+(?P<said>.*))?$")
_NAMED = re.compile(
    rf"(?P<names>{_NAME}(?:\s*[,/]\s*{_NAME})*)\s*(?:\((?P<type>.+?)\))?\s*:(?:\s+(?P<said>.*))?$"
)
_TYPED = re.compile(rf"(?P<names>{_NAME}(?:\s*,\s*{_NAME})*)(?:\s*:(?P<again>:?)\s*(?P<type>.*))?$")
# Other names that are worth a look, each plain, in backticks or with a role; behind a comma the
# list goes on in the next line.
_OTHER = r"(?::[a-z][\w:]*:)?`[^`]+`_{0,2}|[^\W\d][\w.]*(?:\(\))?"
_OTHERS = re.compile(
    rf"(?P<names>(?:{_OTHER})(?:\s*,\s*(?:{_OTHER}))*)(?P<goes_on>,)?(?:\s*:(?:\s+(?P<said>.*))?)?$"
)
# A result begins with its type if that looks like one.
_RESULT = re.compile(
    r"(?P<type>`?[A-Za-z_][\w.]*(?:\[[^:]*\])?(?:\s*\|\s*[A-Za-z_][\w.]*(?:\[[^:]*\])?)*`?)"
    r"\s*:\s+(?P<said>\S.*)$"
)
# What is said of the entry above, though it isn't indented.
_GOES_ON = re.compile(r"(?:Defaults?|Note|Examples?)\s*:\s")
# A directive at the margin.
_DIRECTIVE = re.compile(r"\.\. +[A-Za-z][\w:.+-]* ?::(?:\s|$)")
_EXPLAINS = {"type": "param", "vartype": "var"}
# The mark of an item that Sphinx numbers.
_UNNUMBERED = re.compile(r"^(?P<blanks>\s*)#\.(?=\s)")
_SIGNS = re.compile(
    r"(?m)^\s*>>>|::[ \t]*$|^\s*\.\. |:[a-z]+::?`|`__?(?!\w)|>`|\]_|^\s*[:@][a-z]+[^:\n`]*:(?:\s|$)"
    r"|^\s*([-=~^\"*+#])\1{2,}\s*$|^\s*\+[-=]+\+|^\s{0,3}[A-Z]\w*(?: \w+)?[ \t]*:[ \t]*$"
    r"|:[ \t]*\n(?:[ \t]*\n)?[ \t]*(?:[-*+]|\d+[.)])[ \t]|^\s*\|[ \t][^|\n]+$|``\\ |\\ ``"
    r"|^ *={2,}(?: +={2,})+ *$|^\s*--?\w[^\n]*? {2,}\S|(?:\A|\n[ \t]*\n)( *)\S[^\n]*[^\s:]\n\2 +\S"
    r"|^ *(?:async )?(?:class|def|for|if|try|while|with)\b.*:[ \t]*\n +\S"
    rf"|{BARRED}|\](?:\((?::[a-z:]+:)?`|\[[\w`.()]*\])"
    r"|^\s*(?:`{3,}|~{3,})\{\w|(?<![\w\\])[BCEGILMSUX]\{|^\s*#\.\s|^\s*\(?[AaIi][.)] +\S|(?<!\]\()(?<![\w<\"'=/])https?://"
)

_REMARK = re.compile(r"( {0,3})#(?:\s+|$)")
_LISTED_REMARK = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(?=#\s)")
# What only Markdown has: blocks between marks, titles below the first level, links, bold letters.
_MARKDOWN = re.compile(r"(?m)^\s*(?:`{3}|~{3}|#{2,6}\s+\S)|\]\(|\*\*\w[^*\n]*\*\*|\$\S")
# What is still to be done is no title.
_TO_DO = re.compile(r" {0,3}# +(?:TODO|FIXME|XXX|HACK)\b")
_EMPTY = re.compile(r" {0,3}#{1,6}\s*$")
# What a line of code may begin with, below a remark.
_CODE = re.compile(
    r"\s*(?:@\w|(?:async |)(?:class|def|for|if|try|while|with)\b.*:$|(?:from \S+ )?import \S+"
    r"|[\w.]+ ?=(?!=)|[\w.]+\(.*\)$)"
)


def as_markdown(texts: Sequence[str], is_module: bool = False, style: str = "") -> list[TextLine]:
    r"""
    ## A docstring as Markdown

    `texts` are its lines. `style` is “google”, “numpy”, “sphinx” or “markdown”, or empty: then
    sections of the first three are looked for. Each line of the result knows which of them it comes
    from. What that of a module begins with and underlines is its title, whatever the line is drawn
    with.
    """
    lines = [TextLine(text, at) for at, text in enumerate(texts)]
    if is_module:
        lines = _with_title(lines)
    begin = _below_front_matter(texts)
    below = lines[begin:]
    if style in ("", "sphinx"):
        below = mended(below)
    text = "\n".join(line.text for line in below)
    if style != "markdown" and (_SIGNS.search(text) or without_stray(text) != text):
        below = _numbered(substituted(below))
        if not _has_sections_of_numpy(below):
            below = levelled(below)
        below = _sections(below, style)
    made = nested(below)
    if style != "markdown":
        written = [at for at, text in enumerate(texts) if text.strip()][1:]
        has_sections = style in ("", "numpy") and _has_sections_of_numpy(lines)
        has_no_title = has_sections or not (is_module or _MARKDOWN.search("\n".join(texts)))
        # Below a title stands what it is the title of, unless its author is still at it.
        filled = [text for text in texts if text.strip()]
        last = written[-1] if written and not _REMARK.match(filled[0]) else -1
        remarks = {
            at
            for at in written
            if _is_remark(texts[at]) and (has_no_title or at == last or _TO_DO.match(texts[at]))
        }
        made = _without_remarks(made, remarks)
    return lines[:begin] + made


def _is_remark(text: str) -> bool:
    match = _REMARK.match(text)
    # Keras once wrote “# Arguments”.
    return match is not None and text[match.end() :].strip().lower() not in _KINDS


def _numbered(lines: Sequence[TextLine]) -> list[TextLine]:
    r"""
    Lists that Sphinx numbers. Markdown numbers, too, whatever the numbers are.
    """
    made: list[TextLine] = []
    while len(made) < len(lines):
        at = len(made)
        end = end_of_fence(lines, at)
        if end > at:
            made += lines[at:end]
        else:
            made.append(TextLine(_UNNUMBERED.sub(r"\g<blanks>1.", lines[at].text), lines[at].at))
    return made


def _has_sections_of_numpy(lines: Sequence[TextLine]) -> bool:
    return any(_numpy_title(lines, at) in _KINDS for at in range(len(lines)))


def _without_remarks(lines: Sequence[TextLine], remarks: Set[int]) -> list[TextLine]:
    r"""
    Lines that begin with `# ` right below a text, above one another or above a line of code were
    comments, and their author quotes them: a title stands alone, or first, and has words. Where
    sections have a line below their titles, or nothing else in the docstring of a definition is
    Markdown, `remarks` are those that are none either.
    """
    made = list(lines)
    at = 0
    while at < len(lines):
        end = end_of_fence(lines, at)
        listed = _LISTED_REMARK.match(lines[at].text)
        if end == at and listed:
            text = lines[at].text
            made[at] = TextLine(f"{text[: listed.end()]}\\{text[listed.end() :]}", lines[at].at)
        elif end == at and _EMPTY.match(lines[at].text):
            made[at] = TextLine(lines[at].text.replace("#", "\\#", 1), lines[at].at)
        elif end == at and _REMARK.match(lines[at].text):
            above = at and not lines[at - 1].is_blank
            after = lines[at + 1].text if at and at + 1 < len(lines) else ""
            below = _REMARK.match(after) or _CODE.match(after)
            # Below the first line, a title is no sentence.
            is_sentence = at > 0 and lines[at].text.endswith(".")
            if above or below or is_sentence or lines[at].at in remarks:
                made[at] = TextLine(_REMARK.sub(r"\1\\# ", lines[at].text), lines[at].at)
        at = max(end, at + 1)
    return made


def others_named(texts: Sequence[str]) -> tuple[tuple[int, str, str], ...]:
    r"""
    ## What a docstring names as worth a look

    The number of the text, the name, and the same as the [end of a
    name](inline_marks.py#names_meant): under “See Also” nobody says where something is.
    """
    found: list[tuple[int, str, str]] = []
    for head in _heads_of_numpy(texts, {"others"}):
        match = _OTHERS.fullmatch(head.text.strip())
        names = re.findall(_OTHER, match["names"]) if match else []
        found += [(head.at, name, f".{name}") for name in names if "`" not in name]
    return tuple(found)


def doubled_colons(texts: Sequence[str]) -> Iterator[tuple[int, str]]:
    r"""
    ## What an author is told of two colons behind a name

    In a section of NumPy's there is one. The number of the text, and a sentence.
    """
    for head in _heads_of_numpy(texts, {"names", "results"}):
        match = _TYPED.fullmatch(head.text.strip())
        if match and match["again"]:
            names, about = match["names"], match["type"]
            yield head.at, f"“{names}::” has a colon too many; write “{names} : {about}”."


def _heads_of_numpy(texts: Sequence[str], kinds: Set[str]) -> Iterator[TextLine]:
    r"""
    The first lines of the entries in sections of some kinds.
    """
    lines = [TextLine(text, at) for at, text in enumerate(texts)]
    titles = [at for at in range(len(lines)) if _numpy_title(lines, at)] + [len(lines)]
    for at, end in pairwise(titles):
        if _KINDS.get(_numpy_title(lines, at)) in kinds:
            inside = dedented(_stripped(lines[at + 2 : end]))
            yield from (head for head, _ in _entries(inside))


def _with_title(lines: list[TextLine]) -> list[TextLine]:
    first = next((at for at, line in enumerate(lines) if not line.is_blank), len(lines))
    if first + 1 >= len(lines) or not RULE.match(lines[first + 1].text):
        return lines
    text = lines[first].text.strip()
    is_title = is_below(lines[first + 1].text, text) and not text.startswith("#")
    if RULE.match(text) or not is_title or text.lower() in _KINDS:
        return lines
    title = TextLine(f"# {inline(text)}", lines[first].at)
    return [*lines[:first], title, TextLine("", lines[first + 1].at), *lines[first + 2 :]]


def _below_front_matter(texts: Sequence[str]) -> int:
    marks = [at for at, text in enumerate(texts) if text.strip() == "---"]
    begins = bool(marks) and not any(text.strip() for text in texts[: marks[0]])
    return marks[1] + 1 if begins and len(marks) > 1 else 0


def _sections(lines: Sequence[TextLine], style: str) -> list[TextLine]:
    made: list[TextLine] = []
    prose: list[TextLine] = []
    looked_for = {style} if style else {"google", "numpy", "sphinx"}
    if not _has_sections_of_numpy(lines):
        looked_for -= {"numpy"}
    at = 0
    above_is_object = False
    while at < len(lines):
        end = end_of_fence(lines, at)
        if end > at:
            prose += lines[at:end]
            at = end
            continue
        found = described(lines, at)
        if found:
            # Its fields are its own.
            head, inside, after = found
            said = _sections(inside, style)
            section = indented(item(head, lines[at].at, said), place(lines, at))
        else:
            section, after = _section(lines, at, looked_for)
        if after == at:
            prose.append(lines[at])
            at += 1
            continue
        between = blocks(prose)
        _put_below(made, between)
        if found and above_is_object and all(line.is_blank for line in between):
            # An item of the same list.
            apart(made, section)
            made += section
        else:
            _put_below(made, section)
        above_is_object = found is not None
        prose = []
        if after < len(lines) and not lines[after].is_blank:
            made.append(TextLine("", lines[after].at))
        at = after
    _put_below(made, blocks(prose))
    return made


def _put_below(made: list[TextLine], block: Sequence[TextLine]) -> None:
    r"""
    What is said below a section is no item of its list, even if it begins with one.
    """
    first = next((line for line in block if not line.is_blank), None)
    above = next((line for line in reversed(made) if not line.is_blank and not line.indent), None)
    if first and above and not first.indent and all(LISTED.match(x.text) for x in (first, above)):
        between_lists(made, block)
    else:
        apart(made, block)
    made += block


def _section(
    lines: Sequence[TextLine], at: int, looked_for: Set[str]
) -> tuple[list[TextLine], int]:
    r"""
    The section that begins at a line, and the line behind it; the line itself if none does.
    """
    title = _numpy_title(lines, at) if "numpy" in looked_for else ""
    if title:
        end = next(
            (i for i in range(at + 2, len(lines)) if _ends_section(lines, i, looked_for)),
            len(lines),
        )
        return _numpy(lines[at], _KINDS.get(title, "text"), lines[at + 2 : end]), end
    match = _GOOGLE.match(lines[at].text) if "google" in looked_for else None
    if match:
        inside, end = body(lines, at + 1, lines[at].indent)
        kind = _KINDS.get(match["title"].lower()) or _kind_of_own(lines, at, inside)
        if inside and kind:
            return _google(lines[at], kind, inside), end
    if "sphinx" in looked_for and _is_field(lines[at]):
        return _fields(lines, at)
    return [], at


def _ends_section(lines: Sequence[TextLine], at: int, looked_for: Set[str]) -> bool:
    r"""
    Whether another title follows, or fields at the margin do, which belong to no section.
    """
    is_field = "sphinx" in looked_for and not lines[at].indent and _is_field(lines[at])
    return bool(_numpy_title(lines, at)) or (is_field and lines[at - 1].is_blank)


def _kind_of_own(lines: Sequence[TextLine], at: int, inside: Sequence[TextLine]) -> str:
    r"""
    What a section has that its author has named, as “Call arguments:” of Keras. It is a paragraph
    of its own, its lines stand right below, and are none of a list; else it isn't one.
    """
    begins = at == 0 or lines[at - 1].is_blank
    if not inside or not begins or lines[at + 1].is_blank or LISTED.match(inside[0].text):
        return ""
    return "names" if all(_NAMED.match(line.text.strip()) for line in _heads(inside)) else "text"


def _numpy_title(lines: Sequence[TextLine], at: int) -> str:
    r"""
    A title that is underlined in full, in lower case.
    """
    if at + 1 >= len(lines) or lines[at].is_blank or not _UNDERLINE.match(lines[at + 1].text):
        return ""
    text = lines[at].text.strip()
    is_long = len(lines[at + 1].text.strip()) >= min(len(text) - 1, 4)
    above_is_blank = at == 0 or lines[at - 1].is_blank
    is_title = is_long and lines[at].indent < 4 and not text.startswith(("#", "|", ">"))
    known = text.lower().rstrip(":")
    return known if is_title and (above_is_blank or known in _KINDS) else ""


def _titled(line: TextLine) -> list[TextLine]:
    title = line.text.strip().rstrip(":")
    return [TextLine(f"**{inline(title)}**", line.at), TextLine("", line.at)]


def _numpy(title: TextLine, kind: str, inside: Sequence[TextLine]) -> list[TextLine]:
    return [*_titled(title), *_of_numpy(kind, dedented(_stripped(inside)))]


def _of_numpy(kind: str, inside: Sequence[TextLine]) -> list[TextLine]:
    r"""
    What stands below the title of a section. A directive between the entries is none of them.
    """
    inside = _stripped(inside)
    if not inside:
        return []
    if kind == "text":
        return _text(inside)
    if kind == "others":
        return _others(inside)
    begin = next((at for at, line in enumerate(inside) if _DIRECTIVE.match(line.text)), None)
    if begin is not None:
        end = body(inside, begin + 1, 0)[1]
        made = _of_numpy(kind, inside[:begin])
        for block in (blocks(inside[begin:end]), _of_numpy(kind, inside[end:])):
            _put_below(made, block)
        return made
    items: list[Item] = []
    for head, said in _entries(inside):
        match = _TYPED.fullmatch(head.text.strip())
        about = (match["type"] or "").strip() if match else ""
        if kind == "names" and match and match["names"] != "None":
            shown = _names(match["names"]) + (f" ({emphasised(about)})" if about else "")
        elif kind == "names":
            # Not a name, or that there is none: what stands there is text.
            return blocks(inside)
        elif about and match:
            shown = f"{emphasised(match['names'])} ({emphasised(about)})"
        else:
            shown = emphasised(head.text.strip().rstrip(":"))
        items.append(Item(shown, head.at, said))
    is_prose = kind in ("results", "errors") and not any(item.said for item in items)
    if is_prose and not all(_TYPED.fullmatch(line.text.strip()) for line in _heads(inside)):
        return blocks(inside)
    return listed(items)


def _text(inside: Sequence[TextLine]) -> list[TextLine]:
    r"""
    Text, or an example that is nothing but code.
    """
    inside = _stripped(inside)
    is_example = is_code("\n".join(line.text for line in inside))
    return fenced(inside, "python") if is_example else blocks(inside)


def _others(inside: Sequence[TextLine]) -> list[TextLine]:
    r"""
    Names of other things, several in a line or in lines that end with a comma, with what is said of
    them there or below. Text that isn't such a list stays text.
    """
    items: list[Item] = []
    waiting: list[str] = []
    at = 0
    for head, said in _entries(inside):
        match = _OTHERS.fullmatch(head.text.strip())
        if match is None:
            return blocks(inside)
        at = at if waiting else head.at
        waiting += re.findall(_OTHER, match["names"])
        if match["goes_on"] and not said and match["said"] is None:
            continue
        opening = [TextLine(match["said"], head.at)] if match["said"] else []
        items.append(Item(_other_names(waiting), at, opening + said))
        waiting = []
    if waiting:
        items.append(Item(_other_names(waiting), at, []))
    return listed(items)


def _other_names(names: Sequence[str]) -> str:
    return ", ".join(inline(name) if "`" in name else f"`{name}`" for name in names)


def _heads(lines: Sequence[TextLine]) -> list[TextLine]:
    return [line for line in lines if not line.is_blank and not line.indent]


def _entries(inside: Sequence[TextLine]) -> Iterator[tuple[TextLine, list[TextLine]]]:
    r"""
    Each line that is not indented, with what is indented below it.
    """
    at = 0
    while at < len(inside):
        if inside[at].is_blank:
            at += 1
            continue
        said, end = body(inside, at + 1, 0)
        yield inside[at], said
        at = end


def _google(title: TextLine, kind: str, inside: Sequence[TextLine]) -> list[TextLine]:
    forms = {"names": _NAMED, "errors": _NAMED, "results": _RESULT}
    form = forms.get(kind)
    if kind == "text":
        return [*_titled(title), *_text(inside)]
    first = next(iter(_heads(inside)), None)
    if form is None or first is None or not form.match(first.text.strip()):
        return [*_titled(title), *blocks(inside)]
    items: list[Item] = []
    for head, said in _entries(inside):
        match = form.match(head.text.strip())
        if match is None or (items and _GOES_ON.match(head.text.strip())):
            # A line that isn't indented goes on with the entry above it.
            items[-1].said.extend([head, *indented(said, "    ")])
            continue
        opening = [TextLine(match["said"], head.at)] if match["said"] else []
        if opening and said and said[0].at > head.at + 1:
            # Another paragraph, a table or a list, below an empty line.
            opening.append(TextLine("", head.at + 1))
        if kind == "results":
            shown = emphasised(match["type"])
        else:
            about = (match["type"] or "").strip()
            names = _names(match["names"]) if kind == "names" else emphasised(match["names"])
            shown = names + (f" ({emphasised(about)})" if about else "")
        items.append(Item(shown, head.at, opening + said))
    return [*_titled(title), *listed(items)]


def _names(names: str) -> str:
    r"""
    Names of arguments, as code.
    """
    parts = (part.strip().replace("`", "").replace("\\", "") for part in re.split(r"[,/]", names))
    return ", ".join(f"`{part}`" for part in parts)


def _stripped(lines: Sequence[TextLine]) -> Sequence[TextLine]:
    filled = [at for at, line in enumerate(lines) if not line.is_blank]
    return lines[filled[0] : filled[-1] + 1] if filled else []


def _is_field(line: TextLine) -> bool:
    match = _FIELD.match(line.text)
    # Without a name, it is an option of a directive, unless it stands at the margin.
    is_option = match is not None and match["kind"] == "type" and not match["of"] and line.indent
    return match is not None and is_known(match["kind"], line) and not is_option


def joined_types(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    r"""
    ## Lines that say the type of an argument

    Each with the line of the argument, which the type has joined. Lines are numbered from 0.
    """
    lines = [TextLine(text, at) for at, text in enumerate(texts)]
    fields = [(at, match) for at, text in enumerate(texts) if (match := _FIELD.match(text))]
    items = {
        (FIELDS[match["kind"]], _name_and_type(match["of"])[0]): at
        for at, match in reversed(fields)
        if match["kind"] in FIELDS and match["kind"] not in TYPES
    }
    for at, match in fields:
        item_at = items.get((FIELDS.get(match["kind"], ""), match["of"].strip()))
        if match["kind"] in TYPES and item_at is not None:
            yield from ((line, item_at) for line in range(at, _said(lines, at)[1]))


class _Field(NamedTuple):
    kind: str
    of: str
    at: int
    said: list[TextLine]


def _fields(lines: Sequence[TextLine], at: int) -> tuple[list[TextLine], int]:
    r"""
    A run of fields. What is said of the type of an argument joins the argument.
    """
    fields: list[_Field] = []
    end = at
    while at < len(lines):
        if lines[at].is_blank:
            at += 1
            continue
        match = _FIELD.match(lines[at].text)
        # One that nobody knows is a field among others.
        if match is None or not (fields or is_known(match["kind"], lines[at])):
            break
        said, end = _said(lines, at)
        opening = [TextLine(match["said"], lines[at].at)] if match["said"] else []
        if match["kind"] != "meta":
            kind, of = match["kind"], match["of"].strip()
            # With a type before the name, it says of the argument what one without would.
            kind = _EXPLAINS.get(kind, kind) if " " in of else kind
            fields.append(_Field(kind, of, lines[at].at, opening + said))
        at = end
    return list(_of_fields(fields)), end


def _said(lines: Sequence[TextLine], at: int) -> tuple[list[TextLine], int]:
    r"""
    What is indented below a field; a line right below it needs no indentation.
    """
    after = at + 1
    while after < len(lines) and not lines[after].is_blank and not _FIELD.match(lines[after].text):
        after += 1
    direct = lines[at + 1 : after]
    more, end = body(lines, after, lines[at].indent)
    if not more:
        return dedented(direct), after
    if direct and all(line.indent > lines[at].indent for line in direct):
        # What stands further to the right below them is code that they announce.
        return dedented(lines[at + 1 : end]), end
    if direct and direct[-1].text.rstrip().endswith("::"):
        more = indented(more, "    ")
    return [*dedented(direct), TextLine("", more[0].at), *more], end


def _of_fields(fields: Sequence[_Field]) -> Iterator[TextLine]:
    types = {(FIELDS[field.kind], field.of): field for field in fields if field.kind in TYPES}
    explained = {
        (FIELDS.get(field.kind, ""), _name_and_type(field.of)[0])
        for field in fields
        if field.kind not in TYPES
    }
    title = ""
    for field in fields:
        section = FIELDS.get(field.kind, "")
        if not section:
            head = f"**{inline(f'{field.kind} {field.of}'.strip())}**"
            yield from listed([Item(head, field.at, field.said)])
            continue
        name, about = _name_and_type(field.of)
        if field.kind in TYPES and (section, name) in explained:
            continue
        if field.kind in TYPES and not name and section in ("Arguments", "Attributes"):
            # That of what the docstring is about, as of a property.
            section = "Type"
        known = types.get((FIELDS[field.kind], name))
        told = " ".join(line.text for line in known.said) if known else ""
        about = about or told.strip()
        said = [] if field.kind in TYPES else field.said
        if not (name or about or said):
            # Nobody has filled it in.
            continue
        if section != title:
            title = section
            yield TextLine("", field.at)
            yield from _titled(TextLine(title, field.at))
        yield from _field(section, name, about, said, field.at)


def _name_and_type(of: str) -> tuple[str, str]:
    r"""
    The name that a field is of, or several with commas between them, and what stands before it.
    """
    *before, name = of.split() or [""]
    while before and before[-1].endswith(","):
        name = f"{before.pop()} {name}"
    return name, " ".join(before)


def _field(
    section: str, name: str, about: str, said: list[TextLine], at: int
) -> Iterator[TextLine]:
    if section in ("Returns", "Yields"):
        # In “:returns bool:” the type stands where Sphinx wants nothing.
        opening = emphasised(f"{name} {about}".strip())
        if not opening:
            yield from blocks(said)
            return
        yield from listed([Item(opening, at, said)])
        return
    errors = ", ".join(map(emphasised, name.split(", ")))
    shown = errors if section == "Raises" else _names(name) if name else ""
    if about:
        shown = f"{shown} ({emphasised(about)})" if shown else emphasised(about)
    yield from listed([Item(shown, at, said)])

r"""
---
title: Marks inside a line
summary: Roles, links, footnotes and citations of Sphinx become those of Markdown.
---

Inside a line, [reStructuredText](restructured.py) has marks that mean nothing in Markdown: a role,
`` :class:`Tensor` ``, a link with an underscore behind it, the mark of a footnote. Each becomes
what a reader of Sphinx sees. What the short name of a role means is kept beside the text.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from literate.reading.epytext import as_restructured
from literate.reading.text_lines import escaped

# The roles whose text is a name in code; what others hold is in a language of its own, or is words.
_NAMES = set("any attr class const data exc func meth mod obj worded".split())
_FULL = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)+")
# Before a name that is meant in a module of Python, and before one whose words are no code.
OF_PYTHON = "python:"
IN_WORDS = "words:"

# Links that lead to a name: quartodoc has it between backticks, with a role or without, and
# mkdocstrings between brackets, full. The end of a host is none.
_DOTTED = r"[^\W\d]\w*(?:\.[^\W\d]\w*)+(?:\(\))?"
_LEADING = re.compile(
    r"``(?:[^`]|`(?!`))+``|(?<![\w\\!\]`:])\[(?P<words>[^\[\]<>]*)\]"
    r"(?:\((?::(?P<role>[a-z]+(?::[a-z]+)?):)?`(?P<to>[^`\s<>]+)`\)"
    rf"|(?<!\[\])\[`?(?!\S+\.(?:com|dev|html|io|md|net|org)\b)(?P<full>{_DOTTED})`?\])"
    rf"|(?<![\w\\!\]`:])\[(?P<same>`{_DOTTED}`|{_DOTTED})\]\[\]|`[^`]*`"
)
# What directives are called, and the roles that their authors mean.
_MEANT = {
    "attribute": "attr", "classmethod": "meth", "exception": "exc", "function": "func",
    "method": "meth", "module": "mod", "property": "attr", "staticmethod": "meth",
}  # fmt: skip
# An address can have pairs of brackets, and ends before a bracket that stands alone. It is taken
# whole or not at all: with `<` or `{` behind it, it is a template, as `https://host/<name>` is.
_SIGN = r"[^\s<>()\[\]{}`\"']"
_PAIR = rf"\({_SIGN}*+\)|\[{_SIGN}*+\]"
BARE = rf"(?P<bare>https?://(?=\w)(?:{_SIGN}|{_PAIR})++)(?![<{{])"
# What ends a sentence or an emphasis, and no address.
AFTER = ".,;:!?*_"
# A name of several words between bars: one word alone can be a formula.
BARRED = (
    r"(?<![\w|\\])\|(?P<barred>[A-Za-z]\w+(?:[.-]\w{2,})+|[A-Za-z]\w+_\w{2,}|[A-Z][a-z]+[A-Z]\w+)"
    r"\|_{0,2}(?![\w|])"
)
# A backslash and a blank are nothing, and set a role apart from letters; that behind it may have no
# blank.
_INLINE = re.compile(
    r"(?P<literal>(?:(?<=\S)\\ )?``(?:[^`]|`(?!`))+``(?:\\ )?)"
    r"|(?:(?<=\S)\\ |(?<![\w`:])|(?<=`:)):(?P<role>[a-z][\w+.-]*(?::[a-z]\w*){0,2}:?):"
    r"`(?P<said>[^`]+)`"
    r"(?:\\ |\\(?=\w))?"
    r"|`(?P<words>[^`<]*?)\s*<(?P<address>[^`<>\s]+)>`__?(?!\w)"
    r"|`(?P<reference>[^`]+)`__?(?![\w`])"
    r"|(?<![\w`])`(?P<shown>[^`<]*[^`<\s])\s+<(?P<meant>[~.!]?[A-Za-z_][\w.]*)>`(?![\w`])"
    r"|(?<![\w`])`(?P<short>~\.?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\(\))?)`(?![\w`])"
    r"|`[^`]*`"
    r"|(?:(?<=\S)\\ )?\[(?P<cited>\w[\w.-]*|[#*])\]_(?!\w)"
    rf"|(?<!\.\. ){BARRED}"
    # What Markdown or HTML says of an address is left as it is: a link with all its words.
    r"|\[[^\[\]`]++\]\(\s*(?:[^()`\n]|\([^()`\n]*+\))++\)"
    rf"|(?<!\]\()(?<!\]: )(?<![\w<\"'=/]){BARE}"
)
# Roles with the number of a document, and where it stands.
_NUMBERED = {
    "pep": "https://peps.python.org/pep-{:04}/",
    "rfc": "https://datatracker.ietf.org/doc/html/rfc{}",
}
# What can stand low or high without TeX.
_LOW = str.maketrans("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
_HIGH = str.maketrans(
    "0123456789+-=()abcdefghijklmnoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
)
_SHIFTED = {"sub": (_LOW, "_"), "subscript": (_LOW, "_"), "sup": (_HIGH, "^")}
_SHIFTED["superscript"] = _SHIFTED["sup"]
# Words that stand out inside of others: all of them will.
_STARRED = re.compile(r"(?<![\w*])\*(\w(?:[^*]*\w)?)\*(?![\w*])")
# A literal, a backtick that is none of two, and a blank line or a mark where another text begins.
_TICKS = re.compile(
    r"``(?:[^`]|`(?!`))+``|(?<!`)(?P<tick>`)(?!`)"
    r"|(?P<begins>\n(?=\s*(?:\n|[-*+] |\d+[.)] |:[a-z]+[^:`\n]*:\s)))"
)
# Behind what a literal may begin, in reStructuredText.
_OPENS = re.compile(r"(?:^|[\s'\"(\[{<:/=~|,*-])$")
# A role, which only a backtick that begins its text can follow.
_OF_ROLE = re.compile(r"(?<![\w`:]):[a-z][\w+.-]*(?::[a-z]\w*){0,2}:$")
# One backtick too many behind a name in one or two of them.
_UNEVEN = re.compile(
    r"(?<![`\w])(?:(?P<one>`[\w.]+(?:\(\))?`)`|(?P<two>``[\w.]+(?:\(\))?``)`)(?![`\w])"
)
# In place of a backtick that is no mark.
_STRAY = "\ue060"
_ENDLESS = re.compile(rf"(?<![\w`:]):(?P<role>[a-z][\w+.-]*(?::[a-z]\w*){{0,2}}):{_STRAY}")
# A role with a blank or with two backticks before its text, which Sphinx shows as it is typed.
_APART = re.compile(
    r"(?<![\w`:]):(?P<role>(?:py:)?(?:attr|class|const|data|exc|func|math|meth|mod|obj|ref)):"
    r"(?:[ ]+(?=`[^`\s])|(?P<twice>(?=``[^`\s])))"
)


def emphasised(text: str) -> str:
    r"""
    ## Words in italics

    What has marks of its own is left as it is.
    """
    text = as_restructured(" ".join(text.split()))
    if "`" in text:
        return inline(text)
    text = _STARRED.sub(r"\1", text)
    return f"*{escaped(text)}*" if text else ""


def inline(text: str) -> str:
    r"""
    ## The marks inside a line

    Roles, links and citations. Line ends stay.
    """

    def made(match: re.Match[str]) -> str:
        shown, ends = _spread(_inline(match), match)
        return f"{ends}{shown}" if _moves_down(match) else f"{shown}{ends}"

    text = _APART.sub(
        lambda match: "" if match["twice"] is not None else f":{match['role']}:",
        _read(text),
    )
    return _INLINE.sub(made, text).replace(_STRAY, "\\`")


def has_roles(text: str) -> bool:
    r"""
    ## Does a text have roles?

    Or marks of epytext that mean the same. No other language has them.
    """
    read = _LEADING.sub(_as_role, as_restructured(text))
    return any(match["role"] for match in _INLINE.finditer(text)) or read != text


def _spread(shown: str, match: re.Match[str]) -> tuple[str, str]:
    r"""
    What is shown of a mark, with as many ends of lines as it has blanks for, and those that are
    left over.
    """
    left = match[0].count("\n") - shown.count("\n")
    blanks = shown.count(" ")
    return shown.replace(" ", "\n", left), "\n" * (left - blanks)


def _moves_down(match: re.Match[str]) -> bool:
    r"""
    Whether what is shown of a mark that goes on in another line stands there. Where nothing is
    behind the mark, an empty line would end the paragraph; and before a full stop, the end of the
    line would be a blank.
    """
    before = match.string[: match.start()].rpartition("\n")[2]
    after = match.string[match.end() :].partition("\n")[0]
    is_last = not after.strip()
    is_joined = before[-1:].isspace() and not after[:1].isspace()
    return bool(before.strip()) and (is_last or is_joined)


def _read(text: str) -> str:
    led = _LEADING.sub(_as_role, as_restructured(text))
    return without_stray(_UNEVEN.sub(r"\g<one>\g<two>", led))


def _as_role(link: re.Match[str]) -> str:
    r"""
    A link to a name as the role that means the same. Its words are code if they are so in it.
    """
    name = (link["to"] or link["full"] or link["same"] or "").strip("`")
    words = (link["words"] or "").strip("`")
    if not name:
        return link[0]
    role = link["role"] or ("worded" if words == link["words"] != "" else "any")
    return f":{role}:`{words} <{name}>`" if words else f":{role}:`{name}`"


def without_stray(text: str) -> str:
    r"""
    ## A text whose backticks are pairs

    If there is one too many in a paragraph, Markdown makes code of all that is none. In Sphinx, one
    that begins code stands before its first sign, and behind no letter. One that can't begin any is
    the one too many, and a sign of its own takes its place.
    """
    stray: list[int] = []
    ticks: list[int] = []
    for match in [*_TICKS.finditer(text), None]:
        if match and match["tick"]:
            ticks += _marks(text, match.start(), ticks)
        elif match is None or match["begins"]:
            stray += _unpaired(text, ticks) if len(ticks) % 2 else []
            ticks = []
    letters = list(text)
    for at in stray:
        letters[at] = _STRAY
    return "".join(letters)


def _marks(text: str, at: int, before: Sequence[int]) -> list[int]:
    r"""
    The backtick at a place, if it is a mark. A backslash makes it a sign of its own, but not in
    code, which may end with a backslash.
    """
    if not text[:at].endswith("\\"):
        return [at]
    is_in_code = len(before) % 2 and _OPENS.search(text[max(before[-1] - 1, 0) : before[-1]])
    return [at] if is_in_code else []


def _unpaired(text: str, ticks: Sequence[int]) -> list[int]:
    unpaired: list[int] = []
    begun: int | None = None
    for at in ticks:
        opens = _OPENS.search(text[max(at - 1, 0) : at]) and text[at + 1 : at + 2].strip()
        is_of_role = opens and _OF_ROLE.search(text[text.rfind("\n", 0, at) + 1 : at])
        closes = text[at - 1 : at].strip() if at and not is_of_role else ""
        if begun is not None and closes:
            begun = None
        elif opens:
            unpaired += [] if begun is None else [begun]
            begun = at
        else:
            unpaired.append(at)
    return unpaired if begun is None else [*unpaired, begun]


def _inline(match: re.Match[str]) -> str:
    if match["role"]:
        return _role(_role_of(match), match["said"])
    if match["address"]:
        words = match["words"] or match["address"]
        # One that ends so is the name of an address, which nobody has given.
        is_name = re.fullmatch(r"[\w.-]+_", match["address"])
        return words.removesuffix("_") if is_name else f"[{words}]({match['address']})"
    if match["reference"]:
        return match["reference"]
    if match["shown"]:
        # Where names need no role: the words, and then what they lead to.
        return f"`{match['shown']}`"
    if match["short"]:
        return f"`{_named(match['short'])[0]}`"
    if match["cited"]:
        return f"[{match['cited']}]"
    if match["barred"]:
        return match[0] if _is_in_table(match) else escaped(match["barred"])
    if match["bare"]:
        address = match["bare"].rstrip(AFTER)
        return f"[{escaped(address)}]({address}){match['bare'][len(address) :]}"
    if match["literal"]:
        return match["literal"].removeprefix("\\ ").removesuffix("\\ ")
    return match[0]


def _is_in_table(match: re.Match[str]) -> bool:
    r"""
    Whether a row of a table stands above or below, so that bars are the edges of a cell.
    """
    above = re.search(r"\|[ \t]*\n[ \t]*$", match.string[: match.start()])
    return bool(above or re.match(r"[ \t]*\n[ \t]*\|", match.string[match.end() :]))


def _role_of(match: re.Match[str]) -> str:
    r"""
    The role without its domain, as its author means it.
    """
    name: str = match["role"].rstrip(":").split(":")[-1]
    return _MEANT.get(name, name)


def names_of_roles(texts: Iterable[str]) -> Iterator[tuple[int, str]]:
    r"""
    ## The full names that roles give

    With the number of the text, from 0. Without those that are to lead nowhere, and ends of names.
    """
    text = _read("\n".join(texts))
    for match in _INLINE.finditer(text):
        if match["role"] and _role_of(match) in _NAMES:
            name = _named(match["said"])[1].removesuffix("()")
            if _FULL.fullmatch(name):
                yield text.count("\n", 0, match.start()), name


def labels_named(texts: Iterable[str]) -> Iterator[tuple[int, str]]:
    r"""
    ## The labels that references name

    With the number of the text, from 0. Not those of another project.
    """
    text = _read("\n".join(texts))
    for match in _INLINE.finditer(text):
        if match["role"] and _role_of(match) in ("numref", "ref"):
            label = _words_and_target(match["said"])[1]
            if ":" not in label and not match["role"].startswith("external"):
                yield text.count("\n", 0, match.start()), " ".join(label.split())


def substitutions_named(text: str) -> Iterator[tuple[int, str]]:
    r"""
    ## The names between bars that stand for something else

    With the number of the line, from 0.
    """
    for match in _INLINE.finditer(_read(text)):
        if match["barred"] and not _is_in_table(match):
            yield text.count("\n", 0, match.start()), match["barred"]


def misspelt_roles(texts: Iterable[str]) -> Iterator[tuple[int, str]]:
    r"""
    ## Roles that Sphinx doesn't know, that don't end, or that stand apart from their text

    The number of the text, from 0, and a sentence for its author.
    """
    text = "\n".join(texts)
    for match in _UNEVEN.finditer(text):
        sentence = f"“{match[0]}” has a backtick too many."
        yield text.count("\n", 0, match.start()), sentence
    text = _read(text)
    for match in _ENDLESS.finditer(text):
        sentence = f"“:{match['role']}:” has no backtick behind its text; close it."
        yield text.count("\n", 0, match.start()), sentence
    for match in _APART.finditer(text):
        role = match["role"]
        what = "a blank" if match["twice"] is None else "two backticks"
        sentence = f"“:{role}:” has {what} before its text, and is no role so; write “:{role}:`…`”."
        yield text.count("\n", 0, match.start()), sentence
    for match in _INLINE.finditer(text):
        role = match["role"] or ""
        domain, *more = role.rstrip(":").split(":")
        # Some belong to a project that is said in front.
        is_long = len(more) > 1 and not domain.startswith("external")
        known = _role_of(match) if role else ""
        if role.endswith(":") or is_long or (known in _NAMES and not role.endswith(known)):
            meant = f"{domain}:{known}" if more else known
            sentence = f"“:{role}:” is no role of Sphinx; write “:{meant}:”."
            yield text.count("\n", 0, match.start()), sentence


def _role(role: str, said: str) -> str:
    if role == "math":
        return f"${said.strip()}$"
    if role in _NAMES:
        return f"`{_named(said)[0]}`"
    if role in _SHIFTED:
        return _shifted(said, *_SHIFTED[role])
    words, target = _words_and_target(said)
    shown = words or target
    if role in ("code", "samp"):
        return f"`{said}`"
    if role in ("doc", "ref", "numref", "term"):
        return shown
    if role in _NUMBERED and said.isdigit():
        return f"[{role.upper()} {said}]({_NUMBERED[role].format(int(said))})"
    if role in _NUMBERED:
        return f"{role.upper()} {said}"
    return emphasised(shown)


def _shifted(said: str, letters: dict[int, int], mark: str) -> str:
    r"""
    What stands lower or higher than its line: as letters that do, or else as a formula.
    """
    if all(ord(letter) in letters for letter in said):
        return said.translate(letters)
    return rf"${{}}{mark}{{\text{{{said.strip()}}}}}$"


def _words_and_target(said: str) -> tuple[str, str]:
    r"""
    The words of a role, empty if it has none of its own, and the target, as it is written.
    """
    words, mark, target = said.partition("<")
    if mark and words.strip() and target.endswith(">"):
        return words.strip(), target.removesuffix(">").strip()
    return "", said


def _named(said: str) -> tuple[str, str]:
    r"""
    What is shown of the name of something, and the whole name: empty, if it is to lead nowhere.
    """
    words, target = _words_and_target(said)
    # One that goes on in the next line.
    target = re.sub(r"\.\s+", ".", target)
    name = target.lstrip("~!.")
    # With a tilde only the last part is shown.
    shown = words or (name.rpartition(".")[2] if target.startswith("~") else name)
    return " ".join(shown.split()), "" if target.startswith("!") else target.lstrip("~")


def names_meant(texts: Iterable[str]) -> tuple[tuple[int, str, str], ...]:
    r"""
    ## The names that are shown otherwise

    In the texts of a docstring: the number of the text, from 0, what is shown, and the name that is
    meant. One with a point in front is the end of a name. The full name of something in a module of
    Python has a mark in front: in a role it is no word, and needs no import.
    """
    text = _read("\n".join(texts))
    found: dict[tuple[int, str], set[str]] = {}
    for match in _INLINE.finditer(text):
        said = match["said"] if match["role"] and _role_of(match) in _NAMES else ""
        said = f"{match['shown']} <{match['meant']}>" if match["shown"] else said or match["short"]
        if said:
            shown, name = _named(said)
            root, _, rest = name.partition(".")
            is_full = match["role"] and (rest or _role_of(match) == "mod")
            if is_full and root in sys.stdlib_module_names:
                name = f"{OF_PYTHON}{name}"
            if match["role"] == "worded":
                name = f"{IN_WORDS}{name}"
            ends = len(_spread(shown, match)[1]) if _moves_down(match) else 0
            at = text.count("\n", 0, match.start()) + ends
            found.setdefault((at, shown), set()).add(name)
    only = ((at, shown, names.pop()) for (at, shown), names in found.items() if len(names) == 1)
    return tuple((at, shown, name) for at, shown, name in only if name != shown)

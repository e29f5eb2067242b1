r"""
---
title: Epytext
summary: The marks of epytext inside a line become roles, literals and links of reStructuredText.
---

Before Sphinx there was epydoc, and packages such as Twisted still write for it: `L{Deferred}` is a
link, `C{None}` is code, `I{now}` is in italics. Each mark becomes what means the same in
[reStructuredText](restructured.py), so that everything behind this step knows one language. A line
stays a line. A letter before a brace can also be a formula or the pattern of a regular expression:
so a mark has an end in its paragraph.
"""

import re
import sys
from html.entities import html5

from literate.reading.text_lines import escaped

# What has a meaning of its own, or else a letter with the brace behind it.
_NEXT = re.compile(
    r"``(?:[^`]|`(?!`))+``|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$"
    r"|(?<![\w\\^$])(?P<mark>[BCEGILMSUX])\{",
    re.DOTALL,
)
# Numbers say how often something stands in a pattern, unless a blank or a bracket is before it.
_COUNT = re.compile(r"[\d,\s]*")
_FREE = re.compile(r"(?:^|[\s(])$")
_TARGET = re.compile(r"(?P<words>[^<]*)<(?P<target>[^<>]+)>\s*")
_NAME = re.compile(r"[^\W\d][\w.]*(?:\(\))?")
_SCHEME = re.compile(r"[a-z]+:")
_BRACES = {"lb": "{", "rb": "}"}
_ARROWS = {"<-": "←", "->": "→", "^": "↑", "v": "↓", "<=": "≤", ">=": "≥"}
_GRAPH = re.compile(r"\w+(?:tree|graph)\b.*", re.DOTALL)


def as_restructured(text: str) -> str:
    r"""
    ## A text with the marks of reStructuredText in place of those of epytext
    """
    made: list[str] = []
    at = 0
    while match := _NEXT.search(text, at):
        end = _end(text, match.end()) if match["mark"] else 0
        inside = text[match.end() : end - 1]
        is_count = _COUNT.fullmatch(inside) and not _FREE.search(text[: match.start()])
        shown = _set(match["mark"], inside) if end and not is_count else None
        made += [text[at : match.start()], match[0] if shown is None else shown]
        at = match.end() if shown is None else end
    return "".join([*made, text[at:]])


def _end(text: str, begin: int) -> int:
    r"""
    The place behind the brace that closes one before `begin`, in the same paragraph; 0 without one.
    """
    open_braces = 1
    for match in re.finditer(r"[{}]|\n\s*\n", text[begin:]):
        if match[0] not in "{}":
            break
        open_braces += 1 if match[0] == "{" else -1
        if not open_braces:
            return begin + match.end()
    return 0


def _set(mark: str, inside: str) -> str | None:
    r"""
    What a mark becomes; None, if it is none.
    """
    if mark == "E":
        is_sign = len(inside) == 1 and not inside.isalpha()
        sign = inside if is_sign else _BRACES.get(inside)
        return sign and escaped(sign)
    if mark == "S":
        return _ARROWS.get(inside) or html5.get(f"{inside};")
    if mark == "G" and not _GRAPH.fullmatch(inside):
        return None
    if mark in "CG":
        return _literal(_without_marks(inside))
    if mark in "LU":
        return _link(_without_marks(inside), mark == "U")
    if mark in "MX" and len(inside) == 1:
        return None
    words = inside.strip()
    marked = as_restructured(words)
    stars = "**" if mark == "B" else "*"
    return f"{stars}{escaped(words) if marked == words else marked}{stars}"


def _without_marks(text: str) -> str:
    r"""
    A text that stands inside a mark, where it can't have others.
    """
    made: list[str] = []
    at = 0
    while match := _NEXT.search(text, at):
        end = _end(text, match.end()) if match["mark"] else 0
        inside = text[match.end() : end - 1]
        shown = _BRACES.get(inside, inside) if match["mark"] == "E" else _without_marks(inside)
        made += [text[at : match.start()], shown if end else match[0]]
        at = end or match.end()
    return "".join([*made, text[at:]])


def _literal(code: str) -> str:
    edge = " " if code.startswith("`") or code.endswith("`") else ""
    return f"``{edge}{code}{edge}``"


def _link(inside: str, leads_out: bool) -> str:
    r"""
    A link to an address, or to a name, which may be the end of a longer one: it is said from where
    it is used.
    """
    match = _TARGET.fullmatch(inside)
    words = match["words"].rstrip() if match else ""
    target = match["target"] if match else inside
    address = "".join(target.split())
    # The ends of lines in a target move before it and among the words: no line is lost.
    ends = inside.count("\n") - words.count("\n")
    words = (words or address).replace(" ", "\n", max(ends - 1, 0))
    before = "\n" if ends else " "
    if leads_out or _SCHEME.match(address):
        scheme = "" if _SCHEME.match(address) else "http://"
        return f"`{words}{before}<{scheme}{address}>`_"
    if not _NAME.fullmatch(address) or (not match and " " in target.strip()):
        return _literal(inside)
    root = address.partition(".")[0]
    is_end = "." in address and root not in sys.stdlib_module_names
    meant = f".{address}" if is_end else address
    return f":any:`{words}{before}<{meant}>`"

r"""
---
title: Terms and Options
summary: Lists of reStructuredText that have no marks, a term with what it means indented below it.
---

Two lists of reStructuredText have no marks before their items. In one, what a term means is
indented below it; in the other, an option of a command has what it does behind it, or below.

```text
term                           -q, --quiet    say nothing
    What it means.             --out=FILE     the file that is
other : of some kind                          written
    Something else.
```

Any text whose second line is indented has the first form; most authors who write one mean nothing
by it. So a term is one only if it looks like one: it has marks of code or emphasis around it, or is
short, and no sentence goes on below it.
"""

import re
from collections.abc import Sequence

from literate.reading.inline_marks import inline
from literate.reading.text_lines import Item, TextLine, body, escaped

_MARKED = r"(?:``[^`]+``|(?::[\w:]+:)?`[^`]+`_{0,2}|\*{1,2}[^*\s](?:[^*]*[^*\s])?\*{1,2})"
_ALL_MARKED = re.compile(rf"{_MARKED}(?:(?:,| or| and| /)? {_MARKED})*$")
_CLASSIFIED = re.compile(r"(?P<term>.*?\S) : (?P<kind>\S.*)$")
# What no term begins with: a mark of another block, of an item that is numbered by letters, or of
# code.
_OTHER = re.compile(
    r"\.\. |[-+>|\[$#@=!?/~:]|\\(?!\*)|\*\s|\w{1,4}[.)]\s"
    r"|(?:async|class|def|for|from|if|import|return|try|while|with)\s"
)
# How a term doesn't end: what follows belongs to it.
_GOES_ON = re.compile(
    r".*(?:[:=,;\\(\[{&|+-]|\.{2,}|->|\b(?:a|an|and|by|for|from|in|is|of|or|the|to|where|with))$"
)
_WORDS, _LONGEST = 3, 50
# The blanks that an author needs to mean something by them.
_MEANT = 2
_OPTION = r"--?[A-Za-z0-9?][\w-]*(?:[ =]?(?:<[^<>]+>|\{[^{}\s]+\}|[A-Z][A-Z0-9_]*)| [a-z][\w-]*)?"
_OPTIONS = re.compile(rf"(?P<options>{_OPTION}(?:, {_OPTION})*)(?:\s{{2,}}(?P<said>\S.*))?$")


def terms(lines: Sequence[TextLine], at: int) -> tuple[list[Item], int] | None:
    r"""
    ## The list of terms that begins in a line

    And the line behind it.
    """
    items: list[Item] = []
    end = at
    for begin, said, after in _entries(lines, at):
        term = lines[begin].text.strip()
        if begin and not items and not lines[begin - 1].is_blank or not _may_be_term(term, said):
            break
        items.append(Item(_head(term), lines[begin].at, said))
        end = after
    is_sure = len(items) > 1 or items and _is_clear(lines[at].text.strip(), items[0].said)
    return (items, end) if is_sure else None


def options(lines: Sequence[TextLine], at: int) -> tuple[list[Item], int] | None:
    r"""
    ## The list of options that begins in a line

    And the line behind it.
    """
    above = lines[at - 1] if at else None
    is_announced = (
        above is not None
        and above.text.rstrip().endswith(":")
        and above.indent + _MEANT <= lines[at].indent
    )
    if above is not None and not above.is_blank and not is_announced:
        return None
    items: list[Item] = []
    end = at
    while end < len(lines) and lines[end].indent == lines[at].indent:
        match = _OPTIONS.match(lines[end].text.strip())
        if match is None:
            break
        opening = [TextLine(match["said"], lines[end].at)] if match["said"] else []
        said, after = body(lines, end + 1, lines[end].indent)
        if not opening and not said:
            break
        items.append(Item(f"`{match['options']}`", lines[end].at, opening + said))
        end = _filled(lines, after)
    return (items, end) if items else None


def _filled(lines: Sequence[TextLine], at: int) -> int:
    return next((i for i in range(at, len(lines)) if not lines[i].is_blank), len(lines))


def _entries(lines: Sequence[TextLine], at: int) -> list[tuple[int, list[TextLine], int]]:
    r"""
    Lines with something indented right below them, one after another: where each begins, what is
    said below it, and the line behind that.
    """
    found: list[tuple[int, list[TextLine], int]] = []
    begin = at
    while begin + 1 < len(lines) and lines[begin].indent == lines[at].indent:
        is_entry = not lines[begin].is_blank and not lines[begin + 1].is_blank
        if not is_entry or lines[begin + 1].indent < lines[begin].indent + _MEANT:
            break
        said, after = body(lines, begin + 1, lines[begin].indent)
        found.append((begin, said, after))
        begin = _filled(lines, after)
    return found


def _may_be_term(term: str, said: Sequence[TextLine]) -> bool:
    words, _ = _classified(term)
    if _ALL_MARKED.match(words):
        return True
    are_even = all(term.count(one) == term.count(other) for one, other in ("()", "[]", "{}"))
    if _OTHER.match(term) or _GOES_ON.match(term) or len(words) > _LONGEST or not are_even:
        return False
    # A sentence goes on with a small letter.
    return not said[0].text[:1].islower() or len(words.split()) <= _WORDS


def _is_clear(term: str, said: Sequence[TextLine]) -> bool:
    r"""
    Whether a term is one although it has no other beside it.
    """
    words, _ = _classified(term)
    is_short = len(words.split()) <= _WORDS and not said[0].text[:1].islower()
    return _ALL_MARKED.match(words) is not None or is_short


def _classified(term: str) -> tuple[str, str]:
    match = _CLASSIFIED.match(term)
    return (match["term"], match["kind"]) if match else (term, "")


def _head(term: str) -> str:
    words, kind = _classified(term)
    shown = inline(words) if re.search(r"[*`]", words) else f"**{inline(words)}**"
    return shown + (f" ({inline(kind) if '`' in kind else f'*{escaped(kind)}*'})" if kind else "")

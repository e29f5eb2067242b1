r"""
---
title: Documents for Sphinx
summary: A README in reStructuredText becomes a hand-written page.
---

Most packages with docstrings for Sphinx have a `README.rst`. It is read as [their
docstrings](docstrings.py) are. Two things it has that docstrings hardly have: pictures, most of
them badges, and a title that may stand below these.
"""

import re
from collections.abc import Sequence

from literate.reading.docstrings import as_markdown
from literate.reading.restructured import RULE
from literate.reading.text_lines import TextLine, body

ENDING = ".rst"

_PICTURE = re.compile(r"(?P<blanks>\s*)\.\. +(?P<named>\|[^|]+\| +)?image:: *(?P<source>\S+)\s*$")
_OPTION = re.compile(r"\s*:(?P<name>alt|target):\s*(?P<value>.*\S)\s*$")
# What may stand above a title: names between bars, pictures, and what Sphinx doesn't show.
_ABOVE = re.compile(r"\s*(?:$|(?:\|[^|]+\|_{0,2}\s*)+$|\[?!\[|\.\. )")


def as_document(text: str) -> list[TextLine]:
    r"""
    ## A document as Markdown

    Each line knows the one that it comes from, counted from 0.
    """
    lines = _title_first(
        _with_pictures([TextLine(*one[::-1]) for one in enumerate(text.split("\n"))])
    )
    made = as_markdown([line.text for line in lines], is_module=True, style="sphinx")
    return [TextLine(line.text, lines[line.at].at) for line in made]


def in_markdown(name: str, text: str) -> str:
    r"""
    ## The text of a document in Markdown

    The end of its file's name says what it is written in.
    """
    if not name.endswith(ENDING):
        return text
    return "\n".join(line.text for line in as_document(text))


def _with_pictures(lines: Sequence[TextLine]) -> list[TextLine]:
    r"""
    Pictures as Markdown has them; one with a name stands where that does.
    """
    made: list[TextLine] = []
    at = 0
    while at < len(lines):
        match = _PICTURE.match(lines[at].text)
        if match is None:
            made.append(lines[at])
            at += 1
            continue
        below, after = body(lines, at + 1, lines[at].indent)
        options = {one["name"]: one["value"] for one in map(_option, below) if one}
        picture = f"![{options.get('alt', '')}]({match['source']})"
        if "target" in options:
            picture = f"[{picture}]({options['target']})"
        before = f".. {match['named']}replace:: " if match["named"] else ""
        made.append(TextLine(f"{match['blanks']}{before}{picture}", lines[at].at))
        if after < len(lines) and not before:
            made.append(TextLine("", lines[after - 1].at))
        at = after
    return made


def _option(line: TextLine) -> re.Match[str] | None:
    return _OPTION.match(line.text)


def _title_first(lines: list[TextLine]) -> list[TextLine]:
    r"""
    The title of a document stands above its badges.
    """
    for at, line in enumerate(lines[:-1]):
        is_rule = RULE.match(line.text) is not None
        if not is_rule and not line.is_blank and RULE.match(lines[at + 1].text):
            begin = at - 1 if at and RULE.match(lines[at - 1].text) else at
            title = lines[begin : at + 2]
            return [*title, TextLine("", title[-1].at), *lines[:begin], *lines[at + 2 :]]
        if not (is_rule or _ABOVE.match(line.text) or line.indent):
            break
    return lines

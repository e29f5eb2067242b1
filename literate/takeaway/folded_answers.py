r"""
---
title: Folded answers
summary: In a notebook, the answers to a question are folded, and readers open the one they choose.
---

On the site `??? question "Why?"` folds the answer below it, and a list of boxes asks which answer
is right. A notebook has HTML for the first, and no boxes. So the question stands above, and each of
its answers is a title that folds why it is right or wrong.

No Markdown is rendered in such a title, and no formula everywhere: it has HTML, and
[letters](../reading/plain.py#readable) in place of TeX.
"""

import html
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from literate.reading.notes import Note, Span
from literate.reading.plain import readable

CHOOSE = "Which answer is right? Open the one that you choose."
# Without it, a question that follows would look like one more answer.
MORE = "More questions. Open one for its answer."
# An answer to choose from, and what is said about it.
_ANSWER = re.compile(r"- \[([ x])\] (.*)")
_REASON = " " * 4
# A link, with code among its words, or code that only looks like one.
_LINK = re.compile(r"`[^`]*`(?!\]\()|\[(?P<words>(?:`[^`]*`|[^\[\]`])+)\]\([^()\s]*\)")


@dataclass
class _Answer:
    is_right: bool
    title: list[str]
    reason: list[str]


def unfolded(text: str) -> str:
    r"""
    ## Markdown of the site as that of a notebook
    """
    lines = text.split("\n")
    note = _note(lines)
    # From the end, so that the numbers of the lines before stay right.
    for block in reversed(note.parsed.blocks):
        if block.kind == "details" and not block.depth:
            is_open = lines[block.first].startswith(("???+", "!!!"))
            inside = textwrap.dedent("\n".join(lines[block.first + 1 : block.last])).strip("\n")
            below = "\n".join(lines[block.last :]).lstrip("\n")
            asked = _question(block.text, inside.split("\n"))
            whole = asked or _folded(block.text, inside, is_open)
            more = ["", MORE] if asked and below.startswith("<details>") else []
            lines[block.first :] = [whole, *more, "", below]
    return "\n".join(lines)


def _note(lines: Sequence[str]) -> Note:
    return Note("docstring", 1, tuple(lines))


def _question(title: str, inside: Sequence[str]) -> str:
    r"""
    A question with answers to choose from; empty, if it has none.
    """
    first = next((at for at, line in enumerate(inside) if _ANSWER.match(line)), None)
    if first is None:
        return ""
    parts = [f"**{title}**", "\n".join(inside[:first]).strip("\n"), CHOOSE]
    for answer in _answers(inside[first:]):
        sign = "✓" if answer.is_right else "✗"
        reason = textwrap.dedent("\n".join(answer.reason)).strip("\n")
        # A single item is no list.
        is_one = reason.startswith("- ") and "\n- " not in reason
        said = f"{sign} {textwrap.dedent(f'  {reason[2:]}')}" if is_one else f"{sign}\n\n{reason}"
        parts.append(_folded(" ".join(answer.title), said))
    return "\n\n".join(part for part in parts if part)


def _answers(lines: Sequence[str]) -> Iterator[_Answer]:
    r"""
    Each answer with the lines below it. Its title may go on in the next line.
    """
    answer: _Answer | None = None
    for line in lines:
        match = _ANSWER.match(line)
        if match:
            if answer:
                yield answer
            answer = _Answer(match[1] == "x", [match[2]], [])
        elif answer and (answer.reason or line.startswith(f"{_REASON}- ")):
            answer.reason.append(line)
        elif answer and line.strip():
            answer.title.append(line.strip())
    if answer:
        yield answer


def _folded(title: str, inside: str, is_open: bool = False) -> str:
    opening = f"<details{' open' * is_open}><summary>{_as_html(title)}</summary>"
    return "\n".join([opening, "", inside, "", "</details>"])


def _as_html(title: str) -> str:
    words = _LINK.sub(lambda match: match["words"] or match[0], title)
    return "".join(map(_of_title, _note([words]).parsed.spans))


def _of_title(span: Span) -> str:
    if span.kind == "code":
        return f"<code>{html.escape(span.content, quote=False)}</code>"
    if span.kind == "inline":
        return html.escape(readable(span.content), quote=False)
    return re.sub(r"\*([^*\s][^*]*)\*", r"<em>\1</em>", html.escape(span.text))

r"""
---
title: Checked numbers
summary: A number in a note that links to a result must be the one that the result has.
---

A program measured it, and nobody types it twice without being compared. On the page such a number
leads to the result and says, when one points at it, by which run it was found.
"""

import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

from literate.page.escaping import literal, told, visible
from literate.page.exhibit import HTML, MOST_CHANGES
from literate.page.exhibits_in_notes import linked
from literate.page.links import DOCUMENTS, Links, UnknownTarget
from literate.reading.markdown import Target
from literate.reading.notes import Span
from literate.results import numbers, records
from literate.results.records import Figure, Result, Table


def resolved(
    span: Span, path: str, links: Links, report: Callable[[int, str, str], None]
) -> Iterator[tuple[str, str, Target | None]]:
    r"""
    ## The links of a text, made to lead to pages

    One after the other: the text before a link's target, what stands in the place of the target,
    and the target, or None if that is a whole checked number. After the last of them comes the rest
    of the text. `report` gets the line and the sentence of each link that leads nowhere, and what
    many of them have in common. In the place of a picture that isn't there are its words and its
    name.
    """
    position, text = 0, span.text
    for target in span.targets:
        try:
            number = checked(text, target, path, links)
            shown = links.resolve(path, target.text) if number is None else number.html
        except UnknownTarget as error:
            line = span.line_of(target.start)
            kind = "pictures are not there" if target.is_image else ""
            if not kind and target.text.partition("#")[0].endswith(DOCUMENTS):
                kind = "links lead to documents that are not there"
            report(line, str(error), kind)
            if target.is_image and target.opening > 0 and target.after is not None:
                words = text[target.opening + 1 : target.closing]
                said = f" ({target.text})" if words.strip() else target.text
                before = text[position : target.opening - 1] + words
                yield before, visible(literal(said)), None
                position = target.after
            continue
        start, end = (number.start, number.end) if number else (target.start, target.end)
        yield text[position:start], shown, None if number else target
        position = end
    yield text[position:], "", None


@dataclass(frozen=True)
class Number:
    r"""
    ## A number that was compared with the file

    `start` is where its link begins in the text, `end` where it ends.
    """

    start: int
    end: int
    html: str


def checked(text: str, target: Target, path: str, links: Links) -> Number | None:
    r"""
    ## Compare a number in a note with the file

    `text` is a piece of Markdown, `target` one of its links, `path` the file that it stands in.
    None if the link is none to a number, or its text says none. Raises
    [UnknownTarget](links.py#UnknownTarget) with the sentence for the author, as well if the number
    is another.
    """
    file, anchor = linked(path, target.text)
    if not links.is_result(file):
        return None
    result, place, value = links.result(file, anchor, target.text)
    if isinstance(value, Result | Figure | Table):
        return None
    if target.after is None or target.opening < 0:
        sentence = f"the link to `{target.text}` can't be compared: write `[1.5](…)`, without code."
        raise UnknownTarget(sentence)
    said = " ".join(text[target.opening + 1 : target.closing].split())
    if wrong := numbers.wrong(said, value, result.path):
        raise UnknownTarget(wrong)
    if not isinstance(value, str) and not numbers.is_number(said):
        return None
    uri = links.uri(path)
    # Zensical looks for the anchor as it is spelled here; within a tag `_` marks no emphasis.
    address = literal(html.escape(links.between(uri, result.uri, quote(place))))
    address = address.replace("&#95;", "_")
    run = [result.command, f"{result.made}", records.machine(result)]
    names = links.changed(result)
    more = [f"{len(names) - MOST_CHANGES} more"] if len(names) > MOST_CHANGES else []
    since = f"; changed since: {', '.join(names[:MOST_CHANGES] + more)}" if names else ""
    title = literal(told(f"measured by {', '.join(filter(None, run))}{since}"))
    marks = "measured before" if names else "measured"
    link = HTML.link(address, visible(literal(said)), title, marks=marks)
    return Number(target.opening, target.after, link)

r"""
---
title: Pages of results
summary: Each result has a page of its own, and one page lists them all.
---

A checked number leads to the page of its result. There stands everything that the run has found,
with what is needed to do it again: the command, the day, the machine, and what was measured.
"""

import html
from collections.abc import Iterator, Mapping, Sequence

from literate.page.escaping import escaped, literal
from literate.page.exhibit import (
    HTML,
    MOST_CHANGES,
    Spot,
    caption_of,
    file_link,
    show,
    since,
    spelled,
)
from literate.page.exhibits_in_notes import Found
from literate.page.links import Links
from literate.page.page import Page
from literate.page.templates import TEMPLATES, stated
from literate.results import records
from literate.results.made_of import by_names
from literate.results.records import Result

TITLE = "Results"
# How a change was shown to change nothing.
HOW = {
    "small": "run in a small way with both codes",
    "cpu": "what a CPU can tell was measured again",
    "sample": "a sample was measured again",
    "weights": "the loss of the recorded weights was measured again",
}
# A description is shown in one or two lines.
MOST = 180
SUMMARY = "What was measured, by which commands, when, and on which machines."
TEXT = (
    "Numbers on these pages that a run has produced come from the files below: a program wrote "
    "them, and whenever the site is built, the notes are compared with them."
)


def pages(links: Links) -> Iterator[Page]:
    r"""
    ## The pages of all results

    And the list of them, if there are any. The file of each goes with its page.
    """
    for result in links.results.values():
        yield page_of(result, links)
    if links.results:
        yield overview(links)


def page_of(result: Result, links: Links) -> Page:
    r"""
    ## The page of a result
    """
    at = Spot(result.path, result.uri, links)
    data = html.escape(links.beside(result.uri, result.path))
    facts = [
        ("Command", HTML.code(escaped(result.command))),
        ("Day", escaped(result.made)),
        ("Machine", escaped(records.machine(result))),
        ("Measured", _sources(result, at)),
        ("Verified", _verified(result)),
        ("File", HTML.link(data, HTML.code(escaped(result.path)), download=True)),
    ]
    parts = []
    if result.values:
        parts.append({"name": "values", "title": "Values", "shown": _values(result)})
    for place in result.exhibits:
        thing = result.find(place)[1]
        caption = caption_of(thing, place)
        title = literal(" ".join(caption.words.split()))
        shown = show(Found(result, place, thing), caption, at)
        parts.append({"name": html.escape(place), "title": title, "shown": shown})
    summary = f"{result.title}: measured by {result.command} on {result.made}."
    if len(summary) > MOST:
        summary = f"{result.title}: measured on {result.made}."
    files = {result.path: result.text}
    facts = [(name, value) for name, value in facts if value]
    content = {"facts": facts, "text": since(result, at, most=1000), "parts": parts}
    return _page(result.uri, result.title, summary, files, **content)


def overview(links: Links) -> Page:
    r"""
    ## The list of all results
    """
    uri = place_of_overview(links)
    at = Spot("", uri, links)
    rows = [
        [
            HTML.link(html.escape(links.between(uri, result.uri)), escaped(result.title)),
            HTML.code(escaped(result.command)),
            escaped(result.made),
            escaped(records.machine(result)),
            _listed(links.changed(result), at) or "nothing",
        ]
        for result in links.results.values()
    ]
    heads = ["Result", "Command", "Day", "Machine", "Changed since"]
    shown = HTML.plain(HTML.table(heads, rows, [False] * len(heads)))
    return _page(uri, TITLE, SUMMARY, {}, facts=[], text=TEXT, parts=[{"name": "", "shown": shown}])


def place_of_overview(links: Links) -> str:
    r"""
    ## Where the list of all results is
    """
    return f"{links.recorded}/index.md"


def _page(
    uri: str, title: str, summary: str, files: Mapping[str, str | bytes], **content: object
) -> Page:
    told = {"title": stated(title), "summary": stated(summary), "heading": literal(title)}
    markdown = TEMPLATES.get_template("result.md.jinja").render(told | content)
    return Page(uri, title, summary, markdown, files, ())


def _listed(names: Sequence[str], at: Spot) -> str:
    shown = [file_link(name, at) for name in names[:MOST_CHANGES]]
    more = len(names) - len(shown)
    return ", ".join([*shown, f"{more} more"] if more else shown)


def _sources(result: Result, at: Spot) -> str:
    r"""
    What the run could come by: the files, and the names in each.
    """
    named = by_names(result.sources)
    if not named:
        return ", ".join(file_link(path, at) for path in result.sources)
    lines = [
        f"{file_link(path, at)} {escaped(' '.join(named.get(path, ())))}".strip()
        for path in result.sources
    ]
    count = sum(map(len, named.values()))
    return HTML.files(f"{count} definitions in {len(lines)} files", lines)


def _verified(result: Result) -> str:
    r"""
    What was shown since, without measuring again.
    """
    told = []
    for one in result.verified:
        what = "definitions" if "differing" in one else "files"
        count = len(one.get("differing", one.get("files", ())))
        how = HOW[one.get("by", "small")]
        same = f"{one['cells']} numbers and texts are the same"
        told.append(f"{one['day']}, after a change of {count} {what}: {how}, {same}")
    return escaped("; ".join(told))


def _values(result: Result) -> str:
    # Two names can be spelled alike, if one has a point in it. The first has the anchor.
    values = dict(reversed(list(records.leaves(result.values))))
    rows = [
        [HTML.anchor(f"values.{html.escape(name)}", escaped(name)), escaped(spelled(value))]
        for name, value in reversed(values.items())
    ]
    return HTML.plain(HTML.table(["Name", "Value"], rows, [False, True]))

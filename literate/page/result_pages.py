r"""
---
title: Pages of results
summary: Each result has a page of its own, and one page lists them all.
---

A checked number leads to the page of its result. There stands everything that the run has found,
with what is needed to do it again: the command, the day, the machine, and what was measured.
"""

import html
from collections.abc import Iterator, Mapping

from literate.page.exhibit import (
    HTML,
    Found,
    Spot,
    caption_of,
    escaped,
    file_link,
    show,
    since,
    spelled,
)
from literate.page.links import Links
from literate.page.page import Page
from literate.page.templates import TEMPLATES, stated
from literate.reading.notes import literal
from literate.results import records
from literate.results.fingerprints import changed
from literate.results.records import Result

TITLE = "Results"
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
        ("Measured", ", ".join(file_link(source, at) for source in result.sources)),
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
    content = {"facts": facts, "text": since(result, at), "parts": parts}
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
            ", ".join(file_link(source, at) for source in changed(result, links.pages, links.root))
            or "nothing",
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


def _values(result: Result) -> str:
    # Two names can be spelled alike, if one has a point in it. The first has the anchor.
    values = dict(reversed(list(records.leaves(result.values))))
    rows = [
        [HTML.anchor(f"values.{html.escape(name)}", escaped(name)), escaped(spelled(value))]
        for name, value in reversed(values.items())
    ]
    return HTML.plain(HTML.table(["Name", "Value"], rows, [False, True]))

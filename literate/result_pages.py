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

from literate import results
from literate.exhibit import Spot, caption_of, escaped, file_link, grid, show, since, spelled
from literate.links import Links
from literate.notes import literal
from literate.page import Page, stated
from literate.results import Result

TITLE = "Results"
# A description is shown in one or two lines.
MOST = 180
SUMMARY = "What was measured, by which commands, when, and on which machines."


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
    uri = result.uri
    at = Spot(result.path, uri, links)
    data = html.escape(links.beside(uri, result.path))
    said = [
        ("Command", f"<code>{escaped(result.command)}</code>"),
        ("Day", escaped(result.made)),
        ("Machine", escaped(results.machine(result))),
        ("Measured", ", ".join(file_link(one, at) for one in result.sources)),
        ("File", f'<a href="{data}" download><code>{escaped(result.path)}</code></a>'),
    ]
    facts = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in said if value)
    changes = since(result, at)
    parts = [f'<dl class="facts">{facts}</dl>', f"<p>{changes.strip()}</p>" if changes else ""]
    if result.values:
        parts += [_heading("values", "Values"), _values(result)]
    for place in result.exhibits:
        caption = caption_of(result, place)
        parts += [_heading(place, caption.words), show(result, place, caption, at)]
    summary = f"{result.title}: measured by {result.command} on {result.made}."
    if len(summary) > MOST:
        summary = f"{result.title}: measured on {result.made}."
    return _page(uri, result.title, summary, parts, {result.path: result.text})


def overview(links: Links) -> Page:
    r"""
    ## The list of all results
    """
    uri = f"{links.recorded}/index.md"
    at = Spot("", uri, links)
    rows = []
    for result in links.results.values():
        address = html.escape(links.between(uri, result.uri))
        changes = results.changed(result, links.pages, links.root)
        rows.append(
            [
                f'<a href="{address}">{escaped(result.title)}</a>',
                f"<code>{escaped(result.command)}</code>",
                escaped(result.made),
                escaped(results.machine(result)),
                ", ".join(file_link(one, at) for one in changes) or "nothing",
            ]
        )
    heads = ["Result", "Command", "Day", "Machine", "Changed since"]
    text = (
        "Numbers on these pages that a run has produced come from the files below: a program wrote "
        "them, and whenever the site is built, the notes are compared with them."
    )
    shown = f'<figure class="exhibit">{grid(heads, rows, [False] * len(heads))}</figure>'
    return _page(uri, TITLE, SUMMARY, [f"<p>{text}</p>", shown], {})


def _page(
    uri: str, title: str, summary: str, parts: list[str], files: Mapping[str, str | bytes]
) -> Page:
    head = f"title: {stated(title)}\ndescription: {stated(summary)}\n"
    body = "\n\n".join([f'<h1 markdown="1">{literal(title)}</h1>', *filter(None, parts)])
    return Page(uri, title, summary, f"---\n{head}---\n\n{body}\n", files, ())


def _heading(name: str, title: str) -> str:
    return f'<h2 id="{html.escape(name)}" markdown="1">{literal(" ".join(title.split()))}</h2>'


def _values(result: Result) -> str:
    rows = []
    seen: set[str] = set()
    for name, value in results.leaves(result.values):
        # Two names can be spelled alike, if one has a point in it.
        place = "" if name in seen else f' id="values.{html.escape(name)}"'
        seen.add(name)
        rows.append([f"<span{place}>{escaped(name)}</span>", escaped(spelled(value))])
    return f'<figure class="exhibit">{grid(["Name", "Value"], rows, [False, True])}</figure>'

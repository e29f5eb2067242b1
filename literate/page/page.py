r"""
---
title: Page
summary: The rows of a source become one Markdown document.
---

A page is *one* document, not one for each row: so footnotes, headings and the table of contents
belong to the engine that builds the site, and any engine that reads Markdown can build it. The HTML
in it is the wrapper of a row, the lines of code, which carry their numbers and measured shapes, and
the formulas. While a page is written, everything that its notes claim is checked.

A source passes through it once: it is [read](../reading/page_source.py), seen among
[all others](context.py), set beside what was [measured](../measuring/measure.py), and made into
typed views of its [rows](row_views.py) and its [head](head.py). The template `page.md.jinja` in the
folder `templates` makes the document of them. Each room is given what it needs: the notes
get [claims that were compared](../measuring/claims.py#Claims) and
[names that lead somewhere](named_links.py#NamesOfPage), and read no source again.
"""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass

from literate.measuring.claims import Claims
from literate.page.context import Context
from literate.page.exhibit import said_once
from literate.page.head import head_of
from literate.page.links import folder
from literate.page.listing import Listing
from literate.page.named_links import NamesOfPage
from literate.page.notes import Notes
from literate.page.recorded import recorded_run
from literate.page.row_views import rows_of
from literate.page.search import Known
from literate.page.takeaways import NOTHING, Takeaways, taken_from
from literate.page.templates import TEMPLATES
from literate.page.tooltips import about
from literate.problems import Problem
from literate.python.lacking import Lacking
from literate.reading.page_source import page_source
from literate.reading.source import Source


@dataclass(frozen=True)
class Page:
    r"""
    ## A page

    * `uri` is where it goes on the site, `transformers/mha.md`
    * `files` go with it, by where they go: its notebook, its snippets, what is
      [told about it](tooltips.py), and its [recorded run](recorded.py)
    * `problems` is what its author has to correct; where the settings are strict, a site is built
      only when there are none
    * `twin` is its [Markdown for programs](../takeaway/twin.py)
    * `found` is what the [search](search.py#known) knows of it
    """

    uri: str
    title: str
    summary: str
    markdown: str
    files: Mapping[str, str | bytes]
    problems: tuple[Problem, ...]
    twin: str = ""
    found: Known | None = None


def page(source: Source, context: Context, takeaways: Takeaways = NOTHING) -> Page:
    r"""
    ## Write a page
    """
    # Read.
    read = page_source(source)
    # Know what others are, and where.
    uri = context.links.uris[source.path]
    taken = taken_from(uri, takeaways, context.links)
    names = NamesOfPage(context.named_links, source)
    # Measure.
    measurement = context.measurements.get(source.path)
    run = recorded_run(source, measurement)
    claims = Claims(source, measurement, failed=source.path in context.unmeasured)
    code = Listing(source, context.links, context.references, measurement)
    # Compose.
    notes = Notes(read, context.links, context.formulas, claims, context.excerpts, names)
    rows = rows_of(read, context, notes, code, taken)
    head = head_of(read, context, taken, takeaways.edit)
    # Render.
    markdown = TEMPLATES.get_template("page.md.jinja").render(
        head=head,
        rows=rows,
        run=run.first_step,
        weight_bytes=takeaways.weight_bytes,
        flow=takeaways.flow,
    )
    here = folder(uri)
    beside = {"about.json": about(read, measurement), **run.files}
    files: dict[str, str | bytes] = {file.uri: file.text for file in takeaways.files(here)}
    files |= {posixpath.join(here, name): text for name, text in beside.items()}
    lacking = Lacking(context.named_links.meanings, context.links.root).problems(source)
    problems = (*read.problems, *claims.problems, *notes.problems, *head.problems, *lacking)
    return Page(uri, read.title, read.matter.summary, said_once(markdown), files, problems)

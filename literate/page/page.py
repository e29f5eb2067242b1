r"""
---
title: Page
summary: The rows of a source become one Markdown document.
---

A page is *one* document, not one for each row: so footnotes, headings and the table of contents
belong to the engine that builds the site, and any engine that reads Markdown can build it. The HTML
in it is the wrapper of a row, the lines of code, which carry their numbers and measured shapes, and
the formulas.

While a page is written, everything that its notes claim is checked.
"""

import html
import json
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from literate.measuring.measure import Measurement
from literate.page.changes import Changes
from literate.page.columns import Beside, bands, is_pictured, is_wide
from literate.page.differences import Difference
from literate.page.excerpts import Excerpts
from literate.page.formulas import Formulas
from literate.page.links import Links, folder
from literate.page.listing import Listing
from literate.page.notes import Notes
from literate.page.path import markdown as with_steps
from literate.page.steps import PATH, Step, on_page
from literate.page.templates import TEMPLATES
from literate.page.tooltips import about
from literate.problems import Problem
from literate.python.references import Network, network
from literate.reading import front_matter
from literate.reading.notes import literal
from literate.reading.rows import Row, rows
from literate.reading.source import Source
from page_runner import trace
from page_runner.beginning import begun, inputs_of
from page_runner.edit.files import Offer

_DISPLAYED = re.compile(r'<math [^>]*display="block".*?</math>')


# A page that puts many others together needs no list of them.
MOST_KNOWN = 6

# The function that ends a page.
EXAMPLE = "example"


@dataclass(frozen=True)
class Page:
    r"""
    ## A page

    * `uri` is where it goes on the site, `transformers/mha.md`
    * `files` go with it, by where they go: its notebook, its snippets, what is
      [told about it](tooltips.py), and its [recorded run](../../page_runner/trace.py)
    * `problems` is what its author has to correct; where the settings are strict, a site is built
      only when there are none
    * `twin` is its [Markdown for programs](../takeaway/twin.py)
    """

    uri: str
    title: str
    summary: str
    markdown: str
    files: Mapping[str, str | bytes]
    problems: tuple[Problem, ...]
    twin: str = ""


@dataclass(frozen=True)
class File:
    r"""
    ## A text that goes with a page

    `uri` is where it goes on the site.
    """

    uri: str
    text: str


@dataclass(frozen=True)
class Takeaways:
    r"""
    ## What a reader can take away

    * `notebook` is that of the page, and `colab` the address that opens it there, if the
      repository's is known
    * `snippets` are the definitions that can be copied with all that they need, by name; the empty
      name is the whole module
    * `bare` are the same without their notes
    * `source` is the address of the file in the repository, if that is known
    * `live` are the bytes of the weights with which the reader's browser can run the page, and
      `flow` is the [drawing](../../page_runner/dataflow.py) of its data flow
    * `compare` is the folder of the page on which this one can be compared with others
    * `cite` is the [entry of BibTeX](../takeaway/citation.py) for the page, if there is one
    * `edit` is what the [editor](../../page_runner/edit/files.py) of the page needs, if it has one
    """

    notebook: File | None
    colab: str | None
    snippets: Mapping[str, File]
    bare: Mapping[str, File]
    source: str | None = None
    live: int = 0
    flow: str = ""
    compare: str = ""
    cite: str = ""
    edit: Offer | None = None


NOTHING = Takeaways(None, None, {}, {})


def page(
    source: Source,
    links: Links,
    formulas: Formulas,
    measurements: Mapping[str, Measurement],
    takeaways: Takeaways = NOTHING,
    references: Network | None = None,
    changes: Changes | None = None,
    steps: tuple[Step, ...] = (),
) -> Page:
    r"""
    ## Write a page

    `references` are those of all pages; they are found anew if they are not given. So are the
    `changes`, of which there are none then. `steps` are those of all [lists](steps.py).
    """
    uri = links.uris[source.path]
    measurement = measurements.get(source.path)
    record = begun(measurement.record, inputs_of(source.tree)) if measurement else {}
    references = references or network(links.pages.values())
    changes = changes or Changes({}, {}, measurements, references)
    excerpts = Excerpts(formulas, measurements, references, changes)
    notes = Notes(source, links, formulas, measurement, excerpts)
    code = Listing(source, links, references, measurement)
    matter, below, problems = front_matter.of_source(source)
    written: list[dict[str, Any]] = []
    after, columns = [], []
    change, inside = None, None
    for row in rows(source):
        if inside and row.lines and row.lines[0].number <= inside.last:
            _add(written[-1], row, change, notes, code)
            continue
        is_module = row is front_matter.opening(source)
        heading, note = notes.heading(below if is_module else row.note, row)
        # What the example says under headings of its own is read after its code.
        if note and row.documents and row.documents.name == EXAMPLE:
            note, rest = notes.below_heading(note)
            after += [notes.markdown(rest, row)] if rest else []
        is_path = is_module and matter.layout == PATH
        write = partial(with_steps, notes=notes) if is_path else notes.markdown
        text = write(note, row) if note else ""
        wide = bool(note) and is_wide(note, text, _DISPLAYED.findall(text))
        anchored = row.documents.name if heading and row.documents else ""
        lines = [line.number for line in row.code if line.kind == "code"]
        is_headed = bool(heading) or is_module
        columns.append(Beside(note, len(lines), is_headed, wide or is_module))
        written.append(
            {
                "is_module": is_module,
                # The line that a note stands beside, for those that others have pushed down.
                "at": lines[0] if lines and not is_module else "",
                "heading": heading,
                "note": text,
                "uses": code.uses(anchored) if anchored else (),
                "code": code.of(row, anchored),
                "legend": code.legend(row),
                # The empty name is that of the module.
                "snippet": anchored and _beside(links, uri, takeaways.snippets, anchored),
                "bare": anchored and _beside(links, uri, takeaways.bare, anchored),
                "change": {"notes": [], "code": ""},
            }
        )
        change = changes.differences.get((source.path, anchored))
        inside = row.documents if change else None
        if change:
            shown = changes.in_context(change, source.path, links)
            verdict = changes.verdict(change, links)
            written[-1]["change"] = {"verdict": verdict, "code": shown, "notes": []}
            columns[-1] = Beside(note, shown.count("\n"), is_headed, wide)
    for row, band in zip(written, bands(columns), strict=True):
        row["kinds"] = _kinds(row["is_module"], band, row["heading"], matter.layout)
        row["kinds"] += " exhibit-row" if row["change"]["code"] else ""
        row["kinds"] += " pictured" if band and is_pictured(row["note"]) else ""
    title = front_matter.title_of(source)
    cite = posixpath.join(folder(uri), "cite.bib")
    markdown = TEMPLATES.get_template("page.md.jinja").render(
        title=stated(title),
        summary=stated(matter.summary),
        heading=literal(title),
        paper={key: literal(value) for key, value in matter.paper.items()},
        link=html.escape(_web(matter.paper.get("link", ""), notes)),
        notebook=links.beside(uri, takeaways.notebook.uri) if takeaways.notebook else "",
        colab=html.escape(takeaways.colab or ""),
        module=_beside(links, uri, takeaways.snippets, ""),
        bare=_beside(links, uri, takeaways.bare, ""),
        # Zensical would take the address for that of a page, were it not for the mark.
        twin=links.beside(uri, posixpath.join(folder(uri), "index.md"))
        + ("?" if links.resolves_html else ""),
        source=html.escape(takeaways.source or ""),
        cite=takeaways.cite and links.beside(uri, cite),
        compare=takeaways.compare and f"{links.beside(uri, takeaways.compare)}/?b={folder(uri)}",
        step=_step(source, links, steps),
        known=_known(source, links, references, _before(matter.know, source, notes), steps),
        rows=[row for row in written if row["heading"] or row["note"] or row["code"]],
        after=after,
        beside=any(row["at"] and row["note"] for row in written),
        run=trace.first_step(record, source.text),
        live=takeaways.live,
        flow=takeaways.flow,
        edit=takeaways.edit and _editor(links, uri, takeaways.edit),
    )
    files = [*takeaways.snippets.values(), *takeaways.bare.values()]
    files += [File(cite, takeaways.cite)] if takeaways.cite else []
    files += [takeaways.notebook] if takeaways.notebook else []
    texts: dict[str, str | bytes] = {file.uri: file.text for file in files}
    texts[posixpath.join(folder(uri), "about.json")] = about(source, title, measurement)
    if takeaways.edit and takeaways.edit.exercises:
        texts[posixpath.join(folder(uri), "exercises.json")] = takeaways.edit.exercises
    if record:
        written_record = trace.written(record)
        texts[posixpath.join(folder(uri), "trace.json")] = written_record
        texts[posixpath.join(folder(uri), "trace.js")] = trace.telling(written_record)
    all_problems = (*problems, *notes.problems)
    return Page(uri, title, matter.summary, markdown, texts, all_problems)


def _kinds(is_module: bool, is_band: bool, heading: str, layout: str) -> str:
    r"""
    How a row is laid out: the style sheet knows these names.

    * `intro`: what a module is for is read before its first import, in two columns, unless the
      page has a `layout` of its own
    * `wide`: the note runs over both columns
    * `part` and `method` begin level with their heading, which no note above pushes down
    """
    level = re.search(r"<h(\d)|aria-level=\"(\d)", heading)
    depth = int(level[1] or level[2]) if level else 0
    names = {
        layout or "intro": is_module,
        "wide": is_band and not is_module,
        "part": depth in (1, 2),
        "method": depth > 2,
    }
    return "".join(f" {name}" for name, holds in names.items() if holds)


def _editor(links: Links, uri: str, offer: Offer) -> dict[str, Any]:
    r"""
    What the button says, with addresses seen from the page.
    """
    return {
        "path": offer.path,
        "program": links.in_data(uri, offer.program),
        "sources": links.in_data(uri, offer.sources),
        "size": f"{offer.bytes / 1e6:.1f}",
        "form": offer.form,
        "beside": offer.form.get("beside", ""),
        "form_size": f"{offer.form_bytes / 1e6:.1f}",
        "exercises": _named(offer.exercises),
        "record": links.in_data(uri, offer.form["record"]) if "record" in offer.form else "",
    }


def _named(exercises: str) -> str:
    r"""
    The kind of each exercise and its function, for its button. All else is in a file of its own.
    """
    return ", ".join(
        f"{exercise['kind']} {exercise['of']}" for exercise in json.loads(exercises or "[]")
    )


def _add(
    written: dict[str, Any], row: Row, change: Difference, notes: Notes, code: Listing
) -> None:
    r"""
    Put a row inside the class of a difference to what is written of the class.
    """
    lines = [line.number for line in row.code if line.number in change.attributes]
    attribute = change.attributes[lines[0]] if lines else ""
    text = notes.markdown(row.note, row) if row.note else ""
    if text:
        line = change.first if attribute == "before" else ""
        written["change"]["notes"].append({"kind": attribute or "also", "line": line, "note": text})
    written["code"] += "\n" + code.of(row)


def _step(source: Source, links: Links, steps: tuple[Step, ...]) -> dict[str, Any]:
    r"""
    Which step a page is, and which one is next.
    """
    here, later = on_page(source.path, steps)
    if not here:
        return {}

    def address(path: str, anchor: str = "") -> str:
        return html.escape(links.address(source.path, path, anchor))

    following = (later.title, address(later.path, later.anchor)) if later else ()
    numbers = " and ".join(str(step.number) for step in here)
    return {
        "numbers": numbers,
        "footer": _footer(numbers, here[0], later, links) if later else {},
        "total": here[0].total,
        "course": address(here[0].course),
        "programs": [
            (step.number, address(step.course, f"step-{step.number}"))
            for step in here
            if step.program
        ],
        "boxes": [(step.number, f"#{step.anchor}" if step.anchor else "") for step in here],
        "next": following,
    }


def _footer(numbers: str, here: Step, later: Step, links: Links) -> dict[str, str]:
    r"""
    What the foot of the page says, for its front matter: the engine's template writes it. The
    addresses are seen from the root of the site.
    """
    anchor = f"#{later.anchor}" if later.anchor else ""
    counted = "Step" if numbers == str(here.number) else "Steps"
    return {
        "step": stated(f"{counted} {numbers} of {here.total}"),
        "course": stated(f"{folder(links.uris[here.course])}/#step-{here.number}"),
        "next_step": stated(f"{folder(links.uris[later.path])}/{anchor}"),
        "next_title": stated(later.title),
    }


def _before(know: str, source: Source, notes: Notes) -> list[str]:
    r"""
    The paths of the pages that the front matter tells a reader to know.
    """
    at = posixpath.dirname(source.path)
    paths = [posixpath.normpath(posixpath.join(at, name.strip())) for name in know.split(",")]
    for path in paths if know else []:
        if path not in notes.links.pages:
            notes.report(1, f"`know` names `{path}`, which is no page.")
    return [path for path in paths if path in notes.links.pages]


def _known(
    source: Source,
    links: Links,
    references: Network,
    before: list[str],
    steps: tuple[Step, ...],
) -> list[tuple[str, str]]:
    r"""
    The pages to know `before`, and those that the code takes names from: titles and addresses.
    Nobody has to know what is a later step.
    """
    here, _ = on_page(source.path, steps)
    later = {
        step.path
        for step in steps
        if here and step.course == here[0].course and step.number > here[-1].number
    }
    used = dict.fromkeys(
        [*before, *(reference.path for reference in references.references[source.path])]
    )
    return [
        (
            literal(front_matter.title_of(links.pages[path])),
            html.escape(links.address(source.path, path, "")),
        )
        for path in used
        if path != source.path and path not in later
    ][:MOST_KNOWN]


def _web(address: str, notes: Notes) -> str:
    if not address or re.match(r"https?://", address):
        return address
    notes.report(1, f"the paper's link `{address}` does not begin with `https://`.")
    return ""


def stated(text: str) -> str:
    r"""
    ## A text for the front matter of a page

    Escaped: the templates of the engines take it for HTML. But for apostrophes, which mean nothing
    there, and which Material escapes once more where it reads a title to a screen reader. And as
    JSON, which is YAML that needs no care with colons and quotes.
    """
    return json.dumps(html.escape(text).replace("&#x27;", "'"), ensure_ascii=False)


def _beside(links: Links, uri: str, files: Mapping[str, File], name: str) -> str:
    r"""
    The address of the file that is named so, seen from the page.
    """
    return links.beside(uri, files[name].uri) if name in files else ""

r"""
---
title: Head and foot of a page
summary: What stands above the rows of a page, and what its foot says of the next one.
---

Above the rows stand the title, the paper, the pages to know, what can be taken away, and for a page
of a [course](steps.py) which step it is. The foot is written by the engine's template, from the
front matter of the page.
"""

import html
import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from literate.page.context import Context
from literate.page.escaping import literal
from literate.page.links import Links, folder
from literate.page.steps import Step, on_page
from literate.page.takeaways import Taken
from literate.page.templates import stated
from literate.problems import Problem
from literate.reading.page_source import PageSource
from page_runner.edit.files import Offer

# A page that puts many others together needs no list of them.
MOST_KNOWN = 6


@dataclass(frozen=True)
class Paper:
    r"""
    ## The paper of a page
    """

    title: str
    authors: str
    year: str
    link: str


@dataclass(frozen=True)
class Foot:
    r"""
    ## What the foot of a page says of the next step

    For its front matter. The addresses are seen from the root of the site.
    """

    step: str
    course: str
    next_step: str
    next_title: str


@dataclass(frozen=True)
class StepView:
    r"""
    ## Which step a page is

    * `numbers` are those of its steps, `1 and 2`, of `total`
    * `course` is the address of the list
    * `boxes` are its steps to be ticked off, each with its number and its place on the page
    * `programs` are numbers and addresses of steps whose programs are shown
    * `next` is the title and the address of the step after it
    """

    numbers: str
    total: int
    course: str
    boxes: tuple[tuple[int, str], ...]
    programs: tuple[tuple[int, str], ...]
    next: tuple[str, str] | None


@dataclass(frozen=True)
class Editor:
    r"""
    ## What the button of the editor says

    The addresses are seen from the page; `size` and `form_size` are megabytes. `form` is what a
    page has beside its editor, and `exercises` are the kind and the function of each. Below them
    is a link to `paste`, where a reader's own code is tested.
    """

    path: str
    program: str
    sources: str
    size: str
    form: Mapping[str, Any]
    form_size: str
    record: str
    exercises: str
    paste: str


@dataclass(frozen=True)
class Head:
    r"""
    ## The head of a page

    * `title` and `summary` are for the front matter, and `heading` is the title as it is shown
    * `resource` is what the page says of itself to programs that search, for the front matter
    * `known` are titles and addresses of pages that should be read before
    * `missing` says what the page lacks, and why
    """

    title: str
    summary: str
    heading: str
    resource: str
    paper: Paper | None
    known: tuple[tuple[str, str], ...]
    taken: Taken
    step: StepView | None
    foot: Foot | None
    editor: Editor | None
    missing: tuple[str, ...]
    problems: tuple[Problem, ...]


def head_of(page: PageSource, context: Context, taken: Taken, offer: Offer | None) -> Head:
    r"""
    ## The head of a page

    With what is wrong in its front matter. `taken` are the addresses of what can be taken away, and
    `offer` is what the editor needs, if the page has one.
    """
    links, path = context.links, page.source.path
    failed = context.unmeasured.get(path, ())
    before, unknown = known_before(page.matter.know, path, links)
    paper, untold = paper_of(page.matter.paper, path)
    here, later = on_page(path, context.steps)
    # What a lesson imports comes before it; in any other package, modules import each other.
    is_lesson = page.matter.is_written or context.steps
    used = [one.path for one in context.references.references[path]] if is_lesson else []
    known = _without_later([*before, *used], here, context.steps)
    others = [other for other in dict.fromkeys(known) if other != path][:MOST_KNOWN]
    return Head(
        title=stated(page.title),
        summary=stated(page.matter.summary),
        missing=tuple(missing_from(page.source.unread, failed)),
        resource=resource_of(page.title, page.matter.summary, page.matter.paper),
        heading=literal(page.title),
        paper=paper,
        known=tuple(
            (literal(context.title(other)), html.escape(links.address(path, other, "")))
            for other in others
        ),
        taken=taken,
        step=step_of(here, later, path, links),
        foot=foot_of(here, later, links),
        editor=editor_of(offer, links, path),
        problems=(*untold, *unknown, *failed),
    )


def resource_of(title: str, summary: str, paper: Mapping[str, str]) -> str:
    r"""
    ## What a page says of itself to programs that search

    In the words of [schema.org](https://schema.org/LearningResource), with the paper that the page
    is about.
    """
    said: dict[str, object] = {
        "@context": "https://schema.org",
        "@type": "LearningResource",
        "name": title,
        "description": summary,
        "learningResourceType": "annotated source code",
        "isAccessibleForFree": True,
    }
    if paper:
        said["citation"] = {
            "@type": "ScholarlyArticle",
            "name": paper["title"],
            "creditText": paper["authors"],
            "datePublished": paper["year"],
            "url": paper["link"],
        }
    # A script ends at the first `</script`, wherever that is. Front matter wants a text in quotes.
    text = json.dumps(said, ensure_ascii=False).replace("<", "\\u003c")
    return json.dumps(text, ensure_ascii=False)


def missing_from(unread: Problem | None, failed: Iterable[Problem]) -> Iterator[str]:
    r"""
    ## What a page lacks

    Nothing stops a build that isn't strict, so the page itself tells its readers.
    """
    if unread:
        why = f"line {unread.line}: {unread.sentence}"
        yield html.escape(f"Python can't read this file, so only its lines are shown: {why}")
    for problem in failed:
        yield html.escape(f"No shapes are shown: line {problem.line}: {problem.sentence}")


def paper_of(paper: Mapping[str, str], path: str) -> tuple[Paper | None, list[Problem]]:
    r"""
    ## The paper, with what is wrong with its link
    """
    if not paper:
        return None, []
    link, problems = paper["link"], []
    if link and not re.match(r"https?://", link):
        sentence = f"the paper's link `{link}` does not begin with `https://`."
        problems.append(Problem(path, 1, sentence))
        link = ""
    shown = {key: literal(paper[key]) for key in ("title", "authors", "year")}
    return Paper(**shown, link=html.escape(link)), problems


def known_before(know: str, path: str, links: Links) -> tuple[list[str], list[Problem]]:
    r"""
    ## The pages that the front matter tells a reader to know

    By their paths, and what it names that is no page.
    """
    at = posixpath.dirname(path)
    names = [name.strip() for name in know.split(",")] if know else []
    paths = [posixpath.normpath(posixpath.join(at, name)) for name in names]
    problems = [
        Problem(path, 1, f"`know` names `{other}`, which is no page.")
        for other in paths
        if other not in links.pages
    ]
    return [other for other in paths if other in links.pages], problems


def _without_later(known: list[str], here: list[Step], steps: tuple[Step, ...]) -> list[str]:
    r"""
    Nobody has to know what is a later step of the course.
    """
    later = {
        step.path
        for step in steps
        if here and step.course == here[0].course and step.number > here[-1].number
    }
    return [path for path in known if path not in later]


def step_of(here: list[Step], later: Step | None, path: str, links: Links) -> StepView | None:
    r"""
    ## Which step a page is, and which one is next
    """
    if not here:
        return None

    def address(other: str, anchor: str = "") -> str:
        return html.escape(links.address(path, other, anchor))

    return StepView(
        numbers=_numbers(here),
        total=here[0].total,
        course=address(here[0].course),
        boxes=tuple((step.number, f"#{step.anchor}" if step.anchor else "") for step in here),
        programs=tuple(
            (step.number, address(step.course, f"program-{step.number}"))
            for step in here
            if step.program
        ),
        next=(later.title, address(later.path, later.anchor)) if later else None,
    )


def _numbers(here: list[Step]) -> str:
    return " and ".join(str(step.number) for step in here)


def foot_of(here: list[Step], later: Step | None, links: Links) -> Foot | None:
    r"""
    ## The foot of a page that another one follows
    """
    if not later:
        return None
    counted = "Step" if len(here) == 1 else "Steps"
    anchor = f"#{later.anchor}" if later.anchor else ""
    return Foot(
        step=stated(f"{counted} {_numbers(here)} of {here[0].total}"),
        course=stated(f"{folder(links.uris[here[0].course])}/#step-{here[0].number}"),
        next_step=stated(f"{folder(links.uris[later.path])}/{anchor}"),
        next_title=stated(later.title),
    )


def editor_of(offer: Offer | None, links: Links, path: str) -> Editor | None:
    r"""
    ## What the button of the editor says
    """
    if not offer:
        return None
    uri = links.uris[path]
    exercises = json.loads(offer.exercises or "[]")
    return Editor(
        path=offer.path,
        program=links.in_data(uri, offer.program),
        sources=links.in_data(uri, offer.sources),
        size=f"{offer.bytes / 1e6:.1f}",
        form=offer.form,
        form_size=f"{offer.form_bytes / 1e6:.1f}",
        record=links.in_data(uri, offer.form["record"]) if "record" in offer.form else "",
        exercises=", ".join(f"{exercise['kind']} {exercise['of']}" for exercise in exercises),
        paste=links.address(path, offer.paste, "") if exercises and offer.paste else "",
    )

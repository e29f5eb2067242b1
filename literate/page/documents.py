r"""
---
title: Documents
summary: Pages that are written by hand, and lie where the repository wants them.
---

A changelog belongs at the root of a repository and on the site too. A hand-written document is
Markdown already; what has to be done is that its links, which a reader of the repository can
follow, lead to the pages of the site, and that the page has a title and a description.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import yaml

from literate.page import forms
from literate.page.checked_numbers import resolved
from literate.page.exhibits_in_notes import parts
from literate.page.links import Links
from literate.page.page import Page
from literate.page.templates import stated
from literate.problems import LiterateError, Problem
from literate.reading.front_matter import introduction
from literate.reading.notes import Note, Span
from literate.reading.rst_documents import ENDING, as_document


def document(path: str, links: Links) -> Page:
    r"""
    ## The page of a document

    Front matter can give it a title and a description. Without, the title is its heading of the
    first level, and the description the first sentence under that heading.

    As in a note, a link that leads to nothing on the site is a problem. What is
    [written for Sphinx](../reading/rst_documents.py) becomes Markdown first.
    """
    text = _read(links.root / path, path)
    problems: list[Problem] = []
    is_markdown = not path.endswith(ENDING)
    matter, first = _front_matter(text, path, problems) if is_markdown else ({}, 0)
    made = [] if is_markdown else as_document(text)
    lines = text.split("\n")[first:] if is_markdown else [line.text for line in made]
    title, summary = introduction(lines)
    title, summary = str(matter.get("title", title)), str(matter.get("description", summary))
    if not title:
        heading = "heading of the first level, `# …`" if is_markdown else "title, with a line below"
        sentence = f"the document has no title; begin it with a {heading}."
        problems.append(Problem(path, 1, sentence, "documents have no title"))
    elif not summary:
        sentence = "the document has no description; write a paragraph under its first heading."
        problems.append(Problem(path, 1, sentence, "documents have no description"))
    note = Note("comment", first + 1, tuple(lines))
    body = "".join(_written(note, path, links, problems))
    if made:
        problems = [replace(one, line=made[one.line - 1].at + 1) for one in problems]
    # What else stood in the front matter stays.
    others = {key: value for key, value in matter.items() if key not in ("title", "description")}
    head = f"title: {stated(title)}\ndescription: {stated(summary)}\n"
    head += yaml.safe_dump(others, allow_unicode=True) if others else ""
    return Page(
        uri=links.documents[path],
        title=title,
        summary=summary,
        markdown=f"---\n{head}---\n{body}",
        files={},
        problems=tuple(problems),
    )


def _read(file: Path, path: str) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LiterateError([Problem(path, 1, f"can't be read: {error}.")]) from None


def _front_matter(
    text: str, path: str, problems: list[Problem]
) -> tuple[dict[object, object], int]:
    r"""
    What stands between two lines of `---` at the beginning, and how many lines that takes.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != "---" or "---" not in [line.rstrip() for line in lines[1:]]:
        return {}, 0
    closing = next(at for at, line in enumerate(lines) if at and line.rstrip() == "---")
    try:
        values = yaml.safe_load("\n".join(lines[1:closing]))
    except yaml.YAMLError as error:
        values = None
        mark = getattr(error, "problem_mark", None)
        sentence = f"the front matter is not YAML: {getattr(error, 'problem', error)}."
        problems.append(Problem(path, mark.line + 2 if mark else 1, sentence))
    return values if isinstance(values, dict) else {}, closing + 1


def _written(note: Note, path: str, links: Links, problems: list[Problem]) -> Iterator[str]:
    for part in parts(note, path, links):
        if isinstance(part, Note):
            yield from (_linked(span, path, links, problems) for span in part.parsed.spans)
        else:
            yield f"\n\n{forms.show_exhibit(part, path, links)}\n\n"


def _linked(span: Span, path: str, links: Links, problems: list[Problem]) -> str:
    r"""
    The text of a span, with its links made to lead to pages.
    """
    if span.kind != "text":
        return span.text

    def report(line: int, sentence: str, kind: str) -> None:
        problems.append(Problem(path, line, sentence, kind))

    # Sphinx knows no tags.
    mark = "&lt;" if path.endswith(ENDING) else "<"
    replaced = resolved(span, path, links, report)
    return "".join(before.replace("<", mark) + target for before, target, _ in replaced)

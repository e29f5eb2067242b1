r"""
---
title: Navigation
summary: A page that stands nowhere in the navigation is found by nobody.
---

MkDocs and Zensical read the list `nav` in `mkdocs.yml`, and a project can have them warn of pages
that aren't in it, by `omitted_files: warn`. That takes a build of the whole site. Here the list is
read as a text, so that an author is told at once.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from literate.problems import Problem, line_of

FILE = "mkdocs.yml"
_WARNS = re.compile(r"(?m)^[^#\n]*\bomitted_files:\s*warn\b")
_LIST = re.compile(r"(?ms)^nav:.*?(?=^\w|\Z)")
# With more pages than that, each page has the whole list of them no longer.
MANY = 50
_PAGE = re.compile(r"[\w./-]+\.md")


def problems(root: Path, uris: Iterable[str]) -> Iterator[Problem]:
    r"""
    ## Pages that the navigation lacks

    `uris` are the paths of pages on the site.
    """
    text = _text(root)
    listed = _LIST.search(text)
    if listed is None or not _WARNS.search(text):
        return
    there = {*_PAGE.findall(listed[0])}
    for uri in uris:
        if uri not in there:
            sentence = f"`nav` lacks a page: add the line `- {uri}` where it should be read."
            yield Problem(FILE, line_of("\nnav:", f"\n{text}"), sentence)


def missing_features(chosen: Sequence[str], pages: int) -> list[str]:
    r"""
    ## What Material should do, and no project has to say

    Material writes the whole navigation on each page: of 1,128 pages it was 540 of 557 kB. Where
    there are many, a page has the part that it stands in, unless the project has chosen
    that all of it is unfolded.

    The contents of a page stand below it in the navigation, so code has the room on the right: in a
    window of 1400 pixels, lines of 79 columns aren't broken. Not so where the project has chosen
    something for its contents, or “navigation.indexes”, which can't be had beside it.
    """
    missing = []
    if pages > MANY and {"navigation.prune", "navigation.expand"}.isdisjoint(chosen):
        missing.append("navigation.prune")
    if not any(one == "navigation.indexes" or one.startswith("toc.") for one in chosen):
        missing.append("toc.integrate")
    return missing


def has_navigation(root: Path) -> bool:
    r"""
    ## Does the project list its pages?

    Without a list, all of them are in the navigation, in the order of their paths.
    """
    return _LIST.search(_text(root)) is not None


def _text(root: Path) -> str:
    file = root / FILE
    return file.read_text(encoding="utf-8") if file.is_file() else ""

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
from collections.abc import Iterable, Iterator
from pathlib import Path

from literate.problems import Problem, line_of

FILE = "mkdocs.yml"
_WARNS = re.compile(r"(?m)^[^#\n]*\bomitted_files:\s*warn\b")
_LIST = re.compile(r"(?ms)^nav:.*?(?=^\w|\Z)")
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


def has_navigation(root: Path) -> bool:
    r"""
    ## Does the project list its pages?

    Without a list, all of them are in the navigation, in the order of their paths.
    """
    return _LIST.search(_text(root)) is not None


def _text(root: Path) -> str:
    file = root / FILE
    return file.read_text(encoding="utf-8") if file.is_file() else ""

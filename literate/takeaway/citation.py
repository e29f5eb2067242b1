r"""
---
title: Citation
summary: A reader cites a page with one click, as the project asks to be cited.
---

A project that wants to be cited has the file “CITATION.cff” in its root: GitHub shows it, and so
do we, as an entry of BibTeX for each page. Without the file there is none.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from literate.problems import LiterateError, Problem


@lru_cache(maxsize=8)
def project(root: Path) -> Mapping[str, Any]:
    r"""
    ## How the project asks to be cited

    Empty if it doesn't.
    """
    file = root / "CITATION.cff"
    if not file.is_file():
        return {}
    try:
        known = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        sentence = f"is not YAML: {getattr(error, 'problem', error)}."
        raise LiterateError([Problem(file.name, mark.line + 1 if mark else 1, sentence)]) from None
    for name in ("title", "authors") if known else ():
        if not isinstance(known, dict) or name not in known:
            raise LiterateError([Problem(file.name, 1, f"has no `{name}`.")])
    return known


def of_page(title: str, address: str, about: Mapping[str, Any]) -> str:
    r"""
    ## The entry of a page

    `address` is where the page is, if that is known.
    """
    if not about:
        return ""
    authors = " and ".join(_name(author) for author in about["authors"])
    site = _plain(about["title"])
    version = f", version {_plain(str(about['version']))}" if "version" in about else ""
    key = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    fields = {"author": authors, "title": _plain(title), "howpublished": f"{site}{version}"}
    if address:
        fields["url"] = address
    lines = [f"  {name} = {{{value}}},\n" for name, value in fields.items()]
    return f"@misc{{{key},\n{''.join(lines)}}}\n"


def _name(author: Mapping[str, str]) -> str:
    r"""
    A person has two names, which BibTeX takes apart; any other name is in braces of its own.
    """
    if "family-names" in author:
        given = author.get("given-names", "")
        return ", ".join(_plain(part) for part in (author["family-names"], given) if part)
    return f"{{{_plain(author['name'])}}}"


def _plain(text: str) -> str:
    r"""
    What TeX would read as its own marks.
    """
    return re.sub(r"([#$%&_{}])", r"\\\1", text)

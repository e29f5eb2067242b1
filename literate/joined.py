r"""
---
title: Joined style sheets
summary: The style sheets of a site become one, so that one answer is waited for.
---

A browser shows nothing before it has every style sheet of the page, and asks a host for a few files
at a time only. The pages of a site have the same sheets, in the same order. As one file they are
the same rules, and leave room for what is needed next: the fonts.
"""

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

_LINK = re.compile(r'<link rel="stylesheet" href="([^"]*)">')
_ADDRESS = re.compile(r"""url\((?!["']?(?:data:|[a-z]+:|/|#))(["']?)([^"')]*)\1\)""")
_ENCODING = re.compile(r'^\s*@charset "[^"]*";')


def join(
    site: Path, sheets: Mapping[Path, str], pages: Mapping[Path, str]
) -> tuple[dict[Path, str], dict[Path, str]]:
    r"""
    ## Join the style sheets of a site

    `sheets` and `pages` are the texts of the files of the `site`. Gives both as they have to be
    written; the sheets that are part of the first one are not among them any more, and their files
    are deleted. Nothing changes where pages differ in their sheets, or take one from elsewhere.
    """
    whole = dict(sheets), dict(pages)
    links = {path: _LINK.findall(page) for path, page in pages.items()}
    places = {path: f"/{path.relative_to(site).as_posix()}" for path in sheets}
    named = {link: _named(link, places) for found in links.values() for link in found}
    lists = {tuple(named[link] for link in found) for found in links.values()}
    lists.discard(())
    if len(lists) != 1:
        return whole
    (names,) = lists
    files = [name for name in names if name is not None]
    if len(files) < len(names) or any("@import" in sheets[file] for file in files):
        return whole
    first, *others = files
    text = sheets[first] + "".join(
        _moved(_ENCODING.sub("", sheets[file]), file, first) for file in others
    )
    for file in others:
        file.unlink()
        file.with_name(f"{file.name}.map").unlink(missing_ok=True)
    return (
        {
            path: text if path == first else css
            for path, css in sheets.items()
            if path not in others
        },
        {path: _with_first_link(page) for path, page in pages.items()},
    )


def _named(link: str, places: Mapping[Path, str]) -> Path | None:
    r"""
    The file that a page links to. The links of the page for what is not found begin at the root of
    the host, which is not known here.
    """
    ends = [path for path, place in places.items() if f"/{link}".endswith(place)]
    return max(ends, key=lambda path: len(path.parts), default=None)


def _moved(css: str, old: Path, new: Path) -> str:
    r"""
    Addresses in a style sheet start at its own folder.
    """

    def from_new(address: re.Match[str]) -> str:
        target = posixpath.join(old.parent.as_posix(), address[2])
        return f"url({posixpath.relpath(target, new.parent.as_posix())})"

    return _ADDRESS.sub(from_new, css)


def _with_first_link(page: str) -> str:
    for link in reversed([*_LINK.finditer(page)][1:]):
        page = page[: link.start()].rstrip() + page[link.end() :]
    return page

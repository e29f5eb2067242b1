r"""
---
title: Joined style sheets
summary: The style sheets of a site become one, but for the sizes of each page's own formulas.
---

A browser shows nothing before it has every style sheet of the page, and asks a host for a few files
at a time only. The pages of a site have the same sheets, in the same order. As one file they are
the same rules, and leave room for what is needed next: the fonts.

The sizes of formulas are the exception. Hardly two pages share them, so together they would grow
with the site, and each reader would wait for the formulas of all pages: a page with formulas has a
small sheet of its own.
"""

import posixpath
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

_LINK = re.compile(r'<link rel="stylesheet" href="([^"]*)">')
_ADDRESS = re.compile(r"""url\((?!["']?(?:data:|[a-z]+:|/|#))(["']?)([^"')]*)\1\)""")
_ENCODING = re.compile(r'^\s*@charset "[^"]*";')
# As the style sheet of the formulas has them, in `formulas.py`.
_SIZES = re.compile(r"\.katex \.(k[0-9a-f]{8})\.\1\{[^{}]*\}\n?")
_SIZED = re.compile(r"k[0-9a-f]{8}")


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
    places = _places(site, sheets)
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


def _places(site: Path, sheets: Mapping[Path, str]) -> dict[Path, str]:
    return {path: f"/{path.relative_to(site).as_posix()}" for path in sheets}


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


def part(
    site: Path, sheets: Mapping[Path, str], pages: Mapping[Path, str]
) -> tuple[dict[Path, str], dict[Path, str]]:
    r"""
    ## Give each page the sizes of its own formulas

    Takes and gives the texts of the sheets and pages of a `site`, as [`join`](#join) does. The
    first sheet of a page loses the sizes; those of the page are in a sheet that the page asks for
    next. Its name tells its content.
    """
    places = _places(site, sheets)
    sizes = {
        sheet: {rule[1]: rule[0].strip() for rule in _SIZES.finditer(css)}
        for sheet, css in sheets.items()
    }
    asked = set()
    own, linked = {}, dict(pages)
    for path, page in pages.items():
        link = _LINK.search(page)
        sheet = _named(link[1], places) if link else None
        if link is None or sheet is None or not sizes[sheet]:
            continue
        asked.add(sheet)
        needed = sizes[sheet].keys() & set(_SIZED.findall(page))
        rules = "".join(rule for name, rule in sizes[sheet].items() if name in needed)
        if rules:
            name = f"formulas.{sha256(rules.encode()).hexdigest()[:8]}.css"
            own[sheet.with_name(name)] = rules
            beside = link[0].replace(link[1], posixpath.join(posixpath.dirname(link[1]), name))
            linked[path] = f"{page[: link.end()]}\n      {beside}{page[link.end() :]}"
    shared = {path: _SIZES.sub("", css) if path in asked else css for path, css in sheets.items()}
    return shared | own, linked

r"""
---
title: Feed
summary: New pages, for those who follow the site with a reader of feeds.
---

A page is as old as the commit that brought its file. So the feed needs the whole history, and the
address of the site; where one of them is missing there is no feed.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from literate.page.links import folder
from literate.page.page import Page

FEED = "feed.xml"
# As many as a reader of feeds shows at first.
NEWEST = 20


def days(root: Path) -> dict[str, str]:
    r"""
    ## When each file came

    The time of its first commit, by its path. Empty without a history, or with a part of one only.
    """

    def git(*command: str) -> str:
        # Names of files as they are, and not quoted.
        options = ("-c", "safe.directory=*", "-c", "core.quotePath=false")
        try:
            done = subprocess.run(
                ["git", *options, *command], cwd=root, capture_output=True, encoding="utf-8"
            )
        except OSError:
            return ""
        return done.stdout if done.returncode == 0 else ""

    if git("rev-parse", "--is-shallow-repository").strip() != "false":
        return {}
    dates: dict[str, str] = {}
    when = ""
    # The newest commit comes first, so the last one that adds a file is the first of its life.
    # A file that was moved has come to its place: git's default would leave it out.
    added = ("--diff-filter=A", "--no-renames", "--name-only")
    log = ("log", *added, "--relative", "--format=%x00%cI")
    for line in git(*log).splitlines():
        if line.startswith("\0"):
            when = line[1:]
        elif line:
            dates[line] = when
    return dates


def feed(
    pages: Sequence[Page],
    paths: Mapping[str, str],
    came: Mapping[str, str],
    url: str,
    name: str,
) -> str:
    r"""
    ## The feed

    In Atom. `paths` are those of the files by the addresses of their pages, and `came` says when
    they [came](#days); `name` is that of the site. Empty where nothing is known.
    """
    dated = [(came[paths[page.uri]], page) for page in pages if paths.get(page.uri) in came]
    newest = sorted(dated, key=lambda pair: (pair[0], pair[1].uri), reverse=True)[:NEWEST]
    if not newest or not url:
        return ""
    start = url if url.endswith("/") else f"{url}/"
    parts = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>{escape(name)}</title>",
        f"<id>{escape(start)}</id>",
        f'<link href="{escape(start)}"/>',
        f'<link rel="self" href="{escape(start)}{FEED}"/>',
        f"<author><name>{escape(name)}</name></author>",
        f"<updated>{newest[0][0]}</updated>",
    ]
    for when, page in newest:
        address = escape(f"{start}{folder(page.uri)}".rstrip("/") + "/")
        parts += [
            "<entry>",
            f"<title>{escape(page.title)}</title>",
            f"<id>{address}</id>",
            f'<link href="{address}"/>',
            f"<updated>{when}</updated>",
            f"<summary>{escape(page.summary)}</summary>",
            "</entry>",
        ]
    return "\n".join([*parts, "</feed>"]) + "\n"

r"""
---
title: Repository
summary: Where the sources can be seen, if that is known.
---

Links to the source and to Colab need the address of the repository. It is not
written into any page: a fork, or a copy without a remote, would carry links to somebody else.
"""

import os
import re
import subprocess
from pathlib import Path

BRANCH = "main"


def address(root: Path) -> str | None:
    r"""
    ## The address of the repository

    Without a slash at its end: from the variable `REPOSITORY_URL`, or from the remote `origin` of
    git. None if neither gives an “https” address; then a page offers no such links.
    """
    given = os.environ.get("REPOSITORY_URL")
    return _https(_remote(root) if given is None else given)


def notebooks_branch() -> str:
    r"""
    ## The branch whose notebooks are opened

    From the variable `NOTEBOOKS_BRANCH`. The workflow that publishes sets it when the notebooks
    with outputs are on a branch of their own; nobody else can know that it is there.
    """
    return os.environ.get("NOTEBOOKS_BRANCH") or BRANCH


def _remote(root: Path) -> str:
    try:
        asked = subprocess.run(
            ["git", "remote", "get-url", "origin"],
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""


def _https(remote: str) -> str | None:
    r"""
    `git@host:owner/name.git` is the same place. An address with a user or a password in it is not
    for publishing.
    """
    known = r"(?:https://|git@|ssh://git@)([\w.-]+)[/:]([\w./-]+?)(?:\.git)?/?"
    match = re.fullmatch(known, remote)
    return f"https://{match[1]}/{match[2]}" if match else None

r"""
---
title: Failure
summary: What an exception says, and at which line of which page.
---

An error stands at its line, in its own words. The way there is told as well: a
line of the page may have called a module that the page imports, and it is that one which fails.
"""

import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Of an endless recursion, the end.
MOST_PLACES = 20


def told(error: BaseException, root: Path, packages: Sequence[str]) -> dict[str, Any]:
    r"""
    ## An exception, as it is told

    * `type` and `message` are its own
    * `places` are the lines of our packages that it went through, the innermost last. Each has the
      `path` of its module below the root, the `line`, and the columns `start` and `end` of what
      failed, where that is known. A syntax error has one place, the one that it names.
    """
    folders = [root / name for name in packages]
    places = [
        {"path": path, "line": frame.lineno, "start": frame.colno, "end": _end(frame)}
        for frame in traceback.extract_tb(error.__traceback__)
        if (path := _below(frame.filename, root, folders))
    ][-MOST_PLACES:]
    message = str(error)
    if isinstance(error, SyntaxError):
        message = error.msg
        if path := _below(error.filename or "", root, folders):
            start = (error.offset or 1) - 1
            places = [{"path": path, "line": error.lineno, "start": start, "end": None}]
    return {"type": type(error).__name__, "message": message, "places": places}


def _below(file: str, root: Path, folders: Sequence[Path]) -> str:
    r"""
    The path of a file from the root; empty for one that isn't in one of the folders.
    """
    path = Path(file)
    is_ours = any(path.is_relative_to(one) for one in folders)
    return path.relative_to(root).as_posix() if is_ours else ""


def _end(frame: traceback.FrameSummary) -> int | None:
    r"""
    The end of what failed, if that is in the same line.
    """
    return frame.end_colno if frame.end_lineno == frame.lineno else None

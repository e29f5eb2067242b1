r"""
---
title: Kept names
summary: The names that each source has are kept until its text changes.
---

Whether a [name in a note](names_in_notes.py) is the name of something, only all sources together
can tell. To parse them all takes longer than everything else that an author of one page waits for.
So what each of them has is kept in a file, with a hash of its text.
"""

import hashlib
import json
import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from literate.python import names_in_notes, scopes
from literate.python.names_in_notes import Taken
from literate.reading import source as reading
from literate.reading.source import Source

# With other code of these, what was kept is not right.
TOOLS = (names_in_notes, scopes, reading)


def taken_by_all(
    contents: Mapping[str, bytes], parsed: Callable[[str], Source], kept: Path
) -> dict[str, Taken]:
    r"""
    ## The names of all sources

    * `contents` are what their files hold, by their paths, and `parsed` gives the source of a path
    * `kept` is where the names are kept; it is written when something has changed
    """
    tool = hashlib.sha256(platform.python_version().encode())
    for module in TOOLS:
        tool.update(Path(str(module.__file__)).read_bytes())
    before = _read(kept)
    known = before.get("files", {}) if before.get("tool") == tool.hexdigest() else {}
    now: dict[str, list[Any]] = {}
    has: dict[str, Taken] = {}
    for path, content in contents.items():
        print_of = hashlib.sha256(content).hexdigest()
        entry = known.get(path)
        if entry is None or entry[0] != print_of:
            entry = [print_of, *_written(names_in_notes.taken(parsed(path)))]
        now[path] = entry
        _, identifiers, origins, modules = entry
        bound = {origin: frozenset(names) for origin, names in origins.items()}
        has[path] = Taken(frozenset(identifiers), bound, frozenset(modules))
    if now != known:
        kept.parent.mkdir(parents=True, exist_ok=True)
        beside = kept.with_name(f"{kept.name}.part")
        text = json.dumps({"tool": tool.hexdigest(), "files": now})
        beside.write_text(text, encoding="utf-8")
        beside.replace(kept)
    return has


def _read(kept: Path) -> dict[str, Any]:
    r"""
    Nothing, where nothing is kept that can be read.
    """
    try:
        content = json.loads(kept.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _written(taken: Taken) -> list[Any]:
    origins = {origin: sorted(names) for origin, names in taken.origins.items()}
    return [sorted(taken.identifiers), origins, sorted(taken.modules)]

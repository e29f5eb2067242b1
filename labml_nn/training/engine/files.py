r"""
---
title: Atomic Writes
summary: Write beside, then rename, so that no file is ever half written.
---

A program that is killed while it writes leaves half a file behind, often in the place of a file
that was whole. A run that saves every minute is killed while it saves sooner or later.

**In:** a path, and a block that writes. **Out:** the old file or the new one, never half of each.
The way is to write a new file first, and to rename it when it is complete: renaming is one step of
the file system.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from labml_nn.training.engine.errors import InputError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    r"""
    ## What can't be written

    Within the block, it becomes an `InputError` that names `path`.
    """
    # A full disk, no permission, a file where a folder should be. Some of these errors have a text
    # of their own.
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    r"""
    ## Replace a file

    Gives a path beside `path` to write to; the folder is made if need be. If all goes well, the
    new file takes the place of the old one. If not, the old one stays.
    """
    # In the same folder, because renaming can't move a file to another disk. With the number of the
    # process, because two of them may write the same file.
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with writing(path):
            # The first checkpoint of a run finds no folder.
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary

            # The bytes must be on the disk before the name is. Otherwise a power failure could
            # leave the new name with no content.
            with temporary.open("r+b") as file:
                os.fsync(file.fileno())

            # On all systems this replaces a file that is there. `os.rename` fails on Windows.
            os.replace(temporary, path)

    # After an error the half-written file goes; after success there is none.
    finally:
        with suppress(OSError):
            temporary.unlink()


def write_json(path: Path, document: dict[str, Any]) -> None:
    r"""
    ## Write JSON
    """
    # Indented, for people who look into the folder of a run. With a line break at the end, so that
    # a terminal shows it well.
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")

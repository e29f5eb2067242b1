r"""
---
title: Atomic Writes
summary: Write beside, then rename, so that no file is ever half written.
---

A program that is killed while it writes leaves half a file behind, often in the place of a file
that was whole. The way out is to write a new file first, and to rename it when it is complete.
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

    A full disk, no permission, a file where a folder should be: within the block, each becomes
    an `InputError` that names `path`.
    """
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    r"""
    ## Replace a file

    Gives a path beside `path` to write to; the folder is made if need be. If all goes well, the
    new file takes the place of the old one in a single step. If not, the old one stays.
    """
    # The number of the process: two processes may write the same file.
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary

            # The bytes must be on the disk before the name is. Otherwise a power failure could
            # leave the new name with no content.
            with temporary.open("r+b") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink()


def write_json(path: Path, document: dict[str, Any]) -> None:
    r"""
    ## Write JSON
    """
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")

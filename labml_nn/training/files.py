r"""
---
title: Files That Are Never Half Written
summary: Write beside, then rename; and tell in one sentence what went wrong.
---

A program that is killed while it writes leaves half a file behind, and often the half
replaces a file that was whole. It takes a dozen lines never to let that happen.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from labml_nn.training.data import InputError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    r"""
    ## Say what cannot be written

    A full disk, a folder of somebody else, a file where a folder should be: within the block
    each is an `InputError` that names `path`.
    """
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    r"""
    ## Write beside, then rename

    Gives a path beside `path` to write to, in a folder that is made if need be. If
    all goes well, the new file takes the place of the old one in a single step. If
    not, the old one stays as it was, and nothing is left over.
    """
    # Two processes that write the same file get one path each.
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary

            # The bytes must be on the disk before the name points at them: a machine may
            # lose power, too.
            with temporary.open("r+b") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink()

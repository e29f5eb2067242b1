r"""
---
title: Results
summary: What a program measured, with the run that it came from.
---

A number that a run produced is never typed into a note. The program that measures writes it to a
file below `results/`, with its own command, the day, the machine, and what it measured.
"""

import hashlib
from pathlib import Path

from literate.problems import LiterateError
from literate.source import parse


def fingerprint(file: Path) -> str:
    r"""
    ## What a run depends on in a file

    The beginning of a hash. That of a Python file is made of its code alone: a page may speak of
    what was measured on it, and is still the page that was measured.
    """
    data = file.read_bytes()
    if file.suffix == ".py":
        try:
            lines = parse(data.decode(), file.as_posix()).lines
            code = [line.text.rstrip("\r\n") for line in lines if line.kind == "code"]
            data = "\n".join(code).encode()
        except (LiterateError, UnicodeDecodeError):
            pass  # All of it, then: it is no page.
    return hashlib.sha256(data).hexdigest()[:16]

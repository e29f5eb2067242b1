r"""
---
title: Scripts
summary: The scripts of a site are made from their modules when it is built.
---

A script of a page is written as modules, of which each says what it takes from others. The reader's
browser gets fewer files. What every page loads becomes one plain script, because a browser loads no
modules from a folder on the disk, and waits for each file that imports another. What is fetched
only when a reader asks for it stays a file of its own.

[esbuild](https://esbuild.github.io) makes them; it is an npm package beside [KaTeX](katex.py). It
takes a tenth of a second. The result is kept under a hash of all that it was made from. With it is
the style sheet of the pages, which is written in parts, one for each thing that it is about.
"""

import json
import re
import subprocess
import tempfile
from hashlib import sha256
from pathlib import Path

from literate.page import katex
from literate.problems import LiterateError, Problem
from literate.settings import Settings
from page_runner.build import ASSETS as RUNS
from page_runner.build import MODULES as THAT_RUN

# The scripts and the styles of a page.
ASSETS = Path(__file__).parent / "assets"

# What a page loads by itself, and what is fetched later but works in a folder on the disk, too.
PLAIN = (
    *(ASSETS / f"{name}.js" for name in ("literate", "questions", "search")),
    RUNS / "panel_from_disk.js",
)
# What tells a plain script where it lies.
ADDRESS = ASSETS / "address.js"
# What is fetched when a reader asks for it.
MODULES = (
    *(ASSETS / f"{name}.js" for name in ("compare", "quiz", "review", "typed")),
    *(RUNS / name for name in THAT_RUN),
)

# The style sheet that is written in parts.
SHEET = ASSETS / "literate.css"
_PART = re.compile(r'^@import "([^"]+)";$', re.MULTILINE)

_PROGRAM = Path(__file__).parent / "bundle.mjs"


def files(settings: Settings) -> list[Path]:
    r"""
    ## The files of a site

    The scripts as browsers get them, and the style sheets. Raises
    [LiterateError](../problems.py#LiterateError) if a script can't be made.
    """
    sheets = [path for folder in (ASSETS, RUNS) for path in folder.glob("*.css") if path != SHEET]
    return sorted([*_made(settings).iterdir(), *sheets])


def joined(sheet: Path) -> str:
    r"""
    ## A style sheet with its parts

    In the order in which it imports them: the rules of a later part go before those of an earlier
    one. It says nothing itself.
    """
    parts = _PART.findall(sheet.read_text(encoding="utf-8"))
    return "\n".join((sheet.parent / part).read_text(encoding="utf-8") for part in parts)


def _made(settings: Settings) -> Path:
    packages = katex.folder(settings).parent
    esbuild = packages / "esbuild"
    if not (esbuild / "package.json").is_file():
        sentence = "esbuild is not installed there; `npm ci` brings it."
        raise LiterateError([Problem(str(esbuild), 1, sentence)])
    sources = [path for folder in (ASSETS, RUNS) for path in sorted(folder.glob("*.js"))]
    sheet = joined(SHEET)
    digest = sha256()
    for path in [_PROGRAM, esbuild / "package.json", *sources]:
        digest.update(sha256(path.read_bytes()).digest())
    digest.update(sheet.encode())
    kept = packages / ".cache" / "literate" / f"scripts-{digest.hexdigest()[:32]}"
    if not kept.is_dir():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as beside:
            new = Path(beside) / "scripts"
            new.mkdir()
            _make(esbuild, new)
            (new / SHEET.name).write_text(sheet, encoding="utf-8")
            # Two builds may do the same at the same time.
            if not kept.is_dir():
                new.rename(kept)
    return kept


def _make(esbuild: Path, new: Path) -> None:
    request = {
        "esbuild": str(esbuild.resolve()),
        "out": str(new.resolve()),
        "plain": [str(path) for path in PLAIN],
        "addressOfPlain": str(ADDRESS),
        "modules": [str(path) for path in MODULES],
    }
    run = subprocess.run(
        [katex.program("node"), str(_PROGRAM)],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode != 0:
        said = next((line for line in run.stderr.splitlines() if "Error" in line), run.stderr)
        sentence = f"the scripts of the pages can't be made: {said.strip()}"
        raise LiterateError([Problem(str(_PROGRAM), 1, sentence)])

r"""
What a run comes by: modules of ours, files that are no code, and, if asked, functions.

The sources of a result are read from the code, before it runs. This is the counter-check: no result
is written if its run has imported a module or opened a file that its sources miss.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.record import ROOT, code_of
from literate.python.reach import unseen


class Watched:
    r"""
    * `files` are paths below the root that were opened to be read, without those of code
    * `modules` are those that were imported meanwhile
    * `functions` are files and first lines of what was called
    """

    def __init__(self, root: Path) -> None:
        self.root = f"{root}{os.sep}"
        self.files: set[str] = set()
        self.modules: set[str] = set()
        self.functions: set[tuple[str, int]] = set()
        self.looking = True

    def hear(self, event: str, about: tuple[Any, ...]) -> None:
        r"""What Python tells whoever has asked to hear of each file that is opened."""
        if not self.looking or event != "open" or not isinstance(about[0], str):
            return
        path, mode = about[0], about[1] or "r"
        if path.startswith(self.root) and "r" in mode and not path.endswith((".py", ".pyc")):
            self.files.add(path.removeprefix(self.root))

    def trace(self, frame: FrameType, event: str, argument: Any) -> None:
        r"""What Python calls for each function that begins."""
        code = frame.f_code
        if code.co_filename.startswith(self.root):
            place = code.co_filename.removeprefix(self.root)
            self.functions.add((place, code.co_firstlineno))


@contextmanager
def watched(root: Path = ROOT, functions: bool = False) -> Iterator[Watched]:
    r"""Watch what happens inside. Functions cost time: a small run is watched for them."""
    found = Watched(root)
    before = set(sys.modules)
    # Python takes no hook away again.
    sys.addaudithook(found.hear)
    if functions:
        sys.settrace(found.trace)
    try:
        yield found
    finally:
        found.looking = False
        if functions:
            sys.settrace(None)
        found.modules |= set(sys.modules) - before


@contextmanager
def accounted(module: str) -> Iterator[dict[str, str]]:
    r"""
    The sources of what `module` measures, as they are now: it may take hours.

    Raises SystemExit if what is measured inside comes by a module or a file that they miss.
    """
    code = code_of(ROOT)
    sources = code.sources(module)
    reach = code.reached(module)
    with watched() as seen:
        yield sources
    strange = unseen(reach, seen.modules, seen.files & code.ours.files)
    if strange:
        raise SystemExit(
            f"{module} has come by what its sources miss: {', '.join(strange)}. Nothing was "
            "written. Name it where `measure` can see it, or in `reads`."
        )

r"""
What results could come by beside what a small run of them has come by.

    python -m benchmarks reached counting kv_cache   # runs them in the small way
    python -m benchmarks reached                     # all experiments: half an hour

The sources of a result are an upper bound: all that its run could call, found by reading the code.
For each experiment this prints how many definitions with functions that are, how many of them have
run, and the ratio. Whatever ran and isn't among them is named: then the sources are wrong, and the
exit status is 1. What the runner calls for itself is left out.
"""

import argparse
import ast
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.__main__ import is_experiment, modules
from benchmarks.record import ROOT, code_of
from benchmarks.verify import CLOCK, SMALL, ran
from literate.python.reach import EFFECTS, GUARD, Part
from literate.python.scopes import bindings
from literate.python.statements import is_main_guard
from literate.results.made_of import Code, by_names

# Notes who calls whom among our functions, each pair once. What lies between, such as PyTorch that
# calls the `forward` of a module, is no caller.
CALLS = """
import os
import sys
import threading

root = os.environ["TRACED"] + os.sep
notes = open(os.environ["TRACE"], "a", buffering=1)
seen = set()


def trace(frame, event, argument):
    called = frame.f_code
    # The body of a class is no function, nor is that of a module. What is defined within a function
    # can be called by anybody, if that one has run.
    if not called.co_filename.startswith(root) or not called.co_flags & 1:
        return
    # A constant that is made by a comprehension counts if somebody reads it.
    if "<locals>" in called.co_qualname or called.co_name.endswith(("comp>", "genexpr>")):
        return
    above = frame.f_back
    while above and not above.f_code.co_filename.startswith(root):
        above = above.f_back
    caller = above.f_code if above else None
    if (caller, called) not in seen:
        seen.add((caller, called))
        places = [f"{one.co_filename.removeprefix(root)}:{one.co_firstlineno}:{one.co_name}"
                  for one in (caller, called) if one]
        notes.write(" ".join(places) + "\\n")


threading.settrace(trace)
sys.settrace(trace)
"""


def pairs(of: str, root: Path) -> set[tuple[str, str]]:
    r"""Who has called whom in the small run of an experiment: `FILE:LINE:NAME`, twice."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "trace")
        more = {"TRACED": str(root), "TRACE": str(trace)}
        ran([SMALL, of, folder], root, folder, CLOCK + CALLS, more)
        lines = [line.split() for line in trace.read_text(encoding="utf-8").splitlines()]
    return {(one, two) for one, two in (line for line in lines if len(line) == 2)}


class Places:
    r"""Which definition a line of our code is part of."""

    def __init__(self, code: Code) -> None:
        parts = code.ours.parts()
        self.parts = {one.path.relative_to(code.root).as_posix(): one for one in parts}
        self.known: dict[str, list[tuple[int, int, list[str]]]] = {}

    def names(self, place: str) -> list[str]:
        r"""The definitions of a place, as `FILE:NAME`; none, if it isn't in a counted module."""
        path, line, name = place.split(":")
        if path not in self.parts:
            return []
        if name == "<module>":
            return [f"{path}:{EFFECTS}"]
        if path not in self.known:
            self.known[path] = [*statements(self.parts[path])]
        found = [names for first, last, names in self.known[path] if first <= int(line) <= last]
        return [f"{path}:{one}" for names in found for one in names]


def statements(part: Part) -> Iterator[tuple[int, int, list[str]]]:
    r"""The statements of a module: first line, last line, and the names that they bind."""
    for one in ast.parse(part.path.read_bytes()).body:
        first = min([one.lineno, *(each.lineno for each in getattr(one, "decorator_list", []))])
        names = [GUARD] if is_main_guard(one) else [*bindings([one])]
        yield first, one.end_lineno or one.lineno, names or [EFFECTS]


def among(code: Code, of: str) -> set[str]:
    r"""The definitions that are the sources of a result, as `FILE:NAME`."""
    prints = by_names(code.sources(of))
    return {f"{path}:{name}" for path, names in prints.items() for name in names}


def missed(
    code: Code, of: str, known: set[str], calls: Iterable[tuple[str, str]]
) -> tuple[set[str], set[str]]:
    r"""Definitions of which a function has run: those of the known ones, and the others."""
    places = Places(code)
    runs = code.reached(of).runs
    files = {path for path, part in places.parts.items() if part.name in runs}
    seen: set[str] = set()
    strange: set[str] = set()
    for caller, called in calls:
        above, below = places.names(caller), places.names(called)
        # The module itself runs when it is imported.
        counts = known & {*above} or (":<module>" in caller and caller.partition(":")[0] in files)
        if not below or not counts:
            continue
        (seen if known & {*below} else strange).update(below)
    return seen & known, strange


def with_functions(code: Code, of: str) -> set[str]:
    r"""The definitions among the sources of a result that have functions which could run."""
    found = set()
    for unit in code.reached(of).units:
        part = code.ours.part(unit[0])
        nodes = part.statements.get(unit[1], []) if part else []
        if any(isinstance(one, ast.FunctionDef) for node in nodes for one in ast.walk(node)):
            found.add(f"{part.path.relative_to(code.root).as_posix()}:{unit[1]}")
    return found


def main() -> int:
    r"""Run those that are named, and print a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="experiments; all, if none is named")
    every = [name for name, tree in modules().items() if is_experiment(tree)]
    code = code_of(ROOT)
    wrong = False
    for name in parser.parse_args().names or every:
        of = f"benchmarks.{name}"
        seen, strange = missed(code, of, among(code, of), pairs(of, ROOT))
        could = with_functions(code, of)
        ratio = len(could) / max(1, len(could & seen))
        told = f"{len(could)} could run, {len(could & seen)} ran, {ratio:.2f}"
        print(f"{name:18}{told}; missed: {', '.join(sorted(strange)) or 'none'}", flush=True)
        wrong = wrong or bool(strange)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())

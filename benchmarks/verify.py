r"""
Results whose code has changed in nothing that it measures.

A result keeps a hash of each definition that its run can come by. When one of them does something
else, the result is stale, and there are two honest ways: to measure it again, or to show that the
change doesn't matter. This program does the second:

    python -m benchmarks verify encoders

* It looks up, in the history, a commit whose code is that of the result.
* It runs the experiment in its small way twice, with all files of that commit and with today's. The
  clock counts its calls, so times can be compared, too.
* All values, tables, figures and texts must be equal, digit for digit; *and* every function of
  every definition that has changed must have run in today's small run. Of a class these are the
  methods that have changed.

Then the result gets today's hashes, and one entry more in `verified`, a list that is only added to:
the day, the commit, how many numbers and texts were equal, and both hashes of all that differed. So
it can be undone, and a test does undo it. Otherwise the result stays stale, and what is missing is
printed.

A file that is read and has changed, or a constant that the small way replaces, can't be verified:
the small run shows nothing about it. Programs that need a GPU or hours have no small run. Where a
part of them can be measured here, they have a function `again` instead: its results are compared
with the record, and the entry says how (`by`) and what it didn't compare (`uncompared`).
"""

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.library.history import before_changes, unpack
from benchmarks.record import code_of, replace
from literate.python.reach import Part
from literate.python.shapes import bare, shape
from literate.results.made_of import EXPERIMENT, Code, by_names, keywords_of
from literate.results.pictures import digest

ROOT = Path(__file__).resolve().parents[1]

# Python reads a file of this name when it begins, in processes that an experiment starts, too.
FIRST_FILE = "sitecustomize.py"
# A clock that counts its calls.
CLOCK = """
import itertools
import time


def clock():
    turns = itertools.count(1)
    return lambda: next(turns) / 8


for name in ("perf_counter", "process_time", "thread_time"):
    setattr(time, name, clock())
"""
# Notes the file and the first line of each function when it runs for the first time.
TRACE = """
import os
import sys
import threading

root = os.environ["TRACED"] + os.sep
notes = open(os.environ["TRACE"], "a", buffering=1)
seen = set()


def trace(frame, event, argument):
    code = frame.f_code
    if code not in seen:
        seen.add(code)
        if code.co_filename.startswith(root):
            notes.write(f"{code.co_filename.removeprefix(root)}:{code.co_firstlineno}\\n")


threading.settrace(trace)
sys.settrace(trace)
"""
# Runs an experiment in its small way, and leaves its result in a folder.
SMALL = """
import importlib
import sys
from pathlib import Path

from benchmarks.__main__ import shorten_the_text

shorten_the_text()
experiment = importlib.import_module(sys.argv[1]).EXPERIMENT

from benchmarks.library.experiment import Runner

experiment.with_settings(experiment.small)
folder = Path(sys.argv[2])
experiment.run(Runner(experiment, folder / "runs", experiment.small), folder)
"""
# Measures what can be measured here.
AGAIN = """
import importlib
import json
import sys
from pathlib import Path

content = json.loads(Path(sys.argv[3]).read_text())
found = importlib.import_module(sys.argv[1]).again(content)
Path(sys.argv[2], "again.json").write_text(json.dumps(found))
"""

# What two runs of the same code may differ in.
ABOUT_THE_RUN = ("command", "machine", "made", "of", "schema", "seconds", "sources", "verified")
OF_THE_SYSTEM = ("peak_memory",)


def ran(words: list[str], root: Path, folder: str, first: str, more: Mapping[str, str]) -> None:
    r"""Run a program with the code below `root`; SystemExit if it fails."""
    Path(folder, FIRST_FILE).write_text(first, encoding="utf-8")
    there = {
        **os.environ,
        # What is there already may name another release of a library.
        "PYTHONPATH": os.pathsep.join([folder, str(root), os.environ.get("PYTHONPATH", "")]),
        "PYTHONHASHSEED": "0",
        # More threads add up in another order.
        "OMP_NUM_THREADS": "1",
        **more,
    }
    command = [sys.executable, "-c", *words]
    done = subprocess.run(command, cwd=root, env=there, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{words[1]} fails in {root}:\n{done.stderr}")


def small_result(of: str, root: Path, traced: bool = False) -> tuple[dict[str, Any], set[str]]:
    r"""
    What an experiment finds in its small way, with the code below `root`; and where the functions
    begin that have run, if they are `traced`.
    """
    with tempfile.TemporaryDirectory() as folder:
        first = CLOCK + TRACE * traced
        trace = Path(folder, "trace")
        more = {"TRACED": str(root), "TRACE": str(trace)}
        ran([SMALL, of, folder], root, folder, first, more)
        written = Path(folder, "results", f"{of.rpartition('.')[2]}.json")
        places = set(trace.read_text().splitlines()) if traced else set()
        return json.loads(written.read_text(encoding="utf-8")), places


def compared(result: dict[str, Any]) -> dict[str, Any]:
    r"""All that two runs of the same code have in common, by its place."""
    told = {key: one for key, one in result.items() if key not in ABOUT_THE_RUN}
    figures = {name: without_picture(one) for name, one in result.get("figures", {}).items()}
    return dict(cells(told | {"figures": figures}))


def without_picture(figure: dict[str, Any]) -> dict[str, Any]:
    r"""A figure with a digest in place of its picture; a chart is its numbers."""
    told = {key: one for key, one in figure.items() if key != "picture"}
    if "lines" in figure or "digest" in figure:
        return told
    # As the results of before 28 November 2026 had them.
    return told | {"digest": digest(figure["picture"])}


def cells(found: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    r"""All numbers and texts of a result, with their places."""
    if isinstance(found, dict):
        for key, value in found.items():
            if key not in OF_THE_SYSTEM:
                yield from cells(value, f"{place}.{key}")
    elif isinstance(found, list):
        for at, value in enumerate(found):
            yield from cells(value, f"{place}[{at}]")
    else:
        yield place.lstrip("."), found


def flat(sources: Mapping[str, str]) -> dict[str, str]:
    r"""Hashes of definitions by `FILE:NAME`, and those of files that are no code."""
    found = {path: one for path, one in sources.items() if ":" not in one}
    for path, names in by_names(sources).items():
        found |= {f"{path}:{name}": one for name, one in names.items()}
    return found


def difference(then: Mapping[str, str], now: Mapping[str, str]) -> dict[str, list[str]]:
    r"""Both hashes of all that differs between two sources; empty for what isn't there."""
    before, after = flat(then), flat(now)
    return {
        place: [before.get(place, ""), after.get(place, "")]
        for place in sorted(before | after)
        if before.get(place) != after.get(place)
    }


def functions(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    r"""All functions in some statements: name, and the line where the code begins."""
    for node in nodes:
        for one in ast.walk(node):
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                yield one.name, min([one.lineno, *(each.lineno for each in one.decorator_list)])
            elif isinstance(one, ast.Lambda):
                yield "lambda", one.lineno


def to_be_run(now: Part, then: Part | None, name: str) -> Iterator[tuple[str, int]]:
    r"""The functions of a changed definition that have to run: of a class, the changed methods."""
    statements = now.statements[name]
    before = then.statements.get(name, []) if then else []
    if len(statements) == len(before) == 1:
        new, old = statements[0], before[0]
        if isinstance(new, ast.ClassDef) and isinstance(old, ast.ClassDef):
            known = [shape(one) for one in map(bare, old.body) if one]
            changed = [one for one in new.body if (to := bare(one)) and shape(to) not in known]
            statements = changed or statements
    yield from functions(statements)


def not_run(code: Code, old: Code, places: Iterable[str], seen: set[str]) -> Iterator[str]:
    r"""Functions of changed definitions that today's small run didn't come by."""
    modules = {one.path.relative_to(code.root).as_posix(): one for one in code.ours.parts()}
    then = {one.path.relative_to(old.root).as_posix(): one for one in old.ours.parts()}
    for place in places:
        path, _, name = place.rpartition(":")
        if name == EXPERIMENT:
            continue
        for function, line in to_be_run(modules[path], then.get(path), name):
            if f"{path}:{line}" not in seen:
                within = "" if function == name else f", {function} in line {line}"
                yield f"{place}{within}"


def settings(code: Code, of: str) -> set[str]:
    r"""The constants that the small way of an experiment replaces."""
    part = code.ours.part(of.partition(":")[0])
    small = [one.value for one in keywords_of(part) if one.arg == "small"] if part else []
    names = [key for one in small if isinstance(one, ast.Dict) for key in one.keys]
    return {str(key.value) for key in names if isinstance(key, ast.Constant)}


def hidden(code: Code, of: str, differing: Mapping[str, list[str]]) -> list[str]:
    r"""What differs, and no small run can tell of: files, and constants that it replaces."""
    own = f"{of.partition(':')[0].replace('.', '/')}.py"
    replaced = {f"{own}:{name}" for name in settings(code, of)}
    return [place for place in differing if ":" not in place or place in replaced]


def commit_of(
    known: Mapping[str, str], places: Iterable[str], of: str, root: Path, folder: Path
) -> str:
    r"""
    The last commit whose code is that of a result, written into a folder; empty, if there is none.
    It is today's, or comes before a change of the files that differ.
    """
    for commit in before_changes({place.partition(":")[0] for place in places}, root):
        there = folder / commit
        there.mkdir()
        unpack(commit, there, root)
        code = code_of(there)
        if not code.differing(known, code.sources(of)):
            return commit
        shutil.rmtree(there)
    return ""


def verify(name: str, root: Path = ROOT) -> bool:
    r"""Renew the hashes of a result if then and today give the same; say what is in the way."""
    path = root / "results" / f"{name}.json"
    if not path.is_file():
        raise SystemExit(f"there is no result {name!r}; `python -m benchmarks stale` lists them")
    content = json.loads(path.read_bytes())
    known, of = content["sources"], content.get("of", "")
    if not of:
        raise SystemExit(f"{name} is of texts, not of a run; run it again: {content['command']}")
    code = code_of(root)
    module = code.ours.part(of.partition(":")[0])
    if ":" in of and (module is None or "again" not in module.statements):
        print(f"{name}: nothing of it can be measured here. Run it again: {content['command']}")
        return False
    today = code.sources(of)
    if not code.differing(known, today):
        print(f"{name}: nothing has changed")
        return True
    differing = difference(known, today)
    if blind := hidden(code, of, differing):
        print(f"{name}: {', '.join(blind)} changed, which no small run shows. Run it again.")
        return False
    with tempfile.TemporaryDirectory() as folder:
        commit = commit_of(known, differing, of, root, Path(folder))
        if not commit:
            print(f"{name}: no commit has its code as it was measured. Run it again.")
            return False
        then = Path(folder, commit)
        print(f"{name}: {', '.join(differing)} changed since {commit[:8]}; running …", flush=True)
        if ":" in of:
            by, before, after, more, seen = measured_again(of, path, root)
        else:
            by, more = "small", {}
            before = compared(small_result(of, then)[0])
            found, seen = small_result(of, root, traced=True)
            after = compared(found)
        wrong = [one for one in {**before, **after} if before.get(one) != after.get(one)]
        if wrong:
            print(f"{name}: {len(wrong)} of {len(after)} numbers and texts differ, such as")
            for one in wrong[:3]:
                told = [f"{value!r:.60}" for value in (before.get(one), after.get(one))]
                print(f"  {one}: {told[0]} then, {told[1]} today")
            return False
        there = [one for one, (_, new) in differing.items() if new]
        if missed := list(not_run(code, code_of(then), there, seen)):
            print(f"{name}: the run doesn't come by {', '.join(missed)}. Run it again.")
            return False
    entry = {"day": date.today().isoformat(), "before": commit[:8], "by": by, "cells": len(after)}
    content["sources"] = today
    content["verified"] = [*content.get("verified", []), entry | more | {"differing": differing}]
    replace(path, json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    print(f"{name}: {len(after)} numbers and texts are the same, and all that changed has run")
    return True


def measured_again(
    of: str, path: Path, root: Path
) -> tuple[str, dict[str, Any], dict[str, Any], dict[str, Any], set[str]]:
    r"""What a program finds again, beside the record: how, both cells, what to tell, what ran."""
    module = of.partition(":")[0]
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "trace")
        more = {"TRACED": str(root), "TRACE": str(trace)}
        ran([AGAIN, module, folder, str(path)], root, folder, TRACE, more)
        found = json.loads(Path(folder, "again.json").read_text(encoding="utf-8"))
        seen = set(trace.read_text().splitlines())
    then, now = dict(cells(found.pop("then"))), dict(cells(found.pop("now")))
    return found.pop("by"), then, now, found, seen


def main() -> int:
    r"""Look at the results that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="+", help="results of experiments, such as encoders")
    return int(not all([verify(name) for name in parser.parse_args().names]))

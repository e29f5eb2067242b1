r"""
Results whose code has changed in nothing that it measures.

A result names its sources with fingerprints of their code. When an experiment or a page is tidied
up, there are two honest ways: to run the experiment again, or to show that nothing has changed.
This program does the second:

* it looks up, in the history, the last commit at which all sources were those of the result
* it runs the experiment in its small way twice, with all files of that commit and with today's. The
  clock counts its calls, so times can be compared, too
* if all values, tables, figures and pictures are equal, digit for digit, the result gets today's
  fingerprints, and says so under `verified`: the day, the commit, the files, and how many numbers
  and texts were compared. A lesson that was cut in two since then is named by both of its files.
  What was there then, and the result doesn't name, stays unnamed: nobody has written down what it
  said when the result was made

What differs is printed, and the result stays stale. The author has to know that the small run comes
by what has changed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.library.history import commit_with, unpack
from benchmarks.record import replace
from literate.results.fingerprints import fingerprint

ROOT = Path(__file__).resolve().parents[1]

# Python reads a file of this name when it begins, in processes that an experiment starts, too.
CLOCK_FILE = "sitecustomize.py"
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
# Runs an experiment in its small way, and leaves its result in a folder.
SMALL = """
import importlib
import sys
from pathlib import Path

from benchmarks.__main__ import shorten_the_text

shorten_the_text()
experiment = importlib.import_module(f"benchmarks.{sys.argv[1]}").EXPERIMENT

from benchmarks.library.experiment import Runner

experiment.with_settings(experiment.small)
folder = Path(sys.argv[2])
experiment.run(Runner(experiment, folder / "runs", experiment.small), folder)
"""

# What two runs of the same code may differ in.
ABOUT_THE_RUN = ("command", "machine", "made", "schema", "seconds", "sources", "verified")
OF_THE_SYSTEM = ("peak_memory",)


def small_result(name: str, root: Path) -> dict[str, Any]:
    r"""What an experiment finds in its small way, with the code below `root`."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, CLOCK_FILE).write_text(CLOCK, encoding="utf-8")
        there = os.environ | {
            "PYTHONPATH": os.pathsep.join([folder, str(root)]),
            "PYTHONHASHSEED": "0",
            # More threads add up in another order.
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, "-c", SMALL, name, folder]
        ran = subprocess.run(command, cwd=root, env=there, capture_output=True, text=True)
        if ran.returncode:
            raise SystemExit(f"{name} fails in {root}:\n{ran.stderr}")
        written = Path(folder, "results", f"{name}.json")
        return json.loads(written.read_text(encoding="utf-8"))


def compared(result: dict[str, Any]) -> dict[str, Any]:
    r"""All that two runs of the same code have in common, by its place."""
    return dict(cells({key: one for key, one in result.items() if key not in ABOUT_THE_RUN}))


def cells(found: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    r"""All numbers and texts of a result, with their places."""
    if isinstance(found, dict):
        for key, value in found.items():
            if key in OF_THE_SYSTEM:
                continue
            yield from cells(value, f"{place}.{key}")
    elif isinstance(found, list):
        for at, value in enumerate(found):
            yield from cells(value, f"{place}[{at}]")
    else:
        yield place.lstrip("."), found


def verify(name: str, root: Path = ROOT) -> bool:
    r"""Renew the fingerprints of a result if then and today give the same; say what differs."""
    path = root / "results" / f"{name}.json"
    if not path.is_file():
        raise SystemExit(f"there is no result {name!r}; `python -m benchmarks stale` lists them")
    result = json.loads(path.read_text(encoding="utf-8"))
    known = result["sources"]
    today = {source: fingerprint(root / source) for source in known}
    changed = sorted(source for source in known if known[source] != today[source])
    if not changed:
        print(f"{name}: nothing has changed")
        return True
    commit = commit_with(known, root)
    if commit is None:
        print(f"{name}: no commit has all its sources as they were measured. Run it again.")
        return False
    print(f"{name}: {', '.join(changed)} changed since {commit[:8]}; two small runs …", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        unpack(commit, Path(folder), root)
        before = compared(small_result(name, Path(folder)))
        ran = small_result(name, root)
        new = {one: ran["sources"][one] for one in ran["sources"] if not Path(folder, one).exists()}
    after = compared(ran)
    differing = [place for place in {**before, **after} if before.get(place) != after.get(place)]
    if differing:
        print(f"{name}: {len(differing)} of {len(after)} numbers and texts differ, such as")
        for place in differing[:3]:
            print(f"  {place}: {before.get(place)!r} then, {after.get(place)!r} today")
        return False
    # A new file may have a part of what was in another one.
    result["sources"] = today | new
    result["verified"] = {
        "day": date.today().isoformat(),
        "before": commit[:8],
        "files": sorted({*changed, *new}),
        "cells": len(after),
    }
    text = json.dumps(result, indent=1, sort_keys=True, ensure_ascii=False)
    replace(path, text + "\n")
    print(f"{name}: {len(after)} numbers and texts are the same; renewed")
    return True


def main() -> int:
    r"""Look at the results that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="+", help="results of experiments, such as encoders")
    return int(not all([verify(name) for name in parser.parse_args().names]))

r"""The slow tests, in slices of about ten minutes each: `make whole SLICE=NAME`.

    python -m tests.slices NAME

runs the tests of one slice that are marked `whole`. Without a name it runs all slices, one after
another; `today` is the one that the date chooses, and `list` prints the names. Where a machine
lacks what a slice needs (an interpreter, a network), each of its tests says “not run” and why; with
`--else-next` the next slice is taken then. All other options are for pytest.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from zlib import crc32

ROOT = Path(__file__).resolve().parents[1]

# Which slices the slow tests go to whose names begin so; the longest beginning counts. Several
# slices share tests by their names. What is added elsewhere goes to the slice of its folder.
PLACES = {
    "tests/": ("rest",),
    "tests/benchmarks/": ("experiments-1", "experiments-2", "experiments-3"),
    "tests/benchmarks/test_fake_gpu.py": ("gpu",),
    "tests/benchmarks/test_gpu.py": ("gpu",),
    "tests/browser/": ("browser-1", "browser-2"),
    "tests/browser/test_exercises.py": ("exercises",),
    "tests/browser_torch/": ("stand-in-1", "stand-in-2"),
    "tests/literate/": ("tool",),
    "tests/literate/test_notebook_cells_again.py": ("again-1", "again-2", "again-3", "again-4"),
    "tests/literate/test_notebook_runs.py": ("notebooks-1", "notebooks-2", "notebooks-3"),
    "tests/mutants/": ("mutants",),
    "tests/wrongline/": ("wrongline",),
    "tests/test_engines.py": ("zensical",),
    "tests/test_make.py::test_colab": ("colab",),
    "tests/test_make.py::test_lint": ("lint",),
    "tests/test_make.py::test_another_python[python3.12]": ("python3.12",),
    "tests/test_make.py::test_another_python[python3.13]": ("python3.13",),
    "tests/test_make.py::test_the_oldest_torch": ("oldest",),
    "tests/test_make.py::test_soak": ("soak",),
}
SLICES = sorted({name for names in PLACES.values() for name in names})
# What pytest says when no test has run.
NOTHING = 5


def slice_of(test: str) -> str:
    r"""The slice of a slow test, by pytest's name of it."""
    beginning = max((one for one in PLACES if test.startswith(one)), key=len)
    names = PLACES[beginning]
    return names[crc32(test.encode()) % len(names)]


def files_of(name: str) -> list[str]:
    r"""The files and folders that have the tests of a slice."""
    return [place.partition("::")[0] for place, names in PLACES.items() if name in names]


def from_today() -> list[str]:
    r"""All slices, from that of the day on."""
    first = datetime.now(UTC).toordinal() % len(SLICES)
    return SLICES[first:] + SLICES[:first]


def run(name: str, options: Sequence[str]) -> int:
    r"""The exit status of pytest for one slice."""
    print(f"slice {name}: make whole SLICE={name}", flush=True)
    asked = ["-m", "whole", f"--slice={name}", "-rs", *options, *files_of(name)]
    status = subprocess.run([sys.executable, "-m", "pytest", *asked], cwd=ROOT).returncode
    if status == NOTHING:
        print(f"slice {name}: not run, for the reasons above", flush=True)
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    r"""The exit status: that of a slice that failed, else 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.slices", description=__doc__)
    parser.add_argument("name", nargs="?", choices=[*SLICES, "today", "list"])
    parser.add_argument("--else-next", action="store_true", help="if it can't run, run another")
    given, options = parser.parse_known_args(arguments)
    if given.name == "list":
        print(*SLICES)
        return 0
    order = from_today()
    if given.name in SLICES:
        first = SLICES.index(given.name)
        order = SLICES[first:] + SLICES[:first]
    failed = 0
    for name in order:
        status = run(name, options)
        if status != NOTHING:
            failed = failed or status
        if given.name and not (given.else_next and status == NOTHING):
            break
    return failed


if __name__ == "__main__":
    sys.exit(main())

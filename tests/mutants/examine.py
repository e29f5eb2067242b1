r"""Break a page in every way that one line allows, and see whether its tests notice.

    python -m tests.mutants labml_nn/transformers/mha.py labml_nn/transformers/rms_norm.py

Each mutant of a page, which `mutations.py` makes, meets the tests of that page alone: those
of `tests/` under the same path, or those that `judges.toml` names. What they don't notice has
survived, and is printed with the line as it was and as it became. Mutants that compute the same as
the page are listed, with the reason, in `equivalent.toml`; an entry there that fits no mutant, or
that the tests do notice, is an error. The exit status is 1 if a mutant survived, 2 if something
else is wrong.

Everything that pages and tests import from elsewhere is imported once. Then each mutant has a
process of its own, a fork, in which the changed text is what is imported as the page. No file is
changed.
"""

import argparse
import contextlib
import gc
import importlib
import linecache
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from literate.reading.oracles import test_of
from tests.mutants.mutations import Mutant, mutants, spread

EQUIVALENT = Path(__file__).with_name("equivalent.toml")
JUDGES = Path(__file__).with_name("judges.toml")
# One mutant that asks for all memory there is would take the others with it.
MEMORY = 12 * 2**30
OK = 0  # the exit status of pytest


@dataclass(frozen=True)
class Equivalent:
    r"""A mutant that computes the same as the page, and why."""

    page: str
    original: str
    mutated: str
    reason: str
    definition: str = ""  # where the line stands, if there is another one like it

    def fits(self, mutant: Mutant) -> bool:
        r"""Whether it speaks of this mutant."""
        texts = self.original == mutant.original and self.mutated == mutant.mutated
        return texts and self.definition in ("", mutant.definition)


@dataclass
class Outcome:
    r"""What became of the mutants of a page."""

    page: str
    killed: list[tuple[Mutant, str]] = field(default_factory=list)  # with the test that noticed
    equivalent: list[Mutant] = field(default_factory=list)
    survived: list[Mutant] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)  # entries that don't fit, tests that fail

    @property
    def counts(self) -> tuple[int, int, int, int]:
        r"""How many were made, killed, equivalent, and how many survived."""
        parts = len(self.killed), len(self.equivalent), len(self.survived)
        return sum(parts), *parts


def own_tests(page: Path) -> Path:
    r"""`tests/a/test_b.py` for `a/b.py`, and `tests/a/test_init.py` for `a/__init__.py`."""
    return Path(test_of(page.as_posix()))


def judges(page: Path, listed: Path = JUDGES) -> list[Path]:
    r"""The files of tests that a mutant of the page meets, in this order: those that the table
    names, else the page's own.
    """
    named = tomllib.loads(listed.read_text()).get(page.as_posix())
    return [Path(name) for name in named] if named else [own_tests(page)]


def read_equivalents(path: Path = EQUIVALENT) -> list[Equivalent]:
    return [Equivalent(**entry) for entry in tomllib.loads(path.read_text()).get("mutant", [])]


def instead(file: str, source: str) -> None:
    r"""From now on, this is what is imported as the file, and tracebacks show it, too."""
    read = SourceFileLoader.get_code

    def code(self: SourceFileLoader, name: str) -> Any:
        return compile(source, file, "exec") if self.path == file else read(self, name)

    SourceFileLoader.get_code = code  # type: ignore[method-assign]
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)


class Watch:
    r"""A plug-in of pytest that remembers the first test that failed."""

    first = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        r"""Called by pytest after each part of each test, and when it has read a file of tests."""
        if report.failed and not self.first:
            self.first = report.nodeid.partition("::")[2] or "(import)"

    pytest_collectreport = pytest_runtest_logreport


def run_tests(
    page: Path, source: str | None, tests: list[Path], folder: str
) -> tuple[int, str, list[str]]:
    r"""Pytest's exit status, the first failed test, and the modules that were loaded meanwhile."""
    import pytest

    watch = Watch()
    if source is not None:
        instead(str(Path.cwd() / page), source)
    own = ["-o", f"cache_dir={folder}/cache", f"--basetemp={folder}/{os.getpid()}"]
    arguments = ["-x", "-q", "--tb=no", "--no-header", *own, *map(str, tests)]
    status = int(pytest.main(arguments, plugins=[watch]))
    return status, watch.first, list(sys.modules)


class Children:
    r"""Processes that compute something each, a few at a time."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.running: dict[int, tuple[int, Any]] = {}
        self.results: dict[int, Any] = {}

    def start(self, number: int, limit: float, compute: Callable[[], Any]) -> None:
        r"""Fork, and let the child compute. It is ended by the clock after `limit` seconds."""
        while len(self.running) >= self.jobs:
            self.wait()
        answer = tempfile.TemporaryFile()
        sys.stdout.flush()
        child = os.fork()
        if child:
            self.running[child] = (number, answer)
            return
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, limit)
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
            result = compute()
            signal.setitimer(signal.ITIMER_REAL, 0)
            pickle.dump(result, answer)
            answer.flush()
        finally:
            os._exit(0)  # what the parent would do at its end is not the child's business

    def wait(self) -> None:
        r"""Until one of them has ended. One that gave no answer was ended by something."""
        child, status = os.wait()
        number, answer = self.running.pop(child)
        answer.seek(0)
        data = answer.read()
        answer.close()
        self.results[number] = pickle.loads(data) if data else os.waitstatus_to_exitcode(status)

    def all(self) -> dict[int, Any]:
        r"""The results, once all have ended."""
        while self.running:
            self.wait()
        return self.results


def warm_up(names: Iterable[str]) -> None:
    r"""Import what is not of this repository, so that no child has to; and the oracles, which know
    nothing of the pages.
    """
    here = Path.cwd()
    for name in names:
        top = name.partition(".")[0]
        local = (here / top).exists() or (here / f"{top}.py").exists() or top == "__main__"
        own = local or name.partition("test_")[0] == "" or top == "conftest"
        if name in sys.modules or (own and not name.startswith("tests.oracles.")):
            continue
        # Modules that their package makes in its own way are there by then, or are not needed.
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def examine(
    page: Path,
    folder: str,
    most: int = 0,
    jobs: int = 0,
    limit: float = 0.0,
    listed: Path = EQUIVALENT,
    judging: Path = JUDGES,
) -> Outcome:
    r"""Make the mutants of a page, and run its tests on each. Zeros stand for what is usual.

    What pytest writes goes to the folder.
    """
    source = page.read_text()
    outcome = Outcome(str(page))
    jobs = jobs or len(os.sched_getaffinity(0))
    entries = [entry for entry in read_equivalents(listed) if entry.page == str(page)]
    everyone = mutants(source)
    chosen = spread(everyone, most) if most else everyone

    for entry in entries:
        count = sum(entry.fits(one) for one in everyone)
        if count != 1:
            outcome.wrong.append(
                f"{entry.original!r} -> {entry.mutated!r} is in the list of equivalents, and "
                f"{count} mutants are like it" + ("; say which `definition`" if count else "")
            )
    tests = judges(page, judging)
    missing = [f"there is no {file}" for file in tests if not file.exists()]
    if missing:
        outcome.wrong += missing
        return outcome

    # The page as it is, which has to pass, and shows what there is to import. Once more then, to
    # see how long it takes.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for _ in range(2):
        first, start = Children(1), time.monotonic()
        first.start(0, 600, lambda: run_tests(page, None, tests, folder))
        found = first.all()[0]
        usual = time.monotonic() - start
        if isinstance(found, int) or found[0] != OK:
            failed = "no answer" if isinstance(found, int) else found[1]
            names = ", ".join(map(str, tests))
            outcome.wrong.append(f"{names} fails on the page as it is: {failed}")
            return outcome
        warm_up(found[2])
    gc.collect()
    gc.freeze()

    limit = limit or 20 + 8 * usual
    children = Children(jobs)
    for number, one in enumerate(chosen):
        children.start(number, limit, lambda one=one: run_tests(page, one.source, tests, folder))
    for number, result in sorted(children.all().items()):
        one = chosen[number]
        same = any(entry.fits(one) for entry in entries)
        if isinstance(result, tuple) and result[0] == OK:
            (outcome.equivalent if same else outcome.survived).append(one)
            continue
        by = result[1] if isinstance(result, tuple) else "(time or memory)"
        outcome.killed.append((one, by))
        if same:
            outcome.wrong.append(
                f"{one.original!r} -> {one.mutated!r} is in the list of equivalents, and {by} "
                "notices it"
            )
    return outcome


def show(outcome: Outcome, verbose: bool) -> None:
    r"""Print what became of the mutants of a page."""
    for one, by in outcome.killed if verbose else []:
        print(f"{outcome.page}:{one.line}: killed by {by}\n    {one.original}\n    {one.mutated}")
    for one in outcome.survived:
        where = f" in {one.definition}" if one.definition else ""
        print(f"{outcome.page}:{one.line}: survived{where}\n    {one.original}\n    {one.mutated}")
    for line in outcome.wrong:
        print(f"{outcome.page}: {line}")
    counts = "{} mutants: {} killed, {} equivalent, {} survived".format(*outcome.counts)
    print(f"{outcome.page}: {counts}", flush=True)


def prepare(folder: str) -> None:
    r"""Before anything is imported: one thread, no plug-ins, a folder for what is compiled once."""
    sys.dont_write_bytecode, sys.pycache_prefix = False, folder
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"


def main() -> int:
    r"""Examine the pages of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="+", type=Path, help="modules, from the repository's folder")
    option = parser.add_argument
    option("--most", type=int, default=0, help="so many at most, spread over the lines")
    option("--jobs", type=int, default=0, help="processes at a time; all cores else")
    option("--limit", type=float, default=0.0, help="seconds for one mutant")
    option("--equivalent", type=Path, default=EQUIVALENT, help="the list of these")
    option("--judges", type=Path, default=JUDGES, help="which tests a page has, if not its own")
    option("--verbose", action="store_true", help="show those that were killed, too")
    arguments = parser.parse_args()

    compiled = tempfile.TemporaryDirectory()
    prepare(compiled.name)
    options = arguments.most, arguments.jobs, arguments.limit
    lists = arguments.equivalent, arguments.judges
    outcomes = []
    for page in arguments.pages:
        outcomes.append(examine(page, compiled.name, *options, *lists))
        show(outcomes[-1], arguments.verbose)
    if any(outcome.wrong for outcome in outcomes):
        return 2
    return int(any(outcome.survived for outcome in outcomes))

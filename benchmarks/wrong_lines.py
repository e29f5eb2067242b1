r"""
Who finds which wrong line? Mistakes, and what tools that test models say of them.

Rows are mistakes, each with what is right beside it: the exhibits of our museum, public reports
that are written anew, and the operators of defaultplusplus that change anything. Columns are
wrongline and four packages of PyPI, each used as its README says. Every tool looks at each mistake
in a child process with a time limit, and so it does at what is right, where whatever fails is a
false alarm. The result is results/wrong_lines.json.

    pip install --no-deps --target FOLDER torchtest2 pytest-torch defaultplusplus \
        causal-certificate==0.1.0 pandas scipy scikit-learn joblib threadpoolctl cloudpickle \
        narwhals python-dateutil six
    python -m benchmarks wrong_lines --packages FOLDER

It can be stopped and started again: what a tool has said is kept in runs/wrong_lines.
"""

import argparse
import contextlib
import io
import re
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from importlib.metadata import distributions
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

# As `python benchmarks/wrong_lines.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from benchmarks.library.keeping import Kept, key_of  # noqa: E402
from benchmarks.library.watched import accounted  # noqa: E402
from benchmarks.record import fingerprints, write  # noqa: E402
from benchmarks.wrong_cases import exhibits, issues, operators  # noqa: E402
from benchmarks.wrong_cases.case import Case  # noqa: E402
from benchmarks.wrong_cases.tools import LACKS, TOOLS, CantBeAskedError, ask  # noqa: E402
from benchmarks.wrong_cases.words import said_as_fact, words_of  # noqa: E402

# The module by which each tool is imported.
MODULES = {
    "wrongline": "wrongline",
    "torchtest2": "torchtest2",
    "pytest-torch": "pytest_torch",
    "causal-certificate": "causal_certificate",
    "defaultplusplus": "defaultplusplus.diagnosis",
}
LIMIT = 60.0

NAMED, SUSPECTED, FOUND, MISSED = "named", "suspected", "found", "–"
NOT_ASKED = "not asked"

# What a tool says of one subject, or why it can't be asked.
Told = dict[str, Any]


def looked_at(tool: str, case: Case, side: str) -> Told:
    r"""What one tool says of one side of a case, and in how many seconds of a processor."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        subject = case.right() if side == "right" else case.wrong()
        # Of the processor: other programs may run at the same time.
        begun = time.process_time()
        try:
            said = ask(tool, subject)
        except CantBeAskedError as error:
            return {"not_asked": str(error)}
    seconds = time.process_time() - begun
    return {"said": [vars(one) for one in said], "seconds": seconds}


def in_child(tool: str, case: Case, side: str, limit: float, to: Connection) -> None:
    r"""What a child process does."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    # The process ends if it takes longer, by the clock of the processor or by that on the wall.
    signal.setitimer(signal.ITIMER_PROF, limit)
    signal.setitimer(signal.ITIMER_REAL, 10 * limit)
    to.send(looked_at(tool, case, side))


def alone(tool: str, case: Case, side: str, limit: float) -> Told:
    r"""The same in a process of its own."""
    context = get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=in_child, args=(tool, case, side, limit, there))
    child.start()
    there.close()
    try:
        found: Told = here.recv()
    except EOFError:
        found = {"not_asked": f"it took more than {limit:g} s"}
    child.join()
    return found


def grade(case: Case, right: Told, wrong: Told) -> str:
    r"""
    What a tool has made of a mistake.

    Something is found if a test fails, or makes a remark, that doesn't with what is right. It's
    named if a sentence says what is wrong, and suspected if the words are in a list of what may be.
    """
    if "not_asked" in wrong or "not_asked" in right:
        return NOT_ASKED
    # A test that only makes a remark of the right one, and fails here, says something new.
    known = {(one["test"], one["fails"]) for one in right["said"]}
    new = [
        " ".join(one["sentence"].split())
        for one in wrong["said"]
        if (one["test"], one["fails"]) not in known
    ]
    if not new:
        return MISSED
    words = words_of(case)
    if any(re.search(words, said_as_fact(one)) for one in new):
        return NAMED
    return SUSPECTED if any(re.search(words, one) for one in new) else FOUND


def false_alarms(right: Told) -> list[str]:
    r"""What fails with something that is right; remarks aren't meant."""
    return [one["test"] for one in right.get("said", []) if one["fails"]]


def every_case(rows: Sequence[str]) -> tuple[list[Case], dict[str, int]]:
    r"""Rows of some kinds, and what the operators of defaultplusplus do, if it's there."""
    found = [*exhibits.cases(), *issues.cases()]
    if "operators" not in rows or not there("defaultplusplus"):
        return [one for one in found if f"{one.kind}s" in rows], {}
    with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        more, counts = operators.cases()
    return [one for one in [*found, *more] if f"{one.kind}s" in rows], counts


def there(tool: str) -> bool:
    r"""Whether a tool can be imported."""
    try:
        return find_spec(MODULES[tool]) is not None
    except ModuleNotFoundError:
        return False


class Asked:
    r"""Asks each tool once, and keeps what it says for as long as nothing is another."""

    # What it depends on, beside ours and the tool itself. How sentences are read isn't among it.
    READS = (
        "benchmarks/wrong_cases/[!w]*.py",
        "labml_nn/transformers/mistakes/*.py",
        "labml_nn/training/loop.py",
    )

    def __init__(self, version: Told, limit: float, folder: Path | None) -> None:
        r"""
        * `version` is that of each tool
        * `limit` is in seconds of a processor
        * `folder` is where it is kept, if it is
        """
        self.version, self.limit = version, limit
        self.kept = Kept(folder) if folder else None
        self.seconds = 0.0

    def key(self, tool: str, name: str) -> Told:
        r"""All that makes a difference."""
        read = self.READS if tool != "wrongline" else (*self.READS, "wrongline/*.py")
        paths = [path.relative_to(ROOT).as_posix() for one in read for path in ROOT.glob(one)]
        arguments = (tool, name, self.version.get(tool, ""), self.limit)
        return key_of(fingerprints(sorted(paths)), arguments, {})

    def __call__(self, tool: str, case: Case, side: str) -> Told:
        r"""What a tool says of one side of a case."""
        name = f"{tool} {case.like if side == 'right' and case.like else case.name} {side}"
        key = self.key(tool, name)
        found: Told | None = self.kept.get(name, key) if self.kept else None
        if found is None:
            found = alone(tool, case, side, self.limit)
            if self.kept:
                self.kept.put(name, key, found)
        self.seconds += found.get("seconds", 0.0)
        return found


def examine(cases: Sequence[Case], tools: Sequence[str], asked: Asked) -> list[Told]:
    r"""A row for each mistake; what is right is looked at once for all that share it."""
    rows = []
    known: dict[tuple[str, str], Told] = {}
    begun = time.monotonic()
    for index, case in enumerate(cases):
        row: Told = {"case": case, "grade": {}, "seconds": {}, "alarms": {}, "right": {}, "why": {}}
        for tool in tools:
            name = (tool, case.like or case.name)
            if name not in known:
                known[name] = asked(tool, case, "right")
            right, wrong = known[name], asked(tool, case, "wrong")
            row["grade"][tool] = grade(case, right, wrong)
            row["why"][tool] = wrong.get("not_asked", right.get("not_asked", ""))
            row["right"][tool] = name[1]
            row["alarms"][tool] = false_alarms(right)
            row["said"] = row.get("said", {}) | {tool: wrong.get("said", [])}
            if "seconds" in wrong:
                row["seconds"][tool] = wrong["seconds"]
        rows.append(row)
        told = ", ".join(f"{tool} {one}" for tool, one in row["grade"].items())
        left = (time.monotonic() - begun) / (index + 1) * (len(cases) - index - 1)
        print(f"{index + 1}/{len(cases)}  {case.name}: {told}  about {left:.0f} s left", flush=True)
    return rows


def versions(packages: Path) -> dict[str, str]:
    r"""The version of each package."""
    found = {}
    for one in distributions(path=[str(packages)]):
        found[one.metadata["Name"].lower().replace("_", "-")] = one.version
    return found


def of_a_tool(tool: str, rows: Sequence[Told], version: str) -> Told:
    r"""The row of a tool: of how many mistakes it has said what, in which time."""
    grades = [row["grade"][tool] for row in rows]
    # What is right was looked at once for all mistakes that share it.
    alarms = {row["right"][tool]: row["alarms"][tool] for row in rows}
    seconds = [row["seconds"][tool] for row in rows if tool in row["seconds"]]
    asked = len(grades) - grades.count(NOT_ASKED)
    counted = [row["grade"][tool] != NOT_ASKED for row in rows]
    return {
        "tool": tool,
        "version": version,
        "asked": asked,
        "any": sum(one in (NAMED, SUSPECTED, FOUND) for one in grades),
        "named": grades.count(NAMED),
        "right": len({row["right"][tool] for row, one in zip(rows, counted, strict=True) if one}),
        "alarms": sum(bool(one) for one in alarms.values()),
        "seconds": median(seconds) if seconds else 0.0,
    }


def report(rows: Sequence[Told], tools: Sequence[str], counts: Told, packages: Path) -> Told:
    r"""What becomes of them."""
    known = versions(packages)
    of_kind = {kind: [row for row in rows if f"{row['case'].kind}s" == kind] for kind in KINDS}
    short = {tool: tool.replace("-", "_") for tool in tools}
    columns = [
        {"name": "mistake", "title": "Mistake"},
        {"name": "source", "title": "Where it was"},
        *({"name": short[tool], "title": tool} for tool in tools),
    ]

    def table(some: Sequence[Told]) -> Told:
        cells = [
            {
                "mistake": row["case"].name,
                "source": row["case"].source.partition(".py#")[0]
                + (".py" if row["case"].kind == "exhibit" else ""),
                **{short[tool]: row["grade"][tool] for tool in tools},
            }
            for row in some
        ]
        return {"columns": columns, "rows": cells}

    summary = {
        name: [of_a_tool(tool, some, known.get(tool, "this one")) for tool in tools]
        for name, some in [("all", list(rows)), *of_kind.items()]
        if some
    }
    alarms = {
        (row["right"][tool], tool): ", ".join(row["alarms"][tool])
        for row in rows
        for tool in tools
        if row["alarms"][tool]
    }
    return {
        "values": {
            "rows": len(rows),
            **{name: len(some) for name, some in of_kind.items() if some},
            **({"of_the_operators": counts} if counts else {}),
            **{
                name: {short[one["tool"]]: {k: one[k] for k in NUMBERS} for one in some}
                for name, some in ((f"of_{key}", some) for key, some in summary.items())
            },
        },
        "tables": {
            **{name: table(some) for name, some in of_kind.items() if some},
            "tools": {
                "columns": [
                    {"name": "tool", "title": "Tool"},
                    {"name": "version", "title": "Version"},
                    {"name": "asked", "title": "Asked"},
                    {"name": "any", "title": "Found"},
                    {"name": "named", "title": "Named"},
                    {"name": "right", "title": "Right ones"},
                    {"name": "alarms", "title": "False alarms"},
                    {"name": "seconds", "title": "Median time", "unit": "s", "digits": 2},
                ],
                "rows": summary["all"],
            },
            "alarms": {
                "columns": [
                    {"name": "right", "title": "What is right"},
                    {"name": "tool", "title": "Tool"},
                    {"name": "tests", "title": "What fails"},
                ],
                "rows": [
                    {"right": right, "tool": tool, "tests": tests}
                    for (right, tool), tests in alarms.items()
                ],
            },
        },
    }


KINDS = ["exhibits", "reports", "operators"]
NUMBERS = ("asked", "any", "named", "right", "alarms", "seconds")
RECORDED = "benchmarks.wrong_lines:examine"
# What is kept is made by a child of `Asked`, which nothing else tells of.
ALSO = (Asked, every_case, report)


def main(arguments: Sequence[str] | None = None) -> int:
    r"""Look at all, and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packages", type=Path, metavar="FOLDER", help="where the tools are")
    parser.add_argument("--rows", nargs="+", choices=KINDS, default=KINDS, help="some kinds alone")
    parser.add_argument("--small", action="store_true", help="two rows; nothing is written")
    parser.add_argument("--only", metavar="WORDS", help="rows with these words; nothing is written")
    parser.add_argument("--said", action="store_true", help="print what the tools say")
    given = parser.parse_args(arguments)
    folder = (given.packages or Path()).resolve()
    if given.packages is not None:
        sys.path.append(str(folder))
    # Most of what is multiplied here is small, so more threads only get into each other's way.
    torch.set_num_threads(1)
    tools = [tool for tool in TOOLS if there(tool)]
    for tool in TOOLS:
        if tool not in tools:
            print(f"{tool} isn't there, or lacks a package that it needs: its column is left out")
    with accounted(RECORDED) as sources:
        cases, counts = every_case(given.rows)
        if given.small:
            cases = [exhibits.cases()[5], *cases[-1:]]
        if given.only:
            cases = [one for one in cases if given.only in one.name]
        # What children would import each is imported once.
        for name in ("torch._dynamo", *(MODULES[tool] for tool in tools)):
            __import__(name)
        kept = None if given.small else ROOT / "runs" / "wrong_lines"
        asked = Asked(versions(folder), LIMIT, kept)
        rows = examine(cases, tools, asked)
    if given.said:
        for row in rows:
            for tool, said in row["said"].items():
                for one in said:
                    print(row["case"].name, tool, one, sep=" | ")
            print(row["case"].name, row["alarms"], row["why"])
    found = report(rows, tools, counts, folder)
    some = "" if given.rows == KINDS else f" --rows {' '.join(given.rows)}"
    if given.small or given.only is not None:
        return 0
    lacking = {why for row in rows for why in row["why"].values() if why.startswith(LACKS)}
    print(*lacking, sep="\n")
    if len(tools) < len(TOOLS) or lacking:
        print("nothing is written: a tool is missing, or a part of it", file=sys.stderr)
        return 1
    write(
        "wrong_lines",
        title="Wrong lines, and who finds them",
        command=f"python -m benchmarks wrong_lines --packages FOLDER{some}",
        of=RECORDED,
        sources=sources,
        seconds=asked.seconds,
        **found,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

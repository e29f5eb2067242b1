r"""What is known about the pages: compared with whom, how far from them, how many mutants noticed.

    python -m tests.mutants.proof

A test file that has a table `ORACLES` says by it whom its page is compared with: from a name to a
function that gives the largest absolute difference, in double precision, over outputs and
gradients. For each such page the functions are called, a sample of its mutants is made
(`examine.py`), and what came out becomes a row of `results/proof.json`, which the site shows.

Only pages are run again of which the file or its test has changed since; `--all` runs them all. The
exit status is 1 if a mutant survived, which the row tells too, or if a page is further away from an
oracle than it may be: that makes no row.

A lesson without oracles stands in a second table, with the reason. A page that is new, or has
changed, waits for its row until somebody runs this: nothing is red until then.
"""

import argparse
import ast
import importlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

# The record says with which torch the lessons were tested, if this process knows one.
import torch  # noqa: F401
import yaml

from benchmarks.record import write
from literate import settings
from literate.reading import oracles
from literate.reading.lessons import of_project
from literate.results.made_of import definitions
from tests.mutants.examine import Children, Outcome, examine, own_tests, prepare, show

ROOT = Path(__file__).resolve().parents[2]
RESULT = Path("results/proof.json")
COMMAND = "python -m tests.mutants.proof"
# What rounding in double precision can make of a difference, and no wrong formula can.
NEAR = 1e-10
COUNTS = ("made", "killed", "equivalent", "survived")
COLUMNS = [
    {"name": "page", "title": "Page"},
    {"name": "paper", "title": "Paper"},
    {"name": "oracles", "title": "Compared with"},
    {"name": "difference", "title": "Largest difference"},
    {"name": "made", "title": "Mutants"},
    {"name": "killed", "title": "Noticed"},
    {"name": "equivalent", "title": "Equivalent"},
    {"name": "survived", "title": "Not noticed"},
]


def lessons(root: Path = ROOT) -> list[str]:
    r"""All pages that teach: neither lists of pages nor programs."""
    owed = of_project(settings.load(root))
    every = sorted(path.relative_to(root).as_posix() for path in (root / "labml_nn").rglob("*.py"))
    return [path for path in every if oracles.is_compared(path, owed)]


def pages(root: Path = ROOT) -> list[Path]:
    r"""The lessons whose tests have `ORACLES`."""
    return [Path(path) for path in lessons(root) if oracles.has_table(path, root)]


def without(root: Path = ROOT) -> dict[str, str | None]:
    r"""The lessons that have no oracles, and why, which `literate check` asks for."""
    reasons = oracles.reasons(root, of_project(settings.load(root)))
    return {
        row_name(Path(path)): oracles.reason(path, reasons)
        for path in lessons(root)
        if not oracles.has_table(path, root)
    }


def sources(page: Path) -> list[str]:
    r"""What a row is about: the page, and its test."""
    return [page.as_posix(), own_tests(page).as_posix()]


def recorded(root: Path = ROOT) -> dict[str, Any]:
    r"""What was found before."""
    path = root / RESULT
    return json.loads(path.read_text()) if path.exists() else {"sources": {}, "values": {}}


def row_name(page: Path) -> str:
    r"""The name of a page in the table."""
    return page.relative_to("labml_nn").with_suffix("").as_posix()


def stale(root: Path = ROOT) -> list[Path]:
    r"""The pages that are not in the result, or have changed since."""
    known = recorded(root)
    return [
        page
        for page in pages(root)
        if row_name(page) not in known["values"].get("pages", {})
        or any(definitions(root / one) != known["sources"].get(one) for one in sources(page))
    ]


def distances(page: Path) -> dict[str, float]:
    r"""How far the page is from each of its oracles."""
    name = ".".join(own_tests(page).with_suffix("").parts)
    table = importlib.import_module(name).ORACLES
    return {oracle: float(distance()) for oracle, distance in table.items()}


def paper_of(page: Path) -> dict[str, Any]:
    r"""What the page says of its paper, or nothing."""
    docstring = ast.get_docstring(ast.parse(page.read_text()))
    return yaml.safe_load(docstring.split("---")[1]).get("paper", {})


def measure(page: Path, folder: str, most: int, jobs: int) -> tuple[dict[str, Any], Outcome]:
    r"""What becomes a row."""
    child = Children(1)
    child.start(0, 600, lambda: distances(page))
    found = child.all()[0]
    if not isinstance(found, dict):
        raise SystemExit(f"proof.py: the oracles of {page} gave no answer: status {found}")
    outcome = examine(page, folder, most, jobs)
    paper = paper_of(page)
    row = {
        "paper": f"{paper['title']} ({paper['year']})" if paper else "",
        "link": paper.get("link", ""),
        "oracles": found,
        **dict(zip(COUNTS, outcome.counts, strict=True)),
    }
    return row, outcome


def shown(difference: float) -> str:
    r"""A difference as one digit and its power of ten."""
    return f"{difference:.0e}".replace("e-0", "e-").replace("-", "−") if difference else "0"


def save(rows: dict[str, dict[str, Any]], known: dict[str, str], root: Path = ROOT) -> None:
    r"""Write the result, of pages that are as they were: a row is about today's code, or goes."""
    there = {
        row_name(page): page
        for page in pages(root)
        if all(definitions(root / one) == known.get(one) for one in sources(page))
    }
    rows = {name: row for name, row in sorted(rows.items()) if name in there}
    table = [
        {
            "page": name,
            "paper": row["paper"] or None,
            "oracles": "; ".join(row["oracles"]),
            "difference": shown(max(row["oracles"].values())),
            **{key: row[key] for key in COUNTS},
        }
        for name, row in rows.items()
    ]
    total = {key: sum(row[key] for row in rows.values()) for key in COUNTS}
    largest = max((max(row["oracles"].values()) for row in rows.values()), default=0.0)
    write(
        "proof",
        title="What is known about the pages",
        command=COMMAND,
        sources={one: known[one] for name in rows for one in sources(there[name])},
        values={"pages": rows, "total": {"pages": len(rows), "largest": shown(largest), **total}},
        tables={
            "proof": {"columns": COLUMNS, "rows": table},
            "without": {
                "columns": [{"name": "page", "title": "Page"}, {"name": "why", "title": "Why"}],
                "rows": [{"page": page, "why": why} for page, why in without(root).items()],
            },
        },
        root=root,
    )


def main() -> int:
    r"""Run what has changed, and write the result after each page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="*", type=Path, help="only these, if they have changed")
    parser.add_argument("--all", action="store_true", help="those that have not changed, too")
    parser.add_argument("--most", type=int, default=24, help="so many mutants at most; 0: all")
    parser.add_argument("--jobs", type=int, default=0, help="processes at a time; all cores else")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    chosen = pages() if arguments.all else stale()
    chosen = [page for page in chosen if not arguments.pages or page in arguments.pages]
    compiled = tempfile.TemporaryDirectory()
    prepare(compiled.name)
    wrong = False
    if not chosen:
        # The reasons may have changed.
        known = recorded()
        save(known["values"].get("pages", {}), known["sources"])
    for page in chosen:
        # As they were when the run began.
        before = {one: definitions(ROOT / one) for one in sources(page)}
        row, outcome = measure(page, compiled.name, arguments.most, arguments.jobs)
        for oracle, distance in row["oracles"].items():
            print(f"{page}: {shown(distance)} from {oracle}")
        show(outcome, verbose=False)
        far = [oracle for oracle, distance in row["oracles"].items() if not distance < NEAR]
        wrong = wrong or bool(outcome.survived)
        if outcome.wrong or far:
            print(f"{page}: not recorded" + "".join(f", too far from {one}" for one in far))
            wrong = True
            continue
        # As it is by now: somebody else may have recorded another page.
        known = recorded()
        rows = known["values"].get("pages", {}) | {row_name(page): row}
        save(rows, known["sources"] | before)
        print(f"{page}: recorded", flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())

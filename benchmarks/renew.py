r"""
Results whose sources have changed in nothing that the run has done.

A result names its sources with fingerprints of their code. This program looks up, in the history,
the code that was measured, and compares it with today's:

* where only the function `notebook` differs, which no run calls, the fingerprint is renewed
* where other definitions differ, it is renewed with `--example` if the `example` of the page gives
  the same numbers with the code of then and with today's, digit for digit, from three seeds. It is
  for a change that a run on a CPU can't see. The author has to know that the example calls what has
  changed; what differs is printed

Everything else stays stale, and has to be measured again.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.library.history import Version, unpack, version_with
from literate.reading.source import parse
from literate.results.fingerprints import fingerprint, of_source

ROOT = Path(__file__).resolve().parents[1]
# What runs in a notebook alone.
NEVER_CALLED = {"notebook"}
SEEDS = (1, 2, 3)

# Prints all that the example of a page returns.
CALL = """
import sys, torch
from importlib import import_module
page = import_module(sys.argv[1])
torch.set_printoptions(threshold=10**9, precision=17)
for seed in map(int, sys.argv[2:]):
    torch.manual_seed(seed)
    print(page.example())
"""


def differing(old: str, new: str) -> set[str]:
    r"""The names of top-level definitions that differ; an empty one is for anything else."""

    def parts(text: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for one in ast.parse(text).body:
            is_defined = isinstance(one, ast.FunctionDef | ast.ClassDef)
            name = one.name if is_defined else ""
            # Without the notes, as in the fingerprint.
            found[name] = found.get(name, "") + of_source(parse(ast.unparse(one) + "\n"))
        return found

    before, after = parts(old), parts(new)
    return {name for name in before | after if before.get(name) != after.get(name)}


def gives_the_same(path: str, old: Version, root: Path = ROOT) -> bool:
    r"""
    Whether the example of a page gives the same as it did.

    The package is that of the commit, for a page and what it imports may have changed together.
    """
    with tempfile.TemporaryDirectory() as folder:
        unpack(old.commit, Path(folder), root, Path(path).parts[0])
        return _called(path, Path(folder)) == _called(path, root)


def _called(path: str, root: Path) -> str:
    name = path.removesuffix(".py").replace("/", ".")
    command = [sys.executable, "-c", CALL, name, *map(str, SEEDS)]
    there = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=root, env=there, capture_output=True, text=True, check=True)
    return done.stdout


def renew(page: str, with_example: bool, root: Path = ROOT) -> list[str]:
    r"""Renew the fingerprint of a page in all results that it has changed in nothing."""
    new, said = fingerprint(root / page), []
    judged: dict[str, bool] = {}
    for path in sorted((root / "results").glob("*.json")):
        text = path.read_text(encoding="utf-8")
        known = json.loads(text)["sources"].get(page, new)
        if known == new:
            continue
        if known not in judged:
            judged[known], reason = judge(page, known, with_example, root)
            said.append(f"{page}, {known}: {reason}")
        if judged[known]:
            said.append(f"renewed in {path.name}")
            text = text.replace(f'"{page}": "{known}"', f'"{page}": "{new}"')
            path.write_text(text, encoding="utf-8")
    return said


def judge(page: str, known: str, with_example: bool, root: Path = ROOT) -> tuple[bool, str]:
    r"""Whether a page has changed in nothing that a run has done, and why."""
    old = version_with(page, known, root)
    if old is None:
        return False, "the page as it was measured is not in the history"
    today = (root / page).read_text(encoding="utf-8")
    names = differing(old.text, today) - NEVER_CALLED
    if not names:
        return True, "only the notebook differs"
    said = f"{', '.join(sorted(name or 'the rest' for name in names))} differ"
    if not with_example:
        return False, said
    if not all("def example(" in text for text in (old.text, today)):
        return False, f"{said}, and the page has no example"
    same = gives_the_same(page, old, root)
    return same, f"{said}, and the example gives {'the same' if same else 'something else'}"


def main() -> None:
    r"""Look at the pages that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("pages", nargs="+", help="paths, such as labml_nn/training/loop.py")
    parser.add_argument("--example", action="store_true", help="compare the examples, too")
    options = parser.parse_args()
    for page in options.pages:
        print(*renew(page, options.example), sep="\n", flush=True)

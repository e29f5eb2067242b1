r"""
Ten changes of code, and what the graph of names says of each.

    python -m benchmarks planted                    # how many results each makes stale
    python -m benchmarks planted translation speed  # and whether these differ in a small run

Each change is made in a copy of what is here. A result that differs in its small run, or fails
there, and isn't called stale is missed: then the exit status is 1. One that is called stale and
doesn't differ is needless. `verify` would clear it if every function that changed has run, and else
this names those that the small run doesn't come by.
"""

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.record import ROOT, code_of
from benchmarks.verify import compared, difference, not_run, small_result
from literate.results import files
from literate.settings import load

FEED_FORWARD = "labml_nn/transformers/feed_forward.py"
ATTENTION = "labml_nn/transformers/mha.py"
DATA = "labml_nn/training/data.py"
Edit = Callable[[str], str]


def replaced(pattern: str, new: str, count: int = 1) -> Edit:
    r"""A change of a text; there must be something to change."""

    def edit(text: str) -> str:
        changed, found = re.subn(pattern, new, text, count=count, flags=re.M)
        if not found:
            raise ValueError(f"there is no {pattern!r} to change")
        return changed

    return edit


def moved(text: str) -> str:
    r"""The method `forward` before `__init__`."""
    first, second = text.index("    def __init__("), text.index("    def forward(")
    end = second + text[second:].index("\n\n\n") + 1
    parts = text[:first], text[second:end], "\n", text[first:second].rstrip("\n"), "\n", text[end:]
    return "".join(parts)


CHANGES: dict[str, tuple[str, Edit]] = {
    "a local variable renamed": (FEED_FORWARD, replaced(r"\bhidden\b", "wide", 0)),
    "another default activation": (FEED_FORWARD, replaced(r"= nn\.ReLU,", "= nn.Tanh,")),
    "`raise` in FeedForward.forward": (
        FEED_FORWARD,
        replaced(r"^(        )hidden = self\.act", r"\1raise RuntimeError\n\1hidden = self.act"),
    ),
    "an untested branch in FeedForward.__init__": (
        FEED_FORWARD,
        replaced(r"^(        super.*)$", r"\1\n        if d_ff < 0:\n            raise ValueError"),
    ),
    "a comment": (ATTENTION, replaced(r"^        # ", "        # Well: ")),
    "a docstring": (DATA, replaced(r"^    ## Training batches", "    ## Batches")),
    "a new function that nobody calls": (
        ATTENTION,
        replaced(r"\Z", "\n\ndef new() -> int:\n    return 1\n"),
    ),
    "a method moved in its class": (FEED_FORWARD, moved),
    "a constant of RandomWindows": (DATA, replaced("1_000_003", "1_000_033")),
    "the scale of attention removed": (ATTENTION, replaced(r" / math\.sqrt\(self\.d_k\)", "")),
}


def stale(root: Path) -> dict[str, list[str]]:
    r"""What has changed, by the results that are stale with the code below `root`."""
    code = code_of(root)
    results = files.read(ROOT, "results").values()
    return {Path(one.path).stem: code.changed(one) for one in results if code.changed(one)}


def main() -> int:
    r"""Make the changes, and print what becomes of the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="experiments to run in the small way")
    names = parser.parse_args().names
    before = {name: compared(small_result(f"benchmarks.{name}", ROOT)[0]) for name in names}
    already = stale(ROOT)
    misses = needless = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        packages = load(ROOT).experiments["packages"]
        for one in packages:
            shutil.copytree(ROOT / one, copy / one, ignore=shutil.ignore_patterns("__pycache__"))
        for one in ROOT.iterdir():
            if one.name not in packages and not one.name.startswith("."):
                (copy / one.name).symlink_to(one)
        for what, (path, edit) in CHANGES.items():
            text = (ROOT / path).read_text(encoding="utf-8")
            (copy / path).write_text(edit(text), encoding="utf-8")
            found = {name: why for name, why in stale(copy).items() if why != already.get(name)}
            print(f"{what}: {len(found)} results are stale", flush=True)
            for name in names:
                told = outcome(name, copy, before[name], name in found)
                print(f"    {name}: {told}", flush=True)
                misses += told.startswith("MISSED")
                needless += told.startswith("needless")
            (copy / path).write_text(text, encoding="utf-8")
    if names:
        print(f"{len(names) * len(CHANGES)} pairs: {misses} missed, {needless} needless")
    return int(misses > 0)


def outcome(name: str, copy: Path, before: dict, is_stale: bool) -> str:
    r"""Whether a result differs in its small run with the changed code, and was called stale."""
    of = f"benchmarks.{name}"
    try:
        result, seen = small_result(of, copy, traced=True)
    except SystemExit as error:
        last = str(error).strip().rpartition("\n")[2]
        return f"{'stale' if is_stale else 'MISSED'}: it fails ({last})"
    after = compared(result)
    count = sum(before.get(one) != after.get(one) for one in {**before, **after})
    if count:
        return f"{'stale' if is_stale else 'MISSED'}: {count} of {len(after)} cells differ"
    if not is_stale:
        return "fresh, and the same"
    code, old = code_of(copy), code_of(ROOT)
    changed = difference(old.sources(of), code.sources(of))
    there = [place for place, (_, new) in changed.items() if new]
    left = [*not_run(code, old, there, seen)]
    why = f"the small run doesn't come by {', '.join(left)}" if left else "verify clears it"
    return f"needless: {why}"


if __name__ == "__main__":
    sys.exit(main())

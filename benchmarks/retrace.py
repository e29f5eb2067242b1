r"""
The sources of results, computed again from the code that was measured.

A result keeps a hash of each definition that its run could come by. When the way to find them
changes, or to compute the hashes (`literate/python/reach.py`, `literate/python/shapes.py`), all
results would look stale. This program takes, for each result, the commit that brought the sources
which it has, and computes them again from the code of that commit, by today's way. So what is stale
stays stale, and what was stale unseen is seen.

    python -m benchmarks retrace           # all results
    python -m benchmarks retrace bits gpu  # some

A result whose commit itself calls it stale is left as it is: nobody knows which code was measured.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.library.history import brought, unpack
from benchmarks.record import ROOT, code_of, replace


def retraced(path: str, of: str, tree: Path) -> dict[str, str] | None:
    r"""The sources of a result, by today's way, of the code in `tree`; none if stale there."""
    said = subprocess.run(
        [sys.executable, "-m", "benchmarks", "stale"], cwd=tree, capture_output=True, text=True
    )
    lines = said.stdout.splitlines()
    after = [two for one, two in zip(lines, lines[1:], strict=False) if one.startswith(f"{path} ")]
    if not after or not after[0].endswith("changed since: nothing"):
        return None
    return code_of(tree).sources(of)


def main() -> int:
    r"""Look at the results that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="results, such as encoders; all, if none is named")
    names = parser.parse_args().names
    code = code_of()
    for path in sorted((ROOT / "results").glob("*.json")):
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        of = content.get("of", "")
        if (names and path.stem not in names) or not of:
            continue
        place = path.relative_to(ROOT).as_posix()
        commit = brought(place, content["sources"], ROOT)
        with tempfile.TemporaryDirectory() as folder:
            unpack(commit, Path(folder), ROOT)
            sources = retraced(place, of, Path(folder))
        if sources is None:
            print(f"{place}: left as it is, since it was stale at {commit[:8]} already")
        if sources in (None, content["sources"]):
            continue
        content["sources"] = sources
        text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
        replace(path, text + "\n")
        since = ", ".join(code.differing(sources, code.sources(of))) or "nothing"
        print(f"{place}: as of {commit[:8]}; changed since: {since}", flush=True)
    return 0

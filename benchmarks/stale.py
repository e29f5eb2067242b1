r"""
Which results are about code that has changed since?

For each result: its day, its command, and those of its sources that are no longer the same.
"""

import json

from benchmarks.record import ROOT, changed


def main() -> None:
    r"""Print the results that are here, with what has changed since."""
    for path in sorted((ROOT / "results").glob("*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        state = ", ".join(changed(path)) or "nothing"
        print(f"{path.relative_to(ROOT)}  {result['made']}  {result['command']}")
        print(f"    changed since: {state}")


if __name__ == "__main__":
    main()

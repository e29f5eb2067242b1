r"""
Which results are about code that has changed since?

For each result: its day, its command, and what is no longer the same: definitions, and files that
are no code. Then those that are stale, with the minutes that each costs to be measured again, the
cheapest first. Where the change was to change nothing, `python -m benchmarks verify NAME` shows it.
"""

from pathlib import PurePath

from benchmarks.__main__ import minutes
from benchmarks.record import ROOT, code_of
from literate.results import files


def main() -> None:
    r"""Print the results that are here, with what has changed since."""
    code = code_of(ROOT)
    stale = []
    for path, result in files.read(ROOT, "results").items():
        changed = code.changed(result)
        print(f"{path}  {result.made}  {result.command}")
        print(f"    changed since: {', '.join(changed) or 'nothing'}")
        if changed:
            stale.append((minutes(PurePath(path).stem), result.command))
    if stale:
        print("\nMinutes of one core to measure again, the cheapest first:\n")
    for cost, command in sorted(stale, key=lambda one: number(one[0])):
        print(f"{cost:>9}  {command}")


def number(cost: str) -> float:
    r"""Minutes that were told, as a number; what nobody knows comes last."""
    if cost.startswith("<"):
        return 0.5
    return float(cost.removeprefix("~ ")) if cost != "–" else float("inf")


if __name__ == "__main__":
    main()

r"""
Which results are about code that has changed since?

For each result: its day, its command, and what is no longer the same: definitions, and files that
are no code.
"""

from benchmarks.record import ROOT, code_of
from literate.results import files


def main() -> None:
    r"""Print the results that are here, with what has changed since."""
    code = code_of(ROOT)
    for path, result in files.read(ROOT, "results").items():
        print(f"{path}  {result.made}  {result.command}")
        print(f"    changed since: {', '.join(code.changed(result)) or 'nothing'}")


if __name__ == "__main__":
    main()

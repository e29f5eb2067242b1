r"""PyTorch's own samples of its functions and modules, in both worlds.

`python -m tests.browser_torch.samples` prints, for each name that the stand-in has, how many of its
samples pass: values, types, strides where they matter, gradients and errors. `--json` prints the
same as a table of name, passed, of; `--names` chooses, and `--differences` says what differs.
`--record` writes the table to `samples.json`, below which no name may fall; with `--names` it
writes their rows alone.
"""

import argparse
import json
import pickle
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.browser_torch.compare import depends_on_the_build, difference, same_error
from tests.browser_torch.worlds import PYTORCH, STAND_IN, run

RECORD = Path(__file__).with_name("samples.json")

# Single precision has seven digits, of which a sum of products loses some.
NEAR = 2e-4


@dataclass
class Row:
    r"""How the samples of a name came out."""

    name: str
    passed: int = 0
    of: int = 0
    differences: list[str] = field(default_factory=list)


def verdict(got: Any, expected: Any) -> str:
    r"""What of a call differs; nothing if it passes."""
    if got[0] != expected[0]:
        failed = STAND_IN if got[0] == "error" else PYTORCH
        return f"only {failed} fails: {(got if got[0] == 'error' else expected)[1:3]!s:.300}"
    if got[0] == "error":
        return "" if same_error(got, expected) else f"error: {got[1:]} and {expected[1:]}"
    distance, place = difference(got[1], expected[1])
    if not distance <= NEAR:
        return f"value{place}, by {distance:.3}"
    for one, (matters, other) in zip(got[2], expected[2], strict=True):
        if matters and one[1] != other:
            return f"strides: {one[1]} and {other}"
    distance, place = difference(got[3], expected[3])
    if not distance <= NEAR:
        return f"gradient{place}, by {distance:.3}: {got[3]!s:.200}"
    return ""


def rows(names: list[str]) -> Iterator[Row]:
    r"""Each name that is there, with its samples; one with several sets of samples comes once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples"
        samples = run(PYTORCH, "samples_of_pytorch", *names)
        path.write_bytes(pickle.dumps(samples))
        expected, got = (
            run(world, "samples", str(path), seconds=3000) for world in (PYTORCH, STAND_IN)
        )
    table: dict[str, Row] = {}
    for sample, one, other in zip(samples, got, expected, strict=True):
        if one is None or other is None or names and sample["name"] not in names:
            continue
        row = table.setdefault(sample["name"], Row(sample["name"]))
        for call, own, known in zip(sample["calls"], one, other, strict=True):
            if own[0] == "error" and depends_on_the_build(own):
                continue
            said = verdict(own, known)
            row.of += 1
            row.passed += not said
            if said:
                row.differences.append(f"{call[0]}: {said}")
    yield from sorted(table.values(), key=lambda row: row.name)


def main() -> None:
    r"""Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="a list of name, passed, of")
    parser.add_argument("--names", nargs="*", default=[], help="only these, such as add nn.Linear")
    parser.add_argument("--differences", action="store_true", help="what differs, at most 5 a name")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.name}")
    arguments = parser.parse_args()
    found = list(rows(arguments.names))
    table = [[row.name, row.passed, row.of] for row in found]
    if arguments.record:
        if arguments.names:
            known = {row[0]: row for row in [*json.loads(RECORD.read_text()), *table]}
            table = [known[name] for name in sorted(known)]
        lines = ",\n".join(json.dumps(line) for line in table)
        RECORD.write_text(f"[\n{lines}\n]\n")
    if arguments.json:
        print(json.dumps(table))
        return
    for row in found:
        print(f"{row.name}  {row.passed} of {row.of}")
        for one in row.differences[:5] if arguments.differences else ():
            print(f"    {one}")
    passed, of = (sum(getattr(row, one) for row in found) for one in ("passed", "of"))
    whole = sum(row.passed == row.of for row in found)
    print(f"{len(found)} names, {whole} of them whole; {passed} of {of} samples pass")


if __name__ == "__main__":
    main()

r"""
Draw the charts of all results again, from the numbers that stand in the files. Nothing is measured,
so a result keeps its day, its machine and its fingerprints.

For a change of how charts look: `python -m benchmarks redraw`. `--check` writes nothing, and names
the charts that would change. It takes half a minute.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import course, gpu_table, mistakes, mistakes_drawings, quantisation
from benchmarks.pictures import chart
from benchmarks.record import ROOT


def redrawn(name: str, content: dict) -> dict[str, dict]:
    r"""The figures of a result, with the pictures that are made of its numbers drawn again."""
    figures = dict(content.get("figures", {}))

    # Four programs make their charts from numbers that have other uses, too.
    if name == "quantisation":
        figures |= quantisation.charts(content["tables"])
    if name == "course":
        picture = course.bars(content["tables"]["steps"]["rows"])
        figures["steps"] = {**figures["steps"], "picture": picture}
    if name == "mistakes":
        rows = content["tables"]["mistakes"]["rows"]
        figures |= mistakes_drawings.charts(rows, mistakes.families())
    if name == "gpu":
        figures |= gpu_table.step_bars(content["values"]["steps"])
    return {
        key: {**one, "picture": chart(one, f"{name}-{key}")} if "lines" in one else one
        for key, one in figures.items()
    }


def changed(root: Path = ROOT) -> Iterator[tuple[Path, dict, list[str]]]:
    r"""The files with another picture than their numbers make, their content, and which it is."""
    for path in sorted((root / "results").glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        if "figures" not in content:
            continue
        figures = redrawn(path.stem, content)
        names = [key for key, one in figures.items() if one != content["figures"][key]]
        if names:
            yield path, {**content, "figures": figures}, names


def main() -> None:
    r"""Draw, or say what would change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    found = 0
    for path, content, names in changed():
        found += 1
        print(f"{path.name}: {', '.join(names)}")
        if not check:
            text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
            path.write_text(text + "\n", encoding="utf-8")
    sys.exit(bool(found) and check)


if __name__ == "__main__":
    main()

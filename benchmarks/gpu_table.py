r"""
What ran on a GPU beside what is counted for a T4: the table of results/gpu.json, and a picture of a
step.

    python -m benchmarks gpu_table

puts today's counts, of `labml_nn/notebooks.toml`, beside what was measured, and draws the picture.
Nothing is measured again, and no measured number changes.
"""

import json
import sys
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.fake_gpu import T4
from benchmarks.notebook_counts import FILE, FOLDER, steps_of
from benchmarks.pictures import ACCENT, new, svg
from benchmarks.record import ROOT, apart, replace

RESULT = ROOT / "results" / "gpu.json"
# Of every notebook but one, so many steps are made.
STEPS = 20
WHOLE = "the experiment"
NOTEBOOK_OF_WHOLE = "transformers/basic/autoregressive_experiment"

Row = dict[str, Any]

MEASURED = [
    {"name": "name", "title": "what ran"},
    {"name": "state", "title": "state"},
    {"name": "seconds", "title": "seconds", "digits": 1},
    {"name": "step", "title": "ms a step", "digits": 1},
    {"name": "memory", "title": "GiB", "digits": 2},
    {"name": "loss", "title": "validation loss", "digits": 3},
]
COUNTED = [
    {"name": "t4_step", "title": "ms a step, counted for a T4", "digits": 1},
    {"name": "t4_memory", "title": "GiB, counted", "digits": 2},
]


def table(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    r"""The table of rows that have been measured, with today's counts beside them."""
    names = [column["name"] for column in MEASURED]
    return {
        "columns": [*MEASURED, *COUNTED],
        "rows": [{name: row.get(name) for name in names} | counted(row["name"]) for row in rows],
    }


def counted(name: str) -> Row:
    r"""What is counted for a step of a notebook on a T4; nothing for what is no notebook."""
    name = NOTEBOOK_OF_WHOLE if name == WHOLE else name
    known = tomllib.loads(FILE.read_text(encoding="utf-8")).get(f"labml_nn/{name}.py", {})
    if "gpu" not in known:
        return dict.fromkeys(("t4_step", "t4_memory"))
    minutes = known["gpu"]
    milliseconds = 60_000 * minutes / steps_of(FOLDER / f"{name}.ipynb", T4)
    return {"t4_step": float(f"{milliseconds:.6g}"), "t4_memory": known["memory"]}


def step_bars(steps: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, str]]:
    r"""The time of a step, without a graph and with one: while kernels run, and while none does."""
    figure, (axes,) = new(4.6, 1.5)
    names = {"plain": "without a graph", "graph": "with a graph"}
    for at, name in enumerate(names):
        busy = steps[name]["busy"]
        waiting = steps[name]["step"] - busy
        axes.barh([at], [busy], height=0.6, color=ACCENT)
        axes.barh([at], [waiting], left=[busy], height=0.6, color=ACCENT, alpha=0.25)
    axes.text(steps["plain"]["busy"] + 1, 0, "the GPU waits", va="center")
    axes.set_yticks(range(len(names)), list(names.values()))
    axes.invert_yaxis()
    axes.set_xlabel("Milliseconds of a step; dark: kernels run")
    return {"step": {"title": "A training step", "picture": svg(figure, "gpu-step")}}


def main() -> int:
    r"""Put the counts and the picture into the result."""
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    result["tables"]["parts"] = table(result["tables"]["parts"]["rows"])
    if result["values"]["steps"]:
        result["figures"], pictures = apart("gpu", step_bars(result["values"]["steps"]))
        for place, picture in pictures.items():
            replace(RESULT.parent / place, picture)
    text = json.dumps(result, indent=1, sort_keys=True, ensure_ascii=False)
    replace(RESULT, text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

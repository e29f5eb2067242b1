r"""
What only a GPU can tell: do the notebooks run there, how long, and with how much memory?

In at most eight minutes, in this order: the experiment in full, the preset for a GPU against the
published loss of nanoGPT, and 20 steps of every notebook that has a branch for a GPU. Each line has
what was measured beside what was counted for a T4, in `labml_nn/notebooks.toml`. What there is no
time for is said, and left out.

    python -m benchmarks.gpu        # on a machine with a CUDA GPU; writes results/gpu.json
    python -m benchmarks.gpu --dry  # without one: the same program on the GPU that isn't there

A dry run computes nothing on a GPU and writes nothing: it shows that the program starts.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

import torch

from benchmarks.fake_gpu import GIB, T4
from benchmarks.notebook_counts import FILE, FOLDER, SKIPPED, chooses_a_gpu, run, steps_of
from benchmarks.record import fingerprints, write
from labml_nn.training.data import tiny_shakespeare
from tests.kernels import fill_in

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 8 * 60
WHOLE = FOLDER / "transformers/basic/autoregressive_experiment.ipynb"
STEPS = 20
# What nanoGPT's readme says of its small model on this text: 5,000 steps on one A100.
NANO_LOSS, NANO_MINUTES = 1.4697, 3.0
Row = dict[str, Any]


def measured(path: Path, form: Mapping[str, object]) -> Row:
    r"""Run a notebook on the GPU of this machine: its seconds, its peak of memory, its losses."""
    import matplotlib

    matplotlib.use("Agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    torch.cuda.reset_peak_memory_stats()
    began = time.monotonic()
    for cell in fill_in(path.read_text(encoding="utf-8"), form).cells:
        if cell.cell_type == "code" and not cell.source.startswith(SKIPPED):
            exec(compile(cell.source, path.name, "exec"), names)
            # The text is in the package; a machine may have no network.
            if "read_text" in names:
                names["read_text"] = lambda corpus: (
                    tiny_shakespeare()[::-1] if corpus == "python" else tiny_shakespeare()
                )
    torch.cuda.synchronize()
    return {
        "seconds": time.monotonic() - began,
        "memory": torch.cuda.max_memory_allocated() / GIB,
    }


def counted(path: Path, steps: int) -> Row:
    r"""What was counted for so many steps on a T4; all of them, if the number is 0."""
    page = path.relative_to(FOLDER).with_suffix(".py").as_posix()
    known = tomllib.loads(FILE.read_text(encoding="utf-8")).get(f"labml_nn/{page}", {})
    if "gpu" not in known:
        return {}
    share = steps / steps_of(path, T4) if steps else 1
    return {"t4_seconds": 60 * known["gpu"] * share, "t4_memory": known["memory"]}


def notebooks(left: Any, dry: bool) -> Iterator[Row]:
    r"""Every notebook with a branch for a GPU, for a few steps, as long as there is time."""
    for path in sorted(one for one in FOLDER.rglob("*.ipynb") if chooses_a_gpu(one)):
        name = path.relative_to(FOLDER).with_suffix("").as_posix()
        if left() < 20:
            yield {"name": name, "state": "no time"}
            continue
        form = {"steps": 1 if dry else STEPS, "sample_length": 20, "folder": "random"}
        yield {"name": name, **one_notebook(path, form, dry)}


def one_notebook(path: Path, form: Mapping[str, object], dry: bool) -> Row:
    r"""What was measured beside what was counted; an error is a row, and no end."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        try:
            if dry:
                run(path, form, T4, tiny_shakespeare()[:4000])
            found = {} if dry else measured(path, form)
        except Exception as error:
            return {"state": f"{type(error).__name__}: {error}".partition("\n")[0]}
    steps = 0 if path == WHOLE else STEPS
    return {"state": "dry" if dry else "ran", **found, **counted(path, steps)}


def preset(left: Any, dry: bool) -> Row:
    r"""The preset for a GPU from the command line, as a reader trains it."""
    options = ["--preset=gpu", "--json", "--sample-length=20"]
    if dry:
        options += ["--steps=2", "--batch-size=2", "--seq-len=8", "--d-model=12", "--heads=2"]
        options += ["--n-layers=2", "--d-ff=16", "--evaluate-every=2", "--device=cpu"]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "labml_nn.training.engine", *options, f"--runs={folder}"]
        there = {**os.environ, "PYTHONPATH": str(ROOT)}
        began = time.monotonic()
        try:
            done = subprocess.run(
                command, env=there, capture_output=True, text=True, timeout=max(1, left())
            )
        except subprocess.TimeoutExpired:
            return {"name": "preset gpu", "state": "no time"}
    if done.returncode:
        return {"name": "preset gpu", "state": done.stderr.strip().splitlines()[-1]}
    result = json.loads(done.stdout.strip().splitlines()[-1])
    return {
        "name": "preset gpu", "state": "dry" if dry else "ran",
        "seconds": time.monotonic() - began, "result": result,
        "nano_loss": NANO_LOSS, "nano_minutes": NANO_MINUTES,
    }  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    r"""Run all parts, print a line for each, and record them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--dry", action="store_true", help="without a GPU")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for all of it")
    options = parser.parse_args(arguments)
    if not options.dry and not torch.cuda.is_available():
        print("there is no CUDA GPU here; --dry shows that the program starts", file=sys.stderr)
        return 1
    sources = [
        "benchmarks/gpu.py", "benchmarks/fake_gpu.py",
        "labml_nn/transformers/basic/autoregressive_experiment.py",
        "labml_nn/training/engine/presets.py",
    ]  # fmt: skip
    known = fingerprints(sources)
    end = time.monotonic() + options.seconds

    def left() -> float:
        return end - time.monotonic()

    rows: list[Row] = []

    def tell(row: Row) -> None:
        rows.append(row)
        print(json.dumps(row), flush=True)

    whole = {"steps": 1} if options.dry else {}
    tell({"name": "the experiment", **one_notebook(WHOLE, whole, options.dry)})
    # Half of what is left for the preset, which a slow GPU can't finish.
    tell(preset(lambda: left() / 2, options.dry))
    for row in notebooks(left, options.dry):
        tell(row)

    wrong = [row for row in rows if row["state"] not in ("ran", "dry", "no time")]
    print(f"{len(rows)} parts, {len(wrong)} failed, {options.seconds - left():.0f} s")
    if not options.dry:
        columns = ["name", "state", "seconds", "memory", "t4_seconds", "t4_memory"]
        write(
            "gpu",
            title="What ran on a GPU, beside the count for a T4",
            command="python -m benchmarks.gpu",
            sources=known,
            values={"preset": rows[1].get("result", {})},
            tables={
                "parts": {
                    "columns": [{"name": name, "title": name} for name in columns],
                    "rows": [{name: row.get(name) for name in columns} for row in rows],
                }
            },
        )
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

r"""
What only a GPU can tell: do the notebooks run there, how long, and with how much memory?

In at most eight minutes, in this order: the experiment in full, the preset for a GPU with three
seeds, a step of it looked at closely (`gpu_step`), nanoGPT for the first thousand of its steps, and
20 steps of every notebook that has a branch for a GPU. What there is no time for is said, and left
out. `python -m benchmarks gpu_table` then puts beside it what was counted for a T4, and draws a
picture of a step.

    python -m benchmarks.gpu                # on a machine with a CUDA GPU; writes results/gpu.json
    python -m benchmarks.gpu --nanogpt DIR  # beside nanoGPT; DIR is a checkout of it
    python -m benchmarks.gpu --dry          # without a GPU: the same, on one that isn't there

A dry run computes nothing on a GPU and writes nothing: it shows that the program starts.
"""

import argparse
import gc
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from benchmarks import gpu_step
from benchmarks.fake_gpu import GIB, T4
from benchmarks.gpu_table import NOTEBOOK_OF_WHOLE, STEPS, WHOLE, table
from benchmarks.notebook_counts import FOLDER, SKIPPED, chooses_a_gpu, run, times_of_steps
from benchmarks.record import code_of, write
from labml_nn.training.data import tiny_shakespeare
from tests.kernels import fill_in

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 8 * 60
SEEDS = (1, 2, 3)
# Less than that, and a notebook is not begun.
FEW_SECONDS = 15

# What nanoGPT's readme says of its small model on this text: 5,000 steps on one A100, and as best
# validation loss this.
NANO_LOSS, NANO_STEPS = 1.4697, 5000
# It is asked for the first ones only: the rest takes as long, step by step.
NANO_FIRST_STEPS = 1000

Row = dict[str, Any]
# How many seconds are left.
Left = Callable[[], float]


def measured(path: Path, form: Mapping[str, object]) -> Row:
    r"""
    Run a notebook on the GPU of this machine.

    * `seconds` are those of the whole notebook
    * `step` is the median of the milliseconds from one step of an optimizer to the next
    * `memory` is the peak in GiB, without what was taken before, such as the workspace of cuBLAS
    """
    import matplotlib

    matplotlib.use("Agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    gc.collect()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    began = time.monotonic()
    with times_of_steps() as times:
        for cell in fill_in(path.read_text(encoding="utf-8"), form).cells:
            if cell.cell_type == "code" and not cell.source.startswith(SKIPPED):
                exec(compile(cell.source, path.name, "exec"), names)
                # The text is in the package; a machine may have no network.
                if "read_text" in names:
                    names["read_text"] = lambda corpus: (
                        tiny_shakespeare()[::-1] if corpus == "python" else tiny_shakespeare()
                    )
        torch.cuda.synchronize()
    steps = [1000 * (b - a) for ends in times.values() for a, b in pairwise(ends)]
    return {
        "seconds": time.monotonic() - began,
        "step": statistics.median(steps) if steps else None,
        "memory": (torch.cuda.max_memory_allocated() - before) / GIB,
        "loss": validation_loss(names),
    }


def validation_loss(names: Mapping[str, Any]) -> float | None:
    r"""The loss of a notebook's model over its validation text; nothing if it has no such names."""
    if not {"evaluate", "model", "validation", "seq_len"} <= names.keys():
        return None
    return names["evaluate"](names["model"], names["validation"], names["seq_len"])


def notebooks(left: Left, dry: bool) -> Iterator[Row]:
    r"""Every notebook with a branch for a GPU, for a few steps, as long as there is time."""
    for path in sorted(path for path in FOLDER.rglob("*.ipynb") if chooses_a_gpu(path)):
        name = path.relative_to(FOLDER).with_suffix("").as_posix()
        if left() < FEW_SECONDS:
            yield {"name": name, "state": "no time"}
            continue
        form = {"steps": 1 if dry else STEPS, "sample_length": 20, "folder": "random"}
        yield {"name": name, **one_notebook(path, form, dry)}


def one_notebook(path: Path, form: Mapping[str, object], dry: bool) -> Row:
    r"""What was measured; an error is a row, and no end."""
    row: Row = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        try:
            if dry:
                run(path, form, T4, tiny_shakespeare()[:4000])
            else:
                row = measured(path, form)
        except Exception as error:
            return {"state": f"{type(error).__name__}: {error}".partition("\n")[0]}
    return {"state": "dry" if dry else "ran", **row}


def preset(seed: int, left: Left, dry: bool) -> Row:
    r"""
    The preset for a GPU from the command line, as a reader trains it.

    `seconds` are those of the whole command: it starts Python, trains, evaluates, draws a sample
    and tests whether the loss is honest. `training` are those of the steps.
    """
    name = f"preset gpu, seed {seed}"
    options = ["--preset=gpu", "--json", "--sample-length=20", f"--seed={seed}"]
    if dry:
        options += ["--steps=2", "--batch-size=2", "--seq-len=8", "--d-model=12", "--heads=2"]
        options += ["--n-layers=2", "--d-ff=16", "--evaluate-every=2", "--device=cpu"]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "labml_nn.training.engine", *options, f"--runs={folder}"]
        paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
        there = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        began = time.monotonic()
        try:
            done = subprocess.run(
                command, env=there, capture_output=True, text=True, timeout=max(1, left())
            )
        except subprocess.TimeoutExpired:
            return {"name": name, "state": "no time"}
    if done.returncode:
        return {"name": name, "state": done.stderr.strip().rpartition("\n")[2] or "failed"}
    result = json.loads(done.stdout.strip().splitlines()[-1])
    return {
        "name": name,
        "state": "dry" if dry else "ran",
        "seconds": time.monotonic() - began,
        "training": result["seconds"],
        "memory": result["peak_memory"] / GIB,
        "loss": result["val_loss"],
        "step": 1000 * result["seconds"] / result["steps"],
    }


def nanogpt(checkout: Path, left: Left) -> Row:
    r"""
    The first steps of nanoGPT's small model by its own program, and how long all of them take.

    * `seconds` are those of the whole program, if the other steps and evaluations take as long
    * `step` is the median of the milliseconds of its steps
    """
    row: Row = {"name": "nanoGPT"}
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder) / "nanoGPT"
        shutil.copytree(checkout, there, ignore=shutil.ignore_patterns(".git"))
        data = there / "data" / "shakespeare_char"
        (data / "input.txt").write_text(tiny_shakespeare(), encoding="utf-8")
        quiet = {"cwd": there, "stdout": subprocess.DEVNULL}
        subprocess.run([sys.executable, data / "prepare.py"], check=True, **quiet)
        command = [sys.executable, "-u", "train.py", "config/train_shakespeare_char.py"]
        command.append(f"--max_iters={NANO_FIRST_STEPS}")
        began = time.monotonic()
        process = subprocess.Popen(
            command, cwd=there, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        lines: list[tuple[float, str]] = []
        for line in process.stdout or []:
            lines.append((time.monotonic() - began, line))
            if left() < 0:
                process.kill()
                process.wait()
                return row | {"state": "no time"}
        if process.wait():
            return row | {"state": lines[-1][1].strip() if lines else "failed"}
    return row | {"state": "ran"} | read_log(lines)


def read_log(lines: list[tuple[float, str]]) -> Row:
    r"""What nanoGPT's lines say, each with the seconds since the program began."""
    evaluation = re.compile(r"step (\d+): train loss [\d.]+, val loss ([\d.]+)")
    step = re.compile(r"iter (\d+): loss [\d.]+, time ([\d.]+)ms")
    first = 0.0
    steps, evaluations, losses = [], [], []
    for seconds, line in lines:
        if found := evaluation.match(line):
            losses.append(float(found[2]))
        if not (found := step.match(line)):
            continue
        number, milliseconds = int(found[1]), float(found[2])
        if number == 0:
            # Compiled, and evaluated for the first time.
            first = seconds
        elif number % 250 == 0:
            # Such a step begins with an evaluation.
            evaluations.append(milliseconds)
        else:
            steps.append(milliseconds)
    one_step = statistics.median(steps)
    one_evaluation = statistics.median(evaluations) - one_step
    others = NANO_STEPS * one_step + NANO_STEPS / 250 * one_evaluation
    return {
        "seconds": first + others / 1000,
        "step": one_step,
        "loss": losses[-1],
        "first_step": first,
        "evaluation": one_evaluation / 1000,
    }


def warm_up() -> None:
    r"""What the first products take of time and memory belongs to no notebook."""
    for dtype in (torch.float32, torch.bfloat16):
        matrix = torch.ones(64, 64, device="cuda", dtype=dtype)
        (matrix @ matrix).sum().item()


# What measures, and what else does.
RECORDED = "benchmarks.gpu:notebooks"
ALSO = (preset, nanogpt, gpu_step.measured, warm_up, table, SEEDS, NOTEBOOK_OF_WHOLE)


def main(arguments: list[str] | None = None) -> int:
    r"""Run all parts, print a line for each, and record them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--dry", action="store_true", help="without a GPU")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for all of it")
    parser.add_argument("--nanogpt", type=Path, metavar="DIR", help="a checkout of nanoGPT")
    options = parser.parse_args(arguments)
    if not options.dry and not torch.cuda.is_available():
        print("there is no CUDA GPU here; --dry shows that the program starts", file=sys.stderr)
        return 1
    if options.nanogpt is not None and not (options.nanogpt / "train.py").is_file():
        print(f"{options.nanogpt} has no train.py: give a checkout of nanoGPT", file=sys.stderr)
        return 1
    sources = code_of().sources(RECORDED)
    began = time.monotonic()

    def left() -> float:
        return began + options.seconds - time.monotonic()

    rows: list[Row] = []

    def tell(row: Row) -> None:
        rows.append(row)
        print(json.dumps(row), flush=True)

    if not options.dry:
        warm_up()
    whole = {"steps": 1} if options.dry else {}
    path = FOLDER / f"{NOTEBOOK_OF_WHOLE}.ipynb"
    tell({"name": WHOLE, **one_notebook(path, whole, options.dry)})
    for seed in SEEDS:
        # Half of what is left, for a slow GPU can't finish it.
        tell(preset(seed, lambda: left() / 2, options.dry))
    # A GPU that is too slow for the whole preset is too slow for this, too.
    closely = gpu_step.measured() if all(row["state"] == "ran" for row in rows[1:]) else {}
    if options.nanogpt is not None and not options.dry:
        tell(nanogpt(options.nanogpt, left))
    for row in notebooks(left, options.dry):
        tell(row)

    wrong = [row for row in rows if row["state"] not in ("ran", "dry", "no time")]
    print(f"{len(rows)} parts, {len(wrong)} failed, {options.seconds - left():.0f} s")
    if not options.dry:
        record(rows, sources, options.seconds - left(), closely)
    return int(bool(wrong))


def record(
    rows: list[Row], sources: Mapping[str, str], seconds: float, closely: Mapping[str, Any]
) -> None:
    r"""
    Write “results/gpu.json”: all parts, and what the pages say of the preset.

    `closely` is what `gpu_step` found.
    """
    ran = [row for row in rows if row["state"] == "ran"]
    presets = [row for row in ran if row["name"].startswith("preset")]
    values: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    values["steps"] = dict(closely)
    if presets:
        values["preset"] = {
            name: statistics.mean(row[name] for row in presets)
            for name in ("seconds", "training", "step", "memory", "loss")
        }
        values["preset"]["highest_loss"] = max(row["loss"] for row in presets)
    for row in ran:
        if row["name"] == "nanoGPT":
            names = ("seconds", "step", "loss", "first_step", "evaluation")
            values["nanogpt"] = {name: row[name] for name in names}
            values["nanogpt"]["published_loss"] = NANO_LOSS
            if presets:
                values["ratio"] = row["seconds"] / values["preset"]["seconds"]
    write(
        "gpu",
        title="What ran on a GPU, beside the count for a T4",
        command="python -m benchmarks.gpu --nanogpt DIR",
        of=RECORDED,
        sources=sources,
        seconds=seconds,
        values=values,
        tables={"parts": table(rows)},
    )


if __name__ == "__main__":
    sys.exit(main())

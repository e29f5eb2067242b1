r"""What takes longer than continuous integration allows: `make soak`.

    python -m tests.soak kills --kills 50
    python -m tests.soak seeds --preset classic --bar 1.75

`kills` trains a small model again and again, kills it at random moments, resumes it, and compares
what it ends with to the run that nobody touched: weights, everything else in the checkpoint, and
the record, bit for bit. `seeds` trains a whole recipe from three seeds and compares the mean of the
losses with a bar. Without a word, both are done. The exit status tells whether all was right.
"""

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from labml_nn.training.engine.checkpoint import load_checkpoint
from labml_nn.training.engine.history import read_history

ROOT = Path(__file__).resolve().parents[1]
TINY_SHAKESPEARE = ROOT / "labml_nn" / "training" / "tiny_shakespeare.txt"
# Small and with dropout, so that random numbers have all their sources.
SMALL = {
    "d_model": 16,
    "d_ff": 32,
    "n_layers": 1,
    "heads": 2,
    "dropout_prob": 0.1,
    "batch_size": 4,
    "seq_len": 16,
    "record_every": 7,
    "evaluate_every": 50,
    "save_every": 20,
}
TEXT = "".join(f"{number} times {number} is {number * number}\n" for number in range(600))
# What the clock decides.
CLOCK = {"seconds", "interval", "tokens_per_second", "time"}


def command(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    r"""The experiment as a process of its own, on one thread."""
    return subprocess.Popen(
        [sys.executable, "-m", "labml_nn.training.engine", "--sample-length=5", *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "PYTHONUNBUFFERED": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def begin(folder: Path, *arguments: str) -> "tuple[subprocess.Popen[str], Path]":
    r"""Start it, and wait until it says where its run is."""
    process = command(folder, *arguments)
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        found = re.match("run (.*)", line)
        if found:
            return process, Path(found[1])
    raise AssertionError("".join(said))


def outcome(run: Path) -> dict[str, Any]:
    r"""The newest checkpoint and the history, without the clock's part."""
    newest = max((run / "checkpoints").glob("step-*.pt"))
    return {"checkpoint": load_checkpoint(newest), "history": read_history(run)}


def flat(value: Any, name: str = "") -> dict[str, Any]:
    r"""What a container holds, by where it is; tensors as their type and numbers."""
    if isinstance(value, dict | list | tuple):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return {
            place: number
            for key, one in pairs
            if key not in CLOCK
            for place, number in flat(one, f"{name}.{key}").items()
        }
    if isinstance(value, torch.Tensor):
        return {name: [str(value.dtype), value.tolist()]}
    return {name: value}


def killed_run(
    folder: Path,
    seed: int,
    steps: int,
    kills: int,
    moments: random.Random,
    most: float,
    preset: str = "classic",
) -> tuple[int, list[int]]:
    r"""A run that is killed up to `kills` times, beside one that isn't.

    Returns how often it was killed, and the steps from which it went on. An `AssertionError` tells
    what differs.
    """
    (folder / "text").write_text(TEXT)
    options = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items()]
    options += ["--text=text", "--device=cpu", f"--steps={steps}", f"--seed={seed}"]
    options.append(f"--preset={preset}")
    process, straight = begin(folder, *options)
    process.communicate()
    assert process.returncode == 0

    process, run = begin(folder, *options)
    made, resumed = 0, []
    while made < kills:
        try:
            process.wait(moments.uniform(0.0, most))
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.communicate()
        # It may just have been done.
        if process.returncode == 0:
            break
        made += 1
        process, same = begin(folder, f"--resume={run}")
        assert same == run
        assert process.stdout is not None
        resumed.append(int(process.stdout.readline().split()[-1].replace(",", "")))
        print(f"  killed {made}, on from step {resumed[-1]:,}", flush=True)
    out, _ = process.communicate()
    assert process.returncode == 0, out

    one, other = flat(outcome(straight)), flat(outcome(run))
    for name, value in one.items():
        assert value == other[name], f"{name} differs"
    assert one == other
    leftover = [path.name for path in (run / "checkpoints").iterdir() if path.name.startswith(".")]
    assert leftover == []
    return made, resumed


def kills(number: int, seed: int, steps: int = 2000) -> bool:
    r"""As many runs as it takes to kill `number` times."""
    moments, made, start = random.Random(seed), 0, time.monotonic()
    runs = 0
    presets = list(BARS)
    while made < number:
        preset = presets[runs % len(presets)]
        with tempfile.TemporaryDirectory() as folder:
            share = min(25, number - made)
            more, resumed = killed_run(
                Path(folder), seed + runs, steps, share, moments, most=1.0, preset=preset
            )
        made, runs = made + more, runs + 1
        print(
            f"  run {runs}, {preset}: {more} kills, resumed from steps {resumed}; the same bits",
            flush=True,
        )
    seconds = time.monotonic() - start
    print(
        f"{made} kills in {runs} runs of {steps:,} steps, {seconds:.0f} s: the same bits every time"
    )
    return True


def trained(preset: str, seed: int, text: Path) -> dict[str, Any]:
    r"""What the command says at the end of a whole run."""
    with tempfile.TemporaryDirectory() as folder:
        told = [f"--preset={preset}", f"--seed={seed}", f"--text={text}", f"--runs={folder}"]
        command = [sys.executable, "-m", "labml_nn.training.engine", *told, "--json"]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(done.stdout.splitlines()[-1])
    print(f"  seed {seed}: {result['val_loss']:.4f}, {result['seconds']:.1f} s", flush=True)
    return result


def seeds(preset: str, bar: float, number: int, text: Path) -> bool:
    r"""The whole recipe, and the mean of its losses."""
    print(f"{preset}:", flush=True)
    results = [trained(preset, seed, text) for seed in range(1, number + 1)]
    mean = sum(result["val_loss"] for result in results) / number
    print(f"{preset}: {mean:.4f}, the mean of {number} seeds; the bar is {bar}")
    return mean <= bar and all(result["honest"] for result in results)


# The loss that a recipe has to reach, on Tiny Shakespeare.
BARS = {"classic": 1.75, "modern": 1.54}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("what", nargs="?", choices=["kills", "seeds"], help="(default: both)")
    parser.add_argument("--kills", type=int, default=50, help="how many (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of their moments (%(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="of each recipe (%(default)s)")
    parser.add_argument("--preset", choices=list(BARS), help="one recipe only (default: both)")
    parser.add_argument("--text", type=Path, default=TINY_SHAKESPEARE, metavar="FILE")
    arguments = parser.parse_args()

    right = []
    if arguments.what != "seeds":
        right.append(kills(arguments.kills, arguments.seed))
    if arguments.what != "kills":
        text = arguments.text.resolve()
        for preset, bar in BARS.items():
            if arguments.preset in (None, preset):
                right.append(seeds(preset, bar, arguments.seeds, text))
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())

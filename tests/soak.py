r"""What takes longer than continuous integration allows: `make soak`.

    python -m tests.soak kills --kills 50
    python -m tests.soak seeds --seeds 1

`kills` trains a small model again and again, kills it at random moments, resumes it, and compares
what it ends with to the run that nobody touched: weights, everything else in the checkpoint, and
the record, bit for bit. `seeds` trains a whole recipe from three seeds and compares the mean of the
losses with a bar. Without a word, both are done. The exit status tells whether all was right.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from labml_nn.training.engine.checkpoint import load_checkpoint
from labml_nn.training.engine.records import read_history
from tests.forks import train

ROOT = Path(__file__).resolve().parents[1]
# Small and with dropout, so that random numbers have all their sources.
SMALL = [
    "--d-model=16", "--d-ff=32", "--n-layers=1", "--heads=2", "--dropout-prob=0.1",
    "--batch-size=4", "--seq-len=16", "--record-every=7", "--evaluate-every=50", "--save-every=20",
    "--text=text",
]  # fmt: skip
TEXT = "".join(f"{number} times {number} is {number * number}\n" for number in range(600))
# What the clock decides.
CLOCK = {"seconds", "interval", "tokens_per_second", "time"}


def begun(runs: Path) -> list[str]:
    r"""The option that resumes the only run in there; none if there is none yet."""
    return [f"--resume={about.parent}" for about in runs.glob("*/*/run.json")]


def ended(options: list[str], folder: Path, runs: Path) -> None:
    r"""Train up to the end, from wherever a run is."""
    process = train(folder, *(begun(runs) or [*options, f"--runs={runs}"]))
    process.join()
    assert process.exitcode == 0, (folder / "err").read_text()


def outcome(runs: Path) -> dict[str, Any]:
    r"""The newest checkpoint and the history of the only run, by where each number is."""
    (result,) = runs.glob("*/*/result.json")
    run = result.parent
    assert list(run.glob("checkpoints/.*")) == []
    newest = max(run.glob("checkpoints/step-*.pt"))
    return flat({"checkpoint": load_checkpoint(newest), "history": read_history(run)})


def flat(value: Any, name: str = "") -> dict[str, Any]:
    r"""What a container holds, by where it is, without the clock's part."""
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


def compare(folder: Path) -> None:
    r"""An `AssertionError` names what differs between the run that was killed and the other."""
    one, other = outcome(folder / "straight"), outcome(folder / "killed")
    assert [name for name in one | other if one.get(name) != other.get(name)] == []


def killed_run(folder: Path, options: list[str], kills: int, moments: random.Random) -> int:
    r"""A run that is killed up to `kills` times, beside one that isn't. Returns how often."""
    (folder / "text").write_text(TEXT)
    ended(options, folder, folder / "straight")
    runs, made = folder / "killed", 0
    while made < kills:
        process = train(folder, *(begun(runs) or [*options, f"--runs={runs}"]))
        process.join(moments.uniform(0.0, 2.0))
        process.kill()
        process.join()
        # It may just have been done.
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL, (folder / "err").read_text()
        made += 1
    ended(options, folder, runs)
    compare(folder)
    return made


def kills(number: int, seed: int, steps: int = 2000) -> None:
    r"""As many runs as it takes to kill `number` times."""
    moments, made, runs = random.Random(seed), 0, 0
    while made < number:
        preset = list(BARS)[runs % len(BARS)]
        options = [*SMALL, f"--steps={steps}", f"--seed={seed + runs}", f"--preset={preset}"]
        with tempfile.TemporaryDirectory() as folder:
            more = killed_run(Path(folder), options, min(25, number - made), moments)
        made, runs = made + more, runs + 1
        print(f"  run {runs}, {preset}: {more} kills, and the same bits", flush=True)


def seeds(preset: str, bar: float, number: int) -> bool:
    r"""The whole recipe, and the mean of its losses."""
    losses = []
    for seed in range(1, number + 1):
        with tempfile.TemporaryDirectory() as folder:
            told = [f"--preset={preset}", f"--seed={seed}", f"--runs={folder}", "--json"]
            command = [sys.executable, "-m", "labml_nn.training.engine", *told]
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        result = json.loads(done.stdout.splitlines()[-1])
        assert result["honest"]
        losses.append(result["val_loss"])
        print(f"  seed {seed}: {losses[-1]:.4f}, {result['seconds']:.1f} s", flush=True)
    mean = sum(losses) / number
    print(f"{preset}: {mean:.4f}, the mean of {number} seeds; the bar is {bar}")
    return mean <= bar


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
    arguments = parser.parse_args()
    if arguments.what != "seeds":
        kills(arguments.kills, arguments.seed)
    right = [
        seeds(preset, bar, arguments.seeds)
        for preset, bar in BARS.items()
        if arguments.what != "kills"
    ]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())

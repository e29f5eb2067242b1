r"""
What does the preset “long” reach on two cores, and what does its model write?

The command `python -m labml_nn.training.engine --preset long` is run as a reader would run it, from
one seed, in a process of its own. The result is results/long.json. Its time is a result, too: let
nothing else run on the machine meanwhile.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.tables import column, table
from benchmarks.record import ROOT
from labml_nn.training.engine.runs import newest_first

SEED = 1
PROMPT, WRITTEN = "ROMEO:\n", 400
# Settings other than those of the preset: none, but for a look whether it runs.
SETTINGS: list[str] = []
FOLDER = ROOT / "runs" / "long" / "trained"
COMMAND = "labml_nn.training.engine"


def trained(seed: int) -> dict[str, Any]:
    r"""
    The result that the command tells, its history, the sample at its end, and a checksum of its
    weights.

    The folder of the run stays, with its weights: others measure the same model, and the checksum
    tells whether it still is the same.
    """
    words = [sys.executable, "-m", COMMAND, "--preset", "long", "--seed", str(seed), "--json"]
    words += ["--runs", str(FOLDER), "--prompt", PROMPT, "--sample-length", str(WRITTEN), *SETTINGS]
    told = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    before, _, last = told.strip().rpartition("\n")
    result = json.loads(last)
    lines = (Path(result["run"]) / "history.jsonl").read_text(encoding="utf-8").splitlines()
    # The sample is what is printed between the description and the last line.
    sample = before[before.rindex(f"run {result['run']}") :].partition("\n")[2].strip("\n")
    return {
        "result": result,
        "history": [json.loads(line) for line in lines],
        "sample": sample,
        "weights": weights_of(Path(result["run"])),
    }


def weights_of(run: Path) -> str | None:
    r"""A checksum of the last checkpoint of a run; none if there is no checkpoint."""
    checkpoints = newest_first(run / "checkpoints")
    return hashlib.sha256(checkpoints[0].read_bytes()).hexdigest() if checkpoints else None


def measure(runner: Runner) -> dict[str, Any]:
    r"""One run: it takes all cores."""
    return runner.once(trained, SEED)


def report(found: dict[str, Any]) -> Report:
    r"""The loss in three units, the time, the curves, and what the model writes."""
    result = dict(found["result"])
    # Where it was on this machine is no result.
    del result["run"]
    history = found["history"]
    lines = [
        {
            "name": name,
            "points": [[one["step"], one[key]] for one in history if key in one],
        }
        for name, key in (("training", "loss.train"), ("validation", "loss.validation"))
    ]
    return {
        "values": {"minutes": result["seconds"] / 60, **result},
        "tables": {
            "written": table(
                [column("prompt", "Prompt"), column("text", "What the model writes")],
                [{"prompt": PROMPT, "text": found["sample"]}],
            )
        },
        "figures": {
            "losses": {
                "title": "The losses of the preset “long”",
                "x": {"title": "Step"},
                "y": {"title": "Loss", "unit": "nats"},
                "lines": lines,
            }
        },
    }


EXPERIMENT = Experiment(
    title="The preset “long”, as the command trains it",
    measure=measure,
    report=report,
    small={"SETTINGS": "--steps 20 --evaluate-every 10 --n-layers 1 --seq-len 64".split()},
    threads=None,
)

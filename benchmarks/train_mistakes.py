r"""
What does each mistake of the museum do to a model that trains in a browser?

The small model of labml_nn/transformers/mistakes/train_here.py is trained with each mistake, by the
same function that the page calls, so a reader's curve lies on the recorded one. The result is
results/train_mistakes.json.
"""

from collections.abc import Sequence
from typing import Any

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs
from benchmarks.library.tables import column, table
from labml_nn.transformers.mistakes.train_here import EXHIBITS, LATER, SIZES, train_here

SEEDS = (1,)
STEPS = SIZES.n_steps
# A point of the curves for so many steps.
EVERY = 4
# The right model, to be compared with, and one mistake of each kind.
DRAWN = ("RightAttention", "MaskUnused", "ViewForSplit", "ScaledByModelWidth", "SoftmaxTwice")
# What is right in the later rooms, and a mistake of each kind there.
DRAWN_LATER = (*(one.__name__ for one in LATER), "PairsMixed", "WeightsLeftOut")


def trained(name: str, seed: int) -> dict[str, Any]:
    r"""Trains one model: the points of its curve, and its two losses at last."""
    points, last = [], {}
    for told in train_here(name, STEPS, samples=1, seed=seed):
        if "loss" in told and (told["step"] == 1 or told["step"] % EVERY == 0):
            points.append([told["step"], told["loss"]])
        if "validation" in told:
            last = told
    return {"points": points, "printed": last["validation"], "honest": last["honest"]}


def measure(runner: Runner) -> Runs:
    r"""Each exhibit once."""
    return runner.runs(trained, EXHIBITS, SEEDS)


def report(runs: Runs) -> Report:
    r"""Both losses of each, and some of the curves."""
    columns = [
        column("exhibit", "Exhibit"),
        column("printed", "Printed loss", 3, "nats"),
        column("honest", "Honest loss", 3, "nats"),
    ]
    rows = [{"exhibit": name, **found[0]} for name, found in runs.items()]

    def figure(title: str, names: Sequence[str]) -> dict[str, Any]:
        return {
            "title": title,
            "x": {"title": "Steps"},
            "y": {"title": "Loss", "unit": "nats"},
            "lines": [{"name": name, "points": runs[name][0]["points"]} for name in names],
        }

    figures = {
        "losses": figure("The loss of each step", DRAWN),
        "later": figure("The loss of each step, with positions, keys and steps", DRAWN_LATER),
    }
    return {"tables": {"exhibits": table(columns, rows)}, "figures": figures}


EXPERIMENT = Experiment(
    title=f"Mistakes of the museum in a small model, as a browser trains them: {STEPS} steps",
    measure=measure,
    report=report,
    small={"STEPS": 2},
)

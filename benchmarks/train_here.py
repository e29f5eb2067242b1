r"""
What losses does a browser reach that trains the small models of the course?

PyTorch trains them here as the page does, by the same function with the same seed, so the reader's
curve lies on the recorded one. The result is results/train_here.json, to which the page refers.
"""

from typing import Any

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.tables import column, table
from labml_nn.course.train_here import STEPS, train_here

# Without its mask this one is the clearest.
UNMASKED = "One transformer layer"

# The steps of the recorded curve: the page draws all of them.
EVERY = 2

# A share of the steps that the page makes.
TIMES = 1.0


def trained(name: str, masked: bool) -> dict[str, Any]:
    r"""The loss of a model on unseen text, and its curve."""
    steps = round(TIMES * STEPS[name])
    points: list[list[float]] = []
    validation = 0.0
    for told in train_here(name, steps, masked=masked, samples=1):
        if "loss" in told and (told["step"] == 1 or told["step"] % EVERY == 0):
            points.append([told["step"], told["loss"]])
        validation = told.get("validation", validation)
    return {"loss": validation, "steps": steps, "points": points}


def measure(runner: Runner) -> dict[str, dict[str, Any]]:
    r"""Each model, and one without its mask, by what it is called in the picture."""
    *masked, without = runner.all(
        [*((trained, name, True) for name in STEPS), (trained, UNMASKED, False)]
    )
    return dict(zip(STEPS, masked, strict=True)) | {f"{UNMASKED}, without the mask": without}


def report(runs: dict[str, dict[str, Any]]) -> Report:
    r"""The table of the models, and their curves."""
    columns = [
        column("model", "Model"),
        column("steps", "Steps", 0),
        column("loss", "Loss on unseen text", 3, "nats"),
    ]
    return {
        "tables": {"models": table(columns, [{"model": one, **run} for one, run in runs.items()])},
        "figures": {
            "losses": {
                "title": "The loss of each step",
                "x": {"title": "Steps"},
                "y": {"title": "Loss", "unit": "nats"},
                "lines": [{"name": one, "points": run["points"]} for one, run in runs.items()],
            }
        },
    }


EXPERIMENT = Experiment(
    title="Models of the course, half as wide, as a browser trains them",
    measure=measure,
    report=report,
    small={"TIMES": 0.02},
)

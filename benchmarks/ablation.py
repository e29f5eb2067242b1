r"""
What is each part of the modern recipe worth?

The modern transformer is trained with each of the changes of
labml_nn/transformers/modern/ablation.py, from three seeds each. The result is
results/ablation.json, to which that page refers.
"""

import time
from typing import Any

import torch

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, mean_of, numbers, spread
from benchmarks.library.tables import column, low_and_high, table
from benchmarks.pictures import ACCENT, new, svg
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.loop import evaluate
from labml_nn.transformers.modern.ablation import CHANGES, fit_changed
from labml_nn.transformers.modern.model import ModernTransformer

SEEDS = (1, 2, 3)
STEPS, SEQ_LEN, BATCH_SIZE = 600, 64, 12


def trained(name: str, seed: int) -> dict[str, float]:
    r"""Trains one model and measures it."""
    tokenizer, training, validation = prepare(tiny_shakespeare(), SEQ_LEN)
    torch.manual_seed(seed)
    model = ModernTransformer(len(tokenizer), seq_len=SEQ_LEN)
    start = time.perf_counter()
    fit_changed(name, model, RandomWindows(training, SEQ_LEN, BATCH_SIZE, seed), STEPS)
    seconds = time.perf_counter() - start
    parameters = sum(p.numel() for p in model.parameters() if p.requires_grad)
    loss = evaluate(model, validation, SEQ_LEN)
    return {"loss": loss, "seconds": seconds, "parameters": parameters}


def measure(runner: Runner) -> Runs:
    r"""Each change, from each seed."""
    return runner.runs(trained, CHANGES, SEEDS)


def rows_of(runs: Runs) -> list[dict[str, Any]]:
    r"""One row for each change. What is below the spread of the whole recipe is called noise."""
    rows: list[dict[str, Any]] = []
    for name, found in runs.items():
        row = {"change": name, **spread("loss", numbers(found, "loss"))}
        whole = rows[0] if rows else row
        row["worth"] = row["loss"] - whole["loss"]
        within = abs(row["worth"]) <= whole["high"] - whole["low"]
        row["noise"] = "yes" if rows and within else "–"
        row["parameters"] = found[0]["parameters"]
        row["seconds"] = mean_of(found, "seconds")
        rows.append(row)
    return rows


def ranges(rows: list[dict[str, Any]]) -> str:
    r"""From the lowest to the highest loss of each change, over the band of the whole recipe."""
    figure, (axes,) = new(6.4, 4.6)
    axes.axvspan(rows[0]["low"], rows[0]["high"], color=ACCENT, alpha=0.2, linewidth=0)
    for at, row in enumerate(rows):
        axes.plot([row["low"], row["high"]], [at, at], color=ACCENT, linewidth=3)
        axes.plot([row["loss"]], [at], color=ACCENT, marker="o")
    axes.set_yticks(range(len(rows)), [row["change"] for row in rows], fontsize=11)
    axes.invert_yaxis()
    axes.set_xlabel("Validation loss (nats)", fontsize=12)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    return svg(figure, "ablation-spread")


def report(runs: Runs) -> Report:
    r"""The table of all changes, and their ranges."""
    rows = rows_of(runs)
    columns = [
        column("change", "Change"),
        column("loss", "Loss, mean of three seeds", 3, "nats"),
        column("worth", "The part is worth", 3, "nats"),
        column("noise", "Within the noise"),
        *low_and_high(),
        column("parameters", "Parameters"),
        column("seconds", "Training", 0, "s"),
    ]
    return {
        "tables": {"changes": table(columns, rows)},
        "figures": {"spread": {"title": "Loss of three seeds", "picture": ranges(rows)}},
    }


EXPERIMENT = Experiment(
    title=f"The modern recipe, whole and with one change at a time: {STEPS} steps",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 2},
)

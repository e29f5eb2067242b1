r"""
How low does the loss get with each step of the course?

Letters are counted, and then the models of labml_nn/course/steps.py are trained for 400 steps,
from three seeds each. The result is results/course.json, to which the pages refer.
"""

import math
import time
from typing import Any

import torch
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, mean_of, numbers, spread
from benchmarks.library.tables import column, low_and_high, table
from benchmarks.pictures import ACCENT, INK, SECOND, new, svg
from labml_nn.course.steps import fit, steps_of_course
from labml_nn.training.counting import BackOff, count_letters, count_pairs
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.loop import evaluate

SEEDS = (1, 2, 3)
STEPS, SEQ_LEN, BATCH_SIZE = 400, 64, 12


def counted() -> dict[str, float]:
    r"""The losses of guessing and of counting, by the names of the steps."""
    tokenizer, training, validation = prepare(tiny_shakespeare(), SEQ_LEN)
    letters = count_letters(training, len(tokenizer))
    pairs = count_pairs(training, len(tokenizer))
    longer = BackOff(tokenizer.decode(training), 4, tokenizer.symbols)
    return {
        "Guessing": math.log(len(tokenizer)),
        "Counted letters": -letters[validation].log().mean().item(),
        "Counted pairs": -pairs[validation[:-1], validation[1:]].log().mean().item(),
        "Counting four letters back": longer.loss(tokenizer.decode(validation), SEQ_LEN),
    }


def trained(name: str, seed: int) -> dict[str, float]:
    r"""Trains the model of a step."""
    tokenizer, training, validation = prepare(tiny_shakespeare(), SEQ_LEN)
    make, recipe = steps_of_course(len(tokenizer), seq_len=SEQ_LEN)[name]
    torch.manual_seed(seed)
    model, start = make(), time.perf_counter()
    fit(model, RandomWindows(training, SEQ_LEN, BATCH_SIZE, seed), STEPS, recipe)
    return {
        "seconds": time.perf_counter() - start,
        "loss": evaluate(model, validation, SEQ_LEN),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
    }


def names_of_steps() -> list[str]:
    r"""The steps that train a model, in their order."""
    tokenizer, _, _ = prepare(tiny_shakespeare(), SEQ_LEN)
    return list(steps_of_course(len(tokenizer)))


def measure(runner: Runner) -> tuple[dict[str, float], Runs]:
    r"""What is counted, and each model from each seed."""
    return runner.once(counted), runner.runs(trained, names_of_steps(), SEEDS)


def rows_of(losses: dict[str, float], runs: Runs) -> list[dict[str, Any]]:
    r"""One row for each step. What is counted has no seeds and no parameters."""
    rows: list[dict[str, Any]] = [
        {"step": name, "loss": loss, "low": "–", "high": "–", "parameters": "–"}
        for name, loss in losses.items()
    ]
    for name, found in runs.items():
        row = {"step": name, **spread("loss", numbers(found, "loss"))}
        rows.append({**row, "parameters": found[0]["parameters"]})
    return rows


def bars(rows: list[dict[str, Any]]) -> str:
    r"""One for each step: counted in one colour, trained in another, and the seeds as a line."""
    figure, (axes,) = new(6.4, 4.6)
    for at, row in enumerate(rows):
        counted = row["low"] == "–"
        axes.barh(at, row["loss"], color=SECOND if counted else ACCENT, alpha=0.6, height=0.7)
        axes.text(row["loss"] + 0.05, at, f"{row['loss']:.2f}", va="center", fontsize=10)
        if not counted:
            axes.plot([row["low"], row["high"]], [at, at], color=INK, linewidth=2)
    # What the colours and the short lines are.
    named = [
        Patch(color=SECOND, alpha=0.6, label="counted"),
        Patch(color=ACCENT, alpha=0.6, label="trained, mean of three seeds"),
        Line2D([], [], color=INK, linewidth=2, label="lowest to highest seed"),
    ]
    figure.legend(handles=named, loc="outside upper left", frameon=False, fontsize=11, ncols=2)
    axes.set_yticks(range(len(rows)), [row["step"] for row in rows], fontsize=11)
    axes.invert_yaxis()
    axes.set_xlabel("Loss (nats)", fontsize=12)
    axes.tick_params(labelsize=11)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return svg(figure, "course-steps")


def report(found: tuple[dict[str, float], Runs]) -> Report:
    r"""The table of all steps, and its bars."""
    losses, runs = found
    rows = rows_of(losses, runs)
    columns = [
        column("step", "Step"),
        column("loss", "Loss", 3, "nats"),
        *low_and_high(),
        column("parameters", "Parameters"),
    ]
    return {
        # All models, one after the other.
        "values": {
            "steps": STEPS,
            "seconds": sum(mean_of(one, "seconds") for one in runs.values()),
        },
        "tables": {"steps": table(columns, rows)},
        "figures": {
            "steps": {"title": "The loss after each step of the course", "picture": bars(rows)}
        },
    }


EXPERIMENT = Experiment(
    title="The steps of the course",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 2},
)

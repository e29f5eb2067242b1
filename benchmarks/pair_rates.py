r"""
Why does the table of pairs of the course get a higher learning rate than the other models?

It is trained as in the course, for 400 steps from three seeds, with the rate of the other models
and with ten times that. The result is results/pair_rates.json. It takes some seconds.
"""

from functools import partial

import torch

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, numbers, spread
from benchmarks.library.tables import column, low_and_high, table
from labml_nn.course.steps import fit, plain_recipe, table_of_pairs
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.loop import evaluate

SEEDS, STEPS, SEQ_LEN, BATCH_SIZE = (1, 2, 3), 400, 64, 12
RATES = ("0.003", "0.03")


def trained(rate: str, seed: int) -> dict[str, float]:
    r"""The loss of a table, and how far from zero a logit has come."""
    tokenizer, training, validation = prepare(tiny_shakespeare(), SEQ_LEN)
    torch.manual_seed(seed)
    model = table_of_pairs(len(tokenizer))
    recipe = partial(plain_recipe, rate=float(rate))
    fit(model, RandomWindows(training, SEQ_LEN, BATCH_SIZE, seed), STEPS, recipe)
    return {
        "loss": evaluate(model, validation, SEQ_LEN),
        "farthest": model.weight.abs().max().item(),
    }


def measure(runner: Runner) -> Runs:
    r"""Each rate from each seed."""
    return runner.runs(trained, RATES, SEEDS)


def report(found: Runs) -> Report:
    r"""A row for each rate."""
    rows = [
        {
            "rate": rate,
            **spread("loss", numbers(runs, "loss")),
            "farthest": max(numbers(runs, "farthest")),
        }
        for rate, runs in found.items()
    ]
    columns = [
        column("rate", "Learning rate"),
        column("loss", "Loss", 3, "nats"),
        *low_and_high(),
        column("farthest", "Farthest logit of all seeds", 2),
    ]
    return {
        "values": {"steps": STEPS, "seeds": len(SEEDS)},
        "tables": {"rates": table(columns, rows)},
    }


EXPERIMENT = Experiment(
    title="The table of pairs with two learning rates",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 2},
)

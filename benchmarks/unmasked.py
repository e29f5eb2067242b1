r"""
Who sees the answer when the causal mask is left out?

Three models of the course are trained for 400 steps, from three seeds, with the mask and with one
that hides nothing. The result is results/unmasked.json.
"""

import torch
from torch import Tensor, nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, mean_of, numbers, spread
from benchmarks.library.tables import column, low_and_high, table
from labml_nn.course.steps import fit, steps_of_course
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.loop import evaluate

SEEDS, STEPS, SEQ_LEN, BATCH_SIZE = (1, 2, 3), 400, 64, 12
MODELS = ("The mean of the past", "One head", "One head, with positions")


class SeesAll(nn.Module):
    r"""An attention, whose mask hides nothing any more."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        return self.attention(query=query, key=key, value=value, mask=torch.ones_like(mask))


def trained(name: str, seed: int) -> dict[str, float]:
    r"""The losses of a model with its mask and without."""
    tokenizer, training, validation = prepare(tiny_shakespeare(), SEQ_LEN)
    make, recipe = steps_of_course(len(tokenizer), seq_len=SEQ_LEN)[name]
    losses = {}
    for what in ("masked", "unmasked"):
        torch.manual_seed(seed)
        model = make()
        if what == "unmasked":
            model.look_back = SeesAll(model.look_back)
        fit(model, RandomWindows(training, SEQ_LEN, BATCH_SIZE, seed), STEPS, recipe)
        losses[what] = evaluate(model, validation, SEQ_LEN)
    return losses


def measure(runner: Runner) -> Runs:
    r"""Each model from each seed."""
    return runner.runs(trained, MODELS, SEEDS)


def report(found: Runs) -> Report:
    r"""The table of the three models."""
    rows = [
        {
            "model": name,
            "masked": mean_of(runs, "masked"),
            **spread("loss", numbers(runs, "unmasked")),
        }
        for name, runs in found.items()
    ]
    columns = [
        column("model", "Model"),
        column("masked", "With the mask", 2, "nats"),
        column("loss", "Without", 2, "nats"),
        *low_and_high(2),
    ]
    return {"values": {"steps": STEPS}, "tables": {"models": table(columns, rows)}}


EXPERIMENT = Experiment(
    title="Attention without the causal mask",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 2},
)

r"""
What do positions give to one head, and what does a residual connection?

One head of the course is trained for 400 steps, from three seeds: with and without positions, with
and without its input added to its output. The result is results/residual.json.
"""

import torch
from torch import Tensor, nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, numbers, spread
from benchmarks.library.tables import column, low_and_high, table
from labml_nn.course.steps import fit, steps_of_course
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.loop import evaluate

SEEDS, STEPS, SEQ_LEN, BATCH_SIZE = (1, 2, 3), 400, 64, 12
MODELS = ("One head", "One head, with positions")
ADDED = ", and a residual connection"


class WithInput(nn.Module):
    r"""A look back whose input passes beside it, and is added to what it gathered."""

    def __init__(self, look_back: nn.Module) -> None:
        super().__init__()
        self.look_back = look_back

    def forward(self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        return query + self.look_back(query=query, key=key, value=value, mask=mask)


def trained(name: str, seed: int) -> dict[str, float]:
    r"""The validation loss of a head; the name says what it has."""
    tokenizer, training, validation = prepare(tiny_shakespeare(), SEQ_LEN)
    make, recipe = steps_of_course(len(tokenizer), seq_len=SEQ_LEN)[name.removesuffix(ADDED)]
    torch.manual_seed(seed)
    model = make()
    if name.endswith(ADDED):
        model.look_back = WithInput(model.look_back)
    fit(model, RandomWindows(training, SEQ_LEN, BATCH_SIZE, seed), STEPS, recipe)
    return {"loss": evaluate(model, validation, SEQ_LEN)}


def measure(runner: Runner) -> Runs:
    r"""All four, from each seed."""
    names = [name + added for added in ("", ADDED) for name in MODELS]
    return runner.runs(trained, names, SEEDS)


def report(runs: Runs) -> Report:
    r"""A row for each head."""
    rows = [
        {"model": name, **spread("loss", numbers(found, "loss"))} for name, found in runs.items()
    ]
    columns = [column("model", "Model"), column("loss", "Loss", 3, "nats"), *low_and_high()]
    return {"values": {"steps": STEPS}, "tables": {"heads": table(columns, rows)}}


EXPERIMENT = Experiment(
    title="One head, positions and a residual connection",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 2},
)

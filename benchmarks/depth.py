r"""
What happens to a deep stack without normalisation?

Narrow transformers with 24 and 64 layers are trained on Tiny Shakespeare for 100 steps, from three
seeds: with their layer normalisations, and with nothing in their place. The result is
results/depth.json.
"""

import math
from statistics import mean

import torch
from torch import nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, mean_of, numbers
from benchmarks.library.tables import column, table
from labml_nn.training import loop
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer

SEEDS, STEPS = (1, 2, 3), 100
D_MODEL, HEADS, SEQ_LEN, BATCH = 32, 2, 32, 8
# The number of layers, and the learning rate.
STACKS = ((24, 0.03), (64, 0.003))
# The last loss is the mean of so many steps.
LAST = 10


def without_norms(module: nn.Module) -> None:
    r"""Nothing in the place of each normalisation, also of those inside."""
    for name, part in module.named_children():
        if isinstance(part, nn.LayerNorm):
            setattr(module, name, nn.Identity())
        else:
            without_norms(part)


def trained(name: str, seed: int) -> dict[str, float | None]:
    r"""The size of the vectors behind the last layer before training, and the losses."""
    n_layers, rate, norms = name.split()
    tokenizer, training, _ = prepare(tiny_shakespeare(), SEQ_LEN)
    torch.manual_seed(seed)
    sizes = {"d_model": D_MODEL, "heads": HEADS, "n_layers": int(n_layers), "d_ff": 2 * D_MODEL}
    model = AutoregressiveTransformer(len(tokenizer), seq_len=SEQ_LEN, **sizes)
    if norms == "none":
        without_norms(model)
    with torch.no_grad():
        x = model.embed(training[:SEQ_LEN, None])
        size = model.encoder(x, model.mask).square().mean().sqrt().item()
    losses: list[float] = []
    loop.train(
        model,
        RandomWindows(training, SEQ_LEN, BATCH, seed).at,
        [loop.adamw(model, float(rate))],
        STEPS,
        after_step=lambda step, loss: losses.append(loss.item()),
    )
    last = mean(losses[-LAST:])
    # What is no number any more has no place in a file of results.
    return {"size": size, "first": losses[0], "last": last if math.isfinite(last) else None}


def measure(runner: Runner) -> Runs:
    r"""All stacks, with and without normalisations, from each seed."""
    names = [f"{layers} {rate} {norms}" for layers, rate in STACKS for norms in ("norm", "none")]
    return runner.runs(trained, names, SEEDS)


def report(runs: Runs) -> Report:
    r"""A row for each stack."""
    rows = []
    for n_layers, rate in STACKS:
        norm, none = (runs[f"{n_layers} {rate} {norms}"] for norms in ("norm", "none"))
        lasts = numbers(none, "last")
        rows.append(
            {
                "stack": f"{n_layers} layers, rate {rate}",
                "size": mean_of(none, "size"),
                "first": mean_of(none, "first"),
                "none": "no number" if None in lasts else mean(lasts),
                "normalised_first": mean_of(norm, "first"),
                "norm": mean_of(norm, "last"),
            }
        )
    columns = [
        column("stack", "Stack"),
        column("size", "Size of the vectors without", 1),
        column("first", "First loss without", 2, "nats"),
        column("none", "last", 2, "nats"),
        column("normalised_first", "First loss with", 2, "nats"),
        column("norm", "last", 2, "nats"),
    ]
    return {
        "values": {"steps": STEPS, "seeds": len(SEEDS)},
        "tables": {"stacks": table(columns, rows)},
    }


EXPERIMENT = Experiment(
    title="Deep stacks with and without normalisation",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 3, "STACKS": ((2, 0.003),)},
)

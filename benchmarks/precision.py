r"""
Why do weights keep 32 bits when products are computed with 16?

A small transformer is trained for two hundred steps from three seeds: in 32 bits; with products in
bfloat16 and weights in 32 bits, by the step of labml_nn/training/mixed_step.py; and with weights in
bfloat16, too. Then, of the gradients of the first model, how many would `float16` round to zero,
with the factor of gradient scaling and without? The result is results/precision.json.
"""

import torch
from torch import Tensor

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, mean_of, numbers, spread
from benchmarks.library.tables import column, low_and_high, table
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.loop import adamw, evaluate, gradients, train
from labml_nn.training.mixed_step import MixedStep
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer

SEEDS, STEPS, CHARACTERS = (1, 2, 3), 200, 20_000
D_MODEL, HEADS, LAYERS, SEQ_LEN, BATCH, RATE = 64, 4, 2, 32, 8, 3e-4
WAYS = ("all in 32 bits", "products in bfloat16", "weights in bfloat16, too")
# What PyTorch's gradient scaler begins with.
FACTOR = 65_536


def rounded_to_zero(model: torch.nn.Module, factor: float) -> float:
    r"""The share of gradients that aren't zero, but would be in float16, times the factor."""
    found = torch.cat([one.grad.flatten() for one in model.parameters() if one.grad is not None])
    found = found[found != 0]
    return ((found * factor).half() == 0).double().mean().item()


def trained(way: str, seed: int) -> dict[str, float]:
    r"""The validation loss of one model, and what would become of its last gradients."""
    tokenizer, training, validation = prepare(tiny_shakespeare(), SEQ_LEN)
    torch.manual_seed(seed)
    sizes = (D_MODEL, HEADS, LAYERS, 4 * D_MODEL, SEQ_LEN)
    model = AutoregressiveTransformer(len(tokenizer), *sizes)
    if way == WAYS[2]:
        model.bfloat16()
    optimizers = [adamw(model, RATE)]
    batches = RandomWindows(training, SEQ_LEN, BATCH, seed)
    if way == WAYS[1]:
        step = MixedStep(optimizers, torch.device("cpu"), torch.bfloat16)
        train(model, batches.at, [step], STEPS, gradients=step.gradients, clip=step.clip)
    else:
        train(model, batches.at, optimizers, STEPS)
    model.zero_grad()
    loss: Tensor = gradients(model, *batches.at(STEPS))
    assert loss.isfinite()
    return {
        "loss": evaluate(model, validation[:CHARACTERS], SEQ_LEN),
        "plain": rounded_to_zero(model, 1),
        "scaled": rounded_to_zero(model, FACTOR),
    }


def measure(runner: Runner) -> Runs:
    r"""All ways, from each seed."""
    return runner.runs(trained, WAYS, SEEDS)


def report(runs: Runs) -> Report:
    r"""A row for each way."""
    rows = [{"way": way, **spread("loss", numbers(found, "loss"))} for way, found in runs.items()]
    columns = [
        column("way", "Training"),
        column("loss", "Validation loss", 3, "nats"),
        *low_and_high(),
    ]
    exact = runs[WAYS[0]]
    return {
        "values": {
            "steps": STEPS,
            "rate": RATE,
            "seeds": len(SEEDS),
            "to_zero": {
                "plain": mean_of(exact, "plain"),
                "scaled": mean_of(exact, "scaled"),
            },
        },
        "tables": {"ways": table(columns, rows)},
    }


EXPERIMENT = Experiment(
    title="What bfloat16 may hold",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 3, "CHARACTERS": 500},
)

r"""
Does training in bfloat16 reach the same loss?

The classic and the modern transformer are trained for a few hundred steps on a CPU, from three
seeds each, once with products in 32 bits and once in bfloat16, by the step of
`labml_nn/training/mixed_step.py`. Weights, windows and everything else are the same. The result is
results/sixteen_bits.json, to which the page of that step refers. It takes ten minutes of one core.
"""

from collections.abc import Mapping

import torch

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import spread
from benchmarks.library.tables import column
from labml_nn.optimizers.schedules import linear
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.loop import adamw, evaluate
from labml_nn.training.mixed_step import MixedStep
from labml_nn.training.run import Run
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.modern.experiment import muon_and_adamw
from labml_nn.transformers.modern.model import ModernTransformer

SEEDS = (1, 2, 3)
STEPS = 200
TYPES = {"32 bits": torch.float32, "bfloat16": torch.bfloat16}
WAYS = [f"{model}, {kind}" for model in ("classic", "modern") for kind in TYPES]


def trained(name: str, seed: int) -> float:
    r"""The validation loss of one model."""
    kind, _, digits = name.partition(", ")
    tokenizer, training, validation = prepare(tiny_shakespeare(), 64)
    torch.manual_seed(seed)
    if kind == "classic":
        model = AutoregressiveTransformer(len(tokenizer), 128, 4, 4, 512, 64)
        optimizers = [adamw(model)]
    else:
        model = ModernTransformer(len(tokenizer), 128, 4, 4, 336, 64)
        optimizers = [*muon_and_adamw(model)]
    mixed = MixedStep(optimizers, torch.device("cpu"), TYPES[digits])
    batches = RandomWindows(training, 64, 12, seed)
    how = {"gradients": mixed.gradients, "clip": mixed.clip, "say": lambda *words: None}
    if kind == "modern":
        how["schedule"] = linear
    Run(model, batches.at, [mixed], **how).train(STEPS)
    # Measured in 32 bits, both of them.
    return evaluate(model, validation, 64)


def measure(runner: Runner) -> dict[str, list[float]]:
    r"""Both models, in both types, from each seed."""
    return runner.runs(trained, WAYS, SEEDS)


def largest(losses: Mapping[str, list[float]], model: str) -> float:
    r"""How far apart the two types are at most, from the same seed."""
    both = zip(losses[f"{model}, 32 bits"], losses[f"{model}, bfloat16"], strict=True)
    return max(abs(one - other) for one, other in both)


def report(losses: dict[str, list[float]]) -> Report:
    r"""The losses, and how far apart types and seeds are."""
    rows = [{"way": name, **spread("loss", found)} for name, found in losses.items()]
    apart = {}
    for model in ("classic", "modern"):
        found = losses[f"{model}, 32 bits"]
        apart[model] = {"types": largest(losses, model), "seeds": max(found) - min(found)}
    return {
        "values": {"steps": STEPS, "apart": apart},
        "tables": {
            "losses": {
                "columns": [
                    column("way", "Training"),
                    column("loss", "Validation loss", 4, "nats"),
                    column("low", "Lowest", 4),
                    column("high", "Highest of three seeds", 4),
                ],
                "rows": rows,
            }
        },
    }


EXPERIMENT = Experiment(
    title="Training in bfloat16 and in 32 bits",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 4},
)

r"""
Is a loss in 16 bits worse?

The classic and the modern transformer are trained with `bfloat16` for their matrix products, on a
CPU, and in 32 bits, from three seeds each. The result is results/half_precision.json, to which the
page of the step in mixed precision refers. It takes ten minutes of one core that has instructions
for `bfloat16`.
"""

from collections.abc import Callable, Mapping

import torch
from torch import nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import spread
from benchmarks.library.tables import column, low_and_high, table
from labml_nn.optimizers.schedules import linear
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.loop import adamw, evaluate, learning_rate, train
from labml_nn.training.mixed_step import MixedStep
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.modern.experiment import muon_and_adamw
from labml_nn.transformers.modern.model import ModernTransformer

SEEDS = (1, 2, 3)
STEPS = 300
# The models in the sizes of a CPU, with their optimizers and their schedules.
Recipe = tuple[
    Callable[[int], nn.Module],
    Callable[..., list[torch.optim.Optimizer]],
    Callable[[int, int], float],
]
RECIPES: Mapping[str, Recipe] = {
    "classic": (AutoregressiveTransformer, lambda model: [adamw(model)], learning_rate),
    "modern": (lambda n: ModernTransformer(n, 128, 4, 4, 336, 64), muon_and_adamw, linear),
}
TYPES = {"32 bits": torch.float32, "bfloat16": torch.bfloat16}
WAYS = [f"{recipe}, {name}" for recipe in RECIPES for name in TYPES]


def trained(way: str, seed: int) -> float:
    r"""The validation loss of one model, measured in 32 bits."""
    recipe, name = way.split(", ")
    make, optimizers, schedule = RECIPES[recipe]
    tokenizer, training, validation = prepare(tiny_shakespeare(), 64)
    torch.manual_seed(seed)
    model = make(len(tokenizer))
    mixed = MixedStep(optimizers(model), torch.device("cpu"), TYPES[name])
    batches = RandomWindows(training, 64, 12, seed)
    how = {"schedule": schedule, "gradients": mixed.gradients, "clip": mixed.clip}
    train(model, batches.at, [mixed], STEPS, **how)
    return evaluate(model, validation, 64)


def measure(runner: Runner) -> dict[str, list[float]]:
    r"""Each model in each type, from each seed."""
    return runner.runs(trained, WAYS, SEEDS)


def report(losses: dict[str, list[float]]) -> Report:
    r"""The losses, how far apart the types are, and how far apart the seeds."""
    rows = [{"way": way, **spread("loss", found)} for way, found in losses.items()]
    columns = [column("way", "Model and type"), column("loss", "Validation loss", 4, "nats")]
    apart = {}
    for recipe in RECIPES:
        both = [losses[f"{recipe}, {name}"] for name in TYPES]
        apart[recipe] = {
            "types": max(abs(one - other) for one, other in zip(*both, strict=True)),
            "seeds": max(both[0]) - min(both[0]),
        }
    return {
        "values": {"steps": STEPS, "apart": apart},
        "tables": {"losses": table([*columns, *low_and_high(4)], rows)},
    }


EXPERIMENT = Experiment(
    title="Training in bfloat16",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 2},
)

r"""
What is each part of the training loop worth?

The classic transformer is trained for 1,000 steps, from three seeds each, with the loop as it is
and with one part of it left out. The result is results/loop_parts.json, to which the page of the
loop refers. It takes twenty minutes on two cores.
"""

from collections.abc import Callable

import torch
from torch import nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import spread
from benchmarks.library.tables import column
from labml_nn.training import loop
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.transformers.basic.autoregressive_model import (
    AutoregressiveTransformer,
)
from labml_nn.transformers.fused_attention import FusedAttention

SEEDS = (1, 2, 3)
STEPS = 1000


def usual_betas(model: nn.Module) -> torch.optim.AdamW:
    r"""Squared gradients averaged over about 1,000 steps, PyTorch's default."""
    optimizer = loop.adamw(model)
    for group in optimizer.param_groups:
        group["betas"] = (0.9, 0.999)
    return optimizer


# The optimizer, and the arguments of the loop.
Change = tuple[Callable[[nn.Module], torch.optim.Optimizer], dict[str, Callable]]
CHANGES: dict[str, Change] = {
    "The loop as it is": (loop.adamw, {}),
    "No warm-up": (loop.adamw, {"schedule": lambda *at: loop.learning_rate(*at, warmup=0.0)}),
    "The rate doesn't fall": (
        loop.adamw,
        {"schedule": lambda *at: loop.learning_rate(*at, final=1.0)},
    ),
    "No clipping": (loop.adamw, {"clip": lambda model: None}),
    "No weight decay": (lambda model: loop.adamw(model, weight_decay=0.0), {}),
    "Squares over 1,000 steps": (usual_betas, {}),
}


def trained(name: str, seed: int) -> float:
    r"""The validation loss of one model."""
    tokenizer, training, validation = prepare(tiny_shakespeare(), 64)
    optimizer, arguments = CHANGES[name]
    torch.manual_seed(seed)
    model = AutoregressiveTransformer(len(tokenizer), attention=FusedAttention)
    batches = RandomWindows(training, 64, 12, seed)
    loop.train(model, batches.at, [optimizer(model)], STEPS, **arguments)
    return loop.evaluate(model, validation, 64)


def measure(runner: Runner) -> dict[str, list[float]]:
    r"""Each change, from each seed."""
    return runner.runs(trained, CHANGES, SEEDS)


def report(losses: dict[str, list[float]]) -> Report:
    r"""What each part is worth."""
    rows = [{"change": name, **spread("loss", found)} for name, found in losses.items()]
    for row in rows:
        row["worth"] = row["loss"] - rows[0]["loss"]
    return {
        "tables": {
            "parts": {
                "columns": [
                    column("change", "Training"),
                    column("loss", "Validation loss", 3, "nats"),
                    column("low", "Lowest", 3),
                    column("high", "Highest of three seeds", 3),
                    column("worth", "More than the first", 3),
                ],
                "rows": rows,
            }
        },
    }


EXPERIMENT = Experiment(
    title="The training loop with one part left out",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 4},
    threads=None,
)

r"""
What is each part of the training loop worth?

The classic transformer is trained for 1,000 steps, from three seeds each, with the loop as it is
and with one part of it left out. The result is results/loop_parts.json, to which the page of the
loop refers. It takes twenty minutes on two cores.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from statistics import mean

# As `python benchmarks/loop_parts.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch import nn  # noqa: E402

from benchmarks.record import fingerprints, write  # noqa: E402
from labml_nn.training import loop  # noqa: E402
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare  # noqa: E402
from labml_nn.transformers.basic.autoregressive_model import (  # noqa: E402
    AutoregressiveTransformer,
)
from labml_nn.transformers.fused_attention import FusedAttention  # noqa: E402

SEEDS = (1, 2, 3)
STEPS = 1000
SOURCES = [
    "labml_nn/training/data.py",
    "labml_nn/training/loop.py",
    "labml_nn/transformers/basic/autoregressive_model.py",
    "labml_nn/transformers/feed_forward.py",
    "labml_nn/transformers/fused_attention.py",
    "labml_nn/transformers/mha.py",
    "labml_nn/transformers/models.py",
    "labml_nn/transformers/positional_encoding.py",
    "benchmarks/loop_parts.py",
]


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


def run(name: str, seed: int) -> float:
    r"""The validation loss of one model."""
    tokenizer, training, validation = prepare(tiny_shakespeare(), 64)
    optimizer, arguments = CHANGES[name]
    torch.manual_seed(seed)
    model = AutoregressiveTransformer(len(tokenizer), attention=FusedAttention)
    batches = RandomWindows(training, 64, 12, seed)
    loop.train(model, batches.at, [optimizer(model)], STEPS, **arguments)
    return loop.evaluate(model, validation, 64)


def main() -> None:
    r"""Train them all, and write down what came out."""
    sources = fingerprints(SOURCES)
    rows = []
    for name in CHANGES:
        losses = [run(name, seed) for seed in SEEDS]
        print(name, losses, flush=True)
        rows.append({"change": name, "loss": mean(losses), "low": min(losses), "high": max(losses)})
        rows[-1]["worth"] = rows[-1]["loss"] - rows[0]["loss"]
    write(
        "loop_parts",
        title="The training loop with one part left out",
        command="python benchmarks/loop_parts.py",
        sources=sources,
        tables={
            "parts": {
                "columns": [
                    {"name": "change", "title": "Training"},
                    {"name": "loss", "title": "Validation loss", "unit": "nats", "digits": 3},
                    {"name": "low", "title": "Lowest", "digits": 3},
                    {"name": "high", "title": "Highest of three seeds", "digits": 3},
                    {"name": "worth", "title": "More than the first", "digits": 3},
                ],
                "rows": rows,
            }
        },
    )


if __name__ == "__main__":
    main()

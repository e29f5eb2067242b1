r"""
What do the trainer's savings save?

    python benchmarks/savings.py

Steps of the classic and the modern transformer at the size of their presets, as they are, and
without one saving at a time: the parameters of a group side by side, causal self-attention in place
of attention under any mask. Each not compiled and compiled. They take turns, a few steps each, and
the order changes from round to round, so that a busy moment of the machine hits all of them.

The optimizer's part of a step is measured on its own: forgetting the gradients, clipping them, and
moving the weights.

The results are written to results/savings.json, from which the pages take their figures.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from unittest.mock import patch

# As `python benchmarks/savings.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch import nn  # noqa: E402

from benchmarks import record  # noqa: E402
from benchmarks.train import measure  # noqa: E402
from labml_nn.training.corpora import python_sources  # noqa: E402
from labml_nn.training.joined import forget_gradients, gather_gradients  # noqa: E402
from labml_nn.training.loop import TrainConfig, Trainer  # noqa: E402
from labml_nn.training.presets import PRESETS  # noqa: E402
from labml_nn.training.speed import Way, usual_way  # noqa: E402
from labml_nn.transformers.basic.comparison_experiment import put_in_place  # noqa: E402
from labml_nn.transformers.mha import MultiHeadAttention  # noqa: E402

# Without one saving each: the parameters side by side, and attention for one mask only.
AS_IT_IS, APART, ANY_MASK = "", ", apart", ", any mask"
VARIANTS = (
    ("classic", AS_IT_IS),
    ("classic", APART),
    ("classic", ANY_MASK),
    ("modern", AS_IT_IS),
    ("modern", APART),
)
SOURCES = [
    "labml_nn/training/joined.py",
    "labml_nn/training/loop.py",
    "labml_nn/training/speed.py",
    "labml_nn/transformers/basic/causal_attention.py",
    "labml_nn/transformers/basic/autoregressive_experiment.py",
    "labml_nn/transformers/modern/experiment.py",
    "labml_nn/transformers/modern/model.py",
    "labml_nn/optimizers/muon.py",
]


def trainer_of(preset: str, without: str, compile: str, text: str) -> Trainer:
    r"""A trainer of a preset, without one of the savings."""
    experiment = PRESETS[preset]
    # All in the same way: a trial could come out differently for each.
    way = usual_way(Way("auto", "auto", compile), torch.device("cpu"), TrainConfig.seq_len)
    config = experiment.config_class(device="cpu", **asdict(way))
    apart = patch("labml_nn.training.joined.is_of_use", return_value=False)
    with apart if without == APART else nullcontext():
        trainer, _ = experiment.make_trainer(config, text)
        if without == ANY_MASK:
            shape = config.heads, config.d_model, config.dropout_prob
            put_in_place(trainer.model, {"self_attn": partial(MultiHeadAttention, *shape)})
            trainer = Trainer(trainer.model, trainer.train, trainer.validation, config)
    trainer.model.train()
    return trainer


def optimizing(trainer: Trainer) -> Callable[[], torch.Tensor]:
    r"""The part of a step that isn't the model's: what is done to gradients and weights."""
    # With gradients of the size that they have.
    trainer.train_step()

    def step() -> torch.Tensor:
        gather_gradients(trainer.moved)
        norm = nn.utils.clip_grad_norm_(trainer.moved, trainer.config.clip)
        for optimizer in trainer.optimizers:
            optimizer.step()
        forget_gradients(trainer.moved)
        return norm

    return step


def optimizing_seconds(trainers: dict[str, Trainer], rounds: int, steps: int) -> dict[str, float]:
    r"""The median time of that part; each step gets new gradients first, which isn't counted."""
    taken: dict[str, list[float]] = {name: [] for name in trainers}
    todo = [(name, trainer, optimizing(trainer)) for name, trainer in trainers.items()]
    for _ in range(rounds):
        for name, trainer, optimize in todo:
            for _ in range(steps):
                for loss in trainer.losses_of(trainer.way, trainer.predict):
                    loss.backward()
                start = time.perf_counter()
                optimize()
                taken[name].append(time.perf_counter() - start)
        todo = todo[1:] + todo[:1]
    return {name: statistics.median(times) for name, times in taken.items()}


def main() -> int:
    r"""Measure, print the table and write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tiny", action="store_true", help="one step each: does it run?")
    parser.add_argument("--rounds", type=int, default=25, help="turns of each (%(default)s)")
    parser.add_argument("--steps", type=int, default=20, help="steps in a turn (%(default)s)")
    arguments = parser.parse_args()
    rounds, steps = (1, 1) if arguments.tiny else (arguments.rounds, arguments.steps)
    text = python_sources()

    milliseconds: dict[str, dict[str, float]] = {}
    for column, compile in (("eager", "off"), ("compiled", "on")):
        if arguments.tiny and compile == "on":
            continue
        print(f"making {len(VARIANTS)} models, {column}", file=sys.stderr)
        trainers = {
            preset + without: trainer_of(preset, without, compile, text)
            for preset, without in VARIANTS
        }
        if compile == "off":
            for name, seconds in optimizing_seconds(trainers, rounds, steps).items():
                milliseconds.setdefault(name, {})["optimizing"] = 1000 * seconds
        found = measure({n: one.train_step for n, one in trainers.items()}, rounds, steps)
        for name, times in found.items():
            milliseconds.setdefault(name, {})[column] = 1000 * statistics.median(times)

    rows = []
    for (preset, without), found in zip(VARIANTS, milliseconds.values(), strict=True):
        whole = milliseconds[preset]
        ratios = {f"{name}_ratio": found[name] / whole[name] for name in found}
        rows.append({"variant": preset + without, **found, **ratios})
        cells = "".join(f"{k} {v:7.3f} ({found[k] / whole[k]:.2f})  " for k, v in found.items())
        print(f"{preset + without:20}{cells}")
    if arguments.tiny:
        return 0

    path = record.write(
        "savings",
        title="What the trainer's savings save",
        command="python benchmarks/savings.py",
        sources=SOURCES,
        values={"threads": torch.get_num_threads(), "rounds": rounds, "steps": steps},
        tables={
            "steps": {
                "columns": [
                    {"name": "variant", "title": "Model"},
                    {"name": "eager", "title": "A step", "unit": "ms", "digits": 2},
                    {"name": "eager_ratio", "title": "Ratio", "digits": 2},
                    {"name": "compiled", "title": "Compiled", "unit": "ms", "digits": 2},
                    {"name": "compiled_ratio", "title": "Ratio", "digits": 2},
                    {"name": "optimizing", "title": "Optimizing", "unit": "ms", "digits": 2},
                    {"name": "optimizing_ratio", "title": "Ratio", "digits": 2},
                ],
                "rows": rows,
            }
        },
    )
    print(f"\nwritten to {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

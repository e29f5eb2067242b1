r"""
What does each measure save of a whole training step?

The classic transformer is trained with one measure after the other. The variants take turns, a few
steps each, and the order changes from round to round, so that a busy moment hits all of them. The
result is results/speed.json, to which labml_nn/training/fast refers.
"""

import statistics
import time
from contextlib import nullcontext
from functools import partial

import torch
from torch import nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.tables import column
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.fast.compiled import compiled
from labml_nn.training.fast.one_projection import OneProjectionAttention
from labml_nn.training.loop import adamw, gradients, train
from labml_nn.transformers.basic.autoregressive_model import (
    AutoregressiveTransformer,
)
from labml_nn.transformers.fused_attention import FusedAttention
from labml_nn.transformers.mha import MultiHeadAttention

SEQ_LEN, BATCH_SIZE = 64, 12
# Rounds, and the steps of a turn.
ROUNDS, STEPS = 15, 10
# What each variant has more than the one before it: its attention, optimizer, precision, compiler.
VARIANTS: dict[str, tuple[type[nn.Module], bool, bool, bool]] = {
    "The readable model, AdamW in a loop": (MultiHeadAttention, False, False, False),
    "fused AdamW": (MultiHeadAttention, True, False, False),
    "fused attention": (FusedAttention, True, False, False),
    "one projection": (OneProjectionAttention, True, False, False),
    "compiled": (OneProjectionAttention, True, False, True),
    "bfloat16": (OneProjectionAttention, True, True, True),
}


class Variant:
    r"""A model that can be trained for some more steps."""

    def __init__(
        self, attention: type[nn.Module], fused: bool, narrow: bool, compile: bool
    ) -> None:
        tokenizer, tokens, _ = prepare(tiny_shakespeare(), SEQ_LEN)
        torch.manual_seed(1)
        model = AutoregressiveTransformer(len(tokenizer), attention=attention)
        self.batches = RandomWindows(tokens, SEQ_LEN, BATCH_SIZE, 1)
        self.optimizer = adamw(model)
        for group in self.optimizer.param_groups:
            group |= {"fused": fused, "foreach": False}
        self.model = compiled(model) if compile else model
        context = partial(torch.autocast, "cpu", torch.bfloat16) if narrow else nullcontext
        self.gradients = partial(gradients, context=context)
        self.done = 0

    def steps(self, count: int) -> float:
        r"""Milliseconds a step, of so many more."""
        start, self.done = self.done, self.done + count
        begin = time.perf_counter()
        train(
            *(self.model, self.batches.at, [self.optimizer], 10**9),
            start=start,
            gradients=self.gradients,
            after_step=lambda step, loss: step == self.done,
        )
        return 1000 * (time.perf_counter() - begin) / count


def measure(runner: Runner) -> Report:
    r"""Let all variants take turns."""
    variants = {name: Variant(*one) for name, one in VARIANTS.items()}
    for name, one in variants.items():
        print(f"{name}: first steps {one.steps(3):.1f} ms", flush=True)
    times: dict[str, list[float]] = {name: [] for name in variants}
    for round in range(ROUNDS):
        names = list(variants)
        for name in names[round % len(names) :] + names[: round % len(names)]:
            times[name].append(variants[name].steps(STEPS))

    # Each round on its own: a busy moment is in both numbers of a ratio.
    rows, before = [], None
    for name, found in times.items():
        saved = (
            statistics.median(1 - a / b for a, b in zip(found, times[before], strict=True))
            if before
            else None
        )
        middle = statistics.median(found)
        rows.append(
            {
                "measure": name,
                "milliseconds": middle,
                "tokens": round_to(1000 * SEQ_LEN * BATCH_SIZE / middle),
                "saved": "–" if saved is None else f"{saved:.0%}",
            }
        )
        before = name
    return {
        "tables": {
            "steps": {
                "columns": [
                    column("measure", "With everything above, and"),
                    column("milliseconds", "A step", 1, "ms"),
                    column("tokens", "Tokens a second"),
                    column("saved", "Saved of the step above"),
                ],
                "rows": rows,
            }
        },
    }


def round_to(value: float) -> int:
    r"""Two digits are all that such a measurement has."""
    return int(float(f"{value:.2g}"))


EXPERIMENT = Experiment(
    title="A training step of the classic transformer, with one measure after the other",
    measure=measure,
    small={"ROUNDS": 2, "STEPS": 2},
    threads=None,
)

r"""What the tests of training train: a text without files, and models of two layers."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from labml_nn.training.engine import trainer as page
from labml_nn.training.engine.config import TrainConfig
from labml_nn.training.engine.trainer import Trainer, run_steps

TEXT = "the quick brown fox jumps over the lazy dog\n" * 50

N_VOCAB, D_MODEL = 5, 11
CONFIG = TrainConfig(
    steps=12,
    batch_size=3,
    seq_len=7,
    device="cpu",
    precision="float32",
    record_every=4,
    evaluate_every=6,
)

Points = list[tuple[int, dict[str, float]]]


def make_model(dropout_prob: float = 0.0, d_model: int = D_MODEL) -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Embedding(N_VOCAB, d_model),
        nn.LayerNorm(d_model),
        nn.Dropout(dropout_prob),
        nn.Linear(d_model, N_VOCAB),
    )


def make_text(length: int) -> Tensor:
    return torch.randint(N_VOCAB, (length,), generator=torch.Generator().manual_seed(2))


def make_trainer(dropout_prob: float = 0.0, **changes: Any) -> Trainer:
    config = replace(CONFIG, **changes)
    return Trainer(make_model(dropout_prob), make_text(997), make_text(101), config)


@contextmanager
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    r"""Trainers that are made here record a graph: the tape of its page."""
    decide = page.decide

    def decided(config: TrainConfig) -> tuple[TrainConfig, torch.device, torch.dtype]:
        config, *others = decide(config)
        return (replace(config, cuda_graph=True), *others)

    with monkeypatch.context() as changed:
        changed.setattr(page, "decide", decided)
        yield


def run(trainer: Trainer, until: int | None = None) -> Points:
    r"""What is recorded up to a step, without what the clock decides."""
    points: Points = []
    run_steps(
        trainer,
        lambda step, values: points.append((step, values)),
        should_stop=lambda: trainer.step == until,
    )
    for _, values in points:
        assert values.pop("tokens_per_second") > 0
    return points


def losses(trainer: Trainer, until: int) -> list[float]:
    found: list[float] = []
    run_steps(
        trainer,
        lambda step, values: None,
        should_stop=lambda: trainer.step == until,
        progress=lambda: found.append(trainer.losses[-1].item()),
    )
    return found

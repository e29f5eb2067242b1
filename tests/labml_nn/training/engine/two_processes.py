r"""What two processes do at once, for test_distributed.py: `torchrun two_processes.py FOLDER`.

Each writes what it saw to “rank-0.json” and “rank-1.json”.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from labml_nn.optimizers.muon import Muon
from labml_nn.training.checkpoint import load_checkpoint, restore, save_checkpoint
from labml_nn.training.data import InputError, prepare
from labml_nn.training.distributed import any_of, from_first, joined, place
from labml_nn.training.loop import TrainConfig, Trainer, evaluate
from labml_nn.transformers.basic.autoregressive_experiment import Config, make_trainer

TEXT = "the quick brown fox jumps over the lazy dog\n" * 50

CONFIG = Config(
    steps=6,
    batch_size=12,
    seq_len=7,
    device="cpu",
    precision="float32",
    d_model=10,
    heads=2,
    n_layers=2,
    d_ff=22,
)
HALF = CONFIG.steps // 2


def losses(trainer: Trainer, until: int = CONFIG.steps) -> list[float]:
    return [trainer.train_step().item() for _ in range(trainer.step, until)]


def half_and_half(config: Config, path: Path) -> list[float]:
    r"""All losses; what was known after half of the steps goes to `path`."""
    trainer, _ = make_trainer(config, TEXT)
    first = losses(trainer, HALF)
    save_checkpoint(path, trainer, about={})
    return first + losses(trainer) + [evaluate(trainer.model, trainer.validation, config.seq_len)]


def second_half(config: Config, path: Path) -> list[float]:
    r"""The losses of a trainer that goes on from `path`."""
    trainer, _ = make_trainer(config, TEXT)
    restore(trainer, load_checkpoint(path), path)
    return losses(trainer) + [evaluate(trainer.model, trainer.validation, config.seq_len)]


def muon(model: nn.Module, config: TrainConfig) -> list[torch.optim.Optimizer]:
    r"""Muon for the matrices of the layers, and AdamW for the rest."""
    matrices = [p for p in model.encoder.layers.parameters() if p.dim() == 2]
    chosen = {id(matrix) for matrix in matrices}
    rest = [p for p in model.parameters() if id(p) not in chosen]
    return [Muon(matrices, dtype=torch.float32), torch.optim.AdamW(rest, lr=1e-2)]


def with_muon(config: Config) -> list[float]:
    made, _ = make_trainer(replace(config, sharded=False), TEXT)
    # Trained anew, with other optimizers.
    plain = made.model
    _, train, validation = prepare(TEXT, config.seq_len)
    return losses(Trainer(plain, train, validation, config, muon))


def chance_after_restoring(path: Path) -> list[float]:
    r"""A number that is drawn after a checkpoint, and again after going back to it."""
    trainer, _ = make_trainer(CONFIG, TEXT)
    save_checkpoint(path, trainer, about={})
    any_of(False)
    drawn = torch.rand(1).item()
    restore(trainer, load_checkpoint(path), path)
    return [drawn, torch.rand(1).item()]


def refused(make: Callable[[], Any]) -> str:
    try:
        make()
    except InputError as error:
        return str(error)
    return ""


def main(folder: Path) -> None:
    with joined():
        rank, size = place()
        shards = replace(CONFIG, sharded=True)
        seen = {
            "place": [rank, size],
            "plain": half_and_half(CONFIG, folder / "two.json"),
            "parts": half_and_half(replace(CONFIG, micro_batches=3), folder / "parts.json"),
            "shards": half_and_half(shards, folder / "shards.json"),
            "sharded parts": half_and_half(replace(shards, micro_batches=2), folder / "sp.json"),
            "plain from one": second_half(CONFIG, folder / "one.json"),
            "shards from one": second_half(shards, folder / "one.json"),
            "muon in shards": with_muon(shards),
            "any": [any_of(rank == 1), any_of(False)],
            "first": from_first(lambda: f"from {rank}"),
            "chance": chance_after_restoring(folder / "chance.json"),
            "refused": refused(lambda: make_trainer(replace(CONFIG, batch_size=9), TEXT)),
        }
        trainer, _ = make_trainer(shards, TEXT)
        parameters = list(trainer.model.parameters())
        seen["numbers"] = sum(p.numel() for p in parameters)
        seen["own numbers"] = sum(p.to_local().numel() for p in parameters)
    (folder / f"rank-{rank}.json").write_text(json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

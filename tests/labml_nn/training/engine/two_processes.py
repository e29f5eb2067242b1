r"""What two processes do at once, for test_distributed.py."""

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from labml_nn.optimizers.muon import Muon
from labml_nn.training.engine import command_line
from labml_nn.training.engine.checkpoint import load_checkpoint, restore, save_checkpoint
from labml_nn.training.engine.config import TrainConfig
from labml_nn.training.engine.errors import InputError, error_prefix
from labml_nn.training.engine.presets import PRESETS, ClassicConfig
from labml_nn.training.engine.processes import any_rank, broadcast, process_group, rank, world_size
from labml_nn.training.engine.text import prepare_text
from labml_nn.training.engine.trainer import Trainer
from labml_nn.training.loop import evaluate
from tests.labml_nn.training.engine.models import TEXT, losses

SIZES = {"seq_len": 7, "d_model": 10, "heads": 2, "n_layers": 2, "d_ff": 22}
CONFIG = ClassicConfig(steps=6, batch_size=12, device="cpu", precision="float32", **SIZES)
HALF = CONFIG.steps // 2


def make_trainer(config: ClassicConfig) -> Trainer:
    return PRESETS["classic"].make_trainer(config, prepare_text(TEXT, config.seq_len))


def rest(trainer: Trainer) -> list[float]:
    found = losses(trainer, CONFIG.steps)
    return [*found, evaluate(trainer.model, trainer.validation, CONFIG.seq_len)]


def half_and_half(config: ClassicConfig, folder: Path) -> list[float]:
    r"""All losses; a checkpoint of the middle goes to `folder`."""
    trainer = make_trainer(config)
    first = losses(trainer, HALF)
    save_checkpoint(folder, trainer, about={})
    return first + rest(trainer)


def second_half(config: ClassicConfig, folder: Path) -> list[float]:
    trainer = make_trainer(config)
    (path,) = folder.glob("*.pt")
    restore(trainer, load_checkpoint(path), path)
    return rest(trainer)


def muon(model: nn.Module, config: TrainConfig) -> list[torch.optim.Optimizer]:
    matrices = [p for p in model.encoder.layers.parameters() if p.dim() == 2]
    chosen = {id(matrix) for matrix in matrices}
    others = [p for p in model.parameters() if id(p) not in chosen]
    return [Muon(matrices, dtype=torch.float32), torch.optim.AdamW(others, lr=1e-2)]


def with_muon(config: ClassicConfig) -> list[float]:
    text = prepare_text(TEXT, config.seq_len)
    return rest(replace(PRESETS["classic"], optimizers=muon).make_trainer(config, text))


def random_after_restoring(folder: Path) -> list[float]:
    r"""A number that is drawn after a checkpoint, and again after going back to it."""
    trainer = make_trainer(CONFIG)
    save_checkpoint(folder, trainer, about={})
    any_rank(False)
    drawn = torch.rand(1).item()
    (path,) = folder.glob("*.pt")
    restore(trainer, load_checkpoint(path), path)
    return [drawn, torch.rand(1).item()]


def main(folder: Path, environment: dict[str, str]) -> None:
    r"""What one of them saw goes to “rank-0.json” or “rank-1.json”."""
    os.environ.update(environment)
    with process_group():
        with pytest.raises(InputError) as refused:
            make_trainer(replace(CONFIG, batch_size=9))
        sharded = replace(CONFIG, sharded=True)
        seen: dict[str, Any] = {
            "place": [rank(), world_size()],
            "plain from one": second_half(CONFIG, folder / "one"),
            "sharded from one": second_half(sharded, folder / "one"),
            "muon sharded": with_muon(sharded),
            "any": [any_rank(rank() == 1), any_rank(False)],
            "first": broadcast(lambda: f"from {rank()}"),
            "random": random_after_restoring(folder / "random"),
            "error prefix": error_prefix(),
            "refused": str(refused.value),
        }
        kinds = {"plain": CONFIG, "parts": replace(CONFIG, micro_batches=3)}
        kinds |= {"sharded": sharded, "sharded parts": replace(sharded, micro_batches=2)}
        seen |= {name: half_and_half(config, folder / name) for name, config in kinds.items()}
        parameters = list(make_trainer(sharded).model.parameters())
        seen["numbers"] = sum(p.numel() for p in parameters)
        seen["own numbers"] = sum(p.to_local().numel() for p in parameters)
    (folder / f"rank-{seen['place'][0]}.json").write_text(json.dumps(seen))


def dies(trainer: Trainer, step: int) -> tuple[Tensor, Tensor]:
    r"""As `Trainer.batch_at`, but at step 50 the second process is killed."""
    if step == 50 and rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return batch_at(trainer, step)


# For torchrun: the training command.
if __name__ == "__main__":
    batch_at, Trainer.batch_at = Trainer.batch_at, dies
    sys.exit(command_line.main())

r"""
---
title: Checkpoints
summary: A resumed run continues with the same bits, and damaged checkpoints are refused.
---

A checkpoint holds the weights and everything else that the next step depends on: the state of the
optimizers, the number of the step, the random states, and the losses that are not recorded yet.
On a CPU, a run that was stopped at any moment and resumed ends with the same bits as one that
never stopped. What isn't saved is the batch: it depends on the seed and the step alone.

The file is one of `torch.save`. Python's *pickle*, which it is made of, can run any code when it is
read, so it is only ever read with `weights_only=True`, which allows tensors, numbers, texts and
containers, and nothing else.

The name of a file ends with the start of its own SHA-256. So a damaged file is recognised, and
renaming the complete file into place is the only step that can be interrupted.

The states of model and optimizers come from PyTorch's `torch.distributed.checkpoint`. It names
the state of each weight by the name of the weight, and gives the same result for a plain model, a
[data parallel](distributed.py) one and a [sharded](sharded.py) one. So a checkpoint of one kind
can be loaded by another.
"""

import hashlib
import io
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)

from labml_nn.training.engine.config import TrainConfig
from labml_nn.training.engine.distributed import rank, rng_states, set_rng_states
from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.files import replacing
from labml_nn.training.engine.trainer import Trainer

FORMAT = "labml_nn checkpoint 5"


def state_of(trainer: Trainer) -> dict[str, Any]:
    r"""
    ## What the next step depends on

    All ranks must ask for it, and rank 0 gets it.
    """
    # Shards are gathered into whole tensors, in main memory.
    whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
    return {
        "step": trainer.step,
        "seconds": trainer.seconds,
        "best": trainer.best,
        "model": get_model_state_dict(trainer.model, options=whole),
        # One at a time, so that each keeps its own groups.
        "optimizers": [
            get_optimizer_state_dict(trainer.model, optimizer, options=whole)
            for optimizer in trainer.optimizers
        ],
        "scaler": trainer.scaler.state_dict(),
        # Since the last record.
        "losses": [loss.item() for loss in trainer.losses],
        "interval": trainer.interval,
        # For dropout, on the CPU and on a GPU.
        "random": rng_states(),
    }


def save_checkpoint(folder: Path, trainer: Trainer, about: dict[str, Any]) -> Path:
    r"""
    ## Save

    * `folder` is where the file goes
    * `about` is what a program needs to make the same model again, in numbers and texts

    If the file can't be written, everything there stays as it was. All ranks call this, and rank 0
    writes.
    """
    state = state_of(trainer)
    if rank():
        return folder
    buffer = io.BytesIO()
    torch.save({"format": FORMAT, "about": about, **state}, buffer)
    content = buffer.getvalue()
    path = folder / f"step-{trainer.step:06}-{checksum(content)}.pt"
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    return path


def checksum(content: bytes) -> str:
    r"""
    ### The end of a name
    """
    return hashlib.sha256(content).hexdigest()[:16]


def load_checkpoint(path: Path) -> dict[str, Any]:
    r"""
    ## Load

    The result holds what was given as `about`, and the state. A file that isn't as it was saved is
    an `InputError`.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    if not path.stem.endswith(checksum(content)):
        raise InputError(f"{path} is damaged, or was altered after it was saved")
    try:
        document = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    # PyTorch fails in many ways on a file that isn't its own.
    except Exception as error:
        raise InputError(f"{path} is not a checkpoint") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(f"{path} was not saved by this version of the program")
    return document


def restore(trainer: Trainer, state: dict[str, Any], path: Path) -> None:
    r"""
    ## Restore

    If the weights in `state` don't fit the model, an `InputError` names `path` and the first
    weight that differs, and nothing is changed.
    """
    # Everything is compared before anything is loaded.
    here = {name: list(value.shape) for name, value in trainer.model.state_dict().items()}
    there = {name: list(value.shape) for name, value in state["model"].items()}
    for name in here | there:
        if here.get(name) != there.get(name):
            raise InputError(
                f"{path} holds a model of another shape: {name} is {there.get(name, 'missing')} "
                f"there and {here.get(name, 'missing')} here; use the sizes it was trained with"
            )

    # Each rank gets whole tensors, and keeps its shards of them.
    whole = StateDictOptions(full_state_dict=True)
    set_model_state_dict(trainer.model, state["model"], options=whole)
    for optimizer, one in zip(trainer.optimizers, state["optimizers"], strict=True):
        set_optimizer_state_dict(trainer.model, optimizer, one, options=whole)

    trainer.scaler.load_state_dict(state["scaler"])
    trainer.step, trainer.best = state["step"], state["best"]
    trainer.seconds, trainer.interval = state["seconds"], state["interval"]
    trainer.losses = [torch.tensor(loss, device=trainer.device) for loss in state["losses"]]
    set_rng_states(state["random"])


def example(batch_size: int = 3, n_vocab: int = 5, seq_len: int = 7) -> dict[str, torch.Tensor]:
    r"""
    ## Example

    A step, a checkpoint, and a second trainer that goes on from it.
    """
    tokens = torch.arange(10 * n_vocab * seq_len) % n_vocab
    config = TrainConfig(
        steps=2, batch_size=batch_size, seq_len=seq_len, device="cpu", precision="float32"
    )
    first = Trainer(nn.Embedding(n_vocab, n_vocab), tokens, tokens, config)
    first.run(lambda step, values: None, should_stop=lambda: True)

    second = Trainer(nn.Embedding(n_vocab, n_vocab), tokens, tokens, config)
    with TemporaryDirectory() as folder:
        path = save_checkpoint(Path(folder), first, about={})
        restore(second, load_checkpoint(path), path)
    second.run(lambda step, values: None)
    return second.model.state_dict()

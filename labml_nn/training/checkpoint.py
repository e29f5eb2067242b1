r"""
---
title: Checkpoints
summary: Save a run so that it continues exactly where it was, and refuse what doesn't fit.
---

A checkpoint holds the weights and everything else that the next step depends on: the
optimizers' averages, the number of the step, and the states of the random generators. On a
CPU, a run that was stopped and continued ends with the same bits as one that never stopped.

It is read with PyTorch's `weights_only`, which makes tensors, numbers and strings of
what it finds and runs no code. A checkpoint from a stranger may be wrong, but it does no
harm.
"""

from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import nn

from labml_nn.training.data import InputError
from labml_nn.training.files import replacing
from labml_nn.training.loop import TrainConfig, Trainer

FORMAT = "annotated-transformers 2"


def save_checkpoint(path: Path, trainer: Trainer, about: dict[str, Any]) -> None:
    r"""
    ## Save

    `about` is what a program needs to make the same model again, in numbers and strings.
    If the file can't be written, one that was there before stays.
    """
    state = {
        "format": FORMAT,
        "about": about,
        "step": trainer.step,
        "seconds": trainer.seconds,
        "model": trainer.model.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in trainer.optimizers],
        "scaler": trainer.scaler.state_dict(),
    }

    # Chance has two sources, dropout on the CPU and on a card: which batch comes is decided
    # by the seed and the step.
    state["cpu"] = torch.get_rng_state()
    if trainer.device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(trainer.device)

    # Through memory, because PyTorch doesn't say why it could not write a file.
    buffer = BytesIO()
    torch.save(state, buffer)
    with replacing(path) as temporary:
        temporary.write_bytes(buffer.getbuffer())


def load_checkpoint(path: Path) -> dict[str, Any]:
    r"""
    ## Load

    A file that isn't a whole checkpoint is an `InputError`.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error

    # Damaged bytes make PyTorch fail in many ways, none of which says more than this.
    try:
        state = torch.load(BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as error:
        raise InputError(f"{path} is not a checkpoint, or it is damaged") from error
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise InputError(f"{path} is not a checkpoint that this program saved")
    return state


def restore(trainer: Trainer, state: dict[str, Any], path: Path) -> None:
    r"""
    ## Continue

    If the weights in `state` don't fit the model, an `InputError` names `path` and the first
    weight that differs, and nothing is changed.
    """
    # All is compared before anything is loaded.
    here = {name: list(value.shape) for name, value in trainer.model.state_dict().items()}
    there = {name: list(value.shape) for name, value in state["model"].items()}
    for name in here | there:
        if here.get(name) != there.get(name):
            raise InputError(
                f"{path} holds a model of another shape: {name} is {there.get(name, 'missing')} "
                f"there and {here.get(name, 'missing')} here; use the sizes it was trained with"
            )

    trainer.model.load_state_dict(state["model"])
    for optimizer, kept in zip(trainer.optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(kept)
    trainer.scaler.load_state_dict(state["scaler"])
    trainer.step = state["step"]
    trainer.seconds = state["seconds"]

    torch.set_rng_state(state["cpu"])
    if trainer.device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], trainer.device)


def example(batch_size: int = 3, n_vocab: int = 5, seq_len: int = 7) -> torch.Tensor:
    r"""
    ## Example

    A step, a checkpoint, and a second trainer that goes on from it.
    """
    tokens = torch.arange(10 * n_vocab * seq_len) % n_vocab
    config = TrainConfig(steps=2, batch_size=batch_size, seq_len=seq_len, device="cpu")
    first = Trainer(nn.Embedding(n_vocab, n_vocab), tokens, tokens, config)
    first.train_step()

    second = Trainer(nn.Embedding(n_vocab, n_vocab), tokens, tokens, config)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint.pt"
        save_checkpoint(path, first, about={})
        restore(second, load_checkpoint(path), path)
    return second.train_step()

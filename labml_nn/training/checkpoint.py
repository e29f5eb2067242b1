r"""
---
title: Checkpoints
summary: A run continues with the same bits, and what is damaged or doesn't fit is refused.
---

A checkpoint holds the weights and everything else that the next step depends on: what the
optimizers remember, the number of the step, the state of the random generator, and the losses
that are not recorded yet. On a CPU, a run that was stopped at any moment and continued ends with
the same bits as one that never stopped.

It is two files. “step-000500-1f0c9a2b.safetensors” holds the tensors and cannot hold anything
else: [safetensors](https://github.com/huggingface/safetensors) is a table of names and shapes, and
then the numbers. “step-000500.json” holds [the rest](state.py), names the first file, and has the
checksums of both. So nothing here can run code, whoever made it, and no bit changes unseen.

The tensors are written first, under a name that no other file has, and the text last, in
[one step](files.py). Whenever the program dies, each text that can be found is that of a whole
checkpoint.

Other sources of chance than PyTorch's are not saved, because nothing here draws from them.
"""

import hashlib
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import nn

from labml_nn.training.data import InputError
from labml_nn.training.distributed import chance_of_all, continue_chance, is_first
from labml_nn.training.files import replacing
from labml_nn.training.loop import TrainConfig, Trainer
from labml_nn.training.sharded import load_states, states
from labml_nn.training.state import pack, unpack

FORMAT = "annotated-transformers 4"


def state_of(trainer: Trainer) -> dict[str, Any]:
    r"""
    ## What the next step depends on
    """
    model, optimizers = states(trainer.model, trainer.optimizers)
    return {
        "step": trainer.step,
        "seconds": trainer.seconds,
        "best": trainer.best,
        "model": model,
        "optimizers": optimizers,
        "scaler": trainer.scaler.state_dict(),
        "losses": trainer.losses,
        "interval": trainer.interval,
        # Chance has two sources, dropout on the CPU and on a card: which batch comes is decided by
        # the seed and the step.
        "random": chance_of_all(),
    }


def checksum(document: dict[str, Any]) -> str:
    r"""
    ## A fingerprint of a text

    Of all of it but the fingerprint itself.
    """
    rest = {key: value for key, value in document.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def save_checkpoint(path: Path, trainer: Trainer, about: dict[str, Any]) -> None:
    r"""
    ## Save

    * `path` is that of the text, “….json”; the tensors go beside it
    * `about` is what a program needs to make the same model again, in numbers and strings

    If something can't be written, what was there before stays. Of [several
    processes](distributed.py) all come here, and the first one writes.
    """
    whole = state_of(trainer)
    if not is_first():
        return
    tensors: dict[str, torch.Tensor] = {}
    state = {name: pack(value, name, tensors) for name, value in whole.items()}
    content = safetensors().save(tensors)
    digest = hashlib.sha256(content).hexdigest()

    # The name depends on the content, so an older text never meets newer tensors.
    beside = path.with_name(f"{path.stem}-{digest[:8]}.safetensors")
    with replacing(beside) as temporary:
        temporary.write_bytes(content)
    document = {
        "format": FORMAT,
        "about": about,
        "tensors": beside.name,
        "tensors_checksum": digest,
        "state": state,
    }
    document["checksum"] = checksum(document)
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(document, indent=1), encoding="utf-8")


def safetensors() -> Any:
    r"""
    ### The package, or a sentence
    """
    try:
        import safetensors.torch
    except ImportError:
        raise InputError(
            "checkpoints need the package safetensors: python -m pip install safetensors"
        ) from None
    return safetensors.torch


def read_document(path: Path) -> dict[str, Any]:
    r"""
    ## Read the text

    One that isn't whole, and just as it was written, is an `InputError`.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    try:
        document = json.loads(content)
    except ValueError:
        document = None
    if not isinstance(document, dict) or not str(document.get("format")).startswith(FORMAT[:-1]):
        raise InputError(f"{path} is not a checkpoint, or it is damaged")
    if document["format"] != FORMAT:
        raise InputError(f"{path} was saved by another version of this program")
    if document.get("checksum") != checksum(document):
        raise InputError(f"{path} was altered after it was saved")
    return document


def load_checkpoint(path: Path) -> dict[str, Any]:
    r"""
    ## Load

    The result has what was given as `about`, and the state.
    """
    document = read_document(path)
    beside = path.with_name(Path(document["tensors"]).name)
    try:
        content = beside.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {beside}: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != document["tensors_checksum"]:
        raise InputError(f"{beside} was altered after it was saved, or is not whole")

    # Copies: tensors that begin at odd addresses may be computed with in another order. And by
    # name: the library hands them out in another order each time.
    tensors = {name: one.clone() for name, one in sorted(safetensors().load(content).items())}
    state = {name: unpack(one, tensors) for name, one in document["state"].items()}
    return {"about": document["about"], **state}


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

    load_states(trainer.model, trainer.optimizers, state["model"], state["optimizers"])
    trainer.scaler.load_state_dict(state["scaler"])
    trainer.step, trainer.best = state["step"], state["best"]
    trainer.seconds, trainer.interval = state["seconds"], state["interval"]
    trainer.losses = [loss.to(trainer.device) for loss in state["losses"]]
    continue_chance(state["random"])


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
        path = Path(folder) / "step-000001.json"
        save_checkpoint(path, first, about={})
        restore(second, load_checkpoint(path), path)
    return second.train_step()

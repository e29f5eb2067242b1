r"""
---
title: Checkpoints
summary: All that the next step depends on, in a file that shows its damage.
---

Save the weights, load them later, go on training. Nothing seems wrong, and the run ends somewhere
else. We tried it once with a small model, halfway through 1,000 steps, and recorded nothing. With a
new AdamW the loss was a little higher for some twenty steps. With a new warm-up as well, it was a
little *lower* at first, and then higher. The loss of one batch differed from that of the next by
more than that, so no curve showed it.

The weights are not all that a step depends on. **In:** a trainer. **Out:** a file with everything
its next step depends on:

* the weights, and the state of the optimizers: without its averages AdamW moves each weight by the
  whole learning rate in its first step, much farther than usual
* the number of the step, which the learning rate and the batch come from
* the random states, for dropout
* the scale of [mixed precision](mixed_precision.py)
* the losses that are not recorded yet

On a CPU, a run that was stopped at any moment and resumed ends with the same bits as one that
never stopped. What isn't saved is the batch: it depends on the seed and the step alone.
"""

import hashlib
import io
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import nn
from torch.distributed.checkpoint import state_dict

from labml_nn.training.engine.config import TrainConfig
from labml_nn.training.engine.distributed import rng_states, set_rng_states
from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.files import replacing
from labml_nn.training.engine.processes import rank
from labml_nn.training.engine.trainer import Trainer, run_steps

# Whenever the content changes its form, the number goes up. Guessing what an old file means would
# be worse than refusing it.
FORMAT = "labml_nn checkpoint 5"


def state_of(trainer: Trainer) -> dict[str, Any]:
    r"""
    ## What the next step depends on

    The states of model and optimizers come from PyTorch's `torch.distributed.checkpoint`. It names
    the state of each weight by the name of the weight, and gives the same result for a plain model,
    a [data parallel](distributed.py#data_parallel) one and a [sharded](distributed.py#shard) one.
    So a checkpoint of one kind can be loaded by another. All ranks must ask for the state, and rank
    0 gets it.
    """
    # Shards are gathered into whole tensors, in main memory: one GPU might not hold them.
    whole = state_dict.StateDictOptions(full_state_dict=True, cpu_offload=True)
    model = trainer.model
    return {
        # The learning rate and the batch depend on it.
        "step": trainer.step,
        # So that speed and best loss are those of the whole run, not of its last part.
        "seconds": trainer.seconds,
        "best": trainer.best,
        # Each weight by its name, whatever wrappers the model has.
        "model": state_dict.get_model_state_dict(model, options=whole),
        # One at a time, so that each keeps its own groups.
        "optimizers": [
            state_dict.get_optimizer_state_dict(model, optimizer, options=whole)
            for optimizer in trainer.optimizers
        ],
        # Empty but for float16.
        "scaler": trainer.mixed.scaler.state_dict(),
        # Since the last record. Reading them as numbers waits for the GPU, once in a checkpoint.
        "losses": [loss.item() for loss in trainer.losses],
        "interval": trainer.interval,
        # For dropout, on the CPU and on a GPU.
        "random": rng_states(),
    }


def restore(trainer: Trainer, state: dict[str, Any], path: Path) -> None:
    r"""
    ### Restore it

    If the weights in `state` don't fit the model, an `InputError` names `path` and the first
    weight that differs, and nothing is changed.
    """
    # Everything is compared before anything is loaded: half a model would be worse than none.
    here = {name: list(value.shape) for name, value in trainer.model.state_dict().items()}
    there = {name: list(value.shape) for name, value in state["model"].items()}

    # A weight that only one of the two has is a difference, too.
    for name in here | there:
        if here.get(name) != there.get(name):
            raise InputError(
                f"{path} holds a model of another shape: {name} is {there.get(name, 'missing')} "
                f"there and {here.get(name, 'missing')} here; use the sizes it was trained with"
            )

    # Each rank gets whole tensors, and keeps its shards of them.
    whole = state_dict.StateDictOptions(full_state_dict=True)
    state_dict.set_model_state_dict(trainer.model, state["model"], options=whole)
    for optimizer, one in zip(trainer.optimizers, state["optimizers"], strict=True):
        made = optimizer.param_groups
        state_dict.set_optimizer_state_dict(trainer.model, optimizer, one, options=whole)

        # PyTorch 2.4 loses the settings of a group that has no weights, as that of the vectors in a
        # model of matrices; then the group keeps those it was made with.
        groups = zip(made, optimizer.param_groups, strict=True)
        optimizer.param_groups = [before | loaded for before, loaded in groups]

    # A scale that begins anew could overflow, and each overflow is a step that is skipped.
    trainer.mixed.scaler.load_state_dict(state["scaler"])

    # How far the run had come. A step that begins at zero again would begin with the warm-up again.
    trainer.step = state["step"]
    trainer.best = state["best"]
    trainer.seconds = state["seconds"]
    trainer.interval = state["interval"]

    # On the device, like those that will follow.
    trainer.losses = [torch.tensor(loss, device=trainer.device) for loss in state["losses"]]

    # Last: loading draws no random numbers today, and tomorrow it might.
    set_rng_states(state["random"])


def write_checkpoint(folder: Path, name: str, document: dict[str, Any]) -> Path:
    r"""
    ## The file

    A file of weights can be bad in two ways. It may be *damaged*: the disk was full, a copy broke
    off, a bit flipped. One wrong bit in a weight is no error to anybody; the run goes on from a
    model that never was. Or it may be *hostile*: `torch.save` uses Python's *pickle*, and a pickle
    can run any code when it is read.

    So the name of the file, “`name`-checksum.pt” in `folder`, ends with the start of its own
    SHA-256, and what is [loaded](checkpoint.py#load_checkpoint) is tensors, numbers, texts and
    containers, or an [`InputError`](errors.py#InputError). If the file can't be written, everything
    there stays as it was.
    """
    # First into memory: the name needs the checksum of the whole content.
    buffer = io.BytesIO()
    torch.save({"format": FORMAT, **document}, buffer)

    # The checksum is that of the very bytes that are written.
    content = buffer.getvalue()

    # Written beside, then renamed. Renaming is one step of the file system: an interrupt comes
    # before it or after it, and never leaves half a checkpoint under that name.
    path = folder / f"{name}-{checksum(content)}.pt"
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    return path


def checksum(content: bytes) -> str:
    r"""
    ### The end of a name
    """
    # 16 of 64 digits: damage goes unnoticed once in $10^{19}$ times.
    return hashlib.sha256(content).hexdigest()[:16]


def load_checkpoint(path: Path) -> dict[str, Any]:
    r"""
    ### Load

    What `write_checkpoint` was given.

    Take files of strangers only with a new PyTorch. Two holes in `weights_only` let a file run code
    all the same: [CVE-2025-32434](https://github.com/advisories/GHSA-53q9-r3pm-6pq6), closed in
    PyTorch 2.6, and [CVE-2026-24747](https://nvd.nist.gov/vuln/detail/CVE-2026-24747), closed in
    2.10. A file of [safetensors](../trained.py#read) has no code to run.
    """
    # The checksum comes first: whatever is read after it is what was written.
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error

    # Half a file, an empty one, one with a bit flipped: each has another checksum.
    if not path.stem.endswith(checksum(content)):
        raise InputError(f"{path} is damaged, or was altered after it was saved")

    # A stranger can give a hostile file the right name. With `weights_only`, the pickle may call a
    # short list of functions, which make tensors and containers. PyTorch fails in many ways on a
    # file that isn't its own.
    try:
        # All that `state_of` saves is on the CPU already. A file of others may name a GPU.
        document = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as error:
        raise InputError(f"{path} is not a checkpoint") from error

    # A file of PyTorch, and still none of this program, or of another version.
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(f"{path} was not saved by this version of the program")
    return document


def save_checkpoint(folder: Path, trainer: Trainer, about: dict[str, Any]) -> Path:
    r"""
    ### Save a trainer

    * `folder` is where the file goes
    * `about` is what a program needs to make the same model again, in numbers and texts
    """
    # All ranks call this, because each has shards to give. Rank 0 writes.
    state = state_of(trainer)
    if rank():
        return folder

    # With zeros, so that names sort as steps do. With what it is about, the file is enough to make
    # the model elsewhere.
    return write_checkpoint(folder, f"step-{trainer.step:06}", {"about": about, **state})


def example(batch_size: int = 3, n_vocab: int = 5, seq_len: int = 7) -> dict[str, torch.Tensor]:
    r"""
    ## Example

    A step, a checkpoint, and a second trainer that goes on from it.

    ### Exercises

    ??? question "Leave out the random states. Which runs no longer end with the same bits?"
        Those with dropout. Batches don't need them, nor do samples, which have a generator of
        their own.

    ??? question "A model has a buffer that it changes in each step. Is it saved?"
        Yes, if it is registered as persistent: then `state_dict` has it. A plain attribute is lost.

    ??? question "Ten million parameters, AdamW, all in `float32`. How large is the file?"
        About 120 MB: 4 bytes for each weight, and 8 for its two averages. Gradients aren't saved.
    """
    # An alphabet over and over. Two steps are too few to learn it: what counts here is that the
    # second step goes on where the first one ended.
    tokens = torch.arange(10 * n_vocab * seq_len) % n_vocab
    config = TrainConfig(steps=2, batch_size=batch_size, seq_len=seq_len, device="cpu")

    # Stopped after the first of two steps.
    first = Trainer(nn.Embedding(n_vocab, n_vocab), tokens, tokens, config)
    run_steps(first, lambda step, values: None, should_stop=lambda: True)

    # Another table, until the checkpoint is restored.
    second = Trainer(nn.Embedding(n_vocab, n_vocab), tokens, tokens, config)
    with TemporaryDirectory() as folder:
        # The folder and its file are gone after the block; the state is in memory then.
        path = save_checkpoint(Path(folder), first, about={})
        restore(second, load_checkpoint(path), path)

    # The second step, from the weights that the first one left.
    run_steps(second, lambda step, values: None)
    return second.model.state_dict()

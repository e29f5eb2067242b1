r"""
---
title: Distributed Training
summary: The same loop in several processes, with DistributedDataParallel.
paper:
  title: "PyTorch Distributed: Experiences on Accelerating Data Parallel Training"
  authors: Li et al.
  year: 2020
  link: https://arxiv.org/abs/2006.15704
terms:
  data parallel training: Each process has the whole model and computes a part of the batch.
---

[Several processes](processes.py) train one model. **In:** a model, and the batch of a step.
**Out:** the same step that one process would have made, in less time. Each process holds the whole
model, and a step becomes this:

1. Each process takes its own columns of the batch, and computes their loss and gradients.
2. The gradients are averaged over the processes (*all-reduce*). PyTorch's
   `DistributedDataParallel` does that while the backward pass is still running: the gradients of
   the last layers are sent while those of the first ones are computed.
3. Each process makes the same step with the same gradients, so the models stay equal.

`batch_size` is that of all processes together. Two processes with half a batch each compute, to
rounding, what one process computes with the whole batch. So learning rate and losses stay the same,
and a run may be resumed with another number of processes. Only dropout then draws other numbers.

All processes read the text, evaluate and sample, each for itself. That takes as long as if one
did it, and no process waits for another. Only rank 0 prints, records and saves.

A model that one GPU can't hold needs [sharding](sharded.py).
"""

import os
import warnings
from contextlib import AbstractContextManager, nullcontext

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.processes import rank, world_size


def own_columns(batch: Tensor) -> Tensor:
    r"""
    ## The part of a batch for this rank

    Some columns of `[seq_len, batch_size]`.
    """
    # Each process has drawn the whole batch, from the same seed. That costs next to nothing, and
    # nothing has to be sent.
    return batch.chunk(world_size(), dim=1)[rank()]


def check_batch(batch_size: int, micro_batches: int) -> None:
    r"""
    ### Equal parts
    """
    # Only if all parts have the same size, the mean of their means is the mean of the batch.
    # (1 + 2 + 3) / 3 is 2; the mean of (1 + 2) / 2 and 3 is 2.25.
    if batch_size % (micro_batches * world_size()):
        raise InputError(
            "batch_size must be a multiple of micro_batches times processes, got "
            f"batch_size={batch_size}, micro_batches={micro_batches} and processes={world_size()}"
        )


def data_parallel(model: nn.Module, device: torch.device) -> nn.Module:
    r"""
    ## Data parallel model

    The wrapper has the very parameters of `model` and averages their gradients. All processes
    start with the weights of rank 0.
    """
    # A single process has nobody to average with.
    if world_size() == 1:
        return model

    # NCCL refuses two processes on one GPU, with an error that names no remedy.
    n_gpus = torch.cuda.device_count()
    if device.type == "cuda" and int(os.environ["LOCAL_WORLD_SIZE"]) > n_gpus:
        raise InputError(f"each process needs a GPU of its own, and there are {n_gpus}")

    # By default the buffers of rank 0 are sent before each step. Those of the models here are masks
    # and tables, the same everywhere. The newest PyTorch warns of the argument that says so, and
    # older versions have no other.
    ids = [device.index] if device.type == "cuda" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return DistributedDataParallel(model, device_ids=ids, broadcast_buffers=False)


def no_sync(model: nn.Module, last: bool) -> AbstractContextManager[None]:
    r"""
    ## Average the gradients once a step

    If a batch has several [micro-batches](mixed_precision.py), each process first adds up their
    gradients. `last` says whether this is the last one.
    """
    # A sharded model has a switch.
    if hasattr(model, "set_requires_gradient_sync"):
        model.set_requires_gradient_sync(last)

    # A data parallel one has a context. A sum can be averaged as well as its parts, so sending each
    # part would only take time.
    return model.no_sync() if hasattr(model, "no_sync") and not last else nullcontext()


def seed_rank(seed: int) -> None:
    r"""
    ## A random seed for each rank

    The models start equal, from one seed.
    """
    # From then on the seeds differ. With the same one, dropout would drop the same places in each
    # part of a batch. Rank 0 goes on as a single process would.
    if rank():
        torch.manual_seed(seed + 1_000_003 * rank())


def rng_states() -> list[dict[str, Tensor]]:
    r"""
    ## Random states

    One for each rank, in order. A [checkpoint](checkpoint.py) keeps them.
    """
    # Dropout draws on the device of the model; a CPU and a GPU have one generator each.
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state()

    # Each rank gets those of all.
    if world_size() == 1:
        return [state]
    states: list[dict[str, Tensor]] = [{} for _ in range(world_size())]
    dist.all_gather_object(states, state)
    return states


def set_rng_states(states: list[dict[str, Tensor]]) -> None:
    r"""
    ### Restore them
    """
    # A rank that wasn't there when they were saved keeps [its own](distributed.py#seed_rank).
    if rank() < len(states):
        torch.set_rng_state(states[rank()]["cpu"])

        # A run may also go on without the GPU that it had.
        if "cuda" in states[rank()] and torch.cuda.is_initialized():
            torch.cuda.set_rng_state(states[rank()]["cuda"])


def example(batch_size: int = 3, seq_len: int = 5) -> Tensor:
    r"""
    ## Example

    One process takes all columns.

    ### Exercises

    ??? question "Three processes, `batch_size` 12. How many windows does each compute in a step?"
        Four. The loss of the step is the mean over all twelve.

    ??? question "Each process starts from a seed of its own. Which line saves you?"
        `DistributedDataParallel`, which sends the weights of rank 0 to all. Without it, each
        process would train another model with the averaged gradients of all.

    ??? question "Two processes, `batch_size` 6, two micro-batches. What does `check_batch` do?"
        It raises an error: 6 isn't a multiple of 2 · 2.
    """
    # All columns, because there is one process only.
    check_batch(batch_size, micro_batches=1)
    return own_columns(torch.randn(seq_len, batch_size))

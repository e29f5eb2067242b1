r"""
---
title: Distributed Training
summary: The same loop in several processes, started by torchrun, with DistributedDataParallel.
paper:
  title: "PyTorch Distributed: Experiences on Accelerating Data Parallel Training"
  authors: Li et al.
  year: 2020
  link: https://arxiv.org/abs/2006.15704
---

```sh
torchrun --nproc-per-node=2 -m labml_nn.training.engine --preset classic
```

`torchrun` comes with PyTorch. Here it starts the command twice. Each process learns its *rank*,
which is its number, and the *world size*, the number of processes. Each holds the whole model, and
a step becomes this:

1. Each process takes its own columns of the batch, and computes their loss and gradients.
2. The gradients are averaged over the processes (*all-reduce*). PyTorch's
   `DistributedDataParallel` does that while the backward pass is still running.
3. Each process makes the same step with the same gradients, so the models stay equal.

`batch_size` is that of all processes together. Two processes with half a batch each compute, to
rounding, what one process computes with the whole batch. So learning rate and losses stay the same,
and a run may be resumed with another number of processes. Only dropout then draws other numbers.

All processes read the text, evaluate and sample, each for itself. That takes as long as if one
did it, and no process waits for another. Only rank 0 prints, records and saves.

When one process dies, the others can't go on. They end with a sentence, `torchrun` says which
process failed first, and `--resume` goes on from the last checkpoint.

The backend is gloo for tensors on a CPU and NCCL on GPUs. The tests run two processes with gloo on
one machine. **NCCL and several machines were not tried.** A model that one GPU can't hold needs
[sharding](sharded.py).
"""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from labml_nn.training.engine.errors import InputError

T = TypeVar("T")


def rank() -> int:
    r"""
    ## Rank

    The number of this process, 0 if it is the only one.
    """
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


def world_size() -> int:
    r"""
    ## World size

    The number of processes.
    """
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


@contextmanager
def process_group() -> Iterator[None]:
    r"""
    ## The process group

    Within the block, the processes that `torchrun` started can talk to each other. Without
    `torchrun` nothing happens.
    """
    if not (dist.is_available() and dist.is_torchelastic_launched()):
        yield
        return

    # On GPUs, flags and Python objects still go from CPU to CPU, so that no GPU is waited for.
    local_rank = int(os.environ["LOCAL_RANK"])
    backend = "gloo"
    if torch.cuda.is_available() and local_rank < torch.cuda.device_count():
        torch.cuda.set_device(local_rank)
        backend = "cpu:gloo,cuda:nccl"
    dist.init_process_group(backend)
    with lost_process_error():
        yield

    # Not after a failure: destroying the group waits for processes that are gone.
    dist.destroy_process_group()


@contextmanager
def lost_process_error() -> Iterator[None]:
    r"""
    ### When another process is gone

    Whatever waits for the lost process fails somewhere inside PyTorch. Within the block that
    becomes an `InputError`.
    """
    try:
        yield
    except RuntimeError as error:
        # NCCL has an exception of its own, gloo hasn't.
        is_lost = isinstance(error, dist.DistError) or "gloo" in str(error)
        if world_size() == 1 or not is_lost:
            raise
        raise InputError("another process has ended: go on with --resume") from error


def own_columns(batch: Tensor) -> Tensor:
    r"""
    ## The part of a batch for this rank

    Some columns of `[seq_len, batch_size]`.
    """
    return batch.chunk(world_size(), dim=1)[rank()]


def check_batch(batch_size: int, micro_batches: int) -> None:
    r"""
    ### Equal parts

    Only if all parts have the same size, the mean of their means is the mean of the batch.
    """
    if batch_size % (micro_batches * world_size()):
        raise InputError(
            "batch_size must be a multiple of micro_batches times processes, got "
            f"batch_size={batch_size}, micro_batches={micro_batches} and processes={world_size()}"
        )


def data_parallel(model: nn.Module, device: torch.device) -> nn.Module:
    r"""
    ## Data parallel model

    The wrapper has the very parameters of `model` and averages their gradients. All processes
    start with the weights of rank 0. A single process needs no wrapper.
    """
    if world_size() == 1:
        return model
    n_gpus = torch.cuda.device_count()
    if device.type == "cuda" and int(os.environ["LOCAL_WORLD_SIZE"]) > n_gpus:
        raise InputError(f"each process needs a GPU of its own, and there are {n_gpus}")

    # The buffers of the models here are masks and tables, the same everywhere. The newest PyTorch
    # warns of the argument for that, and older versions have no other.
    ids = [device.index] if device.type == "cuda" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return DistributedDataParallel(model, device_ids=ids, broadcast_buffers=False)


def no_sync(model: nn.Module, last: bool) -> AbstractContextManager[None]:
    r"""
    ## Average the gradients once a step

    If a batch has several micro-batches, each process first adds up their gradients. Only in the
    backward pass of the last one are they averaged.
    """
    if hasattr(model, "set_requires_gradient_sync"):
        model.set_requires_gradient_sync(last)
    return model.no_sync() if hasattr(model, "no_sync") and not last else nullcontext()


def all_reduce_mean(value: Tensor) -> Tensor:
    r"""
    ## Mean over all processes

    So that a loss is that of the whole batch. On a GPU nothing waits for it.
    """
    if world_size() > 1:
        dist.all_reduce(value)
        value /= world_size()
    return value


def any_rank(flag: bool) -> bool:
    r"""
    ## Is it true on any rank?

    Processes must decide together. If one of them stopped alone, the others would wait forever.
    """
    if world_size() == 1:
        return flag
    value = torch.tensor(int(flag))
    dist.all_reduce(value, op=dist.ReduceOp.MAX)
    return bool(value)


def broadcast(make: Callable[[], T]) -> T:
    r"""
    ## Broadcast from rank 0

    `make` is called on rank 0 alone, and all ranks get its result.
    """
    if world_size() == 1:
        return make()
    values = [make() if rank() == 0 else None]
    dist.broadcast_object_list(values)
    return values[0]


def seed_rank(seed: int) -> None:
    r"""
    ## A random seed for each rank

    The models start equal, from one seed. After that, dropout must not be the same in each part
    of a batch. Rank 0 does what a single process would do.
    """
    if rank():
        torch.manual_seed(seed + 1_000_003 * rank())


def rng_states() -> list[dict[str, Tensor]]:
    r"""
    ## Random states

    One for each rank, in order.
    """
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state()
    if world_size() == 1:
        return [state]
    states: list[dict[str, Tensor]] = [{} for _ in range(world_size())]
    dist.all_gather_object(states, state)
    return states


def set_rng_states(states: list[dict[str, Tensor]]) -> None:
    r"""
    ### Restore them

    A rank that wasn't there when they were saved keeps [its own](distributed.py#seed_rank).
    """
    if rank() < len(states):
        torch.set_rng_state(states[rank()]["cpu"])
        if "cuda" in states[rank()] and torch.cuda.is_initialized():
            torch.cuda.set_rng_state(states[rank()]["cuda"])


def example(batch_size: int = 3, seq_len: int = 5) -> Tensor:
    r"""
    ## Example

    One process alone.
    """
    check_batch(batch_size, micro_batches=1)
    x = own_columns(torch.randn(seq_len, batch_size))
    assert not any_rank(False)
    assert broadcast(rank) == 0
    return all_reduce_mean(x.square().mean())

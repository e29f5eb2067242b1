r"""
---
title: Several Processes
summary: What processes that train together have to tell each other, and what happens when one dies.
terms:
  rank: The number of a process among those that train together.
  world size: How many processes train together.
  all-reduce: Each process gives a tensor, and all of them get the sum.
---

```sh
torchrun --nproc-per-node=2 -m labml_nn.training.engine --preset classic
```

A Python program does one thing after another, and one model keeps one GPU busy. To use two GPUs,
start the program twice. Here torchrun does that, which comes with PyTorch. Each process learns its
*rank*, which is its number, and the *world size*, the number of processes. [Distributed
training](distributed.py) is what they do together; this page is how they talk.

**In:** a value that only one process knows, or one from each. **Out:** the same value in all of
them.

Processes wait for each other whenever they talk. If one of them takes another branch, the others
wait until PyTorch gives up, which takes half an hour. So all of them run the same lines, and
whatever only one can know, a signal, a random name, is shared before anybody acts on it.

The backend is gloo for tensors on a CPU and NCCL on GPUs. The tests run two processes with gloo on
one machine. **NCCL and several machines were not tried.**
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from labml_nn.training.engine.errors import InputError

T = TypeVar("T")


def rank() -> int:
    r"""
    ## Rank

    The number of this process, 0 if it is the only one.
    """
    # PyTorch can be built without this part, as it is on some systems.
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


def world_size() -> int:
    r"""
    ## World size

    The number of processes.
    """
    # 1 if torchrun didn't start the program.
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


@contextmanager
def process_group() -> Iterator[None]:
    r"""
    ## The process group

    Within the block, the processes can talk to each other.
    """
    # Started as usual, the program is alone, and nothing happens.
    if not (dist.is_available() and dist.is_torchelastic_launched()):
        yield
        return

    # Each process of a machine takes the GPU that has its number there. Flags and Python objects
    # still go from CPU to CPU, so that no GPU is waited for.
    local_rank = int(os.environ["LOCAL_RANK"])
    backend = "gloo"

    # Two backends in one group: NCCL for tensors on a GPU, gloo for all others.
    if torch.cuda.is_available() and local_rank < torch.cuda.device_count():
        # From now on “cuda” means this one.
        torch.cuda.set_device(local_rank)
        backend = "cpu:gloo,cuda:nccl"

    # The address of the others is in the environment, too.
    dist.init_process_group(backend)
    with lost_process_error():
        yield

    # Not after a failure: destroying the group waits for processes that are gone.
    dist.destroy_process_group()


@contextmanager
def lost_process_error() -> Iterator[None]:
    r"""
    ### When another process is gone

    When one process dies, the others can't go on. Within the block, they end with a sentence; the
    launcher says which process failed first.
    """
    # Whatever waits for the lost process fails somewhere inside PyTorch. NCCL has an exception of
    # its own. Gloo hasn't, so we look for its name in the message.
    try:
        yield
    except RuntimeError as error:
        is_lost = isinstance(error, dist.DistError) or "gloo" in str(error)

        # Any other error is a mistake in the program, and keeps its traceback.
        if world_size() == 1 or not is_lost:
            raise

        # Only the launcher knows which one.
        raise InputError("another process has ended: go on with --resume") from error


def all_reduce_mean(value: Tensor) -> Tensor:
    r"""
    ## Mean over all processes

    So that a loss is that of the whole batch.
    """
    # On a GPU nothing waits for it: it is queued like any other operation.
    if world_size() > 1:
        # A sum, in place, the same on all ranks.
        dist.all_reduce(value)
        value /= world_size()
    return value


def any_rank(flag: bool) -> bool:
    r"""
    ## Is it true on any rank?

    If one process stopped alone, the others would wait for its gradients until PyTorch gives up.
    With this, all of them stop.
    """
    if world_size() == 1:
        return flag

    # The greatest of zeros and ones is 1 if there is a one.
    value = torch.tensor(int(flag))
    dist.all_reduce(value, op=dist.ReduceOp.MAX)

    # Reading it waits for the slowest process. It is on the CPU, so no GPU is waited for.
    return bool(value)


def broadcast(make: Callable[[], T]) -> T:
    r"""
    ## Broadcast from rank 0

    `make` is called on rank 0 alone, and all ranks get its result.
    """
    if world_size() == 1:
        # Nobody to share it with.
        return make()

    # The list is filled in place: what is in it on the other ranks is replaced.
    values = [make() if rank() == 0 else None]
    dist.broadcast_object_list(values)
    return values[0]


def example(n_values: int = 3) -> Tensor:
    r"""
    ## Example

    One process alone: everything stays as it is.

    ### Exercises

    ??? question "Only rank 0 calls `any_rank`. What happens?"
        It waits for the others, which never answer. After half an hour PyTorch gives up.

    ??? question "Each process draws a name for the folder of the run. Why is that wrong?"
        There would be a folder for each process, and only that of rank 0 would be filled.
        `broadcast` makes the name once.

    ??? question "Rank 0 has loss 2, rank 1 has 4. What does `all_reduce_mean` return on rank 1?"
        3, as on rank 0. The tensor that was passed holds 3 as well, because the sum is in place.
    """
    # No other process wants to stop, and none has another name.
    assert not any_rank(False)
    assert broadcast(rank) == 0
    return all_reduce_mean(torch.randn(n_values))

r"""
---
title: Several Processes
summary: The same script and the same loop on several cards or machines, by PyTorch's own launcher.
paper:
  title: "PyTorch Distributed: Experiences on Accelerating Data Parallel Training"
  authors: Li et al.
  year: 2020
  link: https://arxiv.org/abs/2006.15704
---

```sh
torchrun --nproc-per-node=2 -m labml_nn.training --preset classic
```

`torchrun` comes with PyTorch. It starts the command two times, and tells each process its *rank*,
which is its number, and how many there are. Each has all of the model. A step becomes this:

1. Each process takes its own columns of the batch, and computes the loss and the gradients of
   those.
2. The gradients are averaged over the processes. PyTorch's `DistributedDataParallel` does that,
   while the way back through the model is still under way.
3. Each process takes the same step with the same gradients, so all models stay equal.

What doesn't change: `batch_size` is that of all processes together, so is the number of tokens a
second, and so are learning rate and losses. Two processes with half a batch each are, to
rounding, one process with the whole. A run may go on with another number of processes than it was
begun with; only with dropout, chance is another then.

What changes is who speaks. All processes read the text, measure the whole validation loss and
draw the samples, each for itself. That takes as long as if one did it, and no process ever
waits for something that another one doesn't do. But only the first prints, records and saves. All
of them need to see the folders of the text and of the run.

When one process dies, the others can't go on. They end with a sentence, `torchrun` says which
one was the first, and the run goes on from its last checkpoint with `--resume`.

The processes talk through “gloo” where tensors are on a CPU, and through NCCL where they are on
cards. All of the above is tested with two processes, with gloo, on one machine. **With NCCL, on
cards, and on several machines it was not tried.** For a model that one card does not hold there
are [shards](sharded.py). The paper is about what happens in the second of the steps above.
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

from labml_nn.training.data import InputError

T = TypeVar("T")


def place() -> tuple[int, int]:
    r"""
    ## Which one of how many

    The rank of this process and the number of all. Alone, that is 0 and 1.
    """
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def is_first() -> bool:
    r"""
    ### Who speaks
    """
    return place()[0] == 0


def speaker() -> str:
    r"""
    ### Whose error is it?

    What stands before the sentence: nothing for the first, the number for others.
    """
    rank = int(os.environ.get("RANK", 0)) if dist.is_torchelastic_launched() else 0
    return f"process {rank}: " if rank else ""


@contextmanager
def joined() -> Iterator[None]:
    r"""
    ## Find the others

    Within the block the processes that `torchrun` started know each other. Without `torchrun`,
    nothing happens.
    """
    if not (dist.is_available() and dist.is_torchelastic_launched()):
        yield
        return

    # With cards, notes that must not wait for a card still go from CPU to CPU.
    local = int(os.environ["LOCAL_RANK"])
    backend = "gloo"
    if torch.cuda.is_available() and local < torch.cuda.device_count():
        torch.cuda.set_device(local)
        backend = "cpu:gloo,cuda:nccl"
    dist.init_process_group(backend)
    with noticing():
        yield
    # Not after a failure: it would wait for those that are lost.
    dist.destroy_process_group()


@contextmanager
def noticing() -> Iterator[None]:
    r"""
    ## Notice that another one is lost

    What waits for it fails then, somewhere inside of PyTorch. Here that becomes an `InputError`.
    """
    try:
        yield
    except RuntimeError as error:
        # Gloo has no exception of its own, NCCL has.
        if place()[1] == 1 or not (isinstance(error, dist.DistError) or "gloo" in str(error)):
            raise
        raise InputError("another process has ended: go on with --resume") from error


def own_columns(batch: Tensor) -> Tensor:
    r"""
    ## One's own part of a batch

    Of `[seq_len, batch_size]`, the columns that this process computes.
    """
    rank, size = place()
    return batch.chunk(size, dim=1)[rank]


def check_parts(batch_size: int, micro_batches: int) -> None:
    r"""
    ### All parts are of one size

    Only then is the mean of their means the mean of the batch.
    """
    _, size = place()
    if batch_size % (micro_batches * size):
        raise InputError(
            f"batch_size must be a multiple of micro_batches times processes, got "
            f"batch_size={batch_size}, micro_batches={micro_batches} and {size} processes"
        )


def replicate(model: nn.Module, device: torch.device) -> nn.Module:
    r"""
    ## The model that is trained

    It has the very parameters of `model`, and averages their gradients. All processes begin with
    the weights of the first. Alone, it is `model` itself.
    """
    _, size = place()
    if size == 1:
        return model
    cards = torch.cuda.device_count()
    if device.type == "cuda" and int(os.environ["LOCAL_WORLD_SIZE"]) > cards:
        raise InputError(f"each process needs a card of its own, and there are {cards}")

    # What models here keep in buffers are masks and tables, the same everywhere. The newest PyTorch
    # wants another word for that, which older ones don't know.
    ids = [device.index] if device.type == "cuda" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return DistributedDataParallel(model, device_ids=ids, broadcast_buffers=False)


def adding_up(model: nn.Module, last: bool) -> AbstractContextManager[None]:
    r"""
    ## Average once a step

    In a batch of several parts the gradients add up in each process first. `last` says that this
    is the last part.
    """
    if hasattr(model, "set_requires_gradient_sync"):
        model.set_requires_gradient_sync(last)
    if last or not isinstance(model, DistributedDataParallel):
        return nullcontext()
    return model.no_sync()


def mean(value: Tensor) -> Tensor:
    r"""
    ## The mean over all processes

    So that a loss is that of the whole batch. On a card nothing waits for it.
    """
    _, size = place()
    if size > 1:
        dist.all_reduce(value)
        value /= size
    return value


def any_of(said: bool) -> bool:
    r"""
    ## Does any process say so?

    Processes have to decide together. If one stopped and the other didn't, the other would wait
    forever.
    """
    if place()[1] == 1:
        return said
    flag = torch.tensor(int(said))
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag)


def from_first(make: Callable[[], T]) -> T:
    r"""
    ## What the first one says

    `make` is called there alone, and all get its result.
    """
    rank, size = place()
    if size == 1:
        return make()
    values = [make() if rank == 0 else None]
    dist.broadcast_object_list(values)
    return values[0]


@contextmanager
def first_goes_first() -> Iterator[None]:
    r"""
    ## One downloads, the others find it there
    """
    if not is_first():
        any_of(False)
    yield
    if is_first():
        any_of(False)


def chance_of_all() -> list[Tensor]:
    r"""
    ## The random states of all processes

    That of each, in order. The generator of a card is asked where there is one.
    """
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state()
    _, size = place()
    if size == 1:
        return [state]
    states: list[dict[str, Tensor]] = [{} for _ in range(size)]
    dist.all_gather_object(states, state)
    return states


def continue_chance(states: list[dict[str, Tensor]]) -> None:
    r"""
    ### And back

    A process that was not there before goes on with [what it has](distributed.py#own_chance).
    """
    rank, _ = place()
    if rank < len(states):
        torch.set_rng_state(states[rank]["cpu"])
        if "cuda" in states[rank] and torch.cuda.is_initialized():
            torch.cuda.set_rng_state(states[rank]["cuda"])


def own_chance(seed: int) -> None:
    r"""
    ## Each drops something else

    The models begin equal, from one seed. After that, dropout must not be the same in each part of
    a batch. The first process does what it would alone.
    """
    rank, _ = place()
    if rank:
        torch.manual_seed(seed + 1_000_003 * rank)


def example(batch_size: int = 3, seq_len: int = 5) -> Tensor:
    r"""
    ## Example

    One process alone.
    """
    assert place() == (0, 1)
    check_parts(batch_size, micro_batches=1)
    x = own_columns(torch.randn(seq_len, batch_size))
    loss = mean(x.square().mean())
    assert not any_of(False)
    assert from_first(lambda: "this") == "this"
    return loss

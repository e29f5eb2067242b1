r"""
---
title: Where and by How Many a Model Is Trained
summary: The hardware is decided once; then the model is moved, and shared by several processes.
paper:
  title: "PyTorch Distributed: Experiences on Accelerating Data Parallel Training"
  authors: Li et al.
  year: 2020
  link: https://arxiv.org/abs/2006.15704
terms:
  data parallel training: Each process has the whole model and computes a part of the batch.
  sharding: Each process keeps a part of every weight, and the whole is gathered when it is needed.
---

```sh
torchrun --nproc-per-node=2 -m labml_nn.training.engine
torchrun --nproc-per-node=2 -m labml_nn.training.engine --sharded
```

**In:** a model and settings. **Out:** what was decided about the hardware, and the model in two
views.

* The *model* has the weights. It is evaluated, sampled and saved.
* The *replica* is what the loop calls: the same weights, data parallel, sharded or compiled. If
  nothing of that is asked for, it is the model itself.

Why two? A wrapper changes the names of the weights, and a compiled model is compiled again when the
length of the sequence changes for the first time. A sample has another length at each token.

With [several processes](processes.py), each step is the one that a single process would have made,
and should take less time. `batch_size` is that of all processes together. Two processes with half a
batch each compute, to rounding, what one process computes with the whole batch. So learning rate
and losses stay the same, and a run may be resumed with another number of processes. Only dropout
then draws other numbers.

All processes read the text, evaluate and sample, each for itself. On a GPU each, that takes as long
as if one did it. While training, they exchange gradients, with shards also weights, and after each
step they ask each other whether to stop. After an evaluation they take the loss of rank 0. Only
rank 0 prints, records and saves.

The tests run two processes on one CPU: their losses are those of one process. **On several GPUs it
was not tried.**
"""

import importlib.util
import os
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel

from labml_nn.training.device import choose_device, choose_precision
from labml_nn.training.engine.config import TrainConfig
from labml_nn.training.engine.errors import InputError, checking_input
from labml_nn.training.engine.processes import rank, world_size


def decide(config: TrainConfig) -> tuple[TrainConfig, torch.device, torch.dtype]:
    r"""
    ## Decide

    Settings may leave the hardware open: `device`, `precision` and `compile` have a value that
    means *whatever is best here*, and `cuda_graph` means *where there is a GPU for it*. From here
    on the configuration says which precision was chosen, and whether to compile. Both change the
    numbers, so a run that is resumed on another machine can't choose others. (`device` stays as it
    was given.)
    """
    # The lessons choose, and they know no `InputError`.
    with checking_input():
        device = choose_device(config.device)
        dtype = choose_precision(config.precision, device)

    # Compiling takes up to a minute, which should pay in long runs. On a GPU it needs Triton, which
    # not every system has, and on a CPU a C++ compiler: there you have to ask for it.
    compile = config.compile
    if compile is None:
        has_triton = importlib.util.find_spec("triton") is not None
        compile = device.type == "cuda" and has_triton

    # A [graph](../fast/cuda_graphs.py) is recorded on one GPU only. Compiled code may be compiled
    # again later, and several processes need more steps to warm up; neither was tried.
    records = device.type == "cuda" and not compile and world_size() == 1

    # As a name, because settings are numbers and texts.
    precision = str(dtype).removeprefix("torch.")

    # The precision “auto” is replaced, so that each record and checkpoint tells the truth.
    config = replace(
        config,
        precision=precision,
        compile=compile,
        cuda_graph=config.cuda_graph and records,
    )
    return config, device, dtype


def place(
    model: nn.Module, config: TrainConfig, device: torch.device
) -> tuple[nn.Module, nn.Module]:
    r"""
    ## Place

    Returns model and replica.
    """
    # Sharding comes before moving: a model that needs it wouldn't fit on one GPU.
    if config.sharded:
        # In place: the parameters become shards of themselves.
        shard(model, device)

    # Moving keeps the parameters the same objects, so nothing else needs to know.
    replica = model = model.to(device)

    # One or the other: both share out the work over processes.
    if not config.sharded:
        replica = data_parallel(model, device)

    # Last, as PyTorch's [notes](https://docs.pytorch.org/docs/stable/notes/ddp.html) advise: the
    # compiler has to cut the model where gradients are sent. From a single piece, none could be
    # sent before the whole backward pass is done. (PyTorch 2.13 cuts it in either order.)
    if config.compile:
        # Nothing is compiled yet; that happens at the first step.
        replica = torch.compile(replica)
    return model, replica


def data_parallel(model: nn.Module, device: torch.device) -> nn.Module:
    r"""
    ## Data parallel training

    Each process holds the whole model, and a step becomes this:

    1. Each process takes its own columns of the batch, and computes their loss and gradients.
    2. The gradients are averaged over the processes (*all-reduce*). PyTorch's
       `DistributedDataParallel` does that while the backward pass is still running: the gradients
       of the last layers are sent while those of the first ones are computed.
    3. Each process makes the same step with the same gradients, so the models stay equal.

    Returns a wrapper that has the very parameters of `model` and averages their gradients. All
    processes start with the weights of rank 0.
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


def own_columns(batch: Tensor) -> Tensor:
    r"""
    ### The part of a batch for this rank

    Some columns of `[seq_len, batch_size]`.
    """
    # Each process has drawn the whole batch, from the same seed. That costs next to nothing, and
    # nothing has to be sent.
    return batch.chunk(world_size(), dim=1)[rank()]


def no_sync(model: nn.Module, last: bool) -> AbstractContextManager[None]:
    r"""
    ### Average the gradients once a step

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
    ### A random seed for each rank

    The models start equal, from one seed.
    """
    # From then on the seeds differ. With the same one, dropout would drop the same places in each
    # part of a batch. Rank 0 goes on as a single process would.
    if rank():
        torch.manual_seed(seed + 1_000_003 * rank())


def rng_states() -> list[dict[str, Tensor]]:
    r"""
    ### Random states

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


def shard(model: nn.Module, device: torch.device) -> None:
    r"""
    ## Sharding

    In data parallel training each process has all weights, all gradients and all of the optimizer's
    state: for AdamW in `float32`, 16 bytes a parameter. If that is more than a GPU holds, it can be
    split. Each process keeps one *shard* of every tensor. Before a layer computes, the processes
    gather its weights, and after its backward pass each gets its shard of the averaged gradients.
    So besides its activations, a GPU holds its share, one or two whole layers, and whatever is
    outside the layers: embedding, last normalisation and head stay whole from the forward to the
    backward pass. The price is that weights are sent, too. This is the third of the three stages of
    [ZeRO](https://arxiv.org/abs/1910.02054); PyTorch's name for it is *fully sharded data
    parallel*.

    The model stays the same object. Each of its parameters is now a *DTensor*, a tensor that knows
    that other processes have the rest of it, so loop, optimizers and gradient clipping stay as they
    are. A [checkpoint](checkpoint.py) holds whole tensors, so a run may be resumed with shards or
    without. The whole model must fit into the main memory, then, when it is saved and loaded, and
    also when it is made, before it is cut.
    """
    # A single process has nothing to split. The option may still be given, by a script that is also
    # run alone.
    if world_size() == 1:
        return

    # It came with PyTorch 2.6; all else here works in older versions.
    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError:
        raise InputError("--sharded needs PyTorch 2.6 or newer") from None

    # PyTorch warns if a module returns a view, as the logits are: changed in place, it would give
    # wrong gradients. Here nobody changes them.
    warnings.filterwarnings("ignore", message="FSDP2-wrapped module .* returned a view")

    # The mesh says who shares with whom; here it is one row of all processes.
    mesh = init_device_mesh(device.type, (world_size(),))

    # From the inside out: a module takes care of what no module inside it has taken. If only the
    # whole model were sharded, the first layer would gather the weights of all.
    for layer in layers_of(model):
        fully_shard(layer, mesh=mesh)

    # What is left: embedding, last normalisation and head.
    fully_shard(model, mesh=mesh)


def layers_of(model: nn.Module) -> list[nn.Module]:
    r"""
    ### The layers of a model

    The elements of each `nn.ModuleList`.
    """
    # Lists inside a layer don't count: the smaller the pieces, the more often processes must talk.
    found: list[nn.Module] = []
    for child in model.children():
        found += child if isinstance(child, nn.ModuleList) else layers_of(child)
    return found


def example(batch_size: int = 3, seq_len: int = 5, d_in: int = 7, d_out: int = 2) -> Tensor:
    r"""
    ## Example

    A model of two layers on one CPU, and a batch for it: one process has all of both.

    ### Exercises

    ??? question "One process, a CPU, nothing said about compiling. What is the replica?"
        The model itself.

    ??? question "Why is it the model that is saved, and not the replica?"
        The names in `replica.state_dict()` begin with those of its wrappers, “module” and
        “_orig_mod”. A model without wrappers wouldn't find them. (The
        [checkpoint](checkpoint.py#state_of) would be right with either: what it calls takes these
        names off.)

    ??? question "Move the model first, then shard it. Where does a model of 100 GB fail?"
        At `model.to(device)`, on any GPU with less memory. Sharded first, each GPU gets its part.

    ??? question "Three processes, `batch_size` 12. How many windows does each compute in a step?"
        Four. The loss of the step is the mean over all twelve.

    ??? question "Each process starts from a seed of its own. Which line saves you?"
        `DistributedDataParallel`, which sends the weights of rank 0 to all when it is made. With
        `--sharded`, nothing saves you: each process cuts its shards from its own weights, and the
        model is put together from several.

    ??? question "Two processes, `batch_size` 6, two micro-batches. What does `check_batch` do?"
        It raises an error: 6 isn't a multiple of 2 · 2.

    ??? question "A billion parameters, AdamW in `float32`, eight GPUs. How much does each hold?"
        16 GB in all, so 2 GB each. While it computes, also a whole layer or two, embedding and
        head, and the activations. Data parallel, it is 16 GB on each, and the activations.

    ??? question "An embedding, twelve layers, a head. How often is `fully_shard` called?"
        13 times: once for each layer, and once for the model, which takes embedding and head.

    ??? question "Each layer has a `ModuleList` of its own. What does `layers_of` return?"
        The outer layers. It doesn't look into them, so the lists inside aren't found.
    """
    # Nothing is left open afterwards.
    config, device, dtype = decide(TrainConfig(device="cpu", sharded=True))
    assert (config.compile, dtype) == (False, getattr(torch, config.precision))

    # The list of layers is found, whatever it is called.
    layers = [nn.Linear(d_in, d_out), nn.Linear(d_out, d_in)]
    model = nn.ModuleDict({"layers": nn.ModuleList(layers)})
    assert layers_of(model) == layers

    # There is nobody to share it with: both views are the same object, and it isn't changed.
    model, replica = place(model, config, device)
    assert replica is model

    # All columns, because there is one process only.
    check_batch(batch_size, micro_batches=1)
    tokens = own_columns(torch.randint(d_in, (seq_len, batch_size)))

    # A feature for each token, through both layers.
    x = F.one_hot(tokens, d_in).float()
    for layer in layers_of(replica):
        x = layer(x)
    return x

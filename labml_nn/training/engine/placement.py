r"""
---
title: Where a Model Trains
summary: Device, precision and compilation are decided once; then the model is moved and wrapped.
---

Settings may leave the hardware open: `device`, `precision` and `compile` have a value that means
*whatever is best here*. **In:** a model and settings. **Out:** what was decided, and two views of
the model.

* The *model* has the weights. It is evaluated, sampled and saved.
* The *replica* is what the loop calls: the same weights, data parallel, sharded or compiled. If
  nothing of that is asked for, it is the model itself.

Why two? A wrapper changes the names of the weights, and compiled code is made again for each new
length of a sequence. A sample has another length at each token.
"""

import importlib.util
from dataclasses import replace

import torch
from torch import nn

from labml_nn.training.device import choose_device, choose_precision
from labml_nn.training.engine.config import TrainConfig
from labml_nn.training.engine.distributed import data_parallel
from labml_nn.training.engine.errors import checking_input
from labml_nn.training.engine.sharded import shard


def decide(config: TrainConfig) -> tuple[TrainConfig, torch.device, torch.dtype]:
    r"""
    ## Decide

    From here on the configuration says what was chosen. A run that is resumed on another machine
    then can't choose something else.
    """
    # The lessons choose, and they know no `InputError`.
    with checking_input():
        device = choose_device(config.device)
        dtype = choose_precision(config.precision, device)

    # Compiling takes a minute. On a GPU that pays nearly always; it needs Triton, which not every
    # system has. On a CPU a short run would be over before.
    compile = config.compile
    if compile is None:
        has_triton = importlib.util.find_spec("triton") is not None
        compile = device.type == "cuda" and has_triton

    # As a name, because settings are numbers and texts.
    precision = str(dtype).removeprefix("torch.")

    # `auto` is replaced, so that each record and checkpoint tells the truth.
    return replace(config, precision=precision, compile=compile), device, dtype


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

    # Last, so that PyTorch can compile what the wrapper does, too.
    if config.compile:
        # Nothing is compiled yet; that happens at the first step.
        replica = torch.compile(replica)
    return model, replica


def example(d_in: int = 3, d_out: int = 5) -> torch.Tensor:
    r"""
    ## Example

    ### Exercises

    ??? question "One process, a CPU, nothing said about compiling. What is the replica?"
        The model itself.

    ??? question "Why is it the model that is saved, and not the replica?"
        The names of the replica's weights begin with the names of its wrappers, and a run that is
        resumed without them would not find its weights.

    ??? question "Move the model first, then shard it. Where does a model of 100 GB fail?"
        At `model.to(device)`, on any GPU with less memory. Sharded first, each GPU gets its part.
    """
    # Nothing is left open afterwards.
    config, device, dtype = decide(TrainConfig(device="cpu"))
    assert (config.compile, dtype) == (False, getattr(torch, config.precision))

    # Both views have the same weights. Without wrappers, they are the same object.
    model, replica = place(nn.Linear(d_in, d_out), config, device)
    assert replica is model
    return replica(torch.randn(d_in))

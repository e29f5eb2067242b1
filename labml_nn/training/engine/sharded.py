r"""
---
title: Sharding a Model
summary: Weights, gradients and optimizer state, each split over all processes by fully_shard.
paper:
  title: "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models"
  authors: Rajbhandari et al.
  year: 2019
  link: https://arxiv.org/abs/1910.02054
terms:
  sharding: Each process keeps a part of every weight, and the whole is gathered when it is needed.
---

```sh
torchrun --nproc-per-node=2 -m labml_nn.training.engine --sharded
```

In [data parallel training](distributed.py) each process has all weights, all gradients and all of
the optimizer's state: for AdamW in `float32`, 16 bytes a parameter. If that is more than a GPU
holds, it can be split. Each process keeps one *shard* of every tensor. Before a layer computes, the
processes gather its weights, and after its backward pass each gets its shard of the averaged
gradients. So besides its activations, a GPU holds its share, one or two whole layers, and whatever
is outside the layers: embedding, last normalisation and head stay whole from the forward to the
backward pass. The price is that weights are sent, too.

**In:** a model. **Out:** the same model; each of its parameters is now a *DTensor*, a tensor that
knows that other processes have the rest of it. Loop, optimizers and gradient clipping stay as they
are. PyTorch's name for it is *fully sharded data parallel*. The paper names three stages; this is
the third.

A [checkpoint](checkpoint.py) holds whole tensors, so a run may be resumed with shards or without.
It also means that the model must fit into the main memory when it is made, saved and loaded.

The tests run two processes on one CPU: their losses are those of one process. On GPUs it was not
tried.
"""

import warnings

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.processes import world_size


def layers_of(model: nn.Module) -> list[nn.Module]:
    r"""
    ## The layers of a model

    The elements of each `nn.ModuleList`.
    """
    # Lists inside a layer don't count: the smaller the pieces, the more often processes must talk.
    found: list[nn.Module] = []
    for child in model.children():
        found += child if isinstance(child, nn.ModuleList) else layers_of(child)
    return found


def shard(model: nn.Module, device: torch.device) -> None:
    r"""
    ## Shard a model

    Each layer is gathered on its own, and everything outside the layers together.
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

    # PyTorch warns of logits that are changed in place. Here none are.
    warnings.filterwarnings("ignore", message="FSDP2-wrapped module .* returned a view")

    # The mesh says who shares with whom; here it is one row of all processes.
    mesh = init_device_mesh(device.type, (world_size(),))

    # From the inside out: a module takes care of what no module inside it has taken. If only the
    # whole model were sharded, the first layer would gather the weights of all.
    for layer in layers_of(model):
        fully_shard(layer, mesh=mesh)

    # What is left: embedding, last normalisation and head.
    fully_shard(model, mesh=mesh)


def example(d_in: int = 3, d_out: int = 5) -> torch.Tensor:
    r"""
    ## Example

    A model of two layers, and a single process.

    ### Exercises

    ??? question "A billion parameters, AdamW in `float32`, eight GPUs. How much does each hold?"
        16 GB in all, so 2 GB each, and the activations. Data parallel, it is 16 GB on each.

    ??? question "An embedding, twelve layers, a head. How often is `fully_shard` called?"
        13 times: once for each layer, and once for the model, which takes embedding and head.

    ??? question "Each layer has a `ModuleList` of its own. What does `layers_of` return?"
        The outer layers. It doesn't look into them, so the lists inside aren't found.
    """
    # The list is found, whatever it is called.
    layers = [nn.Linear(d_in, d_out), nn.Linear(d_out, d_in)]
    model = nn.ModuleDict({"layers": nn.ModuleList(layers)})
    assert layers_of(model) == layers

    # One process changes nothing.
    shard(model, torch.device("cpu"))

    # The layers are still there, and compute as before.
    x = torch.randn(d_in)
    for layer in layers_of(model):
        x = layer(x)
    return x

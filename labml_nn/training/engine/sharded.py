r"""
---
title: Sharding a Model
summary: Weights, gradients and optimizer state, each split over all processes by fully_shard.
paper:
  title: "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models"
  authors: Rajbhandari et al.
  year: 2019
  link: https://arxiv.org/abs/1910.02054
---

```sh
torchrun --nproc-per-node=2 -m labml_nn.training.engine --sharded
```

In [data parallel training](distributed.py) each process has all weights, all gradients and all of
the optimizer's state: for AdamW in `float32`, 16 bytes a parameter. If that is more than a GPU
holds, it can be split. Each process keeps one *shard* of every tensor. Before a layer computes, the
processes gather its weights, and after its backward pass each gets its shard of the averaged
gradients. So no GPU ever holds more than its share and one or two whole layers. The price is that
weights are sent, too.

PyTorch's name for it is *fully sharded data parallel*. `fully_shard` makes each parameter a
*DTensor*, a tensor that knows that other processes have the rest of it. Loop, optimizers and
gradient clipping stay as they are. The paper names three stages; this is the third.

A [checkpoint](checkpoint.py) holds whole tensors, so a run may be resumed with shards or without.
It also means that the model must fit into the main memory when it is made, saved and loaded.

The tests run two processes on one CPU: their losses are those of one process. On GPUs it was not
tried.
"""

import warnings

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from labml_nn.training.engine.distributed import world_size
from labml_nn.training.engine.errors import InputError


def layers_of(model: nn.Module) -> list[nn.Module]:
    r"""
    ## The layers of a model

    The elements of each `nn.ModuleList`. Lists inside a layer don't count.
    """
    found: list[nn.Module] = []
    for child in model.children():
        found += child if isinstance(child, nn.ModuleList) else layers_of(child)
    return found


def shard(model: nn.Module, device: torch.device) -> None:
    r"""
    ## Shard a model

    Each layer is gathered on its own, and everything outside the layers together. A single
    process has nothing to split.
    """
    if world_size() == 1:
        return
    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError:
        raise InputError("--sharded needs PyTorch 2.6 or newer") from None

    # PyTorch warns of logits that are changed in place. Here none are.
    warnings.filterwarnings("ignore", message="FSDP2-wrapped module .* returned a view")
    mesh = init_device_mesh(device.type, (world_size(),))
    for layer in layers_of(model):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)


def example(d_in: int = 3, d_out: int = 5) -> torch.Tensor:
    r"""
    ## Example

    A model of two layers, and a single process.
    """
    model = nn.ModuleDict(
        {"layers": nn.ModuleList([nn.Linear(d_in, d_out), nn.Linear(d_out, d_in)])}
    )
    shard(model, torch.device("cpu"))
    x = torch.randn(d_in)
    for layer in layers_of(model):
        x = layer(x)
    return x

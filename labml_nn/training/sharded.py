r"""
---
title: A Model in Shards
summary: Weights, gradients and the optimizer's memory, each split over all processes.
paper:
  title: "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models"
  authors: Rajbhandari et al.
  year: 2019
  link: https://arxiv.org/abs/1910.02054
---

```sh
torchrun --nproc-per-node=2 -m labml_nn.training --sharded
```

With [several processes](distributed.py) each one has all weights, all gradients, and all that the
optimizer remembers: for AdamW in `float32`, 16 bytes a parameter. When that is more than a card
holds, it can be split: each process keeps one *shard* of every tensor. Before a layer computes,
the processes send each other what is missing of its weights, and forget it afterwards; after
the way back through it, each gets its shard of the averaged gradients. So no card ever holds more
than its share and one or two whole layers, at the price of sending the weights, too.

PyTorch calls it *fully sharded data parallel*, `fully_shard`. It takes a module and makes each
parameter a “DTensor”: a tensor that knows that other processes have the rest of it. The loop, the
optimizers and the clipping of gradients are the same. The paper names three stages; this is the
third.

A checkpoint holds whole tensors, the same that a run without shards would write. So shards may
be turned on, off, or changed in number from one part of a run to the next. It also means that the
model must fit into the main memory of the machine, when it is made, saved and loaded.

It is tested with two processes on one CPU: the losses are those of one process. On cards it was
not tried.
"""

import warnings
from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from labml_nn.training.data import InputError
from labml_nn.training.distributed import place
from labml_nn.training.joined import load_state_by_part, state_by_part


def layers_of(model: nn.Module) -> list[nn.Module]:
    r"""
    ## The layers

    What stands in a list of modules. Lists inside layers don't count.
    """
    found: list[nn.Module] = []
    for child in model.children():
        found += child if isinstance(child, nn.ModuleList) else layers_of(child)
    return found


def shard(model: nn.Module, device: torch.device) -> None:
    r"""
    ## Split a model

    Each layer is gathered on its own, and what is in no layer together. The shards go to `device`;
    the whole stays where it was made. One process alone has nothing to split.
    """
    _, size = place()
    if size == 1:
        return
    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError:
        raise InputError("shards need PyTorch 2.6 or newer") from None
    # PyTorch warns of logits that are changed in place. Here none are.
    warnings.filterwarnings("ignore", message="FSDP2-wrapped module .* returned a view")
    mesh = init_device_mesh(device.type, (size,))
    for layer in layers_of(model):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)


def is_sharded(model: nn.Module) -> bool:
    r"""
    ### Is it split?
    """
    return any(hasattr(parameter, "full_tensor") for parameter in model.parameters())


def states(
    model: nn.Module, optimizers: list[torch.optim.Optimizer]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    r"""
    ## The whole state

    Of the model and of each optimizer. From shards it is put together on the CPU, and the first
    process alone gets it; all have to ask.
    """
    if not is_sharded(model):
        return dict(model.state_dict()), [state_by_part(one, model) for one in optimizers]
    from torch.distributed.checkpoint import state_dict as gathered

    options = gathered.StateDictOptions(full_state_dict=True, cpu_offload=True)
    return gathered.get_model_state_dict(model, options=options), [
        by_number(gathered.get_optimizer_state_dict(model, optimizer, options=options))
        for optimizer in optimizers
    ]


def load_states(
    model: nn.Module,
    optimizers: list[torch.optim.Optimizer],
    weights: dict[str, Any],
    remembered: list[dict[str, Any]],
) -> None:
    r"""
    ## And back

    Each process gets the whole, and keeps its shards.
    """
    if not is_sharded(model):
        model.load_state_dict(weights)
        for optimizer, state in zip(optimizers, remembered, strict=True):
            load_state_by_part(optimizer, model, state)
        return
    from torch.distributed.checkpoint import state_dict as gathered

    options = gathered.StateDictOptions(full_state_dict=True)
    gathered.set_model_state_dict(model, weights, options=options)
    for optimizer, state in zip(optimizers, remembered, strict=True):
        names = names_in(model, optimizer)
        gathered.set_optimizer_state_dict(model, optimizer, named(state, names), options=options)


def names_in(model: nn.Module, optimizer: torch.optim.Optimizer) -> list[str]:
    r"""
    ## Names and numbers

    A plain optimizer numbers its parameters, group after group. That of shards is asked by name,
    so one is turned into the other.
    """
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return [names[id(one)] for group in optimizer.param_groups for one in group["params"]]


def by_number(state: dict[str, Any]) -> dict[str, Any]:
    r"""
    ### From names to numbers
    """
    names = [name for group in state.get("param_groups", []) for name in group["params"]]
    numbers = {name: number for number, name in enumerate(names)}
    return {
        "state": {numbers[name]: one for name, one in state.get("state", {}).items()},
        "param_groups": [
            {**group, "params": [numbers[name] for name in group["params"]]}
            for group in state.get("param_groups", [])
        ],
    }


def named(state: dict[str, Any], names: list[str]) -> dict[str, Any]:
    r"""
    ### From numbers to names
    """
    return {
        "state": {names[number]: one for number, one in state["state"].items()},
        "param_groups": [
            {**group, "params": [names[number] for number in group["params"]]}
            for group in state["param_groups"]
        ],
    }


def example(d_in: int = 3, d_out: int = 5) -> torch.Tensor:
    r"""
    ## Example

    The state of an optimizer by numbers, by names, and by numbers again.
    """
    model = nn.Sequential(nn.Linear(d_in, d_out))
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(d_in)).sum().backward()
    optimizer.step()
    shard(model, torch.device("cpu"))
    _, (state,) = states(model, [optimizer])
    names = names_in(model, optimizer)
    assert names == ["0.weight", "0.bias"]
    assert by_number(named(state, names)).keys() == state.keys()
    return state["state"][0]["exp_avg"]

r"""
---
title: Weights Side by Side
summary: Many small parameters become a few large ones, so that an optimizer needs few calls.
---

A small transformer has some fifty parameters, of a few thousand numbers each. What an optimizer
does to one takes microseconds, and so does each call that asks for it. Clipping the gradients,
moving the weights and forgetting the gradients takes
[2.11 ms](../../results/savings.json#tables.steps.classic,%20apart.optimizing) in each step of the
[classic transformer](../transformers/basic/autoregressive_experiment.py) then.

So the parameters of a group are put side by side, in one piece of memory. To an optimizer that is
one parameter. To the model nothing changes: each of its own is a *view*, a part of that memory
with its old shape.

Any optimizer that looks at one number at a time, as AdamW does, computes the same as before. One
that looks at matrices, as [Muon](../optimizers/muon.py), gets those of one shape as a stack. A
checkpoint doesn't show any of this: it has what is remembered of each parameter.

Side by side, the same takes
[1.53 ms](../../results/savings.json#tables.steps.classic.optimizing). The machine of these numbers
spends most of a step elsewhere, so that the step as a whole is hardly shorter for it. “apart” is
without this page, “any mask” without
[causal self-attention](../transformers/basic/causal_attention.py):

[A step of each preset, and without a saving](../../results/savings.json#tables.steps)

This is for a CPU. On a card PyTorch has optimizers that take a list of parameters in one call.
"""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

# Parts begin where the processor reads a line of memory: every 64 bytes.
LINE = 16


def join(parameters: list[nn.Parameter], *shape: int) -> nn.Parameter:
    r"""
    ## Put them side by side

    The result is one vector, or, with a `shape`, a stack of matrices of that shape, `[n_matrices,
    rows, columns]`. What the `parameters` hold is a part of it from here on.
    """
    # Odd ones last, so that they put as few as possible of the others off the lines.
    parts = sorted(parameters, key=lambda part: part.numel() % LINE != 0)
    whole = nn.Parameter(torch.cat([part.detach().reshape(-1, *shape) for part in parts]))
    whole.parts = parts
    for part, view in zip(parts, cut(whole, whole.detach()), strict=True):
        part.data = view
    return whole


def cut(whole: nn.Parameter, values: Tensor) -> list[Tensor]:
    r"""
    ### Cut apart

    `values` has the shape of the whole. The results are views with the shapes of the parts.
    """
    rows = math.prod(whole.shape[1:])
    sizes = [part.numel() // rows for part in whole.parts]
    pieces = values.split(sizes)
    return [piece.view(part.shape) for piece, part in zip(pieces, whole.parts, strict=True)]


def parts_of(parameter: nn.Parameter) -> list[nn.Parameter]:
    r"""
    ### The parameters of the model in it

    A parameter that was never joined is its own only part.
    """
    return getattr(parameter, "parts", [parameter])


def side_by_side(parameters: Iterable[nn.Parameter]) -> list[nn.Parameter]:
    r"""
    ## As one vector

    Where that is of use; elsewhere the parameters as they are.
    """
    parameters = list(parameters)
    return [join(parameters)] if is_of_use(parameters) else parameters


def in_stacks(parameters: Iterable[nn.Parameter]) -> list[nn.Parameter]:
    r"""
    ## As stacks of matrices

    One for each shape. A parameter with more than two axes is a stack already.
    """
    parameters = list(parameters)
    if not is_of_use(parameters):
        return parameters
    shapes: dict[torch.Size, list[nn.Parameter]] = {}
    for parameter in parameters:
        shapes.setdefault(parameter.shape[-2:], []).append(parameter)
    return [join(alike, *shape) for shape, alike in shapes.items()]


def is_of_use(parameters: list[nn.Parameter]) -> bool:
    r"""
    ### Is it of use?

    On a CPU, unless they are [shards](sharded.py): of those each process has something else.
    """
    return bool(parameters) and all(
        one.device.type == "cpu" and not hasattr(one, "full_tensor") for one in parameters
    )


def parameters_in(optimizers: Iterable[torch.optim.Optimizer]) -> list[nn.Parameter]:
    r"""
    ## What optimizers move
    """
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    return [parameter for group in groups for parameter in group["params"]]


def forget_gradients(wholes: list[nn.Parameter]) -> None:
    r"""
    ## Forget the gradients

    Those of a whole become zero, in one call. The gradient of each part is a view of them, so that
    on the way back through the model it is added up where it belongs.
    """
    for whole in wholes:
        if not hasattr(whole, "parts"):
            whole.grad = None
            continue
        if whole.grad is None:
            whole.grad = torch.zeros_like(whole)
            whole.views = cut(whole, whole.grad)
        whole.grad.zero_()
        for part, view in zip(whole.parts, whole.views, strict=True):
            part.grad = view


def gather_gradients(wholes: list[nn.Parameter]) -> None:
    r"""
    ## Are they where they belong?

    Who forgot a gradient in another way meanwhile has made a new one beside the whole. A part that
    has none had no part in the loss, so it is zero.
    """
    for whole in wholes:
        if not hasattr(whole, "parts"):
            continue
        if whole.parts[0].data_ptr() != whole.data_ptr():
            raise RuntimeError(
                "the parameters of this optimizer have been moved, or joined by another one: "
                "make the optimizer after that"
            )
        for part, view in zip(whole.parts, whole.views, strict=True):
            if part.grad is None:
                view.zero_()
            elif part.grad is not view:
                view.copy_(part.grad)


def state_by_part(optimizer: torch.optim.Optimizer, model: nn.Module) -> dict[str, Any]:
    r"""
    ## What is remembered of each part

    The state that an optimizer of the parts would have. In each group the parts have the order
    that they have in the model.
    """
    state = optimizer.state_dict()
    groups, remembered, first = [], {}, 0
    for group, described in zip(optimizer.param_groups, state["param_groups"], strict=True):
        numbers = numbers_of(group, model, first)
        for whole, key in zip(group["params"], described["params"], strict=True):
            if key in state["state"]:
                memories = apart(whole, state["state"][key])
                for part, memory in zip(parts_of(whole), memories, strict=True):
                    remembered[numbers[id(part)]] = memory
        groups.append({**described, "params": sorted(numbers.values())})
        first += len(numbers)
    return {"state": dict(sorted(remembered.items())), "param_groups": groups}


def load_state_by_part(
    optimizer: torch.optim.Optimizer, model: nn.Module, state: dict[str, Any]
) -> None:
    r"""
    ### And back
    """
    groups, remembered, first, key = [], {}, 0, 0
    for group, described in zip(optimizer.param_groups, state["param_groups"], strict=True):
        numbers = numbers_of(group, model, first)
        keys = []
        for whole in group["params"]:
            values = [state["state"].get(numbers[id(part)]) for part in parts_of(whole)]
            if None not in values:
                remembered[key] = together(whole, values)
            keys.append(key)
            key += 1
        groups.append({**described, "params": keys})
        first += len(numbers)
    optimizer.load_state_dict({"state": remembered, "param_groups": groups})


def numbers_of(group: dict[str, Any], model: nn.Module, first: int) -> dict[int, int]:
    r"""
    ### Number the parts of a group

    From `first`, in the order of the model.
    """
    inside = {id(part) for whole in group["params"] for part in parts_of(whole)}
    ordered = [id(one) for one in model.parameters() if id(one) in inside]
    return {one: first + index for index, one in enumerate(ordered)}


def apart(whole: nn.Parameter, values: dict[str, Any]) -> list[dict[str, Any]]:
    r"""
    ### A memory, cut apart

    What has the shape of the whole is cut; the rest, such as the number of steps, goes to each.
    """
    if not hasattr(whole, "parts"):
        return [values]
    result: list[dict[str, Any]] = [{} for _ in whole.parts]
    for name, value in values.items():
        pieces = [value] * len(result)
        if isinstance(value, Tensor):
            # Each has a number of steps of its own, to count on with.
            alike = value.shape == whole.shape
            pieces = cut(whole, value) if alike else [value.clone() for _ in result]
        for one, piece in zip(result, pieces, strict=True):
            one[name] = piece
    return result


def together(whole: nn.Parameter, memories: list[dict[str, Any]]) -> dict[str, Any]:
    r"""
    ### And together
    """
    if not hasattr(whole, "parts"):
        return memories[0]
    result = dict(memories[0])
    for name, value in result.items():
        if isinstance(value, Tensor) and value.shape == whole.parts[0].shape:
            pieces = [one[name].reshape(-1, *whole.shape[1:]) for one in memories]
            result[name] = torch.cat(pieces)
    return result


def example(n_matrices: int = 2, rows: int = 3, columns: int = 5) -> Tensor:
    r"""
    ## Example

    A step of some layers. Their matrices are a stack, their biases a vector.
    """
    layers = nn.Sequential(*(nn.Linear(columns, rows) for _ in range(n_matrices)))
    matrices = in_stacks(layer.weight for layer in layers)
    biases = side_by_side(layer.bias for layer in layers)
    optimizer = torch.optim.AdamW([{"params": matrices}, {"params": biases}])
    wholes = parameters_in([optimizer])
    forget_gradients(wholes)
    x = torch.ones(columns)
    sum(layer(x).square().sum() for layer in layers).backward()
    gather_gradients(wholes)
    optimizer.step()

    state = state_by_part(optimizer, layers)
    load_state_by_part(optimizer, layers, state)
    return state["state"][0]["exp_avg"]

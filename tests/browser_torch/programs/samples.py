r"""Runs the samples that `samples_of_pytorch.py` has written: ANSWER SAMPLES."""

import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import torch
from plain import plain


def unique(U: torch.Tensor, S: torch.Tensor, Vh: torch.Tensor) -> tuple[torch.Tensor, ...]:
    r"""
    A singular value decomposition without what is free in it: the sign of each pair of vectors,
    and the vectors beside the rank, of which only the space matters.
    """
    k = S.shape[-1]
    u, vh = U.narrow(-1, 0, k), Vh.narrow(-2, 0, k)
    if not u.numel() or not vh.numel():
        return U, S, Vh.contiguous()
    known = u.detach()
    signs = known.gather(-2, known.abs().argmax(-2, keepdim=True)).sign()
    beside_u = U.narrow(-1, k, U.shape[-1] - k)
    beside_v = Vh.narrow(-2, k, Vh.shape[-2] - k)
    spaces = beside_u @ beside_u.mT, beside_v.mT @ beside_v
    return u * signs, S, vh * signs.mT, *spaces


# PyTorch's samples call these in an order of their own; and what nobody has written is no value.
CALLS: dict[str, Callable[..., Any]] = {
    "einsum": lambda tensors, equation: torch.einsum(equation, *tensors),
    "nn.functional.embedding_bag": lambda table, places, **options: (
        torch.nn.functional.embedding_bag(places, table, **options)
    ),
    "nn.functional.embedding": lambda table, places, **options: torch.nn.functional.embedding(
        places, table, **options
    ),
    "empty": lambda *size, **options: torch.empty(*size, **options).zero_(),
    "empty_like": lambda tensor, **options: torch.empty_like(tensor, **options).zero_(),
    "empty_strided": lambda *size, **options: torch.empty_strided(*size, **options).clone().zero_(),
    "new_empty_strided": lambda tensor, *size, **options: tensor.new_empty_strided(
        *size, **options
    ).zero_(),
    "new_empty": lambda tensor, *size, **options: tensor.new_empty(*size, **options).zero_(),
    "polygamma": lambda tensor, order: torch.polygamma(order, tensor),
    "special.polygamma": lambda tensor, order: torch.special.polygamma(order, tensor),
    "linalg.svd": lambda matrix, **options: unique(*torch.linalg.svd(matrix, **options)),
    "svd": lambda matrix, **options: (lambda U, S, V: unique(U, S, V.mT))(
        *torch.svd(matrix, **options)
    ),
    "where": lambda own, condition, other, **options: torch.where(condition, own, other, **options),
}


def turned_back(value: Any) -> Any:
    r"""A value from what the other program made of it."""
    kind, content = value
    if kind == "tensor":
        return _tensor(*content)
    if kind in ("list", "tuple"):
        items = [turned_back(one) for one in content]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {key: turned_back(one) for key, one in content.items()}
    if kind == "slice":
        return slice(*[turned_back(one) for one in content])
    return getattr(torch, content) if kind == "name" else content


def _tensor(dtype: str, shape: list[int], strides: list[int], raw: bytes, wants: bool) -> Any:
    d = getattr(torch, dtype)
    memory = torch.frombuffer(bytearray(raw), dtype=d) if raw else torch.empty(0, dtype=d)
    tensor = memory.as_strided(shape, strides)
    return tensor.requires_grad_() if wants else tensor


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    r"""All tensors of a result or of arguments."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors_in(one)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def gradients(results: Any, leaves: list[torch.Tensor]) -> Any:
    r"""The gradients of all that wants one; each number of the results counts differently."""
    total: Any = 0
    for one in tensors_in(results):
        if one.requires_grad:
            real = torch.view_as_real(one.resolve_conj()) if one.is_complex() else one
            weights = torch.arange(1, real.numel() + 1, dtype=real.dtype).view(real.shape) / 7
            total = total + (real * weights).sum()
    if not isinstance(total, torch.Tensor):
        return None
    total.backward()
    return plain([leaf.grad for leaf in leaves])


def strides(results: Any, elementwise: bool) -> list[Any]:
    r"""
    Whether it matters how a result lies in memory, as for views and single elements; and how it
    does, with 0 for an axis of one place.
    """
    return [
        (
            (elementwise or one._base is not None) and one.numel() > 0,
            [step if size > 1 else 0 for size, step in zip(one.shape, one.stride(), strict=True)],
        )
        for one in tensors_in(results)
    ]


def outcome(make: Callable[[], tuple[Any, list[torch.Tensor]]], elementwise: bool) -> Any:
    r"""The values, strides and gradients of a call, or how it failed."""
    torch.manual_seed(0)
    try:
        results, leaves = make()
        value = plain(results)
    except Exception as error:
        return "error", type(error).__name__, str(error)
    lie = strides(results, elementwise)
    try:
        return "ok", value, lie, gradients(results, leaves)
    except Exception as error:
        return "ok", value, lie, ("error", type(error).__name__, str(error))


def call(function: Callable[..., Any], args: Any, options: Any) -> tuple[Any, list[torch.Tensor]]:
    r"""The result of a function, and what wants a gradient."""
    args, options = turned_back(args), turned_back(options)
    leaves = [one for one in tensors_in([args, options]) if one.requires_grad]
    return function(*args, **options), leaves


def call_module(
    cls: type, training: bool, args: Any, options: Any
) -> tuple[Any, list[torch.Tensor]]:
    r"""A module's weights and its result, and what wants a gradient."""
    made, given = (turned_back(one) for one in args)
    made_by, given_by = (turned_back(one) for one in options)
    module = cls(*made, **made_by).train(training)
    lazy = (torch.nn.UninitializedParameter, torch.nn.UninitializedBuffer)
    weights = {
        key: one.detach().clone()
        for key, one in module.state_dict(keep_vars=True).items()
        if not isinstance(one, lazy)
    }
    leaves = [one for one in tensors_in([given, given_by]) if one.requires_grad]
    torch.manual_seed(1)
    results = module(*given, **given_by)
    return [weights, results, module.state_dict(), repr(module)], [*leaves, *module.parameters()]


def found(name: str) -> Callable[..., Any] | None:
    r"""What a name stands for: a function of torch, or a method or a property of tensors."""
    if name in CALLS:
        there = (_value(owner, name) for owner in (torch, torch.Tensor))
        return CALLS[name] if any(one is not None for one in there) else None
    for owner in (torch, torch.Tensor):
        function = _value(owner, name)
        if callable(function):
            return function
        if function is not None and owner is torch.Tensor:
            return lambda tensor: getattr(tensor, name)
    return None


def _value(owner: Any, name: str) -> Any:
    try:
        return reduce(getattr, name.split("."), owner)
    except AttributeError:
        return None


def outcomes(sample: dict[str, Any]) -> list[Any] | None:
    r"""What came of each call; None if the name isn't there."""
    function = found(sample["name"])
    if function is None:
        return None
    answers = []
    for kind, *rest in sample["calls"]:
        runner = call_module if kind == "module" else call
        answers.append(outcome(lambda: runner(function, *rest), sample["elementwise"]))  # noqa: B023
    return answers


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    samples = pickle.loads(Path(sys.argv[2]).read_bytes())
    Path(sys.argv[1]).write_bytes(pickle.dumps([outcomes(one) for one in samples]))

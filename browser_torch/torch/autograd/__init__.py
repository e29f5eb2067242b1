r"""Gradients, and operations with derivatives of one's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from torch._making import ones_like
from torch._tape import enable_grad, no_grad, run_backward, set_grad_enabled
from torch._tensor import Tensor
from torch._values import check_roots
from torch.autograd import function
from torch.autograd.function import Function

__all__ = [
    "Function",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "function",
    "grad",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]


def _listed(one: Any, count: int | None = None) -> list[Any]:
    if one is None:
        return [None] * (count or 0)
    return [one] if isinstance(one, Tensor) else list(one)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    r"""The gradients of some results for some inputs."""
    roots, wanted = _listed(outputs), _listed(inputs)
    gradients = check_roots(roots, _listed(grad_outputs, len(roots)))
    for one in wanted:
        if not one.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    keep = create_graph if retain_graph is None else retain_graph
    found = run_backward(roots, gradients, wanted, create_graph, keep)
    if materialize_grads:
        found = [
            ones_like(one.detach()) * 0 if got is None else got
            for one, got in zip(wanted, found, strict=True)
        ]
    for place, one in enumerate(found):
        if one is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {place} appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior."
            )
    return tuple(found)


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    r"""Leaves in every leaf the gradient of the sum of some numbers."""
    roots = _listed(tensors)
    gradients = check_roots(roots, _listed(grad_tensors, len(roots)))
    run_backward(roots, gradients, None, create_graph, bool(retain_graph))


@contextmanager
def detect_anomaly(check_nan: bool = True) -> Iterator[None]:
    r"""Nothing more is looked for here."""
    yield


def set_detect_anomaly(mode: bool, check_nan: bool = True) -> None:
    r"""Nothing more is looked for here."""


def __getattr__(name: str) -> Any:
    if name in ("forward_ad", "functional"):
        return import_module(f"torch.autograd.{name}")
    if name == "profiler":
        return import_module("torch.profiler")
    raise AttributeError(f"module 'torch.autograd' has no attribute '{name}'")

r"""Operations whose derivative is written by hand."""

from collections.abc import Callable
from typing import Any

from torch._dtypes import FLOATING
from torch._raw import filled
from torch._tape import Node, needs_record, no_grad
from torch._tensor import Tensor, alias_of


class FunctionCtx:
    r"""What the forward pass leaves for the backward pass."""

    needs_input_grad: tuple[bool, ...] = ()
    _saved: tuple[Any, ...] = ()
    _materialize = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        r"""Keeps tensors, which must not be changed in place."""
        self._saved = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        r"""The tensors that were kept."""
        return self._saved

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        r"""These results have no gradient."""
        self._without = {id(one) for one in tensors}

    def mark_dirty(self, *tensors: Tensor) -> None:
        r"""These inputs were changed in place."""

    def set_materialize_grads(self, value: bool) -> None:
        r"""Whether a gradient that isn't there is zeros."""
        self._materialize = value


BackwardCFunction = FunctionCtx


class Function:
    r"""An operation with a forward and a backward pass."""

    @staticmethod
    def forward(ctx: Any, *args: Any, **options: Any) -> Any:
        r"""What it computes."""
        raise NotImplementedError("You must implement the forward function for custom Function.")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        r"""The gradients of its inputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom Function to use "
            "it with backward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any) -> Any:
        r"""Computes it, as a part of the graph."""
        context = FunctionCtx()
        inputs = [one for one in args if isinstance(one, Tensor)]
        recorded = needs_record(inputs)
        context.needs_input_grad = tuple(
            isinstance(one, Tensor) and one.requires_grad for one in args
        )
        two_steps = "setup_context" in {name for one in cls.__mro__ for name in vars(one)}
        with no_grad():
            result = cls.forward(*args) if two_steps else cls.forward(context, *args)
            if two_steps:
                cls.setup_context(context, args, result)
        if not recorded:
            return result
        results = result if isinstance(result, tuple) else (result,)
        outputs = _recorded(cls, context, args, inputs, results)
        return outputs if isinstance(result, tuple) else outputs[0]


def _recorded(
    cls: type[Function],
    context: FunctionCtx,
    args: tuple[Any, ...],
    inputs: list[Tensor],
    results: tuple[Any, ...],
) -> tuple[Any, ...]:
    without = getattr(context, "_without", set())
    shapes = [(one.shape, one.dtype) if isinstance(one, Tensor) else None for one in results]

    def backward(parts: Any) -> list[Tensor | None]:
        given = list(parts) if len(results) > 1 else [parts]
        if context._materialize:
            given = [
                filled(shape[0], 0, shape[1]) if one is None and shape else one
                for one, shape in zip(given, shapes, strict=True)
            ]
        got = cls.backward(context, *given)
        got = got if isinstance(got, tuple) else (got,)
        if len(got) < len(args):
            raise RuntimeError(
                f"function {cls.__name__}Backward returned an incorrect number of gradients "
                f"(expected {len(args)}, got {len(got)})"
            )
        kept = [one for arg, one in zip(args, got, strict=False) if isinstance(arg, Tensor)]
        for arg, one in zip(inputs, kept, strict=True):
            if one is not None and one.shape != arg.shape:
                raise RuntimeError(
                    f"Function {cls.__name__}Backward returned an invalid gradient at index "
                    f"{inputs.index(arg)} - got {list(one.shape)} but expected shape compatible "
                    f"with {list(arg.shape)}"
                )
        return kept

    saved = [one for one in context._saved if isinstance(one, Tensor)]
    node = Node(inputs, backward, cls.__name__, saved, len(results))
    outputs = []
    for slot, one in enumerate(results):
        differentiable = isinstance(one, Tensor) and one.dtype.kind >= FLOATING
        if not differentiable or id(one) in without:
            outputs.append(one)
            continue
        made = alias_of(one)
        made._node, made._slot, made.requires_grad = node, slot, True
        outputs.append(made)
    return tuple(outputs)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    r"""The backward pass is not a part of a graph."""

    def without_graph(*args: Any) -> Any:
        with no_grad():
            return backward(*args)

    return without_graph

r"""Functions of functions: gradients, Jacobians, and one more axis for a batch."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from torch._joining import stack
from torch._making import ones_like, zeros_like
from torch._tape import Mode, enable_grad, run_backward
from torch._tensor import Tensor

Function = Callable[..., Any]


def _leaves(tree: Any) -> list[Tensor]:
    r"""All tensors of lists, tuples and dictionaries within each other."""
    if isinstance(tree, Tensor):
        return [tree]
    if isinstance(tree, dict):
        tree = list(tree.values())
    return (
        [one for part in tree for one in _leaves(part)] if isinstance(tree, (list, tuple)) else []
    )


def _mapped(function: Function, tree: Any) -> Any:
    r"""The same lists, tuples and dictionaries with other tensors."""
    if isinstance(tree, Tensor):
        return function(tree)
    if isinstance(tree, dict):
        return {key: _mapped(function, one) for key, one in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(_mapped(function, one) for one in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)(_mapped(function, one) for one in tree)
    return tree


def _filled_in(tree: Any, values: list[Tensor]) -> Any:
    r"""The tree with these tensors in the order of its own."""
    rest = iter(values)
    return _mapped(lambda _: next(rest), tree)


def _watched(tree: Any) -> Any:
    r"""The tree with tensors whose gradients are wanted; what came before them stays known."""
    return _mapped(lambda one: one.view_as(one) if one.requires_grad else _leaf(one), tree)


def _leaf(one: Tensor) -> Tensor:
    return one.detach().requires_grad_()


def _again(*trees: Any) -> bool:
    r"""Whether somebody outside wants derivatives of what is computed here."""
    return Mode.grad and any(one.requires_grad for one in _leaves(trees))


def _gradients(
    outputs: list[Tensor], inputs: list[Tensor], given: list[Tensor], again: bool
) -> list[Tensor]:
    r"""The gradients of the inputs, zeros where nothing depends on one."""
    pairs = [(out, one) for out, one in zip(outputs, given, strict=True) if out.requires_grad]
    if not pairs:
        return [zeros_like(one) for one in inputs]
    roots, starts = (list(part) for part in zip(*pairs, strict=True))
    found = run_backward(roots, starts, inputs, again, True)
    return [zeros_like(one) if got is None else got for one, got in zip(inputs, found, strict=True)]


def _chosen(args: tuple[Any, ...], argnums: Any) -> tuple[list[Any], Any]:
    r"""The arguments with those of `argnums` watched, and the watched ones."""
    args = list(args)
    places = argnums if isinstance(argnums, tuple) else (argnums,)
    for place in places:
        args[place] = _watched(args[place])
    watched = tuple(args[place] for place in places)
    return args, watched if isinstance(argnums, tuple) else watched[0]


def grad_and_value(func: Function, argnums: Any = 0, has_aux: bool = False) -> Function:
    r"""A function for the gradient of a number, and the number."""

    @wraps(func)
    def function(*args: Any, **options: Any) -> Any:
        again = _again(args)
        with enable_grad():
            given, watched = _chosen(args, argnums)
            result = func(*given, **options)
            value, extra = result if has_aux else (result, None)
            if value.numel() != 1:
                raise RuntimeError(
                    f"Expected f(*args) to return a scalar tensor, got tensor with "
                    f"{len(value.shape)} dims. Maybe you wanted to use the vjp or jacrev APIs "
                    "instead?"
                )
            found = _gradients([value], _leaves(watched), [ones_like(value)], again)
        gradient, value = _filled_in(watched, found), value if again else value.detach()
        return (gradient, (value, extra)) if has_aux else (gradient, value)

    return function


def grad(func: Function, argnums: Any = 0, has_aux: bool = False) -> Function:
    r"""A function for the gradient of a number."""

    @wraps(func)
    def function(*args: Any, **options: Any) -> Any:
        gradient, value = grad_and_value(func, argnums, has_aux)(*args, **options)
        return (gradient, value[1]) if has_aux else gradient

    return function


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    r"""The result, and a function from the gradient of the result to those of the inputs."""
    again = _again(primals)
    with enable_grad():
        watched = tuple(_watched(one) for one in primals)
        result = func(*watched)
        result, extra = result if has_aux else (result, None)

    def back(cotangents: Any) -> Any:
        found = _gradients(_leaves(result), _leaves(watched), _leaves(cotangents), again)
        return _filled_in(watched, found)

    value = result if again else _mapped(lambda one: one.detach(), result)
    return (value, back, extra) if has_aux else (value, back)


def jvp(func: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    r"""The result, and how it changes where the inputs move by `tangents`."""
    again = _again(primals, tangents)
    with enable_grad():
        watched = tuple(_watched(one) for one in primals)
        result = func(*watched)
        outputs, inputs = _leaves(result), _leaves(watched)
        # A gradient is linear in the gradient that it starts from: its gradient is the change.
        starts = [zeros_like(one).requires_grad_() for one in outputs]
        found = _gradients(outputs, inputs, starts, True)
        depends = [one.requires_grad for one in found]
        changes = [zeros_like(one) for one in outputs]
        if any(depends):
            roots = [one for one, needed in zip(found, depends, strict=True) if needed]
            moved = [one for one, needed in zip(_leaves(tangents), depends, strict=True) if needed]
            changes = _gradients(roots, starts, moved, again)
    value = result if again else _mapped(lambda one: one.detach(), result)
    return value, _filled_in(result, changes)


def jacrev(func: Function, argnums: Any = 0, has_aux: bool = False, **sizes: Any) -> Function:
    r"""A function for all derivatives of a result: its axes, then those of the argument."""

    @wraps(func)
    def function(*args: Any, **options: Any) -> Any:
        again = _again(args)
        with enable_grad():
            given, watched = _chosen(args, argnums)
            result = func(*given, **options)
            result, extra = result if has_aux else (result, None)
            inputs = _leaves(watched)

            def of_one(out: Tensor) -> Any:
                rows = []
                for place in range(out.numel()):
                    start = zeros_like(out).reshape(-1)
                    start[place] = 1
                    rows.append(_gradients([out], inputs, [start.view(out.shape)], again))
                columns = [
                    stack(list(parts)).reshape(*out.shape, *one.shape)
                    for parts, one in zip(zip(*rows, strict=True), inputs, strict=True)
                ]
                return _filled_in(watched, columns)

            found = _mapped(of_one, result)
        return (found, extra) if has_aux else found

    return function


def jacfwd(func: Function, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Function:
    r"""What `jacrev` gives."""
    return jacrev(func, argnums, has_aux)


def hessian(func: Function, argnums: Any = 0) -> Function:
    r"""A function for all second derivatives."""
    return jacrev(jacrev(func, argnums), argnums)


def _sliced(tree: Any, dims: Any, place: int) -> Any:
    r"""One example: along the axis of each tensor, or the tensor itself for None."""
    if isinstance(tree, Tensor):
        return tree if dims is None else tree.select(dims, place)
    if isinstance(tree, dict):
        each = dims if isinstance(dims, dict) else dict.fromkeys(tree, dims)
        return {key: _sliced(one, each[key], place) for key, one in tree.items()}
    if isinstance(tree, (list, tuple)):
        each = dims if isinstance(dims, (list, tuple)) else [dims] * len(tree)
        parts = [_sliced(one, dim, place) for one, dim in zip(tree, each, strict=True)]
        return type(tree)(parts)
    return tree


def _sizes(tree: Any, dims: Any) -> list[int]:
    r"""How many examples each tensor has."""
    if isinstance(tree, Tensor):
        return [] if dims is None else [tree.shape[dims]]
    if isinstance(tree, dict):
        each = dims if isinstance(dims, dict) else dict.fromkeys(tree, dims)
        return [size for key, one in tree.items() for size in _sizes(one, each[key])]
    if isinstance(tree, (list, tuple)):
        each = dims if isinstance(dims, (list, tuple)) else [dims] * len(tree)
        return [size for one, dim in zip(tree, each, strict=True) for size in _sizes(one, dim)]
    return []


def vmap(
    func: Function,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Function:
    r"""A function of one example, for each of a batch; here by one call for each."""

    @wraps(func)
    def function(*args: Any, **options: Any) -> Any:
        dims = in_dims if isinstance(in_dims, (tuple, list)) else (in_dims,) * len(args)
        sizes = _sizes(args, tuple(dims)) + _sizes(options, 0)
        if not sizes:
            raise ValueError(
                f"vmap({getattr(func, '__name__', func)}, in_dims={in_dims}, ...)(<inputs>): at "
                "least one input must be mapped over"
            )
        if len(set(sizes)) > 1:
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got "
                f"sizes {sizes} for the mapped dimension"
            )
        results = [
            func(*_sliced(args, tuple(dims), place), **_sliced(options, 0, place))
            for place in range(sizes[0])
        ]
        return _joined(results, out_dims)

    return function


def _joined(results: list[Any], dims: Any) -> Any:
    r"""The results of all examples, along a new axis."""
    first = results[0]
    if isinstance(first, Tensor):
        return stack(results, dims)
    if isinstance(first, dict):
        return {key: _joined([one[key] for one in results], dims) for key in first}
    each = dims if isinstance(dims, (list, tuple)) else [dims] * len(first)
    parts = [
        _joined(list(parts), dim)
        for parts, dim in zip(zip(*results, strict=True), each, strict=True)
    ]
    return type(first)(parts)


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    r"""Calls a module with other weights than its own."""
    given: dict[str, Tensor] = {}
    several = isinstance(parameter_and_buffer_dicts, (list, tuple))
    for one in parameter_and_buffer_dicts if several else (parameter_and_buffer_dicts,):
        given |= one
    places = {name: place for name, place in _places(module)}
    unknown = [name for name in given if name not in places]
    if strict and unknown:
        raise RuntimeError(f"Unexpected key(s): {', '.join(unknown)}.")
    given = {name: one for name, one in given.items() if name in places}
    if tie_weights:
        own = {name: where[key] for name, (where, key) in places.items()}
        for name, one in list(given.items()):
            for other, known in own.items():
                if known is own[name]:
                    given.setdefault(other, one)
    before = {name: places[name][0][places[name][1]] for name in given}
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    try:
        for name, one in given.items():
            places[name][0][places[name][1]] = one
        return module(*args, **(kwargs or {}))
    finally:
        for name, one in before.items():
            places[name][0][places[name][1]] = one


def _places(module: Any) -> list[tuple[str, tuple[dict[str, Any], str]]]:
    r"""Where each parameter and buffer is kept, by its full name."""
    found = []
    for path, one in module.named_modules(remove_duplicate=False):
        for kept in (one._parameters, one._buffers):
            for name, value in kept.items():
                if value is not None:
                    found.append((f"{path}.{name}" if path else name, (kept, name)))
    return found


def stack_module_state(models: Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    r"""The parameters and the buffers of equal modules, along a new axis."""
    parameters = [dict(one.named_parameters()) for one in models]
    buffers = [dict(one.named_buffers()) for one in models]
    return (
        {
            name: stack([one[name] for one in parameters]).detach().requires_grad_()
            for name in parameters[0]
        },
        {name: stack([one[name] for one in buffers]) for name in buffers[0]},
    )

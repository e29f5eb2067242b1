r"""The tape: what was computed from what, and the walk back along it.

Every operation on a tensor that requires a gradient leaves a `Node`: from which tensors its result
came, and a function from the gradient of the result to theirs. `run_backward` walks from a loss to
the leaves, each node after all those that used its result.
"""

import heapq
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from itertools import count
from typing import Any

from torch._dtypes import BOOLEAN, INTEGRAL, scalar_name
from torch._raw import Binary, binary, contiguous_copy
from torch._tensor import Counter, Tensor, alias_of, view_of


class Mode:
    r"""Whether operations are recorded at present."""

    grad = True
    inference = False


class _Switch:
    r"""Sets the mode within `with`, or within a decorated function."""

    value = True

    def __new__(cls, *args: Any, **options: Any) -> Any:
        switch = object.__new__(cls)
        # `@no_grad` without brackets.
        if len(args) == 1 and callable(args[0]):
            switch.__init__()
            return switch(args[0])
        return switch

    def __init__(self) -> None:
        self.before: list[bool] = []

    def __enter__(self) -> "_Switch":
        self.before.append(Mode.grad)
        Mode.grad = self.value
        return self

    def __exit__(self, *_: Any) -> None:
        Mode.grad = self.before.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def switched(*args: Any, **options: Any) -> Any:
            with self:
                return function(*args, **options)

        return switched


class no_grad(_Switch):
    r"""Nothing is recorded."""

    value = False


class enable_grad(_Switch):
    r"""Operations are recorded again."""


class inference_mode(_Switch):
    r"""Nothing is recorded."""

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.value = not mode and Mode.grad


class set_grad_enabled(_Switch):
    r"""Sets the mode at once, and for the block if it is used by `with`."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.value, self.first = mode, Mode.grad
        Mode.grad = mode

    def __enter__(self) -> "set_grad_enabled":
        self.before.append(self.first)
        Mode.grad = self.value
        return self


def is_grad_enabled() -> bool:
    r"""Whether operations are recorded."""
    return Mode.grad


Gradients = Iterable[Tensor | None]
_numbers = count()


class Node:
    r"""One operation of the graph."""

    __slots__ = (
        "number",
        "edges",  # for each input: the node or the leaf, and which of its results; or None
        "backward",
        "title",
        "saved",  # what the derivative needs, with the versions of it
        "result",  # the operation's own result, if the derivative needs it
        "outputs",
        "hooks",
        "kept",  # tensors that want to keep the gradient
        "__weakref__",
    )

    def __init__(
        self,
        inputs: Sequence[Tensor],
        backward: Callable[..., Gradients],
        name: str,
        saved: Sequence[Tensor] = (),
        outputs: int = 1,
    ) -> None:
        self.number, self.backward, self.title = next(_numbers), backward, name
        self.edges = [
            ((one._node or one, one._slot) if one.requires_grad else None) for one in inputs
        ]
        self.saved = [(one, one._counter.version) for one in saved]
        self.result, self.outputs = None, outputs
        self.hooks: list[Any] = []
        self.kept: list[Tensor] = []

    def name(self) -> str:
        r"""What PyTorch calls it."""
        return f"{self.title}Backward0"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        r"""The nodes from which the inputs came."""
        return tuple(
            (None, 0)
            if edge is None
            else (AccumulateGrad(edge[0]) if isinstance(edge[0], Tensor) else edge[0], edge[1])
            for edge in self.edges
        )

    def register_hook(self, hook: Callable[..., Any]) -> "Hook":
        r"""Calls a function with the gradients, once they are there."""
        return Hook(self.hooks, hook)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {hex(id(self))}>"


class AccumulateGrad:
    r"""The end of the graph at a leaf."""

    def __init__(self, variable: Tensor) -> None:
        self.variable, self.next_functions = variable, ()

    def name(self) -> str:
        r"""What PyTorch calls it."""
        return "torch::autograd::AccumulateGrad"

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {hex(id(self))}>"


class Hook:
    r"""A function that is called until it is removed."""

    def __init__(self, hooks: list[Any], function: Callable[..., Any]) -> None:
        self.hooks, self.entry = hooks, [function]
        hooks.append(self.entry)

    def remove(self) -> None:
        r"""Calls the function no more."""
        self.hooks[:] = [one for one in self.hooks if one is not self.entry]

    def __enter__(self) -> "Hook":
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()


def needs_record(inputs: Sequence[Tensor]) -> bool:
    r"""Whether an operation on these must leave a node."""
    if not Mode.grad:
        return False
    needed = False
    for one in inputs:
        if one._seen != one._counter.rebased:
            refresh(one)
        if one.requires_grad:
            needed = True
    return needed


def record(
    out: Tensor,
    inputs: Sequence[Tensor],
    backward: Callable[[Tensor], Gradients],
    name: str,
    saved: Sequence[Tensor] = (),
) -> Tensor:
    r"""Writes down how `out` was made, if one of the inputs requires a gradient."""
    if needs_record(inputs):
        out._node = Node(inputs, backward, name, saved)
        out.requires_grad = True
    return out


def record_result(
    out: Tensor,
    inputs: Sequence[Tensor],
    backward: Callable[[Tensor, Tensor], Gradients],
    name: str,
    saved: Sequence[Tensor] = (),
) -> Tensor:
    r"""The same for a derivative that needs the result, which it gets as second argument."""
    if needs_record(inputs):
        # An alias: a node that held its own result would be a ring, which is freed late.
        node = Node(inputs, backward, name, (*saved, alias_of(out)))
        node.result = node.saved[-1][0]
        out._node, out.requires_grad = node, True
    return out


def record_view(
    out: Tensor, source: Tensor, backward: Callable[[Tensor], Gradients], name: str
) -> Tensor:
    r"""The same for a view: it follows its base when that is changed in place."""
    out._base = source._base if source._base is not None else source
    if Mode.grad:
        if source._seen != source._counter.rebased:
            refresh(source)
        if source.requires_grad:
            out._node, out.requires_grad = Node((source,), backward, name), True
    out._seen = out._counter.rebased
    return out


def record_parts(
    parts: Sequence[Tensor],
    source: Tensor,
    backward: Callable[[Sequence[Tensor | None]], Gradients],
    name: str,
) -> None:
    r"""The same for several views, which one operation has made.

    The derivative gets the gradients of all parts at a time; that of a part without one is None.
    """
    base = source._base if source._base is not None else source
    node = None
    if needs_record((source,)):
        node = Node((source,), backward, name, outputs=len(parts))
        if len(parts) == 1:
            # The gradient of a single result comes without a list.
            node.backward = lambda gradient: backward([gradient])
    for slot, part in enumerate(parts):
        part._base, part._seen = base, part._counter.rebased
        if node is not None:
            part._node, part._slot, part.requires_grad = node, slot, True


def refresh(view: Tensor) -> None:
    r"""Gives a view whose base has been changed in place its place in the graph again."""
    if view._seen == view._counter.rebased:
        return
    view._seen = view._counter.rebased
    base = view._base
    if base is None or not base.requires_grad:
        return
    shape, strides, offset = view.shape, view._strides, view._offset
    view._node, view._slot = Node((base,), _place_in(base, shape, strides, offset), "AsStrided"), 0
    view.requires_grad = True


def _place_in(base: Tensor, shape: Any, strides: Any, offset: int) -> Callable[..., Gradients]:
    r"""The derivative of a view: its gradient at its place, zeros elsewhere."""
    from torch import _raw

    base_shape, base_strides, base_offset = base.shape, base._strides, base._offset

    def backward(gradient: Tensor) -> Gradients:
        whole = _raw.new_like_memory(base_shape, base_strides, gradient.dtype)
        place = view_of(whole, shape, strides, offset - base_offset)
        _raw.copy_into(place, gradient)
        return (whole,)

    return backward


def overwrite(target: Tensor, result: Tensor, name: str = "Copy") -> Tensor:
    r"""Puts the result of an operation in place of a tensor, in memory and in the graph."""
    from torch import _raw

    check_in_place(target, result)
    recorded = Mode.grad and (result.requires_grad or target.requires_grad)
    _raw.copy_into(target, result)
    target._counter.version += 1
    if not recorded:
        return target
    base = target._base
    if base is None:
        if result.requires_grad:
            target._node, target._slot = result._node, result._slot
            if result._node is None:
                target._node = Node((result,), lambda g: (g,), name)
        else:
            shape = target.shape
            target._node = Node((target,), lambda g: (_raw.filled(shape, 0, g.dtype),), name)
            target._slot = 0
        target.requires_grad = True
    else:
        _rebase(base, target, result)
    target._counter.rebased += 1
    if base is None:
        target._seen = target._counter.rebased
    else:
        base._seen = target._counter.rebased
        refresh(target)
    return target


def _rebase(base: Tensor, target: Tensor, result: Tensor) -> None:
    r"""The graph of a tensor of which a part was overwritten: outside of it nothing changes."""
    from torch import _raw

    shape, strides = target.shape, target._strides
    offset = target._offset - base._offset

    def backward(gradient: Tensor) -> Gradients:
        outside = _raw.new_like_memory(base.shape, base._strides, gradient.dtype)
        _raw.copy_into(outside, gradient)
        place = view_of(outside, shape, strides, offset)
        inside = _raw.contiguous(place)
        if inside._storage is place._storage:
            inside = _raw.dense_copy(place, place.dtype)
        _raw.copy_into(place, _raw.scalar(0, gradient.dtype))
        return outside, inside

    base._node, base._slot = Node((base, result), backward, "CopySlices"), 0
    base.requires_grad = True


def check_in_place(target: Tensor, result: Tensor | None = None) -> None:
    r"""Whether a tensor may be changed in place at all, and so."""
    if Mode.grad:
        if target._seen != target._counter.rebased:
            refresh(target)
        if target.requires_grad and target._node is None:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
            )
        base = target._base
        if base is not None and base.requires_grad and base._node is None:
            if target.requires_grad:
                raise RuntimeError(
                    "a view of a leaf Variable that requires grad is being used in an in-place "
                    "operation."
                )
    for size, stride in zip(target.shape, target._strides, strict=True):
        if stride == 0 and size > 1:
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a "
                "single memory location. Please clone() the tensor before performing the operation."
            )
    if result is None:
        return
    if result.shape != target.shape:
        from torch._shapes import broadcast

        shape = broadcast(target.shape, result.shape)
        if shape != target.shape:
            raise RuntimeError(
                f"output with shape {list(target.shape)} doesn't match the broadcast shape "
                f"{list(shape)}"
            )
    if target.dtype.kind < result.dtype.kind and not (
        target.dtype.kind == BOOLEAN and result.dtype.kind == BOOLEAN
    ):
        raise RuntimeError(
            f"result type {scalar_name(result.dtype)} can't be cast to the desired output type "
            f"{scalar_name(target.dtype)}"
        )


_FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)


def _check_saved(node: Node) -> None:
    r"""What a derivative needs must still be as it was."""
    if node.saved is None:
        raise RuntimeError(_FREED)
    for tensor, version in node.saved:
        if tensor._counter.version != version:
            maker = ""
            title = node.title if tensor is node.result else getattr(tensor._node, "title", None)
            if title is not None:
                maker = f", which is output {tensor._slot} of {title},"
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an "
                f"inplace operation: [torch.{scalar_name(tensor.dtype)}Tensor "
                f"{list(tensor.shape)}]{maker} is at version {tensor._counter.version}; expected "
                f"version {version} instead. Hint: enable anomaly detection to find the operation "
                "that failed to compute its gradient, with "
                "torch.autograd.set_detect_anomaly(True)."
            )


def _count_uses(roots: Iterable[Any]) -> dict[Any, int]:
    r"""How often the results of each node were used below the roots; the same for leaves."""
    uses = dict.fromkeys(roots, 0)
    stack = [root for root in uses if isinstance(root, Node)]
    while stack:
        for edge in stack.pop().edges:
            if edge is None:
                continue
            target = edge[0]
            known = uses.get(target)
            if known is not None:
                uses[target] = known + 1
                continue
            uses[target] = 1
            if isinstance(target, Node):
                stack.append(target)
    return uses


# A derivative that needs nothing but a number of Python saves this: its node is freed, too.
NUMBER = Tensor.__new__(Tensor)
NUMBER._counter = Counter()


class _Walk:
    r"""One walk back: the gradients that wait until all their parts are there."""

    def __init__(self, wanted: Sequence[Tensor] | None, create_graph: bool, retain: bool) -> None:
        self.create_graph, self.retain = create_graph, retain
        # With `wanted`, gradients are collected; without, they are left in the leaves.
        self.collect = wanted is not None
        self.wanted = {(one._node or one, one._slot) for one in wanted or ()}
        self.found: dict[Any, Tensor] = {}
        self.waiting: dict[Any, list[Tensor | None]] = {}
        self.ready: list[tuple[int, int, Any]] = []
        self.uses: dict[Any, int] = {}

    def give(self, target: Any, slot: int, gradient: Tensor | None) -> None:
        r"""Adds a part to a gradient."""
        parts = self.waiting.get(target)
        if parts is None:
            count = target.outputs if isinstance(target, Node) else 1
            parts = self.waiting[target] = [None] * count
        if gradient is None:
            return
        if parts[slot] is None:
            parts[slot] = gradient
        elif self.create_graph:
            parts[slot] = parts[slot] + gradient
        else:
            parts[slot] = binary(Binary.ADD, parts[slot], gradient)

    def put(self, target: Any) -> None:
        r"""All uses of a node are done: it can be visited."""
        # Leaves first, then what was computed last.
        number = target.number if isinstance(target, Node) else 2**60
        heapq.heappush(self.ready, (-number, id(target), target))

    def run(self, roots: Sequence[Tensor], gradients: Sequence[Tensor]) -> None:
        r"""Visits all nodes below the roots."""
        targets = [(one._node or one, one._slot) for one in roots]
        self.uses = _count_uses({target for target, _ in targets})
        for (target, slot), gradient in zip(targets, gradients, strict=True):
            self.give(target, slot, gradient)
        for target in {target: None for target, _ in targets}:
            if not self.uses[target]:
                self.put(target)
        while self.ready:
            target = heapq.heappop(self.ready)[2]
            parts = self.waiting.pop(target)
            if isinstance(target, Node):
                self.visit(target, parts)
            elif parts[0] is not None:
                self.arrive(target, parts[0])

    def visit(self, node: Node, parts: list[Tensor | None]) -> None:
        r"""From the gradients of a node's results to those of its inputs."""
        for entry in list(node.hooks):
            changed = entry[0](node, parts) if node.outputs > 1 else entry[0](parts[0])
            if changed is not None and node.outputs == 1:
                parts[0] = changed
        for tensor in node.kept:
            got = parts[tensor._slot]
            if got is not None:
                tensor.grad = got if tensor.grad is None else tensor.grad + got
        for slot, part in enumerate(parts) if self.wanted else ():
            if (node, slot) in self.wanted and part is not None:
                self.found[node, slot] = part
        gradients: Gradients = [None] * len(node.edges)
        arrived: Any = parts[0]
        if node.outputs > 1:
            arrived = parts if any(part is not None for part in parts) else None
        if arrived is not None:
            _check_saved(node)
            arguments: list[Any] = [arrived]
            if node.result is not None:
                arguments.append(self.unpack(node))
            gradients = node.backward(*arguments)
        if not self.retain and node.saved:
            node.saved = node.backward = node.result = None
        for edge, gradient in zip(node.edges, gradients, strict=False):
            if edge is None:
                continue
            target, slot = edge
            self.give(target, slot, gradient)
            self.uses[target] -= 1
            if not self.uses[target]:
                self.put(target)

    def unpack(self, node: Node) -> Tensor:
        r"""The node's own result, with its place in the graph if derivatives are recorded."""
        result = alias_of(node.result)
        if self.create_graph:
            result._node, result.requires_grad = node, True
        return result

    def arrive(self, leaf: Tensor, gradient: Tensor) -> None:
        r"""The whole gradient of a leaf is there."""
        hooks = leaf._hooks or {}
        for entry in list(hooks.get("gradient", ())):
            changed = entry[0](gradient)
            gradient = gradient if changed is None else changed
        if self.collect:
            if (leaf, 0) in self.wanted:
                self.found[leaf, 0] = gradient
            return
        if leaf.grad is not None:
            leaf.grad = leaf.grad + gradient
        else:
            leaf.grad = gradient if self.create_graph else own_memory(gradient)
        for entry in list(hooks.get("accumulated", ())):
            entry[0](leaf)


def own_memory(gradient: Tensor) -> Tensor:
    r"""A gradient that shares its memory with nothing else: optimizers change it in place."""
    whole = gradient.numel() * gradient.dtype.itemsize == gradient._storage.n_bytes
    if whole and gradient._base is None and gradient.is_contiguous():
        return alias_of(gradient)
    return contiguous_copy(gradient)


def run_backward(
    roots: Sequence[Tensor],
    gradients: Sequence[Tensor],
    wanted: Sequence[Tensor] | None = None,
    create_graph: bool = False,
    retain_graph: bool = False,
) -> list[Tensor | None]:
    r"""Walks from the roots to the leaves; gives the gradients of what is wanted."""
    before = Mode.grad
    Mode.grad = create_graph
    try:
        walk = _Walk(wanted, create_graph, retain_graph or create_graph)
        walk.run(roots, gradients)
    finally:
        Mode.grad = before
    return [walk.found.get((one._node or one, one._slot)) for one in wanted or ()]


def require_differentiable(tensor: Tensor) -> None:
    r"""Only numbers that can change by a little have gradients."""
    if tensor.dtype.kind in (BOOLEAN, INTEGRAL):
        raise RuntimeError("only Tensors of floating point dtype can require gradients")

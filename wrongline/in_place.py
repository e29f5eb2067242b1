r"""
---
title: Test a Model in Place
summary: Your own model runs, with other weights, and at the end everything is as it was.
---

```python
with borrowed(model):
    # Other weights, other flags, steps of an optimizer: whatever a test needs.
    model.train()
```

A test needs other weights than yours, and changes modes, buffers and gradients. A copy of the model
would keep yours safe, and be another model: a function that the model holds, such as a lambda over
its layers in minGPT, would still compute with the *original* layers. A lock, a file or a tensor
with a history can't be copied at all. So the model itself runs. Everything that can be reached from
it is remembered first, and put back at the end, also after an error.

Weights are exchanged by their `data`. (`torch.func.functional_call` would exchange the entries of
the modules instead. A function that holds a weight itself would not notice, and nor would an
optimizer.)

**In:** a module. **Out:** a block in which it may be changed. Its numbers have 32 bits there.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import torch
from torch import Tensor, nn

# A configuration of a configuration is as deep as plain objects go.
DEEP = 4


class Memory:
    r"""
    ## Everything that can be reached from a module
    """

    def __init__(self) -> None:
        r"""
        Nothing is known at first.
        """
        # What was seen is kept, or its number could become that of another object.
        self.seen: dict[int, Any] = {}
        self.put: list[Callable[[], Any]] = []

    def remember(self, value: Any, depth: int = 0) -> None:
        r"""
        ### Remember a value, and all that it holds

        `depth` counts the plain objects on the way to it.
        """
        if id(value) in self.seen or depth > DEEP:
            return
        self.seen[id(value)] = value
        if isinstance(value, Tensor):
            self.tensor(value)
        elif isinstance(value, torch.Generator):
            state = value.get_state()
            self.put.append(partial(value.set_state, state))
        elif isinstance(value, dict):
            self.dictionary(value, depth)
        elif isinstance(value, list | deque | set):
            self.container(value, depth)
        elif isinstance(value, tuple):
            for one in value:
                self.remember(one, depth)
        # A function knows what it was made with, and a method its object.
        elif isinstance(value, FunctionType):
            for cell in value.__closure__ or ():
                self.cell(cell, depth)
        elif isinstance(value, MethodType):
            self.remember(value.__self__, depth)
        elif isinstance(value, nn.Module):
            self.module(value)
        elif is_plain(value):
            self.dictionary(value.__dict__, depth + 1)

    def put_back(self) -> None:
        r"""
        ### Put everything back

        The last thing first.
        """
        for one in reversed(self.put):
            one()

    def cell(self, cell: Any, depth: int) -> None:
        r"""
        ### What a function holds

        A name that isn't bound yet has an empty cell.
        """
        try:
            value = cell.cell_contents
        except ValueError:
            return
        self.remember(value, depth + 1)

    def tensor(self, value: Tensor) -> None:
        r"""
        ### A tensor: its numbers, its gradient, and whether it wants one
        """
        # What was computed, or is a part of another tensor, can't get other memory. It is written
        # back, if somebody has written on it.
        if not value.is_leaf or value._base is not None:
            numbers = value.detach().clone()

            def write() -> None:
                if not value.detach().equal(numbers):
                    value.data.copy_(numbers)

            self.put.append(write)
            return
        before = value.data
        gradient = value.grad
        wanted = value.requires_grad

        # In the block it has memory of its own.
        value.grad = None
        value.data = before.clone()

        def put_back() -> None:
            # What was computed was written on it, as on a buffer of a cache.
            if not value.is_leaf:
                value.detach_()
            value.grad = None
            value.data = before
            if value.requires_grad != wanted:
                value.requires_grad_(wanted)
            value.grad = gradient

        self.put.append(put_back)
        # A training step may be hooked on the gradient of a weight.
        for name in ("_backward_hooks", "_post_accumulate_grad_hooks"):
            self.hooks(partial(getattr, value, name, None))

    def dictionary(self, value: dict, depth: int) -> None:
        r"""
        ### A dictionary, such as the attributes of a module
        """
        before = dict(value)

        def put_back() -> None:
            if len(before) == len(value) and all(
                key in value and value[key] is one for key, one in before.items()
            ):
                return
            value.clear()
            value.update(before)

        self.put.append(put_back)
        for one in before.values():
            self.remember(one, depth)

    def hooks(self, read: Callable[[], dict | None]) -> None:
        r"""
        ### What is hooked on a tensor or a module

        It is called by PyTorch, and isn't a part of what it is hooked on. With the first hook there
        is a dictionary.
        """
        before = dict(read() or {})

        def put_back() -> None:
            now = read()
            if now is not None and [*now] != [*before]:
                now.clear()
                now.update(before)

        self.put.append(put_back)

    def container(self, value: Any, depth: int) -> None:
        r"""
        ### A list, a queue or a set
        """
        before = list(value)

        def put_back() -> None:
            value.clear()
            fill = value.update if isinstance(value, set) else value.extend
            fill(before)

        self.put.append(put_back)
        for one in before:
            self.remember(one, depth)

    def module(self, value: nn.Module) -> None:
        r"""
        ### A module

        (That of a script keeps its mode elsewhere than in its attributes.)
        """
        mode = value.training

        def put_back() -> None:
            if value.training != mode:
                value.training = mode

        self.put.append(put_back)
        # A module is never too deep.
        for name, one in value.__dict__.items():
            if name.endswith("_hooks") and isinstance(one, dict):
                self.seen[id(one)] = one
                self.hooks(partial(value.__dict__.get, name))
        self.dictionary(value.__dict__, 0)
        for one in [*value.parameters(recurse=False), *value.buffers(recurse=False)]:
            self.remember(one)
        for part in value.children():
            self.remember(part)


def is_plain(value: Any) -> bool:
    r"""
    ## Is it an object with attributes of its own?

    Not a class, and not an object of Python's library, such as a logger, which knows all others.
    """
    if isinstance(value, type) or not isinstance(getattr(value, "__dict__", None), dict):
        return False
    return type(value).__module__.partition(".")[0] not in sys.stdlib_module_names


@contextmanager
def borrowed(module: nn.Module) -> Iterator[nn.Module]:
    r"""
    ## The block
    """
    memory = Memory()
    try:
        memory.remember(module)
        # Weights and buffers of 16 or of 64 bits. Whole and complex numbers stay what they are.
        for one in [*module.parameters(), *module.buffers()]:
            if one.is_floating_point() and one.dtype != torch.float32:
                one.data = one.data.float()
        yield module
    finally:
        memory.put_back()


def forget_history(module: nn.Module) -> None:
    r"""
    ## What a module keeps is a number again

    A cache that was written in one call has the graph of that call. A second backward pass would
    go through it, too, and fail.
    """
    for part in module.modules():
        for one in [*vars(part).values(), *part.buffers(recurse=False)]:
            if isinstance(one, Tensor) and one.grad_fn is not None and not one._is_view():
                one.detach_()


def example(d_in: int = 3, d_out: int = 5) -> tuple[Tensor, bool, bool]:
    r"""
    ## Example

    A layer is trained for a step in the block, and knows nothing of it.

    ### Exercises

    ??? question "A model keeps its last attention in a dictionary. What happens to that?"
        The dictionary is filled by the test's calls, and at the end it has what it had.

    ??? question "Why not copy the model?"
        A function that the model holds is not copied: it would run the original's layers.
    """
    layer = nn.Linear(d_in, d_out)
    before = layer.weight.detach().clone()
    with borrowed(layer):
        # As a training does it, in place.
        layer(torch.ones(d_in)).sum().backward()
        gradient = layer.weight.grad
        assert gradient is not None
        with torch.no_grad():
            layer.weight -= gradient
        changed = not layer.weight.equal(before)

    # The weight is what it was, and has no gradient.
    return layer(torch.ones(d_in)), changed, layer.weight.grad is None

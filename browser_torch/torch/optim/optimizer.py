r"""What all optimizers have: parameters in groups, a state for each, hooks around a step."""

import functools
from collections import defaultdict
from collections.abc import Callable
from itertools import chain
from typing import Any

from torch._absent import absent
from torch._tape import enable_grad, no_grad
from torch._tensor import Tensor
from torch.nn.module import RemovableHandle

__all__ = [
    "Optimizer",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]

# Called around the step of every optimizer.
_before_every_step: dict[Any, Callable[..., Any]] = {}
_after_every_step: dict[Any, Callable[..., Any]] = {}


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    r"""Calls `hook(optimizer, args, kwargs)` before each step of any optimizer."""
    return RemovableHandle(_before_every_step, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    r"""Calls `hook(optimizer, args, kwargs)` after each step of any optimizer."""
    return RemovableHandle(_after_every_step, hook)


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    r"""A step that calls the hooks of all optimizers, then those of its own."""

    @functools.wraps(step)
    def hooked(*args: Any, **kwargs: Any) -> Any:
        optimizer, *_ = args
        before = chain(_before_every_step.values(), optimizer._before_step.values())
        for hook in tuple(before):
            result = hook(optimizer, args, kwargs)
            if result is None:
                continue
            if not isinstance(result, tuple) or len(result) != 2:
                raise RuntimeError(
                    f"{step} must return None or a tuple of (new_args, new_kwargs), "
                    f"but got {result}."
                )
            args, kwargs = result
        out = step(*args, **kwargs)
        after = chain(optimizer._after_step.values(), _after_every_step.values())
        for hook in tuple(after):
            hook(optimizer, args, kwargs)
        return out

    hooked.hooked = True
    return hooked


class Optimizer:
    r"""Parameters in groups, and a state for each."""

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got torch.{'Float'}Tensor"
            )
        self.defaults = defaults
        self._before_step: dict[Any, Callable[..., Any]] = {}
        self._after_step: dict[Any, Callable[..., Any]] = {}
        # A class of a reader's own has a step of its own.
        kind = type(self)
        if not getattr(kind.step, "hooked", False):
            kind.step = _with_hooks(kind.step)
        self.state: dict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        given = list(params)
        if not given:
            raise ValueError("optimizer got an empty parameter list")
        groups = given if isinstance(given[0], dict) else [{"params": given}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        r"""More parameters, with options of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        group = dict(param_group)
        given = group["params"]
        given = [given] if isinstance(given, Tensor) else list(given)
        parameters = [one[1] if isinstance(one, tuple) else one for one in given]
        for one in parameters:
            if not isinstance(one, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {type(one)}"
                )
            if not one.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        known = {id(one) for other in self.param_groups for one in other["params"]}
        if known & {id(one) for one in parameters}:
            raise ValueError("some parameters appear in more than one parameter group")
        group["params"] = parameters
        for name, value in self.defaults.items():
            group.setdefault(name, value)
        self.param_groups.append(group)

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        r"""Calls `hook(optimizer, args, kwargs)` before each step."""
        return RemovableHandle(self._before_step, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        r"""Calls `hook(optimizer, args, kwargs)` after each step."""
        return RemovableHandle(self._after_step, hook)

    def zero_grad(self, set_to_none: bool = True) -> None:
        r"""Forgets the gradients."""
        for group in self.param_groups:
            for one in group["params"]:
                if set_to_none or one.grad is None:
                    one.grad = None
                else:
                    one.grad = one.grad.detach() * 0

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        r"""Changes every parameter that has a gradient."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for one in group["params"]:
                    if one.grad is not None:
                        self.update(one, one.grad, group, self.state[one])
        return loss

    def update(
        self, parameter: Tensor, gradient: Tensor, group: dict[str, Any], state: dict[str, Any]
    ) -> None:
        r"""Changes one parameter."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        r"""State and options, with numbers in place of parameters."""
        number = {
            id(one): place
            for place, one in enumerate(
                one for group in self.param_groups for one in group["params"]
            )
        }
        return {
            "state": {number[id(one)]: state for one, state in self.state.items()},
            "param_groups": [
                {**group, "params": [number[id(one)] for one in group["params"]]}
                for group in self.param_groups
            ],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        r"""Takes over state and options."""
        if len(state_dict["param_groups"]) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        parameters = [one for group in self.param_groups for one in group["params"]]
        self.state = defaultdict(dict)
        for place, state in state_dict["state"].items():
            self.state[parameters[place]] = {
                name: value.clone() if isinstance(value, Tensor) else value
                for name, value in state.items()
            }
        for group, loaded in zip(self.param_groups, state_dict["param_groups"], strict=True):
            group.update({name: value for name, value in loaded.items() if name != "params"})

    def __repr__(self) -> str:
        lines = []
        for place, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {place}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return f"{type(self).__name__} (\n" + "\n".join(lines) + "\n)"


__getattr__ = absent("module 'torch.optim.optimizer'", lambda: list(globals()), {})

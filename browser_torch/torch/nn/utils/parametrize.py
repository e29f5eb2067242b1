r"""Weights that are computed from others, each by a module."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch._tape import no_grad
from torch._tensor import Tensor
from torch.nn.containers import ModuleDict, ModuleList
from torch.nn.module import Module
from torch.nn.parameter import Parameter


class _Cache:
    r"""What has been computed within `cached`."""

    on = 0
    kept: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    r"""Each weight is computed once within."""
    _Cache.on += 1
    try:
        yield
    finally:
        _Cache.on -= 1
        if not _Cache.on:
            _Cache.kept.clear()


class ParametrizationList(ModuleList):
    r"""Parametrizations one after another, and the weight from which they begin."""

    def __init__(self, modules: Any, original: Tensor) -> None:
        super().__init__(modules)
        value = original.detach()
        for one in reversed(self):
            if hasattr(one, "right_inverse"):
                with no_grad():
                    value = one.right_inverse(value)
        if isinstance(original, Parameter):
            self.original = Parameter(value, requires_grad=original.requires_grad)
        else:
            self.register_buffer("original", value)

    def forward(self) -> Tensor:
        r"""The weight."""
        value = self.original
        for one in self:
            value = one(value)
        return value


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    r"""Whether a module has parametrizations, or one for a weight."""
    kept = module._modules.get("parametrizations")
    return kept is not None and (tensor_name in kept if tensor_name else len(kept) > 0)


def _weight(name: str) -> property:
    def get(self: Module) -> Tensor:
        key = id(self), name
        if _Cache.on and key in _Cache.kept:
            return _Cache.kept[key]
        value = self.parametrizations[name]()
        if _Cache.on:
            _Cache.kept[key] = value
        return value

    return property(get)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    r"""From now on the weight is what a module makes of another one, which is learned."""
    module.train(module.training)
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        module.parametrizations[tensor_name].append(parametrization)
        return module
    original = module._parameters.pop(tensor_name, None)
    if original is None:
        original = module._buffers.pop(tensor_name, None)
    if original is None:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    if not is_parametrized(module):
        cls = type(module)
        module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), {"__module__": __name__})
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _weight(tensor_name))
    module.parametrizations[tensor_name] = ParametrizationList([parametrization], original)
    return module


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    r"""The weight is learned itself again."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    kept = module.parametrizations[tensor_name]
    original = kept.original
    if leave_parametrized:
        with no_grad():
            original.data = getattr(module, tensor_name).detach()
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    if not len(module.parametrizations):
        del module._modules["parametrizations"]
        module.__class__ = type(module).__bases__[0]
    return module

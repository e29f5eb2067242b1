r"""Modules that hold modules or parameters."""

from collections.abc import Iterable, Iterator
from typing import Any

from torch._shapes import as_int
from torch.nn.module import Module
from torch.nn.parameter import Parameter


def _place(index: Any, count: int) -> int:
    place = as_int(index)
    if not -count <= place < count:
        raise IndexError(f"index {place} is out of range")
    return place % count


class Sequential(Module):
    r"""Modules, each of which gets the result of the one before."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for place, module in enumerate(args):
                self.add_module(str(place), module)

    def forward(self, input: Any) -> Any:
        r"""Through all modules."""
        for module in self:
            input = module(input)
        return input

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __getitem__(self, index: Any) -> Any:
        modules = list(self._modules.values())
        if isinstance(index, slice):
            return type(self)(*modules[index])
        return modules[_place(index, len(modules))]

    def append(self, module: Module) -> "Sequential":
        r"""One more at the end."""
        self.add_module(str(len(self)), module)
        return self


class ModuleList(Module):
    r"""Modules in a list."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules or ())

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __contains__(self, module: object) -> bool:
        return any(module is one for one in self)

    def __getitem__(self, index: Any) -> Any:
        modules = list(self._modules.values())
        if isinstance(index, slice):
            return ModuleList(modules[index])
        return modules[_place(index, len(modules))]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, str(_place(index, len(self))), module)

    def append(self, module: Module) -> "ModuleList":
        r"""One more at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> "ModuleList":
        r"""Several more at the end."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        r"""One more before a place."""
        modules = [*self]
        modules.insert(index, module)
        self._modules.clear()
        self.extend(modules)


class ModuleDict(Module):
    r"""Modules by name."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        for name, module in dict(modules or {}).items():
            self.add_module(name, module)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def keys(self) -> Any:
        r"""The names."""
        return self._modules.keys()

    def values(self) -> Any:
        r"""The modules."""
        return self._modules.values()

    def items(self) -> Any:
        r"""Names with their modules."""
        return self._modules.items()


class ParameterList(Module):
    r"""Parameters in a list."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        super().__init__()
        for value in values or ():
            self.append(value)

    def append(self, value: Any) -> "ParameterList":
        r"""One more at the end."""
        parameter = value if isinstance(value, Parameter) else Parameter(value)
        self.register_parameter(str(len(self)), parameter)
        return self

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._parameters.values())

    def __getitem__(self, index: int) -> Parameter:
        return list(self._parameters.values())[_place(index, len(self))]


class ParameterDict(Module):
    r"""Parameters by name."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        for name, value in dict(parameters or {}).items():
            self[name] = value

    def __getitem__(self, key: str) -> Parameter:
        return self._parameters[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.register_parameter(key, value if isinstance(value, Parameter) else Parameter(value))

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __contains__(self, key: object) -> bool:
        return key in self._parameters

    def items(self) -> Any:
        r"""Names with their parameters."""
        return self._parameters.items()

    def keys(self) -> Any:
        r"""The names."""
        return self._parameters.keys()

    def values(self) -> Any:
        r"""The parameters."""
        return self._parameters.values()

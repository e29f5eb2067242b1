r"""The module: parameters, buffers and modules within modules, by name."""

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator
from typing import Any

from torch._dtypes import COMPLEX, FLOATING, bfloat16, dtype, float16, float32, float64
from torch._making import check_device
from torch._tape import Mode, no_grad
from torch._tensor import Tensor, share_memory
from torch._values import is_dtype
from torch.nn.parameter import Buffer, Parameter


class RemovableHandle:
    r"""A hook that can be taken off again."""

    def __init__(self, hooks: dict[Any, Any], hook: Any) -> None:
        self.hooks, self.id = hooks, object()
        hooks[self.id] = hook

    def remove(self) -> None:
        r"""Calls the hook no more."""
        self.hooks.pop(self.id, None)

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()


class _IncompatibleKeys(namedtuple("IncompatibleKeys", "missing_keys unexpected_keys")):
    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()


_KINDS = ("_parameters", "_buffers", "_modules")


class Module:
    r"""What has parameters and a `forward`."""

    training: bool

    def __init__(self, *args: Any, **options: Any) -> None:
        if args or options:
            given = next(iter(options), None)
            what = f"an unexpected keyword argument '{given}'" if options else "arguments"
            raise TypeError(f"{type(self).__name__}.__init__() got {what}")
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _modules={},
            _non_persistent_buffers_set=set(),
            _forward_hooks={},
            _forward_pre_hooks={},
            _backward_hooks={},
        )

    def forward(self, *args: Any, **options: Any) -> Any:
        r"""What the module computes."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args: Any, **options: Any) -> Any:
        for hook, with_kwargs in list(self._forward_pre_hooks.values()):
            given = hook(self, args, options) if with_kwargs else hook(self, args)
            if given is None:
                continue
            if with_kwargs:
                args, options = given
            else:
                args = given if isinstance(given, tuple) else (given,)
        out = self.forward(*args, **options)
        for hook, with_kwargs in list(self._forward_hooks.values()):
            given = hook(self, args, options, out) if with_kwargs else hook(self, args, out)
            out = out if given is None else given
        for hook in list(self._backward_hooks.values()):
            _hook_backward(self, hook, out)
        return out

    # Attributes that are parameters, buffers or modules
    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, (Parameter, Module)):
            if "_parameters" not in own:
                what = "parameters" if isinstance(value, Parameter) else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            own.pop(name, None)
            among = "_parameters" if isinstance(value, Parameter) else "_modules"
            # What takes the place of another one keeps its place in the order.
            for kind in _KINDS:
                if kind != among:
                    own[kind].pop(name, None)
            own[among][name] = value
        elif isinstance(value, Buffer):
            self.register_buffer(name, value, value.persistent)
        elif name in own.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            own["_parameters"][name] = None
        elif name in own.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            own["_modules"][name] = None
        elif name in own.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as buffer '{name}' "
                    "(torch.nn.Buffer, torch.Tensor or None expected)"
                )
            own["_buffers"][name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for kind in _KINDS:
            if name in own.get(kind, ()):
                return own[kind][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for kind in _KINDS:
            if name in self.__dict__[kind]:
                del self.__dict__[kind][name]
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        own = self.__dict__
        return sorted({*object.__dir__(self), *(name for kind in _KINDS for name in own[kind])})

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        r"""Keeps a tensor that is not learned."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_type_name(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        r"""Keeps a tensor that is learned, or says that there is none."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_type_name(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        self._parameters[name] = param

    def add_module(self, name: str, module: "Module | None") -> None:
        r"""Keeps a module under a name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_type_name(module)} is not a Module subclass")
        self._modules[name] = module

    register_module = add_module

    # Hooks
    def register_forward_hook(
        self, hook: Callable[..., Any], *, with_kwargs: bool = False, **options: Any
    ) -> RemovableHandle:
        r"""Calls a function after each forward pass."""
        return RemovableHandle(self._forward_hooks, (hook, with_kwargs))

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, with_kwargs: bool = False, **options: Any
    ) -> RemovableHandle:
        r"""Calls a function before each forward pass."""
        return RemovableHandle(self._forward_pre_hooks, (hook, with_kwargs))

    def register_full_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        r"""Calls a function with the gradients of the results."""
        return RemovableHandle(self._backward_hooks, hook)

    # What is inside
    def named_modules(
        self, memo: set["Module"] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, "Module"]]:
        r"""This module and all within it, with their names."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in list(self._modules.items()):
            if module is not None:
                inner = prefix + ("." if prefix else "") + name
                yield from module.named_modules(memo, inner, remove_duplicate)

    def modules(self) -> Iterator["Module"]:
        r"""This module and all within it."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, "Module"]]:
        r"""The modules right below, with their names."""
        seen = set()
        for name, module in list(self._modules.items()):
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator["Module"]:
        r"""The modules right below."""
        return (module for _, module in self.named_children())

    def _named(
        self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        inside = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for module_name, module in inside:
            for name, one in list(getattr(module, kind).items()):
                if one is None or id(one) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(one))
                yield module_name + ("." if module_name else "") + name, one

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        r"""All parameters with their names; one that is shared comes once."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        r"""All parameters."""
        return (one for _, one in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        r"""All buffers with their names."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        r"""All buffers."""
        return (one for _, one in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> "Module":
        r"""The module under a path of names."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
        return module

    def get_parameter(self, target: str) -> Parameter:
        r"""The parameter under a path of names."""
        path, _, name = target.rpartition(".")
        return getattr(self.get_submodule(path), name)

    get_buffer = get_parameter

    # What is done to all
    def train(self, mode: bool = True) -> "Module":
        r"""Whether dropout and its like act."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> "Module":
        r"""Dropout and its like do nothing."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> "Module":
        r"""Whether the parameters want gradients."""
        for one in self.parameters():
            one.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        r"""Forgets the gradients."""
        for one in self.parameters():
            if set_to_none or one.grad is None:
                one.grad = None
            else:
                one.grad = one.grad.detach() * 0

    def apply(self, fn: Callable[["Module"], None]) -> "Module":
        r"""Calls a function with each module, the inner ones first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, change: Callable[[Tensor], Tensor]) -> "Module":
        for module in self.modules():
            for one in module._parameters.values():
                if one is not None:
                    with no_grad():
                        changed = change(one.detach())
                    if changed._storage is not one._storage or changed.dtype is not one.dtype:
                        share_memory(one, changed)
                    if one.grad is not None:
                        one.grad = change(one.grad)
            for name, one in module._buffers.items():
                if one is not None:
                    module._buffers[name] = change(one)
        return self

    def to(self, *args: Any, dtype: Any = None, device: Any = None, **options: Any) -> "Module":
        r"""Another type; another device would be an error."""
        check_device(device)
        for one in args:
            if is_dtype(one):
                dtype = one
            elif isinstance(one, Tensor):
                dtype = one.dtype
            elif one is not None and not isinstance(one, bool):
                check_device(one)
        if dtype is None:
            return self
        if dtype.kind not in (FLOATING, COMPLEX):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={dtype}"
            )
        return self._to_floating(dtype)

    def _to_floating(self, d: dtype) -> "Module":
        return self._apply(lambda one: one.to(d) if one.dtype.kind >= FLOATING else one)

    def type(self, dst_type: dtype) -> "Module":
        r"""All parameters and buffers of another type."""
        return self._apply(lambda one: one.type(dst_type))

    def to_empty(self, *, device: Any, recurse: bool = True) -> "Module":
        r"""Weights without values, to be filled."""
        check_device(device)
        return self

    def double(self) -> "Module":
        r"""In double precision."""
        return self._to_floating(float64)

    def float(self) -> "Module":
        r"""In single precision."""
        return self._to_floating(float32)

    def half(self) -> "Module":
        r"""In half precision."""
        return self._to_floating(float16)

    def bfloat16(self) -> "Module":
        r"""In bfloat16."""
        return self._to_floating(bfloat16)

    def cpu(self) -> "Module":
        r"""On the CPU, where it is."""
        return self

    def cuda(self, device: Any = None) -> "Module":
        r"""There is no GPU here."""
        check_device("cuda")
        return self

    def share_memory(self) -> "Module":
        r"""Nothing to do in one process."""
        return self

    def compile(self, *args: Any, **options: Any) -> None:
        r"""Nothing is compiled here."""

    # Weights in and out
    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Tensor]:
        r"""All parameters and lasting buffers by name."""
        out = OrderedDict() if destination is None else destination
        for name, one in self._parameters.items():
            if one is not None:
                out[prefix + name] = one if keep_vars else one.detach()
        for name, one in self._buffers.items():
            if one is not None and name not in self._non_persistent_buffers_set:
                out[prefix + name] = one if keep_vars else one.detach()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=out, prefix=prefix + name + ".", keep_vars=keep_vars)
        return out

    def load_state_dict(
        self, state_dict: Any, strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        r"""Copies weights by name."""
        own = self.state_dict(keep_vars=True)
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        said = []
        if strict and unexpected:
            listed = ", ".join(f'"{name}"' for name in unexpected)
            said.append(f"Unexpected key(s) in state_dict: {listed}. ")
        if strict and missing:
            listed = ", ".join(f'"{name}"' for name in missing)
            said.append(f"Missing key(s) in state_dict: {listed}. ")
        for name, value in state_dict.items():
            if name in own and value.shape != own[name].shape:
                said.append(
                    f"size mismatch for {name}: copying a param with shape {value.shape} from "
                    f"checkpoint, the shape in current model is {own[name].shape}."
                )
        with no_grad():
            for name, value in state_dict.items():
                if name in own and value.shape == own[name].shape:
                    if assign:
                        share_memory(own[name], value)
                    else:
                        own[name].copy_(value)
        if said:
            listed = "\n\t".join(said)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}"
            )
        return _IncompatibleKeys(missing, unexpected)

    # As text
    def extra_repr(self) -> str:
        r"""What stands in brackets behind the name."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr().split("\n") if self.extra_repr() else []
        children = [
            f"({name}): " + repr(module).replace("\n", "\n  ")
            for name, module in self._modules.items()
        ]
        if len(extra) == 1 and not children:
            return f"{self._get_name()}({extra[0]})"
        lines = extra + children
        inside = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{self._get_name()}({inside})"


def _type_name(value: Any) -> str:
    if isinstance(value, Tensor):
        d = {"float32": "Float", "float64": "Double", "int64": "Long"}.get(value.dtype.name)
        return f"torch.{d}Tensor" if d else "torch.Tensor"
    return type(value).__name__


def _hook_backward(module: Module, hook: Callable[..., Any], out: Any) -> None:
    outputs = out if isinstance(out, tuple) else (out,)
    if Mode.grad:
        for one in outputs:
            if isinstance(one, Tensor) and one._node is not None:
                one.register_hook(lambda gradient: hook(module, (None,), (gradient,)) and None)

r"""Types, numbers of Python, text, and the graph: what a tensor does as an object."""

from collections.abc import Callable
from typing import Any

from torch._dtypes import (
    FLOATING,
    bfloat16,
    bool_,
    complex64,
    complex128,
    device,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from torch._making import check_device, item, ones_like
from torch._raw import cast, dense_copy
from torch._tape import Hook, record, refresh, require_differentiable, run_backward
from torch._tensor import Tensor, alias_of, method, share_memory


@method
def to(
    self: Tensor,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    r"""Another type; another device would be an error."""
    if not args and dtype is None and device is None and memory_format is None and not copy:
        raise ValueError("to() received an invalid combination of arguments")
    check_device(device)
    for one in args:
        if isinstance(one, Tensor):
            dtype = one.dtype
        elif is_dtype(one):
            dtype = one
        elif isinstance(one, (str, int)) and not isinstance(one, bool):
            check_device(one)
        elif one is not None and not isinstance(one, (bool, _Device)):
            raise TypeError(
                "to() received an invalid combination of arguments - got "
                f"({type(one).__name__}), but expected a dtype, a device or a tensor"
            )
    if dtype is not None and not is_dtype(dtype):
        raise TypeError(f"to(): argument 'dtype' must be torch.dtype, not {dtype!r}")
    if dtype is None or dtype is self.dtype:
        return self.clone() if copy else self
    old = self.dtype
    differentiable = dtype.kind >= FLOATING
    inputs = (self,) if differentiable else ()
    return record(
        cast(alias_of(self), dtype), inputs, lambda gradient: (gradient.to(old),), "ToCopy"
    )


_Device, _DType = device, dtype


def is_dtype(one: Any) -> bool:
    r"""Whether it is a type of numbers."""
    return isinstance(one, _DType)


# What `torch.channels_last` is here.
CHANNELS_LAST = 2


def _converter(name: str, d: dtype) -> Callable[[Tensor], Tensor]:
    def convert(self: Tensor, memory_format: Any = None) -> Tensor:
        out = to(self, d)
        if memory_format != CHANNELS_LAST or len(self.shape) != 4:
            return out
        return out.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)

    convert.__name__ = name
    return convert


for _name, _d in (
    ("float", float32),
    ("double", float64),
    ("half", float16),
    ("bfloat16", bfloat16),
    ("long", int64),
    ("int", int32),
    ("short", int16),
    ("byte", uint8),
    ("char", int8),
    ("bool", bool_),
    ("cfloat", complex64),
    ("cdouble", complex128),
):
    method(_converter(_name, _d), _name)


@method
def type(self: Tensor, dtype: Any = None) -> Any:
    r"""The name of the type, or a tensor of another type."""
    if dtype is not None:
        # A class of tensors, such as `torch.ByteTensor`, knows its type.
        return to(self, getattr(dtype, "dtype", dtype))
    from torch._dtypes import scalar_name

    return f"torch.{scalar_name(self.dtype)}Tensor"


@method
def type_as(self: Tensor, other: Tensor) -> Tensor:
    r"""Of the type of another tensor."""
    return to(self, other.dtype)


@method
def cpu(self: Tensor) -> Tensor:
    r"""On the CPU, where it is."""
    return self


@method
def cuda(self: Tensor, *args: Any) -> Tensor:
    r"""There is no GPU here."""
    device("cuda")
    return self


@method
def pin_memory(self: Tensor) -> Tensor:
    r"""Nothing to do without a GPU."""
    return self


@method
def share_memory_(self: Tensor) -> Tensor:
    r"""Nothing to do in one process."""
    return self


def _one_number(self: Tensor) -> Any:
    if self.numel() != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return item(self)


def _bool(self: Tensor) -> bool:
    count = self.numel()
    if count != 1:
        raise RuntimeError(
            f"Boolean value of Tensor with {'no values' if not count else 'more than one value'} "
            "is ambiguous"
        )
    return bool(item(self))


def _index(self: Tensor) -> int:
    if self.dtype.kind >= FLOATING or self.numel() != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(item(self))


Tensor.__bool__, Tensor.__index__ = _bool, _index
Tensor.__float__ = lambda self: float(_one_number(self))
Tensor.__int__ = lambda self: int(_one_number(self))
Tensor.__complex__ = lambda self: complex(_one_number(self))


def _iterate(self: Tensor) -> Any:
    if not self.shape:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def _contains(self: Tensor, element: Any) -> bool:
    if not isinstance(element, (Tensor, int, float, complex)):
        raise RuntimeError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{element.__class__}."
        )
    return bool((self == element).any())


Tensor.__iter__, Tensor.__contains__ = _iterate, _contains


def _reversed(self: Tensor) -> Tensor:
    return self.flip(*range(len(self.shape))) if self.shape else self


Tensor.__reversed__ = _reversed


def _deep_copy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if self._node is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]
    made = Tensor.__new__(self.__class__)
    share_memory(made, dense_copy(self, self.dtype))
    made.requires_grad = self.requires_grad
    memo[id(self)] = made
    made.__dict__.update(self.__dict__)
    if self.grad is not None:
        made.grad = self.grad.clone()
    return made


Tensor.__deepcopy__ = _deep_copy


def _reduce(self: Tensor, protocol: int) -> Any:
    return _unpickle, (self.tolist(), self.dtype, tuple(self.shape), self.requires_grad)


def _unpickle(values: Any, d: dtype, shape: Any, requires_grad: bool) -> Tensor:
    from torch._making import tensor

    made = tensor(values, dtype=d).reshape(shape)
    made.requires_grad = requires_grad
    return made


Tensor.__reduce_ex__ = _reduce


# The graph
@method
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    r"""Whether gradients are wanted for this tensor."""
    if requires_grad:
        require_differentiable(self)
    elif self._node is not None:
        raise RuntimeError(
            "you can only change requires_grad flags of leaf variables. If you want to use a "
            "computed variable in a subgraph that doesn't require differentiation use var_no_grad "
            "= var.detach()."
        )
    self.requires_grad = requires_grad
    return self


def check_roots(roots: list[Tensor], gradients: list[Tensor | None]) -> list[Tensor]:
    r"""The gradients to begin with: ones for single numbers."""
    checked = []
    for place, (root, gradient) in enumerate(zip(roots, gradients, strict=True)):
        refresh(root)
        if not root.requires_grad:
            raise RuntimeError(
                f"element {place} of tensors does not require grad and does not have a grad_fn"
            )
        if gradient is None:
            if root.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            gradient = ones_like(alias_of(root))
        elif gradient.shape != root.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{place}] has a shape of {gradient.shape} and "
                f"output[{place}] has a shape of {root.shape}."
            )
        checked.append(gradient)
    return checked


@method
def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    r"""Leaves in every leaf the gradient of this number."""
    started = check_roots([self], [gradient])
    if inputs is None:
        run_backward([self], started, None, create_graph, bool(retain_graph))
        return
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    found = run_backward([self], started, wanted, create_graph, bool(retain_graph))
    for leaf, got in zip(wanted, found, strict=True):
        if got is not None:
            leaf.grad = got if leaf.grad is None else leaf.grad + got


@method
def retain_grad(self: Tensor) -> None:
    r"""Keeps the gradient, though this is no leaf."""
    refresh(self)
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self._node is not None and not any(one is self for one in self._node.kept):
        self._node.kept.append(self)


@method
def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> Hook:
    r"""Calls a function with the gradient, which it may replace."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self._node is not None:
        if self._node.outputs > 1:
            raise NotImplementedError(
                "register_hook on one of several results is not in the browser's torch: use it on "
                "a clone()."
            )
        return self._node.register_hook(hook)
    return _leaf_hook(self, "gradient", hook)


@method
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> Hook:
    r"""Calls a function with the leaf when its gradient is there."""
    if self._node is not None or not self.requires_grad:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return _leaf_hook(self, "accumulated", hook)


def _leaf_hook(leaf: Tensor, kind: str, hook: Callable[..., Any]) -> Hook:
    if leaf._hooks is None:
        leaf._hooks = {"gradient": [], "accumulated": []}
    return Hook(leaf._hooks[kind], hook)


@method
def set_(self: Tensor, source: Tensor) -> Tensor:
    r"""Looks at the memory of another tensor from now on."""
    share_memory(self, source)
    return self

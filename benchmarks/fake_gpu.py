r"""
A GPU that isn't there: what a program would do on one, known without one.

Inside `FakeGPU`, PyTorch finds a CUDA GPU. Tensors have shapes, types and a device, and no
numbers: nothing is computed, and a mixture of devices is refused, as CUDA does. Each operation on
the GPU is counted: floating-point operations, bytes read and written, kernels, and the memory that
is held at the same time.

What needs a number gets a stand-in: `item` and `tolist` give 1, `tolist` of a tensor from outside
gives zeros, tensors are `equal`, and `nonzero` finds one in eight, as where two of sixteen experts
are active.

The time is a model, no measurement. On the GPU a kernel takes as long as its arithmetic or its
bytes, whichever is longer. Meanwhile the program starts the next ones, each of which takes it some
time. So all together takes as long as the GPU computes or as the program starts, whichever is
longer. The rates are those that a Tesla T4 keeps up, well below those of its data sheet.
"""

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partialmethod
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
from torch.utils.flop_counter import flop_registry

# The name of the device in PyTorch, which stands for "cuda" in the program.
NAME = "fake_gpu"
GIB = 2**30
FOUND = 8


@dataclass(frozen=True)
class Card:
    r"""
    What a GPU can keep up.

    * `flops` are floating-point operations in a second, by the size of a number in bytes
    * `bandwidth` are bytes in a second
    * `start` are the seconds in which PyTorch starts a kernel from Python
    * `waits` says whether the program waits for each operation, as on a CPU
    * `memory` is what a program can have, in bytes
    """

    name: str
    flops: Mapping[int, float]
    bandwidth: float
    start: float
    memory: float
    capability: tuple[int, int]
    waits: bool = False


# The data sheet: 8.1 TFLOP/s in 32 bits, 65 in 16, 320 GB/s, 16 GB. In 32 bits a transformer of
# this size keeps up 3 on a T4, which is limited by its 70 W. The time to start a kernel is the
# processor's: that of a machine with an H100 had steps of 10 ms with 390 kernels.
T4 = Card("Tesla T4", {4: 3e12, 2: 15e12}, 220e9, 25e-6, 14e9, (7, 5))
# Two cores of a laptop or of Colab's machine without a GPU.
CORES = Card("two cores", {4: 60e9}, 12e9, 6e-6, 12e9, (0, 0), waits=True)

# What only looks at the memory of another tensor starts no kernel.
_VIEWS = frozenset(
    "view _unsafe_view reshape transpose t permute expand select slice unsqueeze squeeze detach "
    "alias as_strided unbind split chunk split_with_sizes lift_fresh empty empty_like new_empty "
    "empty_strided new_empty_strided _local_scalar_dense set_ resize_ unflatten".split()
)


@dataclass
class Counts:
    r"""
    What has been done so far on the GPU; memory in bytes.

    * `computing` are the seconds in which the GPU computes
    * `starting` are those in which the program starts kernels
    """

    flops: float = 0
    read_and_written: float = 0
    kernels: int = 0
    computing: float = 0
    starting: float = 0
    held: int = 0
    peak: int = 0

    @property
    def seconds(self) -> float:
        r"""How long all of it takes."""
        return max(self.computing, self.starting)


class _Count(TorchDispatchMode):
    r"""Sees each operation, after derivatives and before the stand-ins for numbers."""

    def __init__(self, card: Card) -> None:
        super().__init__()
        self.card, self.counts = card, Counts()
        self.known: set[int] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        # What would have to wait for the GPU and look at its numbers.
        if func is torch.ops.aten._local_scalar_dense.default:
            return 1.0 if args[0].is_floating_point() else 1
        if func is torch.ops.aten.equal.default:
            return True
        if func is torch.ops.aten.bincount.default:
            return torch.empty(kwargs.get("minlength", 1), dtype=torch.int64, device=args[0].device)
        if func is torch.ops.aten.nonzero.default:
            count = max(1, args[0].numel() // FOUND)
            return torch.empty(count, args[0].dim(), dtype=torch.int64, device=args[0].device)
        # Small constants keep their numbers, and would be computed with.
        given = tree_leaves((args, kwargs))
        for one in given:
            if isinstance(one, FakeTensor):
                one.constant = None
        found = func(*args, **kwargs)
        inputs = [one for one in given if _is_counted(one, self.card)]
        outputs = [one for one in tree_leaves(found) if _is_counted(one, self.card)]
        for one in outputs:
            self.hold(one)
        if inputs or outputs:
            self.add(func, args, kwargs, found, inputs, outputs)
        return found

    def hold(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key in self.known:
            return
        self.known.add(key)
        self.counts.held += size
        self.counts.peak = max(self.counts.peak, self.counts.held)
        weakref.finalize(storage, self.free, key, size)

    def free(self, key: int, size: int) -> None:
        self.known.discard(key)
        self.counts.held -= size

    def add(
        self, func: Any, args: Any, kwargs: Any, found: Any, inputs: list, outputs: list
    ) -> None:
        name = func.overloadpacket
        room, _, short = name._qualified_op_name.partition("::")
        # `prim` asks for properties, such as the device.
        if room == "prim" or short in _VIEWS:
            return
        moved = sum(one.numel() * one.element_size() for one in [*inputs, *outputs])
        flops = 0.0
        if name in flop_registry:
            flops = flop_registry[name](*args, **kwargs, out_val=found)
        size = min((one.element_size() for one in inputs if one.is_floating_point()), default=4)
        rate = self.card.flops.get(size, self.card.flops[4])
        self.counts.flops += flops
        self.counts.read_and_written += moved
        self.counts.kernels += 1
        computing = max(flops / rate, moved / self.card.bandwidth)
        if self.card.waits:
            computing = max(computing, self.card.start)
        self.counts.computing += computing
        self.counts.starting += self.card.start


def _is_there(value: Any) -> bool:
    return isinstance(value, Tensor) and value.device.type == NAME


def _is_counted(value: Any, card: Card) -> bool:
    return isinstance(value, Tensor) and value.device.type == ("cpu" if card is CORES else NAME)


class _Rename(TorchFunctionMode):
    r"""The program says "cuda", and PyTorch hears the name of our device."""

    def __torch_function__(
        self, func: Callable, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        if func == Tensor.is_cuda.__get__:
            return _is_there(args[0])
        if func is Tensor.tolist:
            return _filled(args[0], 0)
        if func is Tensor.__format__:
            return format(1.0, *args[1:])
        if func is torch.from_file:
            return torch.empty(kwargs["size"], dtype=kwargs["dtype"])
        if func is Tensor.cuda:
            func, args = Tensor.to, (args[0], NAME)
        kwargs = kwargs or {}
        # Most calls have tensors and numbers only.
        if any(isinstance(one, _MAY_NAME) for one in (*args, *kwargs.values())):
            args, kwargs = tree_map(_renamed, (tuple(args), kwargs))
        return func(*args, **kwargs)


# What can be a device, or hold one.
_MAY_NAME = (str, torch.device, tuple, list, dict)


def _renamed(value: Any) -> Any:
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device(NAME, 0)
    return NAME if isinstance(value, str) and value in ("cuda", "cuda:0") else value


def _filled(tensor: Tensor, number: int) -> list[Any]:
    r"""Lists as deep as the tensor, of one number, in the place of `tolist`."""

    def nested(shape: Sequence[int]) -> Any:
        return [nested(shape[1:]) for _ in range(shape[0])] if shape else value

    value = float(number) if tensor.is_floating_point() else number
    return nested(tensor.shape)


def _copied(tensor: Tensor, known: dict[int, Any]) -> Tensor:
    r"""In the place of `Tensor.__deepcopy__`, also of a parameter."""
    new = tensor.detach().clone()
    if isinstance(tensor, nn.Parameter):
        new = nn.Parameter(new, tensor.requires_grad)
    known[id(tensor)] = new
    return new


def _move(module: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
    r"""
    In the place of `Module.to`: tensors without numbers can't be exchanged for others in place.
    """
    moved: dict[int, Tensor] = {}

    def there(tensor: Tensor) -> Tensor:
        if id(tensor) not in moved:
            new = tensor.detach().to(*args, **kwargs)
            is_parameter = isinstance(tensor, nn.Parameter)
            moved[id(tensor)] = nn.Parameter(new, tensor.requires_grad) if is_parameter else new
        return moved[id(tensor)]

    for one in module.modules():
        for owned in (one._parameters, one._buffers):
            owned.update({name: there(it) for name, it in owned.items() if it is not None})
    return module


def _register() -> None:
    r"""
    Tell PyTorch of the device.

    It can't be forgotten again, `fork_rng` asks it for a state that it hasn't, and the first
    backward pass of a process counts the devices that there are. So a process that has been in
    `fake_gpu` is one for nothing else, and one that only imports this is as before.
    """
    if torch._C._get_privateuse1_backend_name() != NAME:
        _setup_privateuseone_for_python_backend(NAME)


@contextmanager
def fake_gpu(card: Card = T4) -> Iterator[Counts]:
    r"""A GPU for the block; the counts grow while it is used."""
    _register()
    count = _Count(card)
    with ExitStack() as stack:
        answers = {
            "is_available": card is not CORES,
            "get_device_name": card.name,
            "get_device_capability": card.capability,
            "is_bf16_supported": False,
            "synchronize": None,
        }
        for name, answer in answers.items():
            stack.enter_context(patch.object(torch.cuda, name, lambda *_, _is=answer, **__: _is))
        stack.enter_context(patch.object(nn.Module, "to", _move))
        # PyTorch's own looks at the memory.
        stack.enter_context(patch.object(FakeTensor, "__deepcopy__", _copied, create=True))
        # PyTorch's own asks for one number after another.
        stack.enter_context(patch.object(FakeTensor, "tolist", partialmethod(_filled, 1)))
        stack.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        stack.enter_context(count)
        stack.enter_context(_Rename())
        yield count.counts

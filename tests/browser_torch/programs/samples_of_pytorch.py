r"""PyTorch's own samples of its functions and modules, as plain values: ANSWER NAME…

They are those of `torch.testing._internal`, by which PyTorch tests itself: OpInfo has samples of
functions, ModuleInfo of modules. Without a name, those of all. With PyTorch alone.
"""

import pickle
import sys
import warnings
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, OpInfo, UnaryUfuncInfo

# What a page has: numbers, places and masks.
DTYPES = (torch.float32, torch.int64, torch.bool)
# Of a function that has more, these many of each kind are taken; and no large tensors.
MOST, LARGEST = 40, 5000
# Of a function whose input becomes the result; what a function computes is seen without it.
FEW = 12
# Functions without samples of their own, and those whose samples fit. What changes its input in
# place has them without gradients: a leaf can't be changed.
LIKE = {
    "nn.functional.adaptive_max_pool1d_with_indices": "nn.functional.adaptive_max_pool1d",
    "nn.functional.adaptive_max_pool2d_with_indices": "nn.functional.adaptive_max_pool2d",
    "nn.functional.adaptive_max_pool3d_with_indices": "nn.functional.adaptive_max_pool3d",
    "nn.functional.celu_": "nn.functional.celu",
    "nn.functional.dropout1d": "nn.functional.dropout2d",
    "nn.functional.elu_": "nn.functional.elu",
    "nn.functional.fractional_max_pool2d_with_indices": "nn.functional.fractional_max_pool2d",
    "nn.functional.fractional_max_pool3d_with_indices": "nn.functional.fractional_max_pool3d",
    "nn.functional.hardtanh_": "nn.functional.hardtanh",
    "nn.functional.leaky_relu_": "nn.functional.leaky_relu",
    "nn.functional.log_softmax": "log_softmax",
    "nn.functional.max_pool1d_with_indices": "nn.functional.max_pool1d",
    "nn.functional.max_pool2d_with_indices": "nn.functional.max_pool2d",
    "nn.functional.max_pool3d_with_indices": "nn.functional.max_pool3d",
    "nn.functional.native_channel_shuffle": "nn.functional.channel_shuffle",
    "nn.functional.relu_": "nn.functional.relu",
    "nn.functional.rrelu_": "nn.functional.rrelu",
    "nn.functional.selu_": "nn.functional.selu",
    "nn.functional.sigmoid": "sigmoid",
    "nn.functional.softmax": "softmax",
    "nn.functional.tanh": "tanh",
    "nn.functional.threshold_": "nn.functional.threshold",
    "nn.functional.upsample": "nn.functional.upsample_nearest",
}


class Uncarried(Exception):
    r"""A value that can't go to another process, such as a function."""


def carried(value: Any) -> Any:
    r"""A value in terms that know nothing of PyTorch; `programs/samples.py` turns it back."""
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return kind, [carried(one) for one in value]
    if isinstance(value, dict):
        return "dict", {key: carried(one) for key, one in value.items()}
    if isinstance(value, slice):
        return "slice", [carried(one) for one in (value.start, value.stop, value.step)]
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return "name", str(value).removeprefix("torch.")
    if isinstance(value, torch.device):
        return "plain", str(value)
    if value is None or value is Ellipsis or type(value) in (bool, int, float, complex, str):
        return "plain", value
    raise Uncarried(type(value).__name__)


def _tensor(value: torch.Tensor) -> Any:
    if value.layout is not torch.strided or value.is_quantized or value.device.type != "cpu":
        raise Uncarried("another layout")
    if value.numel() > LARGEST:
        raise Uncarried("a large tensor")
    plain = value.detach().resolve_conj().resolve_neg()
    pairs = zip(plain.shape, plain.stride(), strict=True)
    reach = 1 + sum((size - 1) * step for size, step in pairs) if plain.numel() else 0
    memory = plain.as_strided((reach,), (1,)) if reach else plain.new_empty(0)
    raw = bytes(memory.contiguous().view(torch.uint8).tolist()) if reach else b""
    dtype = str(value.dtype).removeprefix("torch.")
    return "tensor", (dtype, [*plain.shape], [*plain.stride()], raw, value.requires_grad)


def samples_of(op: OpInfo, dtype: torch.dtype) -> Iterator[Any]:
    r"""Calls of a function that should work, and calls that should fail."""
    floating = dtype.is_floating_point
    found = op.sample_inputs("cpu", dtype, requires_grad=floating and op.supports_autograd)
    yield from _calls(islice(found, MOST), "value")
    if floating and op.error_inputs_func is not None:
        errors = (one.sample_input for one in op.error_inputs("cpu"))
        yield from _calls(islice(errors, MOST), "error")


def _calls(samples: Iterable[Any], kind: str) -> Iterator[Any]:
    for sample in samples:
        try:
            yield kind, carried([sample.input, *sample.args]), carried(dict(sample.kwargs))
        except Uncarried:
            continue


def functions(wanted: set[str]) -> Iterator[dict[str, Any]]:
    r"""Each function with its samples."""
    for op in op_db:
        like = [
            name for name, other in LIKE.items() if other == op.name and not op.variant_test_name
        ]
        names = [op.name, *(alias.name for alias in op.aliases), *like]
        twins = [] if op.variant_test_name else [*twins_of(op)]
        if wanted and not wanted & {*names, *twins}:
            continue
        calls: list[Any] = []
        for dtype in DTYPES:
            if dtype in op.supported_dtypes("cpu"):
                torch.manual_seed(0)
                calls += samples_of(op, dtype)
        elementwise = isinstance(op, (UnaryUfuncInfo, BinaryUfuncInfo))
        for name in names:
            own = without_gradients(calls) if name.endswith("_") and name in LIKE else calls
            yield {"name": name, "elementwise": elementwise, "calls": own}
        some = without_gradients([call for call in calls if call[0] == "value"][:FEW])
        for name in twins:
            yield {"name": name, "elementwise": elementwise, "calls": some}


def twins_of(op: OpInfo) -> Iterator[str]:
    r"""The methods that put the result of a function in place of its input."""
    for one in (op, *op.aliases):
        if one.inplace_variant is not None and "." not in one.name and one.name[-1] != "_":
            yield f"{one.name}_"


def without_gradients(value: Any) -> Any:
    r"""The same calls, whose tensors want no gradient."""
    if isinstance(value, tuple) and len(value) == 2 and value[0] == "tensor":
        return "tensor", (*value[1][:4], False)
    if isinstance(value, (list, tuple)):
        return type(value)(without_gradients(one) for one in value)
    if isinstance(value, dict):
        return {key: without_gradients(one) for key, one in value.items()}
    return value


def modules(wanted: set[str]) -> Iterator[dict[str, Any]]:
    r"""Each module with what it is made of and what it is given."""
    for info in module_db:
        if wanted and info.name not in wanted:
            continue
        calls: list[Any] = []
        for training in (True, False):
            torch.manual_seed(0)
            inputs = info.module_inputs_func(
                info, "cpu", torch.float32, requires_grad=True, training=training
            )
            for one in islice(inputs, MOST):
                made, given = one.constructor_input, one.forward_input
                try:
                    call = [carried([*part.args]) for part in (made, given)]
                    named = [carried(dict(part.kwargs)) for part in (made, given)]
                except (Uncarried, AttributeError):
                    continue
                calls.append(("module", training, call, named))
        yield {"name": info.name, "elementwise": False, "calls": calls}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    names = set(sys.argv[2:])
    samples = [*functions(names), *modules(names)]
    Path(sys.argv[1]).write_bytes(pickle.dumps(samples))

r"""
---
title: Full Precision for a Test
summary: A test that compares numbers needs all 32 bits, on any device, whatever a script has set.
---

```python
with undisturbed(model):
    # No autocast, no TF32, no 16 bits.
    logits = model(tokens)
```

Most tests compute something twice and compare: a text and its beginning, a batch and one sequence
of it, your attention and the formula. Two ways to a number hardly ever agree in its last digits, so
a difference counts from [a ten-thousandth](comparison.py#off) of the largest number on. Rounding
that makes a larger one has to be kept out, or a right model is accused.

| numbers | relative error of one rounding, at most |
| --- | --- |
| `float32` | 6 parts in 100 million |
| TF32, in matrix products and convolutions on a GPU | 5 parts in 10 thousand |
| `float16` | 5 parts in 10 thousand |
| `bfloat16` | 4 parts in a thousand |

TF32 has the range of `float32` and the digits of `float16`. Many training scripts turn it on with
one line, and with another one *autocast*, which computes matrix products in 16 bits. With either of
them, the kernel for a short text can give other digits than the one for a long text, since it adds
up in another order. A test would say that the model looks at the length.

**In:** a model or an attention. **Out:** a block in which it can be compared. (Its own weights get
32 bits [where it is borrowed](in_place.py).)
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from wrongline.comparison import off


class No16Bits(TorchFunctionMode):
    r"""
    ## Casts to 16 bits are casts to 32

    PyTorch hands every call of a function to this object first. Your model may cast by itself, as
    most code around a fast kernel does, and your training step may cast your model.
    """

    def __torch_function__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        # Two methods have the type in their names.
        if function in (Tensor.half, Tensor.bfloat16):
            function = Tensor.float

        # In all others it is an argument.
        named = {name: wide(value) for name, value in (kwargs or {}).items()}
        return function(*map(wide, args), **named)


class FirstOfEquals(TorchFunctionMode):
    r"""
    ## Of equal scores, the first is chosen

    `topk` may take any of them, and takes others in a text of another length. A ReLU makes many
    scores zero, so a model that chooses its keys by such scores would seem to look at the length.
    """

    def __torch_function__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        named = kwargs or {}
        if function not in (torch.topk, Tensor.topk) or "out" in named:
            return function(*args, **named)
        return stable_topk(*args, **named)


def stable_topk(
    input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    r"""
    ### The largest, of equals the first

    The arguments are those of PyTorch's function.
    """
    # A wrong number is refused in PyTorch's own words.
    if not input.dim() or not 0 <= k <= input.shape[dim]:
        return torch.topk(input, k, dim, largest, sorted)
    values, places = torch.sort(input, dim=dim, descending=largest, stable=True)
    # A part of a tensor has gaps in memory, which `view` refuses. PyTorch's results have none.
    first = values.narrow(dim, 0, k).contiguous()
    return torch.return_types.topk((first, places.narrow(dim, 0, k).contiguous()))


def wide(value: Any) -> Any:
    r"""
    ### For a type of 16 bits, `float32`
    """
    # Anything else stays as it is.
    return torch.float32 if value is torch.float16 or value is torch.bfloat16 else value


def no_autocast() -> Callable[[], None]:
    r"""
    ## Turn autocast off

    Your training step, or your model, may enter it in the middle of a test. So entering it is made
    to do nothing. Returns a function that puts it back.
    """
    # The classes for a single kind of device call these two.
    enter = torch.autocast.__enter__
    leave = torch.autocast.__exit__

    # A block still gets its object.
    torch.autocast.__enter__ = lambda self: self
    torch.autocast.__exit__ = lambda self, *error: None

    # The two methods as they were.
    def put_back() -> None:
        torch.autocast.__enter__ = enter
        torch.autocast.__exit__ = leave

    return put_back


def no_tf32() -> Callable[[], None]:
    r"""
    ## Turn TF32 off

    Returns a function that puts back what was set.
    """
    # Since version 2.9 of PyTorch, each kind of operation has a setting, for a GPU and for a CPU.
    # “ieee” is `float32` as it is in the standard.
    # Which places there are depends on the version.
    backends: Any = torch.backends
    places: list[Any]
    exact: str | bool
    if hasattr(backends.cudnn, "conv"):
        places = [backends.cuda.matmul, backends.mkldnn.matmul]
        places += [backends.cudnn.conv, backends.mkldnn.conv]
        places += [backends.cudnn.rnn, backends.mkldnn.rnn]
        name = "fp32_precision"
        exact = "ieee"
    # Before that there were two.
    else:
        places = [backends.cuda.matmul, backends.cudnn]
        name = "allow_tf32"
        exact = False

    # What is set now, and what the tests need.
    known = [getattr(place, name) for place in places]

    # From here on, matrix products and convolutions have all digits.
    for place in places:
        setattr(place, name, exact)

    # Each of them as it was.
    def put_back() -> None:
        for place, value in zip(places, known, strict=True):
            setattr(place, name, value)

    return put_back


@contextmanager
def undisturbed(module: nn.Module) -> Iterator[torch.device]:
    r"""
    ## The block

    `as` gives the device of the first weight. A test that makes masks of its own enters that
    device, too: `with undisturbed(model) as device, device:`.
    """
    # Without weights or buffers, it computes where PyTorch makes its tensors.
    owned = chain(module.parameters(), module.buffers(), [torch.empty(0)])
    device = next(owned).device

    # Whatever happens in the block, at its end everything is put back, the last thing first.
    with ExitStack() as stack:
        # The same numbers in each call, so a test that fails once fails always. Those of the caller
        # stay as they are, on the CPU and on every CUDA GPU.
        stack.enter_context(torch.random.fork_rng(range(torch.cuda.device_count())))
        torch.manual_seed(1)

        # New tensors have 32 bits, and casts to fewer do nothing.
        stack.callback(torch.set_default_dtype, torch.get_default_dtype())
        torch.set_default_dtype(torch.float32)
        stack.enter_context(No16Bits())
        stack.enter_context(FirstOfEquals())

        # First an autocast that is on already, then any that would be entered.
        if torch.amp.is_autocast_available(device.type):
            stack.enter_context(torch.autocast(device.type, enabled=False))
        stack.callback(no_autocast())

        # Then matrix products and convolutions in full `float32`.
        stack.callback(no_tf32())
        yield device


def example(batch_size: int = 3, d_in: int = 7, d_out: int = 5) -> tuple[Tensor, float, float]:
    r"""
    ## Example

    The same product with autocast, outside the block and in it.

    ### Exercises

    ??? question "The weights of a model are `bfloat16`. Why isn't it tested as it is?"
        Because it rounds: its logits for a text and for the beginning of that text can differ by
        parts in a thousand, and nothing is wrong. So it is tested in `float32`.

    ??? question "Why not call a difference a mistake only from a hundredth on?"
        Small mistakes would pass, such as a number of a bias that is left out. And 16 bits can make
        larger differences than that.

    ??? question "What does no test see in this block?"
        What 16 bits do to your model: logits or gradients that overflow, an epsilon that becomes
        zero, positions that are rounded. Run it once as it is, and look at its loss.

    ??? question "Your model needs 14 GB in `bfloat16`. What does its test need beside them?"
        28 GB, for each number has four bytes there and not two. Test a small configuration of it: a
        mistake is the same in all sizes.
    """
    linear = nn.Linear(d_in, d_out)
    x = torch.randn(batch_size, d_in)
    exact = linear(x)

    # As training in mixed precision does it.
    def rounded() -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return linear(x).float()

    # Off by parts in a thousand.
    outside = off(rounded(), exact)

    # In the block nothing is rounded to fewer digits.
    with undisturbed(linear):
        inside = off(rounded(), exact)
    return exact, outside, inside

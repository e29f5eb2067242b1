r"""
---
title: Nothing But the Mistake
summary: How a test that compares numbers works on any device, in any precision, with any settings.
---

Most tests of this museum compute something twice and compare: a text and its beginning, a batch and
one sequence of it, your attention and the formula. Two ways to a number hardly ever agree in its
last digits, so a difference counts from [a ten-thousandth](comparison.py#off) of the largest number
on. Whatever makes a larger one has to be kept out, or a right model is accused.

| numbers | rounding changes each by up to |
| --- | --- |
| `float32` | 6 parts in 100 million |
| TF32, in matrix products on a GPU | 5 parts in 10 thousand |
| `float16` | 5 parts in 10 thousand |
| `bfloat16` | 4 parts in a thousand |

TF32 is one line of many training scripts, and so is *autocast*, which computes matrix products with
16 bits. With any of the last three, a GPU's kernel for a short text gives other digits than that
for a long one: it adds up in another order. A test then says that the model looks at the length.
In the block below, on a GPU and in four precisions, our tests accused
[0](../../../results/gpu_museum.json#values.accused) of
[24](../../../results/gpu_museum.json#values.right) right models, attentions and steps.

**In:** a model or an attention. **Out:** a block in which it can be compared: where its weights
are, with all 32 bits, and with random numbers that leave no trace outside. The weights themselves
are those of a copy in `float32`.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes.comparison import off


def exact_products() -> Callable[[], None]:
    r"""
    ## All digits of a product

    Returns a function that puts back what was set.
    """
    # The setting has two sets of names. PyTorch refuses to read the old one after somebody has
    # used the new ones, which it has had since version 2.9.
    try:
        before = torch.get_float32_matmul_precision()
    except RuntimeError:
        # One for a GPU, one for a CPU. “ieee” is the standard for floating-point numbers.
        places = [torch.backends.cuda.matmul, torch.backends.mkldnn.matmul]
        known = [place.fp32_precision for place in places]

        # From here on, numbers of 32 bits are multiplied with all of them.
        for place in places:
            place.fp32_precision = "ieee"

        # Each of them as it was.
        def put_back() -> None:
            for place, precision in zip(places, known, strict=True):
                place.fp32_precision = precision

        return put_back

    # The old name is for both of them.
    torch.set_float32_matmul_precision("highest")
    return partial(torch.set_float32_matmul_precision, before)


def no_autocast() -> Callable[[], None]:
    r"""
    ## Autocast does nothing

    Your training step, or your model, may enter it in the middle of a test. So entering it is made
    to do nothing. Returns a function that puts it back.
    """
    # The class has both methods; those for a single device inherit them.
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


@contextmanager
def undisturbed(module: nn.Module) -> Iterator[torch.device]:
    r"""
    ## The block

    It gets the device of the weights.
    """
    # Without weights, it computes where PyTorch makes its tensors.
    device = next(module.parameters(), torch.empty(0)).device

    # Whatever happens in the block, at its end everything is put back, the last thing first.
    with ExitStack() as stack:
        # Masks and positions that are made in the block are on that device, too.
        stack.enter_context(device)

        # The same numbers in each call, so a test that fails once fails always. Those of the caller
        # stay as they are, on every GPU.
        stack.enter_context(torch.random.fork_rng(range(torch.cuda.device_count())))
        torch.manual_seed(1)

        # Autocast that is on already, and then any that comes.
        if torch.amp.is_autocast_available(device.type):
            stack.enter_context(torch.autocast(device.type, enabled=False))
        stack.callback(no_autocast())

        # Products with all digits.
        stack.callback(exact_products())
        yield device


def example(batch_size: int = 3, d_in: int = 7, d_out: int = 5) -> tuple[Tensor, float, float]:
    r"""
    ## Example

    The same product with autocast, outside the block and in it.

    ### Exercises

    ??? question "The weights of a model are `bfloat16`. Why isn't it tested as it is?"
        Because it rounds: its logits for a text and for the beginning of that text can differ by
        parts in a thousand, and nothing is wrong. So a copy in `float32` is tested.

    ??? question "Why not call a difference a mistake only from a hundredth on?"
        Small mistakes would pass, such as a single bias that is left out. And 16 bits can make
        larger differences than that, when several layers add up what they round.

    ??? question "What does no test see in this block?"
        What 16 bits do to your training: gradients that vanish or overflow, or steps too small to
        change a weight.

    ??? question "A mask is made by `torch.ones(n, n)`, and the model is on a GPU. What happens?"
        Outside the block it fails, because the mask is on the CPU. In the block it works: there,
        new tensors are made where the weights are.
    """
    linear = nn.Linear(d_in, d_out)
    x = torch.randn(batch_size, d_in)
    exact = linear(x)

    # As mixed precision does it.
    def rounded() -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return linear(x).float()

    # Off by parts in a thousand.
    outside = off(rounded(), exact)

    # In the block nothing is rounded.
    with undisturbed(linear):
        inside = off(rounded(), exact)
    return exact, outside, inside

r"""
---
title: Device and Precision
summary: CPU or GPU, and 32-bit or 16-bit numbers.
terms:
  mixed precision: Matrix products in 16 bits, weights in 32.
---

Most of the time of training a large model goes into matrix products, and a GPU multiplies 16-bit
numbers several times as fast as 32-bit ones. 16 bits are not enough for both many digits and a
large range, and there are two formats. In `bfloat16`, 256 + 1 is 256: too few digits. In `float16`,
$256 \cdot 256$ is infinite, and $10^{-9}$ is zero: too small a range.

| type | bits of the exponent | bits of the fraction | smallest normal number | digits |
| --- | --- | --- | --- | --- |
| `float32` | 8 | 23 | $2^{-126}$ | 7 |
| `bfloat16` | 8 | 7 | $2^{-126}$ | 2 to 3 |
| `float16` | 5 | 10 | $2^{-14}$ | 3 to 4 |

Training in `bfloat16` needs nothing else. In `float16` small gradients become zero: whatever is
below $2^{-25}$ is rounded to nothing. PyTorch's gradient scaler multiplies the loss by 65,536
first, and all gradients with it: $10^{-9}$ becomes $6.6 \cdot 10^{-5}$, which `float16` can hold.
Before the step they are divided by it again.

[What rounding costs in each format](../../results/model_drawings.json#figures.rounded)
"""

from contextlib import AbstractContextManager, nullcontext

import torch


def choose_device(name: str = "auto") -> torch.device:
    r"""
    ## Device

    `auto` is a CUDA (or ROCm) GPU if there is one, else an Apple GPU, else the CPU.
    """
    # A GPU, if there is one.
    if name == "auto":
        name = "mps" if torch.backends.mps.is_available() else "cpu"
        name = "cuda" if torch.cuda.is_available() else name

    # A GPU may be there and not work: a driver is missing, or all of its memory is taken. The one
    # sure way to know is to put something there.
    try:
        return torch.zeros(1, device=name).device

    # PyTorch's own reason is the first line of a long message.
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"the device {name!r} cannot be used here: {reason}") from error


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    r"""
    ## Precision

    `auto` is `bfloat16` on CUDA GPUs and on Intel's and AMD's CPUs that compute with it, `float16`
    on older CUDA GPUs, and `float32` otherwise, as on Apple's GPUs. It is decided by what the
    hardware has, never by a measured time: a time comes out differently tomorrow, and then the same
    seed would no longer give the same run.
    """
    # What works everywhere, unless there is something better.
    if name == "auto":
        name = "float32"

        # Ampere, of 2020, was NVIDIA's first generation with bfloat16. Older ones emulate it,
        # slowly.
        if device.type == "cuda":
            name = "bfloat16" if torch.cuda.get_device_capability(device) >= (8, 0) else "float16"

        # Older versions of PyTorch don't tell what the CPU can do.
        # AVX-512 is in processors of Intel and AMD, AMX in those of Intel.
        elif device.type == "cpu" and hasattr(torch.cpu, "get_capabilities"):
            able = torch.cpu.get_capabilities()
            name = "bfloat16" if able.get("avx512_bf16") or able.get("amx_bf16") else "float32"

    # float16 also needs a gradient scaler. We offer it on CUDA GPUs alone: Volta and Turing,
    # of 2017 and 2018, compute fast with it, and not with bfloat16. (Most older ones are slow with
    # both.) A CPU without bfloat16 is left with float32.
    if name not in ("float32", "bfloat16", "float16"):
        raise ValueError(f"unknown precision {name!r}: use auto, float32, bfloat16 or float16")
    if name == "float16" and device.type != "cuda":
        raise ValueError(f"float16 needs a CUDA GPU, and this is {device.type}: use float32")
    return getattr(torch, name)


def autocast(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[None]:
    r"""
    ## Mixed precision

    The weights stay in `float32`, because a step often changes a weight by less than the last digit
    of `bfloat16`. Inside this block PyTorch converts the factors of each matrix product to 16 bits.
    The loss needs the digits and stays in 32. So do softmax and normalisation on a GPU; on a CPU
    they compute in 32 bits what they get in 16, and round the result.
    """
    # In 32 bits nothing has to be converted. (On a CPU, PyTorch has no autocast to float32: it
    # would warn.)
    if dtype is torch.float32:
        return nullcontext()
    return torch.autocast(device.type, dtype)


def example(rows: int = 3, inner: int = 5, columns: int = 7) -> torch.Tensor:
    r"""
    ## Example

    The same matrix product in both precisions, and the difference.

    ### Exercises

    ??? question "What is 256 + 1 in `bfloat16`?"
        Still 256. The type has 8 binary digits, so from 256 on it can only count in twos.

    ??? question "A gradient is 1e-9. What is it in `float16`, and after a loss scale of 65,536?"
        Zero. Times 65,536 it is 6.6e-5, above $2^{-14}$: a normal number, with all 11 binary digits
        that `float16` has. (Below $2^{-14}$ they get fewer, down to a single one at $2^{-24}$.)

    ??? question "Which of the two formats has no number for 100,000?"
        `float16`: its largest number is 65,504.
    """
    # A choice by name, and one by hardware.
    device = choose_device("cpu")
    choose_precision("auto", device)

    # Two matrices in 32 bits.
    a = torch.randn(rows, inner)
    b = torch.randn(inner, columns)

    # First with rounded factors, then with exact ones.
    with autocast(device, torch.bfloat16):
        product = a @ b
    with autocast(device, torch.float32):
        exact = a @ b

    # Mostly a few thousandths of the numbers themselves.
    return product - exact

r"""
---
title: Device and Precision
summary: Where to compute, and with how many bits.
---

Most of the time of training goes into products of matrices, and most hardware multiplies
16-bit numbers several times faster than 32-bit ones. There are two kinds of them.
`bfloat16` has the range of `float32` with fewer digits, and training hardly notices.
`float16` has more digits and a small range: gradients smaller than $2^{-24}$ become zero,
unless the loss is multiplied by a large number first, which is what a *gradient scaler*
does.

*Autocast* computes the products in 16 bits, and what needs the digits, softmax, loss and the
parameters themselves, in 32.
"""

from contextlib import AbstractContextManager, nullcontext

import torch

from labml_nn.training.data import InputError


def choose_device(name: str) -> torch.device:
    r"""
    ## Where to compute

    `auto` is a CUDA (or ROCm) card if there is one, else an Apple GPU, else the CPU. A
    device that isn't there is an `InputError`.
    """
    if name == "auto":
        name = "mps" if torch.backends.mps.is_available() else "cpu"
        name = "cuda" if torch.cuda.is_available() else name

    # The one sure way to know whether a device works is to put something there.
    try:
        return torch.zeros(1, device=name).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"the device {name!r} cannot be used here: {reason}") from error


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    r"""
    ## With how many bits

    `auto` is `bfloat16` where the hardware has instructions for it, `float16` on older
    CUDA cards, and else `float32`. It asks for capabilities and doesn't measure times: a
    measurement could come out differently tomorrow, and the same seed would no longer
    give the same run.
    """
    if name == "auto":
        name = "float32"
        # Ampere, of 2020, was the first generation with bfloat16. Older cards
        # emulate it, slowly.
        if device.type == "cuda":
            name = "bfloat16" if torch.cuda.get_device_capability(device) >= (8, 0) else "float16"
        # Older versions of PyTorch don't tell what the CPU can do.
        elif device.type == "cpu" and hasattr(torch.cpu, "get_capabilities"):
            able = torch.cpu.get_capabilities()
            name = "bfloat16" if able.get("avx512_bf16") or able.get("amx_bf16") else "float32"

    if name not in ("float32", "bfloat16", "float16"):
        raise InputError(f"unknown precision {name!r}: use auto, float32, bfloat16 or float16")
    if name == "float16" and device.type != "cuda":
        raise InputError(f"float16 needs a CUDA card, and this is {device.type}: use float32")
    return getattr(torch, name)


def autocast(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[None]:
    r"""
    ## Products in 16 bits

    With `float32` it does nothing.
    """
    if dtype is torch.float32:
        return nullcontext()
    return torch.autocast(device.type, dtype)


def example(rows: int = 3, inner: int = 5, columns: int = 7) -> torch.Tensor:
    r"""
    ## Example

    Two `float32` matrices, and their product in `bfloat16`.
    """
    device = choose_device("cpu")
    choose_precision("auto", device)
    a, b = torch.randn(rows, inner), torch.randn(inner, columns)
    with autocast(device, torch.bfloat16):
        product = a @ b
    with autocast(device, torch.float32):
        exact = a @ b
    return product - exact

r"""
---
title: Memory of a Run
summary: How much memory training needs at most, and a faster allocator for small models on a CPU.
---

Weights, gradients and optimizer state are in memory all the time. The rest of a step are
*activations*, the intermediate results that the backward pass needs, and they grow with the batch.
If they are too many, compute a batch in [micro-batches](config.py#TrainConfig).
"""

import ctypes
import re
import sys
from contextlib import suppress
from pathlib import Path

import torch


def peak_memory(device: torch.device) -> int:
    r"""
    ## Peak memory, in bytes

    On a GPU, that of all tensors. Elsewhere it is that of the whole program, PyTorch included,
    and 0 if the system can't tell.
    """
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    # On Linux `getrusage` also counts the program that started this one, so another number is used.
    with suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        if found := re.search(r"VmHWM:\s*(\d+) kB", status):
            return int(found[1]) * 1024
    with suppress(ImportError):
        import resource

        # macOS counts bytes, others kilobytes.
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return 0


def keep_freed_memory() -> None:
    r"""
    ## Keep freed memory

    If the C library gives freed memory back to Linux, it comes back as empty pages, and each has
    to be filled with zeros first. A step of a small model asks for about a thousand pages. Keeping
    them makes such a step faster by a tenth or more.

    Other systems and other C libraries don't have the function `mallopt`, and stay as they are.
    """
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)

        # Numbers from “malloc.h”: the size from which a block is mapped on its own, and how much
        # may be unused before it is given back.
        mmap_threshold, trim_threshold = -3, -1
        library.mallopt(mmap_threshold, 1 << 25)
        library.mallopt(trim_threshold, 1 << 30)


def example() -> torch.Tensor:
    r"""
    ## Example
    """
    keep_freed_memory()
    matrix = torch.zeros(1009, 499)
    assert peak_memory(matrix.device) == 0 or peak_memory(matrix.device) > matrix.nbytes
    return matrix

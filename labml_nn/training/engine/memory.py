r"""
---
title: Memory of a Run
summary: How much memory training needs at most, and a faster allocator for small models on a CPU.
---

Weights, gradients and optimizer state are in memory all the time. The rest of a step are
*activations*, the intermediate results that the backward pass needs, and they grow with the batch.
If they are too many, the program ends with an error of PyTorch on a GPU, and with no word at all
where the system kills it. Then compute a batch in [micro-batches](mixed_precision.py).

**In:** a device. **Out:** the most memory that was in use so far, which tells how much larger a
batch may be.
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
    # PyTorch counts what it gives out. Elsewhere memory is the system's business.
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)

    # Linux has the *high water mark* of each process in a file of text. Its `getrusage` also counts
    # the program that started this one: a small run started by a large one would seem large.
    with suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        if found := re.search(r"VmHWM:\s*(\d+) kB", status):
            return int(found[1]) * 1024

    # Other systems don't have that file. Windows doesn't have this module either.
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
    """
    # Other systems and other C libraries don't have the function `mallopt`, and stay as they are.
    with suppress(OSError, AttributeError, TypeError):
        # Without a name: the library that Python itself runs on.
        library = ctypes.CDLL(None)

        # Numbers from “malloc.h”: the size from which a block is mapped on its own, and how much
        # may be unused before it is given back.
        mmap_threshold, trim_threshold = -3, -1

        # 32 MB and 1 GB: more than the tensors of such a model need.
        library.mallopt(mmap_threshold, 1 << 25)
        library.mallopt(trim_threshold, 1 << 30)


def example() -> torch.Tensor:
    r"""
    ## Example

    ### Exercises

    ??? question "Ten million parameters, AdamW, `float32`. How much is in memory all the time?"
        160 MB: 4 bytes each for weight, gradient and AdamW's two averages. Activations come on top.

    ??? question "You double `batch_size`. What else doubles?"
        The activations. Weights, gradients and the optimizer's state stay as they are.

    ??? question "How many bytes does the matrix below take?"
        1009 · 499 · 4 = 2,013,964, because a number in `float32` has four bytes.
    """
    keep_freed_memory()

    # Two megabytes must be below the peak, if the system tells it.
    matrix = torch.zeros(1009, 499)
    assert peak_memory(matrix.device) == 0 or peak_memory(matrix.device) > matrix.nbytes
    return matrix

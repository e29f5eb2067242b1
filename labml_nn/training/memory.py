r"""
---
title: The Memory of a Step
summary: How much memory a training step needs at most.
---

Weights, gradients and what the optimizer remembers are there all the time. What a step needs
beyond them are the *activations*, everything that the way back has to know of the way forward,
and they grow with the batch. When they are too many, a batch is computed in
[parts](loop.py#TrainConfig).

On a CPU it also counts where memory comes from: the same few blocks are needed in every step, and
a program can [keep them](memory.py#keep_freed).
"""

import ctypes
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import torch


class StepMemory:
    r"""
    ## Watch one step

    The second one, because the first one also makes what stays, such as the state of the
    optimizers. It goes around the steps: `for step in memory(steps)`.
    """

    def __init__(self, device: torch.device) -> None:
        r"""
        * `device` is where the training is
        """
        self.device = device
        self.peak = 0

    def __call__(self, steps: Iterable[int]) -> Iterator[int]:
        r"""
        ### The same steps
        """
        for index, step in enumerate(steps):
            if index == 1:
                forget_peak(self.device)
            yield step
            if index <= 1:
                self.peak = read_peak(self.device)


def forget_peak(device: torch.device) -> None:
    r"""
    ## Begin anew
    """
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    # Linux forgets the peak of a process that writes a 5 here.
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def read_peak(device: torch.device) -> int:
    r"""
    ## The peak, in bytes

    On a card it is that of all tensors. Elsewhere it is that of the whole program, PyTorch itself
    included, and where the system cannot tell, 0.
    """
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name == "VmHWM":
                return int(value.split()[0]) * 1024
    try:
        import resource
    except ImportError:
        return 0
    # Since the program began; macOS counts bytes, others kilobytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def keep_freed() -> None:
    r"""
    ## Keep what was freed

    Memory that is given back to the system comes again as empty pages, each of which has to be
    filled with zeros first. A step of the small recipes on a CPU asks for a thousand of them;
    without that it is faster by a tenth or more.

    It is a setting of the C library that Linux usually has, for the whole program. Other systems
    are left as they are.
    """
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        # Their numbers in “malloc.h”: from what size on a block is fetched from the system by
        # itself, and how much may lie unused before it is given back.
        mmap_threshold, trim_threshold = -3, -1
        library.mallopt(mmap_threshold, 1 << 25)
        library.mallopt(trim_threshold, 1 << 30)


def example(rows: int = 1009, columns: int = 499) -> torch.Tensor:
    r"""
    ## Example

    Two steps that do nothing but fill a matrix.
    """
    memory = StepMemory(torch.device("cpu"))
    for _ in memory(range(2)):
        matrix = torch.zeros(rows, columns)
    assert memory.peak == 0 or memory.peak > matrix.nbytes
    return matrix

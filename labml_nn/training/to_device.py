r"""
---
title: Batches for a GPU
summary: A batch goes to the GPU while the program prepares the next step.
know: data.py
---

A model on a GPU needs its batches there. The copy itself takes microseconds. But with an ordinary
copy Python waits until it is done, and the copy waits for all that the GPU was asked for before. So
in every step the GPU runs out of work, and stands still until Python has asked for the next.

**In:** the inputs and targets of a step, on the CPU. **Out:** the same, on the device of the model.

The system may move ordinary memory to another place, or to the disk, and the GPU can't know where
it went. So the driver makes the copy, and the program waits for the driver. *Pinned* memory stays
where it is, and the GPU can fetch from it by itself. Python goes on meanwhile if you ask for that
with `non_blocking=True`. Without it PyTorch waits for the copy, pinned or not.
"""

from collections.abc import Callable

import torch
from torch import Tensor


def to_device(
    batch_at: Callable[[int], tuple[Tensor, Tensor]], device: torch.device, step: int
) -> tuple[Tensor, Tensor]:
    r"""
    ## To the device

    `batch_at` gives the inputs and targets of a step.
    """
    # On the CPU: a batch that is cut out of a text, or drawn.
    inputs, targets = batch_at(step)

    # An NVIDIA GPU is asked for the copy and not waited for. What uses the copy is asked for after
    # it, so it can't come too early.
    if device.type == "cuda" and not inputs.is_cuda:
        there = {"device": device, "non_blocking": True}
        return inputs.pin_memory().to(**there), targets.pin_memory().to(**there)

    # Anywhere else it is a plain copy, or none: what is there already stays as it is.
    return inputs.to(device), targets.to(device)


def example(seq_len: int = 7, batch_size: int = 3) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A batch that is where it should be.

    ### Exercises

    ??? question "Why not put the whole text on the GPU, and cut the batches out of it there?"
        - [ ] It wouldn't fit.
            - A million characters are 9 MB.
        - [x] The places to cut at are drawn on the CPU, and would have to be copied in each step.
            - Yes. They are fewer numbers, but an ordinary copy of few numbers waits as long as one
              of many. And once the copy is pinned, nobody waits for the batch either.
        - [ ] Indexing is slow on a GPU.
            - It is fast.

    ??? question "You add 1 to the batch on the CPU, after the copy was asked for. What may happen?"
        The GPU may fetch it before or after the addition, or in the middle. Here it can't happen:
        `pin_memory` makes a copy that nobody else knows. (If you had pinned the batch yourself, it
        would return the same tensor, and it could happen.)

    ??? question "Which line of a training waits for the GPU, if not the copy?"
        The one that reads a number, such as `loss.item()`.
    """
    # Text as numbers, a column for each window.
    # Each step has its own tokens. On the CPU nothing is copied.
    tokens = torch.arange((seq_len + 1) * batch_size).view(-1, batch_size)
    return to_device(
        lambda step: (tokens[:-1] + step, tokens[1:] + step), torch.device("cpu"), step=2
    )

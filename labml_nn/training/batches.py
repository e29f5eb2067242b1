r"""
---
title: Each Window in Turn
summary: Batches in which every character of the text counts the same.
---

The simplest way to train takes [windows at random places](data.py#random_batch). Chance is
not fair: when as many characters were drawn as the text has, a share of about $1/e$, more than a
third of it, was never among them, and the rest comes up twice or more. A short run can't afford
that.

Here the text is cut into windows side by side, and each is taken once before any is taken
again. That is an *epoch*. Each epoch has an order of its own, and cuts at other places, so that
the first characters of a window, which have little before them, are others every time.

The batch of a step depends on the seed and the number of the step, and on nothing that
happened before. So a run that was stopped goes on with the right batches, and there is no
state to keep.
"""

import torch
from torch import Tensor

from labml_nn.training.data import random_batch, windows_at

# Windows whose order is kept at a time.
SECTION = 1 << 22


class ShuffledWindows:
    r"""
    ## Shuffled windows
    """

    def __init__(self, tokens: Tensor, seq_len: int, batch_size: int, seed: int) -> None:
        r"""
        * `tokens` is the text, at least one longer than a window
        * `seq_len` is the length of a window
        * `batch_size` is the number of windows in a batch
        * `seed` decides the order
        """
        self.tokens, self.seq_len, self.batch_size, self.seed = tokens, seq_len, batch_size, seed

        # One window less than there would be room for, so that there is room to cut elsewhere.
        # Only a very short text has to do with one.
        self.n_windows = max(1, (len(tokens) - 1) // seq_len - 1)
        self.order = ((-1, -1), torch.empty(0))

    def starts(self, epoch: int, section: int = 0) -> Tensor:
        r"""
        ### The order of an epoch

        Where the windows start, `[n_windows]`. Of a very long text, where the order itself would
        fill the memory, it is that of one section, and the sections follow each other. The last
        order is kept, because steps come one after another.
        """
        if self.order[0] != (epoch, section):
            # A generator for each epoch: seeds side by side give unlike orders, too.
            generator = torch.Generator().manual_seed(self.seed * 1_000_003 + epoch)
            room = len(self.tokens) - self.n_windows * self.seq_len
            first = torch.randint(room, (1,), generator=generator)
            if section:
                generator.manual_seed(self.seed * 1_000_003 + epoch + (section << 40))
            begin, end = section * SECTION, min((section + 1) * SECTION, self.n_windows)
            shuffled = begin + torch.randperm(end - begin, generator=generator)
            self.order = ((epoch, section), first + self.seq_len * shuffled)
        return self.order[1]

    def at(self, step: int) -> tuple[Tensor, Tensor]:
        r"""
        ### The batch of a step

        Inputs and targets, `[seq_len, batch_size]` each. A batch may end one epoch and begin the
        next.
        """
        begin, end = step * self.batch_size, (step + 1) * self.batch_size
        parts = []
        while begin < end:
            epoch, place = divmod(begin, self.n_windows)
            section, place = divmod(place, SECTION)
            part = self.starts(epoch, section)[place : place + end - begin]
            parts.append(part)
            begin += len(part)
        return windows_at(self.tokens, torch.cat(parts), self.seq_len)


class RandomWindows:
    r"""
    ## Windows at random places

    To see the difference, with the same interface. The batch of a step depends on the seed and the
    number of the step here, too.
    """

    def __init__(self, tokens: Tensor, seq_len: int, batch_size: int, seed: int) -> None:
        r"""
        As for [shuffled windows](batches.py#ShuffledWindows.__init__).
        """
        self.tokens, self.seq_len, self.batch_size, self.seed = tokens, seq_len, batch_size, seed

    def at(self, step: int) -> tuple[Tensor, Tensor]:
        r"""
        ### The batch of a step

        Inputs and targets, `[seq_len, batch_size]` each.
        """
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + step)
        return random_batch(self.tokens, self.seq_len, self.batch_size, generator)


def share_never_drawn(n_windows: int, seed: int = 1) -> float:
    r"""
    ## How unfair chance is

    The share of windows that were not drawn in as many draws as there are windows.
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(n_windows, (n_windows,), generator=generator)
    return 1 - len(drawn.unique()) / n_windows


def example(
    batch_size: int = 3, seq_len: int = 5, n_windows: int = 7
) -> tuple[tuple[Tensor, Tensor], float]:
    r"""
    ## Example

    The third batch has the last of the seven windows, and the first two of the next epoch.
    """
    tokens = torch.arange((n_windows + 1) * seq_len + 1)
    batches = ShuffledWindows(tokens, seq_len, batch_size, seed=1)
    RandomWindows(tokens, seq_len, batch_size, seed=1).at(2)
    return batches.at(2), share_never_drawn(1000)

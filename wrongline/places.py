r"""
---
title: Where Logits Differ
summary: Two results of a model are compared position by position, each by a scale of its own.
---

Two ways to the same logits hardly ever agree in their last digits. So a difference counts from a
ten-thousandth of the logits on; but of which? The largest of all is no measure. A model that never
says a certain token may give it $-10^9$ everywhere, and beside that number every difference is
small: a model without any mask passed so. One position may have logits a million times larger than
the others.

So each position has its own scale: how far its logits lie apart, typically. Numbers that are equal
don't differ, also where both are minus infinity.

**In:** two tensors of logits, `[batch_size, seq_len, n_vocab]`. **Out:** the first sequence and the
first position of it that differ, or nothing.
"""

import math

import torch
from torch import Tensor

from wrongline.comparison import NEAR

# A typical distance is some times smaller than the largest logit, by which NEAR was chosen.
TIMES = 4

# A class that hardly moves from position to position is suppressed.
STILL = 1e-4


def moving(logits: Tensor) -> Tensor:
    r"""
    ## The classes that say something

    True for each class whose logits are finite, and not nearly the same everywhere: `[n_vocab]`.
    """
    flat = logits.flatten(0, -2)
    finite = flat.isfinite().all(0)
    # Some are finite and nearly the largest number that there is.
    numbers = flat.masked_fill(~flat.isfinite(), 0.0).double()
    spread = numbers.amax(0) - numbers.amin(0)
    moves = finite & (spread > STILL * numbers.abs().amax(0))
    # With a single position nothing moves.
    return moves if moves.any() else finite


def scale_of(logits: Tensor) -> Tensor:
    r"""
    ## How large a difference is large

    The typical distance of a logit from the middle one, for each position: `[batch_size, seq_len]`.
    If a position has none, that of most others counts.
    """
    known = logits.double()[..., moving(logits)]
    if not known.shape[-1]:
        return torch.zeros(logits.shape[:-1], dtype=torch.float64, device=logits.device)
    # A single class is compared by its size.
    middle = known.median(-1, keepdim=True).values if known.shape[-1] > 1 else 0.0
    distance = (known - middle).abs()
    typical = distance.median(-1).values
    # Where more than half of the classes lie together, the farthest tell.
    typical = torch.maximum(typical, distance.amax(-1) / 100)
    return torch.maximum(typical, typical.flatten().median())


def far_apart(found: Tensor, expected: Tensor) -> float:
    r"""
    ## How far apart they are

    The largest difference, relative to the scale of its position.
    """
    difference = (found.double() - expected.double()).abs().masked_fill(found == expected, 0.0)
    moves = moving(expected)
    apart = difference[..., moves] / (scale_of(expected).unsqueeze(-1) + 1e-12)
    return apart.max().item() if apart.numel() and apart.isfinite().all() else 0.0


def place_of(found: Tensor, expected: Tensor, noise: float = 0.0) -> tuple[int, int] | None:
    r"""
    ## The first place that differs

    The sequence and the position; or None. `noise` is what rounding does to the model, relative to
    the scale: it is that of 16 bits, where a model runs with these only.
    """
    same = found == expected
    difference = (found.double() - expected.double()).abs().masked_fill(same, 0.0)

    # What is large in itself is rounded more coarsely.
    size = expected.double().abs().nan_to_num(0.0, posinf=0.0)
    rounded = 16 * torch.finfo(torch.float32).eps * size
    near = max(TIMES * NEAR, noise) * scale_of(expected).unsqueeze(-1)

    # Written so that NaN is a difference.
    differs = ~(difference <= near + rounded + 1e-12).all(-1)
    for row, position in differs.nonzero().tolist():
        return row, position
    return None


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> tuple[object, object]:
    r"""
    ## Example

    One class is suppressed everywhere, and one logit of another is changed.

    ### Exercises

    ??? question "Why is the largest logit no scale?"
        One token that may never be said can have a logit of $-10^9$. Beside that nothing is large.

    ??? question "Why do two infinite logits not differ?"
        A token that is never said has minus infinity both times. Nothing has changed.
    """
    logits = torch.randn(batch_size, seq_len, n_vocab)
    logits[..., 0] = -math.inf
    other = logits.clone()
    other[1, 2, 3] += 0.01
    return place_of(logits, logits), place_of(other, logits)

r"""
---
title: The Usual Mistakes as Switches
summary: The first three of an attention's seven steps, and what people have written for each.
---

To name a mistake, we make it on purpose with the same weights, and see whether the result is the
same. So here is the attention once more, cut into seven steps. For each step there is what is
right, without a name, and what people have written instead, with one. This page has the first three
steps: projections, splitting into heads, and keys that heads share. The others are
[positions](position_switches.py), and [scales, masks and merging](weight_switches.py).

**In:** a state, which holds what was computed so far. **Out:** the state after a step. [A
search](suspects.py) goes through all steps and tries what there is.

Tensors may have more axes in front than an attention needs: what can be tried at the same time is
side by side there. So each step counts its axes from the end.

Attentions differ without being wrong. They may turn queries and keys by their positions, share keys
between heads, or keep to a window. Those ways have no name either: what has none is right.

[The printed loss of each exhibit, beside the right
one](../results/mistakes.json#figures.losses)
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

# What was computed so far, by its name: the input, projections, heads, scores, weights, the result.
State = dict[str, Any]

# A step takes a state and gives the next one. A switch is a step in several ways, each with the
# sentence that names the mistake, or with none if it is right.
Step = Callable[[State], State]
Switch = list[tuple[str, Step]]


def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    r"""
    ## A projection

    Of `x`, `[..., seq_len, in]`. Unlike `F.linear`, this takes several matrices side by side,
    `[..., out, in]`.
    """
    # A weight has a row for each feature that comes out, so it is transposed.
    return x @ weight.mT + bias


def project(roles: tuple[int, ...]) -> Step:
    r"""
    ## Which of the four matrices serves as query, key, value and output
    """

    def step(s: State) -> State:
        # Keys and values may come from another text.
        inputs = (s["x"], s.get("context", s["x"]), s.get("context", s["x"]))

        # One projection for each of the three, and the matrix that comes last.
        parts = [linear(x, *s["matrices"][role]) for x, role in zip(inputs, roles[:3], strict=True)]

        # Without a fourth role there is no last projection.
        return s | {"parts": parts, "output": s["matrices"][roles[3]] if len(roles) > 3 else None}

    return step


PROJECTIONS: Switch = [
    # Query, key, value and output, each with a matrix of its own.
    ("", project((0, 1, 2, 3))),
    # A copied line, in which the name was not changed.
    ("one projection is used for query, key and value", project((0, 0, 0, 3))),
    # Which of the two it is can't be told: the order of the matrices is not known.
    ("one projection is used twice, and another never", project((0, 0, 2, 3))),
    ("one projection is used twice, and another never", project((0, 1, 1, 3))),
    ("one projection is used twice, and another never", project((0, 1, 0, 3))),
    # It is made, counted, saved, and forgotten in the last line.
    ("the output projection is not used", project((0, 1, 2))),
]


def split(heads: int, by_view: bool) -> Step:
    r"""
    ## Heads get an axis of their own
    """

    def step(s: State) -> State:
        # Where heads share keys, there are fewer heads of keys. The width of a head is the same.
        d_k = s["parts"][0].shape[-1] // heads
        cut = []

        # Queries, keys and values, in the same way.
        for z in s["parts"]:
            # The same shape, cut from memory without moving an axis, is the mistake.
            # (The right way names the axis that is cut.)
            z = (
                z.reshape(*z.shape[:-2], -1, z.shape[-2], d_k)
                if by_view
                else z.unflatten(-1, (-1, d_k)).transpose(-3, -2)
            )
            cut.append(z)

        # The width of a head is what the scale needs.
        return s | {"heads": cut, "d_k": d_k}

    return step


def share(in_turns: bool) -> Step:
    r"""
    ## Heads that share a key
    """

    def step(s: State) -> State:
        # How many heads of queries there are for one of keys: often one.
        query, key, value = s["heads"]
        times = query.shape[-3] // key.shape[-3]

        # Two heads in a row share one key. In turns, head 0 would share it with head 2.
        if in_turns:
            key = torch.cat([key] * times, dim=-3)
            value = torch.cat([value] * times, dim=-3)
        else:
            key = key.repeat_interleave(times, dim=-3)
            value = value.repeat_interleave(times, dim=-3)
        return s | {"heads": [query, key, value]}

    return step


# The shapes are the same both ways, and so is what a fresh model learns. Weights of another model
# show the difference.
SHARES: Switch = [
    ("", share(in_turns=False)),
    ("heads share keys in turns (`repeat` for `repeat_interleave`)", share(in_turns=True)),
]


def example(
    batch_size: int = 3, seq_len: int = 7, heads: int = 2, d_k: int = 5
) -> dict[str, list[Tensor]]:
    r"""
    ## Example

    Features are numbered, and so are positions. Split by a view, the first head has all features of
    the first positions, not some features of all.

    ### Exercises

    ??? question "Four heads of queries and two of keys. Which head of keys does query head 1 use?"
        Head 0: heads 0 and 1 are neighbours and share it. With `repeat` it would be head 1.

    ??? question "With how many heads is a split by a view right?"
        With one. There is nothing to cut then, and both ways give the same.
    """
    d_model = heads * d_k

    # The number 12 is feature 2 of position 1, in all sequences and for all three roles.
    numbers = torch.arange(seq_len)[:, None] * 10 + torch.arange(d_model)
    part = numbers.repeat(batch_size, 1, 1)

    # The same steps as above, each from the same state. (Queries, keys and values are alike here:
    # they are cut in the same way.)
    found = {}
    for name, by_view in (("right", False), ("by a view", True)):
        found[name] = split(heads, by_view)({"parts": [part] * 3})["heads"]
    return found

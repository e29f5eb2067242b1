r"""
---
title: The Usual Mistakes as Switches
summary: The first four of an attention's seven steps, and what people have written for each.
---

To name a mistake, we make it on purpose with the same weights, and see whether the result is the
same. So here is the attention once more, cut into seven steps. For each step there is what is
right, without a name, and what people have written instead, with one. This page has the first four
steps, and [the next one](weight_switches.py) the others.

**In:** a state, which holds what was computed so far. **Out:** the state after a step. [A
search](suspects.py) goes through all steps and tries what there is.

Tensors may have more axes in front than an attention needs: what can be tried at the same time is
side by side there. So each step counts its axes from the end.

Attentions differ without being wrong. They may turn queries and keys by their positions, share keys
between heads, or keep to a window. Those ways have no name either: what has none is right.

[The printed loss of each exhibit, beside the right
one](../../../results/mistakes.json#figures.losses)
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

State = dict[str, Any]
Step = Callable[[State], State]
Switch = list[tuple[str, Step]]


def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    r"""
    ## A projection

    Of `x`, `[..., seq_len, in]`. Unlike `F.linear`, this takes several matrices side by side,
    `[..., out, in]`.
    """
    return x @ weight.mT + bias


def project(roles: tuple[int, ...]) -> Step:
    r"""
    ## Which of the four matrices serves as query, key, value and output
    """

    def step(s: State) -> State:
        # One projection of the input for each, and the matrix that comes last.
        parts = [linear(s["x"], *s["matrices"][role]) for role in roles[:3]]

        # Without a fourth role there is no last projection.
        return s | {"parts": parts, "output": s["matrices"][roles[3]] if len(roles) > 3 else None}

    return step


PROJECTIONS: Switch = [
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


def angles(z: Tensor, by_neighbours: bool, base: float) -> Tensor:
    r"""
    ## The table of rotary angles

    For each position and each feature of a head.
    """
    # Speeds fall from one to nearly zero, by the same factor from pair to pair.
    half = z.shape[-1] // 2
    rates = base ** (-torch.arange(half) / half)
    # One row for each position.
    table = torch.arange(z.shape[-2])[:, None] * rates

    # Neighbours share an angle, or the two halves do.
    return table.repeat_interleave(2, dim=-1) if by_neighbours else table.repeat(1, 2)


def turn(z: Tensor, table: bool, pairs: bool, base: float, sign: float) -> Tensor:
    r"""
    ## Turn pairs of features

    `table` and `pairs` say whether the angles and the pairs are those of neighbours.
    """
    angle = sign * angles(z, table, base)
    # The other feature of each pair, with the sign that a rotation needs.
    if pairs:
        # Features 0 and 1 are a pair, 2 and 3, and so on.
        other = torch.stack([-z[..., 1::2], z[..., ::2]], dim=-1).flatten(-2)
    else:
        # Feature 0 is in a pair with the first one of the second half.
        first, second = z.chunk(2, dim=-1)
        other = torch.cat([-second, first], dim=-1)

    # A rotation in the plane of each pair.
    return z * angle.cos() + other * angle.sin()


def rotary(
    table: bool, pairs: bool, base: float = 1e4, turns: tuple[float, float] = (1.0, 1.0)
) -> Step:
    r"""
    ## Queries and keys turned, each with a sign
    """

    def step(s: State) -> State:
        # A sign of minus one turns the other way.
        # A sign of zero leaves them as they are.
        query, key, value = s["heads"]

        # Values are never turned.
        query = turn(query, table, pairs, base, turns[0])
        key = turn(key, table, pairs, base, turns[1])
        return s | {"heads": [query, key, value]}

    return step


def in_each_way(steps: Sequence[Step]) -> Step:
    r"""
    ## Several ways that are right, side by side

    On a new first axis of queries and keys.
    """

    def step(s: State) -> State:
        # Values are the same in all of these ways, and get no axis: they would be copies.
        turned = [step(s)["heads"] for step in steps]
        query, key, _ = zip(*turned, strict=True)
        return s | {"heads": [torch.stack(query), torch.stack(key), s["heads"][2]]}

    return step


def position_switch() -> Switch:
    r"""
    ## Ways to turn queries and keys
    """
    # Without rotation first.
    found: Switch = [("", lambda s: s)]

    # Three bases are in use: that of the paper, Llama 3's and Qwen's. Both kinds of pairs are in
    # use, and both directions.
    right = [
        rotary(pairs, pairs, base, (sign, sign))
        for base in (1e4, 5e5, 1e6)
        for pairs in (False, True)
        for sign in (1, -1)
    ]
    found.append(("", in_each_way(right)))

    # What is wrong: a table for one kind of pairs, and a rotation of the other.
    mixed = "rotary pairs are mixed: the table is for other pairs than those that are turned"
    for pairs in (False, True):
        found.append((mixed, rotary(not pairs, pairs)))

        # One of the two is forgotten, or one has the other's sign.
        for turns, name in (
            ((1, 0), "only queries are turned by their positions"),
            ((0, 1), "only keys are turned by their positions"),
            ((1, -1), "queries and keys are turned in opposite directions"),
        ):
            found.append((name, rotary(pairs, pairs, turns=turns)))
    return found


POSITIONS = position_switch()


def example(batch_size: int = 3, seq_len: int = 7, d_k: int = 2) -> dict[str, Tensor]:
    r"""
    ## Example

    The score of a query and a key that are both moved by one position. With the right pairs it
    stays, with mixed pairs it doesn't.

    ### Exercises

    ??? question "Are halves right, or neighbours?"
        Both: it is a matter of which features are called a pair. Table and rotation have to agree,
        and weights of another model have to fit.

    ??? question "Four heads of queries and two of keys. Which head of keys does query head 1 use?"
        Head 0: heads 0 and 1 are neighbours and share it. With `repeat` it would be head 1.
    """
    # One query and one key, at all positions: only what they are turned by
    # can make a difference.
    query, key = torch.randn(2, batch_size, 1, 1, 2 * d_k).expand(-1, -1, 1, seq_len, -1)
    # A table of halves, then one of neighbours.
    found = {}
    for name, table in (("right", False), ("mixed", True)):
        # The same vectors at all positions.
        # The pairs that are turned are halves both times.
        turned = [turn(z, table, pairs=False, base=1e4, sign=1.0) for z in (query, key)]
        scores = turned[0] @ turned[1].transpose(-2, -1)

        # On the diagonal beside the main one, all distances are one.
        found[name] = scores.diagonal(1, -2, -1).std(dim=-1)
    return found

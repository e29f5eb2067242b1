r"""
---
title: Mistakes in Rotary Positions
summary: Ways to turn queries and keys by their positions, and what people have written instead.
know: ../labml_nn/transformers/rotary.py
---

Between the [heads](switches.py) and the [scores](weight_switches.py), many attentions turn queries
and keys by their positions. That can be done in several ways that are all right: each needs the
weights that were trained with it, and nothing says which weights those are. So all of them have to
be tried.

**In:** a state with the heads of queries, keys and values. **Out:** the same, with queries and keys
turned.

What is wrong is to mix two of these ways, or to turn only one of the two. The score of a query and
a key then depends on where they are, not only on how far they are from each other.

[Six features (across), and what position 1 makes of them (down), in two ways that are both right:
blue is added, red subtracted](../results/family_drawings.json#figures.pairs)
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from wrongline.switches import State, Step, Switch


def angles(z: Tensor, by_neighbours: bool, base: float) -> Tensor:
    r"""
    ## The table of rotary angles

    For each position and each feature of a head.
    """
    # How far a pair turns with each position: from one radian to nearly none, less by the same
    # factor from pair to pair.
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

    `turns` are the signs. Minus one turns the other way, and zero not at all.
    """

    def step(s: State) -> State:
        query, key, value = s["heads"]

        # Values are never turned: positions matter to the scores alone.
        query = turn(query, table, pairs, base, turns[0])
        key = turn(key, table, pairs, base, turns[1])
        return s | {"heads": [query, key, value]}

    return step


def in_each_way(ways: Sequence[Step]) -> Step:
    r"""
    ## Several ways that are right, side by side

    On a new first axis of queries and keys.
    """

    def step(s: State) -> State:
        # Values are the same in all of these ways, and get no axis: they would be copies.
        turned = [way(s)["heads"] for way in ways]
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

    ??? question "Queries alone are turned. On what does the score depend then?"
        On the position of the query, and not on that of the key.
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

r"""Queries and keys that are turned, number by number."""

import math
from typing import Any

import torch
from torch import Tensor

from wrongline.position_switches import POSITIONS


def heads_of(*numbers: int) -> list[Tensor]:
    r"""Queries, keys and values of so many heads, of sequences, positions and features."""
    torch.manual_seed(1)
    return [torch.randn(2, heads, 5, 6, dtype=torch.float64) for heads in numbers]


def rotated(z: Tensor, table: bool, pairs: bool, base: float, sign: float) -> Tensor:
    r"""Number by number: feature `one` and the other of its pair, each by the angle that the table
    has for it. Neighbours are `True`, halves are `False`.
    """
    half = z.shape[-1] // 2
    result = torch.empty_like(z)
    for at in range(z.shape[2]):
        for feature in range(2 * half):
            number = feature // 2 if table else feature % half
            angle = sign * at * base ** (-number / half)
            if pairs:
                first, other = feature % 2 == 0, feature ^ 1
            else:
                first, other = feature < half, (feature + half) % (2 * half)
            across = -z[:, :, at, other] if first else z[:, :, at, other]
            along = z[:, :, at, feature]
            result[:, :, at, feature] = along * math.cos(angle) + across * math.sin(angle)
    return result


# What is right: both kinds of pairs in both directions, with three bases.
BOTH = [
    (pairs, pairs, base, sign, sign)
    for base in (10_000, 500_000, 1_000_000)
    for pairs in (False, True)
    for sign in (1, -1)
]
# What is wrong.
MIXED = "rotary pairs are mixed: the table is for other pairs than those that are turned"
WRONG = [
    (name, (table, pairs, 10_000, query, key))
    for pairs in (False, True)
    for name, table, query, key in (
        (MIXED, not pairs, 1, 1),
        ("only queries are turned by their positions", pairs, 1, 0),
        ("only keys are turned by their positions", pairs, 0, 1),
        ("queries and keys are turned in opposite directions", pairs, 1, -1),
    )
]


def turned(heads: list[Tensor], way: tuple[Any, ...]) -> list[Tensor]:
    r"""Queries and keys in this way, each by its sign, and values as they are."""
    query, key, value = heads
    return [rotated(query, *way[:3], way[3]), rotated(key, *way[:3], way[4]), value]


def test_queries_and_keys_are_turned_as_their_name_says() -> None:
    heads = heads_of(4, 2, 2)
    query, key, value = zip(*(turned(heads, way) for way in BOTH), strict=True)
    # All that is right is side by side on a first axis.
    together = [torch.stack(query), torch.stack(key), value[0]]
    expected = [("", heads), ("", together), *((name, turned(heads, way)) for name, way in WRONG)]
    for (name, step), (said, wanted) in zip(POSITIONS, expected, strict=True):
        after = step({"heads": heads, "d_k": 6})
        assert name == said
        assert after["d_k"] == 6
        for found, known in zip(after["heads"], wanted, strict=True):
            # Angles are of single precision.
            torch.testing.assert_close(found, known, rtol=1e-5, atol=1e-6)

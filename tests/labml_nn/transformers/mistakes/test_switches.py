r"""Each way of doing a step, right or wrong, against loops that do it position by position."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from labml_nn.transformers.mistakes.switches import (
    POSITIONS,
    PROJECTIONS,
    SHARES,
    State,
    Step,
    split,
)
from labml_nn.transformers.mistakes.weight_switches import MERGES, OTHER_WEIGHTS, SCALES, WEIGHTS


def heads_of(*numbers: int) -> list[Tensor]:
    r"""Queries, keys and values of so many heads, of sequences, positions and features."""
    torch.manual_seed(1)
    return [torch.randn(2, heads, 5, 6, dtype=torch.float64) for heads in numbers]


def test_each_projection_has_the_matrix_of_its_role_and_the_last_one_may_be_forgotten() -> None:
    torch.manual_seed(1)
    x = torch.randn(2, 5, 3)
    matrices = [(torch.randn(7, 3), torch.randn(7)) for _ in range(4)]
    once = "one projection is used for query, key and value"
    twice = "one projection is used twice, and another never"
    expected = [("", "qkv"), (once, "qqq"), (twice, "qqv"), (twice, "qkk"), (twice, "qkq")]
    forgotten = ("the output projection is not used", "qkv")
    for (name, step), (said, roles) in zip(PROJECTIONS, [*expected, forgotten], strict=True):
        after = step({"x": x, "matrices": matrices})
        assert name == said
        assert after["x"] is x
        for part, role in zip(after["parts"], roles, strict=True):
            weight, bias = matrices["qkv".index(role)]
            torch.testing.assert_close(part, x @ weight.T + bias)
        assert after["output"] is (None if said == forgotten[0] else matrices[3])


@pytest.mark.parametrize("by_view", [False, True])
def test_heads_are_cut_from_features_or_from_memory(by_view: bool) -> None:
    # Keys and values have half as many heads as the four of the queries.
    parts = [torch.arange(2 * 5 * width).view(2, 5, width) for width in (12, 6, 6)]
    after = split(4, by_view)({"parts": parts})
    assert after["parts"] is parts
    assert after["d_k"] == 3
    for part, cut, heads in zip(parts, after["heads"], (4, 2, 2), strict=True):
        assert cut.shape == (2, heads, 5, 3)
        for head in range(heads):
            here = part.flatten(1)[:, 15 * head : 15 * head + 15].view(2, 5, 3)
            right = part[:, :, 3 * head : 3 * head + 3]
            assert cut[:, head].equal(here if by_view else right)


def test_heads_share_keys_with_their_neighbours_or_in_turns() -> None:
    query, key, value = heads_of(6, 3, 3)
    turns = "heads share keys in turns (`repeat` for `repeat_interleave`)"
    wanted = [("", (0, 0, 1, 1, 2, 2)), (turns, (0, 1, 2, 0, 1, 2))]
    for (name, step), (said, order) in zip(SHARES, wanted, strict=True):
        after = step({"heads": [query, key, value], "d_k": 6})
        assert name == said
        assert after["d_k"] == 6
        assert after["heads"][0] is query
        assert after["heads"][1].equal(torch.stack([key[:, n] for n in order], dim=1))
        assert after["heads"][2].equal(torch.stack([value[:, n] for n in order], dim=1))


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


def test_more_axes_in_front_are_more_attentions() -> None:
    torch.manual_seed(1)
    matrices = [[(torch.randn(12, 12), torch.randn(12)) for _ in range(4)] for _ in range(3)]
    # For each role the weights and biases of three attentions, for sequences of a batch.
    stacked = [
        (
            torch.stack([w for w, _ in role])[:, None],
            torch.stack([b for _, b in role])[:, None, None],
        )
        for role in zip(*matrices, strict=True)
    ]
    x = torch.randn(2, 5, 12)
    views = [("", split(2, False)), ("a view", split(2, True))]
    for switch in (PROJECTIONS, views, SHARES, POSITIONS, SCALES, WEIGHTS, OTHER_WEIGHTS, MERGES):
        for name, step in switch:
            ways = [PROJECTIONS, views, SHARES, POSITIONS, SCALES, WEIGHTS, MERGES]
            chosen = [step if one is switch else one[0][1] for one in ways]
            if switch is OTHER_WEIGHTS:
                chosen[5] = step
            several = run_through(chosen, {"x": x, "matrices": stacked})
            alone = [run_through(chosen, {"x": x, "matrices": one}) for one in matrices]
            wanted = torch.stack(alone, dim=-4)
            torch.testing.assert_close(several, wanted, equal_nan=True, msg=name)


def run_through(chosen: list[Step], state: State) -> Tensor:
    for step in chosen:
        state = step(state)
    return state["result"]

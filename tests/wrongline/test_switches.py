r"""Each way of doing a step, right or wrong, against loops that do it position by position."""

import pytest
import torch
from torch import Tensor

from wrongline.position_switches import POSITIONS
from wrongline.switches import PROJECTIONS, SHARES, State, Step, split
from wrongline.weight_switches import MERGES, OTHER_WEIGHTS, SCALES, WEIGHTS


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

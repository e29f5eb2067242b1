r"""Scales, rules and merging, right or wrong, against exponentials and their sums."""

import math

import pytest
import torch
from torch import Tensor

from wrongline.weight_switches import (
    MERGES,
    OTHER_RULES,
    OTHER_WEIGHTS,
    RULES,
    SCALES,
    WEIGHTS,
    weigh,
)

BATCH, HEADS, SEQ_LEN = 3, 4, 7
QUERY, KEY = torch.arange(SEQ_LEN)[:, None], torch.arange(SEQ_LEN)[None, :]
CAUSAL = KEY <= QUERY
ALL = torch.ones(SEQ_LEN, SEQ_LEN)


def scores(spread: float = 1.0) -> Tensor:
    torch.manual_seed(1)
    return spread * torch.randn(BATCH, HEADS, SEQ_LEN, SEQ_LEN, dtype=torch.float64)


def test_scores_are_products_of_queries_and_keys_times_a_factor() -> None:
    torch.manual_seed(1)
    # Four heads of width 3 have 12 features; the width is another, so no factor fits twice.
    query, key, value = torch.randn(3, BATCH, HEADS, SEQ_LEN, 3).unbind()
    before = {"heads": [query, key, value], "x": torch.randn(BATCH, SEQ_LEN, 20), "d_k": 3}
    wide = "the scores are divided by the root of the whole width"
    twice = "the scores are divided by the width, not by its root: the scale is applied twice"
    both = "the scale is applied twice, by the root of the whole width and by that of a head's"
    expected = [
        ("", 1 / math.sqrt(3)),
        (wide, 1 / math.sqrt(20)),
        ("the scores are not scaled", 1),
        ("the scores are multiplied by the root", math.sqrt(3)),
        (twice, 1 / 3),
        ("the scores are divided by the whole width, not by a root", 1 / 20),
        (both, 1 / math.sqrt(3) / math.sqrt(20)),
    ]
    for (name, step), (said, factor) in zip(SCALES, expected, strict=True):
        after = step(before)
        assert name == said
        assert after["d_k"] == 3
        wanted = factor * torch.einsum("bhid,bhjd->bhij", query, key)
        torch.testing.assert_close(after["scores"], wanted)


def weights(s: Tensor, visible: Tensor, axis: int = 3) -> Tensor:
    r"""By the formula. Where nothing is visible it is zero by zero: NaN."""
    e = s.exp() * visible
    return e / e.sum(axis, keepdim=True)


def test_each_rule_gives_the_weights_that_its_name_says() -> None:
    s = scores()
    first = torch.ones(BATCH, 1, SEQ_LEN, SEQ_LEN)
    first[0] = CAUSAL
    among_heads, among_sequences = (weights(s, CAUSAL, axis) for axis in (1, 0))
    added, added_to_hidden = s + CAUSAL.double(), s + (~CAUSAL).double()
    expected = [
        ("", weights(s, CAUSAL)),
        ("there is no causal mask", weights(s, ALL)),
        ("the mask shows the next position too", weights(s, KEY <= QUERY + 1)),
        ("a position doesn't see itself", weights(s, KEY < QUERY)),
        ("the mask is upside down", weights(s, KEY > QUERY)),
        ("the mask is upside down", weights(s, KEY >= QUERY)),
        ("the mask is in the first sequence only", weights(s, first)),
        ("the mask comes after the softmax", weights(s, ALL) * CAUSAL),
        ("hidden scores are zero", weights(s * CAUSAL, ALL)),
        ("a mask of ones is added to the scores", weights(added, ALL)),
        ("a mask of ones is added to the hidden scores", weights(added_to_hidden, ALL)),
        ("the softmax is over the queries", weights(s, CAUSAL, 2)),
        # Among numbers that are hidden alike, all have the same weight, or none is known.
        ("the softmax is over the heads", among_heads.nan_to_num(1 / HEADS)),
        ("the softmax is over the heads", among_heads),
        ("the softmax is over the batch", among_sequences.nan_to_num(1 / BATCH)),
        ("the softmax is over the batch", among_sequences),
    ]
    for (name, rule), (said, wanted) in zip(RULES, expected, strict=True):
        assert name == said
        torch.testing.assert_close(rule(s, CAUSAL), wanted, equal_nan=True)
        # With more attentions side by side, each gets its own.
        several = rule(torch.stack([7 * s, s]), CAUSAL)
        torch.testing.assert_close(several[1], wanted, equal_nan=True)


def test_windows_caps_and_distances_are_right_as_well() -> None:
    # Large enough for a cap to be felt.
    s = scores(20.0)
    capped = [cap * (s / cap).tanh() for cap in (30, 50)]
    slopes = torch.tensor([1 / 4, 1 / 16, 1 / 64, 1 / 256]).view(-1, 1, 1)
    expected = [
        *(weights(s, CAUSAL & (QUERY - KEY < width)) for width in (1, 2, 3, 4, 5, 6)),
        *(weights(one, CAUSAL) for one in capped),
        weights(s - slopes * (QUERY - KEY), CAUSAL),
    ]
    for rule, wanted in zip(OTHER_RULES, expected, strict=True):
        torch.testing.assert_close(rule(s, CAUSAL), wanted)
    # As a step they are side by side on a first axis.
    ((name, step),) = OTHER_WEIGHTS
    assert name == ""
    torch.testing.assert_close(step({"scores": s})["weights"], torch.stack(expected))


def test_a_rule_gets_the_causal_mask_and_keeps_its_name_as_a_step() -> None:
    s = scores()
    assert weigh(lambda _, mask: mask)({"scores": s})["weights"].equal(CAUSAL)
    for (name, step), (said, rule) in zip(WEIGHTS, RULES, strict=True):
        after = step({"scores": s, "d_k": 2})
        assert (name, after["d_k"]) == (said, 2)
        assert after["scores"] is s
        torch.testing.assert_close(after["weights"], rule(s, CAUSAL), equal_nan=True)


@pytest.mark.parametrize("forgotten", [False, True])
def test_heads_are_merged_position_by_position_or_in_memory(forgotten: bool) -> None:
    torch.manual_seed(1)
    value = torch.randn(BATCH, HEADS, SEQ_LEN, 2)
    look = torch.rand(BATCH, HEADS, SEQ_LEN, SEQ_LEN)
    weight, bias = torch.randn(5, 2 * HEADS), torch.randn(5)
    before = {"weights": look, "heads": [None, None, value], "d_k": 2}
    means = torch.einsum("bhij,bhjd->bhid", look, value)
    in_memory = means.reshape(BATCH, SEQ_LEN, 2 * HEADS)
    wanted = [
        ("", torch.cat([*means.unbind(1)], dim=-1)),
        ("heads are merged by a view", in_memory),
    ]
    for (name, step), (said, merged) in zip(MERGES, wanted, strict=True):
        after = step(before | {"output": None if forgotten else (weight, bias)})
        assert (name, after["d_k"]) == (said, 2)
        projected = merged if forgotten else merged @ weight.T + bias
        torch.testing.assert_close(after["result"], projected)

import itertools
import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from labml_nn.training.data import InputError
from labml_nn.training.strategies import (
    Sampling,
    draw,
    keep_min_p,
    keep_nucleus,
    keep_top_k,
    penalise,
    shape,
)

# Scores that lie far enough apart for no rounding to decide anything.
SCORES = [1.0, -2.0, 0.5, 0.0, 2.0, -0.5, -7.0]
ROW = torch.tensor([SCORES], dtype=torch.float64)
N_DRAWS = 200_000

# A few eighths: many equal ones, and sums of their exponentials without accidents.
eighths = st.integers(-16, 16).map(lambda number: number / 8)
rows = st.lists(eighths, min_size=1, max_size=9)


def as_row(scores: list[float]) -> Tensor:
    return torch.tensor([scores], dtype=torch.float64)


def softmax(scores: list[float]) -> list[float]:
    weights = [math.exp(score) for score in scores]
    return [weight / sum(weights) for weight in weights]


def kept(logits: Tensor) -> set[int]:
    return set(torch.isfinite(logits[0]).nonzero()[:, 0].tolist())


def by_likelihood(scores: list[float]) -> list[int]:
    return sorted(range(len(scores)), key=lambda token: -scores[token])


def only(scores: list[float], tokens: list[int]) -> list[float]:
    r"""Probabilities when nothing but `tokens` is left."""
    weights = [math.exp(scores[token]) * (token in tokens) for token in range(len(scores))]
    return [weight / sum(weights) for weight in weights]


def brute_force_nucleus(scores: list[float], top_p: float) -> list[int]:
    r"""Of all sets that reach the mass, a smallest one, and of those the likeliest."""
    probabilities = softmax(scores)
    sets = [
        chosen
        for size in range(1, len(scores) + 1)
        for chosen in itertools.combinations(range(len(scores)), size)
        if sum(probabilities[token] for token in chosen) >= top_p
    ]
    least = min(map(len, sets))
    return list(
        max(
            (chosen for chosen in sets if len(chosen) == least),
            key=lambda chosen: sum(probabilities[token] for token in chosen),
        )
    )


def penalised(scores: list[float], seen: set[int], repetition: float) -> list[float]:
    less = {
        token: score / repetition if score > 0 else score * repetition
        for token, score in enumerate(scores)
    }
    return [less[token] if token in seen else score for token, score in enumerate(scores)]


def expectations() -> dict[str, tuple[dict[str, Any], list[float]]]:
    r"""Options, and the probabilities that they should give, without any tensor."""
    hot = [score / 2 for score in SCORES]
    cold = [score / 0.5 for score in SCORES]
    order = by_likelihood(SCORES)
    worse = penalised(SCORES, {4, 1}, 1.5)
    limit = 0.2 * max(softmax(SCORES))
    likely = [token for token, p in enumerate(softmax(SCORES)) if p >= limit]
    five = [score if token in order[:5] else -99.0 for token, score in enumerate(cold)]
    return {
        "plain": ({}, softmax(SCORES)),
        "hot": ({"temperature": 2.0}, softmax(hot)),
        "cold": ({"temperature": 0.5}, softmax(cold)),
        "top-k": ({"top_k": 3}, only(SCORES, order[:3])),
        "nucleus": ({"top_p": 0.75}, only(SCORES, brute_force_nucleus(SCORES, 0.75))),
        "min-p": ({"min_p": 0.2}, only(SCORES, likely)),
        "repetition": ({"repetition": 1.5}, softmax(worse)),
        "top-k, then nucleus, cold": (
            {"temperature": 0.5, "top_k": 5, "top_p": 0.9},
            only(cold, brute_force_nucleus(five, 0.9)),
        ),
    }


SEEN = torch.tensor([[token in (4, 1) for token in range(len(SCORES))]])


@pytest.mark.parametrize(
    ("options", "expected"), expectations().values(), ids=expectations().keys()
)
def test_probabilities_are_those_of_the_definition(
    options: dict[str, Any], expected: list[float]
) -> None:
    found = shape(ROW, Sampling(**options), SEEN).softmax(dim=-1)[0]
    torch.testing.assert_close(
        found, torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize(
    ("options", "expected"), expectations().values(), ids=expectations().keys()
)
def test_many_draws_follow_the_probabilities(
    options: dict[str, Any], expected: list[float]
) -> None:
    chance = torch.rand(N_DRAWS, generator=torch.Generator().manual_seed(1))
    logits = ROW.float().expand(N_DRAWS, -1)
    drawn = draw(logits, chance, Sampling(**options), SEEN.expand(N_DRAWS, -1))
    counts = drawn.bincount(minlength=len(SCORES)).tolist()
    impossible = [count for count, p in zip(counts, expected, strict=True) if p == 0]
    assert sum(impossible) == 0

    # Pearson's sum is chi-square distributed with at most 6 degrees of freedom, which
    # exceeds 33.1 in one of 100,000 cases.
    surprise = sum(
        (count - N_DRAWS * p) ** 2 / (N_DRAWS * p)
        for count, p in zip(counts, expected, strict=True)
        if p > 0
    )
    assert surprise < 33.1


def test_a_number_falls_into_the_stretch_of_its_token() -> None:
    logits = torch.tensor([[0.25, 0.5, 0.25]]).log().expand(5, -1)
    chance = torch.tensor([0.0, 0.24, 0.26, 0.74, 0.76])
    assert draw(logits, chance).tolist() == [0, 0, 1, 1, 2]


def test_a_token_without_probability_is_never_drawn_at_the_ends_of_the_line() -> None:
    logits = torch.tensor([[-math.inf, 0.0, -math.inf, 0.0, -math.inf]]).expand(3, -1)
    chance = torch.tensor([0.0, 0.5, 1 - 2**-24])
    assert draw(logits, chance).tolist() == [1, 3, 3]


def test_the_greatest_number_hits_a_token_however_the_sum_was_rounded() -> None:
    logits = torch.randn(300, 1009, generator=torch.Generator().manual_seed(1))
    ends = logits.softmax(dim=-1).cumsum(dim=-1)[:, -1]
    assert (ends < 1 - 2**-24).any()
    assert (ends > 1).any()
    assert int(draw(logits, torch.full((300,), 1 - 2**-24)).max()) < 1009


def test_rows_of_a_batch_are_drawn_from_their_own_logits() -> None:
    logits = torch.full((3, 7), -20.0)
    logits[0, 5] = logits[1, 0] = logits[2, 6] = 20.0
    assert draw(logits, torch.tensor([0.5, 0.5, 0.5])).tolist() == [5, 0, 6]


@given(rows, st.floats(0, 1, exclude_max=True, width=32))
def test_low_temperatures_approach_greedy(scores: list[float], chance: float) -> None:
    logits, place = as_row(scores), torch.tensor([chance], dtype=torch.float64)
    cold = int(draw(logits, place, Sampling(temperature=1e-4)))
    greedy = int(draw(logits, place, Sampling(temperature=0.0)))
    assert scores[cold] == scores[greedy] == max(scores)


@given(rows)
def test_options_that_ask_for_nothing_change_nothing(scores: list[float]) -> None:
    logits = as_row(scores)
    seen = torch.ones_like(logits, dtype=torch.bool)
    idle = Sampling(top_k=len(scores), top_p=1.0, min_p=0.0, repetition=1.0, temperature=1.0)
    assert shape(logits, idle, seen).equal(logits)
    assert penalise(logits, seen, 1.0).equal(logits)
    assert keep_top_k(logits, len(scores) + 3).equal(logits)


@given(rows, st.integers(1, 9))
def test_top_k_keeps_that_many_and_none_less_likely_than_one_that_goes(
    scores: list[float], top_k: int
) -> None:
    left = kept(keep_top_k(as_row(scores), top_k))
    assert len(left) == min(top_k, len(scores))
    gone = set(range(len(scores))) - left
    assert min(scores[token] for token in left) >= max(
        (scores[token] for token in gone), default=-math.inf
    )


@given(rows, st.floats(0.01, 0.99))
def test_the_nucleus_reaches_its_mass_and_no_smaller_set_does(
    scores: list[float], top_p: float
) -> None:
    probabilities = softmax(scores)
    left = kept(keep_nucleus(as_row(scores), top_p))
    likeliest = sorted(probabilities, reverse=True)
    assert sorted((probabilities[token] for token in left), reverse=True) == pytest.approx(
        likeliest[: len(left)]
    )
    assert sum(likeliest[: len(left)]) >= top_p - 1e-9
    assert sum(likeliest[: len(left) - 1]) < top_p + 1e-9


def test_a_nucleus_of_equal_tokens_has_just_enough_of_them() -> None:
    assert len(kept(keep_nucleus(torch.zeros(1, 8, dtype=torch.float64), 0.5))) == 4
    assert len(kept(keep_nucleus(torch.zeros(1, 8, dtype=torch.float64), 0.51))) == 5


def test_a_nucleus_has_at_least_the_likeliest_token() -> None:
    assert kept(keep_nucleus(ROW, 1e-9)) == {4}


@given(rows, st.floats(0.01, 1.0))
def test_min_p_keeps_what_is_likely_beside_the_likeliest(scores: list[float], min_p: float) -> None:
    left = kept(keep_min_p(as_row(scores), min_p))
    ratios = [math.exp(score - max(scores)) for score in scores]
    assert {token for token, ratio in enumerate(ratios) if ratio > min_p + 1e-9} <= left
    assert left <= {token for token, ratio in enumerate(ratios) if ratio > min_p - 1e-9}
    assert scores.index(max(scores)) in left


def test_a_min_p_of_one_keeps_the_likeliest_alone() -> None:
    assert kept(keep_min_p(as_row([1.0, 2.0, 0.5, 2.0]), 1.0)) == {1, 3}


@given(rows, st.floats(0.01, 1.0), st.floats(-50, 50))
def test_min_p_sees_differences_alone(scores: list[float], min_p: float, shift: float) -> None:
    # Half an eighth off, so that rounding cannot move a token over the edge.
    min_p = math.exp(math.floor(8 * math.log(min_p)) / 8 - 1 / 16)
    moved = [score + shift for score in scores]
    assert kept(keep_min_p(as_row(scores), min_p)) == kept(keep_min_p(as_row(moved), min_p))


@given(rows, st.sets(st.integers(0, 8)), st.floats(1.01, 3))
def test_a_penalty_lowers_what_was_seen_and_nothing_else(
    scores: list[float], tokens: set[int], repetition: float
) -> None:
    seen = torch.tensor([[token in tokens for token in range(len(scores))]])
    found = penalise(as_row(scores), seen, repetition)[0].tolist()
    assert found == pytest.approx(penalised(scores, tokens, repetition))
    assert all(after <= before for after, before in zip(found, scores, strict=True))


def test_greedy_writing_pays_the_penalty_too() -> None:
    logits = torch.tensor([[1.0, 0.9]])
    seen = torch.tensor([[True, False]])
    greedy = Sampling(temperature=0.0, repetition=1.2)
    assert int(draw(logits, torch.zeros(1), greedy, seen)) == 1


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("temperature", -1.0, "the temperature must be at least 0, got -1"),
        ("temperature", math.nan, "the temperature must be at least 0, got nan"),
        ("top_k", 0, "top_k must be at least 1, got 0"),
        ("top_p", 0.0, "top_p must be above 0 and at most 1, got 0"),
        ("top_p", 1.5, "top_p must be above 0 and at most 1, got 1.5"),
        ("min_p", -0.1, "min_p must be between 0 and 1, got -0.1"),
        ("repetition", 0.0, "repetition must be above 0, got 0"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(option: str, value: float, sentence: str) -> None:
    with pytest.raises(InputError, match=f"^{sentence}"):
        Sampling(**{option: value})

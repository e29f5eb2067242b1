import itertools
import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from labml_nn.training.sampling import generate
from labml_nn.training.strategies import Sampling, keep_min_p, keep_top_k, keep_top_p

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


def expectations() -> dict[str, tuple[dict[str, Any], list[float]]]:
    r"""Options, and the probabilities that they should give, without any tensor."""
    hot = [score / 2 for score in SCORES]
    cold = [score / 0.5 for score in SCORES]
    order = by_likelihood(SCORES)
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
        "top-k, then nucleus, cold": (
            {"temperature": 0.5, "top_k": 5, "top_p": 0.9},
            only(cold, brute_force_nucleus(five, 0.9)),
        ),
    }


@pytest.mark.parametrize(
    ("options", "expected"), expectations().values(), ids=expectations().keys()
)
def test_draws_have_the_probabilities_of_the_definition(
    options: dict[str, Any], expected: list[float]
) -> None:
    found = Sampling(**options).filter_logits(ROW).softmax(dim=-1)[0]
    torch.testing.assert_close(
        found, torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=1e-12
    )

    logits = ROW.float().expand(N_DRAWS, -1)
    drawn = Sampling(**options)(logits, torch.Generator().manual_seed(1))
    counts = list(zip(drawn.bincount(minlength=len(SCORES)).tolist(), expected, strict=True))
    assert all(count == 0 for count, p in counts if p == 0)
    # Pearson's sum is chi-square distributed with at most 6 degrees of freedom, which
    # exceeds 33.1 in one of 100,000 cases.
    surprise = sum((count - N_DRAWS * p) ** 2 / (N_DRAWS * p) for count, p in counts if p > 0)
    assert surprise < 33.1


@given(rows)
def test_options_that_ask_for_nothing_change_nothing(scores: list[float]) -> None:
    logits = as_row(scores)
    assert Sampling().filter_logits(logits).equal(logits)
    assert keep_top_k(logits, len(scores) + 3).equal(logits)


def test_the_table_of_the_page_is_what_the_filters_keep() -> None:
    logits = torch.tensor([[0.50, 0.25, 0.15, 0.07, 0.03]]).log()
    assert kept(keep_top_k(logits, 2)) == {0, 1}
    assert kept(keep_top_p(logits, 0.8)) == {0, 1, 2}
    assert kept(keep_min_p(logits, 0.1)) == {0, 1, 2, 3}


def test_a_strategy_plugs_into_the_generation_and_greedy_is_a_top_k_of_one() -> None:
    torch.manual_seed(1)
    table, prompts = torch.nn.Embedding(7, 7), torch.tensor([[1, 4, 2]])
    first = generate(table, prompts, 9, 3, Sampling(temperature=0.0))
    assert generate(table, prompts, 9, 3, Sampling(top_k=1)).equal(first)
    assert generate(table, prompts, 9, 3, Sampling(top_p=1e-9)).equal(first)


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
    left = kept(keep_top_p(as_row(scores), top_p))
    likeliest = sorted(probabilities, reverse=True)
    assert sorted((probabilities[token] for token in left), reverse=True) == pytest.approx(
        likeliest[: len(left)]
    )
    assert sum(likeliest[: len(left)]) >= top_p - 1e-9
    assert sum(likeliest[: len(left) - 1]) < top_p + 1e-9


def test_a_nucleus_of_equal_tokens_has_just_enough_of_them_and_never_none() -> None:
    assert len(kept(keep_top_p(torch.zeros(1, 8, dtype=torch.float64), 0.5))) == 4
    assert len(kept(keep_top_p(torch.zeros(1, 8, dtype=torch.float64), 0.51))) == 5
    assert kept(keep_top_p(ROW, 1e-9)) == {4}


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


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("temperature", -1.0, "temperature and top_k must be at least 0"),
        ("top_k", -1, "temperature and top_k must be at least 0"),
        ("top_p", 0.0, "top_p must be above 0"),
        ("top_p", 1.5, "top_p must be above 0"),
        ("min_p", -0.1, "min_p at least 0"),
        ("min_p", 1.1, "min_p at least 0"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(option: str, value: float, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"{sentence}.*{option}={value}"):
        Sampling(**{option: value})

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from labml_nn.training.sampling import generate
from labml_nn.training.strategies import Sampling, keep_min_p, keep_top_k, keep_top_p
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest

# Scores that lie far enough apart for no rounding to decide anything.
SCORES = [1.0, -2.0, 0.5, 0.0, 2.0, -0.5, -7.0]
ROW = torch.tensor([SCORES], dtype=torch.float64)

# A few eighths: many equal ones, and sums of their exponentials without accidents.
rows = st.lists(st.integers(-16, 16).map(lambda number: number / 8), min_size=1, max_size=9)


def as_row(scores: list[float]) -> Tensor:
    return torch.tensor([scores], dtype=torch.float64)


def softmax(scores: list[float]) -> list[float]:
    weights = [math.exp(score) for score in scores]
    return [weight / sum(weights) for weight in weights]


def kept(logits: Tensor) -> set[int]:
    return set(torch.isfinite(logits[0]).nonzero()[:, 0].tolist())


# With the tokens that are left. From the likeliest on, the shares are .55, .20, .12, .07 and .04;
# at half the temperature, .83 and .11.
OPTIONS = [
    ({}, {0, 1, 2, 3, 4, 5, 6}),
    ({"temperature": 2.0}, {0, 1, 2, 3, 4, 5, 6}),
    ({"temperature": 0.5}, {0, 1, 2, 3, 4, 5, 6}),
    ({"top_k": 3}, {4, 0, 2}),
    ({"top_p": 0.75}, {4, 0, 2}),
    ({"min_p": 0.2}, {4, 0, 2}),
    ({"temperature": 0.5, "top_k": 5, "top_p": 0.9}, {4, 0}),
]


def from_definition(options: dict[str, Any], left: set[int]) -> float:
    r"""How far the probabilities of what is left are from those of the definition."""
    hot = [score / options.get("temperature", 1.0) for score in SCORES]
    expected = softmax([score if n in left else -math.inf for n, score in enumerate(hot)])
    # Only differences of scores are seen, and each row alone.
    rows = Sampling(**options).filter_logits(torch.cat([ROW, ROW + 1])).softmax(dim=-1)
    return largest([*rows], [torch.tensor(expected, dtype=torch.float64)] * 2)


ORACLES = {
    "the definition, for single numbers": lambda: max(from_definition(*one) for one in OPTIONS)
}
test_what_is_left_has_the_probabilities_of_the_definition = equals(ORACLES, 1e-12)


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


@given(rows, st.integers(1, 12))
def test_top_k_keeps_that_many_and_none_less_likely_than_one_that_goes(
    scores: list[float], top_k: int
) -> None:
    assert Sampling().filter_logits(as_row(scores)).equal(as_row(scores))
    left = kept(keep_top_k(as_row(scores), top_k))
    likeliest = sorted(scores, reverse=True)[:top_k]
    assert sorted((scores[token] for token in left), reverse=True) == likeliest


def test_of_equal_tokens_a_nucleus_has_just_enough_and_a_min_p_of_one_keeps_all() -> None:
    equal = torch.zeros(1, 8, dtype=torch.float64)
    assert [len(kept(keep_top_p(equal, top_p))) for top_p in (0.5, 0.51)] == [4, 5]
    assert kept(keep_top_p(ROW, 1e-9)) == {4}
    assert kept(keep_min_p(as_row([1.0, 2.0, 0.5, 2.0]), 1.0)) == {1, 3}


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

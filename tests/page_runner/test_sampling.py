r"""Sampling in the browser, compared with the page that explains it."""

import pytest
import torch
from torch.testing import assert_close

from labml_nn.training.strategies import Sampling
from tests.page_runner.scripts import in_node

N_VOCAB, ROWS = 17, 23


@pytest.fixture
def logits() -> torch.Tensor:
    return 3 * torch.randn(ROWS, N_VOCAB, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"temperature": 0.5},
        {"temperature": 0.7, "top_k": 5},
        {"top_p": 0.8},
        {"min_p": 0.1},
        {"temperature": 1.7, "top_k": 9, "top_p": 0.9, "min_p": 0.05},
    ],
)
def test_each_filter_leaves_what_the_lesson_leaves(
    logits: torch.Tensor, options: dict[str, float]
) -> None:
    expected = Sampling(**options).filter_logits(logits).softmax(dim=-1)
    names = {"top_k": "topK", "top_p": "topP", "min_p": "minP"}
    given = {
        "logits": logits.tolist(),
        "options": {names.get(name, name): value for name, value in options.items()},
    }
    found = in_node(
        "sampling", "given.logits.map(row => sampling.filtered(row, given.options))", given
    )
    kept = torch.zeros_like(logits)
    for row, pairs in enumerate(found):
        for token, probability in pairs:
            kept[row, token] = probability
    assert_close(kept, expected, atol=1e-6, rtol=0)
    assert ((kept > 0) == (expected > 0)).all()


def test_each_token_is_drawn_as_often_as_its_probability_says() -> None:
    script = """(() => {
        const random = sampling.randomNumbers(3);
        const counts = [0, 0, 0];
        for (let i = 0; i < 20000; i++) counts[sampling.draw(given, {}, random)]++;
        return counts.map(count => count / 20000);
    })()"""
    # The standard deviation of such a share is 0.0035 at most.
    given = torch.tensor([0.6, 0.3, 0.1]).log().tolist()
    assert_close(in_node("sampling", script, given), [0.6, 0.3, 0.1], atol=0.014, rtol=0)


def test_the_same_seed_draws_the_same_and_neighbours_do_not() -> None:
    script = """given.map(seed => {
        const random = sampling.randomNumbers(seed);
        return Array.from({ length: 40 }, random);
    })"""
    first, again, next_one = in_node("sampling", script, [0, 0, 1])
    assert first == again
    assert not set(first) & set(next_one)
    assert all(0 <= one < 1 for one in first)
    # Their mean has a standard deviation of 0.046.
    assert abs(sum(first) / 40 - 0.5) < 0.2

r"""Which positions see a later one, where that is known; and the museum's old names."""

from collections.abc import Callable

import torch
from torch import Tensor

import wrongline
from labml_nn.transformers.mistakes import language_model as page
from labml_nn.transformers.mistakes.language_model import sees_later


def reading(back: int, ahead: int) -> Callable[[Tensor], Tensor]:
    r"""A model that adds up what is up to so many positions before and after each."""
    table = torch.randn(11, 11, generator=torch.Generator().manual_seed(1))

    def logits(tokens: Tensor) -> Tensor:
        n = tokens.shape[1]
        seen = torch.ones(n, n).tril(ahead).triu(-back)
        return seen @ table[tokens]

    return logits


def test_the_positions_that_see_a_later_one_are_those_that_do() -> None:
    tokens = torch.randint(11, (2, 9))
    for ahead, place, expected in [(0, 8, []), (1, 8, [7]), (3, 8, [5, 6, 7]), (2, 4, [2, 3])]:
        assert sees_later(reading(2, ahead), tokens, place) == expected
    # What comes after may change, and rounding is no leak.
    assert sees_later(lambda x: 1e6 + reading(9, 0)(x), tokens, 3) == []


def test_the_example_finds_the_leak_and_the_package_says_it() -> None:
    torch.manual_seed(1)
    right, leaky, found = page.example()
    assert (right, leaky) == ([], [0, 1, 2, 3, 4, 5])
    assert "sees the future" in found["model_prefix"]


def test_the_names_of_the_museum_are_those_of_the_package() -> None:
    assert {name: getattr(page, name) for name in page.__all__} == {
        name: getattr(wrongline, name) for name in page.__all__
    }

r"""A size that an error names is tried."""

import pytest

from wrongline.attempts import Attempt, example, others, width_of
from wrongline.configurations import Config


@pytest.mark.parametrize(
    ("failed", "widths"),
    [
        ("mat1 and mat2 shapes cannot be multiplied (35x24 and 32x8)", [32]),
        ("Given normalized_shape=[16], expected input with shape [*, 16]", [16]),
        # That is what it has already.
        ("mat1 and mat2 shapes cannot be multiplied (35x24 and 24x8)", []),
        ("mat1 and mat2 shapes cannot be multiplied (35x24 and 99999x8)", []),
        ("something else with 32", []),
    ],
)
def test_the_width_that_is_wanted_is_tried(failed: str, widths: list[int]) -> None:
    assert [one.width for one in others(failed, Attempt(), set())] == widths
    assert list(others(failed, Attempt(), {"width"})) == []


def test_a_head_that_gives_less_gives_as_much_and_channels_are_those_of_their_groups() -> None:
    tried = Attempt({"head_size": 8, "heads": 3, "on": True}, {"size": 8})
    failed = "an input of [5, 7, 24] gives [5, 7, 8]"
    first, second = others(failed, tried, set())
    assert first.arguments == {"head_size": 24, "heads": 3, "on": True}
    assert second.constants == {"size": 24}
    assert [one.constants for one in others(failed, tried, {"head_size"})] == [{"size": 24}]
    failed = "num_channels (3) must be divisible by num_groups (32)"
    assert next(others(failed, tried, set())).arguments["heads"] == 32


def test_a_width_is_that_of_an_argument_or_of_a_configuration() -> None:
    assert width_of({"heads": 3, "config": Config(n_embd=12)}) == 12
    assert width_of({"heads": 3}, {"n_embd": 5}) == 5
    assert width_of({}) is None
    assert example() == [32]


def test_a_width_that_heads_must_divide_is_that_of_the_test() -> None:
    tried = Attempt({"hidden_dim": 32, "heads": 3})
    for failed in (
        "size must be divisible by heads",
        "AssertionError in `assert d % self.heads == 0`",
    ):
        (one,) = others(failed, tried, set())
        assert one.arguments == {"hidden_dim": 24, "heads": 3}
    assert [*others("size must be divisible by heads", tried, {"hidden_dim"})] == []

import math

import torch
from torch import Tensor

from labml_nn.training.rules import broken_rules, example, score


def test_each_rule_is_told_by_its_name_and_an_honest_measurement_breaks_none() -> None:
    torch.manual_seed(1)
    broken = example()
    assert broken.pop("honest") == []
    said = {name: one[0].partition(":")[0] for name, one in broken.items()}
    assert said == {
        "leaves one out": "one distribution for each token",
        "too much": "it sums to one",
        "too early": "it is causal",
        "knows the length": "one pass",
    }
    assert all(len(one) == 1 for one in broken.values())


def test_negative_numbers_do_not_make_up_for_too_large_ones() -> None:
    row = torch.tensor([1.5, -0.5, 0.0])
    tokens = torch.tensor([0, 1, 2, 1, 0])
    (said,) = broken_rules(lambda tokens: row.expand(len(tokens) - 1, -1), tokens, 3)
    assert said.startswith("it sums to one")


def test_the_score_is_the_mean_of_what_each_next_token_cost() -> None:
    table = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.7, 0.2, 0.1]])
    tokens = torch.tensor([0, 1, 1, 2])
    expected = -(torch.tensor([0.3, 0.6, 0.3]).log().sum() / 3).item()
    assert abs(score(lambda tokens: table[tokens[:-1]], tokens) - expected) < 1e-6


def test_what_is_measured_again_differs_behind_each_place_and_nowhere_else() -> None:
    tokens = torch.arange(14) % 5
    measured: list[Tensor] = []

    def measure(tokens: Tensor) -> Tensor:
        measured.append(tokens)
        return torch.full((len(tokens) - 1, 5), 1 / 5)

    assert broken_rules(measure, tokens, 5) == []
    whole, changed, shorter = measured[0], measured[1::2], measured[2::2]
    assert whole.equal(tokens)
    # Five places from the first of 13 predictions to the last: 0, 3, 6, 9, 12.
    for place, other, prefix in zip((0, 3, 6, 9, 12), changed, shorter, strict=True):
        assert (other == tokens).tolist() == [at <= place for at in range(14)]
        assert set(other.tolist()) <= set(range(5))
        assert prefix.equal(tokens[: place + 2])


def test_a_token_may_be_impossible() -> None:
    row = torch.tensor([0.25, 0.75, 0.0])
    tokens = torch.tensor([0, 1, 0, 1, 0])
    assert broken_rules(lambda tokens: row.expand(len(tokens) - 1, -1), tokens, 3) == []


def test_rounding_breaks_no_rule() -> None:
    tokens = torch.tensor([0, 1, 2, 1, 0, 2, 2])

    def measure(tokens: Tensor) -> Tensor:
        # Less than a ten-thousandth, for each text another one.
        error = 4e-5 * math.sin(tokens.sum())
        return torch.tensor([0.5, 0.3, 0.2 + error]).expand(len(tokens) - 1, -1)

    assert abs(measure(tokens)[0].sum() - 1) > 3e-5
    assert broken_rules(measure, tokens, 3) == []

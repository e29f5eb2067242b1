import torch

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

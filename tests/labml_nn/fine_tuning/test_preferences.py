import copy
import itertools
import math

import pytest
import torch
from torch import Tensor, nn

from labml_nn.fine_tuning.preferences import (
    example,
    log_probabilities,
    preference_gradients,
    preference_loss,
    wins,
)
from tests.oracles.compare import largest

N_PAIRS, SEQ_LEN, N_VOCAB, BETA = 3, 5, 7, 0.3


def batch() -> tuple[nn.Module, nn.Module, Tensor, Tensor]:
    r"""A table of pairs, another one that has dropout, and answers of different lengths."""
    torch.manual_seed(1)
    model = nn.Embedding(N_VOCAB, N_VOCAB).double()
    reference = nn.Embedding(N_VOCAB, N_VOCAB).double()
    inputs, targets = torch.randint(N_VOCAB, (2, SEQ_LEN, 2 * N_PAIRS))
    lengths = torch.tensor([1, 4, 2, 3, 5, 1])
    return model, reference, inputs, targets.where(torch.arange(SEQ_LEN)[:, None] < lengths, -100)


def by_loops(model: nn.Module, reference: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    r"""The loss as the paper writes it, with products of probabilities and no function of ours."""

    def probability(table: Tensor, b: int) -> Tensor:
        result = torch.ones((), dtype=torch.double)
        for token, target in zip(inputs[:, b].tolist(), targets[:, b].tolist(), strict=True):
            powers = table[token].exp()
            result = result * (powers[target] / powers.sum() if target >= 0 else 1)
        return result

    losses = []
    for b in range(N_PAIRS):
        ratios = [
            probability(model.weight, one) / probability(reference.weight.detach(), one)
            for one in (b, b + N_PAIRS)
        ]
        losses.append((1 + (ratios[1] / ratios[0]) ** BETA).log())
    return sum(losses) / N_PAIRS


def test_loss_and_gradients_are_those_of_products_of_probabilities() -> None:
    model, reference, inputs, targets = batch()
    found = preference_gradients(reference, BETA)(model, inputs, targets)
    expected = by_loops(model, reference, inputs, targets)
    (wanted,) = torch.autograd.grad(expected, [model.weight])
    assert largest([found, model.weight.grad], [expected.detach(), wanted]) < 1e-10
    assert not found.requires_grad
    assert reference.weight.grad is None


def test_a_gradient_is_that_of_the_difference_weighted_by_how_wrong_the_pair_is() -> None:
    model, reference, inputs, targets = batch()
    pair = [0, N_PAIRS]
    inputs, targets = inputs[:, pair], targets[:, pair]
    preference_gradients(reference, BETA)(model, inputs, targets)
    now = log_probabilities(model, inputs, targets)
    before = log_probabilities(reference, inputs, targets)
    margin = BETA * ((now[0] - before[0]) - (now[1] - before[1])).item()
    (gap,) = torch.autograd.grad(now[0] - now[1], [model.weight])
    weight = BETA / (1 + math.exp(margin))
    assert largest([model.weight.grad], [-weight * gap]) < 1e-10
    assert [round(1 / (1 + math.exp(m)), 3) for m in (4, -4)] == [0.018, 0.982]


def test_scores_of_the_best_model_are_those_it_was_made_from() -> None:
    # All answers of three tokens out of two, their scores, and the model of the formula.
    torch.manual_seed(2)
    answers = list(itertools.product(range(2), repeat=3))
    before = torch.randn(len(answers), dtype=torch.double).log_softmax(dim=0)
    scores = torch.randn(len(answers), dtype=torch.double)
    best = (before + scores / BETA).log_softmax(dim=0)
    for w, other in itertools.permutations(range(len(answers)), 2):
        loss = preference_loss(best[[w]], best[[other]], before[[w]], before[[other]], BETA)
        assert math.exp(-loss) == pytest.approx(wins(scores[w], scores[other]).item(), abs=1e-12)

    # It has the best mean score less beta times the distance: every other model is worse.
    def worth(model: Tensor) -> Tensor:
        return (model.exp() * (scores - BETA * (model - before))).sum()

    others = [(best + torch.randn(8) / 9).log_softmax(dim=0) for _ in range(99)]
    assert all(worth(one) < worth(best) for one in others)


def test_the_numbers_of_the_page() -> None:
    scores = torch.tensor([2.0, 102.0])
    assert [round(one, 2) for one in wins(scores, scores - 2).tolist()] == [0.88, 0.88]
    zero = torch.zeros(1, dtype=torch.double)
    assert preference_loss(zero, zero, zero, zero, 1.0).item() == pytest.approx(math.log(2))
    twice = zero + math.log(2)
    assert round(preference_loss(twice, -twice, zero, zero, 0.1).item(), 3) == 0.626
    both_fall = [preference_loss(zero - a, zero - b, zero - 2, zero - 2, 0.5) for a, b in
                 ((2, 2), (5, 9))]
    assert both_fall[1] < both_fall[0]


def test_a_margin_that_no_sigmoid_can_hold_has_a_finite_loss() -> None:
    far, zero = torch.tensor([-1e4]), torch.zeros(1)
    assert preference_loss(far, zero, zero, zero, 1.0) == 1e4


def test_a_step_lowers_the_loss_and_leaves_the_copy_alone() -> None:
    torch.manual_seed(3)
    first, second = example()
    assert first.item() == pytest.approx(math.log(2))
    assert second < first
    model, _, inputs, targets = batch()
    reference = copy.deepcopy(model)
    preference_gradients(reference, BETA)(model, inputs, targets)
    assert torch.equal(reference.weight, model.weight) and reference.weight.grad is None

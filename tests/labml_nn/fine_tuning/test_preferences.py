import torch
from torch import Tensor, nn

from labml_nn.fine_tuning.preferences import preference_gradients, preference_loss, wins
from tests.labml_nn.transformers.seam import equals
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


def from_products() -> float:
    r"""How far loss and gradients are from those of products of probabilities."""
    model, reference, inputs, targets = batch()
    found = preference_gradients(reference, BETA)(model, inputs, targets)
    expected = by_loops(model, reference, inputs, targets)
    (wanted,) = torch.autograd.grad(expected, [model.weight])
    assert not found.requires_grad
    assert reference.weight.grad is None
    return largest([found, model.weight.grad], [expected.detach(), wanted])


ORACLES = {"products of probabilities": from_products}
test_loss_and_gradients_are_those_of_products_of_probabilities = equals(ORACLES)


def test_the_numbers_of_the_page() -> None:
    scores = torch.tensor([2.0, 102.0])
    assert [round(one, 2) for one in wins(scores, scores - 2).tolist()] == [0.88, 0.88]


def test_a_margin_that_no_sigmoid_can_hold_has_a_finite_loss() -> None:
    far, zero = torch.tensor([-1e4]), torch.zeros(1)
    assert preference_loss(far, zero, zero, zero, 1.0) == 1e4


def test_a_step_can_make_both_answers_less_likely() -> None:
    # Two answers with nearly the same features, and twenty others.
    features = torch.zeros(22, 2)
    features[0] = torch.tensor([1.0, 0.1])
    features[1] = torch.tensor([2.0, 0.0])
    weights = torch.zeros(2, requires_grad=True)
    before = (features @ weights).log_softmax(0)
    copy = before.detach()
    loss = preference_loss(before[:1], before[1:2], copy[:1], copy[1:2], beta=0.1)
    (gradient,) = torch.autograd.grad(loss, weights)
    after = (features @ (weights - 0.01 * gradient)).log_softmax(0)
    assert (after < before)[:2].all()

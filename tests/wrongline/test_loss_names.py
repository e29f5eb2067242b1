import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from wrongline.loss_names import LOSSES, name_loss

BATCH_SIZE, SEQ_LEN, N_VOCAB = 3, 5, 11


def flat(logits: Tensor, targets: Tensor, **options: object) -> Tensor:
    return F.cross_entropy(logits.reshape(-1, N_VOCAB), targets.reshape(-1), **options)


def by_hand(logits: Tensor, targets: Tensor) -> Tensor:
    terms = [
        logits[b, t].logsumexp(0) - logits[b, t, targets[b, t]]
        for b in range(BATCH_SIZE)
        for t in range(SEQ_LEN)
    ]
    return torch.stack(terms).mean()


WRONG = {
    "sum over all": lambda z, y: flat(z, y, reduction="sum"),
    "summed over the positions": lambda z, y: flat(z, y, reduction="sum") / BATCH_SIZE,
    "summed over the sequences": lambda z, y: flat(z, y, reduction="sum") / SEQ_LEN,
    "a softmax comes before": lambda z, y: flat(z.softmax(2), y),
    "gets logits": lambda z, y: F.nll_loss(z.transpose(1, 2), y),
    "gets probabilities": lambda z, y: F.nll_loss(z.softmax(2).transpose(1, 2), y),
    "over the positions": lambda z, y: F.nll_loss(z.log_softmax(1).transpose(1, 2), y),
    "over the batch": lambda z, y: F.nll_loss(z.log_softmax(0).transpose(1, 2), y),
    "by a reshape": lambda z, y: F.cross_entropy(z.view(BATCH_SIZE, N_VOCAB, SEQ_LEN), y),
    "in another order": lambda z, y: flat(z.transpose(0, 1), y),
    "shifted once more": lambda z, y: flat(z[:, :-1], y[:, 1:]),
    "tokens of the input": lambda z, y: flat(z[:, 1:], y[:, :-1]),
    "last position only": lambda z, y: flat(z[:, -1], y[:, -1]),
    "in bits": lambda z, y: flat(z, y) / math.log(2),
    "perplexity": lambda z, y: flat(z, y).exp(),
    "token 4 is left out": lambda z, y: flat(z, y, ignore_index=4),
    "7 times the mean": lambda z, y: 7 * flat(z, y),
    "-1 times the mean": lambda z, y: -flat(z, y),
    "other targets": lambda z, y: flat(z, y.flip(1)),
}
# None of these is one of the usual mistakes, and none is meant to be so.
ODD = {
    "a penalty that outweighs the loss": lambda z, y: (
        flat(z, y) + 0.7 * z.logsumexp(2).square().mean()
    ),
    "a reward for large logits": lambda z, y: flat(z, y) - 0.1 * z.logsumexp(2).square().mean(),
    "a constant": lambda z, y: flat(z, y) + 0.01,
    "a factor that grows with the logits": lambda z, y: 1e-6 * flat(z, y) * z.abs().mean(),
    "a factor of two classes": lambda z, y: (
        flat(z, y) * z[..., 0].abs().mean() / z[..., 1].abs().mean()
    ),
}
RIGHT = {
    "flat": flat,
    "by hand": by_hand,
    "smoothed labels": lambda z, y: flat(z, y, label_smoothing=0.1),
    "a penalty for large logits": lambda z, y: flat(z, y) + 1e-4 * z.logsumexp(2).square().mean(),
}


def given() -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    logits = 2 * torch.randn(BATCH_SIZE, SEQ_LEN, N_VOCAB)
    # A logit of zero is one like all others.
    logits[1, 2, 3] = 0.0
    return logits, torch.arange(15).view(3, 5) % N_VOCAB


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_loss_has_its_name(name: str) -> None:
    assert name in name_loss(WRONG[name], *given())


@pytest.mark.parametrize("name", ODD)
def test_what_is_none_of_the_usual_mistakes_is_not_given_the_name_of_one(name: str) -> None:
    assert name_loss(ODD[name], *given()).startswith("it is of other targets, or")


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_loss_has_none(name: str) -> None:
    assert name_loss(RIGHT[name], *given()) == ""


def test_no_two_names_stand_for_the_same_loss() -> None:
    logits, targets = given()
    values = [loss(logits, targets).item() for loss in LOSSES.values()]
    assert min(abs(a - b) for i, a in enumerate(values) for b in values[:i]) > 1e-3

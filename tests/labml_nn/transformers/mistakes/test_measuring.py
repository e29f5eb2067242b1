from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes.measuring import (
    LearnsFirst,
    MoreThanOne,
    RightScore,
    SeenTwice,
    shared,
    sum_of_all,
)

N_VOCAB = 5
WINDOWS = torch.tensor([[0, 1, 2, 3], [4, 3, 2, 1]])


def table() -> nn.Embedding:
    torch.manual_seed(1)
    return nn.Embedding(N_VOCAB, N_VOCAB)


def total(kind: type) -> float:
    def score(window: Tensor) -> Tensor:
        return kind(table()).score(window)

    return sum_of_all(score, WINDOWS[:1], N_VOCAB)


def test_the_right_score_is_that_of_a_loop_and_learns_afterwards() -> None:
    model = table()
    found = RightScore(model, 0.5).score(WINDOWS)
    logits = model.weight.log_softmax(dim=-1)
    first = torch.stack([-logits[a, b] for a, b in ((0, 1), (1, 2), (2, 3))])
    assert torch.allclose(found[0], first)
    # The second window is told by a model that has learned the first.
    assert (
        found[1] - torch.stack([-logits[a, b] for a, b in ((4, 3), (3, 2), (2, 1))])
    ).abs().max() > 0.01
    assert model.weight.equal(table().weight)


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_each_window_is_told_by_what_was_learned_before_it(rate: float) -> None:
    windows = torch.tensor([[0, 1, 2, 3], [4, 3, 2, 1], [0, 1, 4, 2]])
    weight = table().weight.detach().clone()
    scored = RightScore(table(), rate).score(windows)
    for window, found in zip(windows.tolist(), scored, strict=True):
        pairs = list(pairwise(window))
        likely = weight.softmax(dim=-1)
        assert torch.allclose(found, torch.stack([-likely[a, b].log() for a, b in pairs]))
        # Gradient descent by hand: what was said, less what came.
        for a, b in pairs:
            weight[a] -= rate * likely[a] / len(pairs)
            weight[a, b] += rate / len(pairs)
    # The rate need not be said.
    default, said = RightScore(table()).score(windows), RightScore(table(), 0.1).score(windows)
    assert default.equal(said)


class ReadsTheLast(nn.Module):
    r"""Predicts at all positions what follows the last token that it is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.table = table()

    def forward(self, tokens: Tensor) -> Tensor:
        return self.table(tokens[:, -1:]).expand(-1, tokens.shape[1], -1)


def test_a_model_is_not_shown_the_token_that_it_must_predict_last() -> None:
    (found,) = RightScore(ReadsTheLast()).score(WINDOWS[:1])
    after_two = table().weight.log_softmax(dim=-1)[2]
    assert torch.allclose(found, -after_two[[1, 2, 3]])


def test_scores_are_numbers_that_hold_no_graph() -> None:
    assert not RightScore(table()).score(WINDOWS).requires_grad


def test_a_model_is_measured_in_evaluation() -> None:
    dropping = nn.Sequential(table(), nn.Dropout(0.5))
    assert RightScore(dropping).score(WINDOWS).equal(RightScore(table()).score(WINDOWS))


def test_a_sum_tells_what_is_no_distribution() -> None:
    assert total(RightScore) == pytest.approx(1.0, abs=1e-5)
    assert total(SeenTwice.make()) == pytest.approx(1.0, abs=1e-5)
    assert total(LearnsFirst.make()) > 1.01
    assert total(MoreThanOne.make()) == pytest.approx(0.5 + 0.5 * N_VOCAB, abs=1e-4)


def test_the_window_of_a_sum_stays_as_it_was() -> None:
    window = torch.tensor([[0, 1, 2, 3]])
    sum_of_all(RightScore(table()).score, window, N_VOCAB)
    assert window.tolist() == [[0, 1, 2, 3]]


def test_shared_pieces_tell_what_was_seen_twice() -> None:
    train, held_out = torch.arange(100), torch.arange(200, 240)
    assert shared(train, held_out, 8) == 0.0
    seen = SeenTwice.make()(table()).training_text(train, held_out)
    assert shared(seen, held_out, 8) == 1.0
    assert RightScore(table()).training_text(train, held_out) is train


def test_a_piece_is_found_wherever_it_begins() -> None:
    train = torch.arange(100)
    held_out = torch.cat([torch.arange(3, 11), torch.arange(200, 208)])
    assert shared(train, held_out, 8) == 0.5
    # A piece has 32 tokens if nobody says otherwise, and all of them count.
    long = torch.cat([torch.arange(5, 37), torch.arange(40, 71), torch.tensor([200])])
    assert shared(train, long) == 0.5

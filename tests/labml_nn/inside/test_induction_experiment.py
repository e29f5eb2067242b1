import math

import pytest
import torch
from torch import Tensor

from labml_nn.inside import induction
from labml_nn.inside import induction_experiment as page
from labml_nn.training.loop import adamw, train
from tests.oracles.compare import largest


def small() -> induction.AttentionOnly:
    torch.manual_seed(1)
    return induction.AttentionOnly(13, 20, 5, 2, 11)


def test_the_training_is_that_of_the_loop_with_a_rate_of_a_hundredth() -> None:
    sequences, ours, other = induction.RepeatedParts(13, 11, 3, 4, 5), small(), small()
    losses: list[Tensor] = []
    page.fit(ours, sequences, 5, lambda step, loss: losses.append(loss))
    page.fit(small(), sequences, 1)
    train(other, sequences.at, [adamw(other, 0.01)], 5)
    assert largest(list(ours.parameters()), list(other.parameters())) == 0
    assert len(losses) == 5


def test_the_loss_is_that_of_predictions_after_a_token_that_came_up_before() -> None:
    inputs, targets = induction.RepeatedParts(13, 11, 3, 4, 5).at(0)
    logits = torch.randn(11, 3, 13, dtype=torch.float64)
    # The last ones are right.
    logits[-1, range(3), targets[-1]] = 9.0
    losses, right = [], []
    for b in range(3):
        for i in range(11):
            if inputs[i, b] in inputs[:i, b]:
                exps = [math.exp(one) for one in logits[i, b].tolist()]
                losses.append(-math.log(exps[targets[i, b]] / sum(exps)))
                right.append(exps[targets[i, b]] == max(exps))
    found = page.repeated_loss(logits, inputs, targets)
    assert found == pytest.approx((sum(losses) / len(losses), sum(right) / len(right)))


def test_scores_are_by_kind_and_layer_and_head() -> None:
    inputs, targets = induction.RepeatedParts(13, 11, 3, 4, 5).at(0)
    model = small()
    loss, right, scores = page.measure(model, inputs, targets)
    assert (loss, right) == page.repeated_loss(model(inputs), inputs, targets)
    for layer in range(2):
        attn = model.layers[layer].attn
        assert torch.equal(scores[0, layer], induction.previous_token_score(attn))
        assert torch.equal(scores[1, layer], induction.induction_score(attn, inputs))

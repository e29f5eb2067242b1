import math

import matplotlib.pyplot as plt
import pytest
import torch
from torch import Tensor

from labml_nn.inside import induction_experiment as page
from labml_nn.inside.induction import (
    AttentionOnly,
    RepeatedParts,
    induction_score,
    previous_token_score,
)
from labml_nn.training.loop import adamw, train
from tests.labml_nn.inside.by_hand import by_hand, twice
from tests.oracles.compare import largest


def small() -> AttentionOnly:
    torch.manual_seed(1)
    return AttentionOnly(13, 20, 5, 2, 11)


def test_the_training_is_that_of_the_loop_with_a_rate_of_a_hundredth() -> None:
    sequences, ours, other = RepeatedParts(13, 11, 3, 4, 5), small(), small()
    losses: list[Tensor] = []
    page.fit(ours, sequences, 5, lambda step, loss: losses.append(loss))
    page.fit(small(), sequences, 1)
    train(other, sequences.at, [adamw(other, 0.01)], 5)
    assert largest(list(ours.parameters()), list(other.parameters())) == 0
    assert len(losses) == 5


def test_the_loss_is_that_of_predictions_after_a_token_that_came_up_before() -> None:
    inputs, targets = RepeatedParts(13, 11, 3, 4, 5).at(0)
    logits = torch.randn(11, 3, 13, dtype=torch.float64)
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
    inputs, targets = RepeatedParts(13, 11, 3, 4, 5).at(0)
    model = small()
    loss, right, scores = page.measure(model, inputs, targets)
    assert (loss, right) == page.repeated_loss(model(inputs), inputs, targets)
    for layer in range(2):
        attn = model.layers[layer].attn
        assert torch.equal(scores[0, layer], previous_token_score(attn))
        assert torch.equal(scores[1, layer], induction_score(attn, inputs))
    tokens = twice()
    _, right, scores = page.measure(by_hand(), tokens[:-1], tokens[1:])
    assert right == 1
    assert scores[0].argmax() == 0 and scores[1].argmax() == 2


def test_the_notebook_trains_measures_and_removes_each_head(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn: list[tuple[str, int]] = []

    def show() -> None:
        drawn.extend((axes.get_title(), len(axes.lines)) for axes in plt.gcf().axes)
        plt.close("all")

    monkeypatch.setattr(plt, "show", show)
    monkeypatch.setattr(page, "AttentionOnly", lambda: AttentionOnly(32, 8, 2, 2))
    page.notebook(steps=20)
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("validation loss where sequences repeat 3.")
    heads = [line.split(":")[0] for line in shown[1:5]]
    assert heads == [f"layer {layer}, head {head}" for layer in (1, 2) for head in (1, 2)]
    assert [line.split(":")[0] for line in shown[5:]] == [f"loss without layer {n}" for n in (1, 2)]
    bump, previous, induction = drawn
    assert bump == ("", 2)
    assert previous[0].startswith("previous token: layer ")
    assert induction[0].startswith("induction: layer ")


def test_the_example_has_three_losses_and_two_scores_for_each_head() -> None:
    losses, scores = page.example()
    assert losses.shape == (3,) and scores.shape == (2, 2, 5)

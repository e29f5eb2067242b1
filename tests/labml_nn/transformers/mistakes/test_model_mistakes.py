r"""What each mistake makes of a model, a batch, a loss or a step."""

import math

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes import model_mistakes
from labml_nn.transformers.mistakes.model_mistakes import (
    DropoutInEvaluation,
    GradientsKept,
    LayerWithoutResidual,
    NoResidual,
    PositionsOfTheBatch,
    SoftmaxTwice,
    TargetsNotShifted,
    TargetsShiftedTwice,
)
from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.right_model import RightLayer, RightModel, RightTraining

N_VOCAB, D_MODEL, HEADS, MAX_LEN, BATCH_SIZE, SEQ_LEN = 13, 10, 5, 11, 3, 7


def made(kind: type[RightModel] = RightModel) -> RightModel:
    torch.manual_seed(1)
    model = kind(N_VOCAB, D_MODEL, HEADS, 2, MAX_LEN)
    nn.init.normal_(model.positions)
    return model


def text() -> Tensor:
    return torch.randint(
        N_VOCAB, (BATCH_SIZE, SEQ_LEN + 1), generator=torch.Generator().manual_seed(2)
    )


def test_a_sequence_gets_the_position_of_its_place_in_the_batch() -> None:
    model = made(PositionsOfTheBatch)
    x = torch.randn(BATCH_SIZE, SEQ_LEN, D_MODEL)
    added = model.add_positions(x)
    for b in range(BATCH_SIZE):
        for t in range(SEQ_LEN):
            assert torch.allclose(added[b, t], x[b, t] + model.positions[b])
    right = made().add_positions(x)
    assert torch.allclose(right[2, 3], x[2, 3] + model.positions[3])


def test_without_a_residual_a_layer_is_its_last_part() -> None:
    torch.manual_seed(3)
    layer = LayerWithoutResidual(D_MODEL, RightAttention(D_MODEL, HEADS))
    x = torch.randn(BATCH_SIZE, SEQ_LEN, D_MODEL)
    expected = layer.network(layer.norms[1](layer.attention(layer.norms[0](x))))
    assert layer(x).equal(expected)
    assert all(type(one) is LayerWithoutResidual for one in made(NoResidual).layers)
    assert all(type(one) is RightLayer for one in made().layers)


def test_dropout_goes_on_in_evaluation() -> None:
    torch.manual_seed(4)
    attention = DropoutInEvaluation(D_MODEL, HEADS, 0.5).eval()
    assert attention.drop(torch.ones(50, 50)).unique().tolist() == [0.0, 2.0]
    assert RightAttention(D_MODEL, HEADS, 0.5).eval().drop(torch.ones(9)).tolist() == [1.0] * 9


def test_targets_that_are_not_shifted_are_the_inputs() -> None:
    inputs, targets = TargetsNotShifted(made(), 1).cut(text())
    assert inputs.equal(targets)
    assert inputs.equal(text()[:, :SEQ_LEN])


def logits() -> Tensor:
    return torch.randn(BATCH_SIZE, SEQ_LEN, N_VOCAB, generator=torch.Generator().manual_seed(5))


def minus_log(scores: list[float], target: int) -> float:
    return math.log(sum(math.exp(score) for score in scores)) - scores[target]


def test_targets_shifted_twice_are_the_tokens_after_next() -> None:
    found = TargetsShiftedTwice(made(), 1).loss(logits(), text()[:, 1:]).item()
    scores, tokens = logits().tolist(), text().tolist()
    terms = [
        minus_log(scores[b][t], tokens[b][t + 2])
        for b in range(BATCH_SIZE)
        for t in range(SEQ_LEN - 1)
    ]
    assert found == pytest.approx(sum(terms) / len(terms), rel=1e-5)


def test_a_softmax_before_the_loss_keeps_it_high() -> None:
    training = SoftmaxTwice(made(), 1)
    found = training.loss(logits(), text()[:, 1:]).item()
    scores, tokens = logits().softmax(dim=-1).tolist(), text().tolist()
    terms = [
        minus_log(scores[b][t], tokens[b][t + 1]) for b in range(BATCH_SIZE) for t in range(SEQ_LEN)
    ]
    assert found == pytest.approx(sum(terms) / len(terms), rel=1e-5)
    certain = 1e4 * nn.functional.one_hot(text()[:, 1:], N_VOCAB).float()
    assert training.loss(certain, text()[:, 1:]) > math.log(N_VOCAB - 1 + math.e) - 1.001


def test_gradients_add_up_over_the_steps() -> None:
    grads = {}
    for kind in (RightTraining, GradientsKept):
        # Without a step the weights stay, so each gradient is the same.
        training = kind(made(), 1)
        for _ in range(2):
            training.forget()
            training.loss(training.model(text()[:, :-1]), text()[:, 1:]).backward()
        grads[kind] = training.model.generator.weight.grad
    assert torch.allclose(grads[GradientsKept], 2 * grads[RightTraining])


def test_the_example_runs_all() -> None:
    assert len(model_mistakes.example()) == 6

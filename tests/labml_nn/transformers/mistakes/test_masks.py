r"""Each mistake against a loop over numbers, and what of the future it sees."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from labml_nn.transformers.mistakes import masks
from labml_nn.transformers.mistakes.masks import (
    MaskAfterSoftmax,
    MaskAsZeros,
    MaskInverted,
    MaskOffByOne,
    MaskOnlyInTraining,
    MaskUnused,
    weight_of_the_future,
)
from labml_nn.transformers.mistakes.right_attention import RightAttention

BATCH_SIZE, SEQ_LEN, HEADS, D_K = 3, 7, 5, 2
D_MODEL = HEADS * D_K

# From the scores of a query at position i to its weights.
Rule = Callable[[list[float], int], list[float]]


def softmax(scores: list[float], visible: Callable[[int], bool]) -> list[float]:
    shares = [math.exp(score) * visible(j) for j, score in enumerate(scores)]
    return [share / sum(shares) if any(shares) else 0.0 for share in shares]


RULES: dict[type[RightAttention], Rule] = {
    RightAttention: lambda scores, i: softmax(scores, lambda j: j <= i),
    MaskUnused: lambda scores, i: softmax(scores, lambda j: True),
    MaskOnlyInTraining: lambda scores, i: softmax(scores, lambda j: True),
    MaskOffByOne: lambda scores, i: softmax(scores, lambda j: j <= i + 1),
    MaskInverted: lambda scores, i: softmax(scores, lambda j: j > i),
    MaskAfterSoftmax: lambda scores, i: [
        weight * (j <= i) for j, weight in enumerate(softmax(scores, lambda j: True))
    ],
    MaskAsZeros: lambda scores, i: softmax(
        [score * (j <= i) for j, score in enumerate(scores)], lambda j: True
    ),
}


def made(kind: type[RightAttention]) -> RightAttention:
    torch.manual_seed(1)
    return kind(D_MODEL, HEADS).double().eval()


def inputs() -> Tensor:
    torch.manual_seed(2)
    return 3 * torch.randn(BATCH_SIZE, SEQ_LEN, D_MODEL, dtype=torch.float64)


def by_hand(module: RightAttention, x: Tensor, rule: Rule) -> Tensor:
    q, k, v = (layer(x).tolist() for layer in (module.query, module.key, module.value))
    joined = torch.empty_like(x)
    for b in range(BATCH_SIZE):
        for i in range(SEQ_LEN):
            for f in range(D_MODEL):
                head = range(f // D_K * D_K, f // D_K * D_K + D_K)
                scores = [
                    sum(q[b][i][d] * k[b][j][d] for d in head) / math.sqrt(D_K)
                    for j in range(SEQ_LEN)
                ]
                weights = rule(scores, i)
                joined[b, i, f] = sum(w * v[b][j][f] for j, w in enumerate(weights))
    return module.output(joined)


@pytest.mark.parametrize("kind", RULES, ids=lambda kind: kind.__name__)
def test_it_is_a_loop_over_numbers(kind: type[RightAttention]) -> None:
    module, x = made(kind), inputs()
    assert (module(x) - by_hand(module, x, RULES[kind])).abs().max() < 1e-10


def test_the_mask_that_is_dropped_in_evaluation_is_there_in_training() -> None:
    x = inputs()
    assert made(MaskOnlyInTraining).train()(x).equal(made(RightAttention)(x))


@pytest.mark.parametrize(
    ("kind", "sees"),
    [
        (RightAttention, False),
        (MaskUnused, True),
        (MaskOnlyInTraining, True),
        (MaskOffByOne, True),
        (MaskInverted, True),
        (MaskAfterSoftmax, False),
        (MaskAsZeros, True),
    ],
)
def test_what_weight_the_future_gets(kind: type[RightAttention], sees: bool) -> None:
    assert (weight_of_the_future(made(kind), inputs()).item() > 0.1) is sees


def test_what_the_future_gets_is_that_of_a_loop() -> None:
    module, x = made(MaskUnused), inputs()
    q, k = (layer(x).tolist() for layer in (module.query, module.key))
    total = 0.0
    for b in range(BATCH_SIZE):
        for i in range(SEQ_LEN):
            for h in range(HEADS):
                head = range(h * D_K, h * D_K + D_K)
                scores = [
                    sum(q[b][i][d] * k[b][j][d] for d in head) / math.sqrt(D_K)
                    for j in range(SEQ_LEN)
                ]
                total += sum(softmax(scores, lambda j: True)[i + 1 :])
    expected = total / (BATCH_SIZE * SEQ_LEN * HEADS)
    assert weight_of_the_future(module, x).item() == pytest.approx(expected, rel=1e-9)


def test_what_the_future_gets_is_a_mean_of_sums() -> None:
    module = made(MaskUnused)
    # With equal scores each of n keys gets the n-th part.
    x = inputs()[:, :1].expand(BATCH_SIZE, SEQ_LEN, D_MODEL)
    expected = sum((SEQ_LEN - 1 - i) / SEQ_LEN for i in range(SEQ_LEN)) / SEQ_LEN
    assert weight_of_the_future(module, x).item() == pytest.approx(expected)


def test_the_example_tells_leaks_from_what_is_right() -> None:
    torch.manual_seed(3)
    weights = masks.example()
    assert len(weights) == 7
    assert weights["RightAttention"] == weights["MaskAfterSoftmax"] == 0
    assert weights["MaskUnused"] > 0.1

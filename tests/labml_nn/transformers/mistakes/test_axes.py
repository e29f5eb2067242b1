r"""Each mistake against loops over single elements; all have the right shape."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.transformers.mistakes import axes
from labml_nn.transformers.mistakes.axes import (
    N_HEADS,
    SizeFromGlobal,
    SoftmaxOverHeads,
    SoftmaxOverQueries,
    ViewForMerge,
    ViewForSplit,
)
from labml_nn.transformers.mistakes.right_attention import RightAttention

BATCH_SIZE, SEQ_LEN, HEADS, D_K = 3, 7, 5, 2
D_MODEL = HEADS * D_K


def inputs(d_model: int = D_MODEL) -> Tensor:
    torch.manual_seed(2)
    return torch.randn(BATCH_SIZE, SEQ_LEN, d_model, dtype=torch.float64)


def made(kind: type[RightAttention], heads: int = HEADS, d_model: int = D_MODEL) -> RightAttention:
    torch.manual_seed(1)
    return kind(d_model, heads).double()


SCORES = torch.randn(
    BATCH_SIZE, HEADS, SEQ_LEN, SEQ_LEN, generator=torch.Generator().manual_seed(3)
).double()
CAUSAL = torch.ones(SEQ_LEN, SEQ_LEN, dtype=torch.bool).tril()


def test_over_the_queries_each_key_is_shared_out() -> None:
    weights = made(SoftmaxOverQueries).weigh(SCORES, CAUSAL)
    for b in range(BATCH_SIZE):
        for h in range(HEADS):
            for j in range(SEQ_LEN):
                shares = [math.exp(SCORES[b, h, i, j]) * (j <= i) for i in range(SEQ_LEN)]
                expected = [share / sum(shares) for share in shares]
                assert weights[b, h, :, j].tolist() == pytest.approx(expected, abs=1e-10)


def test_over_the_heads_each_pair_is_shared_out_also_where_it_is_hidden() -> None:
    weights = made(SoftmaxOverHeads).weigh(SCORES, CAUSAL)
    for b in range(BATCH_SIZE):
        for i in range(SEQ_LEN):
            for j in range(SEQ_LEN):
                visible = float(j <= i)
                shares = [math.exp(SCORES[b, h, i, j] * visible) for h in range(HEADS)]
                expected = [share / sum(shares) for share in shares]
                assert weights[b, :, i, j].tolist() == pytest.approx(expected, abs=1e-10)


def test_a_view_puts_the_same_row_of_numbers_under_other_axes() -> None:
    x = inputs()
    heads = made(ViewForSplit).split(x)
    joined = made(ViewForMerge).merge(heads)
    for b in range(BATCH_SIZE):
        row = x[b].flatten().tolist()
        for h in range(HEADS):
            for t in range(SEQ_LEN):
                start = (h * SEQ_LEN + t) * D_K
                assert heads[b, h, t].tolist() == row[start : start + D_K]
        for t in range(SEQ_LEN):
            assert joined[b, t].tolist() == row[t * D_MODEL : (t + 1) * D_MODEL]


def test_with_other_heads_than_those_of_the_global_there_are_those_of_the_global() -> None:
    d_model = 20
    module, x = made(SizeFromGlobal, HEADS, d_model), inputs(d_model)
    q, k, v = (
        layer(x).unflatten(-1, (N_HEADS, d_model // N_HEADS)).transpose(1, 2)
        for layer in (module.query, module.key, module.value)
    )
    scale = 1 / math.sqrt(d_model / HEADS)
    heads = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale)
    expected = module.output(heads.transpose(1, 2).flatten(2))
    assert (module(x) - expected).abs().max() < 1e-10


def test_with_the_heads_of_the_global_all_is_well() -> None:
    wrong, right = (made(kind, N_HEADS, 12) for kind in (SizeFromGlobal, RightAttention))
    assert wrong(inputs(12)).equal(right(inputs(12)))


@pytest.mark.parametrize(
    "kind", [SoftmaxOverQueries, SoftmaxOverHeads, ViewForSplit, ViewForMerge, SizeFromGlobal]
)
def test_the_shape_is_right_and_the_result_is_wrong(kind: type[RightAttention]) -> None:
    x = inputs(20)
    output = made(kind, 5, 20)(x)
    assert output.shape == x.shape
    assert (output - made(RightAttention, 5, 20)(x)).abs().max() > 0.01


def test_the_example_has_all_five() -> None:
    results = axes.example()
    assert len(results) == 5
    assert {tuple(output.shape) for output in results.values()} == {(3, 7, 40)}

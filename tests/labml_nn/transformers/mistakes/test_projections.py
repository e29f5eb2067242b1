r"""Each mistake is PyTorch's own attention, told to make it."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.transformers.mistakes import projections
from labml_nn.transformers.mistakes.projections import (
    QueryForAll,
    ScaledByModelWidth,
    ScaledUp,
    Unscaled,
    WidthAsFloat,
    WidthUnchecked,
)
from labml_nn.transformers.mistakes.right_attention import RightAttention

BATCH_SIZE, SEQ_LEN, HEADS, D_K = 3, 7, 5, 2
D_MODEL = HEADS * D_K


def inputs() -> Tensor:
    torch.manual_seed(2)
    return torch.randn(BATCH_SIZE, SEQ_LEN, D_MODEL, dtype=torch.float64)


def made(kind: type[RightAttention]) -> RightAttention:
    torch.manual_seed(1)
    return kind(D_MODEL, HEADS).double()


def fused(module: RightAttention, x: Tensor, scale: float, layers: str) -> Tensor:
    q, k, v = (
        getattr(module, layer)(x).unflatten(-1, (HEADS, D_K)).transpose(1, 2)
        for layer in layers.split()
    )
    heads = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale)
    return module.output(heads.transpose(1, 2).flatten(2))


MISTAKES = {
    QueryForAll: (1 / math.sqrt(D_K), "query query query"),
    ScaledByModelWidth: (1 / math.sqrt(D_MODEL), "query key value"),
    Unscaled: (1.0, "query key value"),
    ScaledUp: (math.sqrt(D_K), "query key value"),
}


@pytest.mark.parametrize("kind", MISTAKES, ids=lambda kind: kind.__name__)
def test_it_is_pytorchs_attention_with_that_mistake_and_not_the_right_one(
    kind: type[RightAttention],
) -> None:
    module, x = made(kind), inputs()
    assert (module(x) - fused(module, x, *MISTAKES[kind])).abs().max() < 1e-10
    assert (module(x) - made(RightAttention)(x)).abs().max() > 1e-3


def test_a_width_that_is_a_float_fails_at_the_first_call() -> None:
    module = made(WidthAsFloat)
    assert isinstance(module.d_k, float)
    with pytest.raises(TypeError, match="float"):
        module(inputs())


def test_a_width_that_is_not_checked_fails_late_and_from_deep_inside() -> None:
    module = WidthUnchecked(10, 3)
    assert module.d_k == 3
    with pytest.raises(RuntimeError, match="shape .* is invalid for input of size"):
        module(torch.randn(2, 7, 10))
    assert made(WidthUnchecked)(inputs()).equal(made(RightAttention)(inputs()))


def test_the_factors_of_the_example() -> None:
    factors = projections.example()["factors"]
    assert factors.tolist() == pytest.approx([1 / math.sqrt(10), 1.0, math.sqrt(2)])

r"""Attention with the batch first against PyTorch's, against loops, and against its claims."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.ways import batch_first
from labml_nn.transformers.ways.batch_first import BatchFirstAttention, ScaledDotProductAttention
from tests.labml_nn.transformers.seam import equals
from tests.labml_nn.transformers.ways.oracles import (
    BATCH_SIZE,
    D_K,
    D_MODEL,
    HEADS,
    SEQ_LEN,
    Layer,
    by_loops,
    by_pytorch,
    causal,
    check_dropout,
    check_nothing_leaks,
    check_saved,
    difference,
    gradients,
    sequences,
)

WHOLE = [BATCH_SIZE, HEADS, SEQ_LEN, SEQ_LEN]


def attention() -> BatchFirstAttention:
    r"""Without dropout, in double precision."""
    torch.manual_seed(1)
    return BatchFirstAttention(D_MODEL, HEADS, 0.0).double()


def layers(module: BatchFirstAttention) -> list[Layer]:
    r"""The four projections."""
    return [(one.weight, one.bias) for one in (module.W_q, module.W_k, module.W_v, module.W_o)]


def padding() -> Tensor:
    r"""Each sequence ends at a length of its own."""
    lengths = torch.tensor([SEQ_LEN, 2, 3])
    return (torch.arange(SEQ_LEN) < lengths[:, None])[:, None, None]


def any_mask() -> Tensor:
    r"""A mask for each sequence and each head, in which every query sees a key."""
    visible = torch.rand(WHOLE, generator=torch.Generator().manual_seed(3)) < 0.4
    visible[..., 1] = True
    return visible


def with_idle() -> Tensor:
    r"""The same, but a query of one head sees nothing, and one of all heads."""
    visible = any_mask()
    visible[1, 0, 2] = False
    visible[2, :, 0] = False
    return visible


def from_pytorch() -> float:
    r"""Outputs, weights and gradients of PyTorch's module."""
    module, x = attention(), sequences()
    found = []
    for visible in (causal(), padding(), any_mask()):
        mine = torch.cat([one.flatten() for one in module(x, visible)])
        theirs = torch.cat([one.flatten() for one in by_pytorch(x, layers(module), visible)])
        found.append(difference(mine, theirs, [x, *module.parameters()]))
    return max(found)


def from_loops() -> float:
    r"""Outputs and gradients of loops over numbers, also where a query sees nothing."""
    module, x, visible = attention(), sequences(), with_idle()
    output, _ = module(x, visible)
    return difference(output, by_loops(x, layers(module), visible), [x, *module.parameters()])


def from_kernel() -> float:
    r"""Outputs and gradients of PyTorch's function, of the inner module alone, with no mask."""
    generator = torch.Generator().manual_seed(5)
    shape = [3, BATCH_SIZE, HEADS, SEQ_LEN, D_K]
    qkv = torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
    mean, _ = ScaledDotProductAttention(0.0)(*qkv)
    return difference(mean, nn.functional.scaled_dot_product_attention(*qkv), [qkv])


ORACLES: dict[str, Callable[[], float]] = {
    "torch.nn.MultiheadAttention": from_pytorch,
    "a loop over numbers": from_loops,
    "F.scaled_dot_product_attention": from_kernel,
}
test_equals_its_oracle_with_gradients = equals(ORACLES)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_idle_queries_get_zero_and_gradients_stay_finite(dtype: torch.dtype) -> None:
    module, x = attention().to(dtype), sequences().to(dtype)
    output, weights = module(x, with_idle())
    assert output.dtype is dtype
    assert torch.equal(output[2, 0], module.W_o.bias)
    assert not weights[~with_idle()].any()
    assert all(one.isfinite().all() for one in gradients(output, [x, *module.parameters()]))


def test_no_output_depends_on_a_later_position() -> None:
    module = attention()
    check_nothing_leaks(lambda x: module(x, causal())[0])


def test_dropout_acts_in_training_only() -> None:
    check_dropout(lambda p: BatchFirstAttention(D_MODEL, HEADS, p), lambda module, x: module(x)[0])
    usual = BatchFirstAttention(D_MODEL, HEADS), ScaledDotProductAttention()
    found = {one.p for made in usual for one in made.modules() if isinstance(one, nn.Dropout)}
    assert found == {0.1}


def test_the_weights_that_are_returned_are_those_before_dropout() -> None:
    module = BatchFirstAttention(D_MODEL, HEADS, dropout=0.5)
    _, weights = module(sequences().float())
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(WHOLE[:3]))


def test_saved_weights_give_the_same() -> None:
    check_saved(lambda: BatchFirstAttention(D_MODEL, HEADS, 0.0))


def test_the_parameters_are_these() -> None:
    shapes = {name: tuple(p.shape) for name, p in attention().state_dict().items()}
    assert shapes == {
        f"W_{layer}.{kind}": shape
        for layer in "qkvo"
        for kind, shape in {"weight": (14, 14), "bias": (14,)}.items()
    }


def test_a_width_that_heads_do_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match="got num_heads=4, embed_dim=30$"):
        BatchFirstAttention(30, 4)


def test_the_example_has_a_sequence_that_is_all_padding() -> None:
    output, weights, padded = batch_first.example(2, 3, 5, 7)
    assert output.shape == padded.shape == (2, 3, 35)
    assert weights.shape == (2, 5, 3, 3)
    torch.testing.assert_close(padded[0], padded[0, :1].expand(3, -1))
